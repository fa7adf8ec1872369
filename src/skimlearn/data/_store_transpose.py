"""The columns of rows that are on disk, in bounded memory.

Columns are cut into buckets that fit into memory. The rows are read once, some at a time; their
entries are sorted by bucket and spilled to a file. Then each bucket is gathered from the pieces of
the file that belong to it, and put into the order of columns. So an entry is read and written twice
however small the memory is; if it is large enough for all, nothing is spilled. Rows come in order,
and every step keeps it: the entries of a column are sorted by row.
"""

from __future__ import annotations

from collections.abc import Callable
from io import RawIOBase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._store_kernels import bucket_sort, count_buckets, place, place_rows
from skimlearn.data._store_write import Appended, bytes_of, write
from skimlearn.data.rows import Csr, Dense, cuts

__all__ = ["transpose_dense", "transpose_sparse"]

Tell = Callable[[int], None]


def transpose_sparse(
    rows: Csr,
    starts: NDArray[np.int64],
    out_rows: Appended,
    out_values: Appended,
    spill: Path,
    memory: int,
    tell: Tell,
) -> None:
    """Append the entries of the columns, which begin at ``starts``, to two arrays."""
    bytes_each = out_rows.dtype.itemsize + out_values.dtype.itemsize + 4
    most = max(1, memory // (3 * bytes_each))  # one bucket is written while the next is made
    buckets = list(cuts(starts, most))
    if len(buckets) == 1 and starts[-1] <= most:
        room = _room(int(starts[-1]), out_rows, out_values)
        place_rows(rows, 0, rows.shape[0], starts[:-1].copy(), *room)
        tell(rows.shape[0])
        out_rows.append(room[0])
        out_values.append(room[1])
        return
    with open(spill, "xb+", buffering=0) as file:
        pieces = _spilled(rows, buckets, file, most, out_rows.dtype, tell)
        for b, (low, high) in enumerate(buckets):
            if high - low == 1:  # in order as it is, and perhaps too long for memory
                for piece in pieces:
                    part = piece.read(file, b)
                    out_rows.append(part[0])
                    out_values.append(part[2])
                continue
            room = _room(int(starts[high] - starts[low]), out_rows, out_values)
            cursors = starts[low:high] - starts[low]
            for piece in pieces:
                part = piece.read(file, b)
                place(part[0], part[1], part[2], low, cursors, room[0], room[1])
            out_rows.append(room[0])
            out_values.append(room[1])
    spill.unlink()


def _room(entries: int, *like: Appended) -> list[NDArray[Any]]:
    return [np.empty(entries, array.dtype) for array in like]


class _Piece:
    """Where the entries of some rows are in the file, sorted by bucket: rows, columns, values."""

    def __init__(self, offset: int, ends: NDArray[np.int64], dtypes: list[np.dtype[Any]]) -> None:
        self.offset, self.ends, self.dtypes = offset, ends, dtypes

    def read(self, file: RawIOBase, bucket: int) -> list[NDArray[Any]]:
        first, stop = int(self.ends[bucket]), int(self.ends[bucket + 1])
        found, offset = [], self.offset
        for dtype in self.dtypes:
            array = np.empty(stop - first, dtype)
            _read(file, offset + first * dtype.itemsize, bytes_of(array))
            found.append(array)
            offset += int(self.ends[-1]) * dtype.itemsize
        return found


def _read(file: RawIOBase, offset: int, view: memoryview) -> None:
    file.seek(offset)
    while len(view):
        count = file.readinto(view)
        if not count:
            raise OSError("a file that was just written ended early")
        view = view[count:]


def _spilled(
    rows: Csr,
    buckets: list[tuple[int, int]],
    file: RawIOBase,
    most: int,
    row_type: np.dtype[Any],
    tell: Tell,
) -> list[_Piece]:
    bucket_of = np.repeat(np.arange(len(buckets)), [high - low for low, high in buckets])
    bucket_of = bucket_of.astype(np.uint32)
    dtypes = [row_type, np.dtype("<i4"), rows.values.dtype]
    pieces = []
    for first, stop in cuts(rows.starts, most):
        begin, end = int(rows.starts[first]), int(rows.starts[stop])
        ends = np.zeros(len(buckets) + 1, np.int64)
        count_buckets(rows, first, stop, bucket_of, ends[1:])
        np.cumsum(ends, out=ends)
        room = [np.empty(end - begin, dtype) for dtype in dtypes]
        bucket_sort(rows, first, stop, bucket_of, ends[:-1].copy(), *room)
        pieces.append(_Piece(file.tell(), ends, dtypes))
        for array in room:
            if len(array):
                write(file, bytes_of(array))
        tell(stop)
    return pieces


def transpose_dense(rows: Dense, out: Appended, spill: Path, memory: int, tell: Tell) -> None:
    """Append the columns of a dense matrix to an array."""
    n, d = rows.shape
    itemsize = rows.values.itemsize
    high = max(1, memory // (2 * d * itemsize))  # rows of a piece
    wide = max(1, memory // (3 * n * itemsize))  # columns of a bucket
    if high >= n:
        out.append(rows.values.T)
        tell(n)
        return
    with open(spill, "xb+", buffering=0) as file:
        for first in range(0, n, high):
            stop = min(first + high, n)
            write(file, bytes_of(rows.values[first:stop].T))
            tell(stop)
        for low in range(0, d, wide):
            top = min(low + wide, d)
            columns = np.empty((top - low, n), rows.values.dtype)
            for first in range(0, n, high):
                count = min(high, n - first)
                part = np.empty((top - low, count), rows.values.dtype)
                offset = (first * d + low * count) * itemsize
                _read(file, offset, bytes_of(part))
                columns[:, first : first + count] = part
            out.append(columns)
    spill.unlink()
