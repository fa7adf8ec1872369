r"""Steps for quadratics over the simplex that read a column each, and a row now and then.

Problem, for rows a_i = A_i - o (o a reference point, the origin if there is none), numbers b_i, an
extra known column s and a ridge r, both absent by default:

    min over p in the simplex of  phi(p) = b.p + ||a'p||^2 + (s.p)^2 + r ||p||^2

and its dual, the maximum over x, z and q of

    psi(x, z, q) = min_i (b_i + 2 <a_i, x> + 2 s_i z + 2 r q_i) - ||x||^2 - z^2 - r ||q||^2,

which agree at x = a'p, z = s.p, q = p. A step at time t with the shares P_i of the rows so far:

    with probability alpha_t:  draw i ~ exp(-eta_t S_i)
    draw j ~ x_j^2;            S += b + 2 clip(column j * ||x||^2 / x_j) + 2 z s + 2 r P
    if there is a row:         P and x = a'P change by row i, with weight 1 / alpha_t

alpha_t = log(t + 1) / sqrt(t log n), but alpha_1 = 1, so that T steps read T columns and only about
sqrt(T) rows: the mean of all rows drawn so far is a slow target that needs no more. What is known
is not sampled: the column s and the ridge enter exactly. The reference o is never subtracted from
a matrix: all entries of a column that are not stored share the same -o_j, and what all rows share
does not change the law.

The rate is eta_t = sqrt(log n / sum of second moments so far): the algorithm does the same on data
in other units. The answer is the mean of x over the steps, and the shares P; phi(P) costs nothing.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), III-A and
III-C. There x is divided by the number of steps; right is the total weight of the rows drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.rows import add, entry, size
from skimlearn.sampling.blocks import block_room, cut_draw, cut_sums, power_draw, power_sums
from skimlearn.solvers._skim import Method

__all__ = ["SimplexSteps", "State", "make_state"]

Vector = NDArray[np.float64]

# positions in the scalars: steps; weight of the rows drawn; sums of b and s over them, with their
# weights; ||sum of the rows||^2; steps since a row was drawn; sum of z over the steps; sum of the
# second moments; greatest squared length of a row; what was subtracted from all scores alike
STEPS, WEIGHT, LINEAR, EXTRA, SQUARE, SINCE, EXTRAS, MOMENT, LONGEST, COMMON = range(10)
NEGLIGIBLE = -45.0  # logarithm of a weight that is never drawn beside a weight of 1


class State(NamedTuple):
    """Where a run stands."""

    linear: Vector  # (n,) b
    extra: Vector  # (n,) s, or empty
    origin: Vector  # (d,) o
    scores: Vector  # (n,) sum of the clipped estimates of <a_i, x>, less what all rows share
    counts: Vector  # (n,) weights of the rows drawn
    shares: Vector  # (n,) sum of P over the steps, up to the last row drawn; empty without a ridge
    total: Vector  # (d,) sum of the rows drawn, with their weights
    means: Vector  # (d,) sum of x over the steps, up to the last row drawn
    law: Vector  # (n,) scratch: what rows are drawn from
    row_sums: Vector  # its sums over blocks
    column_sums: Vector  # sums of total_j^2 over blocks
    scalars: Vector


def make_state(
    linear: Vector,
    width: int,
    *,
    origin: Vector | None = None,
    extra: Vector | None = None,
    ridge: bool = False,
    longest: float = 0.0,
) -> State:
    """The state before the first step; ``longest`` is the greatest squared length, if known."""
    n = len(linear)
    scalars = np.zeros(10)
    scalars[LONGEST] = longest
    scalars[MOMENT] = float(np.ptp(linear)) ** 2
    return State(
        linear=linear,
        extra=np.zeros(0) if extra is None else extra,
        origin=np.zeros(width) if origin is None else origin,
        scores=np.zeros(n),
        counts=np.zeros(n),
        shares=np.zeros(n if ridge else 0),
        total=np.zeros(width),
        means=np.zeros(width),
        law=np.zeros(n),
        row_sums=block_room(n),
        column_sums=block_room(width),
        scalars=scalars,
    )


@dataclass(frozen=True)
class SimplexSteps(Method):
    """The parts of a step; see the head of this module."""

    width: float = 2.0
    ridge: float = 0.0
    shifted: float = 0.0  # whether there is a reference point; then the longest row is known

    def draw(self, state, u, picks):
        scalars = state.scalars
        n = len(state.linear)
        picks[0] = picks[1] = -1
        share = _share(scalars[STEPS] + 1.0, n)
        if u[0] < share:
            _row_law(state, self.ridge)
            mass = cut_sums(state.law, np.inf, state.row_sums)
            picks[0] = cut_draw(state.law, np.inf, state.row_sums, mass, u[0] / share)
        if scalars[SQUARE] > 0.0:
            picks[1] = power_draw(state.total, 2.0, state.column_sums, scalars[SQUARE], u[1])

    def column(self, state, columns, at, j):
        scalars = state.scalars
        n = len(state.linear)
        # ||x||^2 / x_j; the total is x times the weight
        factor = scalars[SQUARE] / (scalars[WEIGHT] * state.total[j])
        rate = _rate(scalars[MOMENT], n)
        most = 0.5 / rate if rate > 0.0 else np.inf
        common = max(-most, min(most, -state.origin[j] * factor))
        squares = (n - np.int64(size(columns, at))) * common * common
        for k in range(size(columns, at)):
            i, value = entry(columns, at, k)
            estimate = (value - state.origin[j]) * factor
            squares += estimate * estimate
            state.scores[i] += max(-most, min(most, estimate)) - common
        scalars[COMMON] += common
        square = scalars[SQUARE] / scalars[WEIGHT] ** 2
        moment = square * scalars[LONGEST]
        scalars[MOMENT] += 4.0 * (moment if self.shifted > 0.0 else max(moment, squares / n))

    def row(self, state, rows, at, i):
        scalars = state.scalars
        _hold(state, self.ridge)
        weight = 1.0 / _share(scalars[STEPS] + 1.0, len(state.linear))
        add(rows, at, weight, state.total)
        if self.shifted > 0.0:
            for j in range(len(state.total)):
                state.total[j] -= weight * state.origin[j]
        else:
            squares = 0.0
            for k in range(size(rows, at)):
                squares += entry(rows, at, k)[1] ** 2
            scalars[LONGEST] = max(scalars[LONGEST], squares)
        state.counts[i] += weight
        scalars[WEIGHT] += weight
        scalars[LINEAR] += weight * state.linear[i]
        if len(state.extra) > 0:
            scalars[EXTRA] += weight * state.extra[i]
        scalars[SQUARE] = power_sums(state.total, 2.0, state.column_sums)
        scalars[SINCE] = -1.0

    def finish(self, state):
        state.scalars[STEPS] += 1.0
        state.scalars[SINCE] += 1.0


@kernel
def _share(t, n):
    """The probability of a row in step t; the first step has nothing else to read."""
    if t == 1.0:
        return 1.0
    return min(1.0, math.log(t + 1.0) / math.sqrt(t * math.log(max(n, 2))))


@kernel
def _rate(moment, n):
    return math.sqrt(math.log(max(n, 2)) / moment) if moment > 0.0 else 0.0


@kernel
def _row_law(state, ridge):
    """Fill the law of the rows, up to a factor: exp(-eta S)."""
    scalars, law = state.scalars, state.law
    n = len(law)
    rate, steps = _rate(scalars[MOMENT], n), scalars[STEPS]
    weight = max(scalars[WEIGHT], 1e-300)
    for i in range(n):
        law[i] = steps * state.linear[i] + 2.0 * state.scores[i]
    if len(state.extra) > 0:
        held = scalars[EXTRAS] + scalars[SINCE] * scalars[EXTRA] / weight
        for i in range(n):
            law[i] += 2.0 * held * state.extra[i]
    if ridge > 0.0:
        since = scalars[SINCE] / weight
        for i in range(n):
            law[i] += 2.0 * ridge * (state.shares[i] + since * state.counts[i])
    least = np.inf
    for i in range(n):
        least = min(least, law[i])
    for i in range(n):
        power = rate * (least - law[i])
        law[i] = math.exp(power) if power > NEGLIGIBLE else 0.0


@kernel
def _hold(state, ridge):
    """Add x, z and P to their sums, for all steps since they last changed and the present one."""
    scalars = state.scalars
    if scalars[WEIGHT] > 0.0:
        held = (scalars[SINCE] + 1.0) / scalars[WEIGHT]
        scalars[EXTRAS] += held * scalars[EXTRA]
        for j in range(len(state.total)):
            state.means[j] += held * state.total[j]
        if ridge > 0.0:
            for i in range(len(state.counts)):
                state.shares[i] += held * state.counts[i]
