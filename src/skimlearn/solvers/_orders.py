"""Random orders of those rows that are left, pass by pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel

__all__ = ["shuffled"]


def shuffled(chosen: NDArray[Any], keys: NDArray[np.uint32], multiplier: np.uint32) -> NDArray[Any]:
    """Some rows in a random order in which no row's place depends on which others are chosen.

    Rows are ordered by their keys times an odd number, new for each pass. A row that rounding puts
    aside a pass early, in a dense matrix but not in a sparse one, then changes nothing else.
    """
    bits = min(max(len(keys).bit_length(), 1), 24)
    out = np.empty_like(chosen)
    starts = np.zeros(2**bits + 1, dtype=chosen.dtype)
    _counting_sort(chosen, keys, np.uint64(multiplier), np.uint64(32 - bits), starts, out)
    return out


@kernel
def _counting_sort(items, keys, multiplier, shift, starts, out):
    for i in items:
        starts[_cell(keys[i], multiplier, shift) + 1] += 1
    for k in range(1, len(starts)):
        starts[k] += starts[k - 1]
    for i in items:
        cell = _cell(keys[i], multiplier, shift)
        out[starts[cell]] = i
        starts[cell] += 1


@kernel
def _cell(key, multiplier, shift):
    """The first bits of a product of 32 bits."""
    return np.int64(((np.uint64(key) * multiplier) & np.uint64(0xFFFFFFFF)) >> shift)
