r"""Samplers for `primal_dual`: estimates for all rows of a matrix or an `Oracle` from one column.

Column j is drawn with probability |x_j|^q / ||x||_q^q, as in `skimlearn.sampling.laws`: the
estimates of <a_i, x> are unbiased, and their second moments at most ||a_i||_q*^2 ||x||_q^2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.sampling.laws import draw_power
from skimlearn.solvers.players import Reader, Sampler

__all__ = ["InnerProducts", "SquaredDistances"]

Vector = NDArray[np.float64]


class InnerProducts(Reader, Sampler):
    """Estimates of <a_i, x> for all rows from one column, drawn by |x_j|^q; see `Sampler`.

    Parameters
    ----------
    source : array, sparse matrix, Matrix or Oracle of shape (n, d)
        The rows a_i.
    q : float, default=2
        The norm of the ball that x is in, 1 <= q <= 2; 1 for a distribution.
    rows_norm : float, default=1
        A bound on the dual norms of the rows, ||a_i||_q* with 1/q + 1/q* = 1; for q = 1 on the
        absolute values of the entries.

    Examples
    --------
    >>> products = InnerProducts([[3.0, 4.0], [1.0, 0.0]])
    >>> products.sample(np.array([0.0, 0.5]), np.random.default_rng(0))
    array([2., 0.])
    >>> products.evaluate(np.array([0.6, 0.8]))
    0.6
    """

    def __init__(self, source: Any, *, q: float = 2.0, rows_norm: float = 1.0) -> None:
        super().__init__(source)
        if not 1.0 <= q <= 2.0:
            raise ValueError(f"q={q!r} must lie in [1, 2]")
        if not 0.0 < rows_norm < math.inf:
            raise ValueError(f"rows_norm={rows_norm!r} must be positive and finite")
        self.q, self.scale = float(q), rows_norm

    def sample(self, x: Vector, rng: np.random.Generator) -> Vector:
        j, factor = draw_power(x, self.q, rng.random())
        return factor * self.column(j) if j >= 0 else np.zeros(self.source.shape[0])

    def evaluate(self, x: Vector) -> float:
        """The least <a_i, x>, exactly; what it reads is counted as reads of the certificate."""
        return float(self.products(x).min())


class SquaredDistances(Reader, Sampler):
    """Estimates of -||x - a_i||^2 for all points from one column; see `Sampler`.

    Parameters
    ----------
    source : array, sparse matrix, Matrix or Oracle of shape (n, d)
        The points a_i.
    squares : array of shape (n,) or None
        The squared lengths of the points, exactly; if they are not given, all points are read once.

    Examples
    --------
    >>> distances = SquaredDistances([[0.0, 1.0], [2.0, 3.0]])
    >>> distances.sample(np.array([0.0, 2.0]), np.random.default_rng(0))
    array([-1., -5.])
    >>> distances.evaluate(np.array([1.0, 2.0]))
    -2.0
    """

    def __init__(self, source: Any, *, squares: ArrayLike | None = None) -> None:
        super().__init__(source)
        self.squares = None if squares is None else np.asarray(squares, dtype=np.float64)
        if self.squares is not None and self.squares.shape != self.source.shape[:1]:
            raise ValueError(
                f"squares has shape {self.squares.shape}: one number for each of "
                f"{self.source.shape[0]} points"
            )

    def lengths(self) -> Vector:
        """The squared lengths of the points, read when they are first needed."""
        if self.squares is None:
            rows = (self.row(i) for i in range(self.source.shape[0]))
            self.squares = np.array([float(row @ row) for row in rows])
        return self.squares

    def sample(self, x: Vector, rng: np.random.Generator) -> Vector:
        squares = self.lengths()
        self.scale = 4.0 * float(squares.max()) or 1.0
        estimate = -(squares + float(x @ x))
        j, factor = draw_power(x, 2.0, rng.random())
        return estimate + (2.0 * factor) * self.column(j) if j >= 0 else estimate

    def evaluate(self, x: Vector) -> float:
        """Minus the largest squared distance; counted as reads of the certificate."""
        return float((2.0 * self.products(x) - self.lengths()).min() - x @ x)
