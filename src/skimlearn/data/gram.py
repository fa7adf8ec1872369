"""Products of rows: weighted sums of outer ones, in whole blocks or entry by entry; inner ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel, lean_kernel
from skimlearn.data.blas import linalg
from skimlearn.data.rows import Csr, Rows, add, entry, lengths, plain, size

__all__ = ["DENSE", "gram", "inner_products"]

Vector = NDArray[np.float64]

BLOCK = 2048  # rows that are multiplied together
LANES = 8  # columns: whole vectors of them are multiplied more quickly
DENSE = 0.1  # the time of a multiplication in whole blocks, in those of single entries
NOTHING = np.zeros(0)


def gram(rows: Rows, c: Vector, out: Vector, a: Vector = NOTHING, total: Vector = NOTHING) -> None:
    """out += sum of c_i (x_i, 1)(x_i, 1)', the lower triangle of it.

    With some ``a``, total += sum of a_i x_i too, while the rows are at hand.
    """
    n, d = rows.shape
    pairs = float((lengths(rows).astype(np.float64) ** 2).sum())
    if isinstance(rows, Csr) and pairs < DENSE * n * float(d) ** 2:
        _sparse_gram(rows, c, out.T, a, total)
        return
    width = -(-(d + 1) // LANES) * LANES
    root, room = np.sqrt(c), np.empty((min(BLOCK, n), width))
    wide = np.zeros((width, width), order="F")
    for begin in range(0, n, BLOCK):
        part = room[: min(BLOCK, n - begin)]
        _scaled(rows, root[begin:], begin, d, part, a[begin:], total)
        linalg().blas.dsyrk(1.0, part.T, beta=1.0, c=wide, lower=1, overwrite_c=1)
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
    """The rows from ``begin`` on, each with a 1 behind it, times their roots; and sum a_i x_i."""
    for i in range(len(out)):
        line, factor = out[i], root[i]
        line[:] = 0.0
        for k in range(size(rows, begin + i)):
            j, value = entry(rows, begin + i, k)
            line[j] = factor * value
        line[d] = factor
        if len(a) > 0:
            add(rows, begin + i, a[i], total)


@lean_kernel
def _sparse_gram(rows, c, upper, a, total):
    """Two entries of a row at once, with all behind them, which are then read half as often."""
    values, columns, starts = rows.values, rows.columns, rows.starts
    one, two, d = np.uint64(1), np.uint64(2), np.uint64(len(upper) - 1)
    for i in range(len(c)):
        weight, k, stop = c[i], starts[i], starts[i + 1]
        if len(a) > 0:
            add(rows, i, a[i], total)
        if weight == 0.0:
            continue
        while k + one < stop:
            p, x = np.uint64(columns[k]), np.float64(values[k])
            q, y = np.uint64(columns[k + one]), np.float64(values[k + one])
            cx, cy = weight * x, weight * y
            upper[p, p] += cx * x
            upper[p, q] += cx * y
            upper[q, q] += cy * y
            upper[p, d] += cx
            upper[q, d] += cy
            for other in range(k + two, stop):
                j, value = np.uint64(columns[other]), np.float64(values[other])
                upper[p, j] += cx * value
                upper[q, j] += cy * value
            k += two
        if k < stop:
            p, x = np.uint64(columns[k]), np.float64(values[k])
            upper[p, p] += weight * x * x
            upper[p, d] += weight * x
        upper[d, d] += weight
