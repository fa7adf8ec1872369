"""The frame of a loss: what is found numerically unless a loss knows better (see `losses`)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from skimlearn._jit import Formula

__all__ = ["FAR", "TINY", "Loss"]

FAR = 1e15  # farther than any response: beyond it a slope is taken as its limit
HUGE = 1e300  # twice of it is still finite
TINY = 1e-30  # keeps a step finite for a row of zeros


@dataclass(frozen=True)
class Loss(Formula):
    """The base class of losses: `value` and `slope` are all that a new one must define.

    What else is needed is found numerically, unless the subclass knows better.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from skimlearn import LinearRegressor, losses
    >>> @dataclass(frozen=True)
    ... class Pinball(losses.Loss):  # its regression is that of a quantile
    ...     q: float = 0.5
    ...
    ...     def value(self, z, y):
    ...         return max(self.q * (y - z), (self.q - 1.0) * (y - z))
    ...
    ...     def slope(self, z, y):
    ...         return -self.q if z < y else 1.0 - self.q
    >>> X, y = [[0.0], [0.0], [0.0], [0.0], [0.0]], [1.0, 2.0, 3.0, 4.0, 5.0]
    >>> round(float(LinearRegressor(loss=Pinball(q=0.7), tol=1e-9).fit(X, y).intercept_), 3)
    4.0
    """

    labels: ClassVar[bool] = False
    searches: ClassVar[bool] = True
    quadratic: ClassVar[bool] = False

    def value(self, z, y):
        """l(z, y)."""
        raise TypeError("a loss defines value(self, z, y)")

    def slope(self, z, y):
        """The derivative of the loss in z."""
        raise TypeError("a loss defines slope(self, z, y)")

    def curvature(self):
        """A bound on the derivative of the slope."""
        return math.inf

    def bend(self, z, y):
        """The derivative of the slope at z, by a difference."""
        step = 1e-6 * (1.0 + abs(z))
        return max(self.slope(z + step, y) - self.slope(z - step, y), 0.0) / (2.0 * step)

    def dual_bounds(self, y):
        """The least and the greatest value of -slope."""
        low = -self.slope(FAR, y)
        high = -self.slope(-FAR, y)
        return low, high

    def conjugate(self, s, y):
        """max over z of s z - l(z, y), by bisection on the slope."""
        low, high = self.dual_bounds(y)
        if -s < low or -s > high:
            return math.inf
        reach = 1.0 + abs(y)
        while reach < FAR and (self.slope(-reach, y) > s or self.slope(reach, y) < s):
            reach *= 2.0
        left, right = -reach, reach
        for _ in range(110):
            middle = 0.5 * (left + right)
            if self.slope(middle, y) < s:
                left = middle
            else:
                right = middle
        return max(s * left - self.value(left, y), s * right - self.value(right, y))

    def dual_step(self, a, z, h, y):
        """The maximiser of -l*(-a') - (a' - a) z - h (a' - a)^2 / 2, as a proximal point.

        With u = z + v the point where v + h (a + slope(u)) changes its sign, the answer is
        a + v / h: bisection between v = 0 and v = -h (a + slope(z)).
        """
        h = max(h, TINY)
        reach = min(max(-h * (a + self.slope(z, y)), -HUGE), HUGE)
        left, right = min(reach, 0.0), max(reach, 0.0)
        for _ in range(1100):  # so many only if the slope overflows at z
            middle = 0.5 * (left + right)
            if right - left <= 3e-16 * (abs(z) + abs(middle)):
                break
            if middle + h * (a + self.slope(z + middle, y)) < 0.0:
                left = middle
            else:
                right = middle
        # without a kink at u the bounds are close to each other, and sharper than the quotient
        return min(max(a + left / h, -self.slope(z + right, y)), -self.slope(z + left, y))
