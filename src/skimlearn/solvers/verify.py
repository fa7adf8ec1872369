r"""Check an answer by sampling: whether <a_i, x> is large enough for every row, from few columns.

The inner products of all rows with x are estimated at once. Coordinates so heavy that sampling
would draw them anyway are read exactly. From the others columns are drawn with probability
x_j^2 / ||x_rest||^2, the same for all rows: ``a_ij ||x_rest||^2 / x_j`` is an unbiased estimate of
the rest of <a_i, x>, with a second moment of at most ||a_i||^2 ||x_rest||^2. The median over groups
of the means of such estimates errs by more than eps, for any row, with probability delta at most.

If that would take as many columns as x has nonzero coordinates, each of those is read once instead,
and the estimates are exact. No column is ever read twice.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), corollaries
II.9 and II.10. The paper compares with the optimum, taken as known; here ``bound`` is any upper
bound of it, such as the dual value that a solver has for free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn._jit import kernel
from skimlearn.data.columns import Matrix
from skimlearn.data.rows import Dense, add, lengths
from skimlearn.sampling.alias import AliasTable
from skimlearn.sampling.laws import plan_median_of_means
from skimlearn.solvers._margin_bounds import as_labels
from skimlearn.solvers._source import Source, as_source

__all__ = ["Verification", "verify"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Verification:
    """What a check by sampling found.

    Attributes
    ----------
    accepted : bool or None
        Whether the answer passed. If it did, min_i <a_i, x> >= bound - 3 eps; if it did not,
        min_i <a_i, x> < bound - eps. (Exact estimates: bound - 2 eps in both cases.) None if there
        was no bound to compare with.
    estimates : ndarray of shape (n,)
        The estimates of <a_i, x>.
    error : float
        What they err by at most: eps, or 0 if they are exact.
    failure : float
        The probability that one of them errs by more: delta, or 0 if they are exact.
    reads : int
        Stored entries that were read.

    Examples
    --------
    >>> check = verify([[3.0, 4.0], [1.0, 0.0]], [0.6, 0.8], eps=0.1, delta=0.1, rng=0)
    >>> check.estimates, check.exact
    (array([5. , 0.6]), True)
    """

    accepted: bool | None
    estimates: Vector
    error: float
    failure: float
    reads: int

    @property
    def estimates_min(self) -> float:
        """The least estimate of all rows."""
        return float(self.estimates.min())

    @property
    def exact(self) -> bool:
        """Whether every column that matters was read, so that nothing was left to chance."""
        return self.failure == 0.0


def verify(
    source: Any,
    x: ArrayLike,
    *,
    eps: float,
    delta: float,
    rng: int | np.random.Generator | None,
    bound: float | None = None,
    y: ArrayLike | None = None,
    rows_norm: float = 1.0,
) -> Verification:
    """Estimate <a_i, x> for every row by sampling, and check that all are nearly ``bound``.

    Parameters
    ----------
    source : array, sparse matrix, Matrix or Oracle of shape (n, d)
        The rows a_i, or, with ``y``, the rows x_i of a_i = y_i x_i.
    x : array of shape (d,)
        The answer to check.
    eps : float
        The error of an estimate.
    delta : float
        The probability that some estimate errs by more, over the draws of columns.
    rng : int, Generator or None
        Source of randomness.
    bound : float or None
        An upper bound of max over x of min_i <a_i, x>; x is accepted if all estimates are at least
        bound - 2 eps.
    y : array of shape (n,) or None
        Labels, -1 or +1.
    rows_norm : float, default=1
        A bound on the Euclidean norms of the rows. Nothing is read to check it, and nothing is
        guaranteed if it is too small.

    Returns
    -------
    Verification

    Examples
    --------
    A margin of 0.5 with d = 40,000 features, verified from less than a third of them:

    >>> d = 40_000
    >>> x = np.full(d, d**-0.5)
    >>> A = np.array([0.9 * x, 0.5 * x])
    >>> check = verify(A, x, bound=0.5, eps=0.1, delta=0.2, rng=0)
    >>> check.accepted, check.exact, check.reads < A.size / 3
    (True, False, True)
    """
    source = as_source(source)
    n, d = source.shape
    x = _vector("x", x, d)
    labels = None if y is None else as_labels(y, n)
    if not 0.0 < eps < math.inf:
        raise ValueError(f"eps={eps!r} must be positive and finite")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta={delta!r} must lie between 0 and 1")
    if not 0.0 <= rows_norm < math.inf:
        raise ValueError(f"rows_norm={rows_norm!r} must be finite and not negative")
    if bound is not None and math.isnan(bound):
        raise ValueError("bound=nan is no bound: use the dual value of a solver")
    plan = _Plan.make(x, rows_norm, eps, delta / n, np.random.default_rng(rng))
    sums = np.zeros((1, n))
    reads = _add_columns(source, plan.heavy, x[plan.heavy], None, sums)
    estimates = sums[0]
    if plan.groups:
        means = np.zeros((plan.groups, n))
        reads += _add_columns(source, plan.drawn, plan.factors, plan.group, means)
        estimates += np.median(means, axis=0, overwrite_input=True)
    if labels is not None:
        estimates *= labels
    if not np.isfinite(estimates).all():
        raise ValueError("source has an entry that is nan or infinite in a column that was read")
    return Verification(
        accepted=None if bound is None else bool(estimates.min() >= bound - 2.0 * eps),
        estimates=estimates,
        error=eps if plan.groups else 0.0,
        failure=delta if plan.groups else 0.0,
        reads=reads,
    )


@dataclass(frozen=True)
class _Plan:
    """Which columns to read once, and which were drawn, in rising order, with what factor."""

    heavy: NDArray[np.int64]
    drawn: NDArray[np.int64]
    factors: Vector
    group: NDArray[np.int64]
    groups: int

    @classmethod
    def make(
        cls, x: Vector, rows_norm: float, eps: float, delta: float, rng: np.random.Generator
    ) -> _Plan:
        groups = plan_median_of_means(1.0, delta)[1]
        nonzero = np.flatnonzero(x)
        # sampling draws column j 4 groups (rows_norm x_j / eps)^2 times: read it if that is 1
        light = 2.0 * math.sqrt(groups) * rows_norm * np.abs(x[nonzero]) < eps
        rest = nonzero[light]
        largest = float(np.abs(x[rest]).max(initial=0.0))
        share = x[rest] / largest if largest > 0.0 else x[rest]
        total = float(share @ share)
        spread = rows_norm * largest * math.sqrt(total)
        per_group = plan_median_of_means(eps / max(spread, eps), delta)[0]
        if np.count_nonzero(~light) + per_group * groups >= len(nonzero):
            none = np.empty(0, dtype=np.int64)
            return cls(nonzero, none, np.empty(0), none, 0)
        at = AliasTable(share * share).draw(rng.random(per_group * groups))
        order = np.argsort(at, kind="stable")
        factors = (largest * total / per_group) / share[at[order]]
        return cls(nonzero[~light], rest[at[order]], factors, order // per_group, groups)


def _add_columns(
    source: Source,
    chosen: NDArray[np.int64],
    factors: Vector,
    group: NDArray[np.int64] | None,
    sums: NDArray[np.float64],
) -> int:
    """sums[group_k] += factor_k * column k, over the chosen columns, each read once; the reads."""
    group = np.zeros(len(chosen), dtype=np.int64) if group is None else group
    if isinstance(source, Matrix):
        _add_all(source.columns, chosen, factors, group, sums)
        return int(lengths(source.columns)[np.unique(chosen)].sum())
    before = source.reads
    alone = np.zeros(len(chosen), dtype=np.int64)
    distinct, starts, counts = np.unique(chosen, return_index=True, return_counts=True)
    for j, start, stop in zip(distinct.tolist(), starts, starts + counts, strict=True):
        line, part = Dense(source.column(j).reshape(1, -1)), slice(start, stop)
        _add_all(line, alone[part], factors[part], group[part], sums)
    return source.reads - before


@kernel
def _add_all(columns, chosen, factors, group, sums):
    for k in range(len(chosen)):
        add(columns, chosen[k], factors[k], sums[group[k]])


def _vector(name: str, values: ArrayLike, size: int) -> Vector:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (size,):
        raise ValueError(f"{name} has shape {vector.shape}, but the source asks for ({size},)")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} must be finite")
    return vector
