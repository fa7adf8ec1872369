"""The kernel matrix of some rows: parts, sums, or whole rows that are kept; and its parameters."""

from __future__ import annotations

import functools
import math
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn import _jit
from skimlearn.data.kernel_blocks import (
    Left,
    Parts,
    Use,
    below,
    blocks_of,
    columns_of,
    for_pieces,
    squared_norms,
    weighted_sums,
    written,
)
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.data.parted_rows import Parted, rare_columns, some_of, split
from skimlearn.data.rows import Csr, Dense, Rows, lengths, responses, take
from skimlearn.formulas.kernels import Kernel, resolve

__all__ = ["KernelRows", "kernel_of_rows", "own_values", "variance"]

Array = NDArray[Any]
Vector = NDArray[np.float64]
Chosen = NDArray[np.int64]

CACHE_BYTES = 2**30
FILLED, WRITTEN = 16, 2**28  # one entry in so many, and no more bytes: sparse rows become dense


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
            tables = [table for _, table in written(rows, Dense(rows.values[:0, None]))]
            self.rows = Dense(np.concatenate(tables))
        self.squares = squared_norms(self.rows)
        self.parts: Left = self.rows
        if isinstance(self.rows, Dense):
            rare = rare_columns(self.rows)
            self.parts = self.rows if rare is None else split(self.rows, rare)
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

    @functools.cached_property
    def columns(self) -> Parts:
        """All rows, as columns of pieces: to sort them takes longer than a row of the matrix."""
        return columns_of(self.parts)

    def _take(self, chosen: Chosen) -> Left:
        parts = self.parts
        return some_of(parts, chosen) if isinstance(parts, Parted) else take(parts, chosen)

    def _right(self, others: Chosen | None) -> tuple[Left, Vector, Parts]:
        """Some rows or all, their squared lengths, and the columns of pieces."""
        if others is None:
            return self.parts, self.squares, self.columns
        right = self._take(others)
        return right, self.squares[others], columns_of(right)

    def cost(self, count: int, others: Chosen | None = None) -> int:
        """Stored entries that are read for so many rows with some others, or all."""
        return count * (self.entries if others is None else int(self.lengths[others].sum()))

    def _count(self, count: int, others: Chosen | None) -> None:
        """Count so many rows with some others, or all."""
        wide = self.n if others is None else len(others)
        self._book(self.cost(count, others), count * wide)

    def _book(self, entries: int, values: int) -> None:
        """Count values of the kernel that are about to be computed, unless they are too many."""
        self.book(Reads(values * self.d, entries))
        self.values += values

    def book(self, reads: Reads) -> None:
        """Count what is about to be read, unless it is too much."""
        if self.reads.nnz + reads.nnz > self.limit:
            raise ReadLimit(f"more values of the kernel are beyond max_reads={self.limit:.0f}")
        self.reads += reads

    def among(self, chosen: Chosen, others: Chosen | None = None) -> Array:
        """k of some rows with some others, or all, as (chosen, other)."""
        right, squares, parts = self._right(others)
        out = np.empty((len(chosen), right.shape[0]), self.dtype)
        pair = self.squares[chosen], squares

        def use(some: slice, part: slice, piece: Array) -> None:
            out[some, part] = piece

        self._count(len(chosen), others)
        for_pieces(self.kernel, self._take(chosen), right, pair, use, self.threads, parts)
        return out

    def hand_on(self, chosen: Chosen, others: Chosen, use: Use) -> None:
        """k of some rows with all others up to themselves, a piece at a time.

        The chosen rows are the last of the others. ``use(rows, columns, piece)`` may be called by
        several threads, for different columns; pieces hold some values beyond the diagonal, too.
        """
        left, right = self._take(chosen), self._take(others)
        ahead, parts, wide = len(others) - len(chosen), columns_of(right), self.lengths[others]
        reads, values = 0, 0
        for some in blocks_of(left):
            for part, _ in below(parts, some, ahead):
                reads += (some.stop - some.start) * int(wide[part].sum())
                values += (some.stop - some.start) * (part.stop - part.start)
        self._book(reads, values)
        pair = self.squares[chosen], self.squares[others]
        for_pieces(self.kernel, left, right, pair, use, self.threads, parts, ahead)

    def weighted(self, weights: Array, chosen: Chosen, others: Chosen | None = None) -> Vector:
        """sum over chosen i of weights_ki k(i, j), as (k, j) for all rows j, or some others."""
        right, squares, parts = self._right(others)
        self._count(len(chosen), others)
        pair = self.squares[chosen], squares
        left = self._take(chosen)
        return weighted_sums(self.kernel, weights, left, right, pair, self.threads, parts)

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
