r"""The smallest ball in the space of a kernel, around all rows or most of them.

Problem, with F the map into the space of the kernel and a part kappa of the n rows left out:

    V = min over c of the mean of the kappa n greatest ||F(x_i) - c||^2,

which is the smallest ball around all rows if kappa n <= 1, and support vector data description
with outliers otherwise. Its dual is a quadratic program over distributions:

    V = max of  sum_i p_i k(x_i, x_i) - p' K p   over distributions p with p_i <= 1 / (kappa n).

Algorithm: that of `_kernel_qp`; the centre is sum_i p_i F(x_i), and all squared distances follow
from the gradient. If k(x, x) is the same for all x, this is the one-class support vector machine.

See Tax and Duin, "Support vector data description" (2004), and Scholkopf et al., "Estimating the
support of a high-dimensional distribution" (2001).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.result import Certificate, Result
from skimlearn.solvers._kernel_qp import KernelPrograms
from skimlearn.solvers._kernel_run import Callback, KernelRun
from skimlearn.solvers._limits import Limits

__all__ = ["allowed_gap", "farthest", "kernel_ball"]

Vector = NDArray[np.float64]


def kernel_ball(
    table: KernelRows,
    *,
    contamination: float = 0.0,
    limits: Limits,
    seed: int | np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Result:
    """The smallest ball around the rows in the space of a kernel.

    Parameters
    ----------
    table : KernelRows
        The kernel matrix of n rows.
    contamination : float, default=0.0
        The part of the rows that may lie outside.
    limits : Limits
        ``eps`` is relative to the squared radius.
    seed : int, Generator or None
        Source of the first sample.
    callback : callable or None
        Called with each record; a true answer stops the run.

    Returns
    -------
    Result
        ``x`` and ``p`` hold the coefficients of the centre, ``bias`` the squared radius.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Linear
    >>> table = KernelRows(as_rows([[0.0], [1.0], [4.0]]), Linear())
    >>> result = kernel_ball(table, limits=Limits(eps=1e-9))
    >>> result.p, result.bias
    (array([0.5, 0. , 0.5]), 4.0)
    """
    n = table.n
    share = max(1.0, contamination * n)
    rng = np.random.default_rng(seed)
    start = np.zeros((1, n))
    order = rng.permutation(n)[: math.ceil(share - 1e-9)]
    start[0, order] = np.clip(1.0 - np.arange(len(order)) / share, 0.0, 1.0 / share)
    programs = KernelPrograms(
        table,
        -table.diagonal[None, :].copy(),
        np.zeros((1, n)),
        np.full((1, n), 1.0 / share),
        start,
        scale=2.0,
        rng=rng,
        groups=np.zeros((1, n), dtype=np.int64),
    )
    return _Ball(table, programs, share, limits.eps).run(limits, callback)[0]


def farthest(distances: Vector, share: float) -> tuple[float, float]:
    """The mean of the greatest so many distances, the last one in part, and that last one.

    Examples
    --------
    >>> farthest(np.array([1.0, 4.0, 2.0]), 1.6)
    (3.25, 2.0)
    """
    n = len(distances)
    count = min(n, math.ceil(share - 1e-9))
    greatest = np.partition(distances, n - count)[n - count :]
    last = float(greatest.min())
    return last + float((greatest - last).sum()) / share, last


def allowed_gap(table: KernelRows, eps: float, certificate: Certificate) -> float:
    """The gap of a squared radius at a part eps of it; not less than rounding makes."""
    rounding = 16.0 * float(np.finfo(table.dtype).eps) * float(table.diagonal.max())
    return max(eps * max(certificate.dual, 0.0), rounding)


class _Ball(KernelRun):
    def __init__(
        self, table: KernelRows, programs: KernelPrograms, share: float, eps: float
    ) -> None:
        super().__init__(table, programs)
        self.share, self.eps = share, eps

    def judge(self, k: int) -> None:
        p, bound = self.programs.v[k], self.bounds[k]
        products = 0.5 * (self.programs.g[k] + self.table.diagonal)
        square = float(p @ products)
        distances = np.maximum(self.table.diagonal - 2.0 * products + square, 0.0)
        value, radius = farthest(distances, self.share)
        if value < bound.upper:
            bound.primal(value, p.copy(), radius)
        lower = max(float(p @ self.table.diagonal) - square, 0.0)
        if lower > bound.lower:
            bound.dual(lower, p.copy())

    def target(self, certificate: Certificate) -> float:
        return allowed_gap(self.table, self.eps, certificate)
