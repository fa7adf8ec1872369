r"""The laws that sublinear algorithms draw from, and the estimates they make of inner products.

To estimate <a, x> for every row a at once, draw one coordinate j with probability
|x_j|^q / ||x||_q^q and take ``a_j ||x||_q^q / (|x_j|^(q-1) sign x_j)``. It is unbiased, and its
second moment is at most ||a||_p^2 ||x||_q^2 with 1/p + 1/q = 1. For q = 2 this is l2-sampling: the
column of coordinate j times ||x||^2 / x_j. For x = 0 the estimate is 0, which is exact.

`median_of_means` turns such estimates into one that fails with a chosen probability only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel

__all__ = ["draw_power", "gumbel_draw", "median_of_means", "plan_median_of_means"]


@kernel
def draw_power(x, q, u):
    """Draw j in proportion to |x_j|^q; return it and the factor of the estimate, or -1 and 0.

    The estimate of <a, x> is the factor times a_j. ``u`` is uniform in [0, 1).
    """
    largest = 0.0
    for j in range(len(x)):
        largest = max(largest, abs(x[j]))
    if not largest > 0.0:
        return -1, 0.0
    total = 0.0
    for j in range(len(x)):
        share = abs(x[j]) / largest
        total += share * share if q == 2.0 else share**q
    rest, chosen, weight = u * total, -1, 0.0
    for j in range(len(x)):
        share = abs(x[j]) / largest
        power = share * share if q == 2.0 else share**q
        if power > 0.0:
            chosen, weight = j, power
            if rest < power:
                break
        rest -= power
    return chosen, x[chosen] * (total / weight)


@kernel
def gumbel_draw(log_weights, u):
    """Draw i in proportion to exp(log_weights_i) in one pass, without normalising.

    ``u`` holds a uniform number in (0, 1) for each weight.
    """
    best, at = -np.inf, -1
    for i in range(len(log_weights)):
        value = log_weights[i] - math.log(-math.log(u[i]))
        if value > best:
            best, at = value, i
    return at


def plan_median_of_means(eps: float, delta: float) -> tuple[int, int]:
    """How many draws per group, and groups, for an error of eps with probability 1 - delta.

    It holds for estimates whose second moment is at most 1: a group errs by more than eps with
    probability at most 1/4 (Chebyshev), the median with probability exp(-groups / 8) (Hoeffding).

    Examples
    --------
    >>> plan_median_of_means(0.1, 0.01)
    (400, 37)
    """
    if not eps > 0.0:
        raise ValueError(f"eps={eps!r} must be positive")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta={delta!r} must lie between 0 and 1")
    return math.ceil(4.0 / eps**2 - 1e-9), math.ceil(8.0 * math.log(1.0 / delta))


def median_of_means(estimates: NDArray[np.float64], groups: int) -> NDArray[np.float64]:
    """The median over groups of the mean within a group, along the last axis.

    Examples
    --------
    >>> float(median_of_means(np.array([1.0, 1.0, 2.0, 2.0, 900.0, 0.0]), 3))
    2.0
    """
    values = np.asarray(estimates, dtype=np.float64)
    if not 1 <= groups <= values.shape[-1]:
        raise ValueError(f"groups={groups!r} must lie between 1 and {values.shape[-1]}")
    size = values.shape[-1] // groups
    parts = values[..., : groups * size].reshape(*values.shape[:-1], groups, size)
    return np.median(parts.mean(axis=-1), axis=-1)
