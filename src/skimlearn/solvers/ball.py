r"""The smallest ball around all rows, from columns and a few rows, with a certificate.

Problem:  R^2 = min over c of max_i ||A_i - c||^2,
its dual: R^2 = max over p in the simplex of  sum_i p_i ||A_i - o||^2 - ||A'p - o||^2,  for any o.

This is the quadratic program of `_simplex` with b_i = -||A_i - o||^2. The reference o is the mean
of a few rows: then lengths are at most twice the radius, eps is relative to it, and the steps are
the same wherever the data lie and whatever their unit. It is subtracted in formulas only, so that
sparse data stay sparse. The distances of all rows to o are needed; they cost one pass, unless an
`Oracle` knows the norms of its rows, in which case o is the origin.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), III-A, where
the square of the radius is called the radius; the steps are left to the reader there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.columns import Matrix
from skimlearn.data.oracle import Oracle, ReadLimit
from skimlearn.data.rows import Rows, entry, lengths, size
from skimlearn.result import Result
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._simplex import COMMON
from skimlearn.solvers._simplex_run import SimplexRun
from skimlearn.solvers._skim import DENSE, STORED, Callback
from skimlearn.solvers._source import Source, as_source

__all__ = ["enclosing_ball"]

Vector = NDArray[np.float64]
SAMPLE = 16  # rows whose mean is the reference


def enclosing_ball(
    X: Any,
    *,
    eps: float = 0.02,
    mode: str = "las-vegas",
    delta: float = 0.05,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    random_state: int | np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Result:
    """The smallest ball that holds all rows of X, to a part eps of its squared radius.

    Parameters
    ----------
    X : array, sparse matrix, Store, Matrix or Oracle of shape (n, d)
        The points. An oracle that knows the norm of every row (``rows_norm``) spares a pass; its
        rows should not lie far from the origin then.
    eps : float, default=0.02
        By which part the squared radius of the answer may exceed the least one.
    mode : {"las-vegas", "high-probability", "monte-carlo"}, default="las-vegas"
        A proof, bounds that fail with probability delta, or a promise that holds in half of all
        runs.
    delta : float, default=0.05
        The probability of failure in mode "high-probability".
    max_reads, max_steps, max_seconds : int, int and float, or None
        Stop before more stored entries are read than that, or after so many steps or seconds.
    random_state : int, Generator or None
        Source of randomness.
    callback : callable or None
        Called with a `Record` at every check; the run stops if it returns something true.

    Returns
    -------
    Result
        ``x`` is the centre and ``bias`` the squared radius around it (an estimate in mode
        "monte-carlo"); ``p`` has the weights of the rows behind the lower bound. The certificate
        is one of the squared radius.

    See Also
    --------
    soft_ball : the ball that may leave out a part of the rows.

    Examples
    --------
    >>> corners = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 1.5]]
    >>> result = enclosing_ball(corners, eps=1e-6, random_state=0)
    >>> result.x.round(3)
    array([1., 1.])
    >>> round(result.certificate.primal, 3)
    2.0
    """
    limits = Limits(eps=eps, max_reads=max_reads, max_steps=max_steps, max_seconds=max_seconds)
    source, rng = as_source(X), np.random.default_rng(random_state)
    origin, squares, entries, dense = _about_a_reference(source, rng, max_reads)
    run = BallRun(
        source,
        rng,
        linear=-squares,
        origin=origin,
        longest=float(squares.max()),
        mode=mode,
        delta=delta,
    )
    run.tally[STORED], run.tally[DENSE] = entries, dense
    run.setup = entries
    return run.run(limits, callback)


@dataclass
class BallRun(SimplexRun):
    """One run for a ball: -phi is the lower and -psi the upper bound of the squared radius."""

    name = "enclosing_ball"

    def gradient(self, x: Vector, z: float, q: Vector) -> Vector:
        source = self.source
        if isinstance(source, Matrix):
            self.certified += source.entries
            return float(x @ x) - squared_distances(source.rows, self.state.origin + x)
        out = np.zeros(len(self.linear))
        for j in np.flatnonzero(x).tolist():
            out += x[j] * (self._column(j) - self.state.origin[j])
        return self.linear + 2.0 * out

    def found_p(self, phi: float, p: Vector) -> None:
        self.bounds.dual(max(0.0, -phi), p)

    def found_x(self, psi: float, x: Vector, z: float) -> None:
        square = max(0.0, -psi)
        self.bounds.primal(square, x + self.state.origin, bias=square)

    def target(self, eps: float) -> float:
        """A part of the squared radius, but not less than what rounding leaves of it."""
        origin = self.state.origin
        rounding = 1e-15 * (float(origin @ origin) + self.longest)
        return max(eps * self.bounds.lower, rounding) if self.bounds.lower >= 0.0 else rounding

    def fallback(self) -> tuple[Vector, float, Vector]:
        x, _, p = super().fallback()
        scores = self.state.scores + self.state.scalars[COMMON]
        estimates = self.linear + 2.0 * scores / max(self.steps, 1)
        return x + self.state.origin, float(x @ x) - float(estimates.min()), p


def _about_a_reference(
    source: Source, rng: np.random.Generator, max_reads: float | None
) -> tuple[Vector, Vector, int, int]:
    """A reference point, the squared distances to it, and what it took to know them."""
    n, d = source.shape
    if isinstance(source, Oracle) and (known := exact_norms(source)) is not None:
        return np.zeros(d), known**2, 0, 0
    sample = rng.choice(n, size=min(SAMPLE, n), replace=False)
    if isinstance(source, Matrix):
        entries = source.entries + int(lengths(source.rows)[sample].sum())
        if max_reads is not None and entries > max_reads:
            raise _too_few(max_reads, entries)
        origin = np.mean([source.row(int(i)) for i in sample], axis=0)
        squares = squared_distances(source.rows, origin)
        if not np.isfinite(squares).all():
            if not np.isfinite(origin).all():  # then all rows seem to be at fault
                squares = squared_distances(source.rows, np.zeros(d))
            raise ValueError(
                f"row {int(np.argmin(np.isfinite(squares)))} holds nan or infinite entries, or "
                "such large ones that squares overflow: impute, drop or scale them first"
            )
        return origin, squares, entries, (n + len(sample)) * d
    before, squares = source.reads, np.zeros(n)
    try:
        with source.within(np.inf if max_reads is None else max_reads):
            origin = np.mean([source.row(int(i)) for i in sample], axis=0)
            for j in range(d):
                squares += (source.column(j) - origin[j]) ** 2
    except ReadLimit as error:
        raise _too_few(max_reads or source.max_reads or 0, n * d) from error
    entries = source.reads - before
    return origin, squares, entries, entries


def _too_few(max_reads: float, entries: int) -> ValueError:
    return ValueError(
        f"max_reads={max_reads} is too small: the distances of all rows to a reference take about "
        f"{entries} entries; raise it, or use an Oracle that knows the norms of its rows"
    )


def exact_norms(oracle: Oracle) -> Vector | None:
    """The norm of every row, if the oracle knows them and not just one bound for all."""
    norms = oracle.rows_norm
    if norms is None or (norms.strides == (0,) and len(norms) > 1):
        return None
    return np.asarray(norms, dtype=np.float64)


def squared_distances(rows: Rows, c: Vector) -> Vector:
    """||row i - c||^2 for all rows: sums of squares, without the cancellation of ||c||^2."""
    out = np.empty(rows.shape[0])
    _squared_distances(rows, c, out)
    return out


@kernel
def _squared_distances(rows, c, out):
    square = 0.0
    for j in range(len(c)):
        square += c[j] * c[j]
    for i in range(len(out)):
        near, covered = 0.0, 0.0
        stored = np.int64(size(rows, i))
        for k in range(size(rows, i)):
            j, value = entry(rows, i, k)
            near += (value - c[j]) * (value - c[j])
            covered += c[j] * c[j]
        out[i] = near + (max(square - covered, 0.0) if stored < len(c) else 0.0)
