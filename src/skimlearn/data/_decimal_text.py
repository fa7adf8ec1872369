"""Doubles as text: few digits, and always such that they are read back as the same number.

A number of up to 15 digits is found by trial: m = x * 10^k, rounded to a whole number, is right if
m / 10^k gives x again, which is rounded correctly (Clinger, 1990). Other numbers have 16 or 17
digits, which a product with the leading 128 bits of a power of five gives, with an error in the
last place at most; they count only if they are read back as x. The few for which that fails, and
those close to the ends of the range, are left to Python.
"""

from __future__ import annotations

import numpy as np

from skimlearn._bits import wide_product
from skimlearn._jit import lean_kernel
from skimlearn.data._decimal import (
    FIVES,
    LEAST_POWER,
    POWERS,
    WHOLE_POWERS,
    nearest,
)

__all__ = ["LONGEST", "write_number", "write_whole"]

LONGEST = 25  # bytes of a number, as in -1.2345678901234567e-100 and a blank

NOTHING, ONE, TEN = np.uint64(0), np.uint64(1), np.uint64(10)
ZERO, POINT, MINUS, PLUS = (np.uint8(ord(c)) for c in "0.-+")
EXPONENT = np.uint8(ord("e"))
FRACTION, HIDDEN = np.uint64(52), np.uint64(1 << 52)
MOST_TRIED = 22
SHORT = 1e15  # whole numbers below it have at most 15 digits
PLAIN_BELOW = -5  # powers of ten from which on numbers are written with an exponent, as by repr
PLAIN_ABOVE = 16


@lean_kernel
def write_whole(number, text, p):
    """Write a whole number at p; its end."""
    count = 1
    while count < 20 and number >= WHOLE_POWERS[count]:
        count += 1
    for k in range(p + count - 1, p - 1, -1):
        text[k] = np.uint64(ord("0")) + number % TEN
        number //= TEN
    return p + count


@lean_kernel
def write_number(x, bits, single, text, p):
    """Write x, whose bits as a double are given, at p; the end, or -1 if Python must do it.

    If `single`, it is enough that the text gives x when rounded to single precision.
    """
    if bits >> np.uint64(63):
        text[p] = MINUS
        p += 1
        x = -x
        bits &= ~(ONE << np.uint64(63))
    if x < SHORT and x == np.floor(x):
        return write_whole(np.uint64(x), text, p)
    found, m, k = _short(x, single)
    if not found:
        found, m, k = _long(bits)
        if not found:
            return -1
    while m % TEN == NOTHING:
        m //= TEN
        k -= 1
    return _write_scaled(m, k, text, p)


@lean_kernel
def _short(x, single):
    """m of at most 15 digits and k with x = m / 10^k, if there are such."""
    for k in range(MOST_TRIED + 1):
        scaled = x * POWERS[k]
        if scaled >= SHORT:
            break
        m = np.rint(scaled)
        back = m / POWERS[k]
        if back == x or (single and np.float32(back) == np.float32(x)):
            return m > 0.0, np.uint64(m), np.int64(k)
    return False, NOTHING, np.int64(0)


@lean_kernel
def _long(bits):
    """m of 16 or 17 digits and k with x = m / 10^k, if they are easy to find."""
    power = np.int64(bits >> FRACTION)
    if power == 0 or power == 2047:
        return False, NOTHING, np.int64(0)
    m = ((bits & (HIDDEN - ONE)) | HIDDEN) << np.uint64(11)
    power -= 1086  # x = m 2^power
    k = 16 - ((power + 63) * 78913 >> 18)  # 10^16 <= x 10^k < 10^17, or one digit more
    if k > 300 or k < -300:
        return False, NOTHING, np.int64(0)
    high, low = wide_product(m, FIVES[k - LEAST_POWER, 0])
    more = wide_product(m, FIVES[k - LEAST_POWER, 1])[0]
    if low + more < low:
        high += ONE
    shift = np.uint64(-1 - ((217706 * k) >> 16) - power)
    digits = high >> (shift - ONE)  # with one bit behind the point
    for shorter in range(3, -1, -1):  # rounded once, to 15 digits or more
        half = WHOLE_POWERS[shorter]
        m = (digits + half) // (half + half)
        if m < WHOLE_POWERS[17] and nearest(m, shorter - k)[0] == bits:
            return True, m, k - shorter
    return False, NOTHING, np.int64(0)


@lean_kernel
def _write_scaled(m, k, text, p):
    """Write m / 10^k as repr does: with an exponent if it is very large or small."""
    count = 1
    while count < 20 and m >= WHOLE_POWERS[count]:
        count += 1
    lead = count - 1 - k  # the power of ten of the first digit
    if lead >= PLAIN_ABOVE or lead < PLAIN_BELOW + 1:
        p = _write_pointed(m, count, 1, text, p)
        text[p] = EXPONENT
        text[p + 1] = MINUS if lead < 0 else PLUS
        p += 2
        if abs(lead) < 10:
            text[p] = ZERO
            p += 1
        return write_whole(np.uint64(abs(lead)), text, p)
    if k <= 0:
        p = write_whole(m, text, p)
        for _ in range(-k):
            text[p] = ZERO
            p += 1
        return p
    if lead < 0:
        text[p], text[p + 1] = ZERO, POINT
        p += 2
        for _ in range(-lead - 1):
            text[p] = ZERO
            p += 1
        return write_whole(m, text, p)
    return _write_pointed(m, count, lead + 1, text, p)


@lean_kernel
def _write_pointed(m, count, before, text, p):
    """The count digits of m, with a point after some of them if more follow."""
    end = write_whole(m, text, p)
    if before == count:
        return end
    for at in range(end, p + before, -1):
        text[at] = text[at - 1]
    text[p + before] = POINT
    return end + 1
