"""How far to go along a direction: the slope along it tells, which needs no data."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.problem import Problem

Vector = NDArray[np.float64]


def step_length(
    problem: Problem,
    z: Vector,
    along: Vector,
    line: tuple[float, float],
    begin: float,
    *,
    a: Vector,
    h: float = 0.0,
    enough: float = 0.1,
) -> float:
    """A step that goes down: the slope along the direction is not yet positive at its end.

    ``z`` and ``along`` are the responses and their changes, with the bias; ``line`` is the slope of
    the regularizer along the direction at 0, and how fast it grows; ``begin`` is the slope of all.
    With h > 0 the loss has a proximal term of this weight around the dual variables ``a``. A full
    step is taken if its slope is at most ``enough`` times that of the beginning.
    """

    def slope(step: float) -> float:
        losses = _slope_along(
            problem.loss, a, z, along, step, h, problem.y, problem.weights
        )  # fmt: skip
        return float(losses + line[0] + step * line[1])

    if not begin < 0.0:
        return 0.0
    low, high, end = 0.0, 1.0, slope(1.0)
    if end <= enough * abs(begin):
        return 1.0
    middle = begin / (begin - end)  # where a straight slope would be zero
    for _ in range(200):  # the slope changes its sign in between; stay where it is negative
        at = slope(middle)
        if at > 0.0:
            high = middle
        else:
            low = middle
            if at >= 0.5 * begin:
                break
        middle = 0.5 * (low + high)
    return low


@kernel
def _slope_along(loss, a, z, along, step, h, y, m):
    """The derivative of the mean smoothed loss along a direction."""
    total = 0.0
    if h > 0.0:
        for i in range(len(z)):
            if m[i] > 0.0:
                total -= m[i] * loss.dual_step(a[i], z[i] + step * along[i], h, y[i]) * along[i]
    else:
        for i in range(len(z)):  # without branches: it runs on vectors
            total += (m[i] * along[i]) * loss.slope(z[i] + step * along[i], y[i])
        if math.isnan(total):  # rows of weight 0 may be infinitely wrong
            total = 0.0
            for i in range(len(z)):
                if m[i] > 0.0:
                    total += m[i] * along[i] * loss.slope(z[i] + step * along[i], y[i])
    return total / len(z)
