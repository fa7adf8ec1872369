"""The two kinds of rows, dense and sparse, and the loops in which they differ inside of kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import dispatch, prefetch_line

__all__ = [
    "Csr",
    "Dense",
    "Rows",
    "add",
    "dot",
    "entry",
    "frozen",
    "lengths",
    "part_of_visits",
    "prefetch",
    "prefetch_start",
    "products",
    "share_out",
    "size",
    "value",
    "vectors",
]


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


def _dense_products(rows, i, w, out):
    """out_k = <row i, w_k> for several vectors, which `vectors` has made for these rows."""
    for k in range(np.uint64(len(out))):
        total = 0.0
        for j in range(np.uint64(rows.values.shape[1])):
            total += w[k, j] * rows.values[i, j]
        out[k] = total


def _csr_products(rows, i, w, out):
    count = np.uint64(len(out))
    for k in range(count):
        out[k] = 0.0
    for at in range(rows.starts[i], rows.starts[i + 1]):
        j, x = rows.columns[at], rows.values[at]
        for k in range(count):  # side by side in memory
            out[k] += x * w[k, j]


def _dense_share_out(rows, i, c, w):
    """w_k += c_k * row i for several vectors."""
    for k in range(np.uint64(len(c))):
        if c[k] != 0.0:
            for j in range(np.uint64(rows.values.shape[1])):
                w[k, j] += c[k] * rows.values[i, j]


def _csr_share_out(rows, i, c, w):
    count = np.uint64(len(c))
    for at in range(rows.starts[i], rows.starts[i + 1]):
        j, x = rows.columns[at], rows.values[at]
        for k in range(count):
            w[k, j] += x * c[k]


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
    """Ask the memory for the beginning of row i, a few visits ahead of its use.

    Of a long row so much that the processor sees by itself how it goes on: 24 lines, or 6 of
    columns, were the quickest.
    """
    if rows.values.strides[1] != rows.values.itemsize:
        return  # its entries are not side by side
    line = np.uint64(64 // rows.values.itemsize)  # numbers in a cache line
    width = np.uint64(rows.values.shape[1])
    start = np.uint64(i) * width
    for k in range(start, start + min(width, np.uint64(24) * line), line):
        prefetch_line(rows.values, k)


def _csr_prefetch(rows, i):
    start, stop = rows.starts[i], rows.starts[i + 1]
    line = np.uint64(16)  # column indices of 4 bytes in a cache line
    for k in range(start, min(stop, start + np.uint64(6) * line), line):
        prefetch_line(rows.columns, k)
        prefetch_line(rows.values, k)
        prefetch_line(rows.values, k + np.uint64(8))


def _dense_prefetch_start(rows, i):
    """Ask for what tells where row i is, before the row itself is asked for."""


def _csr_prefetch_start(rows, i):
    prefetch_line(rows.starts, i)


prefetch_start = dispatch(
    "prefetch_start", {Dense: _dense_prefetch_start, Csr: _csr_prefetch_start}
)
prefetch = dispatch("prefetch", {Dense: _dense_prefetch, Csr: _csr_prefetch})
dot = dispatch("dot", {Dense: _dense_dot, Csr: _csr_dot})
add = dispatch("add", {Dense: _dense_add, Csr: _csr_add})
products = dispatch("products", {Dense: _dense_products, Csr: _csr_products})
share_out = dispatch("share_out", {Dense: _dense_share_out, Csr: _csr_share_out})
size = dispatch("size", {Dense: _dense_size, Csr: _csr_size})
entry = dispatch("entry", {Dense: _dense_entry, Csr: _csr_entry})
value = dispatch("value", {Dense: _dense_value, Csr: _csr_value})


# -------------------------------------------------------------------------------- outside kernels


def vectors(rows: Rows, count: int) -> NDArray[np.float64]:
    """So many vectors of zeros as (vector, column), in the order in which `products` reads them.

    Sparse rows find what belongs to a column side by side; dense ones run through vector by vector,
    while the row is at hand.
    """
    return np.zeros((count, rows.shape[1]), order="F" if isinstance(rows, Csr) else "C")


def part_of_visits(rows: Rows, count: int) -> float:
    """What a visit for several vectors takes, as a part of as many visits for one."""
    return min(1.0, 0.2 + (3.0 if isinstance(rows, Csr) else 1.0) / count)


def lengths(rows: Rows) -> NDArray[np.int64]:
    """The number of stored entries of every row: what reading it costs."""
    if isinstance(rows, Csr):
        return np.diff(rows.starts).astype(np.int64)
    return np.broadcast_to(np.int64(rows.shape[1]), rows.shape[:1])  # takes no memory
