r"""Quadratic programs over distributions with a kernel, to any gap, by working sets.

Problem:  min over p in the simplex, p_i <= cap, of  phi(p) = b.p + p' K p,
its dual: max over c in the kernel's space of  min_q q.(b + 2 <c, F(x_i)>) - ||c||^2.

With c = sum_i p_i F(x_i) their difference is the Frank-Wolfe gap, which the gradient tells.
Algorithm: that of `_kernel_qp`. `reductions` says which problems are of this kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_rows import CACHE_BYTES, KernelRows, kernel_of_rows
from skimlearn.formulas.kernels import Kernel
from skimlearn.result import Certificate, Result
from skimlearn.solvers._kernel_qp import KernelPrograms
from skimlearn.solvers._kernel_run import Callback, KernelRun
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import Sides, as_linear, split
from skimlearn.solvers.kernel_sampled_qp import kernel_sampled_qp

__all__ = ["kernel_exact_qp", "kernel_simplex_qp"]

Vector = NDArray[np.float64]
SOLVERS = ("auto", "working-set", "sampled")


def kernel_simplex_qp(
    X: Any,
    b: ArrayLike | None = None,
    *,
    kernel: str | Kernel = "rbf",
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    cap: float = 1.0,
    solver: str = "auto",
    eps: float = 0.01,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    cache_bytes: int = CACHE_BYTES,
    random_state: int | np.random.Generator | None = None,
) -> Result:
    """Minimise ``b.p + p'Kp`` over distributions ``p <= cap``, K being the kernel matrix of rows X.

    The smallest ball and the one-class support vector machine are programs of this kind; so is the
    choice of a few weighted rows whose mean feature is near a given one.

    Parameters
    ----------
    X : array, sparse matrix or Store of shape (n, d)
        The rows.
    b : array of shape (n,) or None
        The linear part; None for zeros.
    kernel : {"rbf", "poly", "linear"} or Kernel, default="rbf"
        As in `KernelClassifier`, like ``gamma``, ``degree`` and ``coef0``.
    gamma, degree, coef0 : float or "scale" or "auto", int, and float
        The parameters of a kernel that is given by its name.
    cap : float, default=1.0
        The greatest weight of a row, at least 1/n.
    solver : {"auto", "working-set", "sampled"}, default="auto"
        "working-set", which "auto" is, reaches any eps; "sampled" draws rows, and takes values of
        the kernel from a part of the entries, for an eps that is not small.
    eps : float, default=0.01
        How far from the minimum the answer may be.
    max_reads, max_steps, max_seconds : int, int and float, or None
        Stop before more stored entries are read than that, or after so many rounds (of "sampled":
        steps) or seconds. A value of the kernel reads a row.
    cache_bytes : int, default=2**30
        Memory for values of the kernel.
    random_state : int, Generator or None
        Source of randomness.

    Returns
    -------
    Result
        ``p`` is the answer and ``certificate.primal`` its value; ``x`` holds weights whose
        combination of features proves ``certificate.dual``.

    See Also
    --------
    simplex_qp : without a kernel, from a part of the entries.

    Examples
    --------
    >>> X = [[2.0, 1.0], [2.0, -1.0], [5.0, 5.0]]
    >>> kernel_simplex_qp(X, kernel="linear", eps=1e-9).p  # the shortest vector of a triangle
    array([0.5, 0.5, 0. ])
    """
    limits = Limits(eps=eps, max_reads=max_reads, max_steps=max_steps, max_seconds=max_seconds)
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} must be one of {SOLVERS}")
    rows = as_rows(X, bounded=True)
    formula = kernel_of_rows(rows, kernel, gamma=gamma, degree=degree, coef0=coef0)
    table = KernelRows(rows, formula, cache_bytes)
    solve = kernel_sampled_qp if solver == "sampled" else kernel_exact_qp
    return solve(table, b, cap=cap, limits=limits, seed=random_state)


def kernel_exact_qp(
    table: KernelRows,
    b: ArrayLike | None = None,
    *,
    cap: float = 1.0,
    limits: Limits,
    seed: int | np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Result:
    """Minimise b.p + p'Kp over distributions p <= cap, for a kernel matrix that is there.

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
    >>> kernel_exact_qp(table, limits=Limits(eps=1e-9)).p
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
