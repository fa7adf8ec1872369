"""Draws from dense weights that all change between two draws: one fast pass, then a short search.

The weights are summed in blocks, loops that a processor runs at the speed of its memory; the draw
then looks for its block, and inside of it for its weight. For weights that change one at a time a
`SumTree` is better.

The weights are ``min(x_i, top)``, or ``|x_j|**power``: the two laws that the sublinear solvers use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import lean_kernel

__all__ = ["BLOCK", "block_room", "cut_draw", "cut_sums", "pick_block", "power_draw", "power_sums"]

BLOCK = 128


def block_room(size: int) -> NDArray[np.float64]:
    """Room for the sums of so many weights."""
    return np.zeros(-(-size // BLOCK))


@lean_kernel
def cut_sums(x, top, sums):
    """Sum min(x_i, top) in blocks; return the total."""
    total = 0.0
    for b in range(len(sums)):
        part = 0.0
        for i in range(np.uint64(b * BLOCK), np.uint64(min((b + 1) * BLOCK, len(x)))):
            part += min(x[i], top)
        sums[b] = part
        total += part
    return total


@lean_kernel
def cut_draw(x, top, sums, total, u):
    """The index that u in [0, 1) falls on, given the sums of `cut_sums`; -1 if all are zero."""
    b, rest = pick_block(sums, u * total)
    chosen = -1
    for i in range(b * BLOCK, min((b + 1) * BLOCK, len(x))):
        weight = min(x[i], top)
        if weight > 0.0:
            chosen = i
            if rest < weight:
                break
        rest -= weight
    return chosen


@lean_kernel
def power_sums(x, power, sums):
    """Sum |x_j|**power in blocks; return the total."""
    total = 0.0
    for b in range(len(sums)):
        part = 0.0
        if power == 2.0:
            for j in range(np.uint64(b * BLOCK), np.uint64(min((b + 1) * BLOCK, len(x)))):
                part += x[j] * x[j]
        else:
            for j in range(np.uint64(b * BLOCK), np.uint64(min((b + 1) * BLOCK, len(x)))):
                part += abs(x[j]) ** power
        sums[b] = part
        total += part
    return total


@lean_kernel
def power_draw(x, power, sums, total, u):
    """The index that u in [0, 1) falls on, given the sums of `power_sums`; -1 if all are zero."""
    b, rest = pick_block(sums, u * total)
    chosen = -1
    for j in range(b * BLOCK, min((b + 1) * BLOCK, len(x))):
        weight = abs(x[j]) ** power
        if weight > 0.0:
            chosen = j
            if rest < weight:
                break
        rest -= weight
    return chosen


@lean_kernel
def pick_block(sums, rest):
    """The block that holds the remainder, and what is left of the remainder at its beginning."""
    last, left = 0, 0.0
    for b in range(len(sums)):
        if sums[b] > 0.0:
            last, left = b, rest
            if rest < sums[b]:
                break
        rest -= sums[b]
    return last, left
