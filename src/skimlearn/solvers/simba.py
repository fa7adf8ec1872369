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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.rows import entry, size
from skimlearn.sampling.blocks import BLOCK, block_room, cut_draw, power_draw
from skimlearn.sampling.cuts import heaviest, shared_water
from skimlearn.sampling.team import (
    ALONE,
    Team,
    blocks_of,
    least,
    meet,
    share,
    shared_cut_sums,
    shared_power_sums,
    sum_of,
)
from skimlearn.sampling.tree import tree_build, tree_draw, tree_nodes, tree_set, tree_total
from skimlearn.solvers._margin_bounds import split
from skimlearn.solvers._skim import Method

__all__ = ["Simba", "State", "make_state"]

Vector = NDArray[np.float64]

# positions in the scalars: steps; sum of the factors of s so far; sum of |s_j|^q*; greatest length
# of a row; weights above TOP count as TOP; sum of the biases; sum of the weights; and for tracking
# the mean responses of the two classes, ||tracked||^2, the sum of the responses' variances, and the
# mass of the class +1 (with a bias)
T, FACTORS, POWER, LENGTH, TOP, BIASES, TOTAL, PLUS, MINUS, SIZE, SPREAD, SHARE = range(12)
FLOOR = 1e-250  # of the weights, after the largest is set to 1
RESCALE = 256  # steps: in between a weight grows by 3^256 at most


class State(NamedTuple):
    """Where a run stands."""

    y: Vector  # labels
    weights: Vector  # p, up to a factor
    counts: Vector  # how often each row was drawn
    mass: Vector  # sum of p over the steps (soft margins only)
    values: Vector  # v of this step (where it is not applied at once)
    spare: Vector
    s: Vector  # sum of the rows drawn
    late: Vector  # what the sum of x lags behind FACTORS * s; for q < 2 the sum of x itself
    last: Vector  # FACTORS when a coordinate of late was last brought up to date (q < 2 only)
    tracked: Vector  # the x that the responses are exact for (tracking only)
    responses: Vector  # A' tracked
    losses: Vector  # their sums over the steps
    row_tree: Vector  # of the weights (sparse rows, hard margin) or empty
    column_tree: Vector  # of the law that columns are drawn by (sparse rows) or empty
    row_sums: Vector
    column_sums: Vector
    parts: Vector  # (2, blocks): room for other sums
    scalars: Vector
    team: Team = ALONE


def make_state(method: Simba, y: Vector, d: int, *, sparse: bool, length: float) -> State:
    """The state before the first step; a length of 0 means that it is learned from the rows."""
    n = len(y)
    direct = not method.soft
    none = np.zeros(0)
    row_tree = tree_nodes(n) if sparse and direct else none
    if len(row_tree):
        tree_build(np.ones(n), row_tree)
    scalars = np.zeros(12)
    scalars[LENGTH], scalars[TOP] = length, np.inf
    if method.tracks and method.bias > 0.0:
        scalars[SHARE] = split(y, method.cap, bias=True).masses[0]
    return State(
        y=y,
        weights=np.ones(n),
        counts=np.zeros(n),
        mass=none if direct else np.zeros(n),
        values=none if direct else np.zeros(n),
        spare=np.zeros(n) if method.nu > 0.0 else none,
        s=np.zeros(d),
        late=np.zeros(d),
        last=none if method.q == 2.0 else np.zeros(d),
        tracked=np.zeros(d) if method.tracks else none,
        responses=np.zeros(n) if method.tracks else none,
        losses=np.zeros(n) if method.tracks else none,
        row_tree=row_tree,
        column_tree=tree_nodes(d) if sparse else none,
        row_sums=block_room(n),
        column_sums=block_room(d),
        parts=np.zeros((2, len(block_room(max(n, d))))),
        scalars=scalars,
    )


@dataclass(frozen=True)
class Simba(Method):
    """The settings of a run, and its step."""

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
        eta = _eta(self, state)
        factor, norm = _factor(self, state)
        # the estimate of <a, x> is a_j ||x||_q^q / |x_j|^(q-1), in units of the longest row
        scale = norm**self.q * factor ** (1.0 - self.q) / state.s[j] / state.scalars[LENGTH]
        scale /= self.width - 1.0
        soft, tree = len(state.values) > 0, len(state.row_tree) > 0
        first, last = share(state.team, size(columns, at))
        if soft:
            for k in range(first, last):
                i, value = entry(columns, at, k)
                state.values[i] += scale * state.y[i] * value
        else:
            scale *= eta
            for k in range(first, last):
                i, value = entry(columns, at, k)
                z = _clip(scale * state.y[i] * value)
                state.weights[i] *= 1.0 - z + z * z
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


@kernel
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


@kernel
def _eta(method, state):
    """The step of the weights; it is bounded so that z is small where v is not an outlier."""
    steps = method.horizon if method.horizon > 0.0 else state.scalars[T] + 1.0
    entropy = math.log(max(2.0, min(len(state.y), len(state.y) * method.cap)))
    batch = method.width - 1.0
    bound = 0.5  # 1 - z + z^2 falls with z up to there
    if method.nu > 0.0 or method.bias > 0.0:
        bound = min(bound, 1.0 / 6.0 if method.bias == 0.0 else 0.125)
    return min(bound, method.rate * math.sqrt(entropy * batch / steps))


@kernel
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


@kernel
def _link(s, dual):
    """sign(s) |s|^(q* - 1): the direction of x_j, up to a common factor."""
    return math.copysign(abs(s) ** (dual - 1.0), s)


@kernel
def _clip(z):
    """z within [-1, 1]; of nan and infinity it makes nan, so that a check finds them."""
    return min(1.0, max(-1.0, z)) + 0.0 * z


@kernel
def _apply(method, state):
    """Give slack and bias to the rows that p weighs most, and multiply the weights."""
    n, scalars, weights = len(state.y), state.scalars, state.weights
    eta, bias = _eta(method, state), 0.0
    first, last = share(state.team, n)
    if method.bias > 0.0:
        lean = _lean(state)
        if abs(lean) > 1e-12 * scalars[TOTAL]:
            bias = math.copysign(1.0, lean)
        scalars[BIASES] += bias
    cut, rest = np.inf, 0.0
    if method.nu > 0.0:
        cut, rest = heaviest(weights, state.spare, method.nu * n / (2.0 * scalars[LENGTH]))
    for i in range(first, last):
        slack = 2.0 if weights[i] > cut else (rest if weights[i] == cut else 0.0)
        z = _clip(eta * (state.values[i] + slack + bias * state.y[i]))
        weights[i] *= 1.0 - z + z * z
        state.values[i] = 0.0


@kernel
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
