r"""Low-regret algorithms for `primal_dual`: on balls, on distributions, for squared distances.

They read the rows a_i of a matrix or an `Oracle`, one row a step at most. `Ball` and `Simplex`
follow the regularised leader: x maximises <s, x> - r(x) / eta, where s is the sum of the rows so
far and r the squared norm ||x||_q^2 / (2 (q - 1)), or the entropy. `Mean` follows the leader of
strongly concave functions; its regret is so small that it may skip most of the steps.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), sections II
to IV. The mean is divided by the number of rows in it: with the number of steps, skipped ones too,
it would shrink towards zero.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.rows import Dense, norms
from skimlearn.formulas.regularizers import SquaredLp
from skimlearn.sampling.simplex import softmax
from skimlearn.solvers.players import LowRegret, Reader

__all__ = ["Ball", "Mean", "Simplex"]

Vector = NDArray[np.float64]


class _Linear(Reader, LowRegret):
    """A player whose functions are <a_i, x>: all it needs to know is the sum of the rows."""

    def __init__(self, source: Any, rows_norm: float, steps: int | None) -> None:
        super().__init__(source)
        if not 0.0 < rows_norm < math.inf:
            raise ValueError(f"rows_norm={rows_norm!r} must be positive and finite")
        self.rows_norm = rows_norm
        self.steps = steps

    def start(self, rng: np.random.Generator) -> Vector:
        n, d = self.source.shape
        self.total, self.counts, self.taken = np.zeros(d), np.zeros(n), 0
        return self.respond(self.total, self.steps or 1)

    def update(self, i: int) -> Vector:
        self.total += self.row(i)
        self.counts[i] += 1.0
        self.taken += 1
        return self.respond(self.total, self.steps or self.taken + 1)

    def dual(self) -> tuple[float, Vector] | None:
        if self.taken == 0:
            return None
        return self.support(self.total) / self.taken, self.counts / self.taken

    @abstractmethod
    def respond(self, total: Vector, steps: int) -> Vector:
        """The x that answers the rows so far, with the rate for so many steps."""

    @abstractmethod
    def support(self, total: Vector) -> float:
        """The largest <total, x> over all x in K."""


class Ball(_Linear):
    """The ball ||x||_q <= 1 and the functions <a_i, x>; see `LowRegret`.

    With q = 2, x_t = s / max(sqrt(2 t), ||s||), s the sum of the rows so far. A q near 1 favours
    sparse x. The regret is at most 1.5 rows_norm sqrt(2 T / (q - 1)) after T steps.

    Parameters
    ----------
    source : array, sparse matrix, Matrix or Oracle of shape (n, d)
        The rows a_i.
    q : float, default=2
        Which norm, 1 < q <= 2.
    rows_norm : float, default=1
        A bound on the dual norms of the rows, ||a_i||_q* with 1/q + 1/q* = 1.
    steps : int or None
        The number of steps, if it is fixed in advance.

    Examples
    --------
    >>> ball = Ball([[3.0, 4.0], [1.0, 0.0]])
    >>> ball.start(np.random.default_rng(0)), ball.update(0)
    (array([0., 0.]), array([0.6, 0.8]))
    """

    def __init__(
        self, source: Any, *, q: float = 2.0, rows_norm: float = 1.0, steps: int | None = None
    ) -> None:
        super().__init__(source, rows_norm, steps)
        if not 1.0 < q <= 2.0:
            raise ValueError(f"q={q!r} must lie in (1, 2]; use Simplex for signs known in advance")
        self.regularizer = SquaredLp(q, radius=1.0)

    def respond(self, total: Vector, steps: int) -> Vector:
        q = self.regularizer.p
        return self.regularizer.link(total / (self.rows_norm * math.sqrt(2.0 * (q - 1.0) * steps)))

    def support(self, total: Vector) -> float:
        return float(norms(Dense(total.reshape(1, -1)), self.regularizer.exponent())[0])


class Simplex(_Linear):
    """Distributions x and the functions <a_i, x>, the payoffs of a game; see `LowRegret`.

    x_t is in proportion to exp(eta_t s) with s the sum of the rows so far, eta_t = sqrt(log d / t).

    Parameters
    ----------
    source : array, sparse matrix, Matrix or Oracle of shape (n, d)
        What each column gains against each row.
    rows_norm : float, default=1
        A bound on the absolute values of the entries.
    steps : int or None
        The number of steps, if it is fixed in advance.

    Examples
    --------
    >>> simplex = Simplex([[1.0, 0.0], [0.0, 1.0]])
    >>> simplex.start(np.random.default_rng(0)), simplex.update(1).round(2)
    (array([0.5, 0.5]), array([0.36, 0.64]))
    """

    def __init__(self, source: Any, *, rows_norm: float = 1.0, steps: int | None = None) -> None:
        super().__init__(source, rows_norm, steps)

    def respond(self, total: Vector, steps: int) -> Vector:
        return softmax(total * (math.sqrt(math.log(max(len(total), 2)) / steps) / self.rows_norm))

    def support(self, total: Vector) -> float:
        return float(total.max())


class Mean(Reader, LowRegret):
    """All x and the functions -||x - a_i||^2, for the smallest enclosing ball; see `LowRegret`.

    x is the mean of the rows drawn. It changes at step t with probability alpha_t = min(1,
    log(t + 1) / sqrt(t log n)) only, which keeps the regret of the order of the other player's;
    a row that is used has the weight 1 / alpha_t. So T steps read about sqrt(T) rows.

    Parameters
    ----------
    source : array, sparse matrix, Matrix or Oracle of shape (n, d)
        The points a_i.
    steps : int or None
        The number of steps, if it is fixed in advance.

    Examples
    --------
    >>> mean = Mean([[0.0, 1.0], [2.0, 3.0]])
    >>> x = mean.start(np.random.default_rng(0))
    >>> for i in [0, 1] * 500:
    ...     x = mean.update(i)
    >>> x.round(), mean.reads.nnz < 1000  # less than half of what it was shown
    (array([1., 2.]), True)
    """

    def __init__(self, source: Any, *, steps: int | None = None) -> None:
        super().__init__(source)
        self.steps = steps

    def start(self, rng: np.random.Generator) -> Vector:
        n, d = self.source.shape
        self.rng, self.taken = rng, 0
        self.x, self.total, self.used = np.zeros(d), np.zeros(d), np.zeros(n)
        self.weight = self.squares = 0.0
        return self.x

    def update(self, i: int) -> Vector:
        self.taken += 1
        steps = self.steps or self.taken
        log_n = math.log(max(len(self.used), 2))
        alpha = min(1.0, math.log(steps + 1.0) / math.sqrt(steps * log_n))
        if self.rng.random() < alpha:
            row = self.row(i)
            self.total += row / alpha
            self.weight += 1.0 / alpha
            self.squares += float(row @ row) / alpha
            self.used[i] += 1.0 / alpha
            self.x = self.total / self.weight  # not / taken: skipped steps have no part in it
        return self.x

    def dual(self) -> tuple[float, Vector] | None:
        if self.weight == 0.0:
            return None
        bound = float(self.x @ self.x) - self.squares / self.weight
        return bound, self.used / self.weight
