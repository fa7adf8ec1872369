r"""Dual coordinate ascent: exact to any gap, for every loss and every regularizer.

Problem:  min over w, b of  alpha r(w) + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i).

Its dual has one variable a_i per row; w = grad r*(theta) with theta = sum m_i a_i x_i / (alpha n).
A visit to row i maximises a lower bound of the dual over a_i alone, in closed form for most losses
(`Loss.dual_step`): since r* is 1-smooth in ||.||_q,

    h_i = m_i (||x_i||_q^2 + bias^2) / (alpha n),    a_i <- dual_step(a_i, <w, x_i> + b, h_i, y_i),

which is exact for p = 2 and an ascent step for the others. See Shalev-Shwartz and Zhang,
"Stochastic dual coordinate ascent" (2013) and "Accelerated proximal ..." (2014), and Hsieh et al.,
"A dual coordinate descent method for large-scale linear SVM" (2008).

The first epoch. Seen from the first rows, w is small and all of them are wrong, so they would be
given far too much weight. A visit is therefore made as if the rows seen so far, and some more at
the beginning, were all there are: n is replaced by t + HEAD_START / alpha in the t-th visit.

Free bias. The dual has the constraint sum m_i a_i = 0. It is met by the method of multipliers: the
bias is regularised towards a centre that moves to where the bias went, after each epoch.

Checks. The gap is a sum over the rows, of what is between a loss and its dual variable,

    P(w) - D(a) = (1/n) sum m_i (loss(z_i) + loss*(-a_i) + a_i z_i),    z_i = <w, x_i> + b,

so a sample of the rows tells how large it is: after each of the first epochs, the first one after
a check, and else after so many visits that it costs little. A check, which reads all rows, is made
when the sample says that the target is reached, or that most of the gap is that of rows which are
put aside. How wrong the sample was is taken into account once a check has told.

Shrinking. With a gap g the responses at the optimum are within r_i = ||x_i|| sqrt(2 g / alpha) of
the present ones (x_i with the constant feature of the bias). A row is put aside until the next
check if its visit did not move it, and would not for any response within a small part of r_i: far
more rows are left in peace than with all of it, few of which would have moved. A check knows all
responses, and every row comes back that would move within a larger part: nothing is lost if one was
put aside too early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.certificates import Dual, Primal
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import combine_weighted, stored
from skimlearn.problem import Problem
from skimlearn.result import Budget, Certificate, Result
from skimlearn.solvers._ascent import LEAST, SPARED, ascend, gaps_of, moving, places
from skimlearn.solvers._mirror import MASS, UNIT, mirror_state, refresh
from skimlearn.solvers._orders import Orders
from skimlearn.solvers._run import Method, Options, Order, Run, Start, Vector, row_squares

__all__ = ["Settings", "solve"]

STAY, RETURN = 0.001, 0.003  # parts of the reach of a response within which a row must not move
MOST_PASSES = 30  # between two checks
LEAST_DOUBT, MOST_DOUBT = 0.8, 30.0  # about a guess of the gap
ASIDE = 4.0  # times the gap of the rows that are visited: so much of those put aside is too much
FIRST = 2.0  # epochs, after which checks follow the growth of the reads as well
SOON = 6  # epochs, after which small samples are not taken in each
HEAD_START = 2.0  # times the steepness of the loss and the mean squared length of the rows


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of dual coordinate ascent.

    Attributes
    ----------
    shrinking : bool
        Put rows aside that no longer move.
    """

    shrinking: bool = True


def solve(
    problem: Problem,
    settings: Settings | None = None,
    budget: Budget | None = None,
    **options: Unpack[Options],
) -> Result:
    """Minimise the problem by dual coordinate ascent.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> result = solve(problem, budget=Budget(gap=1e-9, epochs=100), seed=0)
    >>> round(float(result.x[0]), 6), round(result.certificate.primal, 6)
    (1.0, 0.25)
    """
    run = Run(problem, budget or Budget(gap=1e-3, epochs=1000), **options)
    return run.stage(DualAscent(problem, run.ledger, settings or Settings(), run.start)).result()


class DualAscent(Method):
    """Dual coordinate ascent in progress."""

    name = "dual"
    growth = 2.0

    def __init__(
        self, problem: Problem, ledger: Ledger, settings: Settings, start: Start | None = None
    ) -> None:
        super().__init__(problem, ledger)
        self.settings = settings
        squares = row_squares(problem, ledger, problem.regularizer.exponent())
        with np.errstate(over="ignore"):
            self.bias_square = self._bias_square(squares)
            self.h = squares + self.bias_square
            self.h *= problem.weights
            self.h /= problem.alpha * problem.n
        if not np.isfinite(self.h).all():
            raise ValueError(
                f"the rows of X are too long: the largest norm is {math.sqrt(squares.max()):.3g} "
                "and its square overflows; scale the features (e.g. with StandardScaler or "
                "MaxAbsScaler)"
            )
        self.squares = squares
        self.rows_left = self._all_rows()
        self.a = np.zeros(problem.n)
        self.theta = np.zeros(problem.d)
        self.phi = self.theta if problem.regularizer.linear() else np.zeros(problem.d)
        mean_length = max(1.0, ledger.total / problem.n)
        self.mirror = mirror_state(max(1.0, problem.d / mean_length))
        self.centre = 0.0
        self.offset = np.zeros(1)  # how far the bias is above its centre
        self.moved = np.ones(problem.n, dtype=np.bool_)  # whether its last visit changed a row
        self.is_left = self.moved.copy()  # whether a row is visited
        self.passes = 0  # since the last check
        self.epochs = 0  # that have begun
        self.orders: Orders | None = None
        self.close = False  # so near the optimum that rounding in theta would show
        self.seen = float(problem.n)  # rows that the problem is taken to have
        self.since = 0  # visits since there was a sample
        self.samples: tuple[Order, Order] | None = None  # of the rows left, and put aside,
        self.shares = 1.0, 1.0  # each of which stands for so many
        self.gaps = math.inf, 0.0  # of both, as the samples tell,
        self.value = math.inf  # and the primal value
        self.doubt = 1.0  # how many times larger the gap was than its guess, at the last check
        if start is not None:
            self._begin_at(start)
        elif problem.regularizer.linear():
            steepness = min(problem.loss.curvature(), 1.0)
            slow_by = steepness * float(problem.weights @ squares) / problem.n / problem.alpha
            self.seen = min(self.seen, HEAD_START * slow_by)
        if not problem.regularizer.linear():
            refresh(problem.regularizer, 1.0, self.theta, self.phi, self.mirror)

    def _all_rows(self) -> NDArray[Any]:
        """The rows that count, as short numbers."""
        kind = np.uint32 if self.problem.n < 2**32 else np.int64
        return np.flatnonzero(self.problem.weights > 0.0).astype(kind)

    def _bias_square(self, squares: Vector) -> float:
        """The square of the constant feature that carries the bias."""
        if self.problem.bias == "none":
            return 0.0
        if self.problem.bias == "regularized":
            return 1.0
        mean = float(self.problem.weights @ squares) / self.problem.n
        return mean if mean > 0.0 else 1.0

    def _begin_at(self, start: Start) -> None:
        problem = self.problem
        if start.a is not None:
            self.a = certificates.feasible(problem, start.a)
        else:
            self.ledger.pass_over()
            self.a = certificates.slopes(problem, certificates.primal(problem, start.w, start.b))
        self._gather()
        if problem.bias == "free":
            self.centre = start.b

    def _gather(self) -> None:
        """Compute theta afresh from a."""
        problem = self.problem
        scale = 1.0 / (problem.alpha * problem.n)
        self.theta[:] = 0.0
        combine_weighted(problem.rows, self.a, problem.weights, scale, self.theta)
        self.ledger.visit(np.flatnonzero(self.a))
        self.offset[0] = self.bias_square * scale * float(self.a @ problem.weights)

    @property
    def guess(self) -> float:
        """The gap times n, as far as the samples tell."""
        return sum(self.gaps)

    def begin_pass(self, left: Order, rng: np.random.Generator) -> None:
        """Move the centre of a free bias, and choose the rows that will tell of the gap."""
        if self.problem.bias == "free":
            self.centre += float(self.offset[0])
        self.passes += 1
        self.epochs += 1
        self.choose(left, rng)

    def choose(self, left: Order, rng: np.random.Generator) -> None:
        """Draw samples of the rows that are visited, and of those put aside, if it is time."""
        self.since += len(left)
        if self.since < SPARED * LEAST and self.passes > 1 and self.epochs > SOON:
            self.samples = None
            return
        self.since = 0
        n, few = self.problem.n, places(len(left), rng)
        others = places(n, rng) if len(left) < n else few[:0]
        self.samples = left[few].astype(np.int64), others[~self.is_left[others]]
        self.shares = len(left) / max(1, len(few)), n / max(1, len(others))

    def order(self, rng: np.random.Generator) -> Order:
        if self.settings.shrinking:
            stays = self.moved[self.rows_left]
            self.is_left[self.rows_left] = stays
            self.rows_left = self.rows_left[stays]
        self.begin_pass(self.rows_left, rng)
        if self.orders is None:
            self.orders = Orders(self.problem.n, rng)
        return self.orders.shuffled(self.rows_left, rng)

    def visit(self, order: Order) -> None:
        problem = self.problem
        reach = STAY * math.sqrt(2.0 * self.guess) if self.settings.shrinking else math.inf
        ascend(
            problem.rows, problem.y, problem.weights, problem.loss, problem.regularizer,
            problem.alpha, self.bias_square, self.centre, order, self.seen,
            self.h, self.a, self.moved, self.theta, self.phi, self.mirror, self.offset,
            reach, 0,
        )  # fmt: skip
        self.seen = min(self.seen + len(order), float(problem.n))

    def answer(self) -> tuple[Vector, float]:
        scale = self.problem.regularizer.scale(self.mirror[MASS], self.mirror[UNIT], 1.0)
        return self.stretch() * scale * self.phi, self._bias()

    def stretch(self) -> float:
        """By how much the weights are larger while the problem grows."""
        return self.problem.n / max(self.seen, 1.0)

    def _bias(self) -> float:
        return self.centre + self.stretch() * float(self.offset[0])

    def bound(self, answer: Primal) -> Dual:
        a = certificates.feasible(self.problem, self.a)
        if self.problem.bias == "free" or self.close:
            return self.certified(a)
        return certificates.dual(self.problem, a, self.theta)

    def checked(self, answer: Primal, certificate: Certificate) -> None:
        problem = self.problem
        if self.settings.shrinking:
            gap = max(certificate.gap, 1e-12 * abs(certificate.primal))  # more than rounding
            radius = math.sqrt(2.0 * gap / problem.alpha)
            left = np.empty(problem.n, dtype=self.rows_left.dtype)
            count = moving(
                problem.loss, answer.z, self._bias(), problem.y, self.h, self.a,
                RETURN * radius, self.squares, self.bias_square, problem.weights, self.moved, left,
            )  # fmt: skip
            self.rows_left = left[:count].copy()
            if not count:
                self.rows_left, self.moved[:] = self._all_rows(), True
            self.is_left[:] = self.moved
        gap = max(certificate.gap, 0.0) * problem.n
        # a guess that is far too small may be nothing but rounding: its size says no more
        trusted = self.guess * MOST_DOUBT > gap
        self.doubt = max(LEAST_DOUBT, math.sqrt(gap / self.guess)) if trusted else MOST_DOUBT
        self.passes = 0
        self.close = certificate.relative_gap < 1e-6

    def due(self, epochs: float, reads_at_last_check: int) -> bool:
        if self.passes >= MOST_PASSES or len(self.rows_left) == 0:
            return True
        self.look()
        known = self.samples is not None
        if known and self.goal is not None and self.tol is not None:
            goal = min(self.goal, self.tol * self.value)  # at first one knows the value at zero
            if self.doubt * self.guess <= goal * self.problem.n:
                return True
        if known and self.gaps[1] > ASIDE * self.gaps[0]:
            return True
        return epochs > FIRST and super().due(epochs, reads_at_last_check)

    def look(self) -> None:
        """Guess the gap from the samples."""
        if self.samples is not None:
            self.take(*(self._gaps_of(sample) for sample in self.samples))

    def _gaps_of(self, sample: Order) -> tuple[float, float]:
        if not len(sample):
            return 0.0, 0.0
        problem = self.problem
        self.ledger.certify(stored(problem.rows, sample))
        found: tuple[float, float] = gaps_of(
            problem.rows, problem.y, problem.weights, problem.loss, problem.regularizer, sample,
            self.stretch(), self.centre, self.a, self.phi, self.mirror, self.offset,
        )  # fmt: skip
        return found

    def take(self, left: tuple[float, float], aside: tuple[float, float] = (0.0, 0.0)) -> None:
        """Keep what the samples have, gaps and values, as that of all rows."""
        shares = self.shares
        self.gaps = max(left[0], 0.0) * shares[0], max(aside[0], 0.0) * shares[1]
        self.value = abs(left[1] * shares[0] + aside[1] * shares[1]) / self.problem.n
