"""Losses of a label y, -1 or +1; a prediction z is right if y z > 0. See `losses`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from skimlearn.formulas._exponential import decay, log_of_one_and
from skimlearn.formulas._loss import TINY, Loss

__all__ = ["Hinge", "Log", "SquaredHinge"]


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - y z): the loss of the support vector machine.

    Examples
    --------
    >>> Hinge().value(0.25, 1.0)
    0.75
    """

    labels: ClassVar[bool] = True
    searches: ClassVar[bool] = False

    def value(self, z, y):
        return max(0.0, 1.0 - y * z)

    def slope(self, z, y):
        return -y if y * z < 1.0 else 0.0

    def dual_bounds(self, y):
        return min(y, 0.0), max(y, 0.0)

    def conjugate(self, s, y):
        return y * s if -1.0 <= y * s <= 0.0 else math.inf

    def dual_step(self, a, z, h, y):
        return y * min(max(y * a + (1.0 - y * z) / max(h, TINY), 0.0), 1.0)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 - y z)^2 / 2: a smooth hinge.

    Examples
    --------
    >>> SquaredHinge().value(0.0, 1.0)
    0.5
    """

    labels: ClassVar[bool] = True
    searches: ClassVar[bool] = False

    def value(self, z, y):
        r = max(0.0, 1.0 - y * z)
        return 0.5 * r * r

    def slope(self, z, y):
        return -y * max(0.0, 1.0 - y * z)

    def curvature(self):
        return 1.0

    def bend(self, z, y):
        return 1.0 if y * z < 1.0 else 0.0

    def dual_bounds(self, y):
        return (0.0, math.inf) if y > 0.0 else (-math.inf, 0.0)

    def conjugate(self, s, y):
        return y * s + 0.5 * s * s if y * s <= 0.0 else math.inf

    def dual_step(self, a, z, h, y):
        return y * max(0.0, y * a + (1.0 - y * z - y * a) / (1.0 + h))


@dataclass(frozen=True)
class Log(Loss):
    """log(1 + exp(-y z)): the loss of logistic regression.

    Examples
    --------
    >>> round(float(Log().value(0.0, 1.0)), 6)
    0.693147
    """

    labels: ClassVar[bool] = True

    def value(self, z, y):
        return max(0.0, -y * z) + log_of_one_and(decay(abs(y * z)))

    def slope(self, z, y):
        e = decay(abs(y * z))
        return -y * (e if y * z > 0.0 else 1.0) / (1.0 + e)

    def curvature(self):
        return 0.25

    def bend(self, z, y):
        e = decay(abs(y * z))  # as in the slope, so that both take one exponential
        return e / ((1.0 + e) * (1.0 + e))

    def dual_bounds(self, y):
        return min(y, 0.0), max(y, 0.0)

    def conjugate(self, s, y):
        b = -y * s
        if b < 0.0 or b > 1.0:
            return math.inf
        u = min(
            b, 1.0 - b
        )  # b log b + (1 - b) log(1 - b), which takes one logarithm of many digits
        if u == 0.0:
            return 0.0
        e = u / (1.0 - u)
        return u * math.log(e) - log_of_one_and(e)

    def dual_step(self, a, z, h, y):
        # u = start + h b with b = 1 / (1 + exp(u)), solved by Halley's method inside a bracket.
        # It is narrow for any h because b < exp(-u) and 1 - b < exp(u).
        start = y * (z - h * a)
        reach = h if h < 4.0 else math.log1p(h)
        low = max(start, min(start + h, 0.0) - reach)
        high = min(start + h, max(start, 0.0) + reach)
        u, b = y * z, y * a
        if 1e-9 < b < 1.0 - 1e-9:  # where the tangent at the old b meets the line
            weight = h * b * (1.0 - b)
            u = (u + weight * math.log((1.0 - b) / b)) / (1.0 + weight)
        u = min(max(u, low), high)
        for _ in range(100):
            e = decay(abs(u))
            b = (e if u > 0.0 else 1.0) / (1.0 + e)
            error = u - start - h * b
            if error > 0.0:
                high = u
            else:
                low = u
            fall = b * (1.0 - b)
            part = 1.0 / (1.0 + h * fall)
            step = error * part
            if abs(step) <= 1e-3:
                step *= 1.0 - (0.5 - b) * step * (1.0 - part)
                if low < u - step < high:  # exact but for the cube of the step
                    return y * (b + step * fall * (1.0 + (0.5 - b) * step))
            if abs(step) <= 1e-14 * (1.0 + abs(u)):
                break
            u -= step
            if not low < u < high:
                u = 0.5 * (low + high)
        return y * b
