"""Sums of outer products of narrow rows, in tiles of four columns by four.

For some dozen columns a library for matrices loses half of its time to arranging blocks. Here the
rows of a block are laid column by column, and the products of four columns with four others are
summed along the rows: 16 sums that stay in the processor, for eight numbers that are read.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.rows import Rows, add, entry, size

__all__ = ["TILE", "narrow_gram"]

Vector = NDArray[np.float64]

TILE = 4  # columns
BLOCK = 248  # rows: no power of two, or the columns would be in each other's way in the cache


def narrow_gram(rows: Rows, c: Vector, out: Vector, a: Vector, total: Vector) -> None:
    """As `skimlearn.data.gram.gram`.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> out, none = np.zeros((2, 2), order="F"), np.zeros(0)
    >>> narrow_gram(as_rows([[2.0], [3.0]]), np.array([1.0, 10.0]), out, none, none)
    >>> out
    array([[94.,  0.],
           [32., 11.]])
    """
    width = -(-len(out) // TILE) * TILE
    room, wide = np.zeros((width, BLOCK)), np.zeros((width, width))
    _sum_up(rows, c, len(out) - 1, room, wide, a, total)
    out += np.triu(wide).T[: len(out), : len(out)]


@kernel
def _sum_up(rows, c, d, room, out, a, total):
    """The upper triangle of the sum, in ``out``; rows of no weight take no room."""
    count = 0
    for i in range(len(c)):
        if len(a) > 0:
            add(rows, i, a[i], total)
        if c[i] == 0.0:
            continue
        factor = math.sqrt(c[i])
        for k in range(size(rows, i)):
            j, value = entry(rows, i, k)
            room[j, count] = factor * value
        room[d, count] = factor
        count += 1
        if count == room.shape[1]:
            _add_products(room, out)
            _clear(room)
            count = 0
    if count > 0:
        _add_products(room, out)


@kernel
def _clear(room):
    for j in range(room.shape[0]):
        for r in range(room.shape[1]):
            room[j, r] = 0.0


@kernel
def _add_products(x, out):
    """out += x x', the tiles on the diagonal and right of it."""
    for j in range(0, x.shape[0], 4):
        a0, a1, a2, a3 = x[j], x[j + 1], x[j + 2], x[j + 3]
        for k in range(j, x.shape[0], 4):
            b0, b1, b2, b3 = x[k], x[k + 1], x[k + 2], x[k + 3]
            s00, s01, s02, s03 = 0.0, 0.0, 0.0, 0.0
            s10, s11, s12, s13 = 0.0, 0.0, 0.0, 0.0
            s20, s21, s22, s23 = 0.0, 0.0, 0.0, 0.0
            s30, s31, s32, s33 = 0.0, 0.0, 0.0, 0.0
            for r in range(x.shape[1]):
                u0, u1, u2, u3 = a0[r], a1[r], a2[r], a3[r]
                v0, v1, v2, v3 = b0[r], b1[r], b2[r], b3[r]
                s00 += u0 * v0
                s01 += u0 * v1
                s02 += u0 * v2
                s03 += u0 * v3
                s10 += u1 * v0
                s11 += u1 * v1
                s12 += u1 * v2
                s13 += u1 * v3
                s20 += u2 * v0
                s21 += u2 * v1
                s22 += u2 * v2
                s23 += u2 * v3
                s30 += u3 * v0
                s31 += u3 * v1
                s32 += u3 * v2
                s33 += u3 * v3
            _put(out[j], k, s00, s01, s02, s03)
            _put(out[j + 1], k, s10, s11, s12, s13)
            _put(out[j + 2], k, s20, s21, s22, s23)
            _put(out[j + 3], k, s30, s31, s32, s33)


@kernel
def _put(line, k, s0, s1, s2, s3):
    line[k] += s0
    line[k + 1] += s1
    line[k + 2] += s2
    line[k + 3] += s3
