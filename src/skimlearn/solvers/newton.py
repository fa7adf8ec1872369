r"""Newton's method for few features: exact, whatever the scale of the features.

Problem:  min over w, b of  alpha/2 ||w||^2 + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i).

First-order methods slow down when features have very different scales or alpha is tiny. With d
features a Newton step costs O(sum of nnz(x_i)^2 + d^3) and needs few repetitions.

A loss with kinks is first made smooth by a proximal term around dual variables a (Rockafellar's
method of multipliers): its slope is then -a', with a' = dual_step(a, z, h, y), and Newton's method
applies. When it has converged, a' takes the place of a, and h shrinks: every round is exact for
the term it has, so that h need not go to zero, and for losses made of straight pieces the end is
reached in finitely many rounds. A smooth loss has h = 0 and one round.

The line search looks at the slope along the direction only, which the convexity allows, and needs
no data beyond one product of X with the direction. See Li, Sun and Toh, "A highly efficient
semismooth Newton augmented Lagrangian method" (2018).
"""

from __future__ import annotations

import math
import threading

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from skimlearn import certificates
from skimlearn._jit import kernel
from skimlearn.certificates import Dual, Primal
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import Rows, combine, entry, nonzeros, norms, responses, size
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Certificate, Result
from skimlearn.solvers._run import Callback, Method, Order, Run, Start, Vector

__all__ = ["Newton", "cost", "solve"]

LEAST = 1e-6  # the least weight of the proximal term, relative to the scale of responses
ROUNDS = 60


def cost(rows: Rows) -> float:
    """Multiplications of one step, about; infinite if a d x d matrix is out of the question."""
    d = rows.shape[1]
    if d > 2000:
        return math.inf
    counts = nonzeros(rows).astype(np.float64)  # the same for dense and sparse rows
    return float((counts**2).sum()) + float(d) ** 3 / 3.0


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
    ) -> None:
        super().__init__(problem, ledger)
        self.thorough = thorough
        if not isinstance(problem.regularizer, SquaredL2):
            raise ValueError(f"Newton's method has p=2 and no radius, not {problem.regularizer!r}")
        n, d = problem.n, problem.d
        self.w, self.b = np.zeros(d), 0.0
        self.a = np.zeros(n)
        self.z = np.zeros(n)
        if start is not None:
            self.w, self.b = start.w.copy(), start.b
            responses(problem.rows, self.w, self.z)
            ledger.pass_over()
            if start.a is not None:
                self.a = certificates.feasible(problem, start.a)
        elif problem.bias == "free":
            self.b = certificates.best_bias(problem, self.z)
        self.smooth = math.isfinite(problem.loss.curvature())
        self.scale = 1.0 if problem.loss.labels else float(np.abs(problem.y).max(initial=1e-12))
        ledger.pass_over()
        natural = float(problem.weights @ norms(problem.rows) ** 2) / (problem.alpha * n * n)
        self.h = 0.0 if self.smooth else max(min(1e-3 * natural, self.scale), LEAST * self.scale)
        self.moved = math.inf  # the largest change of a dual variable in the last round
        self.new_a, self.bend = np.zeros(n), np.zeros(n)
        self.rounds, self.vain = 0, 0  # in vain: rounds that did not halve the gap
        self.gap = math.inf
        self.steepness = math.inf  # the length of the last gradient of the round
        self.round_ended = False
        self.finished = False

    def order(self, rng: np.random.Generator) -> Order:
        return np.arange(self.problem.n)

    def visit(self, order: Order) -> None:
        """One Newton step, or the end of a round."""
        problem = self.problem
        n, d, m = problem.n, problem.d, problem.weights
        self._prox()
        gradient = np.empty(d + 1)
        gradient[:d] = problem.alpha * self.w
        combine(problem.rows, -m * self.new_a / n, gradient[:d])
        self.ledger.visit(np.flatnonzero(m * self.new_a))
        own = problem.alpha if problem.bias == "regularized" else 0.0
        gradient[d] = own * self.b - float(m @ self.new_a) / n
        hessian = np.zeros((d + 1, d + 1))
        _gram(problem.rows, m * self.bend / n, hessian)
        self.ledger.visit(np.flatnonzero(m * self.bend))
        hessian[np.arange(d), np.arange(d)] += problem.alpha
        hessian[d, d] += own
        if problem.bias == "none":
            gradient[d], hessian[d, :] = 0.0, 0.0
            hessian[d, d] = 1.0
        elif problem.bias == "free":  # where no row is near a kink, nothing bends along the bias
            farthest = 10.0 * (self.scale + abs(self.b) + float(np.abs(self.z).max()))
            hessian[d, d] = max(hessian[d, d], abs(gradient[d]) / farthest)
        direction = _solve_symmetric(hessian, -gradient)
        promised = -0.5 * float(direction @ gradient)
        value = 0.5 * problem.alpha * float(self.w @ self.w) + 1e-300
        value += certificates.primal(problem, self.w, self.b, z=self.z).value
        # the primal may be exact long before the dual, whose error is ||gradient||^2 / alpha
        former, self.steepness = self.steepness, float(np.linalg.norm(gradient))
        if not promised > 1e-17 * value and not self.steepness < 0.5 * former:
            self._end_round()
            return
        along = np.empty(n)
        responses(problem.rows, direction[:d], along)
        self.ledger.pass_over()
        step = self._step(direction, along, own)
        self.w += step * direction[:d]
        self.b += step * float(direction[d])
        self.z += step * along
        if step == 0.0:
            self._end_round()

    def _prox(self) -> None:
        problem = self.problem
        _slopes(problem.loss, self.a, self.z, self.b, self.h, problem.y, self.new_a, self.bend)

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
            self.h = max(0.1 * self.h, LEAST * self.scale)

    def _step(self, direction: Vector, along: Vector, own: float) -> float:
        """A step that goes down: the slope along the direction is not yet positive at its end."""
        problem = self.problem
        d = problem.d
        constants = np.array(
            [
                problem.alpha * float(self.w @ direction[:d]) + own * self.b * direction[d],
                problem.alpha * float(direction[:d] @ direction[:d]) + own * direction[d] ** 2,
            ]
        )
        along = along + direction[d]

        def slope(step: float) -> float:
            return float(
                _slope_along(
                    problem.loss, self.a, self.z + self.b, along, step, self.h, problem.y,
                    problem.weights,
                )
                + constants[0] + step * constants[1]
            )  # fmt: skip

        begin = slope(0.0)
        if not begin < 0.0:
            return 0.0
        low, high = 0.0, 1.0
        if slope(1.0) <= 1e-6 * abs(begin):
            return 1.0
        for _ in range(200):  # the slope changes its sign in between; stay where it is negative
            middle = 0.5 * (low + high)
            at = slope(middle)
            if at > 0.0:
                high = middle
            else:
                low = middle
                if at >= 0.5 * begin:
                    break
        return low

    def answer(self) -> tuple[Vector, float]:
        return self.w, self.b

    def bound(self, answer: Primal) -> Dual:
        self._prox()
        return self.certified(certificates.feasible(self.problem, self.new_a))

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
    try:
        solution = cho_solve(cho_factor(matrix, lower=True), right)
        if np.isfinite(solution).all():
            return np.asarray(solution)
    except LinAlgError:
        pass
    full = matrix + np.tril(matrix, -1).T if not matrix[0, 1:].any() else matrix
    return np.asarray(lstsq(full, right)[0])


@kernel
def _slopes(loss, a, z, b, h, y, new, bend):
    """Dual variables of the smoothed loss, and how fast they fall with the response."""
    for i in range(len(z)):
        at = z[i] + b
        tiny = 1e-6 * (1.0 + abs(at))
        if h > 0.0:
            tiny = min(tiny, 1e-4 * h)
        new[i] = loss.dual_step(a[i], at, h, y[i])
        rise = loss.dual_step(a[i], at - tiny, h, y[i]) - loss.dual_step(a[i], at + tiny, h, y[i])
        bend[i] = max(rise / (2.0 * tiny), 0.0)


@kernel
def _slope_along(loss, a, z, along, step, h, y, m):
    """The derivative of the mean smoothed loss along a direction."""
    total = 0.0
    for i in range(len(z)):
        if m[i] > 0.0:
            total -= m[i] * loss.dual_step(a[i], z[i] + step * along[i], h, y[i]) * along[i]
    return total / len(z)


@kernel
def _gram(rows, c, out):
    """out += sum of c_i (x_i, 1)(x_i, 1)', the lower triangle of it."""
    d = np.uint64(len(out) - 1)
    for i in range(len(c)):
        if c[i] != 0.0:
            for k in range(size(rows, i)):
                j, x = entry(rows, i, k)
                cx = c[i] * x
                if cx != 0.0:
                    for other in range(k + np.uint64(1)):
                        column, value = entry(rows, i, other)
                        out[j, column] += cx * value
                    out[d, j] += cx
            out[d, d] += c[i]
