r"""FTRL-Proximal: stochastic steps whose length each column has for itself, as AdaGrad's.

Problem:  min over w, b of  alpha/2 ||w||^2 + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i).

A common step suits common features: a rare one, seen a few times, is hardly learned before the
steps are short. Here column j has a step that falls with the slopes d = m_i loss'(z_i, y_i) x_ij
that this column has seen. With S_j the sum of their squares and c_j = ratio sqrt(first + S_j),

    w_j = -z_j / (c_j + alpha t),    z_j <- z_j + d - (c_j after - c_j before) w_j,

which is the minimum of the linear parts so far, of alpha t / 2 ||w||^2 and of proximal terms around
the iterates so far. z and S change where a row has entries, w is computed where a row has entries:
a step costs the entries of its row. The answer is the last iterate.

Nothing needs to be tuned. Of the rows at the beginning, L is the root of the mean squared length,
s that of their entries, u that of their targets (1 for labels), and q that of the slopes of the
zero answer; then ratio = L / u and first = (q s)^2. The bias is a column of ones with L = s = 1.

See McMahan, "Follow-the-regularized-leader and mirror descent" (2011); McMahan et al., "Ad click
prediction: a view from the trenches" (2013); Duchi, Hazan and Singer, "Adaptive subgradient
methods" (2011). That units do not matter is from Ross, Mineiro and Langford, "Normalized online
learning" (2013), but with one length for all columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from skimlearn._jit import kernel, prefetch_line
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import entry, look_ahead, size
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Result
from skimlearn.solvers._run import Options, Order, Run, Start, Vector, row_lengths
from skimlearn.solvers._stochastic import Stochastic, check_sampling

__all__ = ["Settings", "solve"]

STEPS, BIAS, SQUARE = range(3)  # positions in the state: steps; z and S of the bias


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of FTRL-Proximal.

    Attributes
    ----------
    average : {"last", "random"}
        Which iterate is the answer.
    sampling : {"permuted", "iid"}
        Visit the rows in a fresh random order each epoch, or draw each visit independently.
    t0 : float or None
        Rows that a start has seen; None for those of the problem.
    """

    average: str = "last"
    sampling: str = "permuted"
    t0: float | None = None


def solve(
    problem: Problem,
    settings: Settings | None = None,
    budget: Budget | None = None,
    **options: Unpack[Options],
) -> Result:
    """Minimise the problem by FTRL-Proximal.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> result = solve(problem, budget=Budget(epochs=300), seed=0)
    >>> bool(result.certificate.gap < 0.01)
    True
    """
    run = Run(problem, budget or Budget(epochs=10), **options)
    return run.stage(Ftrl(problem, run.ledger, settings or Settings(), run.rng, run.start)).result()


class Ftrl(Stochastic):
    """FTRL-Proximal in progress."""

    name = "ftrl"
    averages = ("last", "random")
    odd, even = ("z",), ("squares",)
    odd_state = (BIAS,)
    numbers = (*Stochastic.numbers, "ratio", "first", "unit", "pull")

    def __init__(
        self,
        problem: Problem,
        ledger: Ledger,
        settings: Settings,
        rng: np.random.Generator,
        start: Start | None = None,
    ) -> None:
        if not isinstance(problem.regularizer, SquaredL2):
            raise ValueError(
                f"FTRL-Proximal has p=2 and no radius, not {problem.regularizer!r}: use "
                "solver='pgs', 'dual' or 'auto'"
            )
        super().__init__(problem, ledger, settings.average, rng)
        self.sampling = check_sampling(settings.sampling)
        self.t0 = 0.0
        self._measure()
        self.z, self.squares, self.state = np.zeros(problem.d), np.zeros(problem.d), np.zeros(3)
        if start is not None:
            self.t0 = float(problem.n if settings.t0 is None else settings.t0)
            self.squares[:] = self.first * self.t0  # what the rows of a start have left, on average
            self.z[:] = -start.w * (
                self.ratio * math.sqrt(self.first * (1.0 + self.t0)) + self.alpha * self.t0
            )
            self.state[SQUARE] = self.pull * self.t0
            self.recentre(start.w, start.b)
            if problem.bias == "regularized":
                self.state[BIAS] = -start.b * (
                    math.sqrt(self.pull * (1.0 + self.t0)) / self.unit + self.alpha * self.t0
                )

    def _measure(self) -> None:
        """The sizes of rows, entries and targets, which the first steps are made for."""
        problem, n = self.problem, self.problem.n
        self.unit = self.pull = square = 1.0
        if n:
            square = float((row_lengths(problem, self.ledger) ** 2).mean()) or 1.0
            self.pull = _squared_slope(problem.loss, problem.y) or 1.0
            if not problem.loss.labels:
                self.unit = math.sqrt(float((problem.y**2).mean())) or 1.0
        self.ratio = math.sqrt(square) / self.unit
        self.first = self.pull * square / problem.d

    def safe(self) -> float:
        return self.t0  # long rows make their own steps short

    def slow_down(self, t0: float) -> None:
        raise AssertionError("no other rows need shorter steps")

    def move(self, order: Order) -> None:
        problem = self.problem
        _ftrl(
            problem.rows, problem.y, problem.weights, problem.loss, problem.alpha,
            problem.bias != "none", problem.bias == "regularized", self.centre, self.t0,
            self.ratio, self.first, 1.0 / self.unit, self.pull, order,
            self.z, self.squares, self.pulls, self.scores, self.state,
        )  # fmt: skip

    def last(self) -> tuple[Vector, float]:
        shrink = self.alpha * (self.steps + self.t0)
        w = np.sqrt(self.squares + self.first)
        w *= -self.ratio
        w -= shrink
        np.divide(self.z, w, out=w)
        own = math.sqrt(self.pull + self.state[SQUARE]) / self.unit
        own += shrink if self.bias == "regularized" else 0.0
        return w, self.centre - float(self.state[BIAS]) / own

    def total(self) -> tuple[Vector, float]:
        raise AssertionError("sums of these iterates would cost all columns")

    def forget(self) -> None:
        raise AssertionError("there is no sum of the iterates")

    def recentre(self, w: Vector, b: float) -> None:
        if self.bias == "free":
            self.centre = b
            self.state[BIAS] = 0.0


@kernel
def _squared_slope(loss, y):
    """The mean squared slope of the zero answer."""
    total = 0.0
    for i in range(len(y)):
        total += loss.slope(0.0, y[i]) ** 2
    return total / len(y)


@kernel
def _ftrl(
    rows, y, m, loss, alpha, has_bias, regularized, centre, t0, ratio, first, own, pull,
    order, z, squares, pulls, scores, state,
):  # fmt: skip
    t, bias_z, bias_square = state[STEPS], state[BIAS], state[SQUARE]
    for at in range(len(order)):
        i = order[at]
        soon = look_ahead(rows, order, at)
        prefetch_line(y, soon)
        prefetch_line(m, soon)
        prefetch_line(pulls, soon)
        shrink = alpha * (t + t0)
        bias_shrink = shrink if regularized else 0.0
        root = math.sqrt(pull + bias_square)
        b = -bias_z / (own * root + bias_shrink)
        p = centre + b
        for k in range(size(rows, i)):
            j, x = entry(rows, i, k)
            p -= x * (z[j] / (ratio * math.sqrt(first + squares[j]) + shrink))
        if len(scores) > 0:
            scores[i] = p
        slope = loss.slope(p, y[i])
        g = m[i] * slope
        t += 1.0
        pulls[i] -= slope
        if g == 0.0:
            continue
        for k in range(size(rows, i)):
            j, x = entry(rows, i, k)
            d = g * x
            before = ratio * math.sqrt(first + squares[j])
            squares[j] += d * d
            after = ratio * math.sqrt(first + squares[j])
            z[j] += d + (after - before) * (z[j] / (before + shrink))
        if has_bias:
            bias_square += g * g
            bias_z += g - own * (math.sqrt(pull + bias_square) - root) * b
    state[STEPS], state[BIAS], state[SQUARE] = t, bias_z, bias_square
