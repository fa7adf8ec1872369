"""Newton's matrix for losses whose curvature is the same everywhere: one serves many problems.

With a squared loss the Hessian alpha I + (1/n) sum m_i c (x_i, 1)(x_i, 1)' depends on rows and
weights alone, not on targets. The classes of a fit, one against the rest, and the strengths of a
path have both in common: the sum is formed once, by the first that asks for it, and the factor of
the matrix once for each strength.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.gram import gram
from skimlearn.data.ledger import Ledger
from skimlearn.problem import Problem
from skimlearn.solvers._symmetric import factor_of, solve_factored

__all__ = ["Shared", "shared"]

Vector = NDArray[np.float64]


class Shared:
    """What quadratic problems on the same rows share, as long as somebody holds it; thread-safe.

    The reads of the rows are counted to the problem that forms the matrix. All get the same
    numbers, whichever that was.
    """

    def __init__(self, alphas: Sequence[float]) -> None:
        self.alphas = np.array(alphas)  # of the problems
        self._lock = threading.Lock()  # others wait for the one that is at it
        self._matrix: Vector | None = None
        self._key: Any = None
        self._factor: Any = None

    def users(self, problem: Problem) -> int:
        """How many problems will use the matrix, if this one does.

        The smaller alpha, the better is Newton's method beside others. So they are those whose
        alpha is not larger; or all, once there is a matrix.
        """
        if self._matrix is not None:
            return len(self.alphas)
        return int(np.count_nonzero(self.alphas <= problem.alpha))

    def matrix(self, problem: Problem, bends: Vector, ledger: Ledger) -> Vector:
        """A copy of the weighted sum of products, its lower triangle, without alpha."""
        with self._lock:
            if self._matrix is None:
                matrix = np.zeros((problem.d + 1, problem.d + 1), order="F")
                gram(problem.rows, bends, matrix, ones=problem.bias != "none")
                ledger.visit(bends != 0.0)
                self._matrix = matrix
        return self._matrix.copy(order="F")

    def solve(self, problem: Problem, matrix: Vector, right: Vector) -> Vector:
        """The solution for a problem, whose matrix is that of `matrix` with a diagonal of its own.

        The factor is kept for those that have the same diagonal: one alpha, and one kind of bias.
        """
        key = (problem.alpha, problem.bias, float(matrix[-1, -1]))  # a free bias may be damped
        with self._lock:
            if self._key != key:
                self._key, self._factor = key, factor_of(matrix)
            factor = self._factor
        return solve_factored(factor, matrix, right)


def shared(problems: Sequence[Problem]) -> Shared | None:
    """What these problems share, if the curvature of their losses is the same: rows and weights.

    Weights are compared by identity: those that differ in one class, as weights of classes do, are
    other arrays.
    """
    one = problems[0]
    if len(problems) < 2 or not one.loss.quadratic:
        return None
    for other in problems:
        same = other.rows is one.rows and other.weights is one.weights
        if not same or other.loss != one.loss or other.bias != one.bias:
            return None
    return Shared([problem.alpha for problem in problems])
