r"""Quadratic programs over a kernel matrix, several at once, by a growing working set.

Problem, for each of m programs that share one kernel matrix K of n rows:

    min over v of  (scale / 2) v' S K S v + b.v,   low <= v <= high,

S the diagonal matrix of signs; and, if rows are in groups, the sum of v over a group stays what it
is. Support vector machines, margins, balls and simplex programs are such problems.

Algorithm, in rounds. The members, a set of rows, have their part of K in memory. Each program is
solved on the members, by steps of two variables (or one, without groups) that are chosen by the
decrease that they promise. Then the gradient g = scale S K S v + b is brought up to date, as a
product of matrices in pieces: that of the rows which are near to a change. Rows that violate the
optimality of any program become members; rows that are settled make room for them. When the near
rows offer few new members, it is time for a look at all rows. A value of the kernel serves all
programs.

The first members are a sample of the rows, so that most of what is computed concerns rows that
matter in the end: most values of K are never computed.

See Joachims, "Making large-scale SVM learning practical" (1999); Fan, Chen and Lin, "Working set
selection using second order information for training support vector machines" (2005).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.solvers._kernel_panels import insert, spread
from skimlearn.solvers._kernel_steps import move_pairs, move_singles

__all__ = ["KernelPrograms"]

Vector = NDArray[np.float64]
Chosen = NDArray[np.int64]
WHOLE = 3000  # so many rows are all members from the beginning
SAMPLE = 12  # of so many rows, one is in the first sample
INNER = 6000  # variables that are moved at once
PRECISION = 0.1  # of the violation before: what a solution on the members may leave over
WORST = 0.1  # of the greatest violation: rows that violate by less wait
MOST = 50  # solutions on parts of the members before others may join
AROUND = 8  # of so many rows, one is near beside the members
PANEL = 1024  # columns of the matrix of members that lie together
STEPS = 200  # steps for each variable, at most, before the gradient is computed anew


class KernelPrograms:
    """The state of m programs, and how it moves.

    Parameters
    ----------
    table : KernelRows
        The kernel matrix.
    b, low, high, v : arrays of shape (m, n)
        The linear parts, the bounds, and where to begin.
    scale : float
        The factor of the quadratic part.
    rng : Generator
        Source of the first sample.
    signs : array of shape (m, n) or None
        The diagonals of S; None for ones.
    groups : array of shape (m, n) or None
        The group of each row, from 0 on; None if no sum is held.

    Attributes
    ----------
    g : array of shape (m, n)
        The gradients; those of the near rows are right, and those of all rows after `look`.
    violation : array of shape (m,)
        By how much the members violate the optimality of each program.
    """

    def __init__(
        self,
        table: KernelRows,
        b: Vector,
        low: Vector,
        high: Vector,
        v: Vector,
        *,
        scale: float,
        rng: np.random.Generator,
        signs: Vector | None = None,
        groups: Chosen | None = None,
    ) -> None:
        n = table.n
        self.table, self.scale = table, scale
        self.b, self.low, self.high, self.v = b, low, high, v
        self.signs, self.groups = signs, groups
        self.many = 1 if groups is None else int(groups.max()) + 1
        self.g = b.copy()
        self.seen = np.zeros_like(v)  # v when the gradient of the far rows was right
        self.active = np.ones(len(b), dtype=bool)  # programs that go on
        self.violation = np.full(len(b), np.inf)
        self.levels = np.zeros((len(b), self.many))
        self.room = int(min(n, max(16, math.isqrt(table.cache_bytes // table.dtype.itemsize))))
        wide = min(self.room, PANEL)
        if self.room < n:
            self.room -= self.room % wide
        # in panels of columns, so that few members take little memory: only what is written does
        self.gram = np.empty((-(-self.room // wide), self.room, wide), table.dtype)
        self.lines = np.empty(min(INNER, self.room) ** 2, table.dtype)  # memory that is used again
        self.members = np.empty(0, dtype=np.int64)
        everything, nothing = np.arange(n), np.empty(0, dtype=np.int64)
        self.near, self.far = (nothing, everything) if v.any() else (everything, nothing)
        self.settled = math.inf  # members with more slack leave when others join
        self.rng = rng

    def begin(self) -> None:
        """Let the first members in; the gradients of all other rows are left for `look`."""
        n = self.table.n
        count = n if n <= min(WHOLE, self.room) else min(max(WHOLE, n // SAMPLE), self.room)
        left = (self.table.limit - self.table.reads.nnz) / max(1.0, self.table.entries / n)
        if left < count * (count + n):  # the members, and a look at all rows
            count = int(0.5 * (math.sqrt(n * n + 4.0 * max(left, 0.0)) - n))
        first = np.sort(self.rng.choice(n, count, replace=False)) if count < n else np.arange(n)
        self._enter(first)
        self.near = np.sort(self.members)
        self.far = np.setdiff1d(np.arange(n), self.members)
        self.seen = self.v.copy()

    # ----------------------------------------------------------------------------------- members

    def _enter(self, rows: Chosen) -> None:
        """Let rows be members, in the places of settled ones, and of others if there is no room."""
        new = np.setdiff1d(rows, self.members)
        if len(new) == 0:
            return
        count = len(self.members)
        over = max(0, count + len(new) - self.room)
        leaving = np.empty(0, dtype=np.int64)
        if count:
            slack = self._slack(self.members)
            slack[np.isin(self.members, rows)] = -np.inf
            over = max(over, min(len(new), int((slack > self.settled).sum())))
            leaving = np.sort(np.argsort(-slack, kind="stable")[:over])
        places = np.concatenate([leaving, np.arange(count, count + len(new) - over)])
        members = np.concatenate([self.members, new[over:]])
        members[places] = new
        order = np.concatenate([np.setdiff1d(np.arange(count), leaving), places])
        ahead = len(order) - len(new)

        def use(some: slice, part: slice, piece: NDArray[Any]) -> None:
            before = ahead + some.start - part.start
            insert(piece, places[some], order[part], before, self.gram)

        self.table.hand_on(new, members[order], use)
        self.members = members

    def _wrong(
        self, k: int, rows: Chosen, level: Vector | None = None
    ) -> tuple[Vector, float, Vector]:
        """How wrong each row is (negative: settled), the worst violation, the levels of g.

        At the optimum all rows of a group that may grow have a g above some level, and those that
        may fall one below it.
        """
        g, v = self.g[k, rows], self.v[k, rows]
        grow, fall = v < self.high[k, rows], v > self.low[k, rows]
        if self.groups is None:
            wrong = np.maximum(np.where(grow, -g, -np.inf), np.where(fall, g, -np.inf))
            return wrong, max(0.0, float(wrong.max(initial=0.0))), np.zeros(1)
        group = self.groups[k, rows] if self.many > 1 else np.zeros(len(rows), dtype=np.int64)
        worst, levels = 0.0, np.zeros(self.many)
        for at in range(self.many):
            mine = group == at
            up, down = g[grow & mine], g[fall & mine]
            least = float(up.min()) if len(up) else math.inf
            greatest = float(down.max()) if len(down) else -math.inf
            worst = max(worst, greatest - least)
            ends = [end for end in (least, greatest) if math.isfinite(end)]
            levels[at] = sum(ends) / len(ends) if ends else 0.0
        if level is not None:
            levels = level
        off = g - levels[group]
        wrong = np.maximum(np.where(grow, -off, -np.inf), np.where(fall, off, -np.inf))
        return wrong, worst, levels

    def _slack(self, rows: Chosen) -> Vector:
        """How settled rows are, for the program that is least sure of it."""
        slack = np.full(len(rows), np.inf)
        for k in np.flatnonzero(self.active).tolist():
            slack = np.minimum(slack, -self._wrong(k, rows, self.levels[k])[0])
        return slack

    # ------------------------------------------------------------------------------------ rounds

    def solve(self) -> bool:
        """Solve the active programs on the members; False if nothing moved."""
        moved = False
        before = self.v[:, self.members].copy()
        for k in np.flatnonzero(self.active).tolist():
            moved |= self._solve(k)
        change = self.v[:, self.members] - before
        self._follow(change)
        return moved

    def _solve(self, k: int) -> bool:
        rows, q = self.members, len(self.members)
        first = math.inf
        for _ in range(MOST):
            wrong, worst, self.levels[k] = self._wrong(k, rows)
            first = min(first, worst) if first == math.inf else first
            self.violation[k] = worst
            if worst <= 0.0 or (worst < first and worst <= PRECISION * first):
                break
            chosen = np.flatnonzero(wrong >= 0.0)
            if len(chosen) > INNER:
                chosen = np.sort(chosen[np.argpartition(-wrong[chosen], INNER - 1)[:INNER]])
            ends = np.array([0, len(chosen)])
            if self.groups is not None and self.many > 1:  # one group after the other
                group = self.groups[k, rows[chosen]]
                chosen = chosen[np.argsort(group, kind="stable")]
                ends = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=self.many))])
            at = rows[chosen]
            signs = np.ones(len(at)) if self.signs is None else self.signs[k, at]
            lines = self.lines[: len(chosen) ** 2].reshape(len(chosen), len(chosen))
            v, g = self.v[k, at], self.g[k, at]
            bounds, most = (self.low[k, at], self.high[k, at]), STEPS * len(at) + 1000
            tolerance = 0.5 * PRECISION * worst
            shared = (*bounds, tolerance, most, v, g, lines)
            if self.groups is None:
                taken = move_singles(self.gram, chosen, signs, self.scale, *shared)
            else:
                taken = move_pairs(self.gram, chosen, signs, self.scale, ends, *shared)
            if taken == 0:
                break
            change = self.scale * (v - self.v[k, at]) * signs
            self.v[k, at] = v
            step = np.zeros(q)
            spread(self.gram, chosen, change, step)
            self.g[k, rows] += step if self.signs is None else step * self.signs[k, rows]
        return self.violation[k] < first

    def _follow(self, change: Vector) -> None:
        """Bring the gradient of the near rows up to date; that of the members is."""
        outside = np.setdiff1d(self.near, self.members)
        self._add(change, self.members, outside)

    def _add(self, change: Vector, rows: Chosen, others: Chosen | None) -> None:
        used, moved = np.flatnonzero(change.any(axis=0)), np.flatnonzero(change.any(axis=1))
        where = slice(None) if others is None else others
        if len(used) == 0 or (others is not None and len(others) == 0):
            return
        part, at = change[np.ix_(moved, used)], rows[used]
        if self.signs is not None:
            part = part * self.signs[np.ix_(moved, at)]
        step = self.scale * self.table.weighted(part, at, others)
        for line, k in zip(step, moved.tolist(), strict=True):
            self.g[k, where] += line if self.signs is None else line * self.signs[k, where]

    def look(self) -> None:
        """Bring the gradients of the far rows up to date, so that all are right."""
        n = self.table.n
        if len(self.far):
            others = self.far if len(self.far) < n else None
            changed = np.flatnonzero((self.v != self.seen).any(axis=0))
            self._add(self.v[:, changed] - self.seen[:, changed], changed, others)
        self.near, self.far = np.arange(n), np.empty(0, dtype=np.int64)

    @property
    def whole(self) -> bool:
        """Whether the gradients of all rows are right."""
        return len(self.far) == 0

    def extend(self) -> int:
        """Make rows that violate the optimality most members; return how many."""
        wrong = np.full(len(self.near), -np.inf)
        for k in np.flatnonzero(self.active).tolist():
            mine = self._wrong(k, self.near, self.levels[k])[0]
            np.maximum(wrong, mine, out=wrong)
        if self.whole:
            self.settled = max(0.0, -float(np.median(wrong)))
        wrong[np.isin(self.near, self.members)] = -np.inf
        new = np.flatnonzero(wrong > max(0.0, WORST * float(wrong.max(initial=0.0))))
        most = max(16, self.room // 2)
        if len(new) > most:
            new = new[np.argpartition(-wrong[new], most - 1)[:most]]
        self._enter(self.near[new])
        return len(new)

    def part(self) -> None:
        """Divide the rows into near and far ones, by how settled they are."""
        n = self.table.n
        count = len(self.members) + n // AROUND
        if len(self.far) or count >= 0.8 * n:
            return
        slack = self._slack(np.arange(n))
        slack[self.members] = -np.inf
        order = np.argpartition(slack, count - 1)
        self.near, self.far = np.sort(order[:count]), np.sort(order[count:])
        self.seen = self.v.copy()
