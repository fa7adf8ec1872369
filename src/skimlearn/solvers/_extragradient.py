r"""Variance-reduced extragradient: the inner steps that margins and quadratic programs share.

Game:  max over x, min over p of  p'(A x) + p.h - (a quadratic of x),  p in capped simplices.

Around a snapshot (X, P), whose gradients gx = A'P and gp = A X + h are exact, each step reads one
row and one column, drawn from the *difference* of a look-ahead and the snapshot:

    (u, l)   = (1 - 1/K) (x, log p) + (1/K) (X, L)        the centre, L the mean of log p
    (x', p') = (prox(u + tx gx), project(l - tp gp))      the look-ahead
    i ~ |p' - P|,   j ~ (x' - X)^2
    x        = prox(u + tx (gx + a_i sign(p'_i - P_i) ||p' - P||_1))
    log p    = project(l - tp (gp + A[:, j] ||x' - X||^2 / (x'_j - X_j)))   clipped at 1 / tp

so that the noise vanishes as the iterates approach the snapshot. After K steps the means of the
steps are the next snapshot, at the cost of a pass, which certifies it as well.

``prox`` is a projection on a ball of some radius, then a shrinkage by a factor; `project` is one in
relative entropy. Steps begin three times as long as the proof allows, and follow the gap of the
snapshots.

See Alacaoglu and Malitsky, "Stochastic variance reduction for variational inequality methods"
(2021), and Carmon, Jin, Sidford and Tian, "Variance reduction for matrix games" (2019), who sample
from the difference.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.rows import add, entry, size
from skimlearn.sampling.blocks import block_room, power_draw, power_sums
from skimlearn.solvers._entropy import LEAST, logarithms, nearest, project
from skimlearn.solvers._margin_bounds import Sides
from skimlearn.solvers._skim import DENSE, STORED, Method, Skim
from skimlearn.solvers._sweep import Sweeper

__all__ = ["Extragradient", "State", "Steps"]

Vector = NDArray[np.float64]
EAGER, SAFE = 3.0, 1.0  # multiples of the step that is proved: the longest one, and the shortest
LONGER, SHORTER = 1.05, 0.7  # after a snapshot that is better than the last one, or worse


class State(NamedTuple):
    """The arrays of a run."""

    signs: Vector  # y_i / R: row i of A is signs[i] times row i of the data
    side: NDArray[np.int64]
    masses: Vector
    x: Vector  # the iterate
    logs: Vector
    X: Vector  # the snapshot
    P: Vector
    L: Vector
    gx: Vector  # its gradients
    gp: Vector
    next_x: Vector  # the step that is being made, before it is projected
    next_logs: Vector
    p: Vector
    dx: Vector  # look-ahead minus snapshot
    dp: Vector
    blocks_x: Vector
    blocks_p: Vector
    factors: Vector  # of the last projection, one for each side, and their logarithms
    shifts: Vector
    lengths: Vector  # ||dp||_1 and ||dx||^2
    sum_x: Vector  # since the snapshot
    sum_p: Vector
    sum_logs: Vector


@dataclass(frozen=True)
class Steps(Method):
    """One step; ``step_x`` and ``step_p`` are tx and tp, ``mix`` is 1/K."""

    step_x: float
    step_p: float
    mix: float
    cap: float
    radius: float = math.inf
    shrink: float = 1.0
    width: float = 2.0

    def draw(self, state, u, picks):
        squares = 0.0
        for j in range(np.uint64(len(state.x))):
            centre = state.x[j] + self.mix * (state.X[j] - state.x[j])
            state.next_x[j] = centre + self.step_x * state.gx[j]
            squares += state.next_x[j] * state.next_x[j]
        factor = self.shrink * min(1.0, self.radius / math.sqrt(max(squares, 1e-300)))
        for j in range(np.uint64(len(state.x))):
            state.dx[j] = factor * state.next_x[j] - state.X[j]
        for i in range(np.uint64(len(state.logs))):
            centre = state.logs[i] + self.mix * (state.L[i] - state.logs[i])
            state.next_logs[i] = centre - self.step_p * state.gp[i]
        project(state.next_logs, state.side, state.masses, self.cap, state.dp, state.factors)
        for i in range(np.uint64(len(state.logs))):
            state.dp[i] -= state.P[i]
        state.lengths[0] = power_sums(state.dp, 1.0, state.blocks_p)
        state.lengths[1] = power_sums(state.dx, 2.0, state.blocks_x)
        picks[0], picks[1] = -1, -1  # a difference lost in rounding is none
        if state.lengths[0] > 1e-15:
            picks[0] = power_draw(state.dp, 1.0, state.blocks_p, state.lengths[0], u[0])
        if state.lengths[1] > 1e-30:
            picks[1] = power_draw(state.dx, 2.0, state.blocks_x, state.lengths[1], u[1])

    def column(self, state, columns, at, j):
        c = self.step_p * state.lengths[1] / state.dx[j]
        for k in range(size(columns, at)):
            i, value = entry(columns, at, k)
            state.next_logs[i] -= min(max(c * value * state.signs[i], -1.0), 1.0)

    def row(self, state, rows, at, i):
        c = self.step_x * state.lengths[0] * state.signs[i]
        add(rows, at, c if state.dp[i] > 0.0 else -c, state.next_x)

    def finish(self, state):
        squares = 0.0
        for j in range(np.uint64(len(state.x))):
            squares += state.next_x[j] * state.next_x[j]
        factor = self.shrink * min(1.0, self.radius / math.sqrt(max(squares, 1e-300)))
        for j in range(np.uint64(len(state.x))):
            state.x[j] = factor * state.next_x[j]
            state.sum_x[j] += state.x[j]
        project(state.next_logs, state.side, state.masses, self.cap, state.p, state.factors)
        logarithms(state.next_logs, state.side, self.cap, state.factors, state.shifts)
        for i in range(np.uint64(len(state.logs))):
            state.logs[i] = state.next_logs[i]
            state.sum_p[i] += state.p[i]
            state.sum_logs[i] += state.logs[i]


@dataclass
class Extragradient(Skim):
    """A run: epochs of K inner steps, each after a pass that makes and judges a snapshot.

    Inside, rows are divided by R, the greatest norm of a row, which the first pass finds. A
    subclass says how long the steps are (`steps_of`) and turns a snapshot into bounds (`judge`).
    """

    name = "extragradient"

    y: Vector = field(kw_only=True)
    sides: Sides = field(kw_only=True)
    x: Vector = field(kw_only=True)  # where to begin, in units where rows have norm 1 at most
    p: Vector = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        n, d = self.source.shape
        self.sweeper = Sweeper(self.source, self.y)
        self.epoch = max(2, round(self.sweeper.entries / (n + d)))  # K: as much work as the pass
        self.left = 0  # steps until the next snapshot is due
        self.unit = 0.0  # of the rows: R, not known before the first pass, or 1 if R is 0
        self.offset = np.zeros(n)  # h
        self.eagerness, self.gap = EAGER, math.inf
        p, sides = nearest(self.p, self.sides), len(self.sides.masses)
        logs = np.log(np.maximum(p, math.exp(LEAST)))
        self.state = State(
            signs=self.y.copy(), side=self.sides.side, masses=self.sides.masses,
            x=self.x.copy(), logs=logs, X=self.x.copy(), P=p, L=logs.copy(),
            gx=np.zeros(d), gp=np.zeros(n),
            next_x=np.zeros(d), next_logs=np.zeros(n), p=p.copy(), dx=np.zeros(d), dp=np.zeros(n),
            blocks_x=block_room(d), blocks_p=block_room(n), factors=np.ones(sides),
            shifts=np.zeros(sides), lengths=np.zeros(2),
            sum_x=np.zeros(d), sum_p=np.zeros(n), sum_logs=np.zeros(n),
        )  # fmt: skip

    @abstractmethod
    def steps_of(self, eagerness: float) -> Steps:
        """The inner step, so many times as long as is proved to converge."""

    @abstractmethod
    def judge(self, Ax: Vector, Atp: Vector) -> float:
        """Improve the bounds by the snapshot, given its exact products; return its own gap."""

    def scaled(self) -> None:
        """Do what needs the unit, which is known now."""

    def check(self, last: bool) -> None:
        """Nothing is left to do: the pass of a snapshot judges it."""

    def fallback(self) -> tuple[Vector, float, Vector]:
        return self.state.X.copy(), 0.0, self.state.P.copy()

    def advance(self, steps: int, max_reads: float | None) -> bool:
        """Go on to so many steps, or to the end of the next pass if that is nearer."""
        if self.steps >= steps:
            return False
        if self.left == 0:
            return not self._snapshot(math.inf if max_reads is None else float(max_reads))
        before = self.steps
        spent = super().advance(min(steps, before + self.left), max_reads)
        self.left -= self.steps - before
        if self.left == 0:
            self._end_epoch()
        return spent

    def _end_epoch(self) -> None:
        """The means of the steps are the next snapshot."""
        state = self.state
        pairs = ((state.X, state.sum_x), (state.P, state.sum_p), (state.L, state.sum_logs))
        for mean, total in pairs:
            mean[:] = total / self.epoch
            total[:] = 0.0

    def _snapshot(self, limit: float) -> bool:
        """Compute the gradients of the snapshot; False if that is beyond the limit of reads."""
        state, sweeper = self.state, self.sweeper
        before = np.array([sweeper.dense, sweeper.stored])
        try:
            if not sweeper.sweep(state.X, state.P, limit - int(self.tally[STORED])):
                return False
        finally:
            self.tally[DENSE:] += np.array([sweeper.dense, sweeper.stored]) - before
        if self.unit == 0.0:
            self.unit = sweeper.R or 1.0
            state.signs[:] = self.y / self.unit
            self.scaled()
        gap = self.judge(sweeper.Ax, sweeper.Atp)
        change = SHORTER if gap > self.gap else LONGER
        self.eagerness = min(max(change * self.eagerness, SAFE), EAGER)
        self.gap = gap
        state.gx[:] = sweeper.Atp / self.unit
        state.gp[:] = sweeper.Ax / self.unit + self.offset
        self.method = self.steps_of(self.eagerness)
        self.left = self.epoch
        return True
