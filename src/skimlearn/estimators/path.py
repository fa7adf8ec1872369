"""The regularization path: one problem for a sequence of strengths, each with a certificate."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.estimators._contract import ConvergenceWarning
from skimlearn.formulas import losses
from skimlearn.formulas.losses import Loss
from skimlearn.problem import check_alpha, make_problem
from skimlearn.result import Budget, Certificate, Result, Status
from skimlearn.solvers import choose
from skimlearn.solvers._run import Callback, Start

__all__ = ["Path", "regularization_path"]


@dataclass(frozen=True)
class Path:
    """The answers along a sequence of strengths.

    Attributes
    ----------
    alphas : ndarray of shape (k,)
        The strengths, from the largest to the smallest.
    coefs : ndarray of shape (k, d)
        The weights of each.
    intercepts : ndarray of shape (k,)
        The biases.
    results : list of Result
        The whole results.

    Examples
    --------
    >>> from skimlearn import regularization_path
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    >>> path = regularization_path(X, y, loss="squared", alphas=[1.0, 0.1, 0.01])
    >>> path.coefs.round(2).ravel()  # from strong to weak
    array([0.4 , 0.87, 0.99])
    >>> all(certificate.relative_gap <= 1e-3 for certificate in path.certificates)
    True
    """

    alphas: NDArray[np.float64]
    coefs: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    results: list[Result]

    @property
    def certificates(self) -> list[Certificate]:
        """The certificate of each answer."""
        return [result.certificate for result in self.results]


def alpha_grid(alphas: int | Sequence[float] | ArrayLike) -> NDArray[np.float64]:
    """Strengths from the largest to the smallest: the given ones, or so many of 0.1 to 1e-6.

    Examples
    --------
    >>> alpha_grid(3)
    array([1.00000000e-01, 3.16227766e-04, 1.00000000e-06])
    """
    if isinstance(alphas, (int, np.integer)) and not isinstance(alphas, bool):
        if alphas < 1:
            raise ValueError(f"alphas={alphas} must be at least 1, or a sequence of strengths")
        return np.geomspace(1e-1, 1e-6, int(alphas))
    values = np.asarray(alphas)
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "iuf":
        raise ValueError(f"alphas={alphas!r} must be a number of strengths or a sequence of them")
    return np.array(sorted((check_alpha(value) for value in values.tolist()), reverse=True))


def regularization_path(
    X: Any,
    y: ArrayLike,
    *,
    loss: str | Loss,
    alphas: int | Sequence[float] | ArrayLike = 11,
    p: float = 2.0,
    radius: float | None = None,
    bias: str = "free",
    solver: str = "auto",
    tol: float | None = 1e-3,
    max_epochs: int | None = 1000,
    max_seconds: float | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: int | None = None,
    callback: Callback | None = None,
) -> Path:
    """Solve a problem for a sequence of strengths, each started at the answer of the one before.

    Parameters
    ----------
    X : array, sparse matrix or Store of shape (n, d)
        The rows.
    y : array of shape (n,)
        Two classes for a loss of labels, numbers for the others.
    loss : str or Loss
        A name or an instance.
    alphas : int or sequence of float, default=11
        The strengths, or how many of them between 0.1 and 1e-6.
    p, radius, bias, solver, tol, max_epochs, max_seconds
        As for `LinearClassifier`; the limits hold for each strength.
    sample_weight : array of shape (n,) or None
        Non-negative weights of the rows.
    random_state : int or None
        Seed.
    callback : callable or None
        Called with a `Record` after every epoch; the path ends if it returns something true.

    Returns
    -------
    Path

    Examples
    --------
    >>> from skimlearn import regularization_path
    >>> from skimlearn.datasets import load_spam
    >>> X, y = load_spam()
    >>> path = regularization_path(X, y, loss="log", alphas=[1e-2, 1e-3, 1e-4], random_state=0)
    >>> path.coefs.shape
    (3, 62979)
    >>> all(certificate.relative_gap <= 1e-3 for certificate in path.certificates)
    True
    """
    grid = alpha_grid(alphas)
    if isinstance(X, np.ndarray) and not isinstance(X, np.memmap):
        X = np.ascontiguousarray(X)
    problem = make_problem(
        X,
        _targets(y, loss),
        loss=loss,
        alpha=float(grid[0]),
        p=p,
        radius=radius,
        bias=bias,
        sample_weight=sample_weight,
    )
    budget = Budget(gap=tol, epochs=max_epochs, seconds=max_seconds)
    rng = np.random.default_rng(random_state)
    problems = [problem.with_alpha(float(alpha)) for alpha in grid]
    stop = threading.Event()
    few, shared = choose.merge(problems, solver, budget, stop), choose.shared(problems)
    results: list[Result] = []
    start = None
    for alpha, here in zip(grid, problems, strict=True):
        result = choose.solve(
            here,
            solver,
            budget=budget,
            seed=rng,
            start=start,
            callback=callback,
            stop=stop,
            few=few,
            shared=shared,
        )
        results.append(result)
        if result.status is Status.INTERRUPTED:
            warnings.warn(
                f"interrupted: the path ends at alpha={alpha:g}, the best answer found so far",
                UserWarning,
                stacklevel=2,
            )
            break
        if result.status is Status.STOPPED:
            break
        start = Start(result.x, result.bias, result.p)
    short = [r for r in results if r.status in (Status.EPOCHS, Status.STALLED)]
    if tol is not None and short:
        warnings.warn(
            f"{len(short)} of {len(results)} answers have a relative duality gap above tol={tol:g} "
            "after max_epochs: raise max_epochs, loosen tol, or leave out the smallest alphas",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Path(
        alphas=grid[: len(results)],
        coefs=np.stack([result.x for result in results]),
        intercepts=np.array([result.bias for result in results]),
        results=results,
    )


def _targets(y: ArrayLike, loss: str | Loss) -> NDArray[Any]:
    """The targets as the loss wants them: -1 and +1 for two classes."""
    targets = np.asarray(y)
    known = losses.NAMES.get(loss) if isinstance(loss, str) else type(loss)
    if known is None or not getattr(known, "labels", False):
        return targets
    classes = np.unique(targets)
    if len(classes) != 2:
        raise ValueError(
            f"y holds {len(classes)} classes: a path needs two (use LinearClassifierCV for more)"
        )
    return np.where(targets == classes[1], 1.0, -1.0)
