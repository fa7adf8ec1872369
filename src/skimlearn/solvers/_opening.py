r"""How `tracking` begins: a few columns of some of the rows.

Before much is known, rows are cheap to rule out and columns dear to read in full. So, after a few
rows drawn at random, many columns are read, but only where they cross a sample of the rows: whole
blocks, one in so many, begun at the block of a row that was drawn. A row is drawn by what they
tell. If there are more rows than that, the same columns are read for as many rows again, and so on
until all rows are looked at: it takes no more entries than to read these columns at once, and far
fewer if the rows that matter were among the first.

Here p is uniform, so that a column tells what its x_j would be without the noise of the few rows
drawn: z_j = t (A'p)_j / ||s||, with p over the sample. Heavy coordinates of the rows drawn are
heavy by chance for the most part; those of A'p are not.
"""

from __future__ import annotations

import numpy as np

from skimlearn._jit import lean_kernel
from skimlearn.data.rows import entry
from skimlearn.sampling.blocks import BLOCK
from skimlearn.sampling.team import blocks_of, meet, share, sum_of
from skimlearn.solvers._margin_state import TOP, TOTAL, T
from skimlearn.solvers._tracking_state import (
    ACTIVE,
    COLUMNS,
    DRAWING,
    EXTENDING,
    LEVELS,
    MEMBERS,
    OFFSET,
    OPENED,
    OPENING,
    PHASE,
    READ,
    SHARE,
    SPREAD,
    STEADY,
    STRIDE,
    TODO,
    blocks_at,
    direction,
    from_block,
    rows_in,
)

__all__ = ["begin", "ends", "extend", "note_column", "undisturbed"]


@lean_kernel
def begin(state, bias):
    """Look at a sample of the rows, all of the same weight (in each class)."""
    scalars = state.scalars
    while not _sample(state, bias):
        scalars[STRIDE] *= 0.5
    scalars[TODO], scalars[COLUMNS], scalars[PHASE] = scalars[COLUMNS], 0.0, OPENING
    plus, minus = 1.0, 1.0
    if bias > 0.0:
        plus = scalars[SHARE] / max(scalars[MEMBERS], 1.0)
        minus = (1.0 - scalars[SHARE]) / max(scalars[MEMBERS + 1], 1.0)
    at, block = blocks_at(state), np.uint64(BLOCK)
    first, last = share(state.team, len(state.y))
    meet(state.team)
    for start in range(first, last, block):
        part, active = 0.0, (np.int64(start) // BLOCK - at[0]) % at[1] == 0
        for i in range(start, min(start + block, last)):
            weight = plus if state.y[i] > 0.0 else minus
            state.weights[i] = weight if active else 0.0
            part += state.weights[i]
        state.row_sums[np.int64(start) // BLOCK] = part
    meet(state.team)
    scalars[TOTAL], scalars[TOP] = sum_of(state.row_sums), np.inf


@lean_kernel
def _sample(state, bias):
    """Count the rows looked at; False if a class that there is has none of them."""
    scalars, n = state.scalars, len(state.y)
    at = np.int64(scalars[OFFSET]) % np.int64(scalars[STRIDE]), np.int64(scalars[STRIDE])
    scalars[ACTIVE] = rows_in(at, n)
    if bias == 0.0:
        scalars[MEMBERS] = scalars[ACTIVE]
        return True
    plus = 0.0
    for b in range(at[0], blocks_of(n), at[1]):
        for i in range(b * BLOCK, min((b + 1) * BLOCK, n)):
            plus += state.y[i] > 0.0
    scalars[MEMBERS], scalars[MEMBERS + 1] = plus, scalars[ACTIVE] - plus
    return at[1] == 1 or 0.0 < plus < scalars[ACTIVE]


@lean_kernel
def extend(state, bias):
    """Look at twice as many rows."""
    scalars = state.scalars
    scalars[STRIDE] *= 0.5
    _sample(state, bias)
    scalars[TODO], scalars[PHASE] = scalars[COLUMNS], EXTENDING


@lean_kernel
def note_column(state, j):
    """A column was read."""
    scalars = state.scalars
    if scalars[PHASE] == OPENING:
        scalars[OPENED + np.int64(scalars[COLUMNS])] = j
        scalars[COLUMNS] += 1.0
    scalars[TODO], scalars[READ] = scalars[TODO] - 1.0, 1.0


@lean_kernel
def ends(state):
    """Whether all columns of this phase are read, so that the rows can be weighed anew."""
    scalars = state.scalars
    more = scalars[TODO] > 0.0 and scalars[READ] > 0.0
    scalars[READ] = 0.0
    if more:
        return False
    scalars[PHASE] = DRAWING if scalars[STRIDE] > 1.0 else STEADY
    scalars[SPREAD] = scalars[LEVELS] = scalars[LEVELS + 1] = 0.0
    first, last = share(state.team, len(state.losses))
    for i in range(first, last):
        state.losses[i] = 0.0
    return True


@lean_kernel
def undisturbed(state, columns, at):
    """x_j of this column without the noise of the rows drawn."""
    sums, lines = state.parts[0], blocks_at(state)
    last = share(state.team, len(state.y))[1]
    begun, step = from_block(lines, share(state.team, len(state.y))[0])
    for start in range(begun, last, step):
        part = 0.0
        for i in range(start, min(start + np.uint64(BLOCK), last)):
            part += state.weights[i] * state.y[i] * entry(columns, at, i)[1]
        sums[np.int64(start) // BLOCK] = part
    meet(state.team)
    total = sum_of(sums[lines[0] : blocks_of(len(state.y)) : lines[1]])
    meet(state.team)  # before the sums are changed
    return state.scalars[T] * direction(state) * total / state.scalars[TOTAL]
