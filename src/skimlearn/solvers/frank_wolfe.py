r"""Quadratic programs over the simplex to full accuracy, by pairwise Frank-Wolfe steps.

Problem:  min over p in the simplex, p_i <= cap, of  phi(p) = p.b + ||A'p||^2.

Algorithm: with g = b + 2 A A'p the gradient, move weight from the row of greatest g among those
that have some to the row of least g among those that have room, as far as an exact line search
says. It converges linearly (Lacoste-Julien and Jaggi, "On the global linear convergence of
Frank-Wolfe optimization variants", 2015); a step is a pass.

The certificate is the Frank-Wolfe gap p.g - min_q q.g = phi(p) - psi(x), with x = A'p and the dual
psi(x) = min_q q.(b + 2 A x) - ||x||^2. Enclosing balls (b_i = -||a_i||^2), margins (b = 0, the
margin is the root of phi) and L2-SVMs are such problems. Both x and g are computed afresh, not
updated, whenever a certificate is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn._jit import kernel
from skimlearn.data.inspection import as_rows
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Rows, add, combine, dot, entry, lengths, responses, size
from skimlearn.result import Result, Status
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import Sides, as_linear, split
from skimlearn.solvers._passes import Passes

__all__ = ["pairwise_frank_wolfe"]

Vector = NDArray[np.float64]
CHUNK = 64  # steps between two certificates
PATIENCE = 20  # certificates without any progress before rounding is blamed


def pairwise_frank_wolfe(
    A: Any,
    b: ArrayLike | None = None,
    *,
    cap: float = 1.0,
    eps: float = 1e-10,
    max_steps: int | None = 100_000,
    start: ArrayLike | None = None,
) -> Result:
    """Minimise p.b + ||A'p||^2 over distributions p <= cap.

    Parameters
    ----------
    A : array, sparse matrix or Rows of shape (n, d)
        The rows whose mixtures are measured.
    b : array of shape (n,) or None
        The linear part; None for zeros.
    cap : float, default=1.0
        The greatest weight of a row, at least 1/n.
    eps : float, default=1e-10
        Stop when the gap, a difference of objectives, is no greater.
    max_steps : int or None, default=100_000
        Stop after so many steps; each is a pass over the matrix.
    start : array of shape (n,) or None
        Weights to begin with; None for the best single row, or the best 1/cap rows.

    Returns
    -------
    Result
        The weights ``p``, ``x`` = A'p, and the optimum between ``certificate.dual`` and
        ``certificate.primal``.

    Examples
    --------
    >>> result = pairwise_frank_wolfe([[2.0, 1.0], [2.0, -1.0], [5.0, 5.0]])
    >>> result.p, result.x, result.certificate.primal
    (array([0.5, 0.5, 0. ]), array([2., 0.]), 4.0)
    """
    rows = as_rows(A)
    n = rows.shape[0]
    sides = split(np.ones(n), cap, bias=False)
    p = None
    if start is not None:
        p = np.array(start, dtype=np.float64)
        if p.shape != (n,) or not (p >= 0.0).all() or not abs(p.sum() - 1.0) <= 1e-9:
            raise ValueError(f"start must be a distribution over the {n} rows of A")
        if p.max() > sides.cap * (1.0 + 1e-9):
            raise ValueError(f"start has a weight of {p.max():.3g}, greater than cap={cap!r}")
        p = np.minimum(p / p.sum(), sides.cap)
    run = _FrankWolfe(rows.shape, rows=rows, b=as_linear(b, n), sides=sides, p=p)
    return run.run(Limits(eps=eps, max_steps=max_steps))


@dataclass
class _FrankWolfe(Passes):
    name = "frank-wolfe"

    rows: Rows = field(kw_only=True)
    b: Vector = field(kw_only=True)
    sides: Sides = field(kw_only=True)
    p: Vector | None = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        n, d = self.shape
        self.lengths = lengths(self.rows)
        self.idle = 0
        self.x, self.g, self.direction = np.zeros(d), np.zeros(n), np.zeros(d)

    def fallback(self) -> tuple[Vector, float, Vector]:
        return self.x.copy(), 0.0, self.sides.uniform()

    def step(self, more_reads: float, more_steps: float) -> Status | None:
        if self.p is None or self.bounds.p is None:
            self.p = self._first() if self.p is None else self.p
            self._certify()
            return None
        before = self.bounds.certificate.gap
        limit = int(min(more_steps, CHUNK))
        taken, stored = _move(
            self.rows, self.b, self.sides.cap, limit, self.p, self.x, self.g, self.direction
        )
        self.steps += taken
        self._pass(taken)
        self.reads += Reads(2 * self.shape[1] * taken, stored)  # the pairs
        self._certify()
        self.idle = self.idle + 1 if self.bounds.certificate.gap >= before else 0
        return Status.STALLED if taken < limit or self.idle >= PATIENCE else None

    def _first(self) -> Vector:
        """The rows of the least objective, each taken alone."""
        alone = np.empty(self.shape[0])
        _squares(self.rows, alone)
        self._pass(1)
        return self.sides.lightest(self.b + alone)

    def _certify(self) -> None:
        assert self.p is not None
        self.x[:] = 0.0
        combine(self.rows, self.p, self.x)
        responses(self.rows, self.x, self.g)
        used = self.lengths[self.p != 0.0]
        self.reads += Reads(len(used) * self.shape[1], int(used.sum()))
        self._pass(1)
        square = float(self.x @ self.x)
        self.g[:] = self.b + 2.0 * self.g
        primal = float(self.p @ self.b) + square
        dual = float(self.sides.lightest(self.g) @ self.g) - square
        if primal < self.bounds.upper:
            self.bounds.upper, self.bounds.p = primal, self.p.copy()
        if dual > self.bounds.lower:
            self.bounds.lower, self.bounds.x = dual, self.x.copy()

    def _pass(self, times: int) -> None:
        n, d = self.shape
        self.reads += Reads(n * d * times, int(self.lengths.sum()) * times)


@kernel
def _squares(rows, out):
    for i in range(len(out)):
        total = 0.0
        for k in range(size(rows, i)):
            value = entry(rows, i, k)[1]
            total += value * value
        out[i] = total


@kernel
def _move(rows, b, cap, steps, p, x, g, direction):
    """So many pairwise steps, with x = A'p and g = b + 2 A x; fewer if no pair is left to move.

    Return their number, and the stored entries of their pairs.
    """
    stored = 0
    for step in range(steps):
        low, high = -1, -1
        for i in range(len(p)):
            if p[i] < cap and (low < 0 or g[i] < g[low]):
                low = i
            if p[i] > 0.0 and (high < 0 or g[i] > g[high]):
                high = i
        if low < 0 or not g[low] < g[high]:
            return step, stored
        for j in range(len(x)):
            direction[j] = 0.0
        add(rows, low, 1.0, direction)
        add(rows, high, -1.0, direction)
        stored += np.int64(size(rows, low)) + np.int64(size(rows, high))
        curvature = 0.0
        for j in range(len(x)):
            curvature += direction[j] * direction[j]
        room = min(p[high], cap - p[low])
        length = room
        if curvature > 0.0:
            length = min(room, (g[high] - g[low]) / (2.0 * curvature))
        p[low] = cap if length == cap - p[low] else p[low] + length
        p[high] = 0.0 if length == p[high] else p[high] - length
        for j in range(len(x)):
            x[j] += length * direction[j]
        for i in range(len(p)):
            g[i] = b[i] + 2.0 * dot(rows, i, x)
    return steps, stored
