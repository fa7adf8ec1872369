r"""The greatest margin in the space of a kernel, hard or soft, to any gap, by working sets.

Problem, with F the map into the space of the kernel and R the greatest length of an F(x_i):

    max over ||h|| <= 1, |b| <= R  of the mean of the kappa n smallest  y_i (<h, F(x_i)> + b),

kappa n <= 1 being the hard margin. Its dual is to minimise ||sum_i p_i y_i F(x_i)||, or its square
p' S K S p with S the diagonal matrix of labels, over distributions p with p_i <= 1 / (kappa n); a
bias fixes the masses of both classes (see `_margin_bounds`). kappa is the ``nu`` of Scholkopf's
nu-SVM. With weights w, rows count by their weights: p_i <= w_i / (kappa sum w).

Algorithm: that of `_kernel_qp`. See Scholkopf, Smola, Williamson and Bartlett, "New support vector
algorithms" (2000).
"""

from __future__ import annotations

import math
import threading

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.result import Certificate, Result
from skimlearn.solvers._kernel_qp import KernelPrograms
from skimlearn.solvers._kernel_run import Callback, KernelRun
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import Sides, best_scale_and_bias, split_by_weight

__all__ = ["judged_margin", "kernel_margin"]

Vector = NDArray[np.float64]


def kernel_margin(
    table: KernelRows,
    targets: Vector,
    *,
    kappa: float,
    bias: bool,
    weights: Vector | None = None,
    limits: Limits,
    seed: int | np.random.Generator | None = None,
    callback: Callback | None = None,
    stop: threading.Event | None = None,
) -> list[Result]:
    """Maximise m margins of the same rows.

    Parameters
    ----------
    table : KernelRows
        The kernel matrix of n rows.
    targets : array of shape (m, n)
        The labels, -1 and +1.
    kappa : float
        The part of the rows whose mean response is maximised; up to 1 / n it is the worst row.
    bias : bool
        Whether to learn an intercept.
    weights : array of shape (n,) or None
        How much each row counts; a row of weight 2 is two rows.
    limits : Limits
        ``eps`` is in units of R, the greatest length in the space of the kernel.
    seed, callback, stop
        As in `kernel_svm`.

    Returns
    -------
    list of Result
        ``x`` holds the coefficients of h on the rows, ``p`` the dual weights.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Linear
    >>> table = KernelRows(as_rows([[3.0], [1.0]]), Linear())
    >>> y = np.array([[1.0, -1.0]])
    >>> result = kernel_margin(table, y, kappa=0.5, bias=True, limits=Limits(eps=1e-9))[0]
    >>> result.certificate.primal, result.bias
    (1.0, -2.0)
    """
    n = table.n
    rng = np.random.default_rng(seed)
    counts = np.ones(n) if weights is None else weights
    sides = [split_by_weight(y, counts, kappa, bias=bias) for y in targets]
    key = rng.random(n)
    programs = KernelPrograms(
        table,
        np.zeros(targets.shape),
        np.zeros(targets.shape),
        np.stack([np.full(n, one.cap) if one.caps is None else one.caps for one in sides]),
        np.stack([one.lightest(key) for one in sides]),
        scale=2.0,
        rng=rng,
        signs=targets,
        groups=np.stack([one.side for one in sides]),
    )
    R = math.sqrt(float(table.diagonal[counts > 0.0].max()))
    return _Margins(table, programs, targets, sides, R, limits.eps).run(limits, callback, stop)


def judged_margin(
    c: Vector, p: Vector, y: Vector, sides: Sides, R: float
) -> tuple[float, float, float, float]:
    """Primal value, dual value, scale and bias of p, from c_i = y_i <sum p y F, F(x_i)>."""
    norm = math.sqrt(max(float(p @ c), 0.0))
    with_bias = R if len(sides.masses) == 2 else 0.0
    value, scale, bias = best_scale_and_bias(c, norm, y, sides, with_bias)
    return value, norm + with_bias * abs(float(p @ y)), scale, bias


class _Margins(KernelRun):
    def __init__(
        self,
        table: KernelRows,
        programs: KernelPrograms,
        targets: Vector,
        sides: list[Sides],
        R: float,
        eps: float,
    ) -> None:
        super().__init__(table, programs, maximize=True)
        self.targets, self.sides, self.R = targets, sides, R
        self.eps = eps * (self.R or 1.0)

    def judge(self, k: int) -> None:
        p, y, bound = self.programs.v[k], self.targets[k], self.bounds[k]
        value, dual, scale, bias = judged_margin(
            0.5 * self.programs.g[k], p, y, self.sides[k], self.R
        )
        if value > bound.lower:
            bound.primal(value, scale * p * y, bias)
        if dual < bound.upper:
            bound.dual(dual, p.copy())

    def target(self, certificate: Certificate) -> float:
        return self.eps
