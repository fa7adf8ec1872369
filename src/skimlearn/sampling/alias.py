"""An alias table: many draws from weights that stay, O(1) each.

Walker's method with Vose's way to build the table in O(n): cell i keeps a share ``keep[i]`` of its
draws and hands the others to ``other[i]``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel

__all__ = ["AliasTable"]


class AliasTable:
    """Fixed non-negative weights, drawn in proportion to their size.

    Examples
    --------
    >>> table = AliasTable(np.array([1.0, 0.0, 3.0]))
    >>> table.draw(np.array([0.1, 0.4, 0.9]))
    array([0, 2, 2])
    """

    def __init__(self, weights: NDArray[np.float64]) -> None:
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim != 1 or len(weights) == 0:
            raise ValueError(f"weights of shape {weights.shape} must be a vector that is not empty")
        if not (np.isfinite(weights).all() and (weights >= 0.0).all() and weights.any()):
            raise ValueError("weights must be finite, not negative, and not all zero")
        n = len(weights)
        self.keep = np.empty(n)
        self.other = np.empty(n, dtype=np.int64)
        alias_build(weights, self.keep, self.other, np.empty(n, dtype=np.int64))

    def draw(self, u: NDArray[np.float64]) -> NDArray[np.int64]:
        """The indices that uniform numbers in [0, 1) fall on."""
        out = np.empty(len(u), dtype=np.int64)
        _draw_all(self.keep, self.other, np.asarray(u, dtype=np.float64), out)
        return out


@kernel
def alias_build(weights, keep, other, work):
    """Fill the table from weights whose sum is positive; ``work`` is scratch of the same length."""
    n = len(weights)
    heaviest = 0
    for i in range(n):
        if weights[i] > weights[heaviest]:
            heaviest = i
    largest = weights[heaviest]
    total = 0.0
    for i in range(n):
        total += weights[i] / largest
    small, large = 0, n  # two stacks in one array: the light cells from below, the heavy from above
    for i in range(n):
        keep[i] = weights[i] / largest * (n / total)
        other[i] = i
        if keep[i] < 1.0:
            work[small] = i
            small += 1
        else:
            large -= 1
            work[large] = i
    while small > 0 and large < n:
        light, heavy = work[small - 1], work[large]
        small -= 1
        other[light] = heavy
        keep[heavy] -= 1.0 - keep[light]
        if keep[heavy] < 1.0:
            large += 1
            work[small] = heavy
            small += 1
    # what is left over differs from 1 by rounding only; a cell of weight zero hands on all it gets
    while small > 0:
        small -= 1
        if weights[work[small]] > 0.0:
            keep[work[small]] = 1.0
        else:
            other[work[small]] = heaviest
    while large < n:
        keep[work[large]] = 1.0
        large += 1


@kernel
def alias_draw(keep, other, u):
    """The index that one uniform number in [0, 1) falls on."""
    at = u * len(keep)
    i = min(int(at), len(keep) - 1)
    return i if at - i < keep[i] else other[i]


@kernel
def _draw_all(keep, other, u, out):
    for k in range(len(u)):
        out[k] = alias_draw(keep, other, u[k])
