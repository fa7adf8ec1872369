"""Dense rows whose columns with few entries are stored apart, for products of many rows.

BLAS multiplies zeros, too. Where a column is zero in all but a few rows, only pairs of these rows
have a product there: as sparse rows, such columns cost less, though each entry costs more. Pixels
at the border of a picture and rare words are such columns. The products are the same numbers, but
for the order of their sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.rows import Csr, Dense, frozen, take

__all__ = ["Parted", "product", "rare_columns", "some_of", "split", "turned"]

Array = NDArray[Any]
Chosen = NDArray[np.int64]
RARE = 0.1  # of the rows: as many have an entry in a column that is stored apart
WORTH = 8  # one column in so many must be rare
SAMPLED = 2048  # rows that are counted
HIGH = 1024  # rows that are split at once


class Parted(NamedTuple):
    """Rows in two parts."""

    values: Array  # (n, columns that are not rare)
    rare: Csr

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.values), self.values.shape[1] + self.rare.width


class Turned(NamedTuple):
    """Rows in two parts, the rare columns stored by columns."""

    values: Array
    heads: NDArray[np.int64]  # where the entries of each rare column begin
    lines: NDArray[np.uint32]  # the row of each entry
    entries: Array

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.values), self.values.shape[1] + len(self.heads) - 1


def rare_columns(left: Dense, right: Dense | None = None) -> NDArray[np.bool_] | None:
    """Which columns are rare in two sets of rows, or in one; None if too few are."""
    parts = [_filled(rows) for rows in (left, left if right is None else right)]
    rare = parts[0] * parts[1] <= RARE * RARE
    return rare if WORTH * int(rare.sum()) >= len(rare) else None


def _filled(rows: Dense) -> NDArray[np.float64]:
    """The part of the rows that have an entry in each column, from a sample."""
    some = rows.values[:: -(-rows.shape[0] // SAMPLED)]
    return np.count_nonzero(some, axis=0) / len(some)


def split(rows: Dense, rare: NDArray[np.bool_]) -> Parted:
    """Store rare columns apart."""
    n, often, seldom = rows.shape[0], np.flatnonzero(~rare), np.flatnonzero(rare)
    values = np.empty((n, len(often)), rows.values.dtype)
    counts, columns, entries = np.zeros(n + 1, dtype=np.int64), [], []
    for first in range(0, n, HIGH):
        part = rows.values[first : first + HIGH]
        np.take(part, often, axis=1, out=values[first : first + HIGH])
        few = part[:, seldom]
        lines, places = np.nonzero(few)
        counts[first + 1 : first + 1 + len(few)] = np.bincount(lines, minlength=len(few))
        columns.append(places.astype(np.uint32))
        entries.append(few[lines, places])
    starts = frozen(np.cumsum(counts).view(np.uint64))
    joined = frozen(np.concatenate(entries)), frozen(np.concatenate(columns))
    return Parted(frozen(values), Csr(*joined, starts, len(seldom)))


def some_of(rows: Parted, chosen: Chosen | slice) -> Parted:
    """Some of the rows: copied, or a view for a slice."""
    if isinstance(chosen, slice):
        starts = rows.rare.starts[chosen.start : chosen.stop + 1]
        return Parted(rows.values[chosen], rows.rare._replace(starts=starts))
    rare = take(rows.rare, chosen)
    assert isinstance(rare, Csr)
    return Parted(frozen(rows.values[chosen]), rare)


def turned(rows: Parted) -> Turned:
    """The same rows, as the right factor of products."""
    rare, starts = rows.rare, rows.rare.starts.astype(np.int64)
    inside = slice(int(starts[0]), int(starts[-1]))
    columns = rare.columns[inside]
    order = np.argsort(columns, kind="stable")
    lines = np.repeat(np.arange(len(starts) - 1, dtype=np.uint32), np.diff(starts))
    heads = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=rare.width))])
    return Turned(rows.values, heads, lines[order], rare.values[inside][order])


def product(left: Parted, right: Turned) -> Array:
    """The inner products of rows with rows."""
    out = left.values @ right.values.T
    rare = left.rare
    starts = rare.starts.astype(np.int64)
    _add_rare(starts, rare.columns, rare.values, right.heads, right.lines, right.entries, out)
    return out


@kernel
def _add_rare(starts, columns, values, heads, lines, entries, out):
    for i in range(len(out)):
        line = out[i]
        for k in range(starts[i], starts[i + 1]):
            column, value = np.int64(columns[k]), values[k]
            for at in range(heads[column], heads[column + 1]):
                line[lines[at]] += value * entries[at]
