r"""PGS with a kernel, for every loss; with the hinge and a divisor of t it is Pegasos.

Problem: that of `_kernel_visits`. Algorithm: rows are visited in a fresh random order each epoch.
In visit t + 1, with t0 steps to start ahead,

    h = 1 / (alpha (t + 1 + t0)) sum_j m_j a_j k(x_j, .),   a_i <- a_i - loss'(h(x_i) + b, y_i).

The sums of all rows are kept up to date by a row of the kernel matrix for each slope that is not
zero; rows that are asked for again are kept, the last used of them. Losses of unbounded slope have
a t0 with which no step overshoots: the greatest curvature m_i k(x_i, x_i) / alpha.

After E epochs a_i n / (E n + 1 + t0) are dual variables, since they are means of slopes, and h is
the function of them: the certificate is free. A free bias is solved for exactly at each check;
until the next one it moves from there as the coefficient of a constant feature would, the square of
which is the mean of k(x, x). A bias that stays where it was makes h sway from check to check.

Pegasos divides by alpha t instead of alpha (t + 1): then a_j y_j counts how often row j was inside
of the margin. It is the same run with another number.

See Zhu, Chen, Zhu, Wang, Wang and Chen, "Inverse time dependency in convex regularized learning"
(2009), section VII; Shalev-Shwartz, Singer, Srebro and Cotter, "Pegasos: primal estimated
sub-gradient solver for SVM" (2011), section 4.
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.formulas import losses
from skimlearn.formulas.losses import Loss
from skimlearn.problem import Problem
from skimlearn.result import Result
from skimlearn.solvers._kernel_visits import KernelVisits, Options, Vector, visit_all
from skimlearn.solvers._step_sizes import check_slope

__all__ = ["kernel_pegasos", "kernel_pgs"]


def kernel_pgs(
    table: KernelRows,
    targets: Vector,
    weights: Vector,
    *,
    loss: Loss,
    **options: Unpack[Options],
) -> list[Result]:
    """Train m machines on the same rows, one after the other.

    The parameters and the results are those of `kernel_svm`, with a loss; ``limits.max_steps``
    counts visits of one machine.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Gaussian
    >>> from skimlearn.solvers._limits import Limits
    >>> table = KernelRows(as_rows([[0.0], [1.0], [2.0]]), Gaussian())
    >>> result = kernel_pgs(
    ...     table,
    ...     np.array([[1.0, -1.0, 1.0]]),
    ...     np.ones((1, 3)),
    ...     loss=losses.Log(),
    ...     alpha=0.1,
    ...     bias="none",
    ...     limits=Limits(eps=0.05, max_steps=3000),
    ...     seed=0,
    ... )[0]
    >>> result.status.name
    'CONVERGED'
    """
    return visit_all(_Pgs, table, targets, weights, loss=loss, **options)


def kernel_pegasos(
    table: KernelRows,
    targets: Vector,
    weights: Vector,
    **options: Unpack[Options],
) -> list[Result]:
    """The same for the hinge loss, as Pegasos has it.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Gaussian
    >>> from skimlearn.solvers._limits import Limits
    >>> table = KernelRows(as_rows([[0.0], [1.0], [2.0]]), Gaussian())
    >>> y, weights, limits = np.array([[1.0, -1.0, 1.0]]), np.ones((1, 3)), Limits(eps=0.05)
    >>> result = kernel_pegasos(table, y, weights, alpha=0.1, bias="none", limits=limits, seed=0)
    >>> result[0].status.name
    'CONVERGED'
    """
    return visit_all(_Pegasos, table, targets, weights, loss=losses.Hinge(), **options)


class _Pgs(KernelVisits):
    name = "pgs"
    growth = 1.3

    def __init__(self, table: KernelRows, problem: Problem) -> None:
        super().__init__(table, problem)
        self.ahead = self._first_step()
        mean = float(problem.weights @ table.diagonal) / problem.n
        self.square = mean if problem.bias == "free" else 0.0
        self.lean = 0.0  # what the bias has gathered since the last check

    def _first_step(self) -> float:
        """1 + t0."""
        problem = self.problem
        check_slope(problem)
        ends = [problem.loss.dual_bounds(y) for y in (-1.0, 1.0)]
        if np.isfinite(ends).all():
            return 1.0
        largest = float((problem.weights * self.table.diagonal).max())
        return 1.0 + problem.loss.curvature() * largest / problem.alpha

    def check(self) -> None:
        """Improve the bounds, and solve for the bias."""
        super().check()
        self.lean = 0.0

    def scale(self) -> float:
        n = self.problem.n
        return n / (max(self.epochs, 1) * n + self.ahead)

    def visit(self, order: NDArray[np.int64]) -> None:
        problem, loss = self.problem, self.problem.loss
        for i in order.tolist():
            divisor = problem.alpha * (self.steps + self.ahead)
            z = (self.sums[0, i] + self.sums[1, i] + self.lean) / divisor if divisor else 0.0
            pull = -loss.slope(z + self.b, problem.y[i])
            if problem.weights[i] > 0.0 and pull != 0.0:
                new = self.a[i : i + 1] + pull
                self.add(np.array([i]), new, self.table.row(i)[None])
                self.lean += self.square * problem.weights[i] * pull
            self.steps += 1


class _Pegasos(_Pgs):
    name = "pegasos"

    def _first_step(self) -> float:
        return 0.0
