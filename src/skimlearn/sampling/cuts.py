"""Where to cut weights: at the cap of a distribution, or behind the heaviest few.

Passes over the weights instead of a sort, for kernels that do this at every step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import lean_kernel
from skimlearn.sampling.blocks import BLOCK, block_room
from skimlearn.sampling.team import ALONE, blocks_of, least, meet, share, sum_of

__all__ = ["heaviest", "select", "shared_water", "water"]


@lean_kernel
def heaviest(weights, spare, rows):
    """Slack of 2 for so many of the heaviest rows: the weight above which, and what ties get."""
    n = len(weights)
    if rows >= n:
        return -1.0, 0.0
    for i in range(n):
        spare[i] = weights[i]
    cut = select(spare, n - 1 - int(rows))
    above, ties = 0, 0
    for i in range(n):
        above += weights[i] > cut
        ties += weights[i] == cut
    return cut, 2.0 * (rows - above) / ties


@lean_kernel
def select(values, k):
    """The k-th least value; the values are reordered."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


def water(weights: NDArray[np.float64], cap: float, guess: float) -> float:
    """As `shared_water`, outside of kernels."""
    parts = np.zeros((2, len(block_room(len(weights)))))
    return float(shared_water(ALONE, weights, cap, guess, parts))


@lean_kernel
def shared_water(team, weights, cap, guess, parts):
    """The weight above which p_i = cap: sum of min(w_i, top) = top / cap; infinite if none is.

    Newton's method on a concave function, from the right: it never passes the solution.
    """
    rows = min(1.0 / cap, np.float64(len(weights)))  # that the cap leaves for the others
    largest = np.inf
    for attempt in range(2):
        if attempt == 1 or guess == np.inf:
            largest = -least(team, weights, -1.0, parts[0])
        top = guess if attempt == 0 and guess < np.inf else largest
        for _ in range(64):
            above, below = _around(team, weights, top, parts)
            excess = above * top + below - top * rows
            if attempt == 1 and excess >= 0.0 and top == largest:
                return np.inf
            if excess > 1e-12 * top or above >= rows:
                break  # left of the solution: begin at the largest weight
            following = below / (rows - above)
            if not following < top * (1.0 - 1e-13):
                return top
            top = following
        if attempt == 1:
            return top
    return top


@lean_kernel
def _around(team, weights, top, parts):
    """How many weights are not below top, and the sum of the others."""
    first, last = share(team, len(weights))
    block = np.uint64(BLOCK)
    meet(team)  # others may still read what parts held before
    for start in range(first, last, block):
        above, below = 0.0, 0.0
        for i in range(start, min(start + block, last)):
            over = weights[i] >= top
            above += over
            below += 0.0 if over else weights[i]
        parts[0, np.int64(start) // BLOCK] = above
        parts[1, np.int64(start) // BLOCK] = below
    meet(team)
    blocks = blocks_of(len(weights))
    return sum_of(parts[0, :blocks]), sum_of(parts[1, :blocks])
