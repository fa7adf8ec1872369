"""Orders in which rows are visited: random, and for many rows such that the memory keeps up.

A row that is visited out of the blue has to come from far: its entries, where they begin, its
target, its dual variable, a cache line each. So many rows are cut into runs of neighbours, and the
runs are dealt at random, anew for each pass, to pools of some thousand rows; a pass goes from pool
to pool, in random order inside of each. The lines that neighbours share then come once for the
whole run. Since the runs of a pool are from all over the data, sorted rows do no harm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel

__all__ = ["Orders", "permutation"]

LARGE = 2**16  # rows: fewer are near the processor anyway
RUN = 16  # rows of a run
POOL = 1024  # rows of a pool, up to twice as many
FEW = 64  # places for a row: with more, rows are sorted rather than counted


class Orders:
    """Random orders of chosen rows, in which no row's place depends on which others are chosen.

    Rows are ordered by random keys times an odd number, new for each pass. A row that rounding puts
    aside a pass early, in a dense matrix but not in a sparse one, then changes nothing else.

    Examples
    --------
    >>> orders = Orders(5, np.random.default_rng(0))
    >>> sorted(orders.shuffled(np.array([0, 2, 3]), np.random.default_rng(1)).tolist())
    [0, 2, 3]
    """

    def __init__(self, n: int, rng: np.random.Generator) -> None:
        self.bits = min(max(n.bit_length(), 1), 24)  # of a place
        self.pool_bits = min((n // POOL).bit_length() - 1, self.bits - 11) if n >= LARGE else 0
        self.keys = rng.integers(2**32, size=n, dtype=np.uint32)
        runs = -(-n // RUN) if self.pool_bits else 0
        self.run_keys = rng.integers(2**32, size=runs, dtype=np.uint32)

    def shuffled(self, chosen: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """The chosen rows, in ascending order before, in a random one."""
        multiplier = np.uint64(2 * rng.integers(2**31) + 1)
        shifts = np.uint64(self.bits), np.uint64(self.pool_bits)
        if FEW * len(chosen) <= 2**self.bits:  # the same order, without a look at every place
            places = np.empty(len(chosen), dtype=np.int64)
            _places(chosen, self.keys, self.run_keys, multiplier, shifts, places)
            return chosen[np.argsort(places, kind="stable")]
        out = np.empty_like(chosen)
        starts = np.zeros(2**self.bits + 1, dtype=chosen.dtype)
        _counting_sort(chosen, self.keys, self.run_keys, multiplier, shifts, starts, out)
        return out


def permutation(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All rows in random order."""
    if n < LARGE:
        return rng.permutation(n)
    short = np.uint32 if n < 2**32 else np.int64  # it is sorted in half of the room
    return Orders(n, rng).shuffled(np.arange(n, dtype=short), rng).astype(np.int64, copy=False)


@kernel
def _counting_sort(items, keys, run_keys, multiplier, shifts, starts, out):
    for i in items:
        starts[_place(i, keys, run_keys, multiplier, shifts) + 1] += 1
    for k in range(1, len(starts)):
        starts[k] += starts[k - 1]
    for i in items:
        place = _place(i, keys, run_keys, multiplier, shifts)
        out[starts[place]] = i
        starts[place] += 1


@kernel
def _places(items, keys, run_keys, multiplier, shifts, out):
    for at in range(len(items)):
        out[at] = _place(items[at], keys, run_keys, multiplier, shifts)


@kernel
def _place(i, keys, run_keys, multiplier, shifts):
    """The pool of a row's run, and the row's place in the pool."""
    bits, pool_bits = shifts
    place = _product(keys[i], multiplier) >> (np.uint64(32) - bits + pool_bits)
    if pool_bits > 0:
        run = run_keys[np.uint64(i) // np.uint64(RUN)]
        pool = _product(run, multiplier) >> (np.uint64(32) - pool_bits)
        place |= pool << (bits - pool_bits)
    return np.int64(place)


@kernel
def _product(key, multiplier):
    """A product of 32 bits."""
    return (np.uint64(key) * multiplier) & np.uint64(0xFFFFFFFF)
