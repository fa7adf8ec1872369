"""Products of rows: weighted sums of outer ones, in blocks, tiles or single entries; inner ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel, lean_kernel
from skimlearn.data._tiles import narrow_gram
from skimlearn.data.blas import linalg
from skimlearn.data.rows import Csr, Rows, add, entry, lengths, plain, size

__all__ = ["DENSE", "gram", "inner_products"]

Vector = NDArray[np.float64]

BLOCK = 2048  # rows that are multiplied together
LANES = 8  # columns: whole vectors of them are multiplied more quickly
DENSE = 0.1  # the time of a multiplication in whole blocks, in those of single entries
FILLED = 60.0  # columns more that a block seems to have, since it has to be filled; and the same
FILLED_IN_TILES = 30.0  # for tiles
NARROW = 96  # columns: of fewer tiles are made
NOTHING = np.zeros(0)


def gram(
    rows: Rows,
    c: Vector,
    out: Vector,
    a: Vector = NOTHING,
    total: Vector = NOTHING,
    *,
    ones: bool = True,
) -> None:
    """out += sum of c_i (x_i, 1)(x_i, 1)', the lower triangle of it; it lies column by column.

    Without ``ones`` the line of the 1 may be anything. With some ``a``, total += sum of a_i x_i
    too, while the rows are at hand.
    """
    assert out.flags.f_contiguous, "what is added to another order would be lost"
    n, d = rows.shape
    pairs = float((lengths(rows).astype(np.float64) ** 2).sum())
    filled = FILLED_IN_TILES if d < NARROW else FILLED
    if isinstance(rows, Csr) and pairs < DENSE * n * d * (d + filled):
        _sparse_gram(rows, c, d + 1, out.T.reshape(-1), a, total, ones)
        return
    if d < NARROW:
        narrow_gram(rows, c, out, a, total)
        return
    width = -(-(d + 1) // LANES) * LANES
    root, room = np.sqrt(c), np.empty((min(BLOCK, n), width))
    wide = np.zeros((width, width), order="F")
    begin = 0
    while begin < n:
        begin, filled = _scaled(rows, root, begin, d, room, a, total)
        if filled > 0:
            linalg().blas.dsyrk(1.0, room[:filled].T, beta=1.0, c=wide, lower=1, overwrite_c=1)
    out += wide[: d + 1, : d + 1]


def inner_products(some: Rows, others: Rows, origin: Vector) -> Vector:
    """<a - o, b - o> for some rows a with others b, which are of the same kind."""
    a, b = (plain(rows).astype(np.float64) for rows in (some, others))
    if isinstance(a, np.ndarray):
        return (a - origin) @ (b - origin).T
    inner: Vector = (a @ b.T).toarray()
    if origin.any():
        inner -= (a @ origin)[:, None] + (b @ origin)[None, :] - float(origin @ origin)
    return inner


@kernel
def _scaled(rows, root, begin, d, out, a, total):
    """Rows from ``begin`` on, each with a 1 behind it, times their roots; and sum a_i x_i.

    Rows with the root 0 are left out. Returns the row that comes next, and how many there are.
    """
    i, filled = begin, 0
    while i < len(root) and filled < len(out):
        if len(a) > 0:
            add(rows, i, a[i], total)
        factor = root[i]
        if factor != 0.0:
            line = out[filled]
            line[:] = 0.0
            for k in range(size(rows, i)):
                j, value = entry(rows, i, k)
                line[j] = factor * value
            line[d] = factor
            filled += 1
        i += 1
    return i, filled


@lean_kernel
def _sparse_gram(rows, c, width, upper, a, total, ones):
    """Four entries of a row at once, with all behind them, which are then read a quarter as often.

    ``upper`` is the upper triangle of the matrix, its lines one behind the other.
    """
    values, columns, starts = rows.values, rows.columns, rows.starts
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    width = np.uint64(width)
    last = width - one
    for i in range(len(c)):
        weight, k, stop = c[i], starts[i], starts[i + 1]
        if len(a) > 0:
            add(rows, i, a[i], total)
        if weight == 0.0:
            continue
        while k + three < stop:
            j0, j1 = np.uint64(columns[k]), np.uint64(columns[k + one])
            j2, j3 = np.uint64(columns[k + two]), np.uint64(columns[k + three])
            x0, x1 = np.float64(values[k]), np.float64(values[k + one])
            x2, x3 = np.float64(values[k + two]), np.float64(values[k + three])
            c0, c1, c2, c3 = weight * x0, weight * x1, weight * x2, weight * x3
            line0, line1, line2, line3 = j0 * width, j1 * width, j2 * width, j3 * width
            upper[line0 + j0] += c0 * x0
            upper[line0 + j1] += c0 * x1
            upper[line0 + j2] += c0 * x2
            upper[line0 + j3] += c0 * x3
            upper[line1 + j1] += c1 * x1
            upper[line1 + j2] += c1 * x2
            upper[line1 + j3] += c1 * x3
            upper[line2 + j2] += c2 * x2
            upper[line2 + j3] += c2 * x3
            upper[line3 + j3] += c3 * x3
            if ones:
                upper[line0 + last] += c0
                upper[line1 + last] += c1
                upper[line2 + last] += c2
                upper[line3 + last] += c3
            for other in range(k + four, stop):
                j, x = np.uint64(columns[other]), np.float64(values[other])
                upper[line0 + j] += c0 * x
                upper[line1 + j] += c1 * x
                upper[line2 + j] += c2 * x
                upper[line3 + j] += c3 * x
            k += four
        for first in range(k, stop):
            line, cx = np.uint64(columns[first]) * width, weight * np.float64(values[first])
            for other in range(first, stop):
                upper[line + np.uint64(columns[other])] += cx * np.float64(values[other])
            upper[line + last] += cx
        upper[width * width - one] += weight
