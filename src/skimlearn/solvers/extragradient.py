r"""The margin of a linear classifier, hard or soft, to high accuracy: M + O(sqrt(M (n + d)) / eps).

Problem:  max over ||x|| <= 1, |b| <= R  of  min over p in the simplex, p <= cap, of p'(A x + b y),

with rows a_i = y_i x_i, R the greatest norm of a row and M entries in all. ``cap = 1`` is the hard
margin, ``cap = 1 / (kappa n)`` the mean of the kappa n smallest responses.

Algorithm: variance-reduced extragradient (`_extragradient`). Each pass judges its snapshot, so the
certificate costs nothing. The bias is solved exactly (`_margin_bounds`).

Where the rows that carry weight are a few thousand at most, `working_set` needs far fewer passes.

See Alacaoglu and Malitsky, "Stochastic variance reduction for variational inequality methods"
(2021), and Carmon, Jin, Sidford and Tian, "Variance reduction for matrix games" (2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skimlearn.result import Result
from skimlearn.solvers._extragradient import Extragradient, Steps
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import (
    as_labels,
    as_start,
    best_scale_and_bias,
    dual_value,
    split,
)
from skimlearn.solvers._skim import Callback
from skimlearn.solvers._source import Source

__all__ = ["extragradient"]

Vector = NDArray[np.float64]


def extragradient(
    source: Source,
    y: Vector,
    *,
    cap: float,
    bias: bool,
    limits: Limits,
    rng: np.random.Generator,
    start: tuple[Vector, Vector] | None = None,
    callback: Callback | None = None,
) -> Result:
    """Maximise a hard or soft margin by variance-reduced extragradient.

    Parameters
    ----------
    source : Matrix or Oracle of shape (n, d)
        The rows x_i, without their labels.
    y : array of shape (n,)
        Labels, -1 and 1.
    cap : float
        No row weighs more: 1 for the hard margin, 1 / (kappa n) for the mean of the kappa n
        smallest responses.
    bias : bool
        Whether the classifier has an intercept, of R at most.
    limits : Limits
        When to stop; ``eps`` is a difference of margins, in the units of the data.
    rng : Generator
        Source of randomness.
    start : (x, p) or None
        Where to begin, a vector of norm 1 at most and weights of the rows; the bias needs none.
    callback : callable or None
        Called with a `Record` at each look at the clock; the run stops if it returns something
        true.

    Returns
    -------
    Result
        ``x`` and ``bias`` of the classifier, and weights ``p`` of the rows; the optimal margin lies
        between ``certificate.primal`` and ``certificate.dual``.

    Examples
    --------
    >>> from skimlearn.data.columns import as_matrix
    >>> X, y = as_matrix([[3.0, 0.0], [1.0, 0.0]]), np.array([1.0, -1.0])
    >>> limits, rng = Limits(eps=1e-6), np.random.default_rng(0)
    >>> result = extragradient(X, y, cap=1.0, bias=True, limits=limits, rng=rng)
    >>> round(result.certificate.primal, 5), round(result.bias, 5)
    (1.0, -2.0)
    """
    y = as_labels(y, source.shape[0])
    sides = split(y, cap, bias=bias)
    x, p = as_start(start, sides, source.shape[1])
    run = _Margin(source, rng, maximize=True, y=y, sides=sides, x=x, p=p)
    return run.run(limits, callback)


@dataclass
class _Margin(Extragradient):
    def steps_of(self, eagerness: float) -> Steps:
        step = eagerness * 0.99 / math.sqrt(self.epoch)
        return Steps(step, step, 1.0 / self.epoch, self.sides.cap, radius=1.0)

    def judge(self, Ax: Vector, Atp: Vector) -> float:
        X, P = self.state.X, self.state.P
        R = self.sweeper.R if len(self.sides.masses) == 2 else 0.0
        norm = float(np.linalg.norm(X))
        value, scale, bias = best_scale_and_bias(Ax, norm, self.y, self.sides, R)
        bound = dual_value(Atp, P, self.y, R)
        self.bounds.primal(value, scale * X, bias)
        self.bounds.dual(bound, P.copy())
        lightest = self.sides.lightest(Ax)
        return bound - float(lightest @ Ax) - R * abs(self.sides.tilt)  # before any rescaling
