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

Columns are drawn with probability |x_j - z_j|^32: nearly the largest, found in one pass. With a
free bias the classes take turns, each with its own weights, so that p.y = 0 as the dual problem has
it; the bias is the middle between the classes, from the responses of the rows when they are read. A
class too small for half of the mass (all of its rows are at the cap, or it has none) has fewer
turns, and the bias is as great as it may be: see `_margin_bounds`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skimlearn._jit import kernel
from skimlearn.data.rows import entry, size
from skimlearn.sampling.blocks import BLOCK, cut_draw, pick_block
from skimlearn.sampling.cuts import select, shared_water
from skimlearn.sampling.team import blocks_of, least, meet, share, shared_cut_sums, sum_of
from skimlearn.sampling.tree import tree_draw, tree_set
from skimlearn.solvers.simba import (
    BIASES,
    LENGTH,
    MINUS,
    PLUS,
    POWER,
    SHARE,
    SIZE,
    SPREAD,
    TOP,
    TOTAL,
    Simba,
    T,
    add_row,
)

__all__ = ["Tracking"]

FAR = 1e-12  # a cut so far below the largest weight that the weights there lose their digits


@dataclass(frozen=True)
class Tracking(Simba):
    """The settings of a run, and its step."""

    @property
    def tracks(self) -> bool:
        """Whether exact responses of a part of x are kept."""
        return True

    @property
    def soft(self) -> bool:
        """Whether every row is touched at every step (in arithmetic: nothing is read for it)."""
        return True

    def draw(self, state, u, picks):
        top = state.scalars[TOP]
        total = shared_cut_sums(state.team, state.weights, top, state.row_sums)
        state.scalars[TOTAL] = total
        picks[0] = cut_draw(state.weights, top, state.row_sums, total, u[0])
        factor = _direction(state)
        if factor == 0.0:
            picks[1:] = -1
            return
        total = 0.0
        if len(state.column_tree) == 0:
            total = _change_sums(state, factor)
        for b in range(1, len(picks)):
            if len(state.column_tree) > 0:
                picks[b] = tree_draw(state.column_tree, u[b])
            else:
                picks[b] = _change_draw(state, factor, u[b] * total)
            for other in range(1, b):  # a column that was drawn twice is read once
                if picks[other] == picks[b]:
                    picks[b] = -1

    def column(self, state, columns, at, j):
        factor = _direction(state)
        before, now = state.tracked[j], factor * state.s[j]
        meet(state.team)  # all have seen what it was before
        if state.team.rank == 0:
            state.tracked[j] = now
        state.scalars[SIZE] += now * now - before * before
        change = now - before
        first, last = share(state.team, size(columns, at))
        for k in range(first, last):
            i, value = entry(columns, at, k)
            state.responses[i] += change * (state.y[i] * value)
        if len(state.column_tree) > 0:
            tree_set(state.column_tree, j, 0.0)

    def row(self, state, rows, at, i):
        scalars, sign = state.scalars, state.y[i]
        if self.bias > 0.0 and scalars[POWER] > 0.0:
            # <x_i, x> of rows at the margin, the later ones weighted more: the middle is -bias
            side, part = (PLUS if sign > 0.0 else MINUS), 4.0 / (scalars[T] + 4.0)
            response = _direction(state) * _response(state, rows, at)
            scalars[side] += part * (response - scalars[side])
        before = scalars[POWER]
        add_row(self, state, rows, at, i)
        if len(state.column_tree) > 0:
            for k in range(size(rows, at)):
                j, value = entry(rows, at, k)
                before += (2.0 * state.s[j] - sign * value) * (sign * value)
            scalars[POWER] = max(before, 0.0)
            factor = _direction(state)
            for k in range(size(rows, at)):
                j = np.int64(entry(rows, at, k)[0])
                tree_set(state.column_tree, j, _weight(state, factor, j))
        if self.bias > 0.0:
            tilt = 2.0 * scalars[SHARE] - 1.0
            scalars[BIASES] = -0.5 * (scalars[PLUS] + scalars[MINUS])
            if abs(tilt) > 1e-12:
                scalars[BIASES] = math.copysign(scalars[LENGTH], tilt)

    def finish(self, state):
        scalars, mass, weights = state.scalars, state.mass, state.weights
        factor, top = 1.0 / scalars[TOTAL], scalars[TOP]
        first, last = share(state.team, len(mass))
        for i in range(first, last):
            mass[i] += factor * min(weights[i], top)
        if scalars[SIZE] > 0.0:
            _hedge(state)
        scalars[T] += 1.0
        turn, cap = 0.0, self.cap
        if self.bias > 0.0:
            t, plus = scalars[T], scalars[SHARE]
            turn = 1.0 if math.floor(t * plus) > math.floor((t - 1.0) * plus) else -1.0
            cap /= plus if turn > 0.0 else 1.0 - plus
        _weigh(self, state, turn, cap)


@kernel
def _direction(state):
    """x is so many times s."""
    return 1.0 / math.sqrt(state.scalars[POWER]) if state.scalars[POWER] > 0.0 else 0.0


@kernel
def _response(state, rows, at):
    """The product of a row and s."""
    sums, block = state.column_sums, np.uint64(BLOCK)
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
def _hedge(state):
    """Add the responses, less their mean, to the losses of the rows."""
    scalars, responses, losses = state.scalars, state.responses, state.losses
    n, block = len(losses), np.uint64(BLOCK)
    totals, squares = state.parts[0, : blocks_of(n)], state.parts[1, : blocks_of(n)]
    first, last = share(state.team, n)
    factor = 1.0 / math.sqrt(scalars[SIZE])
    for start in range(first, last, block):
        part = 0.0
        for i in range(start, min(start + block, last)):
            part += responses[i]
        totals[np.int64(start) // BLOCK] = part
    meet(state.team)
    mean = factor * sum_of(totals) / n
    for start in range(first, last, block):
        part = 0.0
        for i in range(start, min(start + block, last)):
            loss = factor * responses[i] - mean
            losses[i] += loss
            part += loss * loss
        squares[np.int64(start) // BLOCK] = part
    meet(state.team)
    scalars[SPREAD] += sum_of(squares) / n


@kernel
def _weigh(method, state, turn, cap):
    """Weigh the rows by their losses, those of one class if it is its turn; and find the cut."""
    y, losses, scalars = state.y, state.losses, state.scalars
    lowest, members = 0.0, len(y)
    if turn != 0.0:
        lowest, members = _least_of_class(state, turn)
    else:
        lowest = least(state.team, losses, 1.0, state.parts[0])
    entropy = math.log(max(2.0, min(len(y), len(y) * method.cap)))
    spread = max(scalars[SPREAD], 1e-300)
    # fast at first, when rows that stand out are to be found; slower later, to balance them
    rate = method.rate * (0.2 + 0.8 / (1.0 + scalars[T] / 32.0))
    eta = rate * math.sqrt(entropy / spread)
    if cap * members <= 1.0 + 1e-9:
        eta = 0.0  # all are at the cap
    _exponentials(state, turn, eta, lowest)
    scalars[TOP] = np.inf
    if cap < 1.0 and eta > 0.0:
        scalars[TOP] = _cut(state, cap)
        if scalars[TOP] < FAR:  # few rows are far worse than all others: measure from the cut
            _exponentials(state, turn, eta, _level(state, turn, math.ceil(1.0 / cap - 1e-9)))
            scalars[TOP] = _cut(state, cap)


@kernel
def _cut(state, cap):
    return shared_water(state.team, state.weights, cap, np.inf, state.parts)


@kernel
def _exponentials(state, turn, eta, lowest):
    y, losses, weights = state.y, state.losses, state.weights
    first, last = share(state.team, len(losses))
    for i in range(first, last):
        weights[i] = _exponential(eta * (lowest - losses[i]))
    if turn != 0.0:
        for i in range(first, last):
            weights[i] *= 0.5 + 0.5 * turn * y[i]


@kernel
def _level(state, turn, rank):
    """The loss of this rank, from below, among the rows that take part."""
    level = state.parts[0, :1]
    meet(state.team)  # others may still read what parts held before
    if state.team.rank == 0:
        count = 0
        for i in range(len(state.y)):
            if turn == 0.0 or state.y[i] == turn:
                state.values[count] = state.losses[i]
                count += 1
        level[0] = select(state.values[:count], min(rank, count) - 1)
    meet(state.team)
    return level[0]


@kernel
def _least_of_class(state, turn):
    """The least loss of one class, and how many rows it has."""
    y, losses, parts = state.y, state.losses, state.parts
    first, last = share(state.team, len(losses))
    lowest, members = np.inf, 0.0
    for i in range(first, last):
        if y[i] == turn:
            lowest = min(lowest, losses[i])
            members += 1.0
    meet(state.team)  # others may still read what parts held before
    parts[0, state.team.rank], parts[1, state.team.rank] = lowest, members
    meet(state.team)
    members = 0.0
    for rank in range(state.team.size):
        lowest = min(lowest, parts[0, rank])
        members += parts[1, rank]
    return lowest, int(members)


@kernel
def _exponential(z):
    """exp(z), nearly: (1 + z / 256)^256 by squares, which a processor does in bulk.

    It ends at z = 32: rows that much heavier than the cut are at the cap.
    """
    power = 1.0 + min(z, 32.0) / 256.0
    power = 0.5 * (power + abs(power))
    power *= power
    power *= power
    power *= power
    power *= power
    power *= power
    power *= power
    power *= power
    return power * power


@kernel
def _weight(state, factor, j):
    """|x_j - z_j|^32, in units in which a typical coordinate of x is 1."""
    z = (factor * state.s[j] - state.tracked[j]) ** 2 * len(state.s)
    z *= z
    z *= z
    z *= z
    return z * z


@kernel
def _change_sums(state, factor):
    first, last = share(state.team, len(state.s))
    block = np.uint64(BLOCK)
    for start in range(first, last, block):
        part = 0.0
        for j in range(start, min(start + block, last)):
            part += _weight(state, factor, j)
        state.column_sums[np.int64(start) // BLOCK] = part
    meet(state.team)
    return sum_of(state.column_sums)


@kernel
def _change_draw(state, factor, rest):
    b, rest = pick_block(state.column_sums, rest)
    chosen = -1
    for j in range(b * BLOCK, min((b + 1) * BLOCK, len(state.s))):
        weight = _weight(state, factor, j)
        if weight > 0.0:
            chosen = j
            if rest < weight:
                break
        rest -= weight
    return chosen
