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
from skimlearn.data.rows import add, combine_weighted, dot, responses
from skimlearn.formulas.losses import is_ours
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem

__all__ = [
    "at_slopes",
    "at_zero",
    "best_bias",
    "dual",
    "feasible",
    "looked_at",
    "primal",
    "regularized",
    "slopes",
]

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
    if problem.bias == "free":
        answer = primal(problem, w, b)
        return answer, at_slopes(problem, answer, slopes(problem, answer))
    answer, a, theta = looked_at(problem, w, b)
    return answer, at_slopes(problem, answer, a, theta)


def looked_at(problem: Problem, w: Vector, b: float) -> tuple[Primal, Vector, Vector]:
    """An answer, its `slopes` and their dual vector; the bias is not free.

    Slopes that cost little are found while a row is at hand, so that it is read once. Those of a
    loss without closed forms take longer one by one than a second reading.
    """
    b = 0.0 if problem.bias == "none" else b
    scale, theta = 1.0 / (problem.alpha * problem.n), np.zeros(problem.d)
    if problem.loss.searches:
        answer = primal(problem, w, b)
        a = slopes(problem, answer)
        combine_weighted(problem.rows, a, problem.weights, scale, theta)
        return answer, a, theta
    z, a = np.empty(problem.n), np.empty(problem.n)
    _look(problem.rows, problem.loss, w, b, problem.y, problem.weights, scale, z, a, theta)
    return primal(problem, w, b, z), a, theta


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


def at_zero(problem: Problem) -> tuple[Primal, Dual]:
    """The answer w = 0 and the bound of a = 0, without reading data.

    Where targets are labels, two numbers are all there is to know of them. The vectors of zeros
    take no memory: they are read-only views of one number.
    """
    y, m = problem.y, problem.weights
    if problem.loss.labels:
        positive = float(m @ (y > 0.0)) / problem.n
        y, m = np.array([-1.0, 1.0]), 2.0 * np.array([1.0 - positive, positive])
    z, b = np.zeros(len(y)), 0.0
    if problem.bias == "free":
        b = float(_best_bias(problem.loss, z, y, m, 0.0))
    value = float(_mean_loss(problem.loss, z, b, y, m))
    bound = -float(_mean_conjugate(problem.loss, z, y, m))
    none = np.zeros(1)  # the formulas of regularizers are zero there, whatever the length
    weights, zeros = np.broadcast_to(0.0, problem.d), np.broadcast_to(0.0, problem.n)
    return (
        Primal(weights, b, value + problem.alpha * problem.regularizer.penalty(none), zeros),
        Dual(bound - problem.alpha * problem.regularizer.penalty_dual(none), zeros, weights),
    )


def mean_loss(problem: Problem, z: Vector, b: float) -> float:
    """The mean loss of responses."""
    return float(_mean_loss(problem.loss, z, b, problem.y, problem.weights))


def mean_conjugate(problem: Problem, a: Vector) -> float:
    """The mean conjugate of dual variables."""
    return float(_mean_conjugate(problem.loss, a, problem.y, problem.weights))


def slopes(problem: Problem, answer: Primal) -> Vector:
    """Dual variables from an answer: minus the slopes of the loss."""
    a = np.empty(problem.n)
    _minus_slopes(problem.loss, answer.z, answer.b, problem.y, a)
    return confined(problem, a)


def feasible(problem: Problem, a: Vector) -> Vector:
    """The variables moved into the domain of the dual problem."""
    return confined(problem, a.copy())


def confined(problem: Problem, a: Vector) -> Vector:
    """The same in place."""
    _clip(problem.loss, problem.y, a)
    if problem.bias == "free":
        _balance(a, problem.weights)
    return a


def clipped(problem: Problem, a: Vector) -> Vector:
    """The variables moved into the range of minus the slopes, each for itself."""
    a = a.copy()
    _clip(problem.loss, problem.y, a)
    return a


def inner(problem: Problem, a: Vector) -> NDArray[np.bool_]:
    """Which variables are neither zero nor at an end of their range; rows of weight 0 have none."""
    found = np.empty(len(a), dtype=np.bool_)
    _mark_inner(problem.loss, problem.y, problem.weights, a, found)
    return found


def dual(problem: Problem, a: Vector, theta: Vector | None = None) -> Dual:
    """The lower bound of feasible variables; reads the rows of nonzero ones once."""
    scale = 1.0 / (problem.alpha * problem.n)
    if theta is None:
        theta = np.zeros(problem.d)
        combine_weighted(problem.rows, a, problem.weights, scale, theta)
    value = -problem.alpha * problem.regularizer.penalty_dual(theta)
    if problem.bias == "regularized":
        e = float(a @ problem.weights) * scale
        value -= 0.5 * problem.alpha * e * e
    value -= _mean_conjugate(problem.loss, a, problem.y, problem.weights)
    return Dual(value if math.isfinite(value) else -math.inf, a, theta)


def at_slopes(problem: Problem, answer: Primal, a: Vector, theta: Vector | None = None) -> Dual:
    """The lower bound of ``a``, the `slopes` at an answer; ``theta`` is theirs, if it is known.

    There loss + conjugate = -a times the response, so that with p = 2 the gap is the distance of
    the weights from theta, and no conjugate is needed. Slopes that had to be balanced, or of a loss
    of the user, whose formulas may not agree to the last digit, go the general way.
    """
    plain = isinstance(problem.regularizer, SquaredL2) and is_ours(problem.loss)
    if problem.bias == "free" or not plain:
        return dual(problem, a, theta)
    scale = 1.0 / (problem.alpha * problem.n)
    if theta is None:
        theta = np.zeros(problem.d)
        combine_weighted(problem.rows, a, problem.weights, scale, theta)
    off = answer.w - theta
    distance = float(off @ off)
    if problem.bias == "regularized":
        distance += (answer.b - float(a @ problem.weights) * scale) ** 2
    value = answer.value - 0.5 * problem.alpha * distance
    return Dual(value if math.isfinite(value) else -math.inf, a, theta)


def best_bias(problem: Problem, z: Vector, start: float = 0.0) -> float:
    """The bias that minimises the mean loss of the responses z, without reading data."""
    if not math.isfinite(start):
        start = 0.0
    return float(_best_bias(problem.loss, z, problem.y, problem.weights, start))


def middle_bias(problem: Problem, z: Vector, b: float) -> float:
    """The middle of the interval of biases that are as good as b, the best one.

    A loss made of straight pieces may have such an interval; its middle does not depend on where
    a search came from.
    """
    ends = [_flat_end(problem.loss, z, b, problem.y, problem.weights, sign) for sign in (-1.0, 1.0)]
    return float(0.5 * (ends[0] + ends[1])) if np.isfinite(ends).all() else b


# ---------------------------------------------------------------------------------------- kernels


@kernel
def _mean_loss(loss, z, b, y, m):
    total = _sum_of_losses(loss, z, b, y, m)
    if math.isnan(total):  # rows of weight 0 may be infinitely wrong
        total = 0.0
        for i in range(len(z)):
            if m[i] > 0.0:
                total += m[i] * loss.value(z[i] + b, y[i])
    return total / len(z)


@kernel
def _sum_of_losses(loss, z, b, y, m):
    total = 0.0
    for i in range(len(z)):  # without branches: it runs on vectors
        total += m[i] * loss.value(z[i] + b, y[i])
    return total


@kernel
def _mean_conjugate(loss, a, y, m):
    total = 0.0
    for i in range(len(a)):
        if m[i] > 0.0:
            total += m[i] * loss.conjugate(-a[i], y[i])
    return total / len(a)


@kernel
def _look(rows, loss, w, b, y, m, scale, z, a, theta):
    """Responses, dual variables and what these make of the rows, while each row is at hand."""
    for i in range(len(z)):
        z[i] = dot(rows, i, w)
        low, high = loss.dual_bounds(y[i])
        a[i] = min(max(-loss.slope(z[i] + b, y[i]), low), high)
        c = a[i] * m[i] * scale
        if c != 0.0:
            add(rows, i, c, theta)


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
def _mark_inner(loss, y, m, a, out):
    for i in range(len(a)):
        low, high = loss.dual_bounds(y[i])
        out[i] = m[i] > 0.0 and a[i] != 0.0 and low < a[i] < high


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
    total = _sum_of_slopes(loss, z, b, y, m)
    if math.isnan(total):  # rows of weight 0 may be infinitely wrong
        total = 0.0
        for i in range(len(z)):
            if m[i] > 0.0:
                total += m[i] * loss.slope(z[i] + b, y[i])
    return total / len(z)


@kernel
def _sum_of_slopes(loss, z, b, y, m):
    total = 0.0
    for i in range(len(z)):  # without branches: it runs on vectors
        total += m[i] * loss.slope(z[i] + b, y[i])
    return total


@kernel
def _flat_end(loss, z, b, y, m, sign):
    """How far the bias can go from b in one direction while the mean slope stays zero."""
    if _mean_slope(loss, z, b, y, m) != 0.0:
        return b
    step = 1e-12 * (1.0 + abs(b))
    while step < 1e15 and _mean_slope(loss, z, b + sign * step, y, m) == 0.0:
        step *= 4.0
    if step >= 1e15:
        return np.inf
    low, high = 0.0, step
    while high - low > 1e-15 * (abs(b) + high):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if _mean_slope(loss, z, b + sign * middle, y, m) == 0.0:
            low = middle
        else:
            high = middle
    return b + sign * low


@kernel
def _best_bias(loss, z, y, m, start):
    """Where the mean slope changes its sign, by Chandrupatla's method (1997).

    It takes steps of inverse quadratic interpolation where the slope is smooth, and halves the
    bracket where it jumps.
    """
    x1, f1 = start, _mean_slope(loss, z, start, y, m)
    x2, f2, reach = x1, f1, 0.01 * (1.0 + abs(start))
    while f1 * f2 > 0.0 and reach < 1e15:
        x2, f2 = x1, f1
        x1 -= math.copysign(reach, f1)
        f1 = _mean_slope(loss, z, x1, y, m)
        reach *= 4.0
    small = 1e-15 * abs(f1 - f2)
    t = 0.5
    for _ in range(200):
        if min(abs(f1), abs(f2)) <= small:
            break
        width = 2e-16 * (abs(x1) + abs(x2)) / abs(x2 - x1)
        if not width < 0.5:
            break
        x = x1 + min(max(t, width), 1.0 - width) * (x2 - x1)
        f = _mean_slope(loss, z, x, y, m)
        if f * f1 > 0.0:
            x3, f3 = x1, f1
        else:
            x3, f3, x2, f2 = x2, f2, x1, f1
        x1, f1 = x, f
        at, slope = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
        t = 0.5
        if slope**2 < at and (1.0 - slope) ** 2 < 1.0 - at:
            t = f1 / (f2 - f1) * f3 / (f2 - f3)
            t += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
    if abs(f2) < abs(f1):
        x1, f1, x2, f2 = x2, f2, x1, f1
    # where the slope jumps the two ends may differ: take the one with the lower loss
    jump = abs(f1) > 1e9 * small
    if jump and _mean_loss(loss, z, x2, y, m) < _mean_loss(loss, z, x1, y, m):
        return x2
    return x1
