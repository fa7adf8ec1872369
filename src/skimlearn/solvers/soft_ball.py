r"""The smallest ball that may leave out a part of the rows, with a certificate.

Problem, for a part kappa of the n rows (support vector data description):

    V = min over c and r2 of  r2 + 1 / (kappa n) sum_i max(0, ||A_i - c||^2 - r2),

the mean of the kappa n greatest squared distances, by the choice of r2. Its dual is that of the
smallest ball with weights that are capped:

    V = max of  sum_i p_i ||A_i||^2 - ||A'p||^2   over distributions p with p_i <= 1 / (kappa n),

since the mean of the greatest distances is the maximum of p.||A_i - c||^2 over these p, and min and
max change places. The method is Frank and Wolfe's, fully corrective: the farthest rows of the
present centre, with all the weight that the cap allows, are a vertex; the best mixture of all
vertices so far is found on the matrix of their products. Each round reads all rows once, and the
farthest ones a second time. Its two values bracket V.

See Tax and Duin, "Support vector data description" (2004), and Jaggi, "Revisiting Frank-Wolfe:
projection-free sparse convex optimization" (2013), algorithm 4.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import Matrix
from skimlearn.data.inspection import as_rows
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import Oracle
from skimlearn.data.rows import Rows, combine, lengths, stored
from skimlearn.result import Record, Result, Status
from skimlearn.solvers._core_set import CoreSet
from skimlearn.solvers._limits import Bounds, Limits
from skimlearn.solvers._skim import Callback
from skimlearn.solvers.ball import squared_distances

__all__ = ["soft_ball"]

Vector = NDArray[np.float64]
IDLE = 3  # rounds without progress that end a run
ROOM = 64  # vertices that are mixed; older ones are put together when there are more


def soft_ball(
    X: Any,
    *,
    contamination: float,
    eps: float = 0.02,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
) -> Result:
    """The ball that holds most rows: the others count by how far they are outside.

    Parameters
    ----------
    X : array, sparse matrix, Store or Matrix of shape (n, d)
        The points.
    contamination : float
        The part of the rows that may lie outside, between 0 and 1; up to 1 / n it is none.
    eps : float, default=0.02
        By which part the value of the answer may exceed the least one.
    max_reads, max_steps, max_seconds : int, int and float, or None
        Stop before more stored entries are read than that (at least three times all), or after so
        many passes or seconds.
    callback : callable or None
        Called with a `Record` at every check; the run stops if it returns something true.

    Returns
    -------
    Result
        ``x`` is the centre and ``bias`` the squared radius: of all rows, at most the part
        ``contamination`` lies outside. The certificate is one of the mean of the greatest squared
        distances.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0], [100.0]]
    >>> result = soft_ball(X, contamination=0.4, eps=1e-6)  # 2 of 5 may lie outside
    >>> bool(result.bias < 2501.0)
    True
    >>> result.certificate.gap <= 1e-6 * result.certificate.primal
    True
    """
    limits = Limits(eps=eps, max_reads=max_reads, max_steps=max_steps, max_seconds=max_seconds)
    if not 0.0 < contamination <= 1.0:
        raise ValueError(
            f"contamination={contamination!r} must lie between 0 and 1; enclosing_ball leaves no "
            "row out"
        )
    if isinstance(X, Oracle):
        raise TypeError("soft_ball reads all rows several times: give it a matrix, not an Oracle")
    rows = X.rows if isinstance(X, Matrix) else as_rows(X, bounded=True)
    entries = stored(rows)
    if max_reads is not None and max_reads < 3 * entries:
        raise ValueError(
            f"max_reads={max_reads!r} is too small: soft_ball reads all {entries} entries up to "
            f"three times before it has an answer; allow {3 * entries}, or more"
        )
    return _Frank(rows, min(1.0, 1.0 / (contamination * rows.shape[0])), limits).run(callback)


@dataclass
class _Vertex:
    """A distribution over few rows, or a mixture of such."""

    rows: NDArray[np.int64]
    weights: Vector


class _Frank:
    """One run: the vertices so far, their means, and the best bounds."""

    def __init__(self, rows: Rows, cap: float, limits: Limits) -> None:
        n, d = rows.shape
        self.rows, self.cap, self.limits = rows, cap, limits
        self.lengths = lengths(rows)
        self.bounds = Bounds()
        self.reads = Reads()
        self.history: list[Record] = []
        self.idle = 0  # rounds without progress
        everything = _Vertex(np.arange(n), np.full(n, 1.0 / n))
        self.origin = np.zeros(d)
        self.origin = self._mean(everything)
        self.centre = self.origin.copy()
        self.distances = squared_distances(rows, self.origin)
        self._pass()
        self.squares = self.distances
        self.rounding = 1e-15 * (float(self.origin @ self.origin) + float(self.squares.max()))
        self.core = CoreSet(ROOM)
        self.vertices: list[_Vertex] = []
        self.points = np.zeros((ROOM, d))
        self._add(everything, np.zeros(d), weight=1.0)

    def run(self, callback: Callback | None) -> Result:
        began, status, rounds = time.perf_counter(), None, 0
        limits, n = self.limits, len(self.distances)
        while status is None:
            try:
                stuck = not self._round(first=rounds == 0)
            except KeyboardInterrupt:
                status, stuck = Status.INTERRUPTED, False
            rounds += 1
            seconds = time.perf_counter() - began
            certificate = self.bounds.certificate
            record = Record(rounds, seconds, self.reads.nnz, certificate.primal, certificate.dual)
            self.history.append(record)
            most = math.inf if limits.max_reads is None else limits.max_reads
            ends = (
                (certificate.gap <= max(limits.eps * certificate.dual, self.rounding),
                 Status.CONVERGED),
                (self.reads.nnz + 2 * int(self.lengths.sum()) > most, Status.READS),
                (limits.max_seconds is not None and seconds >= limits.max_seconds, Status.SECONDS),
                (limits.max_steps is not None and rounds >= limits.max_steps, Status.STEPS),
                (stuck, Status.STALLED),
            )  # fmt: skip
            status = status or next((s for reached, s in ends if reached), None)
            if callback is not None and callback(record) and status is None:
                status = Status.STOPPED
        x, p = self.bounds.x, self.bounds.p
        return Result(
            x=self.origin if x is None else x, bias=self.bounds.bias,
            p=self.vertices[0].weights if p is None else p,
            certificate=self.bounds.certificate, reads=self.reads,
            seconds=time.perf_counter() - began,
            epochs=self.reads.dense / (n * len(self.centre)), status=status, history=self.history,
            solver="soft_ball",
        )  # fmt: skip

    def _round(self, *, first: bool) -> bool:
        """Bounds of the present mixture, one more vertex, a better mixture; False if stuck."""
        if not first:
            self.distances = squared_distances(self.rows, self.centre)
            self._pass()
        vertex, radius = self._farthest()
        value = float(vertex.weights @ self.distances[vertex.rows])
        weights, x = self.core.weights, self.centre - self.origin
        lower = float(-self.core.linear @ weights) - float(x @ x)
        before = self.bounds.certificate.gap
        self.bounds.dual(max(0.0, lower), self._mixture().weights)
        self.bounds.primal(value, self.centre.copy(), bias=radius)
        gap = self.bounds.certificate.gap
        self.idle = 0 if gap < before - self.rounding else self.idle + 1
        if self.core.free == 0:
            self._put_together()
        self._add(vertex, self._mean(vertex) - self.origin, weight=0.0)
        self.core.solve(0.01 * gap)
        kept = self.core.shrink()
        self.vertices = [self.vertices[k] for k in kept]
        self.points[: len(kept)] = self.points[kept]
        self.centre = self.origin + self.core.weights @ self.points[: len(kept)]
        return self.idle < IDLE

    def _farthest(self) -> tuple[_Vertex, float]:
        """All the weight that the cap allows on the farthest rows, and where these begin."""
        n = len(self.distances)
        share = min(1.0 / self.cap, float(n))
        count = min(math.ceil(share - 1e-9), n)
        far = np.argpartition(self.distances, n - count)[n - count :]
        last = int(np.argmin(self.distances[far]))
        weights = np.full(count, 1.0 / share)
        weights[last] = max(1.0 - (count - 1) / share, 0.0)
        order = np.argsort(far)
        return _Vertex(far[order], weights[order]), float(self.distances[far[last]])

    def _mean(self, vertex: _Vertex) -> Vector:
        p = np.zeros(self.rows.shape[0])
        p[vertex.rows] = vertex.weights
        mean = np.zeros(self.rows.shape[1])
        combine(self.rows, p, mean)
        self.reads += Reads(len(vertex.rows) * len(mean), int(self.lengths[vertex.rows].sum()))
        return mean

    def _pass(self) -> None:
        n, d = self.rows.shape
        self.reads += Reads(n * d, int(self.lengths.sum()))

    def _add(self, vertex: _Vertex, point: Vector, weight: float) -> None:
        k = self.core.size
        self.points[k] = point
        self.vertices.append(vertex)
        linear = -float(vertex.weights @ self.squares[vertex.rows])
        products = self.points[: k + 1] @ point
        self.core.grow(products[None, :], np.array([linear]), np.array([weight]))

    def _mixture(self) -> _Vertex:
        """The present distribution over all rows."""
        p = np.zeros(len(self.distances))
        for vertex, weight in zip(self.vertices, self.core.weights, strict=True):
            p[vertex.rows] += weight * vertex.weights
        return _Vertex(np.arange(len(p)), p)

    def _put_together(self) -> None:
        """Make one vertex of all: the present mixture."""
        mixture = self._mixture()
        self.vertices, self.core = [], CoreSet(ROOM)
        self._add(mixture, self.centre - self.origin, weight=1.0)
