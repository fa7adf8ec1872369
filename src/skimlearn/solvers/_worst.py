r"""What a margin is when some rows may be violated: its value, its bound, its best scale and bias.

With responses c_i = <a_i, x> + y_i b and rows no longer than R:

=======  ===========================================  =========================================
form     value of (x, b)                              bound from a distribution p
=======  ===========================================  =========================================
hard     min c                                        ||A'p|| + R |p.y|
nu       max g <= min c + 2R with                     the same + max of p.xi over 0 <= xi <= 2R,
         sum max(0, g - c_i) <= nu n                  sum xi <= nu n
kappa    mean of the kappa n least c                  that of hard, for p_i <= 1 / (kappa n)
=======  ===========================================  =========================================

The term |p.y| is there if there is a bias b, |b| <= R.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from skimlearn.sampling.simplex import capped_softmax, top_mass, water_level
from skimlearn.solvers._margin_bounds import best_scale_and_bias, soft_value, split

__all__ = ["Worst"]

Vector = NDArray[np.float64]
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Worst:
    """Which rows a margin is measured by."""

    n: int
    length: float  # R
    nu: float = 0.0
    cap: float = 1.0  # 1 / (kappa n)
    bias: bool = False

    def value(self, c: Vector) -> float:
        """The margin that responses have."""
        if self.nu > 0.0:
            return water_level(c, self.nu * self.n, 2.0 * self.length)
        return soft_value(c, self.cap)

    def level(self, c: Vector) -> float:
        """The response up to which a row counts, or is given slack."""
        if self.cap >= 1.0:
            return self.value(c)
        last = min(math.ceil(1.0 / self.cap - 1e-9), self.n) - 1
        return float(np.partition(c, last)[last])

    def allowed(self, p: Vector) -> tuple[Vector, float]:
        """A distribution near p on the same rows whose p_i respect the cap, and how far it is.

        The distance is the sum of all changes: ||A'p|| changes by R times that at most. It is
        infinite if p has too few rows for the cap.
        """
        if float(p.max()) <= self.cap * (1.0 + 1e-9):
            return p, 0.0
        rows = np.flatnonzero(p)
        if len(rows) * self.cap < 1.0:
            return p, math.inf
        near = np.zeros_like(p)
        near[rows] = capped_softmax(np.log(p[rows]), self.cap)
        return near, float(np.abs(near - p).sum())

    def bound(self, norm: float, p: Vector, y: Vector) -> float:
        """No margin is greater, given ||A'p|| (in the dual norm); infinite if p is not allowed."""
        if float(p.max()) > self.cap * (1.0 + 1e-9):
            return math.inf
        value = norm
        if self.bias:
            value += self.length * abs(float(p @ y))
        if self.nu > 0.0:
            value += top_mass(p, self.nu * self.n, 2.0 * self.length)
        return value

    def improve(self, c: Vector, y: Vector, norm: float, bias: float) -> tuple[float, float, float]:
        """The best multiple of x and the best bias, given the responses of x without a bias.

        Returns the value, the factor of x and the bias. The value is concave in both.
        """
        if self.nu == 0.0:
            sides = split(y, self.cap, bias=self.bias)
            answer = best_scale_and_bias(c, norm, y, sides, self.length)
            return answer.value, answer.scale, answer.bias
        longest = 1.0 / norm if norm > 0.0 else 0.0
        value, factor, best = -math.inf, longest, bias
        for _ in range(3):  # with slack neither is known in closed form: each in its turn
            before = value
            if self.bias:
                at = partial(self._at, y, factor * c)
                value, best = _maximise(at, -self.length, self.length, best)
            at = partial(self._at, c, best * y)
            reached, other = _maximise(at, 0.0, longest, factor)
            if reached >= value:
                value, factor = reached, other
            if not self.bias or value <= before + 1e-9 * self.length:
                break
        nothing = self.value(np.zeros_like(c))
        return (value, factor, best) if value > nothing else (nothing, 0.0, 0.0)

    def _at(self, c: Vector, offset: Vector, factor: float) -> float:
        return self.value(factor * c + offset)


def _maximise(
    function: Callable[[float], float], low: float, high: float, guess: float
) -> tuple[float, float]:
    """The maximum of a concave function on an interval by golden section, and where it is."""
    value, at = function(guess), guess
    for end in (low, high):
        if (reached := function(end)) > value:
            value, at = reached, end
    width = high - low
    left, right = high - GOLDEN * width, low + GOLDEN * width
    at_left, at_right = function(left), function(right)
    while high - low > 1e-7 * width:
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(right)
        for reached, place in ((at_left, left), (at_right, right)):
            if reached > value:
                value, at = reached, place
    return value, at
