"""Values of a kernel between rows: in blocks, as sums, or as whole rows that are kept.

A block is one product of matrices (dense rows) or one pass for each of its rows (sparse ones), to
which the formula of the kernel is applied piece by piece, while a piece is in the cache of the
processor. Values have the precision of the data, sums over many of them are in float64.
"""

from __future__ import annotations

import functools
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from skimlearn import _jit
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.data.rows import (
    Csr,
    Dense,
    Rows,
    lengths,
    norms,
    over_columns,
    pieces,
    responses,
    take,
)
from skimlearn.formulas.kernels import Kernel, resolve

__all__ = ["KernelRows", "kernel_of_rows", "own_values", "squared_norms", "variance", "weighted"]

Array = NDArray[Any]
Vector = NDArray[np.float64]
Chosen = NDArray[np.int64]
Pair = tuple[Vector, Vector]
Use = Callable[[slice, slice, Array], None]

HIGH, WIDE = 1024, 512  # rows and columns of a piece
SPARSE = 2**20  # entries of sparse rows that are columns of a piece
LINES = 2**22  # entries of sparse rows that are written out at once
CACHE_BYTES = 2**30
SPARED = 0.95  # of the columns: with more that are not zero, the rows stay as they are
FILLED, WRITTEN = 16, 2**28  # one entry in so many, and no more bytes: sparse rows become dense


def squared_norms(rows: Rows) -> Vector:
    """||x_i||^2 of all rows."""
    return norms(rows) ** 2


def own_values(kernel: Kernel, squares: Vector) -> Vector:
    """k(x, x) of rows, from their squared lengths."""
    out = np.empty(len(squares))
    with np.errstate(over="ignore"):
        _own_values(kernel, squares, out)
    return out


@_jit.kernel
def _own_values(kernel, squares, out):
    for i in range(len(out)):
        out[i] = kernel.similarity(squares[i], squares[i], squares[i])


def variance(rows: Rows, weights: Vector) -> float:
    """The variance of all entries, each row with its weight; weights have the mean 1."""
    n, d = rows.shape
    sums = np.empty(n)
    responses(rows, np.ones(d), sums)
    mean = float(weights @ sums) / (n * d)
    value = float(weights @ squared_norms(rows)) / (n * d) - mean * mean
    return value if value > 1e-14 * mean * mean else 0.0  # the rest is rounding


def kernel_of_rows(
    rows: Rows,
    kernel: str | Kernel,
    *,
    gamma: float | str,
    degree: int,
    coef0: float,
    weights: Vector | None = None,
) -> Kernel:
    """A kernel by its name and parameters, with numbers for words; gamma="scale" reads the rows."""
    spread = 1.0
    if isinstance(gamma, str) and gamma == "scale" and isinstance(kernel, str):
        spread = variance(rows, np.ones(rows.shape[0]) if weights is None else weights)
    return resolve(
        kernel, gamma=gamma, degree=degree, coef0=coef0, columns=rows.shape[1], variance=spread
    )


def weighted(
    kernel: Kernel, weights: Array, left: Rows, right: Rows, *, threads: int = 1
) -> Vector:
    """sum over i of weights_ki k(left row i, right row j) as (k, j); no table is kept."""
    pair = squared_norms(left), squared_norms(right)
    if isinstance(left, Csr) and isinstance(right, Csr):
        used = np.unique(left.columns[int(left.starts[0]) : int(left.starts[-1])])
        if 2 * len(used) < left.width:  # in no other column does a product find both
            left, right = over_columns(left, used), over_columns(right, used)
    return _weighted(kernel, weights, left, right, pair, threads)


def _weighted(
    kernel: Kernel, weights: Array, left: Rows, right: Rows, pair: Pair, threads: int
) -> Vector:
    out = np.zeros((len(weights), right.shape[0]))
    largest = float(np.abs(weights).max(initial=0.0))  # float32 has no room for tiny numbers
    if largest == 0.0:
        return out
    scaled = (weights / largest).astype(right.values.dtype)

    def use(some: slice, part: slice, piece: Array) -> None:
        out[:, part] += scaled[:, some] @ piece

    _for_pieces(kernel, left, right, pair, use, threads)
    out *= largest
    return out


def _for_pieces(
    kernel: Kernel,
    left: Rows,
    right: Rows,
    pair: Pair,
    use: Use,
    threads: int,
    ahead: int | None = None,
) -> None:
    """Hand the values of the kernel on, a piece at a time, with its rows and columns.

    With ``ahead`` row i is also column ahead + i, and pieces beyond that are left out. Pieces of
    different columns are handed on side by side. Each thread works alone: threads of BLAS, which
    wait for each other at every product, are slow as soon as others use the machine.
    """
    dtype, parts = right.values.dtype, list(_columns(right))

    def compute(some: slice, values: Array, part: slice, columns: Rows) -> None:
        if isinstance(columns, Dense):
            piece = values @ columns.values.T
        else:
            piece = np.empty((len(values), columns.shape[0]), dtype)
            answer = np.empty(columns.shape[0])
            for i, line in enumerate(values):
                responses(columns, line, answer)
                piece[i] = answer
        kernel.fill(piece, pair[0][some], pair[1][part])
        use(some, part, piece)

    with _blas().limit(limits=1, user_api="blas"):
        if threads == 1 or len(parts) == 1:
            for some, values in _written(left, right):
                for part, columns in _below(parts, some, ahead):
                    compute(some, values, part, columns)
            return
        with ThreadPoolExecutor(threads) as pool:
            for some, values in _written(left, right):
                needed = _below(parts, some, ahead)
                list(pool.map(lambda p, s=some, v=values: compute(s, v, *p), needed))


def _below(
    parts: list[tuple[slice, Rows]], some: slice, ahead: int | None
) -> list[tuple[slice, Rows]]:
    """The parts that hold columns up to the last of some rows."""
    if ahead is None:
        return parts
    return [(part, columns) for part, columns in parts if part.start < ahead + some.stop]


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _columns(right: Rows) -> Iterator[tuple[slice, Rows]]:
    if isinstance(right, Csr):
        yield from pieces(right, SPARSE)
        return
    for first in range(0, right.shape[0], WIDE):
        part = slice(first, min(first + WIDE, right.shape[0]))
        yield part, Dense(right.values[part])


def _written(rows: Rows, right: Rows) -> Iterator[tuple[slice, Array]]:
    """Some rows at a time, as a dense table that is ready to be multiplied."""
    dtype = np.dtype(np.float64) if isinstance(right, Csr) else right.values.dtype
    for some in _blocks(rows):
        first = some.start
        if isinstance(rows, Dense):
            yield some, rows.values[some].astype(dtype, copy=False)
            continue
        starts = rows.starts[first : some.stop + 1].astype(np.int64)
        inside = slice(int(starts[0]), int(starts[-1]))
        table = np.zeros((some.stop - first, rows.width), dtype)
        lines = np.repeat(np.arange(some.stop - first), np.diff(starts))
        table[lines, rows.columns[inside]] = rows.values[inside]
        yield some, table


def _blocks(rows: Rows) -> Iterator[slice]:
    """As many rows at a time as are written out together."""
    high = max(1, min(HIGH, LINES // max(1, rows.shape[1])))
    for first in range(0, rows.shape[0], high):
        yield slice(first, min(first + high, rows.shape[0]))


def _without_zeros(rows: Dense) -> Dense:
    """The rows without columns of zeros, which products need not pass, if there are many."""
    used = np.zeros(rows.shape[1], dtype=bool)
    for first in range(0, rows.shape[0], HIGH):
        used |= rows.values[first : first + HIGH].any(axis=0)
        if used.sum() > SPARED * len(used):
            return rows
    used[0] = True  # one column remains
    return Dense(np.ascontiguousarray(rows.values[:, used]))


class KernelRows:
    """The kernel matrix of some rows: parts, sums, and whole rows, of which some are kept.

    Parameters
    ----------
    rows : Rows
        The data.
    kernel : Kernel
        The formula.
    cache_bytes : int
        Memory for rows of the matrix that may be asked for again; the one used longest ago makes
        room.
    threads : int
        Threads that compute values side by side.

    Attributes
    ----------
    reads : Reads
        Entries of the data that were read: a value of the kernel costs a row, one of its two.
    values : int
        Values of the kernel that were computed.
    limit : float
        Stored entries that may be read; what would be beyond raises `ReadLimit`.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Linear
    >>> table = KernelRows(as_rows([[1.0, 0.0], [1.0, 2.0]]), Linear())
    >>> table.row(1), table.diagonal
    (array([1., 5.]), array([1., 5.]))
    """

    def __init__(
        self, rows: Rows, kernel: Kernel, cache_bytes: int = CACHE_BYTES, threads: int = 1
    ) -> None:
        if not cache_bytes >= 0:
            raise ValueError(f"cache_bytes={cache_bytes!r} must not be negative; 0 keeps nothing")
        self.given = self.rows = rows  # sparse rows may be written out: products are faster then
        self.kernel, self.cache_bytes = kernel, int(cache_bytes)
        self.threads = threads
        self.dtype = rows.values.dtype
        self.n, self.d = rows.shape
        self.lengths = lengths(rows)
        self.entries = int(self.lengths.sum())
        small = self.n * self.d * self.dtype.itemsize <= WRITTEN
        if isinstance(rows, Csr) and self.n * self.d <= FILLED * self.entries and small:
            tables = [table for _, table in _written(rows, Dense(rows.values[:0, None]))]
            self.rows = Dense(np.concatenate(tables))
        if isinstance(self.rows, Dense):
            self.rows = _without_zeros(self.rows)
        self.squares = squared_norms(self.rows)
        self.reads = Reads(self.n * self.d, self.entries)
        self.values, self.limit = 0, math.inf
        self.diagonal = own_values(kernel, self.squares)
        if not np.isfinite(self.diagonal).all():
            i = int(np.argmin(np.isfinite(self.diagonal)))
            raise ValueError(
                f"kernel={kernel!r} is not finite for row {i} of X: scale the features, or lower "
                "gamma or degree"
            )
        self._most = min(self.cache_bytes // max(1, self.n * self.dtype.itemsize), self.n)
        self._kept = np.empty((self._most, self.n), self.dtype)  # takes memory when written to
        self._slots: OrderedDict[int, int] = OrderedDict()  # row and place, the oldest first

    def cost(self, count: int, others: Chosen | None = None) -> int:
        """Stored entries that are read for so many rows with some others, or all."""
        return count * (self.entries if others is None else int(self.lengths[others].sum()))

    def _count(self, count: int, others: Chosen | None) -> None:
        """Count so many rows with some others, or all."""
        wide = self.n if others is None else len(others)
        self._book(self.cost(count, others), count * wide)

    def _book(self, entries: int, values: int) -> None:
        """Count what is about to be read, unless it is too much."""
        if self.reads.nnz + entries > self.limit:
            raise ReadLimit(f"more values of the kernel are beyond max_reads={self.limit:.0f}")
        self.reads += Reads(values * self.d, entries)
        self.values += values

    def among(self, chosen: Chosen, others: Chosen | None = None) -> Array:
        """k of some rows with some others, or all, as (chosen, other)."""
        right = self.rows if others is None else take(self.rows, others)
        squares = self.squares if others is None else self.squares[others]
        out = np.empty((len(chosen), right.shape[0]), self.dtype)
        pair = self.squares[chosen], squares

        def use(some: slice, part: slice, piece: Array) -> None:
            out[some, part] = piece

        self._count(len(chosen), others)
        _for_pieces(self.kernel, take(self.rows, chosen), right, pair, use, self.threads)
        return out

    def hand_on(self, chosen: Chosen, others: Chosen, use: Use) -> None:
        """k of some rows with all others up to themselves, a piece at a time.

        The chosen rows are the last of the others. ``use(rows, columns, piece)`` may be called by
        several threads, for different columns; pieces hold some values beyond the diagonal, too.
        """
        left, right = take(self.rows, chosen), take(self.rows, others)
        ahead, parts, wide = len(others) - len(chosen), list(_columns(right)), self.lengths[others]
        reads, values = 0, 0
        for some in _blocks(left):
            for part, _ in _below(parts, some, ahead):
                reads += (some.stop - some.start) * int(wide[part].sum())
                values += (some.stop - some.start) * (part.stop - part.start)
        self._book(reads, values)
        pair = self.squares[chosen], self.squares[others]
        _for_pieces(self.kernel, left, right, pair, use, self.threads, ahead)

    def weighted(self, weights: Array, chosen: Chosen, others: Chosen | None = None) -> Vector:
        """sum over chosen i of weights_ki k(i, j), as (k, j) for all rows j, or some others."""
        right = self.rows if others is None else take(self.rows, others)
        squares = self.squares if others is None else self.squares[others]
        self._count(len(chosen), others)
        pair = self.squares[chosen], squares
        left = take(self.rows, chosen)
        return _weighted(self.kernel, weights, left, right, pair, self.threads)

    def knows(self, i: int) -> bool:
        """Whether row i of the matrix is at hand."""
        return i in self._slots

    def row(self, i: int) -> Array:
        """Row i of the matrix, computed unless it is kept; not to be changed."""
        if i in self._slots:
            self._slots.move_to_end(i)
            return self._kept[self._slots[i]]
        line = self.among(np.array([i]))[0]
        self._keep(i, line)
        return line

    def lines(self, chosen: Chosen) -> Array:
        """Some rows of the matrix, each once; those that are not kept are computed together."""
        out = np.empty((len(chosen), self.n), self.dtype)
        known = np.array([self.knows(i) for i in chosen.tolist()], dtype=bool)
        for at in np.flatnonzero(known).tolist():
            out[at] = self.row(int(chosen[at]))
        if not known.all():
            out[~known] = self.among(chosen[~known])
            for at in np.flatnonzero(~known).tolist():
                self._keep(int(chosen[at]), out[at])
        return out

    def _keep(self, i: int, line: Array) -> None:
        if self._most > 0:
            full = len(self._slots) == self._most
            slot = self._slots.popitem(last=False)[1] if full else len(self._slots)
            self._kept[slot] = line
            self._slots[i] = slot
