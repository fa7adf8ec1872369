"""exp(-x) and log(1 + e) without branches and calls, so that loops of kernels run on vectors.

The functions of a library for mathematics take one number at a time: a pass over the responses of
the log loss took ten times as long. Both are exact to some units of the last digit.
"""

from __future__ import annotations

import numpy as np

from skimlearn._bits import power_of_two
from skimlearn._jit import shared

__all__ = ["decay", "log_of_one_and"]

FARTHEST = 745.2  # exp(-745.2) is zero
LEAST = -1074.0  # two to this power is the least number
BITS = 1.4426950408889634  # of one unit: 1 / log(2)
LOG_2 = 6.93147180369123816490e-01  # its first digits, so that multiples of it are exact,
REST = 1.90821492927058770002e-10  # and those that follow


@shared
def decay(x):
    """exp(-x) for x >= 0.

    With -x = k log 2 + r and |r| <= log(2) / 2, it is 2^k times the series of exp(r), whose even
    and odd terms are summed apart.

    Examples
    --------
    >>> round(float(decay(1.0)), 12), float(decay(0.0)), float(decay(1e300))
    (0.367879441171, 1.0, 0.0)
    """
    near = min(x, FARTHEST)
    k = max(np.floor(0.5 - near * BITS), LEAST)
    r = (-near - k * LOG_2) - k * REST
    q = r * r
    even = 1 / 40320 + q * (1 / 3628800 + q * (1 / 479001600))
    even = 1.0 + q * (0.5 + q * (1 / 24 + q * (1 / 720 + q * even)))
    odd = 1 / 362880 + q * (1 / 39916800 + q * (1 / 6227020800))
    odd = 1.0 + q * (1 / 6 + q * (1 / 120 + q * (1 / 5040 + q * odd)))
    return (even + r * odd) * power_of_two(k)


@shared
def log_of_one_and(e):
    """log(1 + e) for 0 <= e <= 1: twice the series of artanh at e / (2 + e).

    Examples
    --------
    >>> round(float(log_of_one_and(1.0)), 12), float(log_of_one_and(1e-300))
    (0.69314718056, 1e-300)
    """
    part = 2.0 / (2.0 + e)
    q = 0.25 * (e * part) * (e * part)
    total = 1 / 25 + q * (1 / 27 + q * (1 / 29 + q * (1 / 31)))
    total = 1 / 17 + q * (1 / 19 + q * (1 / 21 + q * (1 / 23 + q * total)))
    total = 1 / 9 + q * (1 / 11 + q * (1 / 13 + q * (1 / 15 + q * total)))
    total = 1.0 + q * (1 / 3 + q * (1 / 5 + q * (1 / 7 + q * total)))
    return e * part * total
