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

Checks. A visit knows the response of its row, and so the gap between loss and dual variable that
the row contributes. Their sum over an epoch is a guess of the gap, and a check, which reads all
rows, is made when it has fallen to the target. In the first epoch it tells nothing, since all
variables are zero at their visits: the relative gap is about s = L S / (alpha n) then, with L and S
as in `auto`. Visits are half an epoch old when it ends, so a guess is corrected by how the sum has
fallen since the epoch before; and by how wrong the last one was, when a check has told.

Shrinking. A row that a visit did not move is put aside until the next check. A check reads all
rows, so all responses are known then, and every row comes back whose variable would move for some
response within reach of the remaining gap: nothing is lost if one was put aside too early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn._jit import kernel, prefetch_line
from skimlearn.certificates import Dual, Primal
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import add, combine_weighted, dot, look_ahead
from skimlearn.problem import Problem
from skimlearn.result import Budget, Certificate, Result
from skimlearn.solvers._mirror import MASS, UNIT, mirror_state, push, refresh
from skimlearn.solvers._orders import Orders
from skimlearn.solvers._run import Method, Options, Order, Run, Start, Vector, row_squares

__all__ = ["Settings", "solve"]

SHRINK = 0.1  # how much of the reach of a response, which is safe, is used to keep a row
MOST_PASSES = 30  # between two checks
LEAST_DOUBT, MOST_DOUBT = 0.5, 30.0  # about a guess of the gap
MOSTLY = 0.9  # of the rows: epochs of so many can be compared across a check
EVERY = 8  # visits from one whose gap is taken down to the next
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
        self.passes = 0  # since the last check
        self.orders: Orders | None = None
        self.close = False  # so near the optimum that rounding in theta would show
        self.seen = float(problem.n)  # rows that the problem is taken to have
        self.gaps = [math.inf, 0.0]  # estimates of the gap from the visits of the last two epochs
        self.full = False  # whether the epoch has nearly all rows
        self.doubt = 1.0  # how many times larger the gap was than its estimate, at the last check
        self.first_gap = math.inf  # the relative gap after the first epoch, roughly
        if start is not None:
            self._begin_at(start)
        elif problem.regularizer.linear():
            steepness = min(problem.loss.curvature(), 1.0)
            slow_by = steepness * float(problem.weights @ squares) / problem.n / problem.alpha
            self.seen = min(self.seen, HEAD_START * slow_by)
            self.first_gap = slow_by / problem.n
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

    def begin_pass(self, count: int) -> None:
        """Move the centre of a free bias, and begin to add up the gaps of so many visits."""
        if self.problem.bias == "free":
            self.centre += float(self.offset[0])
        self.passes += 1
        before, self.full = self.full, count >= MOSTLY * self.problem.n
        alike = self.passes > 1 or (before and self.full)
        self.gaps = [self.gaps[1] if alike else math.inf, 0.0]

    def order(self, rng: np.random.Generator) -> Order:
        if self.settings.shrinking:
            self.rows_left = self.rows_left[self.moved[self.rows_left]]
        self.begin_pass(len(self.rows_left))
        if self.orders is None:
            self.orders = Orders(self.problem.n, rng)
        return self.orders.shuffled(self.rows_left, rng)

    def visit(self, order: Order) -> None:
        problem = self.problem
        self.gaps[1] += _ascend(
            problem.rows, problem.y, problem.weights, problem.loss, problem.regularizer,
            problem.alpha, self.bias_square, self.centre, order, self.seen,
            self.h, self.a, self.moved, self.theta, self.phi, self.mirror, self.offset,
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
            count = _moving(
                problem.loss, answer.z, self._bias(), problem.y, self.h, self.a,
                SHRINK * radius, self.squares, problem.weights, self.moved, left,
            )  # fmt: skip
            self.rows_left = left[:count].copy() if count else self._all_rows()
            self.moved[:] = True
        gap, guess = max(certificate.gap, 0.0) * problem.n, self._guess()
        # a guess that is far too small may be nothing but rounding: its size says no more
        trusted = guess * MOST_DOUBT > gap
        self.doubt = max(LEAST_DOUBT, gap / guess) if trusted else MOST_DOUBT
        self.passes = 0
        self.close = certificate.relative_gap < 1e-6

    def due(self, epochs: float, reads_at_last_check: int) -> bool:
        if self.passes >= MOST_PASSES or len(self.rows_left) == 0:
            return True
        if epochs <= 1.0 and self.tol is not None and self.first_gap <= self.tol:
            return True
        if self.goal is not None and self.doubt * self._guess() <= self.goal * self.problem.n:
            return True
        return super().due(epochs, reads_at_last_check)

    def _guess(self) -> float:
        """The gap times n, as far as the last visits tell."""
        before, gap = self.gaps
        if math.isfinite(before) and before > 0.0:
            gap *= math.sqrt(min(max(gap, 0.0) / before, 1.0))  # visits are half an epoch old
        return gap


@kernel
def _ascend(
    rows, y, m, loss, regularizer, alpha, bias_square, centre, order, seen,
    h, a, moved, theta, phi, mirror, offset,
):  # fmt: skip
    """Visit rows; return the sum of the gaps between losses and dual variables, estimated."""
    unit_step, gaps, stretch = 1.0 / (alpha * len(y)), 0.0, 1.0
    scale = regularizer.scale(mirror[MASS], mirror[UNIT], 1.0)
    for at in range(len(order)):
        i = order[at]
        soon = look_ahead(rows, order, at)
        prefetch_line(y, soon)
        prefetch_line(m, soon)
        prefetch_line(h, soon)
        prefetch_line(a, soon)
        prefetch_line(moved, soon)
        if seen < len(y):
            seen += 1.0
            stretch = max(len(y) / seen, 1.0)
        z = stretch * (scale * dot(rows, i, phi) + offset[0]) + centre
        new = loss.dual_step(a[i], z, stretch * h[i], y[i])
        if at % EVERY == 0:
            gaps += m[i] * (loss.value(z, y[i]) + loss.conjugate(-a[i], y[i]) + a[i] * z)
        change = m[i] * (new - a[i]) * unit_step
        size = abs(new - a[i])  # by more than rounding, of the variable and of the response?
        moved[i] = size > 1e-12 * abs(new) and h[i] * size > 1e-12 * (abs(z) + abs(y[i]))
        if change != 0.0:
            a[i] = new
            offset[0] += bias_square * change
            if regularizer.linear():
                add(rows, i, change, theta)
            else:
                if push(rows, i, change, regularizer, 1.0, theta, phi, mirror):
                    refresh(regularizer, 1.0, theta, phi, mirror)
                scale = regularizer.scale(mirror[MASS], mirror[UNIT], 1.0)
    return EVERY * gaps


@kernel
def _moving(loss, z, b, y, h, a, radius, squares, m, moved, out):
    """Which rows to visit: those that moved, or would for some response within reach."""
    count = 0
    for i in range(len(z)):
        keep = moved[i]
        if not moved[i]:
            here, reach = z[i] + b, radius * math.sqrt(squares[i])
            low = loss.dual_step(a[i], here + reach, h[i], y[i])
            high = loss.dual_step(a[i], here - reach, h[i], y[i])
            keep = low != a[i] or high != a[i]
        if keep and m[i] > 0.0:
            out[count] = i
            count += 1
    return count
