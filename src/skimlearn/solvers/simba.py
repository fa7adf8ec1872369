r"""Margins from single rows and columns: the sublinear perceptron and SIMBA.

Problem, with rows a_i = y_i x_i of length at most R:

    max over ||x||_q <= 1, |b| <= R  of  the worst row of  <a_i, x> + y_i b,

where "worst" is the minimum (hard margin), the minimum after slack xi >= 0 with mean at most nu has
been given where it helps most (nu form), or the mean of the fraction kappa of rows that are worst
(kappa form). In the dual, a distribution p over rows is weighed by its most violated rows; in the
kappa form no p_i exceeds 1 / (kappa n).

A step, with s the sum of the rows drawn so far and x = s / max(sqrt(2 t) R, ||s||):

    draw a row i ~ p;  draw a column j ~ x_j^2;  v = column j * ||x||^2 / x_j + slack + b y
    p_k is multiplied by 1 - z + z^2, z = eta clip(v_k), eta = sqrt(log n / t);   s += a_i

It reads one row and one column (or ``batch`` columns, whose mean has less variance). The answer is
the mean of x, kept without touching what is not read; the dual one is the frequency of the rows
drawn, whose bound ||s|| / t needs no further reads. With q < 2 the same steps go through the link
of the p-norm.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), algorithm 1,
and Hazan, Koren and Srebro, "Beating SGD: learning SVMs in sublinear time" (2011), algorithm 1; the
fractional remainder of the slack, which the latter drops, is kept, and ties share it.

Where columns have few entries, the rows that they leave alone have factors in common, and a step
costs little more than what it reads (see `lazy_simba`). The slack of the nu form goes to other
rows at every step: there all n weights are passed over.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skimlearn._jit import lean_kernel
from skimlearn.data.rows import entry, size
from skimlearn.sampling.blocks import BLOCK, cut_draw, power_draw
from skimlearn.sampling.cuts import heaviest, shared_water
from skimlearn.sampling.team import (
    blocks_of,
    least,
    meet,
    share,
    shared_cut_sums,
    shared_power_sums,
    sum_of,
)
from skimlearn.sampling.tree import tree_build, tree_draw, tree_set, tree_total
from skimlearn.solvers._margin_state import BIASES, FACTORS, LENGTH, POWER, TOP, TOTAL, T
from skimlearn.solvers._skim import Method

__all__ = ["FLOOR", "RESCALE", "Simba", "add_row", "bias_of", "eta_of", "growth", "scale_of"]

FLOOR = 1e-250  # of the weights, after the largest is set to 1
RESCALE = 256  # steps: in between a weight grows by 3^256 at most


@dataclass(frozen=True)
class Simba(Method):
    """The settings of a run, and its step."""

    lean = True

    width: float = 2.0  # 1 + columns per step
    nu: float = 0.0  # mean slack, in the unit of the margin
    cap: float = 1.0  # of each p_i: 1 / (kappa n)
    bias: float = 0.0  # 1 to learn one
    q: float = 2.0
    rate: float = 1.0  # multiplies eta
    horizon: float = 0.0  # steps planned, or 0 for steps that need no plan

    @property
    def tracks(self) -> bool:
        """Whether exact responses of a part of x are kept; see `tracking`."""
        return False

    @property
    def lazy(self) -> bool:
        """Whether rows that are not read are left alone; see `lazy_simba`."""
        return False

    @property
    def soft(self) -> bool:
        """Whether every row is touched at every step (in arithmetic: nothing is read for it)."""
        return self.nu > 0.0 or self.cap < 1.0 or self.bias > 0.0 or self.width > 2.0

    def draw(self, state, u, picks):
        if len(state.row_tree) > 0:
            picks[0] = tree_draw(state.row_tree, u[0])
        else:
            top = state.scalars[TOP]
            total = shared_cut_sums(state.team, state.weights, top, state.row_sums)
            state.scalars[TOTAL] = total
            picks[0] = cut_draw(state.weights, top, state.row_sums, total, u[0])
        dual = self.q / (self.q - 1.0)
        if len(state.column_tree) > 0:
            for b in range(1, len(picks)):
                picks[b] = tree_draw(state.column_tree, u[b])
        elif state.scalars[POWER] > 0.0:
            total = shared_power_sums(state.team, state.s, dual, state.column_sums)
            for b in range(1, len(picks)):
                picks[b] = power_draw(state.s, dual, state.column_sums, total, u[b])
        else:
            picks[1:] = -1

    def column(self, state, columns, at, j):
        scale = scale_of(self, state, j)
        soft, tree = len(state.values) > 0, len(state.row_tree) > 0
        first, last = share(state.team, size(columns, at))
        if soft:
            for k in range(first, last):
                i, value = entry(columns, at, k)
                state.values[i] += scale * state.y[i] * value
        else:
            scale *= eta_of(self, state)
            for k in range(first, last):
                i, value = entry(columns, at, k)
                state.weights[i] *= growth(scale * state.y[i] * value)
        if tree:
            for k in range(size(columns, at)):
                i = np.int64(entry(columns, at, k)[0])
                tree_set(state.row_tree, i, state.weights[i])

    def row(self, state, rows, at, i):
        add_row(self, state, rows, at, i)
        if len(state.column_tree) > 0:
            dual = self.q / (self.q - 1.0)
            for k in range(size(rows, at)):
                j = np.int64(entry(rows, at, k)[0])
                tree_set(state.column_tree, j, abs(state.s[j]) ** dual)
            state.scalars[POWER] = tree_total(state.column_tree)

    def finish(self, state):
        scalars, team = state.scalars, state.team
        first, last = share(team, len(state.weights))
        if len(state.mass) > 0:
            factor = 1.0 / scalars[TOTAL]
            for i in range(first, last):
                state.mass[i] += factor * min(state.weights[i], scalars[TOP])
        if len(state.values) > 0:
            _apply(self, state)
        if self.cap < 1.0:
            scalars[TOP] = shared_water(team, state.weights, self.cap, scalars[TOP], state.parts)
        scalars[T] += 1.0
        if scalars[T] % RESCALE == 0.0:
            largest = -least(team, state.weights, -1.0, state.parts[0])
            for i in range(first, last):
                state.weights[i] = max(state.weights[i] / largest, FLOOR)
            scalars[TOP] /= largest
            if len(state.row_tree) > 0:
                tree_build(state.weights, state.row_tree)


@lean_kernel
def scale_of(method, state, j):
    """What the entries of column j are multiplied by, to be estimates of the responses.

    That of <a, x> is a_j ||x||_q^q / |x_j|^(q-1), here in units of the longest row.
    """
    factor, norm = _factor(method, state)
    scale = norm**method.q * factor ** (1.0 - method.q) / state.s[j] / state.scalars[LENGTH]
    return scale / (method.width - 1.0)


@lean_kernel
def add_row(method, state, rows, at, i):
    """Add a row to s, and what the mean of x needs to be told."""
    scalars, sign, team, lengths = state.scalars, state.y[i], state.team, state.parts[0]
    factor, _ = _factor(method, state)
    scalars[FACTORS] += factor
    now = scalars[FACTORS]
    if team.rank == 0:
        state.counts[i] += 1.0
    dual = method.q / (method.q - 1.0)
    first, last = share(team, size(rows, at))
    block = np.uint64(BLOCK)
    for start in range(first, last, block):
        part = 0.0
        if method.q == 2.0:
            for k in range(start, min(start + block, last)):
                j, value = entry(rows, at, k)
                state.s[j] += sign * value
                state.late[j] += now * (sign * value)
                part += value * value
        else:
            for k in range(start, min(start + block, last)):
                j, value = entry(rows, at, k)
                state.late[j] += _link(state.s[j], dual) * (now - state.last[j])
                state.last[j] = now
                state.s[j] += sign * value
                part += abs(value) ** dual
        lengths[np.int64(start) // BLOCK] = part
    if len(state.column_tree) == 0:
        scalars[POWER] = shared_power_sums(team, state.s, dual, state.column_sums)
    length = sum_of(lengths[: blocks_of(size(rows, at))])
    scalars[LENGTH] = max(scalars[LENGTH], length ** (1.0 / dual))


@lean_kernel
def eta_of(method, state):
    """The step of the weights; it is bounded so that z is small where v is not an outlier."""
    steps = method.horizon if method.horizon > 0.0 else state.scalars[T] + 1.0
    entropy = math.log(max(2.0, min(len(state.y), len(state.y) * method.cap)))
    batch = method.width - 1.0
    bound = 0.5  # 1 - z + z^2 falls with z up to there
    if method.nu > 0.0 or method.bias > 0.0:
        bound = min(bound, 1.0 / 6.0 if method.bias == 0.0 else 0.125)
    return min(bound, method.rate * math.sqrt(entropy * batch / steps))


@lean_kernel
def _factor(method, state):
    """x is the factor times link(s); and its norm ||x||_q."""
    power = state.scalars[POWER]
    if not power > 0.0:
        return 0.0, 0.0
    steps = method.horizon if method.horizon > 0.0 else state.scalars[T] + 1.0
    dual = method.q / (method.q - 1.0)
    root = math.sqrt(2.0 * steps / (method.q - 1.0)) * state.scalars[LENGTH]
    norm = min(1.0, power ** (1.0 / dual) / root)
    return norm / power ** (1.0 / method.q), norm


@lean_kernel
def _link(s, dual):
    """sign(s) |s|^(q* - 1): the direction of x_j, up to a common factor."""
    return math.copysign(abs(s) ** (dual - 1.0), s)


@lean_kernel
def growth(z):
    """1 - z + z^2 with z within [-1, 1]; nan for nan and infinity, so that a check finds them."""
    z = min(1.0, max(-1.0, z)) + 0.0 * z
    return 1.0 - z + z * z


@lean_kernel
def bias_of(state, lean, total):
    """The bias that is best for one class, if it weighs more than the other; noted in the sum."""
    bias = math.copysign(1.0, lean) if abs(lean) > 1e-12 * total else 0.0
    state.scalars[BIASES] += bias
    return bias


@lean_kernel
def _apply(method, state):
    """Give slack and bias to the rows that p weighs most, and multiply the weights."""
    n, scalars, weights = len(state.y), state.scalars, state.weights
    eta, bias = eta_of(method, state), 0.0
    first, last = share(state.team, n)
    if method.bias > 0.0:
        bias = bias_of(state, _lean(state), scalars[TOTAL])
    cut, rest = np.inf, 0.0
    if method.nu > 0.0:
        cut, rest = heaviest(weights, state.spare, method.nu * n / (2.0 * scalars[LENGTH]))
    for i in range(first, last):
        slack = 2.0 if weights[i] > cut else (rest if weights[i] == cut else 0.0)
        weights[i] *= growth(eta * (state.values[i] + slack + bias * state.y[i]))
        state.values[i] = 0.0


@lean_kernel
def _lean(state):
    """The weight of one class over that of the other."""
    y, weights, top = state.y, state.weights, state.scalars[TOP]
    first, last = share(state.team, len(y))
    block = np.uint64(BLOCK)
    for start in range(first, last, block):
        part = 0.0
        for i in range(start, min(start + block, last)):
            part += y[i] * min(weights[i], top)
        state.row_sums[np.int64(start) // BLOCK] = part
    meet(state.team)
    return sum_of(state.row_sums)
