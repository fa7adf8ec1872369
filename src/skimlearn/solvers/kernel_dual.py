r"""Dual coordinate ascent with a kernel: any loss, to any gap.

Problem: that of `_kernel_visits`. Algorithm: rows are visited in blocks of a fresh random order.
The rows of the kernel matrix for a block are computed together, or are still kept. Inside of a
block, PASSES times, each variable is set to the best value for it alone, in closed form for most
losses (`Loss.dual_step`):

    a_i <- dual_step(a_i, h(x_i) + b, m_i (k(x_i, x_i) + c) / (alpha n), y_i).

Then h at all other rows follows, as a product of matrices. All responses are known at the end of an
epoch, and the certificate is free.

A free bias is that of the method of multipliers, as in `dual`: it is regularised towards a centre
that moves to where the bias went, after each epoch; c is the mean of k(x_i, x_i), or 0 without a
bias.

See Shalev-Shwartz and Zhang, "Stochastic dual coordinate ascent methods for regularized loss
minimization" (2013).
"""

from __future__ import annotations

from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.kernel_rows import KernelRows
from skimlearn.formulas.losses import Loss
from skimlearn.problem import Problem
from skimlearn.result import Result
from skimlearn.solvers._kernel_visits import KernelVisits, Options, Vector, visit_all

__all__ = ["kernel_dual"]

BLOCK = 256  # rows that are visited together
SMALL = 500  # rows for which the last digits are looked for, since they cost nothing
EXTRA = 1000  # epochs after which they are given up
PASSES = 3  # over a block, while its values are at hand


def kernel_dual(
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
    >>> from skimlearn.formulas import losses
    >>> from skimlearn.formulas.kernels import Gaussian
    >>> from skimlearn.solvers._limits import Limits
    >>> table = KernelRows(as_rows([[0.0], [1.0], [2.0]]), Gaussian())
    >>> result = kernel_dual(
    ...     table,
    ...     np.array([[1.0, -1.0, 1.0]]),
    ...     np.ones((1, 3)),
    ...     loss=losses.Log(),
    ...     alpha=0.01,
    ...     bias="free",
    ...     limits=Limits(eps=1e-9),
    ...     seed=0,
    ... )[0]
    >>> result.status.name
    'CONVERGED'
    """
    return visit_all(_Dual, table, targets, weights, loss=loss, **options)


class _Dual(KernelVisits):
    name = "dual"

    def __init__(self, table: KernelRows, problem: Problem) -> None:
        super().__init__(table, problem)
        self.moved = 0.0  # the greatest change of a variable in the last epoch
        diagonal = table.diagonal
        mean = float(problem.weights @ diagonal) / problem.n
        self.square = 0.0 if problem.bias == "none" else mean if mean > 0.0 else 1.0
        self.unit = 1.0 / (problem.alpha * problem.n)
        self.h = self.unit * problem.weights * (diagonal + self.square)
        self.centre, self.offset = 0.0, np.zeros(1)  # and how far the bias is above it

    def scale(self) -> float:
        return 1.0

    def goes_on(self) -> bool:
        moves = self.moved > 1e-13 * (1.0 + float(np.abs(self.a).max()))
        return self.problem.n <= SMALL and moves and self.epochs < EXTRA

    def visit(self, order: NDArray[np.int64]) -> None:
        problem, visits = self.problem, len(order)
        order = order[problem.weights[order] > 0.0]
        self.steps += visits - len(order)
        self.moved = 0.0
        for first in range(0, len(order), BLOCK):
            rows = order[first : first + BLOCK]
            lines = self.table.lines(rows)
            a = self.a[rows]
            z = self.unit * (self.sums[0, rows] + self.sums[1, rows])
            _ascend(
                problem.loss, problem.y[rows], problem.weights[rows], lines[:, rows], self.h[rows],
                self.unit, self.square, self.centre, self.offset, a, z,
            )  # fmt: skip
            self.moved = max(self.moved, float(np.abs(a - self.a[rows]).max()))
            self.add(rows, a, lines)
            self.steps += len(rows)
        self.centre += float(self.offset[0])


@kernel
def _ascend(loss, y, m, gram, h, unit, square, centre, offset, a, z):
    for _ in range(PASSES):
        for i in range(len(a)):
            new = loss.dual_step(a[i], z[i] + centre + offset[0], h[i], y[i])
            change = unit * m[i] * (new - a[i])
            if change != 0.0:
                a[i] = new
                offset[0] += square * change
                line = gram[i]
                for j in range(len(z)):
                    z[j] += change * line[j]
