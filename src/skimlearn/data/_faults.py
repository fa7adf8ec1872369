"""The first fault of a matrix, found in one look at all of its entries."""

from __future__ import annotations

import numpy as np

from skimlearn._jit import kernel

__all__ = [
    "FINE",
    "LONGEST",
    "NOT_FINITE",
    "OUT_OF_ORDER",
    "OUT_OF_RANGE",
    "TOO_LONG",
    "ends_of",
    "has_repeats",
    "inspect_csr",
    "inspect_dense",
]

LONGEST = 1e100  # of the rows that a solver takes: squares of squared lengths must not overflow
FINE, OUT_OF_RANGE, NOT_FINITE, OUT_OF_ORDER, TOO_LONG = range(5)


@kernel
def has_repeats(rows, seen):
    """Whether a row has a column twice; ``seen`` are bits of all columns, zero before and after."""
    one, six, mask = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(len(rows.starts) - 1):
        twice = np.uint64(0)
        for k in range(rows.starts[i], rows.starts[i + 1]):
            j = np.uint64(rows.columns[k])
            bit, word = one << (j & mask), seen[j >> six]
            twice |= word & bit
            seen[j >> six] = word | bit
        for k in range(rows.starts[i], rows.starts[i + 1]):
            seen[np.uint64(rows.columns[k]) >> six] = np.uint64(0)
        if twice != 0:
            return True
    return False


@kernel
def inspect_csr(rows, lengths):
    """The first fault of a sparse matrix and its position; disorder and length come last.

    ``lengths`` are set to the squared lengths of the rows, as far as there is no fault.
    """
    disorder, long = np.int64(-1), np.int64(-1)
    one = np.uint64(1)
    for i in range(len(rows.starts) - 1):
        start, stop = rows.starts[i], rows.starts[i + 1]
        squares, falls, last = 0.0, 0, np.uint64(0)
        # no branches in these loops: they run at the speed of memory
        for k in range(start, stop):
            squares += np.float64(rows.values[k]) * np.float64(rows.values[k])
        for k in range(start + one, stop):
            falls += rows.columns[k] <= rows.columns[k - one]
        lengths[i] = squares
        if falls > 0:
            disorder = np.int64(start)
        if falls > 0:
            for k in range(start, stop):
                last = max(last, np.uint64(rows.columns[k]))
        elif stop > start:
            last = np.uint64(rows.columns[stop - one])
        if last >= rows.width and stop > start:
            for k in range(start, stop):
                if rows.columns[k] >= rows.width:
                    return OUT_OF_RANGE, np.int64(k)
        if not squares <= LONGEST * LONGEST:
            for k in range(start, stop):
                if not np.isfinite(rows.values[k]):
                    return NOT_FINITE, np.int64(k)
            if long < 0:
                long = np.int64(start)
    if disorder >= 0:
        return OUT_OF_ORDER, disorder
    if long >= 0:
        return TOO_LONG, long
    return FINE, np.int64(-1)


@kernel
def inspect_dense(values, lengths):
    """The first fault of a dense matrix, its row and its column; and the squared lengths."""
    n, d = values.shape
    long = -1
    for i in range(n):
        squares = 0.0
        for j in range(d):
            squares += np.float64(values[i, j]) * np.float64(values[i, j])
        lengths[i] = squares
        if not squares <= LONGEST * LONGEST:
            for j in range(d):
                if not np.isfinite(values[i, j]):
                    return NOT_FINITE, i, j
            if long < 0:
                long = i
    return (TOO_LONG if long >= 0 else FINE), long, -1


@kernel
def ends_of(values):
    """The least and the largest number, and whether there are no others."""
    low, high = values[0], values[0]
    for i in range(len(values)):
        low, high = min(low, values[i]), max(high, values[i])
    others = 0
    for i in range(len(values)):
        others += (values[i] != low) & (values[i] != high)
    return low, high, others == 0
