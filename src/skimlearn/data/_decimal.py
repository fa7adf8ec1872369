"""Numbers written in decimal, read to the last bit: the double that is nearest to the text.

Digits are read eight at a time, as one word: a few multiplications join them, and no branch depends
on how many there are. A number of up to 19 digits is m * 10^q with a whole m below 2^64. If m and
10^|q| are doubles themselves, one multiplication or division is rounded correctly (Clinger, 1990).
Otherwise a product of m with the leading 128 bits of 5^q decides (Lemire, 2021, after Eisel). What
neither can decide, such as numbers of more digits that lie next to the middle between two doubles,
is reported as `HARD`, and the caller asks Python for it.

W. D. Clinger, How to read floating point numbers accurately, PLDI 1990.
D. Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience 51, 2021.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn._bits import leading_zeros, trailing_zeros, wide_product
from skimlearn._jit import lean_kernel

__all__ = [
    "BAD",
    "FINE",
    "HARD",
    "INFINITE",
    "count_digits",
    "join",
    "join_digits",
    "nearest",
    "read_number",
    "read_whole",
    "word_at",
]

FINE, BAD, HARD = np.int64(0), np.int64(1), np.int64(2)

ONE, TWO, EIGHT = np.uint64(1), np.uint64(2), np.uint64(8)
BITS = np.uint64(64)
ZERO = np.uint64(ord("0"))
POINT = np.uint64(ord("."))
EXPONENT = np.uint64(ord("e"))
PLUS, MINUS = np.uint64(ord("+")), np.uint64(ord("-"))
LOWER = np.uint64(0x20)  # makes a letter a small one

ZEROS = np.uint64(0x3030303030303030)
ABOVE_NINES = np.uint64(0x4646464646464646)  # added to a byte above "9", it sets the highest bit
ABOVE_NINE = np.uint64(0x7676767676767676)  # added to a number above 9, it does the same
HIGHEST = np.uint64(0x8080808080808080)
PAIRS = np.uint64(0x000000FF000000FF)
FOURS_LOW, FOURS_HIGH = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)

DIGITS = np.uint64(19)  # so many always fit into 64 bits
EXACT = np.uint64(2**53)  # whole numbers up to it are doubles, and so are powers of ten up to 10^22
MOST = 22
POWERS = 10.0 ** np.arange(MOST + 1)
WHOLE_POWERS = np.array([10**k for k in range(20)], dtype=np.uint64)

LEAST_POWER, LARGEST_POWER = -342, 308  # beyond them everything is zero or infinite
FRACTION = np.uint64(52)  # bits of a double behind the leading one
HIDDEN = np.uint64(1 << 52)
INFINITE = np.uint64(0x7FF << 52)
SIGN = np.uint64(1 << 63)
HALF = np.uint64(32)
ALL = np.uint64(2**64 - 1)
BELOW_ROUNDING = np.uint64(2**9 - 1)  # bits of a product that cannot matter unless all are ones
NOTHING = np.uint64(0)
THREE, NINE = np.uint64(3), np.uint64(9)
NAN, INF, INITY = (np.frombuffer(word, dtype=np.uint8) for word in (b"nan", b"inf", b"inity"))


def _powers_of_five() -> NDArray[np.uint64]:
    """The leading 128 bits of 5^q for all q that matter; rounded up where q is negative."""
    table = []
    for q in range(LEAST_POWER, LARGEST_POWER + 1):
        if q >= 0:
            length = (5**q).bit_length()
            bits = 5**q << (128 - length) if length <= 128 else 5**q >> (length - 128)
        else:
            length = (5**-q - 1).bit_length()
            bits = (1 << (length + 127 if q >= -27 else 2 * length + 128)) // 5**-q + 1
            bits >>= max(0, bits.bit_length() - 128)
        table.append((bits >> 64, bits & (2**64 - 1)))
    return np.array(table, dtype=np.uint64)


FIVES = _powers_of_five()


@lean_kernel
def word_at(text, p):
    """Eight bytes from p on, the first in the lowest place (compilers make it a single load)."""
    return (
        np.uint64(text[p])
        | np.uint64(text[p + np.uint64(1)]) << np.uint64(8)
        | np.uint64(text[p + np.uint64(2)]) << np.uint64(16)
        | np.uint64(text[p + np.uint64(3)]) << np.uint64(24)
        | np.uint64(text[p + np.uint64(4)]) << np.uint64(32)
        | np.uint64(text[p + np.uint64(5)]) << np.uint64(40)
        | np.uint64(text[p + np.uint64(6)]) << np.uint64(48)
        | np.uint64(text[p + np.uint64(7)]) << np.uint64(56)
    )


@lean_kernel
def count_digits(word):
    """With how many digits a word begins, 0 to 8."""
    # a byte's highest bit tells whether it is no digit; true up to the first that is none
    others = ((word + ABOVE_NINES) | (word - ZEROS)) & HIGHEST
    return trailing_zeros(others) >> THREE


@lean_kernel
def join_digits(word, count):
    """The number that the first 1 to 8 bytes of a word make."""
    return join((word - ZEROS) << (BITS - EIGHT * count))  # zeros in front


@lean_kernel
def join(x):
    """The number that eight digits make, the last of them in the highest place."""
    x = x * np.uint64(10) + (x >> EIGHT)
    return ((x & PAIRS) * FOURS_LOW + ((x >> np.uint64(16)) & PAIRS) * FOURS_HIGH) >> HALF


@lean_kernel
def nearest(m, q):
    """The bits of the double nearest to m * 10^q, and whether they are certain."""
    if m == NOTHING or q < LEAST_POWER:
        return NOTHING, True
    if q > LARGEST_POWER:
        return INFINITE, True
    zeros = leading_zeros(m)
    m <<= zeros
    high, low = wide_product(m, FIVES[q - LEAST_POWER, 0])
    if high & BELOW_ROUNDING == BELOW_ROUNDING:
        more = wide_product(m, FIVES[q - LEAST_POWER, 1])[0]
        low += more
        if low < more:
            high += ONE
    if low == ALL and (q < -27 or q > 55):
        return NOTHING, False
    top = high >> np.uint64(63)
    bits = high >> (top + NINE)
    exponent = ((217706 * q) >> 16) + 1086 + np.int64(top) - np.int64(zeros)
    if exponent <= 0:  # below the normal numbers
        if exponent <= -63:
            return NOTHING, True
        bits >>= np.uint64(1 - exponent)
        return (bits + (bits & ONE)) >> ONE, True  # the smallest normal number comes out right too
    if low <= ONE and -4 <= q <= 23 and bits & THREE == ONE and bits << (top + NINE) == high:
        bits &= ~ONE  # exactly in the middle: to the even one
    bits = (bits + (bits & ONE)) >> ONE
    # if rounding up made another digit, the sum below carries it over to the exponent
    bits += (np.uint64(exponent) << FRACTION) - HIDDEN
    return (bits if bits < INFINITE else INFINITE), True


@lean_kernel
def read_number(text, p, values, bits, at):
    """Read a number at p into values[at] (the same memory as bits[at]).

    The end of the number, and `FINE`, `BAD` if there is none, or `HARD`. Behind the text must be
    eight more bytes, and a byte that is no part of a number before them.
    """
    sign = NOTHING
    c = np.uint64(text[p])
    if (c == MINUS) | (c == PLUS):
        sign = SIGN if c == MINUS else NOTHING
        p += ONE
        c = np.uint64(text[p])
    start = p
    if np.uint64(text[p + ONE]) == POINT and c - ZERO < np.uint64(10):
        m, count = c - ZERO, ONE  # one digit and a point: the most common form of fractions
        p += ONE
    else:
        m, count = NOTHING, NOTHING
        p, m, count = _read_digits(text, p, m, count)
    q = np.int64(0)
    if np.uint64(text[p]) == POINT:
        before = count
        p, m, count = _read_digits(text, p + ONE, m, count)
        q = np.int64(before) - np.int64(count)
    if count == NOTHING:
        p, status = _read_word(text, start, bits, at)
        bits[at] |= sign
        return p, status
    mantissa = p
    if np.uint64(text[p]) | LOWER == EXPONENT:
        p, more, status = _read_exponent(text, p + ONE)
        if status != FINE:
            return p, status
        q += more
    certain = True
    if count > DIGITS:
        m, cut, left = _leading_digits(text, start, mantissa)
        q += cut
        if left:  # between m and m + 1: certain if both give the same
            above, certain = nearest(m + ONE, q)
            found, sure = nearest(m, q)
            bits[at] = found | sign
            return p, (FINE if certain and sure and found == above else HARD)
    if m <= EXACT and -MOST <= q <= MOST:
        if q < 0:
            values[at] = np.float64(np.int64(m)) / POWERS[-q]
        else:
            values[at] = np.float64(np.int64(m)) * POWERS[q]
        bits[at] |= sign
    else:
        found, certain = nearest(m, q)
        bits[at] = found | sign
    return p, (FINE if certain else HARD)


@lean_kernel
def _read_digits(text, p, m, count):
    """Append digits at p to m, of which there are count already; beyond 19 m is of no use."""
    while True:
        word = word_at(text, p)
        more = count_digits(word)
        if more > NOTHING:
            m = m * WHOLE_POWERS[more] + join_digits(word, more)
            count += more
            p += more
        if more < EIGHT:
            return p, m, count


@lean_kernel
def read_whole(text, p):
    """The whole number at p: its end, the number, and of how many digits (more than 19: too many).

    Zeros in front do not count, if there is another digit.
    """
    first = p
    while np.uint64(text[p]) == ZERO:
        p += ONE
    p, number, count = _read_digits(text, p, NOTHING, NOTHING)
    return p, number, (ONE if count == NOTHING and p > first else count)


@lean_kernel
def _read_exponent(text, p):
    """The exponent at p; numbers beyond all doubles are cut off."""
    c = np.uint64(text[p])
    negative = c == MINUS
    if (c == MINUS) | (c == PLUS):
        p += ONE
    first, q = p, np.int64(0)
    while np.uint64(text[p]) - ZERO < np.uint64(10):
        q = min(q * 10 + np.int64(text[p]) - 48, 10**15)
        p += ONE
    return p, (-q if negative else q), (BAD if p == first else FINE)


@lean_kernel
def _leading_digits(text, p, stop):
    """The first 19 digits from the first that is not zero, where q moves, whether more follow."""
    m, count, cut, left = NOTHING, NOTHING, np.int64(0), False
    while p < stop:
        c = np.uint64(text[p])
        p += ONE
        if c == POINT:
            continue
        if count < DIGITS:
            m = m * np.uint64(10) + (c - ZERO)
            if m > NOTHING:
                count += ONE
        else:
            cut += 1
            left |= c != ZERO
    return m, cut, left


@lean_kernel
def _read_word(text, p, bits, at):
    """inf, infinity or nan, in any case of letters."""
    status = BAD
    if _spells(text, p, NAN):
        p += np.uint64(len(NAN))
        bits[at], status = INFINITE | HIDDEN >> ONE, FINE
    elif _spells(text, p, INF):
        p += np.uint64(len(INF))
        if _spells(text, p, INITY):
            p += np.uint64(len(INITY))
        bits[at], status = INFINITE, FINE
    return p, status


@lean_kernel
def _spells(text, p, letters):
    alike = True
    for k in range(len(letters)):  # the bytes behind the text are no letters
        alike &= np.uint64(text[p + np.uint64(k)]) | LOWER == np.uint64(letters[k])
    return alike
