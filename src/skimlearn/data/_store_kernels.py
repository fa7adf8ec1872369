"""The loops over entries that a store needs: counts, transposition, a sum to compare matrices."""

from __future__ import annotations

import numpy as np

from skimlearn._jit import kernel
from skimlearn.data.rows import entry, size

__all__ = ["add_up", "bucket_sort", "count_buckets", "csr_sum", "dense_sum", "place", "place_rows"]


@kernel
def add_up(rows, n, counts, sums):
    """Count the entries of every column of n rows, and sum them."""
    for i in range(n):
        for k in range(size(rows, i)):
            j, value = entry(rows, i, k)
            counts[j] += 1
            sums[j] += value


@kernel
def place_rows(rows, first, stop, cursors, out_rows, out_values):
    """Put the entries of some rows where their columns go on."""
    for i in range(first, stop):
        for k in range(rows.starts[i], rows.starts[i + 1]):
            at = cursors[rows.columns[k]]
            cursors[rows.columns[k]] = at + 1
            out_rows[at] = i
            out_values[at] = rows.values[k]


@kernel
def count_buckets(rows, first, stop, bucket_of, counts):
    """Count the entries of some rows that belong to each bucket."""
    for k in range(rows.starts[first], rows.starts[stop]):
        counts[bucket_of[rows.columns[k]]] += 1


@kernel
def bucket_sort(rows, first, stop, bucket_of, cursors, out_rows, out_columns, out_values):
    """Put the entries of some rows where their buckets go on, in the order of the rows."""
    for i in range(first, stop):
        for k in range(rows.starts[i], rows.starts[i + 1]):
            j = rows.columns[k]
            at = cursors[bucket_of[j]]
            cursors[bucket_of[j]] = at + 1
            out_rows[at] = i
            out_columns[at] = j
            out_values[at] = rows.values[k]


@kernel
def place(entry_rows, entry_columns, entry_values, lowest, cursors, out_rows, out_values):
    """Put entries where their columns go on; the columns begin at the lowest."""
    for k in range(len(entry_rows)):
        j = entry_columns[k] - lowest
        at = cursors[j]
        cursors[j] = at + 1
        out_rows[at] = entry_rows[k]
        out_values[at] = entry_values[k]


@kernel
def _mixed(i, j, bits):
    """64 bits that depend on all bits of an entry and its place (the finaliser of splitmix64)."""
    z = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(bits)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return z ^ (z >> np.uint64(29))


@kernel
def csr_sum(bits, columns, starts, transposed):
    """A sum over all entries in which each counts with its place, in whatever order they come."""
    total = np.uint64(0)
    for line in range(len(starts) - 1):
        for k in range(starts[line], starts[line + 1]):
            if transposed:
                total += _mixed(columns[k], line, bits[k])
            else:
                total += _mixed(line, columns[k], bits[k])
    return total


@kernel
def dense_sum(bits, transposed):
    """As `csr_sum`, for all entries of a dense matrix."""
    total = np.uint64(0)
    for line in range(bits.shape[0]):
        for k in range(bits.shape[1]):
            if transposed:
                total += _mixed(k, line, bits[line, k])
            else:
                total += _mixed(line, k, bits[line, k])
    return total
