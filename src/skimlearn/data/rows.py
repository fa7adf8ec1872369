"""Rows of a matrix, dense or sparse, behind one interface.

A solver's kernel never asks which kind of rows it has: the class picks the inner loop when the
kernel is compiled. Arrays are viewed, not copied: float32 stays float32 (sums are in float64),
read-only and memory-mapped arrays are fine, and so is any order of a dense array.

Inside kernels:

=========================  ===========================================================
``look_ahead(...)``        ask the memory for rows that are visited soon
``dot(rows, i, w)``        <row i, w>
``add(rows, i, c, w)``     w += c * row i
``products``, ``share_out``  the same for several vectors at once
``size(rows, i)``          how many entries are stored; ``entry(rows, i, k)`` is the k-th of them
``value(rows, i, j)``      the entry in column j
=========================  ===========================================================

Outside: `responses`, `combine`, `lengths`, `norms`; and `as_rows` in the module `inspection`, which
checks and views a matrix. The kinds of rows are in `_row_kinds`, what takes rows apart and joins
them in `_row_parts`; both are used through this module.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data._row_kinds import (
    Csr,
    Dense,
    Rows,
    add,
    dot,
    entry,
    frozen,
    lengths,
    part_of_visits,
    prefetch,
    prefetch_start,
    products,
    share_out,
    size,
    value,
    vectors,
)
from skimlearn.data._row_parts import (
    between,
    checksum,
    cuts,
    largest_entry,
    over_columns,
    own_arrays,
    pieces,
    plain,
    scaled,
    side_by_side,
    stacked,
    take,
    without_gaps,
)

AHEAD = 6  # visits between asking for a row and using it
SCORED = 1_000_000  # entries that are read at once for several vectors

__all__ = [
    "Csr",
    "Dense",
    "Rows",
    "add",
    "between",
    "checksum",
    "combine",
    "combine_weighted",
    "cuts",
    "dot",
    "entry",
    "frozen",
    "largest_entry",
    "lengths",
    "look_ahead",
    "nonzeros",
    "norms",
    "over_columns",
    "own_arrays",
    "part_of_visits",
    "pieces",
    "plain",
    "products",
    "responses",
    "scaled",
    "scored",
    "share_out",
    "side_by_side",
    "size",
    "stacked",
    "stored",
    "take",
    "value",
    "vectors",
    "without_gaps",
]


@kernel
def look_ahead(rows, order, at):
    """Ask the memory for rows that follow in an order; one whose other numbers to ask for, too."""
    last = len(order) - 1
    prefetch_start(rows, order[min(at + 2 * AHEAD, last)])
    soon = order[min(at + AHEAD, last)]
    prefetch(rows, soon)
    return soon


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


def stored(rows: Rows, chosen: NDArray[Any] | None = None) -> int:
    """The number of stored entries of all rows, or of some, by their numbers or by a mask."""
    if chosen is None and isinstance(rows, Csr):
        return int(rows.starts[-1] - rows.starts[0])
    if chosen is None:
        return math.prod(rows.shape)
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
