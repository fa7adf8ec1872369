"""The law by which `tracking` draws columns of dense rows: where x has changed most since."""

from __future__ import annotations

import numpy as np

from skimlearn._jit import lean_kernel
from skimlearn.sampling.blocks import BLOCK, pick_block
from skimlearn.sampling.team import meet, share
from skimlearn.solvers._tracking_state import LAW

__all__ = ["draw_column", "law_of", "sum_law_again", "sum_laws"]


@lean_kernel
def law_of(factor, s, seen, d):
    """|x_j - what it was|^32, in units in which a typical coordinate of x is 1."""
    gap = factor * s - seen
    power = gap * gap * d
    power *= power
    power *= power
    power *= power
    return power * power


@lean_kernel
def sum_laws(state, factor):
    s, seen, d, block = state.s, state.seen, np.float64(len(state.s)), np.uint64(BLOCK)
    first, last = share(state.team, len(s))
    meet(state.team)
    for start in range(first, last, block):
        law = 0.0
        for j in range(start, min(start + block, last)):
            law += law_of(factor, s[j], seen[j], d)
        state.column_sums[np.int64(start) // BLOCK] = law
    meet(state.team)


@lean_kernel
def sum_law_again(state, j):
    """Sum the law of a block anew: one of its columns was read."""
    b, law, d = np.int64(j) // BLOCK, 0.0, np.float64(len(state.s))
    factor, s, seen = state.scalars[LAW], state.s, state.seen
    meet(state.team)
    for k in range(np.uint64(b * BLOCK), np.uint64(min((b + 1) * BLOCK, len(s)))):
        law += law_of(factor, s[k], seen[k], d)
    if state.team.rank == 0:
        state.column_sums[b] = law


@lean_kernel
def draw_column(state, rest):
    """The column that this part of the sum of all laws falls on."""
    b, rest = pick_block(state.column_sums, rest)
    chosen, d = -1, np.float64(len(state.s))
    factor, s, seen = state.scalars[LAW], state.s, state.seen
    for j in range(np.uint64(b * BLOCK), np.uint64(min((b + 1) * BLOCK, len(s)))):
        weight = law_of(factor, s[j], seen[j], d)
        if weight > 0.0:
            chosen = np.int64(j)
            if rest < weight:
                break
        rest -= weight
    return chosen
