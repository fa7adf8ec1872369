r"""The soft-margin SVM in sublinear time, by its slack (nu) or by its fraction of support (kappa).

    nu:     max over ||x|| <= 1, |b| <= R, xi >= 0, mean xi <= nu  of  the least c_i + xi_i
    kappa:  max over ||x|| <= 1, |b| <= R  of  the mean of the kappa n least c_i

with responses c_i = y_i (<x_i, x> + b) and R the length of the longest row.

Both trace the same path as the SVM  alpha ||w||^2 / 2 + mean hinge loss. With gamma the margin (the
value of the nu form; the level below which the kappa n worst responses lie), the SVM's answer is
w = x / gamma with the bias b / gamma, and at an exact solution with dual weights p

    kappa = 1 / (n max p),   alpha = kappa gamma ||A'p||,   C = 1 / (alpha n),
    nu = mean hinge loss of w / ||w|| = gamma kappa - kappa V_kappa.

`soft_margin` also reports these, as well as its certificate allows. The nu form is that of the
paper; the kappa form has no slack to account for and converges faster.

See Hazan, Koren and Srebro, "Beating SGD: learning SVMs in sublinear time" (2011), problem (3),
lemma 2.1 and algorithm 1; the steps are in `simba`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skimlearn.data.columns import Matrix
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import responses
from skimlearn.result import Result
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._source import as_source
from skimlearn.solvers.choose_margin import MarginRun
from skimlearn.solvers.simba import Simba

__all__ = ["SoftMargin", "check_slack", "explained", "soft_margin", "soft_margin_path"]


@dataclass(frozen=True)
class SoftMargin(Result):
    """The answer of a soft margin, and the SVM that it is the answer of.

    Attributes
    ----------
    margin : float
        gamma: divide ``x`` and ``bias`` by it for a predictor whose margin is 1. It is nan if the
        answer was not checked against the data, and at most 0 if it is no better than none.
    nu, kappa : float
        The slack and the fraction that belong to this answer; the one that was given, and an
        estimate of the other.
    alpha, C : float
        The weight of the SVM's regularizer, and the same as LIBSVM has it.

    Examples
    --------
    >>> X = [[1.0, 0.2], [0.8, -0.3], [0.1, 0.0], [-1.0, 0.1], [-0.7, -0.2]]
    >>> answer = soft_margin(X, [1, 1, -1, -1, -1], kappa=0.5, eps=0.05, random_state=0)
    >>> bool(answer.margin > 0.0 and answer.alpha > 0.0)
    True
    """

    margin: float = math.nan
    nu: float = math.nan
    kappa: float = math.nan
    alpha: float = math.nan
    C: float = math.nan


def soft_margin(
    X: Any,
    y: ArrayLike,
    *,
    nu: float | None = None,
    kappa: float | None = None,
    bias: bool = False,
    eps: float = 0.05,
    mode: str = "las-vegas",
    delta: float = 0.05,
    solver: str = "auto",
    batch: int = 1,
    steps: int | None = None,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
) -> SoftMargin:
    """A soft-margin SVM from a part of the rows and columns.

    Parameters
    ----------
    X : array, sparse matrix, Store, Matrix or Oracle of shape (n, d)
        The rows.
    y : array of shape (n,)
        Labels, +1 and -1.
    nu : float or None
        Mean slack, 0 or more, in units of the margin. Give this or kappa.
    kappa : float or None
        The fraction of rows, in (0, 1], whose mean response is the margin.
    bias : bool, default=False
        Whether to learn a bias, no greater than the longest row.
    eps : float, default=0.05
        How far from the best value the answer may be, in units of the data.
    mode : {"las-vegas", "high-probability", "monte-carlo"}, default="las-vegas"
        A proof, a promise that fails with probability delta, or one that holds in half of all runs.
    delta : float, default=0.05
        The probability of failure in mode "high-probability".
    solver : {"auto", "simba", "tracking", "extragradient", "working-set"}, default="auto"
        The algorithm; see `skimlearn.solvers.choose_margin`. The result says which one it was.
    batch : int, default=1
        Columns read in a step of "simba" and "tracking".
    steps : int or None
        Plan for so many steps, as the paper's theorem has it, and take no more: the sizes of the
        steps then do not change. None: sizes that suit any number of steps.
    max_reads, max_steps, max_seconds : int, int and float, or None
        Stop before more stored entries are read than that, or after so many steps or seconds.
    random_state : int, Generator or None
        Source of randomness.
    n_jobs : int or None, default=None
        Threads that share the n + d numbers of a step of "simba" (without nu) and "tracking", where
        the data is dense and large enough for it to pay; -1 for all cores. The result is the same.

    Returns
    -------
    SoftMargin
        A `Result` with the SVM's parameters.

    Examples
    --------
    >>> X = [[1.0, 0.2], [0.8, -0.3], [0.1, 0.0], [-1.0, 0.1], [-0.7, -0.2]]
    >>> answer = soft_margin(X, [1, 1, -1, -1, -1], nu=0.2, eps=0.05, random_state=0)
    >>> answer.certificate.gap <= 0.05
    True
    """
    check_slack(nu, kappa)
    if steps is not None and not steps >= 1:
        raise ValueError(f"steps={steps!r} must be a positive number, or None")
    limits = Limits(
        eps=eps,
        max_reads=max_reads,
        max_steps=max_steps if steps is None else min(steps, _or(max_steps, steps)),
        max_seconds=max_seconds,
    )
    run = MarginRun(
        as_source(X),
        y,
        np.random.default_rng(random_state),
        nu=nu or 0.0,
        kappa=kappa,
        bias=bias,
        solver=solver,
        batch=batch,
        steps=steps,
        eps=eps,
        mode=mode,
        delta=delta,
        n_jobs=n_jobs,
    )
    return explained(run, run.run(limits))


def soft_margin_path(
    X: Any,
    y: ArrayLike,
    *,
    nu: Sequence[float],
    bias: bool = False,
    eps: float = 0.05,
    mode: str = "las-vegas",
    delta: float = 0.05,
    batch: int = 1,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Iterator[SoftMargin]:
    """Soft margins along a path of slacks, each begun where the one before ended.

    The parameters are those of `soft_margin`; the limits hold for each point of the path.

    Parameters
    ----------
    X, y, bias, eps, mode, delta, batch, max_reads, max_steps, max_seconds, random_state
        As in `soft_margin`.
    nu : sequence of float
        The slacks, all positive; each point begins with a quarter of the steps before it.

    Yields
    ------
    SoftMargin
        One for each slack, as it is found.

    Examples
    --------
    >>> X = [[1.0, 0.2], [0.8, -0.3], [0.1, 0.0], [-1.0, 0.1], [-0.7, -0.2]]
    >>> y = [1, 1, -1, -1, -1]
    >>> margins = [a.margin for a in soft_margin_path(X, y, nu=[0.1, 0.3], random_state=0)]
    >>> margins[0] < margins[1]
    True
    """
    if not len(nu) or not all(value > 0.0 for value in nu):
        raise ValueError(f"nu={nu!r} must hold positive numbers; max_margin is the path's end at 0")
    limits = Limits(eps=eps, max_reads=max_reads, max_steps=max_steps, max_seconds=max_seconds)
    run = MarginRun(
        as_source(X),
        y,
        np.random.default_rng(random_state),
        nu=nu[0],
        bias=bias,
        batch=batch,
        eps=eps,
        mode=mode,
        delta=delta,
    )
    return _along(run, [replace(run.settings, nu=float(value)) for value in nu], limits)


def _along(run: MarginRun, points: list[Simba], limits: Limits) -> Iterator[SoftMargin]:
    assert run.skim is not None  # only simba knows a slack
    for k, settings in enumerate(points):
        run.settings = settings
        if k > 0:
            run.skim.restart(settings)
        yield explained(run, run.run(limits))


def check_slack(nu: float | None, kappa: float | None) -> None:
    """Refuse what is no slack and no fraction."""
    if (nu is None) == (kappa is None):
        raise ValueError(f"nu={nu!r} and kappa={kappa!r}: give one of them")
    if nu is not None and not 0.0 <= nu < math.inf:
        raise ValueError(f"nu={nu!r} must be a number, 0 or more: the mean slack")
    if kappa is not None and not 0.0 < kappa <= 1.0:
        raise ValueError(f"kappa={kappa!r} must lie in (0, 1]: a fraction of the rows")


def explained(run: MarginRun, result: Result) -> SoftMargin:
    """The result with the SVM that it is the answer of."""
    n, worst, p, value = len(run.y), run.worst, result.p, result.certificate.primal
    result = run.with_counted(result)  # of the worst
    if not math.isfinite(value):
        kappa = 1.0 / (n * run.cap) if run.cap < 1.0 else math.nan
        return _with(result, nu=run.settings.nu or math.nan, kappa=kappa)
    if run.cap < 1.0:
        kappa, margin = 1.0 / (n * run.cap), math.nan
        if run.skim is not None and result.solver == run.skim.name:
            margin = run.skim.level
        elif isinstance(run.source, Matrix):
            c = np.zeros(n)
            responses(run.source.rows, result.x, c)
            more = Reads(certificate=run.source.entries)
            result = replace(result, reads=result.reads + more)
            margin = worst.level(run.y * (c + result.bias))
        nu = kappa * (margin - value)
    else:
        kappa, margin, nu = 1.0 / (n * float(p.max())), value, run.settings.nu
    rest = worst.bound(0.0, p, run.y)  # all but ||A'p||
    alpha = kappa * margin * max(result.certificate.dual - rest, 0.0)
    C = 1.0 / (alpha * n) if alpha > 0.0 else math.inf
    return _with(result, margin=margin, nu=nu, kappa=kappa, alpha=alpha, C=C)


def _with(result: Result, **more: float) -> SoftMargin:
    known: dict[str, Any] = {field.name: getattr(result, field.name) for field in fields(Result)}
    return SoftMargin(**known | more)


def _or(value: int | None, other: int) -> int:
    return other if value is None else value
