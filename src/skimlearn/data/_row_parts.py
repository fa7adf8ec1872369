"""Some of the rows, or all of them in another form: taken, cut into pieces, joined, scaled."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._row_kinds import Csr, Dense, Rows, frozen, lengths

__all__ = [
    "between",
    "checksum",
    "cuts",
    "largest_entry",
    "over_columns",
    "own_arrays",
    "pieces",
    "plain",
    "scaled",
    "side_by_side",
    "stacked",
    "take",
    "without_gaps",
]


def take(rows: Rows, chosen: NDArray[np.int64]) -> Rows:
    """Some of the rows, copied."""
    if isinstance(rows, Dense):
        return Dense(frozen(rows.values[chosen]))
    counts = lengths(rows)[chosen]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = np.repeat(rows.starts[chosen].astype(np.int64) - starts[:-1], counts)
    at += np.arange(starts[-1])
    parts = (frozen(rows.values[at]), frozen(rows.columns[at]))
    return Csr(*parts, frozen(starts.view(np.uint64)), rows.width)


def between(rows: Rows, first: int, stop: int) -> Rows:
    """Consecutive rows, as a view."""
    if isinstance(rows, Dense):
        return Dense(rows.values[first:stop])
    return rows._replace(starts=rows.starts[first : stop + 1])


def over_columns(rows: Csr, used: NDArray[Any]) -> Csr:
    """The entries of sparse rows in some columns, given in ascending order, which become all."""
    values, columns = own_arrays(rows)
    places = np.searchsorted(used, columns)
    kept = places < len(used)
    kept[kept] = used[places[kept]] == columns[kept]
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.uint64)
    starts = before[(rows.starts - rows.starts[0]).astype(np.int64)]
    parts = (frozen(values[kept]), frozen(places[kept].astype(columns.dtype)), frozen(starts))
    return Csr(*parts, max(1, len(used)))


def scaled(rows: Rows, factors: NDArray[np.float64], axis: int = 0) -> Rows:
    """The rows, each times its factor; or their columns (axis 1)."""
    factors = factors.astype(rows.values.dtype)
    if isinstance(rows, Dense):
        return Dense(rows.values * (factors[:, None] if axis == 0 else factors))
    each = np.repeat(factors, lengths(rows)) if axis == 0 else factors[rows.columns]
    return rows._replace(values=rows.values * each)


def side_by_side(rows: Rows) -> bool:
    """Whether the entries of a row lie side by side in memory."""
    return isinstance(rows, Csr) or rows.values.flags.c_contiguous


def plain(rows: Rows) -> Any:
    """What ``@`` can multiply: an array, or a sparse one."""
    if isinstance(rows, Dense):
        return rows.values
    from scipy.sparse import csr_array

    parts = (rows.values, rows.columns.astype(np.int64), rows.starts.astype(np.int64))
    return csr_array(parts, shape=rows.shape)


def without_gaps(rows: Rows) -> Rows:
    """The same rows, as dense ones if every entry is stored: then columns need not be read."""
    if isinstance(rows, Dense) or int(rows.starts[0]) > 0:
        return rows
    n, d = rows.shape
    if int(rows.starts[-1]) < n * d:  # columns are sorted, none is there twice
        return rows
    return Dense(rows.values[: n * d].reshape(n, d))


def cuts(starts: NDArray[Any], most: int) -> Iterator[tuple[int, int]]:
    """Ranges of lines that have at most so many entries together, or are one line."""
    first, last = 0, len(starts) - 1
    while first < last:
        limit = np.array(int(starts[first]) + most, starts.dtype)
        stop = int(np.searchsorted(starts, limit, side="right")) - 1
        stop = max(min(stop, last), first + 1)
        yield first, stop
        first = stop


def pieces(rows: Rows, most: int) -> Iterator[tuple[slice, Rows]]:
    """Consecutive rows, as views, of at most so many entries, or one row."""
    if isinstance(rows, Csr):
        edges = cuts(rows.starts, most)
    else:
        n, d = rows.shape
        high = max(1, most // max(1, d))
        edges = ((first, min(first + high, n)) for first in range(0, n, high))
    for first, stop in edges:
        yield slice(first, stop), between(rows, first, stop)


def stacked(parts: Sequence[Rows]) -> Rows:
    """The rows of all parts, which begin at 0 as those of `take` do, copied."""
    if all(isinstance(part, Dense) for part in parts):
        return Dense(frozen(np.concatenate([part.values for part in parts])))
    sparse = [part if isinstance(part, Csr) else _as_csr(part) for part in parts]
    counts = np.concatenate([np.diff(part.starts) for part in sparse])
    starts = np.concatenate([np.zeros(1, np.uint64), np.cumsum(counts)])
    values = np.concatenate([part.values for part in sparse])
    columns = np.concatenate([part.columns for part in sparse])
    return Csr(frozen(values), frozen(columns), frozen(starts), sparse[0].width)


def largest_entry(rows: Rows) -> float:
    """The largest absolute value of an entry; 0 if there is none."""
    return float(np.abs(own_arrays(rows)[0]).max(initial=0.0))


def checksum(rows: Rows, begin: int = 0) -> int:
    """A CRC-32 of all that is stored, however wide column numbers are; it goes on from another."""
    values, *columns = own_arrays(rows)
    for array in (values, *(numbers.astype(np.int64) for numbers in columns)):
        begin = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, begin)
    return begin


def own_arrays(rows: Rows) -> tuple[NDArray[Any], ...]:
    """Values, and of sparse rows columns, without those of other rows in the same arrays."""
    if isinstance(rows, Dense):
        return (rows.values,)
    own = slice(int(rows.starts[0]), int(rows.starts[-1]))
    return rows.values[own], rows.columns[own]


def _as_csr(rows: Dense) -> Csr:
    n, d = rows.shape
    columns = np.tile(np.arange(d, dtype=np.uint32), n)
    return Csr(rows.values.ravel(), columns, np.arange(n + 1, dtype=np.uint64) * np.uint64(d), d)
