r"""Newton's method for few features: exact, whatever the scale of the features.

Problem:  min over w, b of  alpha/2 ||w||^2 + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i).

First-order methods slow down when features have very different scales or alpha is tiny. With d
features a Newton step costs O(sum of nnz(x_i)^2 + d^3) and needs few repetitions. Samples of the
rows can be solved first, each four times the size of the one before: if the loss is smooth, one or
two steps on all rows are then enough. A sample of m rows has its own noise, against which alpha is
raised (`NOISE`).

A loss with kinks is first made smooth by a proximal term around dual variables a (Rockafellar's
method of multipliers): its slope is then -a', with a' = dual_step(a, z, h, y), and Newton's method
applies. When it has converged, a' takes the place of a, and h shrinks: every round is exact for
the term it has, so that h need not go to zero, and for losses made of straight pieces the end is
reached in finitely many rounds. A smooth loss has h = 0 and one round. At the end of a round the
dual vector of a' is w, so that a' proves a gap which the term alone makes; it falls with h^2. A
round is solved no further than that, and the next h follows from the gap that is wanted.

The line search looks at the slope along the direction only, which the convexity allows, and needs
no data beyond one product of X with the direction. See Li, Sun and Toh, "A highly efficient
semismooth Newton augmented Lagrangian method" (2018).
"""

from __future__ import annotations

import math
import threading
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn._jit import kernel
from skimlearn.certificates import Dual, Primal
from skimlearn.data.blas import linalg
from skimlearn.data.gram import DENSE, gram
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import combine, norms, responses, take
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Certificate, Result
from skimlearn.solvers._bends import LEAST, REACH, bend_at_least, typical_response
from skimlearn.solvers._line_search import step_length
from skimlearn.solvers._run import Callback, Method, Order, Run, Start, Vector

__all__ = ["Newton", "cost", "solve"]

ROUNDS = 60
BEGIN = 0.6  # the first weight of the proximal term, relative to a typical response
PART = 0.1  # of that gap which the proximal term makes: a round is solved so far
GROWTH = 4  # of the samples
ENOUGH = 1.0  # times features over rows: less gained by the last step on a sample is noise
NEAR = 1e-2  # of the value: rows are taken to bend more as long as steps promise more than this
NOISE = 0.4  # times curvature and mean squared length of a row over m: added to alpha for m rows


def cost(n: int, d: int, counts: NDArray[np.int64]) -> float:
    """Multiplications of one step, those in whole blocks at what they cost beside single ones.

    ``counts`` are the numbers of nonzero entries of some of the n rows. Infinite if a d x d matrix
    is out of the question.
    """
    if d > 2000:
        return math.inf
    pairs = min(float((counts.astype(np.float64) ** 2).mean()), DENSE * float(d) ** 2)
    return n * pairs + DENSE * float(d) ** 3 / 3.0


def solve(
    problem: Problem,
    budget: Budget | None = None,
    *,
    seed: int | np.random.Generator | None = None,
    start: Start | None = None,
    callback: Callback | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Minimise the problem by Newton's method, to the last digits.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> result = solve(problem)
    >>> round(float(result.x[0]), 12), round(result.certificate.primal, 12)
    (1.0, 0.25)
    """
    budget = budget or Budget(gap=1e-3, epochs=1000)
    run = Run(problem, budget, seed=seed, start=start, callback=callback, stop=stop)
    return run.stage(Newton(problem, run.ledger, start, thorough=True)).result()


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
    ) -> None:
        super().__init__(problem, ledger)
        self.thorough = thorough
        if not isinstance(problem.regularizer, SquaredL2):
            raise ValueError(f"Newton's method has p=2 and no radius, not {problem.regularizer!r}")
        n, d = problem.n, problem.d
        self.w, self.b = np.zeros(d), 0.0
        self.a, self.z = np.zeros(n), np.zeros(n)
        self.known = start is None  # whether z is that of w
        if start is not None:
            self.w, self.b = start.w.copy(), start.b
            if start.a is not None:
                self.a = certificates.feasible(problem, start.a)
        elif problem.bias == "free":
            self.b = certificates.best_bias(problem, self.z)
        self.smooth = math.isfinite(problem.loss.curvature())
        self.scale = 1.0 if problem.loss.labels else float(np.abs(problem.y).max(initial=1e-12))
        self.typical = typical_response(problem, self.b)
        self.h = 0.0 if self.smooth else BEGIN * self.typical
        if z is not None:
            self.z, self.known = z, True
        self.moved = math.inf  # the largest change of a dual variable in the last round
        self.new_a, self.bend = np.zeros(n), np.zeros(n)
        self.theta: Vector | None = None  # that of new_a, if a check has formed it
        self.rounds, self.vain = 0, 0  # in vain: rounds that did not halve the gap
        self.gap = math.inf
        self.steepness = math.inf  # the length of the last gradient of the round
        self.value = 0.0
        self.promised = math.inf  # what the last step was to gain, relative to the value
        self.round_ended = False
        self.kinks = math.inf  # the part of the gap that the proximal term makes
        self.finished = False
        if order is not None:
            self._learn_from_samples(order)

    def _learn_from_samples(self, order: Order) -> None:
        """Begin at the answer of some rows alone."""
        problem, start = self.problem, None
        count = max(8 * problem.d, 500)
        while GROWTH * count <= 1.5 * problem.n:
            chosen = np.sort(order[:count])
            part = _part_of(problem, chosen)
            self.ledger.visit(chosen)
            inner = Newton(part, Ledger(part.rows), start)
            inner.h = self.h
            noise = ENOUGH * problem.d / count
            while not inner.finished and not inner.round_ended and inner.promised > noise:
                inner.visit(chosen)
                inner.theta = None
            start = Start(inner.w, inner.b)
            count *= GROWTH
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
        if self.theta is None:
            self._prox()  # else the check before has done it
        own = problem.alpha if problem.bias == "regularized" else 0.0
        gradient = np.append(problem.alpha * self.w, own * self.b - float(m @ self.new_a) / n)
        if self.theta is None:
            combine(problem.rows, -m * self.new_a / n, gradient[:d])
            self.ledger.visit(np.flatnonzero(m * self.new_a))
        else:
            gradient[:d] -= problem.alpha * self.theta
        if not self.smooth and not self.thorough and self._is_solved(gradient):
            self._end_round()
            return
        hessian = np.zeros((d + 1, d + 1), order="F")
        bends = m * self.bend
        self.ledger.visit(np.flatnonzero(bends))
        bends /= n
        gram(problem.rows, bends, hessian)
        hessian[np.arange(d), np.arange(d)] += problem.alpha
        hessian[d, d] += own
        if problem.bias == "none":
            gradient[d], hessian[d, :] = 0.0, 0.0
            hessian[d, d] = 1.0
        elif problem.bias == "free":  # where no row is near a kink, nothing bends along the bias
            farthest = 10.0 * (self.scale + abs(self.b) + float(np.abs(self.z).max()))
            hessian[d, d] = max(hessian[d, d], abs(gradient[d]) / farthest)
        direction = _solve_symmetric(hessian, -gradient)
        slope = float(direction @ gradient)
        if self.theta is None or self.value == 0.0:  # else the check before has formed it
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
        step = self._step(direction, along, own, slope)
        self.w = self.w + step * direction[:d]
        self.b += step * float(direction[d])
        self.z = self.z + step * along
        self.theta = None
        if step == 0.0:
            self._end_round()

    def _prox(self) -> None:
        problem = self.problem
        reach = REACH * self.typical if self.promised > NEAR else math.inf
        _slopes(
            problem.loss, self.a, self.z, self.b, self.h, problem.y,
            reach, problem.loss.curvature(), self.new_a, self.bend,
        )  # fmt: skip

    def _is_solved(self, gradient: Vector) -> bool:
        """Whether the round is exact enough: what remains of the gap is the proximal term's.

        With theta the dual vector of new_a, the gap is the sum of those of the losses, which the
        term makes, and alpha/2 ||w - theta||^2, and alpha (w - theta) is the gradient.
        """
        problem, d = self.problem, self.problem.d
        error = 0.5 * float(gradient[:d] @ gradient[:d]) / problem.alpha
        if problem.bias == "regularized":
            error += 0.5 * float(gradient[d]) ** 2 / problem.alpha
        elif problem.bias == "free":
            error += abs(float(gradient[d])) * self.scale
        losses = (problem.loss, self.new_a, self.z, self.b, problem.y, problem.weights)
        self.kinks = float(_kink_gap(*losses))
        if self.goal is not None and error + self.kinks <= 0.5 * self.goal:
            return True
        return error <= PART * self.kinks

    def _end_round(self) -> None:
        """Move the proximal term to where the dual variables went."""
        self._prox()
        moved, former = float(np.abs(self.new_a - self.a).max(initial=0.0)), self.moved
        self.a, self.moved = self.new_a.copy(), moved
        self.rounds += 1
        self.round_ended = True
        self.steepness = math.inf
        noise = 1e-14 * float(np.abs(self.a).max(initial=0.0))
        if not self.smooth:
            noise = max(noise, 1e-15 * self.scale / self.h)
        self.finished = self.smooth or moved <= noise or self.rounds >= ROUNDS
        if not self.smooth and moved > 0.01 * former:
            fall = 0.1
            if self.goal is not None and self.kinks > 0.0:  # the gap falls with h^2
                fall = min(max(math.sqrt(0.3 * self.goal / self.kinks), 0.02), 0.3)
            self.h = max(fall * self.h, LEAST * self.scale)

    def _step(self, direction: Vector, along: Vector, own: float, begin: float) -> float:
        """How far to go along the direction."""
        alpha, d = self.problem.alpha, self.problem.d
        line = (
            alpha * float(self.w @ direction[:d]) + own * self.b * direction[d],
            alpha * float(direction[:d] @ direction[:d]) + own * direction[d] ** 2,
        )
        return step_length(
            self.problem, self.z + self.b, along + direction[d], line, begin,
            a=self.a, h=self.h, enough=0.1 if self.smooth else 1e-6,
        )  # fmt: skip

    def answer(self) -> tuple[Vector, float]:
        return self.w, self.b

    def responses(self) -> Vector | None:
        return self.z if self.known else None

    def bound(self, answer: Primal) -> Dual:
        if not self.smooth:
            a = certificates.feasible(self.problem, self.new_a)  # of w, at the end of a round
            return self.certified(a)
        self.b = answer.b
        self._prox()
        a = certificates.feasible(self.problem, self.new_a)
        self.count_proof(a)
        bound = certificates.at_slopes(self.problem, answer, a)
        if np.array_equal(a, self.new_a):
            self.theta, self.value = bound.theta, answer.value
        return bound

    def checked(self, answer: Primal, certificate: Certificate) -> None:
        self.round_ended = False
        relative = certificate.relative_gap
        self.vain = self.vain + 1 if relative >= 0.5 * self.gap else 0
        self.gap = min(self.gap, relative)
        if relative < 1e-13 or (relative < 1e-6 and self.vain >= 3):
            self.finished = True

    def due(self, epochs: float, reads_at_last_check: int) -> bool:
        return self.round_ended or (self.smooth and not self.thorough)


def _solve_symmetric(matrix: Vector, right: Vector) -> Vector:
    """The solution of a positive semidefinite system, of least norm if it is singular."""
    scipy = linalg()
    try:
        solution = scipy.cho_solve(scipy.cho_factor(matrix, lower=True), right)
        if np.isfinite(solution).all():
            return np.asarray(solution)
    except np.linalg.LinAlgError:
        pass
    full = matrix + np.tril(matrix, -1).T if not matrix[0, 1:].any() else matrix
    return np.asarray(scipy.lstsq(full, right)[0])


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


@kernel
def _slopes(loss, a, z, b, h, y, reach, most, new, bend):
    """Dual variables of the smoothed loss, and how fast they fall with the response, at least."""
    for i in range(len(z)):
        at = z[i] + b
        if h == 0.0:
            slope = loss.slope(at, y[i])
            new[i], bend[i] = -slope, bend_at_least(loss, at, y[i], slope, reach, most)
            continue
        tiny = min(1e-6 * (1.0 + abs(at)), 1e-4 * h)
        new[i] = loss.dual_step(a[i], at, h, y[i])
        rise = loss.dual_step(a[i], at - tiny, h, y[i]) - loss.dual_step(a[i], at + tiny, h, y[i])
        bend[i] = max(rise / (2.0 * tiny), 0.0)


@kernel
def _kink_gap(loss, a, z, b, y, m):
    """The mean gap between losses and dual variables."""
    total = 0.0
    for i in range(len(z)):
        if m[i] > 0.0:
            at = z[i] + b
            total += m[i] * (loss.value(at, y[i]) + loss.conjugate(-a[i], y[i]) + a[i] * at)
    return total / len(z)
