r"""Newton's method with conjugate gradients: many features, a small alpha.

Problem:  min over w, b of  alpha/2 ||w||^2 + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i).

Coordinate methods need about 1 / alpha passes where alpha n is less than the squared lengths of the
rows; conjugate gradients need the root of it. The direction of a Newton step,

    H s = -g,    H = alpha I + (1/n) sum m_i bend_i x_i x_i',

is found by conjugate gradients, scaled by the diagonal of H: rare and frequent features have very
different curvatures. A product with H is one pass over the rows in the order in which they are
stored: <x_i, p> and its share of H p at once, half of what a visit in random order takes. The inner
iterations end when they gain little beside what they have gained (Nash and Sofer, "Assessing a
search direction within a truncated-Newton method", 1990; Galli and Lin, "A study on truncated
Newton methods for linear classification", 2021). A squared loss is its own model: conjugate
gradients go on to the end there.

A loss with kinks is made smooth by a proximal term (`_proximal`), and bends abruptly where the term
ends. A bend is therefore taken over as far as responses went in the last step, not at one point.
Rough directions are good enough, and far cheaper than exact ones where few rows bend; but they may
go back and forth between two pieces. They get finer when many passes gained nothing.

The certificate. Responses and gradient are at hand, and with a = -slopes the dual vector is
theta = w - g / alpha: a bound without another pass. It is loose, ||g||^2 / (2 alpha) above the
optimum, in directions that a pass of dual coordinate ascent mends. So one is made from there when
it can be hoped to reach the target.
"""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from skimlearn import certificates
from skimlearn.certificates import Dual, Primal
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import responses
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Certificate, Result
from skimlearn.solvers._hessian import expand, multiply
from skimlearn.solvers._line_search import step_length
from skimlearn.solvers._proximal import Proximal
from skimlearn.solvers._run import NOTHING, Method, Options, Order, Run, Start, Vector
from skimlearn.solvers.dual import DualAscent, Settings

__all__ = ["NewtonCg", "solve"]

LITTLE = 0.5  # of the mean gain of the iterations so far: one that gains less is the last
ROUGH = 0.8  # that, of a loss with kinks;
FINER = 0.5  # so much less if as many passes as an exact direction takes did not halve a gradient
MENDED = 0.1  # of the gap that the slopes prove is left after a pass of dual ascent, at first
LOST = 1e-13  # of the squared residual at the beginning: no digits are left below


def solve(problem: Problem, budget: Budget | None = None, **options: Unpack[Options]) -> Result:
    """Minimise the problem by Newton's method with conjugate gradients.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="squared", alpha=1.0)
    >>> result = solve(problem)
    >>> round(float(result.x[0]), 6), round(result.certificate.primal, 6)
    (0.5, 0.25)
    """
    run = Run(problem, budget or Budget(gap=1e-3, epochs=1000), **options)
    return run.stage(NewtonCg(problem, run.ledger, run.start)).result()


class NewtonCg(Method):
    """Newton's method with conjugate gradients in progress; a visit is one pass over the rows."""

    name = "newton-cg"
    growth = 2.0
    whole = True

    def __init__(
        self,
        problem: Problem,
        ledger: Ledger,
        start: Start | None = None,
        *,
        z: Vector | None = None,  # the responses to the start, if they are known
    ) -> None:
        super().__init__(problem, ledger)
        if not isinstance(problem.regularizer, SquaredL2):
            raise ValueError(f"Newton's method has p=2 and no radius, not {problem.regularizer!r}")
        n, d = problem.n, problem.d
        self.x = np.zeros(d + 1)  # the weights, and behind them the bias
        self.z = np.zeros(n)  # responses, without the bias
        self.known = start is None  # whether z is that of x
        if start is not None:
            self.x[:d], self.x[d] = start.w, start.b
        elif problem.bias == "free":
            self.x[d] = certificates.best_bias(problem, self.z)
        if z is not None:
            self.z[:], self.known = z, True
        self.exact = problem.loss.quadratic  # the model is the problem itself
        self.term = Proximal(problem, float(self.x[d]), None if start is None else start.a)
        self.smooth = self.term.smooth
        self.round_ended = False
        self.along = np.zeros(n)
        self.residual, self.diagonal = np.zeros(d + 1), np.zeros(d + 1)
        self.p, self.product = np.zeros(d + 1), np.zeros(d + 1)
        # how far the inner iterations went, in weights and in responses
        self.step = self.x if self.exact else np.zeros(d + 1)
        self.reach = self.z if self.exact else np.zeros(n)
        self.ridge = np.full(2, problem.alpha)  # of the weights, and of the bias
        if problem.bias != "regularized":
            self.ridge[1] = 0.0
        self.damping = 0.0  # of a free bias, in the model at x alone
        self.fresh = True  # whether there is no model at x yet
        self.little = LITTLE if self.smooth else ROUGH
        self.least, self.vain = math.inf, 0  # gradient of the round, and passes since it was halved
        self.iterations, self.gained, self.fall = 0, 0.0, 0.0
        self.value, self.first = math.inf, 0.0
        self.mended = MENDED
        self.finished = False

    def order(self, rng: np.random.Generator) -> Order:
        return np.arange(self.problem.n)

    def visit(self, order: Order) -> None:
        """A pass over the rows: for the gradient, or for an iteration of conjugate gradients."""
        if not self.known:
            responses(self.problem.rows, self.x[:-1], self.z)
            self.ledger.pass_over()
            self.known = True
        self.ledger.pass_over()
        if self.fresh:
            self._expand()
        else:
            self._iterate()

    def _expand(self) -> None:
        """The model at x: gradient, bends, and the diagonal of the Hessian."""
        problem, d = self.problem, self.problem.d
        self.fresh, self.damping = False, 0.0
        self.iterations, self.gained = 0, 0.0
        self.residual[:d], self.residual[d] = self.ridge[0] * self.x[:d], self.ridge[1] * self.x[d]
        self.diagonal[:d], self.diagonal[d] = self.ridge
        sides = NOTHING if self.smooth else self.reach  # that the last step had
        self.term.look(self.z, float(self.x[d]), sides=sides)
        shares = problem.weights / problem.n
        self.term.bend *= shares
        shares *= self.term.new_a
        expand(problem.rows, shares, self.term.bend, self.residual, self.diagonal)
        del shares
        self.value = certificates.mean_loss(problem, self.z, float(self.x[d]))
        self.value += 0.5 * float(self.ridge[0] * (self.x[:d] @ self.x[:d]))
        self.value += 0.5 * float(self.ridge[1] * self.x[d] ** 2)
        solved = (self.z, float(self.x[d]), self.residual, self.goal)
        if not self.smooth and self.term.is_solved(*solved):
            self.fresh = self.round_ended = True
            self.finished = self.term.advance(self.goal)
            self.little, self.vain, self.least = ROUGH, 0, math.inf
            return
        self.residual *= -1.0
        if problem.bias == "none":
            self.residual[d], self.diagonal[d] = 0.0, 1.0
        elif problem.bias == "free":  # where no row bends, nothing does along the bias
            farthest = 10.0 * (1.0 + abs(self.x[d]) + float(np.abs(self.z).max()))
            least = abs(self.residual[d]) / farthest
            self.damping = max(least - self.diagonal[d], 0.0)
            self.diagonal[d] = max(self.diagonal[d], least, 1e-300)
        scaled = self.residual / self.diagonal
        self.p[:] = scaled
        self.fall = self.first = float(self.residual @ scaled)
        if not self.exact:
            self.step[:], self.reach[:] = 0.0, 0.0
        self.finished = not self.first > 1e-32 * abs(self.value)
        if not self.smooth:
            if self.first <= 0.5 * self.least:
                self.least, self.vain = self.first, 0
            elif self.vain > d:
                self.little, self.vain = FINER * self.little, 0

    def _iterate(self) -> None:
        problem, d = self.problem, self.problem.d
        np.multiply(self.ridge[0], self.p[:d], out=self.product[:d])
        self.product[d] = (self.ridge[1] + self.damping) * self.p[d]
        multiply(problem.rows, self.term.bend, self.p, self.along, self.product)
        if problem.bias == "none":
            self.product[d] = 0.0
        curvature = float(self.p @ self.product)
        if not curvature > 0.0:
            self._move()
            return
        length = self.fall / curvature
        self.step += length * self.p
        self.reach += length * self.along
        self.residual -= length * self.product
        gain = 0.5 * length * self.fall
        self.gained += gain
        self.iterations += 1
        self.vain += 1
        scaled = self.residual / self.diagonal
        former, self.fall = self.fall, float(self.residual @ scaled)
        self.p *= self.fall / former
        self.p += scaled
        if self.fall <= LOST * self.first:
            self._move()
        elif not self.exact:
            small = self.iterations * gain <= self.little * self.gained
            near = self.smooth and self.goal is not None and self._guess() <= 0.5 * self.goal
            if small or near:
                self._move()

    def _move(self) -> None:
        """Go along the direction found, and take the next model there."""
        problem, d = self.problem, self.problem.d
        self.fresh = True
        if self.exact or self.iterations == 0:
            return
        w, s = self.x[:d], self.step[:d]
        line = (
            float(self.ridge[0] * (w @ s) + self.ridge[1] * self.x[d] * self.step[d]),
            float(self.ridge[0] * (s @ s) + self.ridge[1] * self.step[d] ** 2),
        )
        length = step_length(
            problem, self.z + self.x[d], self.reach + self.step[d], line, -2.0 * self.gained,
            a=self.term.a, h=self.term.h, enough=0.1 if self.smooth else 1e-6,
        )  # fmt: skip
        self.x += length * self.step
        self.z += length * self.reach
        if not self.smooth:
            self.reach += self.step[d]
            self.reach *= length
        self.finished = length == 0.0
        self.iterations = 0

    def _guess(self) -> float:
        """The gap that a pass of dual ascent would leave."""
        return self.mended * self._raw_gap()

    def _raw_gap(self) -> float:
        """The gap that the slopes prove, if the bias is the best one."""
        residual = self.residual[: self.problem.d]
        return 0.5 * float(residual @ residual) / self.problem.alpha

    def answer(self) -> tuple[Vector, float]:
        if not self.exact and not self.fresh and self.iterations > 0:
            self._move()
        return self.x[:-1].copy(), float(self.x[-1])

    def responses(self) -> Vector | None:
        return self.z.copy() if self.known else None

    def bound(self, answer: Primal) -> Dual:
        problem = self.problem
        if self.smooth:
            a, bound = self._bound_of_slopes(answer)
            raw = self._raw_gap()
        else:
            a = certificates.feasible(problem, self.term.new_a)
            bound = self.certified(a)
            raw = answer.value - bound.value
        gap, goal = answer.value - bound.value, 0.0 if self.goal is None else self.goal
        raw = max(raw, 1e-300)
        if gap > goal:
            if self.mended * min(gap, raw) > 2.0 * goal:
                return bound
            bound = bound._replace(theta=NOTHING)  # room for that of the ascent
            start = Start(answer.w, answer.b, a)
            ascent = DualAscent(problem, Ledger(problem.rows), Settings(), start)
            ascent.visit(ascent.rows_left)
            self.ledger.certify(2 * self.ledger.total)
            mended = ascent.bound(answer)
            bound = mended if mended.value > bound.value else bound
            self.mended = max((answer.value - bound.value) / raw, 1e-3)
        return bound

    def _bound_of_slopes(self, answer: Primal) -> tuple[Vector, Dual]:
        problem = self.problem
        a = certificates.slopes(problem, answer)
        theta = None
        if self.fresh or problem.bias == "free":
            self.count_proof(a)
        else:
            theta = answer.w + self.residual[:-1] / problem.alpha
        return a, certificates.at_slopes(problem, answer, a, theta)

    def checked(self, answer: Primal, certificate: Certificate) -> None:
        self.round_ended = False
        if not self.exact and self.fresh and self.problem.bias == "free":
            self.x[-1] = answer.b

    def due(self, epochs: float, reads_at_last_check: int) -> bool:
        if self.finished or self.round_ended:
            return True
        if not self.smooth or self.fresh or (self.iterations > 0 and not self.exact):
            return False
        if self.goal is not None and self._guess() <= self.goal:
            return True
        return super().due(epochs, reads_at_last_check)
