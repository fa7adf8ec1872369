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
from skimlearn.data.rows import dot, entry, size
from skimlearn.sampling.blocks import BLOCK, cut_draw, cut_sums, pick_block
from skimlearn.sampling.cuts import select, water
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
        total = cut_sums(state.weights, top, state.row_sums)
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
        state.tracked[j] = now
        state.scalars[SIZE] += now * now - before * before
        change = now - before
        for k in range(size(columns, at)):
            i, value = entry(columns, at, k)
            state.responses[i] += change * (state.y[i] * value)
        if len(state.column_tree) > 0:
            tree_set(state.column_tree, j, 0.0)

    def row(self, state, rows, at, i):
        scalars, sign = state.scalars, state.y[i]
        if self.bias > 0.0 and scalars[POWER] > 0.0:
            # <x_i, x> of rows at the margin, the later ones weighted more: the middle is -bias
            side, share = (PLUS if sign > 0.0 else MINUS), 4.0 / (scalars[T] + 4.0)
            response = _direction(state) * dot(rows, at, state.s)
            scalars[side] += share * (response - scalars[side])
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
        for i in range(np.uint64(len(mass))):
            mass[i] += factor * min(weights[i], top)
        if scalars[SIZE] > 0.0:
            _hedge(state)
        scalars[T] += 1.0
        turn, cap = 0.0, self.cap
        if self.bias > 0.0:
            t, share = scalars[T], scalars[SHARE]
            turn = 1.0 if math.floor(t * share) > math.floor((t - 1.0) * share) else -1.0
            cap /= share if turn > 0.0 else 1.0 - share
        _weigh(self, state, turn, cap)


@kernel
def _direction(state):
    """x is so many times s."""
    return 1.0 / math.sqrt(state.scalars[POWER]) if state.scalars[POWER] > 0.0 else 0.0


@kernel
def _hedge(state):
    """Add the responses, less their mean, to the losses of the rows."""
    scalars, responses, losses = state.scalars, state.responses, state.losses
    n = np.uint64(len(losses))
    factor = 1.0 / math.sqrt(scalars[SIZE])
    total, squares = 0.0, 0.0
    for i in range(n):
        total += responses[i]
    mean = factor * total / n
    for i in range(n):
        loss = factor * responses[i] - mean
        losses[i] += loss
        squares += loss * loss
    scalars[SPREAD] += squares / n


@kernel
def _weigh(method, state, turn, cap):
    """Weigh the rows by their losses, those of one class if it is its turn; and find the cut."""
    y, losses, weights, scalars = state.y, state.losses, state.weights, state.scalars
    n = np.uint64(len(losses))
    least, members = _least(losses), len(y)
    if turn != 0.0:
        least, members = np.inf, 0
        for i in range(n):
            if y[i] == turn:
                least = min(least, losses[i])
                members += 1
    entropy = math.log(max(2.0, min(len(y), len(y) * method.cap)))
    spread = max(scalars[SPREAD], 1e-300)
    # fast at first, when rows that stand out are to be found; slower later, to balance them
    rate = method.rate * (0.2 + 0.8 / (1.0 + scalars[T] / 32.0))
    eta = rate * math.sqrt(entropy / spread)
    if cap * members <= 1.0 + 1e-9:
        eta = 0.0  # all are at the cap
    _exponentials(state, turn, eta, least)
    scalars[TOP] = np.inf
    if cap < 1.0 and eta > 0.0:
        scalars[TOP] = water(weights, cap, np.inf)
        if scalars[TOP] < FAR:  # few rows are far worse than all others: measure from the cut
            _exponentials(state, turn, eta, _level(state, turn, math.ceil(1.0 / cap - 1e-9)))
            scalars[TOP] = water(weights, cap, np.inf)


@kernel
def _exponentials(state, turn, eta, least):
    y, losses, weights = state.y, state.losses, state.weights
    n = np.uint64(len(losses))
    for i in range(n):
        weights[i] = _exponential(eta * (least - losses[i]))
    if turn != 0.0:
        for i in range(n):
            weights[i] *= 0.5 + 0.5 * turn * y[i]


@kernel
def _level(state, turn, rank):
    """The loss of this rank, from below, among the rows that take part."""
    count = 0
    for i in range(len(state.y)):
        if turn == 0.0 or state.y[i] == turn:
            state.values[count] = state.losses[i]
            count += 1
    return select(state.values[:count], min(rank, count) - 1)


@kernel
def _least(x):
    """The least entry, by four at a time: a processor then need not wait for each comparison."""
    a = b = c = d = x[0]
    for i in range(0, len(x) - 3, 4):
        a = min(a, x[i])
        b = min(b, x[i + 1])
        c = min(c, x[i + 2])
        d = min(d, x[i + 3])
    for i in range(len(x) // 4 * 4, len(x)):
        a = min(a, x[i])
    return min(min(a, b), min(c, d))


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
    total = 0.0
    for b in range(len(state.column_sums)):
        part = 0.0
        for j in range(np.uint64(b * BLOCK), np.uint64(min((b + 1) * BLOCK, len(state.s)))):
            part += _weight(state, factor, j)
        state.column_sums[b] = part
        total += part
    return total


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
