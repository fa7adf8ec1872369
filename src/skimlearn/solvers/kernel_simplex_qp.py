r"""Quadratic programs over distributions with a kernel, to any gap, by working sets.

Problem:  min over p in the simplex, p_i <= cap, of  phi(p) = b.p + p' K p,
its dual: max over c in the kernel's space of  min_q q.(b + 2 <c, F(x_i)>) - ||c||^2.

With c = sum_i p_i F(x_i) their difference is the Frank-Wolfe gap, which the gradient tells.
Algorithm: that of `_kernel_qp`. `reductions` says which problems are of this kind.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.result import Certificate, Result
from skimlearn.solvers._kernel_qp import KernelPrograms
from skimlearn.solvers._kernel_run import Callback, KernelRun
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import Sides, as_linear, split

__all__ = ["kernel_simplex_qp"]

Vector = NDArray[np.float64]


def kernel_simplex_qp(
    table: KernelRows,
    b: ArrayLike | None = None,
    *,
    cap: float = 1.0,
    limits: Limits,
    seed: int | np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Result:
    """Minimise b.p + p'Kp over distributions p <= cap.

    Parameters
    ----------
    table : KernelRows
        The kernel matrix of n rows.
    b : array of shape (n,) or None
        The linear part; None for zeros.
    cap : float, default=1.0
        The greatest weight of a row, at least 1/n.
    limits : Limits
        ``eps`` is a difference of objectives.
    seed, callback
        As in `kernel_svm`.

    Returns
    -------
    Result
        ``p`` holds the weights, ``x`` the coefficients of the dual answer, which are weights too.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Linear
    >>> table = KernelRows(as_rows([[2.0, 1.0], [2.0, -1.0], [5.0, 5.0]]), Linear())
    >>> kernel_simplex_qp(table, limits=Limits(eps=1e-9)).p
    array([0.5, 0.5, 0. ])
    """
    n = table.n
    sides = split(np.ones(n), cap, bias=False)
    linear = as_linear(b, n)
    programs = KernelPrograms(
        table,
        linear[None, :].copy(),
        np.zeros((1, n)),
        np.full((1, n), sides.cap),
        sides.lightest(linear + table.diagonal)[None, :],
        scale=2.0,
        rng=np.random.default_rng(seed),
        groups=np.zeros((1, n), dtype=np.int64),
    )
    return _Quadratic(table, programs, sides, limits.eps).run(limits, callback)[0]


class _Quadratic(KernelRun):
    def __init__(
        self, table: KernelRows, programs: KernelPrograms, sides: Sides, eps: float
    ) -> None:
        super().__init__(table, programs)
        self.sides, self.eps = sides, eps

    def judge(self, k: int) -> None:
        p, g, b, bound = (
            self.programs.v[k], self.programs.g[k], self.programs.b[k], self.bounds[k]
        )  # fmt: skip
        square = 0.5 * float(p @ (g - b))
        upper = float(p @ b) + square
        lower = float(self.sides.lightest(g) @ g) - square
        if upper < bound.upper:
            bound.upper, bound.p = upper, p.copy()
        if lower > bound.lower:
            bound.lower, bound.x = lower, p.copy()

    def target(self, certificate: Certificate) -> float:
        return self.eps
