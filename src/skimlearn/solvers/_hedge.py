r"""The weights of rows by what they have lost so far: exponentials, a cap, classes by turns.

With responses r, their losses L, and V the sum of the variances of r over the steps,

    L += r - mean(r);   eta = rate sqrt(log n / V);   w = exp(eta (level - L));   p ~ min(w, TOP)

in one pass over the rows. The level is that at which the step before would have been cut at 1 (or,
without a cap, have had the sum 1): no least loss has to be found first. If the cut of this step is
far from 1 all the same, the rows are weighed once more, from the loss of the row at the cut.
"""

from __future__ import annotations

import math

import numpy as np

from skimlearn._jit import lean_kernel
from skimlearn.sampling.blocks import BLOCK
from skimlearn.sampling.cuts import select, shared_water
from skimlearn.sampling.team import meet, share, shared_cut_sums, sum_of
from skimlearn.solvers._tracking_state import blocks_at, from_block

__all__ = ["weigh"]

FAR = 1e8  # a cut that far from 1: what is much lighter has lost its digits


@lean_kernel
def weigh(state, eta, factor, mean, turn, cap, level):
    """Add ``factor * responses - mean`` to the losses, and weigh all rows, or one class by turns.

    Return the sum of p before it is divided by it, the cut (infinite if there is none), and the
    level of the next step.
    """
    total = _pass(state, eta, factor, mean, turn, level)
    top = _cut(state, eta, cap, 1.25)
    size = min(top, cap * total)
    if not 1.0 / FAR < size < FAR and eta > 0.0:
        level = _loss_of_rank(state, turn, math.ceil(1.0 / cap - 1e-9))
        total = _pass(state, eta, 0.0, 0.0, turn, level)
        top = _cut(state, eta, cap, np.inf)
        size = min(top, cap * total)
    if top < np.inf:
        total = shared_cut_sums(state.team, state.weights, top, state.row_sums)
    if eta > 0.0:
        level -= math.log(size) / eta
    return total, top, level


@lean_kernel
def _pass(state, eta, factor, mean, turn, level):
    """Losses, weights, and the sums of the weights in blocks; return their total."""
    y, losses, responses, weights = state.y, state.losses, state.responses, state.weights
    first, last = share(state.team, len(losses))
    block, rate = np.uint64(BLOCK), eta / 64.0
    begun, step = from_block(blocks_at(state), first)
    meet(state.team)  # others may still read the sums of the step before
    for start in range(begun, last, step):
        end, part = min(start + block, last), 0.0
        for i in range(start, end):
            loss = losses[i] + (factor * responses[i] - mean)
            losses[i] = loss
            weights[i] = _exponential(rate * (level - loss))
        if turn != 0.0:
            for i in range(start, end):
                weights[i] *= 0.5 + 0.5 * turn * y[i]
        for i in range(start, end):
            part += weights[i]
        state.row_sums[np.int64(start) // BLOCK] = part
    meet(state.team)
    return sum_of(state.row_sums)


@lean_kernel
def _exponential(u):
    """exp(64 u), nearly: (1 + u + u^2 / 2)^64 by squares, which a processor does in bulk.

    It ends at u = 1/2, rows that much heavier than the cut are at the cap, and at u = -1, which
    is as good as nothing (5e-20). That of `_entropy` has 13 digits, and takes twice as long.
    """
    u = min(max(u, -1.0), 0.5)
    power = 1.0 + u + 0.5 * u * u
    power *= power
    power *= power
    power *= power
    power *= power
    power *= power
    return power * power


@lean_kernel
def _cut(state, eta, cap, guess):
    """The weight above which p is at the cap; infinite where none is."""
    if cap < 1.0 and eta > 0.0:
        return shared_water(state.team, state.weights, cap, guess, state.parts)
    return np.inf


@lean_kernel
def _loss_of_rank(state, turn, rank):
    """The loss of this rank, from below, among the rows that take part."""
    level = state.parts[0, :1]
    meet(state.team)  # others may still read what parts held before
    if state.team.rank == 0:
        count, at = 0, blocks_at(state)
        for b in range(at[0], len(state.row_sums), at[1]):
            for i in range(b * BLOCK, min((b + 1) * BLOCK, len(state.y))):
                if turn == 0.0 or state.y[i] == turn:
                    state.spare[count] = state.losses[i]
                    count += 1
        level[0] = select(state.spare[:count], min(rank, count) - 1)
    meet(state.team)
    return level[0]
