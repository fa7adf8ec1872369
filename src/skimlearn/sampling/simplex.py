r"""Distributions over rows: projections and support functions that margins and games need.

===================  =============================================================================
`softmax`            p in proportion to exp(L), without overflow
`capped_softmax`     its projection on {p <= cap} in relative entropy: p_i = min(cap, c exp(L_i))
`top_mass`           max of p.xi over 0 <= xi <= cap, sum xi <= budget: the largest p_i first
`water_level`        max g with sum max(0, g - c_i) <= budget and g <= min c + cap
===================  =============================================================================

See Hazan, Koren and Srebro, "Beating SGD: learning SVMs in sublinear time" (2011); the fractional
remainder of the slack that its greedy rule drops is kept here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["capped_softmax", "softmax", "top_mass", "water_level"]

Vector = NDArray[np.float64]


def softmax(log_weights: Vector) -> Vector:
    """Probabilities in proportion to exp(log_weights).

    Examples
    --------
    >>> softmax(np.array([0.0, 1000.0]))
    array([0., 1.])
    """
    p = np.exp(log_weights - log_weights.max())
    return p / p.sum()


def capped_softmax(log_weights: Vector, cap: float) -> Vector:
    """The distribution with p_i <= cap that is nearest to softmax in relative entropy.

    Examples
    --------
    >>> capped_softmax(np.array([0.0, 0.0, 9.0]), 0.5)
    array([0.25, 0.25, 0.5 ])
    """
    n = len(log_weights)
    if not cap * n >= 1.0 - 1e-12:
        raise ValueError(f"cap={cap!r} must be at least 1/n = {1.0 / n:.3g}")
    if cap * n <= 1.0 + 1e-12:
        return np.full(n, 1.0 / n)
    if cap >= 1.0:
        return softmax(log_weights)
    falling = np.sort(log_weights)[::-1]
    tails = np.logaddexp.accumulate(falling[::-1])[::-1]  # log of the sum from here on
    capped = np.arange(min(n, math.ceil(1.0 / cap)))  # if so many are at the cap,
    factor = np.log1p(-np.minimum(capped * cap, 1.0 - 1e-16)) - tails[capped]  # the others get this
    k = int(np.argmax(factor + falling[capped] <= math.log(cap) + 1e-12))
    return np.minimum(cap, np.exp(np.minimum(log_weights + factor[k], 0.0)))


def top_mass(p: Vector, budget: float, cap: float) -> float:
    """The largest p.xi over 0 <= xi_i <= cap with sum xi <= budget.

    Examples
    --------
    >>> top_mass(np.array([0.5, 0.3, 0.2]), 3.0, 2.0)
    1.3
    """
    whole = min(int(budget / cap + 1e-12), len(p))
    falling = np.sort(p)[::-1]
    value = cap * float(falling[:whole].sum())
    if whole < len(p):
        value += (budget - whole * cap) * float(falling[whole])
    return value


def water_level(c: Vector, budget: float, cap: float = np.inf) -> float:
    """The largest g with sum of max(0, g - c_i) at most the budget, and g <= min c + cap.

    Examples
    --------
    >>> water_level(np.array([0.0, 1.0, 5.0]), 2.0)
    1.5
    """
    rising = np.sort(c)
    levels = (budget + np.cumsum(rising)) / np.arange(1, len(c) + 1)
    enough = np.append(levels[:-1] <= rising[1:], True)
    return float(min(levels[int(np.argmax(enough))], rising[0] + cap))
