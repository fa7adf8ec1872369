r"""Margins and simplex QPs exactly, in a few passes: solve for the rows that matter, look for more.

Problem:  min over p of  p.b + ||A'p||^2,  0 <= p_i <= cap, each side of the rows with its own mass.

With b = 0 this is the dual of the margin problem of `extragradient` (||A'p|| and its square have
the same minimiser), with two sides if there is a bias (`_margin_bounds`).

Algorithm: a pass gives the gradient g = b + 2 A A'p of all rows. The working set takes the rows of
least g that have room and those of greatest g that have weight, as far as they violate the
optimality of p, and rows strictly between 0 and the cap. Their inner products fill a small matrix,
on which pairs of weights are changed until nothing violates it (the pair that lowers the objective
most, of those with the least g). The next pass certifies, and finds new rows.

While the rows strictly between 0 and the cap fit into the working set, some ten passes give a gap
of 1e-6 of R. With more of them than `LARGEST`, as in sparse data of many dimensions, each round
mends a part of them only, and it takes many more passes. The price is memory for the
square of the working set, 32 MB at most, and arithmetic for its inner products.

See Joachims, "Making large-scale SVM learning practical" (1999), and Fan, Chen and Lin, "Working
set selection using second order information for training support vector machines" (2005).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn._jit import kernel
from skimlearn.data.columns import Matrix
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.data.rows import lengths, plain, scaled, take
from skimlearn.result import Result, Status
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import (
    Sides,
    as_labels,
    as_linear,
    as_start,
    best_scale_and_bias,
    dual_value,
    split,
)
from skimlearn.solvers._passes import Passes
from skimlearn.solvers._skim import Callback
from skimlearn.solvers._source import Source
from skimlearn.solvers._sweep import Sweeper

__all__ = ["working_set", "working_set_qp"]

Vector = NDArray[np.float64]
NEW = 200  # rows of either kind that join, for each side
LARGEST = 2000  # rows of a working set, at least four times as many
PRECISION = 0.02  # of the gap before: what the small problem may leave over


def working_set(
    source: Source,
    y: Vector,
    *,
    cap: float,
    bias: bool,
    limits: Limits,
    start: Vector | None = None,
    callback: Callback | None = None,
) -> Result:
    """Maximise a hard or soft margin exactly.

    The parameters and the result are those of `extragradient`, but there is no randomness, and
    ``start`` is p alone: few rows with weight make a good one.

    Examples
    --------
    >>> from skimlearn.data.columns import as_matrix
    >>> X, y = as_matrix([[3.0, 0.0], [1.0, 0.0]]), np.array([1.0, -1.0])
    >>> result = working_set(X, y, cap=1.0, bias=True, limits=Limits(eps=1e-9))
    >>> result.certificate.primal, result.bias
    (1.0, -2.0)
    """
    y = as_labels(y, source.shape[0])
    sides = split(y, cap, bias=bias)
    p = None if start is None else sides.repaired(as_start((np.zeros(1), start), sides, 1)[1])
    run = _Margin(source.shape, True, source=source, y=y, sides=sides, b=np.zeros(len(y)), p=p)
    return run.run(limits, callback)


def working_set_qp(
    source: Source,
    b: ArrayLike | None = None,
    *,
    cap: float = 1.0,
    limits: Limits,
    start: Vector | None = None,
    callback: Callback | None = None,
) -> Result:
    """Minimise p.b + ||A'p||^2 over distributions p <= cap exactly.

    The parameters and the result are those of `extragradient_qp`, but there is no randomness.

    Examples
    --------
    >>> from skimlearn.data.columns import as_matrix
    >>> A = as_matrix([[2.0, 1.0], [2.0, -1.0], [5.0, 5.0]])
    >>> working_set_qp(A, limits=Limits(eps=1e-9)).p
    array([0.5, 0.5, 0. ])
    """
    n = source.shape[0]
    y, linear = np.ones(n), as_linear(b, n)
    sides = split(y, cap, bias=False)
    p = None if start is None else sides.repaired(as_start((np.zeros(1), start), sides, 1)[1])
    run = _Quadratic(source.shape, False, source=source, y=y, sides=sides, b=linear, p=p)
    return run.run(limits, callback)


@dataclass
class _WorkingSet(Passes):
    name = "working-set"

    source: Source = field(kw_only=True)
    y: Vector = field(kw_only=True)
    sides: Sides = field(kw_only=True)
    b: Vector = field(kw_only=True)
    p: Vector | None = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sweeper = Sweeper(self.source, self.y)
        self.x: Vector | None = None  # A'p
        self.c: Vector | None = None  # A x
        self.gap = math.inf

    @abstractmethod
    def judge(self, x: Vector, c: Vector, p: Vector) -> float:
        """Improve the bounds by x = A'p and c = A x; return the gap of the squared problem."""

    def fallback(self) -> tuple[Vector, float, Vector]:
        return np.zeros(self.shape[1]), 0.0, self.sides.uniform() if self.p is None else self.p

    def step(self, more_reads: float, more_steps: float) -> Status | None:
        spent = self.reads.nnz
        try:
            if self.p is None:  # the rows that the mean of all rows finds hardest
                self._sweep(np.zeros(self.shape[1]), self.sides.uniform(), more_reads)
                left = more_reads - (self.reads.nnz - spent)
                self._sweep(self.sweeper.Atp.copy(), self.sides.uniform(), left)
                self.p = self.sides.lightest(self.b + 2.0 * self.sweeper.Ax)
            if self.x is None:
                left = more_reads - (self.reads.nnz - spent)
                self._sweep(np.zeros(self.shape[1]), self.p, left)
                self.x = self.sweeper.Atp.copy()
            elif self.c is not None:
                chosen = self._choose(self.b + 2.0 * self.c)
                rows = self._gather(chosen, more_reads)
                if not self._solve(chosen, rows, PRECISION * self.gap):
                    return Status.STALLED
            self._sweep(self.x, self.p, more_reads - (self.reads.nnz - spent))
        except ReadLimit:
            return Status.READS
        self.x = self.sweeper.Atp.copy()  # no update drifts for longer than one step
        self.c = self.sweeper.Ax
        self.gap = self.judge(self.x, self.c, self.p)
        self.steps += 1
        return None

    def _sweep(self, x: Vector, p: Vector, more: float) -> None:
        before = self.sweeper.dense, self.sweeper.stored
        try:
            if not self.sweeper.sweep(x, p, more):
                raise ReadLimit("a pass is beyond max_reads")
        finally:
            read = self.sweeper.dense - before[0], self.sweeper.stored - before[1]
            self.reads += Reads(*read)

    def _choose(self, g: Vector) -> NDArray[np.int64]:
        """The worst violators of each side first, then rows strictly between 0 and the cap."""
        assert self.p is not None
        p, cap, parts = self.p, self.sides.cap, []
        for k in range(len(self.sides.masses)):
            mine = self.sides.side == k
            low, high = np.flatnonzero(mine & (p < cap)), np.flatnonzero(mine & (p > 0.0))
            if len(low) == 0 or len(high) == 0:
                continue
            least, greatest = g[low].min(), g[high].max()
            low = _first(low[g[low] < greatest], g, NEW)
            high = _first(high[g[high] > least], -g, NEW)
            parts += [low, high]
        violators = np.unique(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
        between = np.setdiff1d(np.flatnonzero((p > 0.0) & (p < cap)), violators)
        return np.concatenate([violators, between])[:LARGEST]

    def _gather(self, chosen: NDArray[np.int64], more: float) -> Any:
        """The chosen rows, signed, as a small matrix of their own."""
        signs, d = self.y[chosen], self.shape[1]
        if isinstance(self.source, Matrix):
            stored = int(lengths(self.source.rows)[chosen].sum())
            if stored > more:
                raise ReadLimit("the working set is beyond max_reads")
            self.reads += Reads(len(chosen) * d, stored)
            return plain(scaled(take(self.source.rows, chosen), signs)).astype(np.float64)
        before = self.source.reads
        try:
            with self.source.within(more):
                return np.array([self.source.row(int(i)) for i in chosen]) * signs[:, None]
        finally:
            self.reads += Reads(self.source.reads - before, self.source.reads - before)

    def _solve(self, chosen: NDArray[np.int64], rows: Any, tolerance: float) -> bool:
        """Optimise the weights of the chosen rows; False if none changed."""
        assert self.p is not None
        assert self.x is not None
        products = rows @ rows.T
        gram = products if isinstance(products, np.ndarray) else products.toarray()
        g = self.b[chosen] + 2.0 * (rows @ self.x)
        p = self.p[chosen]
        taken = _pairs(
            np.ascontiguousarray(gram, dtype=np.float64), self.sides.side[chosen],
            len(self.sides.masses), self.sides.cap, tolerance, 200 * len(p) + 1000, p, g,
        )  # fmt: skip
        self.x = self.x + rows.T @ (p - self.p[chosen])
        self.p = self.p.copy()
        self.p[chosen] = p
        return bool(taken > 0)


@dataclass
class _Margin(_WorkingSet):
    def judge(self, x: Vector, c: Vector, p: Vector) -> float:
        R = self.sweeper.R if len(self.sides.masses) == 2 else 0.0
        norm = float(np.linalg.norm(x))
        value, scale, bias = best_scale_and_bias(c, norm, self.y, self.sides, R)
        self.bounds.primal(value, scale * x, bias)
        self.bounds.dual(dual_value(x, p, self.y, R), p)
        return 2.0 * norm * self.bounds.certificate.gap


@dataclass
class _Quadratic(_WorkingSet):
    def judge(self, x: Vector, c: Vector, p: Vector) -> float:
        g, square, best = self.b + 2.0 * c, float(x @ x), self.bounds
        upper = float(p @ self.b) + square
        lower = float(self.sides.lightest(g) @ g) - square
        if upper < best.upper:
            best.upper, best.p = upper, p
        if lower > best.lower:
            best.lower, best.x = lower, x
        return best.upper - best.lower


def _first(rows: NDArray[np.int64], key: Vector, count: int) -> NDArray[np.int64]:
    """The rows of the least keys."""
    if len(rows) <= count:
        return rows
    return rows[np.argpartition(key[rows], count - 1)[:count]]


@kernel
def _pairs(gram, side, sides, cap, tolerance, most, p, g):
    """Move weight between pairs of rows of one side until no pair violates by more; the count."""
    for taken in range(most):
        best, to, source, worst = 0.0, -1, -1, 0.0
        for k in range(sides):
            low, greatest = -1, -np.inf
            for i in range(len(p)):
                if side[i] == k:
                    if p[i] < cap and (low < 0 or g[i] < g[low]):
                        low = i
                    if p[i] > 0.0:
                        greatest = max(greatest, g[i])
            if low < 0:
                continue
            worst = max(worst, greatest - g[low])
            for i in range(len(p)):
                if side[i] == k and p[i] > 0.0 and g[i] > g[low]:
                    curvature = max(gram[low, low] + gram[i, i] - 2.0 * gram[low, i], 1e-300)
                    decrease = (g[i] - g[low]) * ((g[i] - g[low]) / curvature)
                    if decrease > best:
                        best, to, source = decrease, low, i
        if to < 0 or worst <= tolerance:
            return taken
        curvature = gram[to, to] + gram[source, source] - 2.0 * gram[to, source]
        room = min(p[source], cap - p[to])
        length = min(room, (g[source] - g[to]) / (2.0 * max(curvature, 1e-300)))
        p[to] = cap if length == cap - p[to] else p[to] + length
        p[source] = 0.0 if length == p[source] else p[source] - length
        for i in range(len(p)):
            g[i] += 2.0 * length * (gram[to, i] - gram[source, i])
    return most
