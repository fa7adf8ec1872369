"""Losses of a number y: what the error z - y costs. See `losses`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from skimlearn.formulas._loss import TINY, Loss

__all__ = ["Absolute", "EpsilonInsensitive", "Huber", "Squared"]


@dataclass(frozen=True)
class Squared(Loss):
    """(z - y)^2 / 2: half the squared error.

    Examples
    --------
    >>> Squared().value(3.0, 1.0)
    2.0
    """

    searches: ClassVar[bool] = False
    quadratic: ClassVar[bool] = True

    def value(self, z, y):
        return 0.5 * (z - y) * (z - y)

    def slope(self, z, y):
        return z - y

    def curvature(self):
        return 1.0

    def bend(self, z, y):
        return 1.0

    def dual_bounds(self, y):
        return -math.inf, math.inf

    def conjugate(self, s, y):
        return s * y + 0.5 * s * s

    def dual_step(self, a, z, h, y):
        return a + (y - z - a) / (1.0 + h)


@dataclass(frozen=True)
class Absolute(Loss):
    """|z - y|: the error itself, whose best constant is the median.

    Examples
    --------
    >>> Absolute().value(3.0, 1.0)
    2.0
    """

    searches: ClassVar[bool] = False

    def value(self, z, y):
        return abs(z - y)

    def slope(self, z, y):
        return 1.0 if z > y else -1.0

    def dual_bounds(self, y):
        return -1.0, 1.0

    def conjugate(self, s, y):
        return s * y if abs(s) <= 1.0 else math.inf

    def dual_step(self, a, z, h, y):
        return min(max(a + (y - z) / max(h, TINY), -1.0), 1.0)


@dataclass(frozen=True)
class Huber(Loss):
    """Half the squared error up to ``delta``, linear beyond: robust against outliers.

    Examples
    --------
    >>> Huber(delta=1.0).value(3.0, 0.0)
    2.5
    """

    searches: ClassVar[bool] = False
    delta: float = 1.0

    def __post_init__(self):
        if not 0.0 < self.delta < math.inf:
            raise ValueError(f"delta={self.delta!r} of the Huber loss must be positive and finite")

    def value(self, z, y):
        r = abs(z - y)
        return 0.5 * r * r if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    def slope(self, z, y):
        return min(max(z - y, -self.delta), self.delta)

    def curvature(self):
        return 1.0

    def bend(self, z, y):
        return 1.0 if abs(z - y) < self.delta else 0.0

    def dual_bounds(self, y):
        return -self.delta, self.delta

    def conjugate(self, s, y):
        return s * y + 0.5 * s * s if abs(s) <= self.delta else math.inf

    def dual_step(self, a, z, h, y):
        return min(max(a + (y - z - a) / (1.0 + h), -self.delta), self.delta)


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |z - y| - epsilon): errors up to ``epsilon`` cost nothing.

    Examples
    --------
    >>> EpsilonInsensitive(epsilon=0.5).value(3.0, 1.0)
    1.5
    """

    searches: ClassVar[bool] = False
    epsilon: float = 0.1

    def __post_init__(self):
        if not 0.0 <= self.epsilon < math.inf:
            raise ValueError(
                f"epsilon={self.epsilon!r} of the epsilon-insensitive loss must be finite and >= 0"
            )

    def value(self, z, y):
        return max(0.0, abs(z - y) - self.epsilon)

    def slope(self, z, y):
        if z > y + self.epsilon:
            return 1.0
        return -1.0 if z < y - self.epsilon else 0.0

    def dual_bounds(self, y):
        return -1.0, 1.0

    def conjugate(self, s, y):
        return s * y + self.epsilon * abs(s) if abs(s) <= 1.0 else math.inf

    def dual_step(self, a, z, h, y):
        h = max(h, TINY)
        v = a + (y - z) / h
        shrunk = max(abs(v) - self.epsilon / h, 0.0)
        return min(max(math.copysign(shrunk, v), -1.0), 1.0)
