"""Lines of svmlight text, parsed into the parts of a CSR matrix.

A line is ``label id:value id:value ... # comment``, perhaps with ``qid:number`` after the label. No
loop looks at the length of the text: it ends with a line end, which stops all of them, and with
some more bytes, so that words can be loaded at its end.
"""

from __future__ import annotations

import numpy as np

from skimlearn._jit import lean_kernel
from skimlearn.data._decimal import BAD, HARD, INFINITE, read_number, read_whole, word_at
from skimlearn.data._svmlight_entries import mark_text, read_entries
from skimlearn.data._svmlight_room import (
    BAD_QUERY,
    COLON,
    COMMA,
    COMMENT,
    DIGITS,
    HARD_COUNT,
    LABEL,
    LARGEST,
    LARGEST_ID,
    LARGEST_LINE,
    LEAST_ID,
    MANY_LABELS,
    MINUS,
    NEWLINE,
    NO_FAULT,
    NO_LABEL,
    NO_QUERY,
    NOT_FINITE,
    NOTHING,
    ONE,
    PLUS,
    is_end,
    note_hard,
    skip_blanks,
)

__all__ = ["parse_lines"]

QUERY, QUERY_BYTES = np.uint64(int.from_bytes(b"qid:", "little")), np.uint64(2**32 - 1)
QUERY_LENGTH = np.uint64(4)


@lean_kernel
def parse_lines(text, stop, rules, room):
    """Parse a text of so many bytes, of which the last is a line end, until the first fault.

    The numbers of rows and of lines, whether the ids of all rows rise, the fault and its position.
    """
    p, stop = NOTHING, np.uint64(stop)
    row, line, at, label, mark = NOTHING, np.int64(0), NOTHING, NOTHING, NOTHING
    rising, fault, token = True, NO_FAULT, NOTHING
    room.tally[HARD_COUNT], room.tally[LEAST_ID], room.tally[LARGEST_ID] = NOTHING, LARGEST, NOTHING
    room.tally[LARGEST_LINE] = NOTHING
    mark_text(text, stop, room.marks)
    while p < stop:
        p = skip_blanks(text, p)
        c = np.uint64(text[p])
        if c != NEWLINE and c != COMMENT:
            p, token, label, fault = _read_labels(text, p, label, rules, room)
            if fault == NO_FAULT:
                p, token, fault = _read_query(text, p, row, rules, room)
            if fault == NO_FAULT:
                p, mark, token, at, fault, rises = read_entries(
                    text, p, mark, at, line, rules, room
                )
                rising &= rises
            if fault != NO_FAULT:
                break
            row += ONE
            room.starts[row], room.label_starts[row] = at, label
        while np.uint64(text[p]) != NEWLINE:  # the rest is a comment
            p += ONE
        p += ONE
        line += 1
    return np.int64(row), line, rising, fault, np.int64(token)


@lean_kernel
def _read_labels(text, p, label, rules, room):
    """The labels at p: one, or any number."""
    first = p
    token = p
    if rules.multilabel and _starts_query(text, p):
        return p, p, label, NO_FAULT
    before = label
    while True:
        p, status = read_number(text, p, room.labels, room.label_bits, label)
        if status == BAD:
            return p, token, label, NO_LABEL
        c = np.uint64(text[p])
        if rules.multilabel and c == COLON and token == first:  # an id: there is no label
            return first, first, before, NO_FAULT
        if not is_end(c) and c != COMMA:
            return p, token, label, NO_LABEL
        if status == HARD:
            note_hard(room, token, p, label | LABEL)
        elif rules.finite and room.label_bits[label] & INFINITE == INFINITE:
            return p, token, label, NOT_FINITE
        label += ONE
        if c != COMMA:
            return p, token, label, NO_FAULT
        if not rules.multilabel:
            return p, first, label, MANY_LABELS
        p += ONE
        token = p


@lean_kernel
def _read_query(text, p, row, rules, room):
    """The number of the query behind the blanks at p, if there is one."""
    token = skip_blanks(text, p)
    if not _starts_query(text, token):
        return p, token, (NO_QUERY if rules.queries else NO_FAULT)
    p = token + QUERY_LENGTH
    sign = np.uint64(text[p])
    if (sign == MINUS) | (sign == PLUS):
        p += ONE
    p, number, count = read_whole(text, p)
    if count == NOTHING or count > DIGITS or number > LARGEST or not is_end(np.uint64(text[p])):
        return p, token, BAD_QUERY
    room.queries[row] = -np.int64(number) if sign == MINUS else np.int64(number)
    return p, token, NO_FAULT


@lean_kernel
def _starts_query(text, p):
    return word_at(text, p) & QUERY_BYTES == QUERY
