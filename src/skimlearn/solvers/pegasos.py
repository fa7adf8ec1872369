r"""Pegasos: mini-batch sub-gradient descent for the support vector machine, and for any loss.

Problem:  min over w, b of  alpha/2 ||w||^2 + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i).

    A_t = k rows;   g = (1/k) sum over A_t of m_i loss'(<w_t, x_i> + b_t, y_i) x_i
    w_{t+1} = (1 - 1/(t + t0)) w_t - g / (alpha (t + t0))
    optional:  w_{t+1} <- min(1, radius / ||w_{t+1}||) w_{t+1},   radius^2 = mean loss at 0 / alpha

The optimum lies within the radius: at the optimum alpha ||w||^2 = mean of -loss*(-a) minus mean
loss, which is at most the mean loss of the zero predictor. For the hinge it is 1 / sqrt(alpha).

The vector kept is z = alpha (t + t0) w = -(sum of the g), times a scalar when projecting, so that
a step costs the entries of its rows. t0 is 0 as in the paper unless the slope is unbounded.

See Shalev-Shwartz, Singer, Srebro and Cotter, "Pegasos: primal estimated sub-gradient solver for
SVM" (2011). The theorems are about the mean and the random iterate. Visits in the order of a random
permutation give, besides, a dual point: minus the mean slope of each row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from skimlearn import certificates
from skimlearn._jit import kernel, prefetch_line
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import add, dot, look_ahead
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Result
from skimlearn.solvers._mirror import settle, settle_all
from skimlearn.solvers._run import Options, Order, Run, Start, Vector, row_lengths
from skimlearn.solvers._step_sizes import check_slope, first_step
from skimlearn.solvers._stochastic import Stochastic, check_batch_size, check_sampling

__all__ = ["Settings", "solve"]

# positions in the state of the kernel: steps; z of the bias; scale of z; ||z||^2 before scaling;
# sum of the iterates' coefficients; sum of the biases
STEPS, BIAS, SCALE, SQUARE, TOTAL, BIASES = range(6)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of Pegasos.

    Attributes
    ----------
    batch_size : int
        Rows per step (k).
    project : bool
        Keep the weights within the ball that holds the optimum.
    sampling : {"permuted", "iid"}
        Visit the rows in a fresh random order each epoch, or draw each visit independently.
    average : {"last", "mean", "tail", "random"}
        Which iterate is the answer.
    t0 : float or None
        Steps to start ahead; None for 0, or the least that is safe if the slope is unbounded.
    """

    batch_size: int = 1
    project: bool = False
    sampling: str = "permuted"
    average: str = "tail"
    t0: float | None = None


def solve(
    problem: Problem,
    settings: Settings | None = None,
    budget: Budget | None = None,
    **options: Unpack[Options],
) -> Result:
    """Minimise the problem by Pegasos.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> result = solve(problem, budget=Budget(epochs=100), seed=0)
    >>> bool(result.certificate.gap < 0.01)
    True
    """
    run = Run(problem, budget or Budget(epochs=10), **options)
    return run.stage(
        Pegasos(problem, run.ledger, settings or Settings(), run.rng, run.start)
    ).result()


class Pegasos(Stochastic):
    """Pegasos in progress."""

    name = "pegasos"
    odd, even = ("z", "sums"), ("since",)
    odd_state = (BIAS, BIASES)

    def __init__(
        self,
        problem: Problem,
        ledger: Ledger,
        settings: Settings,
        rng: np.random.Generator,
        start: Start | None = None,
    ) -> None:
        check_slope(problem)
        if not isinstance(problem.regularizer, SquaredL2):
            raise ValueError(
                f"Pegasos has p=2 and no radius, not {problem.regularizer!r}: use solver='pgs', "
                "'dual' or 'auto'"
            )
        self.settings = settings
        self.batch_size = check_batch_size(settings.batch_size, problem.n)
        super().__init__(problem, ledger, settings.average, rng)
        self.sampling = check_sampling(settings.sampling)
        self.t0 = self.safe() if settings.t0 is None else float(settings.t0)
        self.radius, self.squares = math.inf, np.zeros(0)
        if settings.project:
            self.squares = row_lengths(problem, ledger) ** 2
            self.radius = math.sqrt(_loss_at_zero(problem) / problem.alpha)
        self.z = np.zeros(problem.d)
        self.sums, self.since = np.zeros(problem.d), np.zeros(problem.d)
        self.slopes = np.zeros(self.batch_size)
        self.state = np.zeros(6)
        self.state[SCALE] = 1.0
        if start is not None:
            self.t0 = max(self.t0, float(problem.n))
            self.z[:] = problem.alpha * self.t0 * start.w
            self.state[SQUARE] = float(self.z @ self.z)
            self.state[BIAS] = problem.alpha * self.t0 * start.b
            self.recentre(start.w, start.b)

    def safe(self) -> float:
        return first_step(self.problem, self.ledger, self.rng)

    def take(self, problem: Problem, ledger: Ledger) -> None:
        super().take(problem, ledger)
        self.batch_size = check_batch_size(self.settings.batch_size, problem.n)
        self.slopes = np.zeros(self.batch_size)
        if self.radius < math.inf:
            self.squares = row_lengths(problem, ledger) ** 2

    def slow_down(self, t0: float) -> None:
        grown = (self.steps + t0) / (self.steps + self.t0) if self.steps + self.t0 > 0.0 else 1.0
        settle_all(self.state[TOTAL], self.z, self.sums, self.since)
        self.state[TOTAL] = 0.0
        self.t0 = t0
        self.z *= grown
        self.state[BIAS] *= grown
        self.state[SQUARE] *= grown * grown

    def move(self, order: Order) -> None:
        problem = self.problem
        _pegasos(
            problem.rows, problem.y, problem.weights, problem.loss, problem.alpha,
            problem.bias != "none", problem.bias == "regularized", self.centre, self.t0,
            self.radius, self.squares, order, self.z, self.sums, self.since, self.slopes,
            self.pulls, self.scores, self.state,
        )  # fmt: skip
        if self.radius < math.inf:
            self.state[SQUARE] = float(self.z @ self.z)  # no drift

    def last(self) -> tuple[Vector, float]:
        scale = 1.0 / (self.alpha * max(self.steps + self.t0, 1.0))
        return (
            self.z * (self.state[SCALE] * scale),
            float(self.state[BIAS]) * scale + self.centre,
        )

    def total(self) -> tuple[Vector, float]:
        settle_all(self.state[TOTAL], self.z, self.sums, self.since)
        self.state[TOTAL] = 0.0
        return self.sums.copy(), float(self.state[BIASES])

    def forget(self) -> None:
        self.total()
        self.sums[:] = 0.0
        self.state[BIASES] = 0.0

    def recentre(self, w: Vector, b: float) -> None:
        if self.bias == "free":
            self.centre = b
            self.state[BIAS] = 0.0


def _loss_at_zero(problem: Problem) -> float:
    """The mean loss of the zero weights, with the best bias if it is free."""
    zeros = np.zeros(problem.n)
    return certificates.primal(problem, np.zeros(problem.d), z=zeros).value


@kernel
def _pegasos(
    rows, y, m, loss, alpha, has_bias, joint, centre, t0, radius, squares, order,
    z, sums, since, slopes, pulls, scores, state,
):  # fmt: skip
    t, bias, scale, square = state[STEPS], state[BIAS], state[SCALE], state[SQUARE]
    total, biases = state[TOTAL], state[BIASES]
    k, scored = len(slopes), len(scores) > 0
    for begin in range(0, len(order), k):
        size = min(k, len(order) - begin)
        rate = 1.0 / (alpha * (t + t0)) if t + t0 > 0.0 else 0.0
        coefficient = rate * scale  # w_t = coefficient * z
        total += coefficient
        biases += rate * bias + centre
        for s in range(size):
            i = order[begin + s]
            soon = look_ahead(rows, order, begin + s)
            prefetch_line(y, soon)
            prefetch_line(m, soon)
            prefetch_line(pulls, soon)
            p = coefficient * dot(rows, i, z) + rate * bias + centre
            if scored:
                scores[i] = p
            slopes[s] = loss.slope(p, y[i])
            pulls[i] -= slopes[s]
        t += 1.0
        for s in range(size):
            i = order[begin + s]
            g = -m[i] * slopes[s] / size
            if g != 0.0:
                settle(rows, i, total, z, sums, since)
                if radius < np.inf:
                    square += 2.0 * (g / scale) * dot(rows, i, z) + (g / scale) ** 2 * squares[i]
                add(rows, i, g / scale, z)
                if has_bias:
                    bias += g
        if radius < np.inf:
            extra = bias * bias if joint else 0.0
            norm = math.sqrt(max(scale * scale * square + extra, 0.0)) / (alpha * (t + t0))
            if norm > radius:
                scale *= radius / norm
                if joint:
                    bias *= radius / norm
                if scale < 1e-4:  # or the sum of the coefficients would lose the last ones
                    settle_all(total, z, sums, since)
                    total = 0.0
                    for j in range(len(z)):
                        z[j] *= scale
                    square *= scale * scale
                    scale = 1.0
    state[STEPS], state[BIAS], state[SCALE], state[SQUARE] = t, bias, scale, square
    state[TOTAL], state[BIASES] = total, biases
