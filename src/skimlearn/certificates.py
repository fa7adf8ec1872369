"""Certificates: how far an answer can be from the optimum.

For the problem of `skimlearn.problem` and any dual variables a_i in the range of -loss',

    D(a) = -alpha r*(theta) - B(e) - (1 / n) sum m_i loss*(-a_i, y_i)  <=  min P,
    theta = sum m_i a_i x_i / (alpha n),      e = sum m_i a_i / (alpha n),

with B = 0 without a bias, alpha e^2 / 2 with a regularized one, and the constraint e = 0 with a
free one. Every a gives a valid bound; good ones are minus the slopes at the answer, and what a
solver gathers on its way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.rows import combine, responses
from skimlearn.problem import Problem

__all__ = ["best_bias", "dual", "feasible", "primal", "regularized", "slopes"]

Vector = NDArray[np.float64]


class Primal(NamedTuple):
    """An answer and what it costs."""

    w: Vector
    b: float
    value: float
    z: Vector  # responses <w, x_i>, without the bias


class Dual(NamedTuple):
    """A lower bound and the variables behind it."""

    value: float
    a: Vector
    theta: Vector


def regularized(problem: Problem, w: Vector, b: float = 0.0) -> tuple[Primal, Dual]:
    """Certify an answer: its value, and a lower bound from its slopes.

    A free bias is solved for exactly: ``b`` is then only where the search begins.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=1.0)
    >>> answer, bound = regularized(problem, np.array([0.5]))
    >>> answer.value, bound.value
    (0.625, 0.5)
    """
    answer = primal(problem, w, b)
    return answer, dual(problem, slopes(problem, answer))


def primal(problem: Problem, w: Vector, b: float = 0.0, z: Vector | None = None) -> Primal:
    """The value of an answer; reads all rows once unless the responses ``z`` are given."""
    if z is None:
        z = np.empty(problem.n)
        responses(problem.rows, w, z)
    if problem.bias == "free":
        b = best_bias(problem, z, b)
    elif problem.bias == "none":
        b = 0.0
    value = problem.alpha * problem.regularizer.penalty(w)
    if problem.bias == "regularized":
        value += 0.5 * problem.alpha * b * b
    value += _mean_loss(problem.loss, z, b, problem.y, problem.weights)
    return Primal(w, b, value if math.isfinite(value) else math.inf, z)


def slopes(problem: Problem, answer: Primal) -> Vector:
    """Dual variables from an answer: minus the slopes of the loss."""
    a = np.empty(problem.n)
    _minus_slopes(problem.loss, answer.z, answer.b, problem.y, a)
    return feasible(problem, a)


def feasible(problem: Problem, a: Vector) -> Vector:
    """The variables moved into the domain of the dual problem."""
    a = a.copy()
    _clip(problem.loss, problem.y, a)
    if problem.bias == "free":
        _balance(a, problem.weights)
    return a


def dual(problem: Problem, a: Vector, theta: Vector | None = None) -> Dual:
    """The lower bound of feasible variables; reads the rows of nonzero ones once."""
    scale = 1.0 / (problem.alpha * problem.n)
    if theta is None:
        theta = np.zeros(problem.d)
        combine(problem.rows, a * problem.weights * scale, theta)
    value = -problem.alpha * problem.regularizer.penalty_dual(theta)
    if problem.bias == "regularized":
        e = float(a @ problem.weights) * scale
        value -= 0.5 * problem.alpha * e * e
    value -= _mean_conjugate(problem.loss, a, problem.y, problem.weights)
    return Dual(value if math.isfinite(value) else -math.inf, a, theta)


def best_bias(problem: Problem, z: Vector, start: float = 0.0) -> float:
    """The bias that minimises the mean loss of the responses z, without reading data."""
    if not math.isfinite(start):
        start = 0.0
    return float(_best_bias(problem.loss, z, problem.y, problem.weights, start))


# ---------------------------------------------------------------------------------------- kernels


@kernel
def _mean_loss(loss, z, b, y, m):
    total = 0.0
    for i in range(len(z)):
        if m[i] > 0.0:
            total += m[i] * loss.value(z[i] + b, y[i])
    return total / len(z)


@kernel
def _mean_conjugate(loss, a, y, m):
    total = 0.0
    for i in range(len(a)):
        if m[i] > 0.0:
            total += m[i] * loss.conjugate(-a[i], y[i])
    return total / len(a)


@kernel
def _minus_slopes(loss, z, b, y, out):
    for i in range(len(z)):
        out[i] = -loss.slope(z[i] + b, y[i])


@kernel
def _clip(loss, y, a):
    for i in range(len(a)):
        low, high = loss.dual_bounds(y[i])
        a[i] = min(max(a[i], low), high)


@kernel
def _balance(a, m):
    """Make sum m_i a_i zero by shrinking the side with the larger sum."""
    up, down = 0.0, 0.0
    for i in range(len(a)):
        if a[i] > 0.0:
            up += m[i] * a[i]
        else:
            down -= m[i] * a[i]
    shrink_up = down / up if up > down else 1.0
    shrink_down = up / down if down > up else 1.0
    for i in range(len(a)):
        a[i] *= shrink_up if a[i] > 0.0 else shrink_down


@kernel
def _mean_slope(loss, z, b, y, m):
    total = 0.0
    for i in range(len(z)):
        if m[i] > 0.0:
            total += m[i] * loss.slope(z[i] + b, y[i])
    return total / len(z)


@kernel
def _best_bias(loss, z, y, m, start):
    """Where the mean slope changes its sign: bisection, with secant steps where they help."""
    at = _mean_slope(loss, z, start, y, m)
    if at == 0.0:
        return start
    left, right, slope_left, slope_right, reach = start, start, at, at, 0.01 * (1.0 + abs(start))
    while slope_right < 0.0 and reach < 1e15:
        left, slope_left = right, slope_right
        right += reach
        reach *= 4.0
        slope_right = _mean_slope(loss, z, right, y, m)
    while slope_left > 0.0 and reach < 1e15:
        right, slope_right = left, slope_left
        left -= reach
        reach *= 4.0
        slope_left = _mean_slope(loss, z, left, y, m)
    for step in range(200):
        if not right - left > 2e-16 * (abs(left) + abs(right)):
            break
        middle = 0.5 * (left + right)
        if step % 2 == 1:  # a secant step, kept off the ends of the bracket
            secant = left - slope_left * (right - left) / (slope_right - slope_left)
            margin = 1e-3 * (right - left)
            if left + margin < secant < right - margin:
                middle = secant
        if not left < middle < right:
            break
        slope = _mean_slope(loss, z, middle, y, m)
        if slope == 0.0:
            return middle
        if slope < 0.0:
            left, slope_left = middle, slope
        else:
            right, slope_right = middle, slope
    # the losses at both ends are equal up to rounding, unless the slope jumps: take the lower one
    if _mean_loss(loss, z, left, y, m) <= _mean_loss(loss, z, right, y, m):
        return left
    return right
