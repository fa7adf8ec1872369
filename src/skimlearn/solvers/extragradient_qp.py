r"""Quadratic programs over the simplex, and enclosing balls, by variance-reduced extragradient.

Problem:  min over p in the simplex, p_i <= cap, of  phi(p) = p.b + ||A'p||^2,

the value of the game  min over p, max over x of  p.b + 2 p'A x - ||x||^2.

Algorithm: that of `_extragradient`, with h = b / 2 and the x-step (u + 2 tx Gx) / (1 + 2 tx). With
rows divided by R and b by R^2, tx = t a and tp = t / a, where t = 0.99 / (2 sqrt(K)) and
a = 1 / sqrt(2 log n). Each pass proves both sides for its snapshot (X, P): phi(P), and the dual
psi(X) = min_q q.(b + 2 A X) - ||X||^2, q over the same weights.

The smallest ball around the rows has b_i = -||a_i||^2, the centre x and R^2 = -psi(x). Rows far
from the origin make it slow: subtract one of them from all first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.result import Result
from skimlearn.solvers._extragradient import Extragradient, Steps
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import as_linear, as_start, split
from skimlearn.solvers._skim import Callback
from skimlearn.solvers._source import Source

__all__ = ["extragradient_qp"]

Vector = NDArray[np.float64]


def extragradient_qp(
    source: Source,
    b: ArrayLike | None = None,
    *,
    cap: float = 1.0,
    limits: Limits,
    rng: np.random.Generator,
    start: Vector | None = None,
    callback: Callback | None = None,
) -> Result:
    """Minimise p.b + ||A'p||^2 over distributions p <= cap by variance-reduced extragradient.

    Parameters
    ----------
    source : Matrix or Oracle of shape (n, d)
        The rows of A.
    b : array of shape (n,) or None
        The linear part; None for zeros.
    cap : float, default=1.0
        The greatest weight of a row, at least 1/n.
    limits : Limits
        When to stop; ``eps`` is a difference of objectives.
    rng : Generator
        Source of randomness.
    start : array of shape (n,) or None
        Weights to begin with; None for equal ones.
    callback : callable or None
        Called with a `Record` at each look at the clock; the run stops if it returns something
        true.

    Returns
    -------
    Result
        Weights ``p`` and the vector ``x`` of the bound; the optimum lies between
        ``certificate.dual`` and ``certificate.primal``.

    Examples
    --------
    >>> from skimlearn.data.columns import as_matrix
    >>> A, rng = as_matrix([[2.0, 1.0], [2.0, -1.0], [5.0, 5.0]]), np.random.default_rng(0)
    >>> result = extragradient_qp(A, limits=Limits(eps=1e-3), rng=rng)
    >>> abs(result.certificate.primal - 4.0) <= 1e-3
    True
    """
    n, d = source.shape
    sides = split(np.ones(n), cap, bias=False)
    x, p = as_start(None if start is None else (np.zeros(d), start), sides, d)
    run = _Quadratic(source, rng, y=np.ones(n), sides=sides, x=x, p=p, b=as_linear(b, n))
    return run.run(limits, callback)


@dataclass
class _Quadratic(Extragradient):
    b: Vector = field(kw_only=True)

    def scaled(self) -> None:
        self.offset = (self.b - self.b.min()) / (2.0 * self.unit**2)  # weights ignore constants

    def steps_of(self, eagerness: float) -> Steps:
        step = eagerness * 0.99 / (2.0 * math.sqrt(self.epoch))
        balance = 1.0 / math.sqrt(2.0 * math.log(max(self.source.shape[0], 2)))
        double_x, double_p = 2.0 * step * balance, 2.0 * step / balance
        return Steps(
            double_x, double_p, 1.0 / self.epoch, self.sides.cap, shrink=1.0 / (1.0 + double_x)
        )

    def judge(self, Ax: Vector, Atp: Vector) -> float:
        X, P, best = self.unit * self.state.X, self.state.P, self.bounds
        gradient = self.b + 2.0 * self.unit * Ax
        upper = float(P @ self.b) + float(Atp @ Atp)
        lower = float(self.sides.lightest(gradient) @ gradient) - float(X @ X)
        if upper < best.upper:
            best.upper, best.p = upper, P.copy()
        if lower > best.lower:
            best.lower, best.x = lower, X
        return upper - lower

    def fallback(self) -> tuple[Vector, float, Vector]:
        return self.unit * self.state.X, 0.0, self.state.P.copy()
