r"""Projections in relative entropy on capped simplices, as kernels that allocate and sort nothing.

`project` finds p_i = min(cap, c exp(l_i)) with sum 1, or with one c for each side that has its own
mass. The sum is concave and rising in c, so Newton's method from any point is monotone after one
step, and ends exactly when the number of rows at the cap repeats. The factor of the last call is
where the next one begins: a pass or two, as a rule.

Logarithms of weights lie between `LEAST` and -`LEAST`, so that nothing overflows or vanishes, and
no maximum need be subtracted.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.solvers._margin_bounds import Sides

__all__ = ["LEAST", "exponential", "logarithms", "nearest", "project"]

Vector = NDArray[np.float64]
LEAST = -600.0


def nearest(p: Vector, sides: Sides) -> Vector:
    """The weights of the dual set that are nearest to p in relative entropy.

    Examples
    --------
    >>> from skimlearn.solvers._margin_bounds import split
    >>> nearest(np.array([0.8, 0.1, 0.1]), split(np.ones(3), 0.5, bias=False))
    array([0.5 , 0.25, 0.25])
    """
    out = np.empty(len(p))
    logs = np.log(np.maximum(p, math.exp(LEAST)))
    project(logs, sides.side, sides.masses, sides.cap, out, np.ones(len(sides.masses)))
    return out


@kernel
def exponential(x):
    """exp(x) for |x| < 700 to a relative error of 1e-13; a processor does several at once."""
    power = math.floor(x * 1.4426950408889634 + 0.5)
    r = (x - power * 0.6931471803691238) - power * 1.9082149292705877e-10  # log 2 in two parts
    r2 = r * r
    even = 1.0 + r2 * (1 / 2 + r2 * (1 / 24 + r2 * (1 / 720 + r2 * (1 / 40320 + r2 * (
        1 / 3628800 + r2 / 479001600)))))  # fmt: skip
    odd = 1.0 + r2 * (1 / 6 + r2 * (1 / 120 + r2 * (1 / 5040 + r2 * (1 / 362880 + r2 / 39916800))))
    return (even + r * odd) * np.int64((np.int64(power) + 1023) << 52).view(np.float64)


@kernel
def project(logs, side, masses, cap, p, factors):
    """p = the projection; ``factors`` are the c's, on entry those of a similar projection."""
    for i in range(np.uint64(len(logs))):
        p[i] = exponential(min(max(logs[i], LEAST), -LEAST))
    for k in range(len(masses)):
        if masses[k] > 0.0:
            factors[k] = c = _factor(p, side, k, masses[k], cap, factors[k])
            for i in range(np.uint64(len(logs))):
                if side[i] == k:
                    p[i] = min(cap, c * p[i])


@kernel
def _factor(q, side, k, mass, cap, c):
    """c with sum over the side of min(cap, c q_i) = mass."""
    if cap >= mass:
        total = 0.0
        for i in range(np.uint64(len(q))):
            total += q[i] if side[i] == k else 0.0
        return mass / total
    before = -1
    for _ in range(200):
        count, rest = 0, 0.0
        for i in range(np.uint64(len(q))):
            mine = side[i] == k
            free = c * q[i] <= cap
            count += mine and not free
            rest += q[i] if mine and free else 0.0
        if count == before:
            break
        left = mass - cap * count
        if left > 1e-14 * mass and rest > 0.0:
            c, before = left / rest, count
        elif before < 0:
            c = 0.0  # it began too far to the right
        else:
            return np.inf  # all rows of the side are at the cap
    return c


@kernel
def logarithms(logs, side, cap, factors, shifts):
    """Turn the logs that were projected into those of the projection."""
    for k in range(len(factors)):
        shifts[k] = math.log(factors[k])
    greatest = math.log(cap)
    for i in range(np.uint64(len(logs))):
        logs[i] = max(min(logs[i] + shifts[side[i]], greatest), LEAST)
