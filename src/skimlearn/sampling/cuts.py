"""Where to cut weights: at the cap of a distribution, or behind the heaviest few.

Passes over the weights instead of a sort, for kernels that do this at every step.
"""

from __future__ import annotations

import numpy as np

from skimlearn._jit import kernel

__all__ = ["heaviest", "select", "water"]


@kernel
def heaviest(weights, spare, rows):
    """Slack of 2 for so many of the heaviest rows: the weight above which, and what ties get."""
    n = len(weights)
    if rows >= n:
        return -1.0, 0.0
    spare[:] = weights
    cut = select(spare, n - 1 - int(rows))
    above, ties = 0, 0
    for i in range(n):
        above += weights[i] > cut
        ties += weights[i] == cut
    return cut, 2.0 * (rows - above) / ties


@kernel
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


@kernel
def water(weights, cap, guess):
    """The weight above which p_i = cap: sum of min(w_i, top) = top / cap; infinite if none is.

    Newton's method on a concave function, from the right: it never passes the solution.
    """
    rows = min(1.0 / cap, np.float64(len(weights)))  # that the cap leaves for the others
    for attempt in range(2):
        top = guess if attempt == 0 and guess < np.inf else np.max(weights)
        for _ in range(64):
            above, below = 0.0, 0.0
            for i in range(len(weights)):
                over = weights[i] >= top
                above += over
                below += 0.0 if over else weights[i]
            excess = above * top + below - top * rows
            if attempt == 1 and excess >= 0.0 and top == np.max(weights):
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
