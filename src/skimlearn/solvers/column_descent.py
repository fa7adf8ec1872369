r"""Coordinate descent over columns, on a model that is renewed: near the optimum in a few passes.

Problem:  min over w, b of  alpha/2 ||w||^2 + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i).

With a small alpha and a smooth loss the first digits are the domain of coordinate descent on the
primal: the weight of a rare feature is found in one step, whatever the others do. A step for
column j on the losses themselves takes the slope of each of its rows, an exponential function
each. On a quadratic model of the losses it takes sums and products alone: with slopes s_i and
curvatures c_i of the rows,

    step = -(sum s_i x_ij + alpha w_j) / (sum c_i x_ij^2 + alpha),    s_i += c_i step x_ij.

Columns are visited in a random order, in blocks. After a block, the responses follow from how the
slopes have moved, the step of the whole block is made shorter or longer by the slope along it, and
the model is taken anew. The bias is a column of ones, visited first in each block. See Yuan, Ho and
Lin, "An improved GLMNET for L1-regularized logistic regression" (2012); Chang, Hsieh and Lin,
"Coordinate descent method for large-scale L2-loss linear SVM" (2008).

The curvature c_i of a row that is badly wrong is taken to be more than it is; see `_bends`.

The end. Coordinate descent slows down where columns are alike, and proves little: what it has to
say is the slopes at its answer. It ends when passes gain more than a certain part (`SLOW`) of what
those before them have gained: methods of second order are quicker then.
"""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from skimlearn import certificates
from skimlearn._jit import kernel
from skimlearn.certificates import Dual, Primal
from skimlearn.data.columns import nonzero_columns
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import look_ahead, responses
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Certificate, Result
from skimlearn.solvers._bends import REACH, bend_at_least, typical_response
from skimlearn.solvers._run import Method, Options, Order, Run, Start, Vector

__all__ = ["ColumnDescent", "solve"]

FLAT = 1e-10  # the least curvature of a row, so that its response follows from its slope
BLOCKS = 4  # models in a pass at most, and in the first one
ROW = 12.0  # entries of a row that take as long as to renew its model
SLOW = 0.4  # of the gain of the pass before: more, twice, is slow
STRAIGHT = 0.2  # of the slope along a step at its beginning: an end of less is good enough
FARTHEST = 2.0  # times the step of a block
DOUBT = 3.0  # times what is left to gain: if it is less than the gap asked for, this may be proved


def solve(problem: Problem, budget: Budget | None = None, **options: Unpack[Options]) -> Result:
    """Minimise the problem by coordinate descent over columns, as long as it goes fast.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="squared", alpha=1.0)
    >>> result = solve(problem, seed=0)
    >>> round(float(result.x[0]), 6), round(result.certificate.primal, 6)
    (0.5, 0.25)
    """
    run = Run(problem, budget or Budget(gap=1e-3, epochs=1000), **options)
    return run.stage(ColumnDescent(problem, run.ledger, run.start)).result()


class ColumnDescent(Method):
    """Coordinate descent in progress; a visit is one pass over the columns."""

    name = "columns"
    whole = True

    def __init__(self, problem: Problem, ledger: Ledger, start: Start | None = None) -> None:
        super().__init__(problem, ledger)
        if not isinstance(problem.regularizer, SquaredL2):
            raise ValueError(
                f"coordinate descent has p=2 and no radius, not {problem.regularizer!r}"
            )
        if not np.isfinite(problem.loss.curvature()):
            raise ValueError(
                f"loss={problem.loss!r} has kinks, or does not say how much it bends: coordinate "
                "descent over columns needs a smooth loss; use solver='dual' or 'auto'"
            )
        n, d = problem.n, problem.d
        self.columns = nonzero_columns(problem.rows)
        self.blocks = min(
            max(round(np.count_nonzero(self.columns.values) / (ROW * n)), 1), BLOCKS, d
        )
        self.w, self.b, self.z = np.zeros(d), 0.0, np.zeros(n)
        self.known = start is None  # whether z is that of w
        if start is not None:
            self.w[:], self.b = start.w, start.b
        elif problem.bias == "free":
            self.b = certificates.best_bias(problem, self.z)
        self.ridge = problem.alpha if problem.bias == "regularized" else 0.0  # of the bias
        self.reach = REACH * typical_response(problem, self.b)
        self.slopes, self.bends = np.zeros(n), np.zeros(n)
        self.former, self.moves = np.zeros(n), np.zeros(n)  # slopes before a block; of responses
        self.sequence = np.zeros(0, dtype=np.int64)  # the columns in the order of their visits
        self.gains: list[float] = []  # of the passes
        self.rate = 0.0  # by which the gain falls from pass to pass
        self.doubt = DOUBT  # ten times as much after each check
        self.length = 1.0  # of the last step, in those of the model
        self.fresh = True  # whether there is no model yet

    def order(self, rng: np.random.Generator) -> Order:
        self.sequence = rng.permutation(self.problem.d)
        return np.arange(self.problem.n)

    def visit(self, order: Order) -> None:
        """One pass over the columns."""
        problem = self.problem
        if not self.known:
            responses(problem.rows, self.w, self.z)
            self.ledger.pass_over()
            self.known = True
        self.ledger.pass_over()
        if self.fresh:
            self._renew()
            self.fresh = False
        parts = np.array_split(self.sequence, self.blocks if len(self.gains) > 0 else BLOCKS)
        gain = max(sum(self._descend(part) for part in parts), 0.0)
        former = self.rate
        if len(self.gains) > 1 and self.gains[-2] > 0.0:
            self.rate = math.sqrt(gain / self.gains[-2])
        self.gains.append(gain)
        self.finished = min(former, self.rate) > SLOW or gain <= 1e-12 * sum(self.gains)

    def _descend(self, part: Order) -> float:
        """Visit some columns; return what that has gained, about."""
        problem, alpha = self.problem, self.problem.alpha
        w, b, shift = self.w[part], self.b, 0.0
        self.former[:] = self.slopes
        if problem.bias != "none":
            shift = -float(self.slopes.sum() + self.ridge * b) / (self.bends.sum() + self.ridge)
            self.slopes += shift * self.bends
        _descend(self.columns, part, alpha, self.w, self.slopes, self.bends)
        step = self.w[part] - w
        line = alpha * float(w @ step) + self.ridge * b * shift
        growth = alpha * float(step @ step) + self.ridge * shift**2
        begin = line + float(_moves(self.former, self.slopes, self.bends, self.moves))
        if not begin < 0.0:  # nothing but rounding
            self.slopes[:], self.w[part] = self.former, w
            return 0.0
        length, end, target, longer = 0.0, 0.0, self.length, True
        while target != length:
            end = self._renew(target - length, shift) + line + target * growth
            length = target
            zero = length * begin / (begin - end) if end > begin else np.inf
            if end > STRAIGHT * abs(begin):
                target = max(zero, 0.1 * length)
                longer = False
            elif end < -STRAIGHT * abs(begin) and longer:
                target = min(zero, FARTHEST)
                longer = False
        self.w[part] = w + length * step
        self.length = min(max(length, 0.5), FARTHEST)
        return -0.5 * length * (begin + end)

    def _renew(self, length: float = 0.0, shift: float = 0.0) -> float:
        """Go along the moves and take the model there; return the slope of the losses along them.

        The moves are those of the responses with the bias, which is shifted by ``shift``.
        """
        problem = self.problem
        self.b += length * shift
        return float(
            _renew(
                problem.loss, self.z, self.b, problem.y, problem.weights, self.reach,
                problem.loss.curvature(), self.moves, length, shift, self.slopes, self.bends,
            )
        )  # fmt: skip

    def answer(self) -> tuple[Vector, float]:
        return self.w.copy(), self.b

    def responses(self) -> Vector | None:
        return self.z.copy() if self.known else None

    def bound(self, answer: Primal) -> Dual:
        """That of the slopes; long columns are read more quickly than short rows."""
        problem = self.problem
        a, theta = certificates.slopes(problem, answer), np.empty(problem.d)
        self.count_proof(a)
        responses(self.columns, a * problem.weights / (problem.alpha * problem.n), theta)
        return certificates.at_slopes(problem, answer, a, theta)

    def checked(self, answer: Primal, certificate: Certificate) -> None:
        self.doubt *= 10.0

    def due(self, epochs: float, reads_at_last_check: int) -> bool:
        if self.goal is None or len(self.gains) < 3 or not self.rate < 1.0:
            return self.finished
        left = self.gains[-1] * self.rate / (1.0 - self.rate)
        return self.finished or self.doubt * left <= self.goal


@kernel
def _descend(columns, part, alpha, w, slopes, bends):
    """Visit columns: w, and the slopes of the model."""
    for at in range(len(part)):
        j = part[at]
        look_ahead(columns, part, at)
        start, stop = columns.starts[j], columns.starts[j + 1]
        slope, bend = alpha * w[j], alpha
        for k in range(start, stop):
            i, x = columns.columns[k], np.float64(columns.values[k])
            slope += slopes[i] * x
            bend += bends[i] * x * x
        step = -slope / bend
        w[j] += step
        for k in range(start, stop):
            i = columns.columns[k]
            slopes[i] += bends[i] * (step * columns.values[k])


@kernel
def _moves(former, slopes, bends, out):
    """How far the responses have moved; return the slope of the losses along that."""
    along = 0.0
    for i in range(len(out)):
        out[i] = (slopes[i] - former[i]) / bends[i]
        along += former[i] * out[i]
    return along


@kernel
def _renew(loss, z, b, y, m, reach, most, moves, length, shift, slopes, bends):
    """Move; then slopes and curvatures of the rows as parts of the mean."""
    n, along = len(z), 0.0
    for i in range(n):
        z[i] += length * (moves[i] - shift)
        at, weight = z[i] + b, m[i] / n
        slope = loss.slope(at, y[i])
        bend = bend_at_least(loss, at, y[i], slope, reach, most)
        slopes[i] = weight * slope
        bends[i] = max(weight * bend, FLAT / n)
        along += slopes[i] * moves[i]
    return along
