"""The matrix of the members of `_kernel_qp`: written, read and multiplied in panels of columns.

``gram[p, i, j]`` is the value of member i with member ``p * width + j``. Few members take little
memory: only panels and rows that were written to do.
"""

from __future__ import annotations

from skimlearn._jit import kernel

__all__ = ["fetch", "insert", "own", "places_of", "spread"]


@kernel
def places_of(gram, members):
    """Where the columns of members begin in the memory of the panels; a row adds row * width."""
    high, wide = gram.shape[1], gram.shape[2]
    return (members // wide) * (high * wide) + members % wide


@kernel
def own(gram, chosen, out):
    """The values of chosen members with themselves."""
    wide, cells, places = gram.shape[2], gram.reshape(gram.size), places_of(gram, chosen)
    for i in range(len(chosen)):
        out[i] = cells[chosen[i] * wide + places[i]]


@kernel
def fetch(gram, member, places, signs, sign, line):
    """The values of one member with others, which have signs."""
    cells, start = gram.reshape(gram.size), member * gram.shape[2]
    for j in range(len(places)):
        line[j] = cells[start + places[j]] * (sign * signs[j])


@kernel
def insert(piece, rows, columns, ahead, gram):
    """Write a piece of the matrix at its places, and its mirror image, in small squares.

    Row i is column ``ahead + i`` of the piece, or would be: what lies beyond is left to its mirror
    image, so that each value is written once.
    """
    wide, cells = gram.shape[2], gram.reshape(gram.size)
    right, left = places_of(gram, columns), places_of(gram, rows)
    for first in range(0, len(rows), 64):
        last = min(first + 64, len(rows))
        for begin in range(0, min(len(columns), ahead + last), 64):
            end = min(begin + 64, len(columns))
            for i in range(first, last):
                start = rows[i] * wide
                for j in range(begin, min(end, ahead + i + 1)):
                    cells[start + right[j]] = piece[i, j]
            for j in range(begin, end):
                start = columns[j] * wide
                for i in range(max(first, j - ahead), last):
                    cells[start + left[i]] = piece[i, j]


@kernel
def spread(gram, chosen, change, out):
    """out += change' gram of the chosen rows."""
    wide = gram.shape[2]
    for panel in range((len(out) + wide - 1) // wide):
        part = out[panel * wide : (panel + 1) * wide]
        for i in range(len(chosen)):
            if change[i] != 0.0:
                row = gram[panel, chosen[i]]
                for j in range(len(part)):
                    part[j] += change[i] * row[j]
