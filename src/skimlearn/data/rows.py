"""Rows of a matrix, dense or sparse, behind one interface.

A solver's kernel never asks which kind of rows it has: the class picks the inner loop when the
kernel is compiled. Arrays are viewed, not copied: float32 stays float32 (sums are in float64),
read-only and memory-mapped arrays are fine, and so is any order of a dense array.

Inside kernels:

=========================  ===========================================================
``prefetch(rows, i)``      ask the memory for row i, `AHEAD` visits before its use
``dot(rows, i, w)``        <row i, w>
``add(rows, i, c, w)``     w += c * row i
``size(rows, i)``          how many entries are stored; ``entry(rows, i, k)`` is the k-th of them
``value(rows, i, j)``      the entry in column j
=========================  ===========================================================

Outside: `responses`, `combine`, `lengths`, `norms`; and `as_rows` in the module `inspection`, which
checks and views a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import dispatch, kernel, prefetch_line

AHEAD = 4  # visits between asking for a row and using it
SCORED = 1_000_000  # entries that are read at once for several vectors

__all__ = ["Csr", "Dense", "Rows"]


class Dense(NamedTuple):
    """A dense matrix."""

    values: NDArray[Any]  # (n, d), float32 or float64

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.values.shape[0], self.values.shape[1]


class Csr(NamedTuple):
    """A sparse matrix stored by rows."""

    values: NDArray[Any]  # (nnz,), float32 or float64
    columns: NDArray[Any]  # (nnz,), unsigned: numba then skips its check for negative indices
    starts: NDArray[np.uint64]  # (n + 1,), need not begin at 0
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.starts) - 1, self.width


Rows = Dense | Csr


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A plain read-only view, so that every origin of an array gives kernels one type."""
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


# --------------------------------------------------------------------------------- inside kernels


def _dense_dot(rows, i, w):
    """<row i, w>, accumulated in float64."""
    total = 0.0
    for j in range(np.uint64(rows.values.shape[1])):
        total += w[j] * rows.values[i, j]
    return total


def _csr_dot(rows, i, w):
    total = 0.0
    for k in range(rows.starts[i], rows.starts[i + 1]):
        total += w[rows.columns[k]] * rows.values[k]
    return total


def _dense_add(rows, i, c, w):
    """w += c * row i."""
    for j in range(np.uint64(rows.values.shape[1])):
        w[j] += c * rows.values[i, j]


def _csr_add(rows, i, c, w):
    for k in range(rows.starts[i], rows.starts[i + 1]):
        w[rows.columns[k]] += c * rows.values[k]


def _dense_size(rows, i):
    """How many entries of row i are stored."""
    return np.uint64(rows.values.shape[1])


def _csr_size(rows, i):
    return rows.starts[i + 1] - rows.starts[i]


def _dense_entry(rows, i, k):
    """The column and the value of the k-th stored entry of row i."""
    return np.uint64(k), np.float64(rows.values[i, k])


def _csr_entry(rows, i, k):
    at = rows.starts[i] + k
    return np.uint64(rows.columns[at]), np.float64(rows.values[at])


def _dense_value(rows, i, j):
    """The entry of row i in column j; the indices of a sparse row are sorted."""
    return np.float64(rows.values[i, j])


def _csr_value(rows, i, j):
    low, high = rows.starts[i], rows.starts[i + 1]
    end = high
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if rows.columns[middle] < j:
            low = middle + np.uint64(1)
        else:
            high = middle
    return np.float64(rows.values[low]) if low < end and rows.columns[low] == j else 0.0


def _dense_prefetch(rows, i):
    """Ask the memory for the beginning of row i, a few visits ahead of its use."""
    line = np.uint64(8)  # numbers of 8 bytes in a cache line
    width = np.uint64(rows.values.shape[1])
    start = np.uint64(i) * width
    for k in range(start, start + min(width, np.uint64(8) * line), line):
        prefetch_line(rows.values, k)


def _csr_prefetch(rows, i):
    start, stop = rows.starts[i], rows.starts[i + 1]
    line = np.uint64(16)  # column indices of 4 bytes in a cache line
    for k in range(start, min(stop, start + np.uint64(4) * line), line):
        prefetch_line(rows.columns, k)
        prefetch_line(rows.values, k)
        prefetch_line(rows.values, k + np.uint64(8))


prefetch = dispatch("prefetch", {Dense: _dense_prefetch, Csr: _csr_prefetch})
dot = dispatch("dot", {Dense: _dense_dot, Csr: _csr_dot})
add = dispatch("add", {Dense: _dense_add, Csr: _csr_add})
size = dispatch("size", {Dense: _dense_size, Csr: _csr_size})
entry = dispatch("entry", {Dense: _dense_entry, Csr: _csr_entry})
value = dispatch("value", {Dense: _dense_value, Csr: _csr_value})


# -------------------------------------------------------------------------------- outside kernels


@kernel
def responses(rows, w, out):
    """out_i = <row i, w> for all rows."""
    for i in range(len(out)):
        out[i] = dot(rows, i, w)


def scored(rows: Rows, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """<row i, vector k> as (i, k); what is on disk is read once for all vectors."""
    scores = np.empty((len(vectors), rows.shape[0]))
    for some, part in pieces(rows, SCORED):
        for vector, out in zip(vectors, scores[:, some], strict=True):
            responses(part, vector, out)
    return scores.T


@kernel
def combine(rows, c, out):
    """out += sum over i of c_i * row i."""
    for i in range(len(c)):
        if c[i] != 0.0:
            add(rows, i, c[i], out)


@kernel
def combine_weighted(rows, a, m, scale, out):
    """out += scale * sum over i of m_i a_i * row i."""
    for i in range(len(a)):
        c = a[i] * m[i] * scale
        if c != 0.0:
            add(rows, i, c, out)


@kernel
def _norms(rows, exponent, out):
    for i in range(len(out)):
        squares, largest = 0.0, 0.0
        for k in range(size(rows, i)):
            squares += entry(rows, i, k)[1] ** 2
        if exponent == 2.0 and 1e-200 < squares < 1e200:
            out[i] = math.sqrt(squares)
            continue
        for k in range(size(rows, i)):
            largest = max(largest, abs(entry(rows, i, k)[1]))
        if exponent == np.inf or largest == 0.0:
            out[i] = largest
        else:
            total = 0.0
            for k in range(size(rows, i)):
                total += (abs(entry(rows, i, k)[1]) / largest) ** exponent
            out[i] = largest * total ** (1.0 / exponent)


def norms(rows: Rows, exponent: float = 2.0) -> NDArray[np.float64]:
    """The norm ||row i||_exponent of every row, without overflow."""
    out = np.empty(rows.shape[0])
    with np.errstate(over="ignore"):  # an overflow is seen and mended
        _norms(rows, float(exponent), out)
    return out


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


def over_columns(rows: Csr, used: NDArray[Any]) -> Csr:
    """The entries of sparse rows in some columns, given in ascending order, which become all."""
    inside = slice(int(rows.starts[0]), int(rows.starts[-1]))
    columns, values = rows.columns[inside], rows.values[inside]
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
        for first, stop in cuts(rows.starts, most):
            yield slice(first, stop), rows._replace(starts=rows.starts[first : stop + 1])
        return
    n, d = rows.shape
    high = max(1, most // max(1, d))
    for first in range(0, n, high):
        some = slice(first, min(first + high, n))
        yield some, Dense(rows.values[some])


def joined(first: Rows, second: Rows) -> Rows:
    """The rows of both, which are of one kind and begin at 0, copied."""
    if isinstance(first, Dense):
        return Dense(frozen(np.concatenate([first.values, second.values])))
    assert isinstance(second, Csr)
    starts = np.concatenate([first.starts, first.starts[-1] + second.starts[1:]])
    values = np.concatenate([first.values, second.values])
    columns = np.concatenate([first.columns, second.columns])
    return Csr(frozen(values), frozen(columns), frozen(starts), first.width)


def nonzeros(rows: Rows, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of entries of some rows that are not zero."""
    out = np.empty(len(chosen), dtype=np.int64)
    _count_nonzeros(rows, chosen, out)
    return out


@kernel
def _count_nonzeros(rows, chosen, out):
    for at in range(len(chosen)):
        i, count = chosen[at], 0
        for k in range(size(rows, i)):
            count += entry(rows, i, k)[1] != 0.0
        out[at] = count


def stored(rows: Rows, chosen: NDArray[Any]) -> int:
    """The number of stored entries of some rows, given by their numbers or by a mask."""
    if isinstance(rows, Csr):
        total = _stored_where if chosen.dtype == np.bool_ else _stored
        return int(total(rows.starts, np.ascontiguousarray(chosen)))
    count = np.count_nonzero(chosen) if chosen.dtype == np.bool_ else len(chosen)
    return int(count) * rows.shape[1]


@kernel
def _stored(starts, chosen):
    total = np.uint64(0)
    for at in range(len(chosen)):
        i = chosen[at]
        total += starts[i + 1] - starts[i]
    return total


@kernel
def _stored_where(starts, mask):
    total = np.uint64(0)
    for i in range(len(mask)):
        if mask[i]:
            total += starts[i + 1] - starts[i]
    return total


def lengths(rows: Rows) -> NDArray[np.int64]:
    """The number of stored entries of every row: what reading it costs."""
    if isinstance(rows, Csr):
        return np.diff(rows.starts).astype(np.int64)
    return np.broadcast_to(np.int64(rows.shape[1]), rows.shape[:1])  # takes no memory
