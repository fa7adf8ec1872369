r"""Margins from few rows and columns: exact responses of the part of x that matters most.

The problem is that of `simba` (hard margin or kappa form). Instead of estimating all of <a_i, x>
from one column drawn at random, this method keeps a vector z close to x = s / ||s|| and the exact
responses r = A z. A step

    draws a row i ~ p;   reads a column j where |x_j - z_j| is large;   r += (x_j - z_j) column j,
    z_j = x_j;   L += r / ||z||  (minus its mean);   p ~ exp(-eta L);   s += a_i

with eta = sqrt(log n / sum of the variances of r / ||z||), which suits any scale of the responses.
Responses of the heaviest coordinates have no noise of sampling, only that of the rows themselves:
rows that x gets wrong stand out after a few columns, where an unbiased estimate needs many. The
price is a bias towards heavy coordinates as long as z is not close to x, so that this method has no
guarantee beforehand, unlike `simba`; its bounds are proven in the same way and are as good as any.

Columns are drawn with probability |x_j - z_j|^32: nearly the largest, found in the pass that adds
the row (so ||s|| is that of the step before, unless it changed by more than an eighth). The answer
is the mean of one x in eight. With a free bias the classes take turns, each with its own weights,
so that p.y = 0 as the dual problem has it; the bias is the middle between the classes, from the
responses of the rows when they are read. A class too small for half of the mass (all of its rows
are at the cap, or it has none) has fewer turns, and the bias is as great as it may be: see
`_margin_bounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.rows import entry, size
from skimlearn.sampling.blocks import BLOCK, block_room, cut_draw, cut_sums, pick_block
from skimlearn.sampling.team import ALONE, Team, blocks_of, meet, share, sum_of
from skimlearn.sampling.tree import tree_draw, tree_nodes, tree_set
from skimlearn.solvers._hedge import weigh
from skimlearn.solvers._margin_bounds import split
from skimlearn.solvers._margin_state import BIASES, FACTORS, LENGTH, POWER, TOP, TOTAL, T
from skimlearn.solvers.simba import Simba

__all__ = ["State", "Tracking", "make_state"]

Vector = NDArray[np.float64]

# positions in the scalars, behind those of simba: mean responses of the two classes; the mass of
# class +1 (with a bias); ||z||^2; the sum of the variances; sum and sum of squares of r; x / s when
# the law of the columns was formed; how many x are in their sum; the levels of the weights of both
# classes, and their rows
PLUS, MINUS, SHARE, SIZE, SPREAD, SUM, SQUARES, LAW, SUMMED, LEVELS, MEMBERS = *range(7, 17), 18
# the means are formed of the steps t with t GOLDEN - floor(t GOLDEN) < some part: in no way in tune
# with the turns of the classes
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
EARLY = 64  # steps up to which the last x is better than the mean


class State(NamedTuple):
    """Where a run stands."""

    y: Vector  # labels
    weights: Vector  # p, up to a factor; those above TOP count as TOP
    counts: Vector  # how often each row was drawn
    mass: Vector  # sum of p over a part of the steps
    s: Vector  # sum of the rows drawn
    late: Vector  # sum of x over the same; sparse: what it lags behind FACTORS * s
    tracked: Vector  # z
    responses: Vector  # r = A z
    losses: Vector  # L
    spare: Vector
    column_tree: Vector  # of the law that columns are drawn by (sparse rows) or empty
    row_sums: Vector
    column_sums: Vector
    parts: Vector  # (2, blocks): room for other sums
    scalars: Vector
    team: Team = ALONE


def make_state(method: Tracking, y: Vector, d: int, *, sparse: bool, length: float) -> State:
    """The state before the first step; a length of 0 means that it is learned from the rows."""
    n = len(y)
    scalars = np.zeros(MEMBERS + 2)
    scalars[LENGTH], scalars[TOP] = length, np.inf
    if method.bias > 0.0:
        scalars[SHARE] = split(y, method.cap, bias=True).masses[0]
        scalars[MEMBERS : MEMBERS + 2] = (y > 0.0).sum(), (y < 0.0).sum()
    else:
        scalars[MEMBERS] = n
    weights, row_sums = np.ones(n), block_room(n)
    scalars[TOTAL] = cut_sums(weights, np.inf, row_sums)
    counts, mass, responses, losses, spare = np.zeros((5, n))
    s, late, tracked = np.zeros((3, d))
    return State(
        y, weights, counts, mass, s, late, tracked, responses, losses, spare,
        tree_nodes(d) if sparse else np.zeros(0), row_sums, block_room(d),
        np.zeros((2, len(block_room(max(n, d))))), scalars,
    )  # fmt: skip


def sum_of_x(state: State) -> Vector:
    """The sum of x over a part of the steps."""
    if len(state.column_tree) > 0:
        return state.scalars[FACTORS] * state.s - state.late
    return state.late


def mean_of_x(state: State) -> tuple[Vector, float]:
    """The mean of x over the same steps, and its bias; early the last x, which is the better one.

    It knows of rare rows what the mean has yet to learn.
    """
    scalars = state.scalars
    length = float(np.linalg.norm(state.s))
    if scalars[T] <= EARLY and length > 0.0:
        return state.s / length, float(scalars[BIASES])
    mean = sum_of_x(state) / max(scalars[SUMMED], 1.0)
    return mean, float(scalars[BIASES] * np.linalg.norm(mean))


@dataclass(frozen=True)
class Tracking(Simba):
    """The settings of a run, and its step."""

    part: float = 0.125  # of the steps, whose x and p the means are formed of

    @property
    def tracks(self) -> bool:
        """Whether exact responses of a part of x are kept."""
        return True

    def draw(self, state, u, picks):
        scalars = state.scalars
        picks[0] = cut_draw(state.weights, scalars[TOP], state.row_sums, scalars[TOTAL], u[0])
        picks[1:] = -1
        if scalars[POWER] == 0.0:
            return
        total = 0.0 if len(state.column_tree) > 0 else sum_of(state.column_sums)
        for b in range(1, len(picks)):
            if len(state.column_tree) > 0:
                picks[b] = tree_draw(state.column_tree, u[b])
            else:
                picks[b] = _change_draw(state, u[b] * total)
            for other in range(1, b):  # a column that was drawn twice is read once
                if picks[other] == picks[b]:
                    picks[b] = -1

    def column(self, state, columns, at, j):
        scalars, y, responses = state.scalars, state.y, state.responses
        before, now = state.tracked[j], _direction(state) * state.s[j]
        sums, squares = state.parts[0], state.parts[1]
        first, last = share(state.team, size(columns, at))
        block, change = np.uint64(BLOCK), now - before
        for start in range(first, last, block):
            part, square = 0.0, 0.0
            for k in range(start, min(start + block, last)):
                i, value = entry(columns, at, k)
                old, more = responses[i], change * (y[i] * value)
                responses[i] = old + more
                part += more
                square += more * (old + old + more)
            sums[np.int64(start) // BLOCK] = part
            squares[np.int64(start) // BLOCK] = square
        meet(state.team)  # all have seen what it was before
        if state.team.rank == 0:
            state.tracked[j] = now
        blocks = blocks_of(size(columns, at))
        scalars[SIZE] += now * now - before * before
        scalars[SUM] += sum_of(sums[:blocks])
        scalars[SQUARES] += sum_of(squares[:blocks])
        if len(state.column_tree) > 0:
            tree_set(state.column_tree, j, 0.0)

    def row(self, state, rows, at, i):
        scalars, sign = state.scalars, state.y[i]
        if self.bias > 0.0 and scalars[POWER] > 0.0:
            # <x_i, x> of rows at the margin, the later ones weighted more: the middle is -bias
            side, part = (PLUS if sign > 0.0 else MINUS), 4.0 / (scalars[T] + 4.0)
            response = _direction(state) * _response(state, rows, at)
            scalars[side] += part * (response - scalars[side])
        if state.team.rank == 0:
            state.counts[i] += 1.0
        if len(state.column_tree) > 0:
            _add_sparse_row(state, rows, at, sign)
        else:
            _add_dense_row(state, rows, at, sign)
        if self.bias > 0.0:
            tilt = 2.0 * scalars[SHARE] - 1.0
            scalars[BIASES] = -0.5 * (scalars[PLUS] + scalars[MINUS])
            if abs(tilt) > 1e-12:
                scalars[BIASES] = math.copysign(scalars[LENGTH], tilt)

    def finish(self, state):
        scalars, n = state.scalars, len(state.y)
        scalars[T] += 1.0
        if scalars[T] * GOLDEN % 1.0 < self.part:
            _add_to_means(state)
        factor, mean = 0.0, 0.0
        if scalars[SIZE] > 0.0:
            factor = 1.0 / math.sqrt(scalars[SIZE])
            mean = factor * scalars[SUM] / n
            scalars[SPREAD] += max(factor * factor * scalars[SQUARES] / n - mean * mean, 0.0)
        turn, cap, side = 0.0, self.cap, 0
        if self.bias > 0.0:
            t, plus = scalars[T], scalars[SHARE]
            turn = 1.0 if math.floor(t * plus) > math.floor((t - 1.0) * plus) else -1.0
            cap /= plus if turn > 0.0 else 1.0 - plus
            side = 0 if turn > 0.0 else 1
        entropy = math.log(max(2.0, min(n, n * self.cap)))
        # fast at first, when rows that stand out are to be found; slower later, to balance them
        rate = self.rate * (0.2 + 0.8 / (1.0 + scalars[T] / 32.0))
        eta = rate * math.sqrt(entropy / max(scalars[SPREAD], 1e-300))
        if cap * scalars[MEMBERS + side] <= 1.0 + 1e-9:
            eta = 0.0  # all are at the cap
        scalars[TOTAL], scalars[TOP], scalars[LEVELS + side] = weigh(
            state, eta, factor, mean, turn, cap, scalars[LEVELS + side]
        )


@kernel
def _direction(state):
    """x is so many times s."""
    return 1.0 / math.sqrt(state.scalars[POWER]) if state.scalars[POWER] > 0.0 else 0.0


@kernel
def _add_to_means(state):
    """Add p, and x as far as it is known to be of length 1, to their sums."""
    scalars, top = state.scalars, state.scalars[TOP]
    mass, weights, factor = state.mass, state.weights, 1.0 / scalars[TOTAL]
    first, last = share(state.team, len(mass))
    for i in range(first, last):
        mass[i] += factor * min(weights[i], top)
    scalars[SUMMED] += 1.0
    length = math.sqrt(2.0 * scalars[T]) * scalars[LENGTH]
    factor = min(_direction(state), 1.0 / length if length > 0.0 else 0.0)
    if len(state.column_tree) > 0:
        scalars[FACTORS] += factor
    else:
        late, s = state.late, state.s
        first, last = share(state.team, len(s))
        for j in range(first, last):
            late[j] += factor * s[j]


# ------------------------------------------------------------------------------------------- rows


@kernel
def _response(state, rows, at):
    """The product of a row and s."""
    sums, block = state.parts[0], np.uint64(BLOCK)
    first, last = share(state.team, size(rows, at))
    for start in range(first, last, block):
        part = 0.0
        for k in range(start, min(start + block, last)):
            j, value = entry(rows, at, k)
            part += state.s[j] * value
        sums[np.int64(start) // BLOCK] = part
    meet(state.team)
    total = sum_of(sums[: blocks_of(size(rows, at))])
    meet(state.team)  # before s and the sums are changed
    return total


@kernel
def _add_sparse_row(state, rows, at, sign):
    scalars, s, power, square = state.scalars, state.s, state.scalars[POWER], 0.0
    for k in range(size(rows, at)):
        j, value = entry(rows, at, k)
        s[j] += sign * value
        state.late[j] += scalars[FACTORS] * (sign * value)
        power += (2.0 * s[j] - sign * value) * (sign * value)
        square += value * value
    scalars[POWER] = max(power, 0.0)
    scalars[LENGTH] = max(scalars[LENGTH], math.sqrt(square))
    scalars[LAW] = _direction(state)
    for k in range(size(rows, at)):
        j = np.int64(entry(rows, at, k)[0])
        tree_set(state.column_tree, j, _weight(scalars[LAW], s[j], state.tracked[j], len(s)))


@kernel
def _add_dense_row(state, rows, at, sign):
    """Add a row to s, and sum the law of the columns in the same pass."""
    scalars, s, tracked = state.scalars, state.s, state.tracked
    powers, squares, laws = state.parts[0], state.parts[1], state.column_sums
    factor, d, block = _direction(state), np.float64(len(s)), np.uint64(BLOCK)
    first, last = share(state.team, len(s))
    for start in range(first, last, block):
        end, power, square, law = min(start + block, last), 0.0, 0.0, 0.0
        for k in range(start, end):
            j, value = entry(rows, at, k)
            s[j] += sign * value
            square += value * value
        for j in range(start, end):  # in a loop of its own: a processor does both in bulk
            power += s[j] * s[j]
            law += _weight(factor, s[j], tracked[j], d)
        powers[np.int64(start) // BLOCK] = power
        squares[np.int64(start) // BLOCK] = square
        laws[np.int64(start) // BLOCK] = law
    meet(state.team)
    blocks = blocks_of(len(s))
    scalars[LENGTH] = max(scalars[LENGTH], math.sqrt(sum_of(squares[:blocks])))
    power = sum_of(powers[:blocks])
    known = 0.75 * power < scalars[POWER] < 1.25 * power
    scalars[POWER] = power
    if not known:
        factor = _direction(state)
        _sum_laws(state, factor)
    scalars[LAW] = factor


# ---------------------------------------------------------------------------------------- columns


@kernel
def _weight(factor, s, z, d):
    """|x_j - z_j|^32, in units in which a typical coordinate of x is 1."""
    gap = factor * s - z
    power = gap * gap * d
    power *= power
    power *= power
    power *= power
    return power * power


@kernel
def _sum_laws(state, factor):
    s, tracked, d, block = state.s, state.tracked, np.float64(len(state.s)), np.uint64(BLOCK)
    first, last = share(state.team, len(s))
    meet(state.team)
    for start in range(first, last, block):
        law = 0.0
        for j in range(start, min(start + block, last)):
            law += _weight(factor, s[j], tracked[j], d)
        state.column_sums[np.int64(start) // BLOCK] = law
    meet(state.team)


@kernel
def _change_draw(state, rest):
    """The column that this part of the sum of all laws falls on."""
    b, rest = pick_block(state.column_sums, rest)
    chosen, d = -1, np.float64(len(state.s))
    for j in range(b * BLOCK, min((b + 1) * BLOCK, len(state.s))):
        weight = _weight(state.scalars[LAW], state.s[j], state.tracked[j], d)
        if weight > 0.0:
            chosen = j
            if rest < weight:
                break
        rest -= weight
    return chosen
