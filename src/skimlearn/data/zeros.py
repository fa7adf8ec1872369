"""Dense rows that are mostly zeros, kept as sparse ones for an algorithm that reads them often.

Images and counts come as dense arrays with few numbers in them that are not zero. What a pass over
such rows costs is to bring them from memory; a number with its column takes 12 bytes, or 8, beside
the 8, or 4, of each entry of the array, and the zeros take none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.disk import file_of
from skimlearn.data.rows import Csr, Dense, Rows, frozen

__all__ = ["Nonzeros", "may_have_zeros", "nonzero_rows"]

Vector = NDArray[np.float64]

LARGE = 8_000_000  # bytes: less is near the processor, and read in no time anyway
WIDE = 512  # bytes of a row: shorter ones are read as fast as sparse ones are begun
WORTH = 0.4  # of the bytes: if more would be left, the copy does not pay
SOME = 1000  # rows that are counted first


class Nonzeros(NamedTuple):
    """The rows without their zeros; what is said of the columns holds for both.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> few = nonzero_rows(as_rows(7.0 * np.eye(100)[[3, 99]]), large=0)
    >>> few.rows.values, few.rows.columns
    (array([7., 7.]), array([ 3, 99], dtype=uint32))
    """

    rows: Csr

    def back(self, w: Vector) -> Vector:
        """The weights for the dense rows."""
        return w

    def forth(self, w: Vector) -> Vector:
        """The weights for the rows without zeros."""
        return w


def nonzero_rows(rows: Rows, large: int = LARGE) -> Nonzeros | None:
    """The entries of dense rows that are not zero; None if to copy them does not pay.

    It does for ``large`` bytes or more, in long rows, if at most two fifths (`WORTH`) of them are
    left: where a quarter of the entries is not zero, or a fifth in float32. What lies in a file is
    not copied into memory.
    """
    if not may_have_zeros(rows, large):
        return None
    assert isinstance(rows, Dense)
    (n, d), size = rows.shape, rows.values.itemsize
    most = WORTH * size / (size + 4)  # of the entries
    chosen = np.linspace(0, n - 1, min(n, SOME), dtype=np.int64)
    if sum(np.count_nonzero(rows.values[i]) for i in chosen) > most * len(chosen) * d:
        return None
    starts = np.zeros(n + 1, dtype=np.uint64)
    _count(rows.values, starts[1:])
    np.cumsum(starts, out=starts)
    entries = int(starts[-1])
    if entries > most * n * d:
        return None
    # one entry more than there are: it is written before it is known to be a zero
    values, columns = np.empty(entries + 1, rows.values.dtype), np.empty(entries + 1, np.uint32)
    _gather(rows.values, values, columns)
    return Nonzeros(Csr(frozen(values[:entries]), frozen(columns[:entries]), frozen(starts), d))


def may_have_zeros(rows: Rows, large: int = LARGE) -> bool:
    """Whether `nonzero_rows` looks for zeros at all."""
    if not isinstance(rows, Dense) or file_of(rows.values) is not None:
        return False
    (n, d), size = rows.shape, rows.values.itemsize
    return n * d * size >= large and d * size >= WIDE and d < 2**32


@kernel
def _count(values, counts):
    for i in range(values.shape[0]):
        count = 0
        for j in range(values.shape[1]):
            count += values[i, j] != 0.0
        counts[i] = count


@kernel
def _gather(values, out, columns):
    """Write every entry, and go on if it is not zero: nothing is to be guessed by the processor."""
    at = np.uint64(0)
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[at], columns[at] = values[i, j], j
            at += np.uint64(values[i, j] != 0.0)
