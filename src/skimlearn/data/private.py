"""Columns that only one row has: all of a row's are one direction, so one column stands for them.

Text by pairs of words, or hashed, has more columns than there is to learn: most are empty, or in a
single row. The part u_i of row i in columns that are its own meets no other row, and a Euclidean
norm does not mind a rotation. So the entries of u_i can be replaced by one, ||u_i||, in a column of
its own, and empty columns left out. With the weights

    w_j = w'_i u_ij / ||u_i||   of the columns j that row i has for its own

all responses and the norm are what they were, hence also every step of a method that is alike in
all directions (gradients, dual ascent, Newton's). But the vector of weights, which is visited at
random, is a fraction as long, and nearer to the processor.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.disk import Runs
from skimlearn.data.rows import Csr, Rows, frozen, stored

__all__ = ["Merged", "may_be_merged", "merged"]

Vector = NDArray[np.float64]

WIDE = 2**17  # columns: the weights of fewer are near the processor anyway
MOST = 30_000_000  # entries that are copied
WORTH = 0.5  # of the columns: if more would be left, the copy does not pay
NOBODY = np.uint32(2**32 - 1)  # the place of a column that less than two rows have


class Merged(NamedTuple):
    """Rows with fewer columns, and the way to and from the weights of all columns.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from skimlearn.data.inspection import as_rows
    >>> X = sp.csr_matrix([[1.0, 3.0, 4.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
    >>> few = merged(as_rows(X), wide=0)
    >>> few.rows.values, few.rows.columns  # 3 and 4 are in one row only: they become one entry
    (array([1., 5., 2.]), array([0, 1, 0], dtype=uint32))
    >>> few.back(np.array([1.0, 10.0]))
    array([1., 6., 8., 0., 0., 0.])
    """

    rows: Csr
    width: int  # the number of all columns
    shared: NDArray[np.int64]  # the columns that many rows have, which come first now
    own: NDArray[np.uint32]  # those of a single row, row by row
    parts: Vector  # u_ij / ||u_i|| for each of them
    counts: NDArray[np.int64]  # how many of them make one column

    def back(self, w: Vector) -> Vector:
        """The weights of all columns."""
        out = np.zeros(self.width)
        out[self.shared] = w[: len(self.shared)]
        out[self.own] = self.parts * np.repeat(w[len(self.shared) :], self.counts)
        return out

    def forth(self, w: Vector) -> Vector:
        """The weights of the fewer columns, for those of all: of `back` it is the reverse."""
        row = np.repeat(np.arange(len(self.counts)), self.counts)
        sums = np.bincount(row, self.parts * w[self.own], minlength=len(self.counts))
        return np.concatenate([w[self.shared], sums])


def merged(rows: Rows, wide: int = WIDE) -> Merged | None:
    """The rows with one column for all that only one row has; None if that does not pay.

    It does for sparse rows with more than ``wide`` columns, if at most half of them are left. More
    than `MOST` entries, or what is on disk and too large to be visited as if it were in memory, are
    not copied. The copy is in float64: a norm that is rounded would make it another problem.
    """
    if not may_be_merged(rows, wide):
        return None
    assert isinstance(rows, Csr)
    (n, d), entries = rows.shape, stored(rows)
    met = np.zeros(d, dtype=np.uint8)
    _meet(rows, met)
    many = met > 1
    shared, single = int(np.count_nonzero(many)), int(np.count_nonzero(met == 1))
    if shared == 0 or shared + min(n, single) > WORTH * d:
        return None
    places = np.cumsum(many, dtype=np.uint32)
    places -= np.uint32(1)
    places[~many] = NOBODY
    most = entries - single + min(n, single)
    values, columns = np.empty(most + 1), np.empty(most + 1, rows.columns.dtype)
    starts, counts = np.zeros(n + 1, np.uint64), np.zeros(n, np.int64)
    own, parts = np.empty(single + 1, np.uint32), np.empty(single + 1)
    _merge(rows, places, np.uint32(shared), (values, columns, starts), (own, parts, counts))
    end, counts = int(starts[-1]), counts[counts > 0]
    few = Csr(frozen(values[:end]), frozen(columns[:end]), frozen(starts), shared + len(counts))
    return Merged(few, d, np.flatnonzero(many), own[:single], parts[:single], counts)


def may_be_merged(rows: Rows, wide: int = WIDE) -> bool:
    """Whether `merged` looks at the columns at all."""
    if not isinstance(rows, Csr) or not wide < rows.width < NOBODY:
        return False
    return Runs(rows).pools == 1 and stored(rows) <= MOST


@kernel
def _meet(rows, met):
    """How many rows have a column: none, one, or two for all that is more."""
    for k in range(rows.starts[0], rows.starts[-1]):
        j = rows.columns[k]
        met[j] += np.uint8(met[j] < 2)


@kernel
def _merge(rows, places, width, kept, singles):
    """Write the entries that are kept, and apart from them the columns of single rows.

    An entry is written to both, and the count of one of them goes on: nothing is to be guessed by
    the processor. Both have room for one entry more.
    """
    values, columns, starts = kept
    own, parts, counts = singles
    at, first = np.uint64(0), np.uint64(0)
    for i in range(len(counts)):
        end = first
        for k in range(rows.starts[i], rows.starts[i + 1]):
            j = rows.columns[k]
            place = places[j]
            is_own = np.uint64(place == NOBODY)
            values[at], columns[at] = rows.values[k], place
            own[end], parts[end] = j, rows.values[k]
            at += np.uint64(1) - is_own
            end += is_own
        if end > first:
            counts[i] = end - first
            values[at], columns[at] = _normalized(parts, first, end), width
            at += np.uint64(1)
            width += np.uint32(1)
            first = end
        starts[i + 1] = at


@kernel
def _normalized(parts, first, end):
    """Divide these parts by their norm, without overflow; the norm."""
    total, scale = 0.0, 1.0
    for c in range(first, end):
        total += parts[c] ** 2
    if not 1e-200 < total < 1e200:
        scale, total = 0.0, 0.0
        for c in range(first, end):
            scale = max(scale, abs(parts[c]))
        if scale == 0.0:
            return 0.0  # zeros that are stored
        for c in range(first, end):
            total += (parts[c] / scale) ** 2
    length = math.sqrt(total)
    for c in range(first, end):
        parts[c] = parts[c] / scale / length
    return scale * length
