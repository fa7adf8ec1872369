"""The greatest margin of two classes, from a part of the rows and columns.

Problem:  max over ||x||_q <= 1 of min_i y_i <x_i, x>;  its dual: min over p of ||A'p||.

The algorithms are `simba`, `tracking`, `extragradient` and `working_set`; `choose_margin` says when
which of them is taken, and `_margin_skim` what is promised. See Clarkson, Hazan and Woodruff,
"Sublinear optimization for machine learning" (2010), section II.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from skimlearn.result import Result
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._source import as_source
from skimlearn.solvers.choose_margin import MarginRun

__all__ = ["max_margin"]


def max_margin(
    X: Any,
    y: ArrayLike,
    *,
    eps: float = 0.05,
    mode: str = "las-vegas",
    delta: float = 0.05,
    q: float = 2.0,
    solver: str = "auto",
    batch: int = 1,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
) -> Result:
    """The direction that parts two classes by the greatest margin, from a part of the data.

    It maximises the least ``y_i <x_i, x>`` over ``||x||_q <= 1``.

    Parameters
    ----------
    X : array, sparse matrix, Store, Matrix or Oracle of shape (n, d)
        The rows.
    y : array of shape (n,)
        Labels, +1 and -1.
    eps : float, default=0.05
        How far from the greatest margin the answer may be, in units of the data.
    mode : {"las-vegas", "high-probability", "monte-carlo"}, default="las-vegas"
        A proof, a promise that fails with probability delta, or one that holds in half of all runs.
    delta : float, default=0.05
        The probability of failure in mode "high-probability".
    q : float, default=2.0
        The norm of x, 1 < q <= 2: smaller for answers with few large coordinates.
    solver : {"auto", "simba", "tracking", "extragradient", "working-set"}, default="auto"
        The algorithm; see `skimlearn.solvers.choose_margin`. The result says which one it was.
    batch : int, default=1
        Columns read in a step of "simba" and "tracking".
    max_reads, max_steps, max_seconds : int, int and float, or None
        Stop before more stored entries are read than that, or after so many steps or seconds.
    random_state : int, Generator or None
        Source of randomness.
    n_jobs : int or None, default=None
        Threads that share the n + d numbers of a step of "simba" (without nu) and "tracking", where
        the data is dense and large enough for it to pay; -1 for all cores. The result is the same.

    Returns
    -------
    Result
        ``x`` is the direction, ``p`` the distribution over rows behind the upper bound.

    Examples
    --------
    >>> X = [[1.0, 0.1], [0.9, -0.2], [-1.0, 0.3], [-0.8, -0.1]]
    >>> result = max_margin(X, [1, 1, -1, -1], eps=0.1, random_state=0)
    >>> result.certificate.gap <= 0.1
    True
    >>> bool(result.certificate.primal > 0.7)  # the classes can be parted
    True
    """
    limits = Limits(eps=eps, max_reads=max_reads, max_steps=max_steps, max_seconds=max_seconds)
    if not 1.0 < q <= 2.0:
        raise ValueError(f"q={q!r} must lie in (1, 2]; 1 + 1 / log(d) is close to the l1 norm")
    run = MarginRun(
        as_source(X),
        y,
        np.random.default_rng(random_state),
        q=q,
        solver=solver,
        batch=batch,
        eps=eps,
        mode=mode,
        delta=delta,
        n_jobs=n_jobs,
    )
    return run.run(limits)
