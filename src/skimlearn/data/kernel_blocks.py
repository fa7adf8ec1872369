"""Values of a kernel between rows, in blocks, handed on or summed.

A block is one product of matrices (dense rows) or one pass for each of its rows (sparse ones), to
which the formula of the kernel is applied piece by piece, while a piece is in the cache of the
processor. Values have the precision of the data, sums over many of them are in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.blas import one_thread
from skimlearn.data.parted_rows import (
    Parted,
    Turned,
    product,
    rare_columns,
    some_of,
    split,
    turned,
)
from skimlearn.data.rows import Csr, Dense, Rows, norms, over_columns, pieces, responses
from skimlearn.formulas.kernels import Kernel

__all__ = ["for_pieces", "squared_norms", "weighted", "weighted_sums"]

Array = NDArray[Any]
Vector = NDArray[np.float64]
Pair = tuple[Vector, Vector]
Use = Callable[[slice, slice, Array], None]
Left = Rows | Parted
Columns = Rows | Turned
Parts = list[tuple[slice, Columns]]  # all columns, as many at a time as a piece has

HIGH, WIDE = 1024, 512  # rows and columns of a piece
SPARSE = 2**20  # entries of sparse rows that are columns of a piece
COPIED = 16 * WIDE  # rows that are stored in parts at once
LINES = 2**22  # entries of sparse rows that are written out at once


def squared_norms(rows: Rows) -> Vector:
    """||x_i||^2 of all rows."""
    return norms(rows) ** 2


def weighted(
    kernel: Kernel, weights: Array, left: Rows, right: Rows, *, threads: int = 1
) -> Vector:
    """sum over i of weights_ki k(left row i, right row j) as (k, j); no table is kept."""
    pair = squared_norms(left), squared_norms(right)
    if isinstance(left, Csr) and isinstance(right, Csr):
        used = np.unique(left.columns[int(left.starts[0]) : int(left.starts[-1])])
        if 2 * len(used) < left.width:  # in no other column does a product find both
            left, right = over_columns(left, used), over_columns(right, used)
    rare = None
    if isinstance(left, Dense) and isinstance(right, Dense):
        few = min(left.shape[0], right.shape[0]) < WIDE  # to split them costs more than it saves
        rare = None if few else rare_columns(left, right)
    if rare is None:
        return weighted_sums(kernel, weights, left, right, pair, threads)
    out = np.empty((len(weights), right.shape[0]))
    apart = split(Dense(left.values.astype(right.values.dtype, copy=False)), rare)
    for first in range(0, right.shape[0], COPIED):
        part = slice(first, first + COPIED)
        some = split(Dense(right.values[part]), rare)
        squares = pair[0], pair[1][part]
        out[:, part] = weighted_sums(kernel, weights, apart, some, squares, threads)
    return out


def weighted_sums(
    kernel: Kernel,
    weights: Array,
    left: Left,
    right: Left,
    pair: Pair,
    threads: int,
    parts: Parts | None = None,
) -> Vector:
    """The same for rows whose squared lengths are known, and perhaps the columns of pieces."""
    out = np.zeros((len(weights), right.shape[0]))
    largest = float(np.abs(weights).max(initial=0.0))  # float32 has no room for tiny numbers
    if largest == 0.0:
        return out
    scaled = (weights / largest).astype(right.values.dtype)

    def use(some: slice, part: slice, piece: Array) -> None:
        out[:, part] += scaled[:, some] @ piece

    for_pieces(kernel, left, right, pair, use, threads, parts)
    out *= largest
    return out


def for_pieces(
    kernel: Kernel,
    left: Left,
    right: Left,
    pair: Pair,
    use: Use,
    threads: int,
    parts: Parts | None = None,
    ahead: int | None = None,
) -> None:
    """Hand the values of the kernel on, a piece at a time, with its rows and columns.

    ``parts`` has the columns of right, if they are at hand. With ``ahead`` row i is also column
    ahead + i, and pieces beyond that are left out. Pieces of different columns are handed on side
    by side. Each thread works alone: threads of BLAS, which
    wait for each other at every product, are slow as soon as others use the machine. (They are held
    if the main thread is at work; see `skimlearn.data.blas`.)
    """
    dtype, wide = right.values.dtype, columns_of(right) if parts is None else parts

    def compute(some: slice, values: Any, part: slice, columns: Columns) -> None:
        if isinstance(columns, Dense):
            piece = values @ columns.values.T
        elif isinstance(columns, Turned):
            piece = product(values, columns)
        else:
            piece = np.empty((len(values), columns.shape[0]), dtype)
            answer = np.empty(columns.shape[0])
            for i, line in enumerate(values):
                responses(columns, line, answer)
                piece[i] = answer
        kernel.fill(piece, pair[0][some], pair[1][part])
        use(some, part, piece)

    with one_thread():
        if threads == 1 or len(wide) == 1:
            for some, values in written(left, right):
                for part, columns in below(wide, some, ahead):
                    compute(some, values, part, columns)
            return
        with ThreadPoolExecutor(threads) as pool:
            for some, values in written(left, right):
                needed = below(wide, some, ahead)
                list(pool.map(lambda p, s=some, v=values: compute(s, v, *p), needed))


def below(parts: Parts, some: slice, ahead: int | None) -> Parts:
    """The parts that hold columns up to the last of some rows."""
    if ahead is None:
        return parts
    return [(part, columns) for part, columns in parts if part.start < ahead + some.stop]


def columns_of(right: Left) -> Parts:
    """As many rows at a time as are columns of a piece; rare columns are sorted for it."""
    if isinstance(right, Csr):
        return list(pieces(right, SPARSE))
    n = right.shape[0]
    parts = [slice(first, min(first + WIDE, n)) for first in range(0, n, WIDE)]
    if isinstance(right, Parted):
        return [(part, turned(some_of(right, part))) for part in parts]
    return [(part, Dense(right.values[part])) for part in parts]


def written(rows: Left, right: Left) -> Iterator[tuple[slice, Any]]:
    """Some rows at a time, as a dense table, or in parts, ready to be multiplied."""
    dtype = np.dtype(np.float64) if isinstance(right, Csr) else right.values.dtype
    for some in blocks_of(rows):
        first = some.start
        if isinstance(rows, Parted):
            yield some, some_of(rows, some)
            continue
        if isinstance(rows, Dense):
            yield some, rows.values[some].astype(dtype, copy=False)
            continue
        starts = rows.starts[first : some.stop + 1].astype(np.int64)
        inside = slice(int(starts[0]), int(starts[-1]))
        table = np.zeros((some.stop - first, rows.width), dtype)
        lines = np.repeat(np.arange(some.stop - first), np.diff(starts))
        table[lines, rows.columns[inside]] = rows.values[inside]
        yield some, table


def blocks_of(rows: Left) -> Iterator[slice]:
    """As many rows at a time as are written out together."""
    high = max(1, min(HIGH, LINES // max(1, rows.shape[1])))
    for first in range(0, rows.shape[0], high):
        yield slice(first, min(first + high, rows.shape[0]))
