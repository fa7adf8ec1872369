"""Products of rows: weighted sums of outer ones, in whole blocks or entry by entry; inner ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.blas import linalg
from skimlearn.data.rows import Csr, Rows, entry, lengths, plain, size

__all__ = ["DENSE", "gram", "inner_products"]

Vector = NDArray[np.float64]

BLOCK = 2048  # rows that are multiplied together
DENSE = 0.1  # the time of a multiplication in whole blocks, in those of single entries


def gram(rows: Rows, c: Vector, out: Vector) -> None:
    """out += sum of c_i (x_i, 1)(x_i, 1)', the lower triangle of it."""
    n, d = rows.shape
    pairs = float((lengths(rows).astype(np.float64) ** 2).sum())
    if isinstance(rows, Csr) and pairs < DENSE * n * float(d) ** 2:
        _sparse_gram(rows, c, out)
        return
    root, room = np.sqrt(c), np.empty((min(BLOCK, n), d + 1))
    for begin in range(0, n, BLOCK):
        part = room[: min(BLOCK, n - begin)]
        _scaled(rows, root[begin:], begin, part)
        linalg().blas.dsyrk(1.0, part.T, beta=1.0, c=out, lower=1, overwrite_c=1)


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
def _scaled(rows, root, begin, out):
    """The rows from ``begin`` on, each with a 1 behind it, times their roots."""
    d = out.shape[1] - 1
    for i in range(len(out)):
        line, factor = out[i], root[i]
        line[:] = 0.0
        for k in range(size(rows, begin + i)):
            j, value = entry(rows, begin + i, k)
            line[j] = factor * value
        line[d] = factor


@kernel
def _sparse_gram(rows, c, out):
    d = np.uint64(len(out) - 1)
    for i in range(len(c)):
        if c[i] != 0.0:
            for k in range(size(rows, i)):
                j, x = entry(rows, i, k)
                cx = c[i] * x
                if cx != 0.0:
                    for other in range(k + np.uint64(1)):
                        column, value = entry(rows, i, other)
                        out[j, column] += cx * value
                    out[d, j] += cx
            out[d, d] += c[i]
