r"""Newton's method for few features: exact, whatever the scale of the features.

Problem:  min over w, b of  alpha/2 ||w||^2 + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i).

First-order methods slow down when features have very different scales or alpha is tiny. With d
features a Newton step costs O(sum of nnz(x_i)^2 + d^3) and needs few repetitions. Samples of the
rows can be solved first, each four times the size of the one before: if the loss is smooth, one or
two steps on all rows are then enough. A sample of m rows has its own noise, against which alpha is
raised (`NOISE`).

A loss with kinks is first made smooth by a proximal term that moves, from round to round, to where
the dual variables went (`_proximal`).

The line search looks at the slope along the direction only, which the convexity allows, and needs
no data beyond one product of X with the direction.

Proofs. With the slopes -a_i and the bends c_i that a step was made from, the model's own slopes at
its end are -(a_i - c_i <step, x_i>). The dual vector of these is the end of the step, exactly: that
is what the linear system says. So they prove a gap of the fourth order in the length of the step,
in which alpha is no divisor, without another look at the rows; the slopes of the losses prove
||gradient||^2 / (2 alpha). What the model takes out of the range of the dual variables is put back,
and the rows of these are read.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.certificates import Dual, Primal
from skimlearn.data.gram import DENSE, gram
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import combine, combine_weighted, norms, responses, take
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Certificate, Result
from skimlearn.solvers._bends import REACH
from skimlearn.solvers._line_search import step_length
from skimlearn.solvers._proximal import Proximal
from skimlearn.solvers._quadratic import Shared
from skimlearn.solvers._run import Method, Options, Order, Run, Start, Vector
from skimlearn.solvers._symmetric import solve_symmetric, symmetric_product

__all__ = ["Newton", "cost", "sample", "solve"]

GROWTH = 4  # of the samples
ENOUGH = 1.0  # times features over rows: less gained by the last step on a sample is noise
NEAR = 1e-2  # of the value: rows are taken to bend more as long as steps promise more than this
ENDS = 0.1  # of the slope along a step at its beginning: an end of no more is good enough
ROUNDING = 8.0 * 2.0**-53  # of the terms of a sum, times the root of their number
NOISE = 0.4  # times curvature and mean squared length of a row over m: added to alpha for m rows


def cost(n: int, d: int, counts: NDArray[np.int64], users: int = 1) -> float:
    """Multiplications of one step, those in whole blocks at what they cost beside single ones.

    ``counts`` are the numbers of nonzero entries of some of the n rows, and ``users`` those who
    share the matrix. Infinite if a d x d matrix is out of the question.
    """
    if d > 2000:
        return math.inf
    pairs = min(float((counts.astype(np.float64) ** 2).mean()), DENSE * float(d) ** 2)
    return n * pairs / users + DENSE * float(d) ** 3 / 3.0


def _sample_sizes(n: int, d: int) -> list[int]:
    """The numbers of rows that are learned from before all n."""
    sizes = [max(8 * d, 500)]
    while GROWTH * sizes[-1] <= 1.5 * n:
        sizes.append(GROWTH * sizes[-1])
    return sizes[:-1]


def sample(problem: Problem, rng: np.random.Generator) -> Order:
    """Rows in a random order, as many as the samples need."""
    most = max(_sample_sizes(problem.n, problem.d), default=0)
    return rng.choice(problem.n, most, replace=False)


def solve(problem: Problem, budget: Budget | None = None, **options: Unpack[Options]) -> Result:
    """Minimise the problem by Newton's method, to the last digits.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> result = solve(problem)
    >>> round(float(result.x[0]), 12), round(result.certificate.primal, 12)
    (1.0, 0.25)
    """
    run = Run(problem, budget or Budget(gap=1e-3, epochs=1000), **options)
    return run.stage(Newton(problem, run.ledger, run.start, thorough=True)).result()


class Newton(Method):
    """Newton's method in progress."""

    name = "newton"
    whole = True

    def __init__(
        self,
        problem: Problem,
        ledger: Ledger,
        start: Start | None = None,
        *,
        thorough: bool = False,
        order: Order | None = None,  # rows in a random order, whose beginnings are the samples
        z: Vector | None = None,  # the responses to the start, if they are known
        shared: Shared | None = None,  # with problems of the same curvature
    ) -> None:
        super().__init__(problem, ledger)
        self.thorough, self.shared = thorough, shared
        if not isinstance(problem.regularizer, SquaredL2):
            raise ValueError(f"Newton's method has p=2 and no radius, not {problem.regularizer!r}")
        n, d = problem.n, problem.d
        self.w, self.b = np.zeros(d), 0.0
        self.z = np.zeros(n)
        self.known = start is None  # whether z is that of w
        if start is not None:
            self.w, self.b = start.w.copy(), start.b
        elif problem.bias == "free":
            self.b = certificates.best_bias(problem, self.z)
        self.term = Proximal(problem, self.b, None if start is None else start.a)
        self.smooth = self.term.smooth
        if z is not None:
            self.z, self.known = z, True
        self.theta: Vector | None = None  # that of new_a, if a check has formed it
        # slopes of the last model, their dual vector, and how far off that may be
        self.model: tuple[Vector, Vector, Vector] | None = None
        self.vain = 0  # rounds that did not halve the gap
        self.gap = math.inf
        self.steepness = math.inf  # the length of the last gradient of the round
        self.value = 0.0
        self.promised = math.inf  # what the last step was to gain, relative to the value
        self.round_ended = False
        self.finished = False
        if order is not None:
            self._learn_from_samples(order)

    def _learn_from_samples(self, order: Order) -> None:
        """Begin at the answer of some rows alone."""
        problem, start = self.problem, None
        for count in _sample_sizes(problem.n, problem.d):
            chosen = np.sort(order[:count])
            part = _part_of(problem, chosen)
            self.ledger.visit(chosen)
            inner = Newton(part, Ledger(part.rows), start)
            inner.term.h = self.term.h
            noise = ENOUGH * problem.d / count
            while not inner.finished and not inner.round_ended and inner.promised > noise:
                inner.visit(chosen)
            start = Start(inner.w, inner.b)
        if start is not None:
            self.w, self.b, self.known = start.w, start.b, False

    def order(self, rng: np.random.Generator) -> Order:
        return np.arange(self.problem.n)

    def visit(self, order: Order) -> None:
        """One Newton step, or the end of a round; at first, if need be, a look at all rows."""
        problem = self.problem
        n, d, m = problem.n, problem.d, problem.weights
        if not self.known:
            responses(problem.rows, self.w, self.z)
            self.ledger.pass_over()
            self.known = True
            if self.smooth and not self.thorough:
                return  # the answer may be good enough
        self._prox()
        own = problem.alpha if problem.bias == "regularized" else 0.0
        gradient = np.append(problem.alpha * self.w, own * self.b - float(m @ self.term.new_a) / n)
        early = self.shared is not None or (not self.smooth and not self.thorough)
        pulls, bends = self.term.shares()
        if self.theta is not None:
            gradient[:d] -= problem.alpha * self.theta
            pulls = pulls[:0]
        elif early:  # the matrix is at hand, or the gradient may show that it is not needed
            combine(problem.rows, pulls, gradient[:d])
            self.ledger.visit(pulls != 0.0)
            pulls = pulls[:0]
            if not self.smooth and self.term.is_solved(self.z, self.b, gradient, self.goal):
                self._end_round()
                return
        if self.shared is not None:
            hessian = self.shared.matrix(problem, bends, self.ledger)
        else:
            hessian = np.zeros((d + 1, d + 1), order="F")
            ones = problem.bias != "none"
            gram(problem.rows, bends, hessian, pulls, gradient[:d], ones=ones)
            self.ledger.visit((pulls != 0.0) | (bends != 0.0) if len(pulls) else bends != 0.0)
        hessian[np.arange(d), np.arange(d)] += problem.alpha
        hessian[d, d] += own
        if problem.bias == "none":
            gradient[d], hessian[d, :] = 0.0, 0.0
            hessian[d, d] = 1.0
        elif problem.bias == "free":  # where no row is near a kink, nothing bends along the bias
            farthest = 10.0 * (self.term.scale + abs(self.b) + float(np.abs(self.z).max()))
            hessian[d, d] = max(hessian[d, d], abs(gradient[d]) / farthest)
        if self.shared is not None:
            direction = self.shared.solve(problem, hessian, -gradient)
        else:
            direction = solve_symmetric(hessian, -gradient)
        slope = float(direction @ gradient)
        self.model = None
        if self.value == 0.0:  # else the check before has formed it
            self.value = 0.5 * problem.alpha * float(self.w @ self.w) + 1e-300
            self.value += certificates.mean_loss(problem, self.z, self.b)
        self.promised = -0.5 * slope / self.value
        # the primal may be exact long before the dual, whose error is ||gradient||^2 / alpha
        former, self.steepness = self.steepness, float(np.linalg.norm(gradient))
        if not self.promised > 1e-17 and not self.steepness < 0.5 * former:
            self._end_round()
            return
        along = np.empty(n)
        responses(problem.rows, direction[:d], along)
        self.ledger.pass_over()
        if self.smooth and not self.thorough and problem.squares is not None:
            left = symmetric_product(hessian, direction)  # of the gradient: what rounding leaves
            left += gradient
            theta = self.w + direction[:d] - left[:d] / problem.alpha
            slopes = self.term.at_end(along, float(direction[d]))
            self.model = slopes, theta, self._rounding(hessian, direction)
        step = self._step(direction, along, own, slope)
        self.w = self.w + step * direction[:d]
        self.b += step * float(direction[d])
        self.z = self.z + step * along
        self.theta, self.value = None, 0.0
        if step == 0.0:
            self._end_round()

    def _rounding(self, hessian: Vector, direction: Vector) -> Vector:
        """How far rounding may put the dual vector of the model off, as its sums are over all rows.

        No sum of products is larger than its two lines of the diagonal allow, whatever cancels in
        it; and no row is longer than the longest.
        """
        problem = self.problem
        assert problem.squares is not None
        scales = np.sqrt(np.diagonal(hessian))
        pull = float(problem.weights @ np.abs(self.term.new_a)) / problem.n
        pull *= math.sqrt(float(problem.squares.max()))
        off = scales[:-1] * float(scales @ np.abs(direction)) + pull
        off *= ROUNDING * math.sqrt(problem.n) / problem.alpha
        return np.asarray(off)

    def _prox(self) -> None:
        near = self.promised <= NEAR
        self.term.look(self.z, self.b, math.inf if near else REACH * self.term.typical)

    def _end_round(self) -> None:
        """Move the proximal term to where the dual variables went."""
        self._prox()
        self.round_ended = True
        self.steepness = math.inf
        self.finished = self.term.advance(self.goal)

    def _step(self, direction: Vector, along: Vector, own: float, begin: float) -> float:
        """How far to go along the direction."""
        alpha, d = self.problem.alpha, self.problem.d
        line = (
            alpha * float(self.w @ direction[:d]) + own * self.b * direction[d],
            alpha * float(direction[:d] @ direction[:d]) + own * direction[d] ** 2,
        )
        return step_length(
            self.problem, self.z + self.b, along + direction[d], line, begin,
            a=self.term.a, h=self.term.h, enough=ENDS if self.smooth else 1e-6,
        )  # fmt: skip

    def answer(self) -> tuple[Vector, float]:
        return self.w, self.b

    def responses(self) -> Vector | None:
        return self.z if self.known else None

    def bound(self, answer: Primal) -> Dual:
        if not self.smooth:
            a = certificates.feasible(self.problem, self.term.new_a)  # of w, at the end of a round
            return self.certified(a)
        self.b, self.value = answer.b, answer.value
        bound = None if self.model is None else self._bound_of_model()
        if bound is not None and self.goal is not None and answer.value - bound.value <= self.goal:
            return bound
        self._prox()
        a = certificates.feasible(self.problem, self.term.new_a)
        if self.theta is None:
            self.count_proof(a)
        other = certificates.at_slopes(self.problem, answer, a, self.theta)
        if np.array_equal(a, self.term.new_a):
            self.theta = other.theta
        return other if bound is None or other.value >= bound.value else bound

    def _bound_of_model(self) -> Dual:
        """What the slopes of the last step's model prove."""
        assert self.model is not None
        problem, (a, theta, off) = self.problem, self.model
        inside = certificates.feasible(problem, a)
        a -= inside
        if a.any():
            self.count_proof(a)
            combine_weighted(
                problem.rows, a, problem.weights, -1.0 / (problem.alpha * problem.n), theta
            )
        self.model = None
        bound = certificates.dual(problem, inside, theta)
        lost = problem.alpha * float(np.abs(theta) @ off + 0.5 * (off @ off))
        return bound._replace(value=bound.value - lost)

    def checked(self, answer: Primal, certificate: Certificate) -> None:
        self.round_ended = False
        relative = certificate.relative_gap
        self.vain = self.vain + 1 if relative >= 0.5 * self.gap else 0
        self.gap = min(self.gap, relative)
        if relative < 1e-13 or (relative < 1e-6 and self.vain >= 3):
            self.finished = True

    def due(self, epochs: float, reads_at_last_check: int) -> bool:
        return self.round_ended or (self.smooth and not self.thorough)


def _part_of(problem: Problem, chosen: Order) -> Problem:
    """The problem of some rows."""
    weights = problem.weights[chosen]
    mean = float(weights.mean())
    rows = take(problem.rows, chosen)
    squares = norms(rows) ** 2 if problem.squares is None else problem.squares[chosen]
    noise = NOISE * min(problem.loss.curvature(), 0.75) * float(squares.mean()) / len(chosen)
    return replace(
        problem, rows=rows, squares=squares, y=problem.y[chosen], alpha=problem.alpha + noise,
        weights=weights / mean if mean > 0.0 else np.ones(len(chosen)),
    )  # fmt: skip
