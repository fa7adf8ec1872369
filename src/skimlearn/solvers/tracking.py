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

A run on dense rows opens with more columns at once, of a sample of the rows: see `_opening`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skimlearn._jit import lean_kernel
from skimlearn.data.rows import entry, size
from skimlearn.sampling.blocks import BLOCK, cut_draw
from skimlearn.sampling.team import blocks_of, meet, share, sum_of
from skimlearn.sampling.tree import tree_draw, tree_set
from skimlearn.solvers._hedge import weigh
from skimlearn.solvers._margin_state import BIASES, FACTORS, LENGTH, POWER, TOP, TOTAL, T
from skimlearn.solvers._opening import begin, ends, extend, note_column, undisturbed
from skimlearn.solvers._tracking_law import draw_column, law_of, sum_law_again, sum_laws
from skimlearn.solvers._tracking_state import (
    ACTIVE,
    COLUMNS,
    DRAWING,
    EXTENDING,
    LAW,
    LEAD,
    LEADING,
    LEVELS,
    MEMBERS,
    MINUS,
    OFFSET,
    OPENED,
    OPENING,
    PHASE,
    PLUS,
    SHARE,
    SIZE,
    SPREAD,
    SQUARES,
    SUM,
    SUMMED,
    TODO,
    blocks_at,
    direction,
    from_block,
    rows_in,
)
from skimlearn.solvers.simba import Simba

__all__ = ["Tracking"]

# the means are formed of the steps t with t GOLDEN - floor(t GOLDEN) < some part: in no way in tune
# with the turns of the classes
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@dataclass(frozen=True)
class Tracking(Simba):
    """The settings of a run, and its step."""

    part: float = 0.125  # of the steps, whose x and p the means are formed of
    opening: float = 1.6  # entries that an opening reads by columns, in rows; 0 for no opening
    sample: float = 1000.0  # rows at least that it looks at first

    @property
    def tracks(self) -> bool:
        """Whether exact responses of a part of x are kept."""
        return True

    def draw(self, state, u, picks):
        scalars, phase = state.scalars, state.scalars[PHASE]
        picks[:] = -1
        most = len(picks) - 1
        if phase in (OPENING, EXTENDING):
            most = min(most, np.int64(scalars[TODO]))
        else:
            picks[0] = cut_draw(state.weights, scalars[TOP], state.row_sums, scalars[TOTAL], u[0])
        if scalars[POWER] == 0.0 or phase in (LEADING, DRAWING):
            return
        if phase == EXTENDING:
            done = np.int64(scalars[COLUMNS] - scalars[TODO])
            for b in range(most):
                picks[1 + b] = np.int64(scalars[OPENED + done + b])
            return
        total = 0.0 if len(state.column_tree) > 0 else sum_of(state.column_sums)
        for b in range(1, most + 1):
            if len(state.column_tree) > 0:
                picks[b] = tree_draw(state.column_tree, u[b])
            else:
                picks[b] = draw_column(state, u[b] * total)
            for other in range(1, b):  # a column that was drawn twice is read once
                if picks[other] == picks[b]:
                    picks[b] = -1
            if phase == OPENING and picks[b] >= 0 and state.seen[picks[b]] != 0.0:
                picks[b] = -1

    def extent(self, state, columns, at):
        if state.scalars[PHASE] != OPENING and state.scalars[PHASE] != EXTENDING:
            return np.int64(size(columns, at))
        return rows_in(blocks_at(state), len(state.y))

    def column(self, state, columns, at, j):
        scalars, y, responses, phase = state.scalars, state.y, state.responses, state.scalars[PHASE]
        before, seen = state.tracked[j], direction(state) * state.s[j]
        now = seen
        if phase == OPENING:
            now = undisturbed(state, columns, at)
        change = now - before
        if phase == EXTENDING:  # the new rows know nothing of it yet
            now, seen, change = before, state.seen[j], before
        sums, squares, lines = state.parts[0], state.parts[1], blocks_at(state)
        first, last = share(state.team, size(columns, at))
        begun, step = from_block(lines, first)
        for start in range(begun, last, step):
            part, square = 0.0, 0.0
            for k in range(start, min(start + np.uint64(BLOCK), last)):
                i, value = entry(columns, at, k)
                old, more = responses[i], change * (y[i] * value)
                responses[i] = old + more
                part += more
                square += more * (old + old + more)
            sums[np.int64(start) // BLOCK] = part
            squares[np.int64(start) // BLOCK] = square
        meet(state.team)  # all have seen what it was before
        if state.team.rank == 0:
            state.tracked[j], state.seen[j] = now, seen
        blocks = blocks_of(size(columns, at))
        scalars[SIZE] += now * now - before * before
        scalars[SUM] += sum_of(sums[lines[0] : blocks : lines[1]])
        scalars[SQUARES] += sum_of(squares[lines[0] : blocks : lines[1]])
        if len(state.column_tree) > 0:
            tree_set(state.column_tree, j, 0.0)
        if phase in (OPENING, EXTENDING):
            note_column(state, j)
        if phase == OPENING:
            sum_law_again(state, j)

    def row(self, state, rows, at, i):
        scalars, sign = state.scalars, state.y[i]
        if self.bias > 0.0 and scalars[POWER] > 0.0:
            # <x_i, x> of rows at the margin, the later ones weighted more: the middle is -bias
            side, part = (PLUS if sign > 0.0 else MINUS), 4.0 / (scalars[T] + 4.0)
            response = direction(state) * _response(state, rows, at)
            scalars[side] += part * (response - scalars[side])
        if state.team.rank == 0:
            state.counts[i] += 1.0
        if scalars[PHASE] == LEADING:
            scalars[OFFSET] = i // BLOCK
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
        scalars, phase = state.scalars, state.scalars[PHASE]
        if phase in (OPENING, EXTENDING):
            if ends(state):
                _weigh(self, state)
            return
        scalars[T] += 1.0
        if scalars[T] * GOLDEN % 1.0 < self.part:
            _add_to_means(state)
        if phase == DRAWING:
            extend(state, self.bias)
        elif phase != LEADING:
            _weigh(self, state)
        elif scalars[T] >= LEAD:
            begin(state, self.bias)


@lean_kernel
def _weigh(method, state):
    """Weigh the rows by their responses to z."""
    scalars, n, factor, mean = state.scalars, state.scalars[ACTIVE], 0.0, 0.0
    if scalars[SIZE] > 0.0:
        factor = 1.0 / math.sqrt(scalars[SIZE])
        mean = factor * scalars[SUM] / n
        scalars[SPREAD] += max(factor * factor * scalars[SQUARES] / n - mean * mean, 0.0)
    turn, cap, side = 0.0, min(method.cap * len(state.y) / n, 1.0), 0
    entropy = math.log(max(2.0, min(len(state.y), len(state.y) * method.cap)))
    if method.bias > 0.0:
        t, plus = scalars[T], scalars[SHARE]
        turn = 1.0 if math.floor(t * plus) > math.floor((t - 1.0) * plus) else -1.0
        cap /= plus if turn > 0.0 else 1.0 - plus
        side = 0 if turn > 0.0 else 1
    # fast at first, when rows that stand out are to be found; slower later, to balance them
    rate = method.rate * (0.2 + 0.8 / (1.0 + scalars[T] / 32.0))
    if scalars[PHASE] == DRAWING:
        rate *= 1.5
    eta = rate * math.sqrt(entropy / max(scalars[SPREAD], 1e-300))
    if cap * scalars[MEMBERS + side] <= 1.0 + 1e-9:
        eta = 0.0  # all are at the cap
    scalars[TOTAL], scalars[TOP], scalars[LEVELS + side] = weigh(
        state, eta, factor, mean, turn, cap, scalars[LEVELS + side]
    )


@lean_kernel
def _add_to_means(state):
    """Add p, and x as far as it is known to be of length 1, to their sums."""
    scalars, top = state.scalars, state.scalars[TOP]
    mass, weights, factor = state.mass, state.weights, 1.0 / scalars[TOTAL]
    first, last = share(state.team, len(mass))
    for i in range(first, last):
        mass[i] += factor * min(weights[i], top)
    scalars[SUMMED] += 1.0
    length = math.sqrt(2.0 * scalars[T]) * scalars[LENGTH]
    factor = min(direction(state), 1.0 / length if length > 0.0 else 0.0)
    if len(state.column_tree) > 0:
        scalars[FACTORS] += factor
    else:
        late, s = state.late, state.s
        first, last = share(state.team, len(s))
        for j in range(first, last):
            late[j] += factor * s[j]


# ------------------------------------------------------------------------------------------- rows


@lean_kernel
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


@lean_kernel
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
    scalars[LAW] = direction(state)
    for k in range(size(rows, at)):
        j = np.int64(entry(rows, at, k)[0])
        tree_set(state.column_tree, j, law_of(scalars[LAW], s[j], state.seen[j], len(s)))


@lean_kernel
def _add_dense_row(state, rows, at, sign):
    """Add a row to s, and sum the law of the columns in the same pass."""
    scalars, s, seen = state.scalars, state.s, state.seen
    powers, squares, laws = state.parts[0], state.parts[1], state.column_sums
    factor, d, block = direction(state), np.float64(len(s)), np.uint64(BLOCK)
    first, last = share(state.team, len(s))
    for start in range(first, last, block):
        end, power, square, law = min(start + block, last), 0.0, 0.0, 0.0
        for k in range(start, end):
            j, value = entry(rows, at, k)
            s[j] += sign * value
            square += value * value
        for j in range(start, end):  # in a loop of its own: a processor does both in bulk
            power += s[j] * s[j]
            law += law_of(factor, s[j], seen[j], d)
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
        factor = direction(state)
        sum_laws(state, factor)
    scalars[LAW] = factor
