r"""A game in which one side has a few lines, all known, and the other every position of them.

Problem:  max over p of min over j of (L' p)_j,  where L has k lines of m positions each.

Both sides play predictive regret matching+, in turns: with r how much better than the last mix
each pure strategy would have been,

    R = max(0, R + r),     next mix ~ max(0, R + r),

where the last r stands in for the next one. The answers are the means of the mixes, step t with
weight t^2: p proves the bound ``floor`` of the value, the other side's y the bound ``ceiling``.
There is no step size, and the scale of the payoffs does not matter. A small game that is wanted to
many digits can be solved as a linear program instead.

See Farina, Kroer and Sandholm, "Faster game solving via predictive Blackwell approachability:
connecting regret matching and mirror descent" (2021).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.rows import Dense, Rows, add, dot, entry, side_by_side, size

__all__ = ["Restricted"]

Vector = NDArray[np.float64]


class _Side(NamedTuple):
    """What one side of the game remembers."""

    mix: Vector
    regret: Vector  # R
    latest: Vector  # r
    mean: Vector  # of the mixes
    payoffs: Vector  # of each pure strategy against the other side's mix


class Restricted:
    """The best mix of the known lines, and the best answer to it.

    Parameters
    ----------
    rows : Rows or None
        Where the lines are. Copies are kept (``keeps``) if it is None or reads them in strides.
    width : int
        How many positions a line has.
    sign : float
        1.0, or -1.0 to play with the negated lines.

    Attributes
    ----------
    floor, ceiling : float
        Bounds of the value of this game.
    p : ndarray of shape (k,)
        The mix of the lines, in the order in which they came, that proves ``floor``.
    y : ndarray of shape (width,)
        The mix of the positions that proves ``ceiling``.
    steps : int
        Steps taken since the last new line.

    Examples
    --------
    >>> game = Restricted(None, 3, 1.0)
    >>> rock_paper_scissors = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    >>> game.learn(np.arange(3), rock_paper_scissors)
    -1
    >>> game.improve(1000)
    >>> bool(-0.01 < game.floor <= 0.0 <= game.ceiling < 0.01)
    True
    """

    floor: float
    ceiling: float
    lines: _Side
    others: _Side

    def __init__(self, rows: Rows | None, width: int, sign: float) -> None:
        self.keeps = rows is None or not side_by_side(rows)
        self.rows: Any = rows
        if self.keeps:
            self.rows = Dense(_frozen(np.empty((0, width), dtype=np.float32)))
        self.sign = sign
        self.order = np.empty(0, dtype=np.int64)  # the positions of the lines in `rows`
        self.y = np.full(width, 1.0 / width)
        self._restart()

    @property
    def entries(self) -> int:
        """The size of this game."""
        return len(self.order) * len(self.y)

    @property
    def slack(self) -> float:
        """How far its bounds are apart."""
        return self.ceiling - self.floor

    def learn(self, order: NDArray[np.int64], copies: Vector) -> int:
        """Play with these lines, of which those known before come first.

        Of the new ones, ``copies`` holds copies if those are to be kept: in 4 bytes per entry if
        that is exact. Return the first new line that holds nan or infinity, or -1.
        """
        known = len(self.order)
        fresh = order[known:]
        if len(fresh) == 0:
            return -1
        self.order = order.copy()
        if self.keeps:
            kept = self.rows.values
            with np.errstate(over="ignore"):
                brief = copies.astype(np.float32)
            exact = kept.dtype == np.float32 and np.array_equal(brief, copies)
            self.rows = Dense(_frozen(np.concatenate([kept, brief if exact else copies])))
            self.order = np.arange(len(order))
        self._restart()
        at = int(_first_fault(self.rows, self.order[known:]))
        return -1 if at < 0 else int(fresh[at])

    def improve(self, steps: int) -> None:
        """Take so many steps, then find the bounds of the means."""
        lines, others = self.lines, self.others
        _match(self.rows, self.order, self.sign, steps, self.steps, lines, others)
        self.steps += steps
        self._consider(lines.mean, others.mean)

    def solve(self) -> None:
        """Find the best mixes by linear programming."""
        from scipy.optimize import linprog  # takes a third of a second, and few games need it

        k, m = len(self.order), len(self.y)
        L = np.zeros((k, m))
        for line, at in zip(L, self.order, strict=True):
            _mix(self.rows, np.array([at]), self.sign, np.ones(1), line)
        least = L.min()
        L = (L - least) / (float(L.max() - least) or 1.0)  # HiGHS has absolute tolerances
        program = linprog(
            np.r_[np.zeros(k), -1.0],
            A_ub=np.c_[-L.T, np.ones(m)],
            b_ub=np.zeros(m),
            A_eq=np.r_[np.ones(k), 0.0][None],
            b_eq=[1.0],
        )
        if program.x is not None:
            p, y = np.maximum(program.x[:k], 0.0), np.maximum(-program.ineqlin.marginals, 0.0)
            self._consider(p / p.sum(), y / y.sum())

    def _consider(self, p: Vector, y: Vector) -> None:
        """Find what the mixes prove, and take those that prove more than the present ones."""
        lines, others = self.lines, self.others
        _mix(self.rows, self.order, self.sign, p, others.payoffs)
        _answer(self.rows, self.order, self.sign, y, lines.payoffs)
        if (floor := float(others.payoffs.min())) > self.floor:
            self.floor, self.p = floor, p.copy()
        if (ceiling := float(lines.payoffs.max())) < self.ceiling:
            self.ceiling, self.y = ceiling, y.copy()

    def _restart(self) -> None:
        """Forget all but the last answer: regrets of the past outweigh what new lines offer."""
        k, m = len(self.order), len(self.y)
        self.floor, self.ceiling = -math.inf, math.inf
        self.p = np.full(k, 1.0 / max(k, 1))
        self.lines, self.others = (
            _Side(mix.copy(), *(np.zeros(count) for _ in range(4)))
            for mix, count in ((self.p, k), (self.y, m))
        )
        self.steps = 0


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    values.flags.writeable = False
    return values


@kernel
def _match(rows, order, sign, steps, before, lines, others):
    """Predictive regret matching+ for both sides, in turns."""
    for t in range(before + 1, before + steps + 1):
        weight = 6.0 * t / ((t + 1.0) * (2.0 * t + 1.0))  # t^2 / (1 + 4 + ... + t^2)
        _next_mix(lines, weight)
        _mix(rows, order, sign, lines.mix, others.payoffs)
        _regret(others, -1.0)
        _next_mix(others, weight)
        _answer(rows, order, sign, others.mix, lines.payoffs)
        _regret(lines, 1.0)


@kernel
def _next_mix(side, weight):
    total = 0.0
    for j in range(len(side.mix)):
        side.mix[j] = max(side.regret[j] + side.latest[j], 0.0)
        total += side.mix[j]
    for j in range(len(side.mix)):
        side.mix[j] = side.mix[j] / total if total > 0.0 else 1.0 / len(side.mix)
        side.mean[j] += weight * (side.mix[j] - side.mean[j])


@kernel
def _regret(side, sign):
    """Compare each pure strategy with the mix that was played."""
    value = 0.0
    for j in range(len(side.mix)):
        value += side.mix[j] * side.payoffs[j]
    for j in range(len(side.mix)):
        side.latest[j] = sign * (side.payoffs[j] - value)
        side.regret[j] = max(side.regret[j] + side.latest[j], 0.0)


@kernel
def _mix(rows, order, sign, p, out):
    """out = sign * L' p."""
    out[:] = 0.0
    for k in range(len(order)):
        if p[k] != 0.0:
            add(rows, order[k], sign * p[k], out)


@kernel
def _answer(rows, order, sign, y, out):
    """out = sign * L y."""
    for k in range(len(order)):
        out[k] = sign * dot(rows, order[k], y)


@kernel
def _first_fault(rows, order):
    """The place in ``order`` of the first row that holds nan or infinity, or -1."""
    for place in range(len(order)):
        for k in range(size(rows, order[place])):
            if not math.isfinite(entry(rows, order[place], k)[1]):
                return place
    return -1
