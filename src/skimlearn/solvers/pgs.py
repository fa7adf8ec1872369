r"""PGS, the primal gradient solver: l_p-norm regularisation for 1 < p <= 2, and the entropy.

Problem:  min over w, b of  alpha r(w) + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i).

    A_t = k rows;   lam <- lam - (1/k) sum over A_t of m_i loss'(<w, x_i> + b, y_i) x_i
    w = link( lam / (alpha (t + 1 + t0)) )

which is follow-the-regularised-leader: after t steps w minimises the sum of the linearised losses
plus (t + 1) alpha r. See Zhu, Chen, Zhu, Wang, Wang and Chen, "Inverse time dependency in convex
regularized learning" (2009), Figures 1 and 2, with the hinge's sign, the p-norm in the projection
and the indices corrected. The analysed iterates are w_0, ..., w_{T-1}: the mean and the random
iterate are taken from these.

A step costs O(entries of its rows) for every p (``_mirror.py``); in the paper, O(d) for p < 2. The
entropic link is not homogeneous: there the divisor t + 1 moves in steps of an eighth, which costs
O(d log T) in all and a factor of at most 9/8 in the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel, prefetch_line
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import add, dot, look_ahead
from skimlearn.problem import Problem
from skimlearn.result import Budget, Result
from skimlearn.solvers._mirror import (
    MASS,
    UNIT,
    mirror_state,
    push,
    refresh,
    settle,
    settle_all,
)
from skimlearn.solvers._run import Options, Order, Run, Start, Vector
from skimlearn.solvers._step_sizes import check_slope, first_step
from skimlearn.solvers._stochastic import Stochastic, check_batch_size, check_sampling

__all__ = ["Settings", "solve"]

# positions in the state of the kernel: steps; lam of the bias; divisor of the link; sum of the
# iterates' coefficients; sum of the biases
STEPS, BIAS, DIVISOR, TOTAL, BIASES = range(5)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of PGS.

    Attributes
    ----------
    batch_size : int
        Rows per step (k).
    sampling : {"permuted", "iid"}
        Visit the rows in a fresh random order each epoch, or draw each visit independently.
    average : {"last", "mean", "tail", "random"}
        Which iterate is the answer.
    t0 : float or None
        Steps to start ahead; None for 0, or the least that is safe if the slope is unbounded.
    """

    batch_size: int = 1
    sampling: str = "permuted"
    average: str = "tail"
    t0: float | None = None


def solve(
    problem: Problem,
    settings: Settings | None = None,
    budget: Budget | None = None,
    **options: Unpack[Options],
) -> Result:
    """Minimise the problem by the primal gradient solver.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="log", alpha=0.5, p=1.5)
    >>> result = solve(problem, budget=Budget(epochs=100), seed=0)
    >>> bool(result.certificate.gap < 0.01)
    True
    """
    run = Run(problem, budget or Budget(epochs=10), **options)
    return run.stage(Pgs(problem, run.ledger, settings or Settings(), run.rng, run.start)).result()


class Pgs(Stochastic):
    """The primal gradient solver in progress."""

    name = "pgs"
    odd, even = ("lam", "phi", "sums"), ("since", "mirror")
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
        self.settings = settings
        self.batch_size = check_batch_size(settings.batch_size, problem.n)
        super().__init__(problem, ledger, settings.average, rng)
        regularizer = problem.regularizer
        self.sampling = check_sampling(settings.sampling)
        self.t0 = self.safe() if settings.t0 is None else float(settings.t0)
        self.lam = np.zeros(problem.d)
        self.phi = self.lam if regularizer.linear() else np.zeros(problem.d)
        self.mirror = mirror_state(max(1.0, problem.d * problem.n / max(1, ledger.total)))
        self.sums, self.since = np.zeros(problem.d), np.zeros(problem.d)
        self.slopes = np.zeros(self.batch_size)
        self.state = np.zeros(5)
        if start is not None:
            self.t0 = max(self.t0, float(problem.n))
            self.lam[:] = problem.alpha * (self.t0 + 1.0) * regularizer.unlink(start.w)
            self.state[BIAS] = problem.alpha * (self.t0 + 1.0) * start.b
            self.recentre(start.w, start.b)
        self.state[DIVISOR] = problem.alpha * (self.t0 + 1.0)
        refresh(regularizer, self._inner(), self.lam, self.phi, self.mirror)

    def _inner(self) -> float:
        """What lam is multiplied with inside the link."""
        return 1.0 if self.regularizer.homogeneous() else 1.0 / float(self.state[DIVISOR])

    def safe(self) -> float:
        return first_step(self.problem, self.ledger, self.rng, self.regularizer.exponent())

    def take(self, problem: Problem, ledger: Ledger) -> None:
        super().take(problem, ledger)
        self.batch_size = check_batch_size(self.settings.batch_size, problem.n)
        self.slopes = np.zeros(self.batch_size)

    def slow_down(self, t0: float) -> None:
        settle_all(self.state[TOTAL], self.phi, self.sums, self.since)
        self.state[TOTAL] = 0.0
        self.state[BIAS] *= (self.steps + 1.0 + t0) / (self.steps + 1.0 + self.t0)
        divisor, self.t0 = self.alpha * (self.steps + 1.0 + t0), t0
        self.lam *= divisor / self.state[DIVISOR]
        self.state[DIVISOR] = divisor
        refresh(self.regularizer, self._inner(), self.lam, self.phi, self.mirror)

    def opposite(self) -> Stochastic:
        other = super().opposite()
        assert isinstance(other, Pgs)
        if self.phi is self.lam:
            other.phi = other.lam
        return other

    def restore(self, arrays: dict[str, NDArray[np.float64]]) -> None:
        linear = self.phi is self.lam
        super().restore(arrays)
        if linear:
            self.phi = self.lam

    def move(self, order: Order) -> None:
        problem = self.problem
        _pgs(
            problem.rows, problem.y, problem.weights, problem.loss, problem.regularizer,
            problem.alpha, problem.bias != "none", self.centre, self.t0, order,
            self.lam, self.phi, self.mirror, self.sums, self.since, self.slopes,
            self.pulls, self.scores, self.state,
        )  # fmt: skip

    def last(self) -> tuple[Vector, float]:
        factor = 1.0 / float(self.state[DIVISOR])
        scale = self.regularizer.scale(self.mirror[MASS], self.mirror[UNIT], factor)
        rate = 1.0 / (self.alpha * (self.steps + 1.0 + self.t0))
        return scale * self.phi, float(self.state[BIAS]) * rate + self.centre

    def total(self) -> tuple[Vector, float]:
        settle_all(self.state[TOTAL], self.phi, self.sums, self.since)
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


@kernel
def _pgs(
    rows, y, m, loss, regularizer, alpha, has_bias, centre, t0, order,
    lam, phi, mirror, sums, since, slopes, pulls, scores, state,
):  # fmt: skip
    t, bias, divisor = state[STEPS], state[BIAS], state[DIVISOR]
    total, biases = state[TOTAL], state[BIASES]
    inner = 1.0 if regularizer.homogeneous() else 1.0 / divisor
    scale = regularizer.scale(mirror[MASS], mirror[UNIT], 1.0 / divisor)
    k, scored = len(slopes), len(scores) > 0
    for begin in range(0, len(order), k):
        size = min(k, len(order) - begin)
        b = bias / (alpha * (t + 1.0 + t0)) + centre
        total += scale
        biases += b
        for s in range(size):
            i = order[begin + s]
            soon = look_ahead(rows, order, begin + s)
            prefetch_line(y, soon)
            prefetch_line(m, soon)
            prefetch_line(pulls, soon)
            p = scale * dot(rows, i, phi) + b
            if scored:
                scores[i] = p
            slopes[s] = loss.slope(p, y[i])
            pulls[i] -= slopes[s]
        t += 1.0
        stale = False
        for s in range(size):
            i = order[begin + s]
            g = -m[i] * slopes[s] / size
            if g != 0.0:
                settle(rows, i, total, phi, sums, since)
                if regularizer.linear():
                    add(rows, i, g, lam)
                elif push(rows, i, g, regularizer, inner, lam, phi, mirror):
                    stale = True
                if has_bias:
                    bias += g
        if regularizer.homogeneous():
            divisor = alpha * (t + 1.0 + t0)
        elif alpha * (t + 1.0 + t0) >= 1.125 * divisor:
            divisor = alpha * (t + 1.0 + t0)
            inner = 1.0 / divisor
            stale = True
        if stale:
            settle_all(total, phi, sums, since)
            total = 0.0
            refresh(regularizer, inner, lam, phi, mirror)
        scale = regularizer.scale(mirror[MASS], mirror[UNIT], 1.0 / divisor)
    state[STEPS], state[BIAS], state[DIVISOR] = t, bias, divisor
    state[TOTAL], state[BIASES] = total, biases
