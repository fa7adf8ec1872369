"""Pairs of id and value in svmlight text, read between marks.

A first pass notes where blanks, line ends and colons are, 64 bytes at a time. With these marks a
pair is read without waiting for the end of the one before it, and its digits are joined eight at a
time, from their end. That is for pairs of the usual form; all others are read with care.
"""

from __future__ import annotations

import numpy as np

from skimlearn._bits import bit_count, find_marks, trailing_zeros
from skimlearn._jit import lean_kernel
from skimlearn.data._decimal import (
    ABOVE_NINE,
    BAD,
    EXACT,
    HARD,
    HIGHEST,
    INFINITE,
    POINT,
    POWERS,
    SIGN,
    WHOLE_POWERS,
    ZEROS,
    count_digits,
    join,
    join_digits,
    nearest,
    read_number,
    read_whole,
    word_at,
)
from skimlearn.data._svmlight_room import (
    COLON,
    COMMENT,
    DIGITS,
    EIGHT,
    LARGE_ID,
    LARGEST,
    LARGEST_ID,
    LARGEST_LINE,
    LEAST_ID,
    MINUS,
    NEWLINE,
    NO_COLON,
    NO_FAULT,
    NO_ID,
    NO_VALUE,
    NOT_FINITE,
    NOTHING,
    ONE,
    SMALL_ID,
    is_blank,
    is_digit,
    is_end,
    note_hard,
    skip_blanks,
)

__all__ = ["mark_text", "read_entries", "sort_rows"]

TWO, SEVEN, BITS = np.uint64(2), np.uint64(7), np.uint64(64)
ALL = np.uint64(2**64 - 1)
BATCH = np.uint64(12)  # marks in 64 bytes, mostly
FRONT = np.uint64(24)  # bytes that are read before the end of a number, at most
HUNDRED_MILLION = np.uint64(10**8)


@lean_kernel
def mark_text(text, stop, marks):
    """Note where blanks, line ends and colons are."""
    count = NOTHING
    for p in range(NOTHING, stop, BITS):
        found = find_marks(text, p)
        total = bit_count(found)
        for first in range(NOTHING, total, BATCH):  # a batch may write too many: no branch in it
            for k in range(BATCH):
                marks[count + first + k] = p + trailing_zeros(found)
                found &= found - ONE
        count += total
    while count > NOTHING and np.uint64(marks[count - ONE]) >= stop:  # behind the text
        count -= ONE
    for k in range(BATCH):
        marks[count + k] = stop - ONE


@lean_kernel
def _last_digits(text, end, count):
    """The last bytes of those before end as digits, and whether they are some; 0 to 8 of them."""
    x = NOTHING
    if count > NOTHING:
        kept = ALL << (BITS - EIGHT * count)
        x = (word_at(text, end - EIGHT) & kept) - (ZEROS & kept)
    return x, ((x + ABOVE_NINE) | x) & HIGHEST == NOTHING


@lean_kernel
def _append_many(text, end, count, m):
    """Append 9 to 19 digits before end to m, and whether they are some."""
    last, all_last = _last_digits(text, end, EIGHT)
    rest = count - EIGHT
    middle = min(rest, EIGHT)
    x, all_middle = _last_digits(text, end - EIGHT, middle)
    first, all_first = _last_digits(text, end - EIGHT - EIGHT, rest - middle)
    m = m * WHOLE_POWERS[rest] + join(first) * HUNDRED_MILLION + join(x)
    return m * HUNDRED_MILLION + join(last), all_last & all_middle & all_first


@lean_kernel
def read_entries(text, p, mark, at, line, rules, room):
    """Pairs of id and value until the end of the line, or of what is not a comment.

    Pairs of the usual form, `` id:digits.digits``, are read between the marks: no pair waits for
    the length of the one before it. The others are read with care, one at a time.
    """
    columns, values, bits, marks = room.columns, room.values, room.bits, room.marks
    rises, following = True, NOTHING
    low, high = LARGEST, NOTHING
    least, span = rules.least, rules.most - rules.least
    token, fault = p, NO_FAULT
    while np.uint64(marks[mark]) < p:
        mark += ONE
    while True:  # p is behind what was read
        colon, end = np.uint64(marks[mark + ONE]), np.uint64(marks[mark + TWO])
        c = np.uint64(text[p])
        if c == NEWLINE:
            break
        if colon == p + ONE and is_blank(c) and is_end(np.uint64(text[colon])):
            p = colon
            mark += ONE
            continue
        easy, column = False, NOTHING
        count = colon - p - ONE
        if (
            count - ONE < EIGHT
            and np.uint64(text[colon]) == COLON
            and is_blank(c)
            and is_end(np.uint64(text[end]))
            and p >= FRONT
        ):
            x, digits = _last_digits(text, colon, count)
            column = join(x)
            q = colon + ONE
            negative = np.uint64(text[q]) == MINUS
            if negative:
                q += ONE
            word = word_at(text, q)
            whole = count_digits(word)
            if digits and column - least <= span and whole - ONE < SEVEN:
                m, more = join_digits(word, whole), NOTHING
                q += whole
                if q == end:
                    easy = True
                elif np.uint64(text[q]) == POINT:
                    more = end - q - ONE
                    if more <= EIGHT:
                        x, easy = _last_digits(text, end, more)
                        m = m * WHOLE_POWERS[more] + join(x)
                    elif more + (whole if m > NOTHING else NOTHING) <= DIGITS:
                        m, easy = _append_many(text, end, more, m)
                if easy:
                    if m <= EXACT:
                        values[at] = np.float64(np.int64(m)) / POWERS[more]
                    else:
                        bits[at], easy = nearest(m, -np.int64(more))
                    if negative:
                        bits[at] |= SIGN
        if easy:
            mark += TWO
            p = end
        else:
            p, token, column, fault, done = _read_entry(text, p, at, rules, room)
            if done:
                break
            while np.uint64(marks[mark]) < p:
                mark += ONE
        columns[at] = column
        rises &= column >= following
        following = column + ONE
        low, high = min(low, column), max(high, column)
        at += ONE
    room.tally[LEAST_ID] = min(room.tally[LEAST_ID], low)
    if high > room.tally[LARGEST_ID]:
        room.tally[LARGEST_ID], room.tally[LARGEST_LINE] = high, np.uint64(line)
    return p, mark, token, at, fault, rises


@lean_kernel
def _read_entry(text, p, at, rules, room):
    """One pair in any form; whether there is none because of the end of the line, or a fault."""
    p = skip_blanks(text, p)
    token = p
    c = np.uint64(text[p])
    if (c == NEWLINE) | (c == COMMENT):
        return p, token, NOTHING, NO_FAULT, True
    if not is_digit(c):
        return p, token, NOTHING, NO_ID, True
    p, column, count = read_whole(text, p)
    if np.uint64(text[p]) != COLON:
        return p, token, column, NO_COLON, True
    if count > DIGITS or column > rules.most:
        return p, token, column, LARGE_ID, True
    if column < rules.least:
        return p, token, column, SMALL_ID, True
    token = p + ONE
    p, status = read_number(text, token, room.values, room.bits, at)
    if status == BAD or not is_end(np.uint64(text[p])):
        return p, token, column, NO_VALUE, True
    if status == HARD:
        note_hard(room, token, p, at)
    elif rules.finite and room.bits[at] & INFINITE == INFINITE:
        return p, token, column, NOT_FINITE, True
    return p, token, column, NO_FAULT, False


@lean_kernel
def sort_rows(rows, room):
    """Sort each row by its ids; the first row in which one is repeated, or -1."""
    for i in range(rows):
        start, stop = np.uint64(room.starts[i]), np.uint64(room.starts[i + 1])
        rises, repeats = True, False
        for k in range(start + ONE, stop):
            rises &= room.columns[k - ONE] < room.columns[k]
        if rises:
            continue
        _heap_sort(room.columns, room.bits, start, stop)
        for k in range(start + ONE, stop):
            repeats |= room.columns[k - ONE] == room.columns[k]
        if repeats:
            return i
    return np.int64(-1)


@lean_kernel
def _heap_sort(keys, others, start, stop):
    size = stop - start
    for root in range(size // np.uint64(2), NOTHING, -1):
        _sift(keys, others, start, np.uint64(root) - ONE, size)
    for last in range(size - ONE, NOTHING, -1):
        at = start + np.uint64(last)
        keys[start], keys[at] = keys[at], keys[start]
        others[start], others[at] = others[at], others[start]
        _sift(keys, others, start, NOTHING, np.uint64(last))


@lean_kernel
def _sift(keys, others, start, root, size):
    """Let a number sink in a heap until it is not below a larger one."""
    key, other = keys[start + root], others[start + root]
    while True:
        child = root + root + ONE
        if child >= size:
            break
        if child + ONE < size and keys[start + child] < keys[start + child + ONE]:
            child += ONE
        if keys[start + child] <= key:
            break
        keys[start + root], others[start + root] = keys[start + child], others[start + child]
        root = child
    keys[start + root], others[start + root] = key, other
