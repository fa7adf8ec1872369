r"""Unbiased estimates of kernel values from a few entries of each row.

A coordinate j of a row v, drawn with probability v_j^2 / ||v||^2, gives for every other row u the
estimate e = u_j ||v||^2 / v_j of <u, v>, with E e^2 <= ||u||^2 ||v||^2. From independent e_l:

=============  ====================================================================================
linear         e_1; the second moment is at most ||u||^2 ||v||^2
polynomial     the product of q factors gamma e_l + coef0;
               the second moment is at most (gamma ||u|| ||v|| + coef0)^(2 q)
Gaussian       exp(mu - gamma (||u||^2 + ||v||^2)) times the product of N factors 2 gamma e_l / mu,
               N a Poisson number of mean mu; the second moment is at most
               exp(mu - 2 gamma (||u||^2 + ||v||^2) + (2 gamma ||u|| ||v||)^2 / mu)
=============  ====================================================================================

mu = 2 gamma ||v|| max ||u||, so that the draws of one v serve all rows u; if all rows have the same
length, the last bound is at most 1. A column is read for each e.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), VI. Its
Gaussian estimator has a mean of s^-4 reads where this one has s^-2, s^2 = 1 / (2 gamma).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import Matrix
from skimlearn.data.oracle import ReadLimit
from skimlearn.data.rows import Rows
from skimlearn.formulas.kernels import Gaussian, Kernel, Linear, Polynomial

__all__ = ["KernelEstimator"]

Vector = NDArray[np.float64]


class KernelEstimator:
    """Estimates of k(u, v) for one row v and all rows u of a matrix.

    Parameters
    ----------
    matrix : Matrix
        The rows, by row and by column.
    kernel : Kernel
        A `Linear`, `Polynomial` or `Gaussian` one.
    squares : array of shape (n,)
        The squared lengths of the rows.

    Attributes
    ----------
    columns : int
        Columns read so far.
    stored : int
        Stored entries read so far, of rows v and of columns.
    limit : float
        How many may be read: `ReadLimit` is raised before more are.

    Examples
    --------
    >>> from skimlearn.data.columns import as_matrix
    >>> matrix = as_matrix([[0.6, 0.8], [1.0, 0.0]])
    >>> estimator = KernelEstimator(matrix, Gaussian(gamma=0.5), np.ones(2))
    >>> rng = np.random.default_rng(0)
    >>> mean = np.mean([estimator.draw(0, rng)[1] for _ in range(4000)])
    >>> bool(abs(mean - math.exp(-0.4)) < 0.03)  # ||u - v||^2 = 0.8
    True
    """

    def __init__(self, matrix: Matrix, kernel: Kernel, squares: Vector) -> None:
        self.matrix, self.kernel, self.squares = matrix, kernel, squares
        self.columns = self.stored = 0
        self.limit = math.inf
        self.longest = math.sqrt(float(squares.max(initial=0.0)))
        self.sizes = np.array([len_of(matrix.columns, j) for j in range(matrix.shape[1])])

    @staticmethod
    def can(kernel: Kernel) -> bool:
        """Whether there is an estimator for a kernel."""
        return type(kernel) in (Linear, Polynomial, Gaussian)

    def expected_columns(self, square: float) -> float:
        """How many columns a draw reads on average, for a row v of this squared length."""
        if isinstance(self.kernel, Gaussian):
            return 2.0 * self.kernel.gamma * math.sqrt(square) * self.longest
        return self.kernel.degree if isinstance(self.kernel, Polynomial) else 1.0

    def moments(self, square: float) -> Vector:
        """Bounds of the second moments for all rows u, for a row v of this squared length."""
        products = np.sqrt(self.squares * square)
        kernel = self.kernel
        if isinstance(kernel, Gaussian):
            mu, gamma = self.expected_columns(square), kernel.gamma
            more = (2.0 * gamma * products) ** 2 / mu if mu > 0.0 else 0.0 * products
            return np.exp(mu - 2.0 * gamma * (self.squares + square) + more)
        if isinstance(kernel, Polynomial):
            return (kernel.gamma * products + kernel.coef0) ** (2.0 * kernel.degree)
        return products**2

    def draw(self, i: int, rng: np.random.Generator) -> Vector:
        """Estimates of k(row i, u) for all rows u, from the same coordinates of row i."""
        self._count(len_of(self.matrix.rows, i))
        line, square, n = self.matrix.row(i), float(self.squares[i]), self.matrix.shape[0]
        kernel = self.kernel
        if isinstance(kernel, Gaussian):
            mu = self.expected_columns(square)
            out = np.exp(mu - kernel.gamma * (self.squares + square))
            for j in self._coordinates(line, int(rng.poisson(mu)), rng):
                out *= (2.0 * kernel.gamma / mu) * self._product(j, line, square)
            return out
        if square == 0.0:  # all products are zero, and known
            return np.full(n, float(kernel.similarity(0.0, 0.0, 0.0)))
        degree, gamma, shift = 1, 1.0, 0.0
        if isinstance(kernel, Polynomial):
            degree, gamma, shift = int(kernel.degree), kernel.gamma, kernel.coef0
        out = np.ones(n)
        for j in self._coordinates(line, degree, rng):
            out *= gamma * self._product(j, line, square) + shift
        return out

    def _coordinates(self, line: Vector, count: int, rng: np.random.Generator) -> list[int]:
        if count == 0:
            return []
        law = np.cumsum(line * line)
        at = np.searchsorted(law, rng.random(count) * law[-1], side="right")
        chosen = np.minimum(at, int(np.flatnonzero(line)[-1]))
        self._count(int(self.sizes[chosen].sum()))
        self.columns += count
        return chosen.tolist()

    def _count(self, more: int) -> None:
        if self.stored + more > self.limit:
            raise ReadLimit("the estimates are beyond max_reads")
        self.stored += more

    def _product(self, j: int, line: Vector, square: float) -> Vector:
        return self.matrix.column(j) * (square / line[j])


def len_of(lines: Rows, j: int) -> int:
    """How many entries of row j are stored; of a column, if the lines are columns."""
    starts = getattr(lines, "starts", None)
    return lines.shape[1] if starts is None else int(starts[j + 1] - starts[j])
