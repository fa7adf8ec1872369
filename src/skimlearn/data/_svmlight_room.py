"""What svmlight text may hold, room for what it does, and what its bytes mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import lean_kernel

__all__ = [
    "PADDING",
    "Room",
    "Rules",
    "is_blank",
    "is_digit",
    "is_end",
    "make_room",
    "note_hard",
    "skip_blanks",
]

PADDING = 72  # bytes behind the text, at least

# what can be wrong with a line
(
    NO_FAULT,
    NO_LABEL,
    MANY_LABELS,
    NO_QUERY,
    BAD_QUERY,
    NO_ID,
    NO_COLON,
    NO_VALUE,
    SMALL_ID,
    LARGE_ID,
    NOT_FINITE,
) = range(11)

ONE, EIGHT, NOTHING = np.uint64(1), np.uint64(8), np.uint64(0)
ZERO, TEN, DIGITS = np.uint64(ord("0")), np.uint64(10), np.uint64(19)
SPACE, NEWLINE, COMMENT = np.uint64(ord(" ")), np.uint64(ord("\n")), np.uint64(ord("#"))
COLON, COMMA = np.uint64(ord(":")), np.uint64(ord(","))
FIRST_BLANK, BLANKS = np.uint64(ord("\t")), np.uint64(5)  # tab, \n, \v, \f, \r
PLUS, MINUS = np.uint64(ord("+")), np.uint64(ord("-"))
LARGEST = np.uint64(2**63 - 1)
LABEL = np.uint64(2**63)  # marks where a hard number goes: to the labels, not the values


class Rules(NamedTuple):
    """What a line may hold."""

    least: np.uint64  # of ids
    most: np.uint64
    finite: bool
    multilabel: bool
    queries: bool  # whether every line must have one


class Room(NamedTuple):
    """Space for what a text of some length can hold at most."""

    labels: NDArray[np.float64]
    label_bits: NDArray[np.uint64]  # the same memory
    label_starts: NDArray[np.int64]  # by row, and an end
    queries: NDArray[np.int64]  # by row
    starts: NDArray[np.int64]  # by row, and an end
    columns: NDArray[np.uint64]
    values: NDArray[np.float64]
    bits: NDArray[np.uint64]  # the same memory
    hard: NDArray[np.uint64]  # numbers that Python must read: begin, end, where they go
    marks: NDArray[np.int64]  # where blanks, line ends and colons are
    tally: NDArray[np.uint64]  # how many are hard; the least and the largest id, and its line


HARD_COUNT, LEAST_ID, LARGEST_ID, LARGEST_LINE = range(4)


def make_room(length: int) -> Room:
    """Space for so many bytes of text; memory that is not used costs nothing."""
    lines, entries = length // 2 + 2, length // 4 + 2  # "1\n" and "1:1 " are the shortest
    labels, values = np.empty(lines), np.empty(entries)
    starts, label_starts = np.zeros(lines, np.int64), np.zeros(lines, np.int64)
    return Room(
        labels, labels.view(np.uint64), label_starts, np.empty(lines, np.int64), starts,
        np.empty(entries, np.uint64), values, values.view(np.uint64),
        np.empty((entries, 3), np.uint64), np.empty(length + 128, np.int64), np.zeros(4, np.uint64),
    )  # fmt: skip


@lean_kernel
def is_blank(c):
    return c == SPACE or (c - FIRST_BLANK < BLANKS and c != NEWLINE)


@lean_kernel
def is_digit(c):
    return c - ZERO < TEN


@lean_kernel
def is_end(c):
    return is_blank(c) or (c == NEWLINE) | (c == COMMENT)


@lean_kernel
def skip_blanks(text, p):
    while is_blank(np.uint64(text[p])):
        p += ONE
    return p


@lean_kernel
def note_hard(room, begin, end, where):
    k = room.tally[HARD_COUNT]
    room.hard[k, 0], room.hard[k, 1], room.hard[k, 2] = begin, end, where
    room.tally[HARD_COUNT] = k + ONE
