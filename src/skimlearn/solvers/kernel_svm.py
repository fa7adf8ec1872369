r"""Support vector machines with a kernel, to any gap, by working sets.

Problem, with h a function of the kernel's space, weights m_i of mean 1, and b free or zero:

    min over h and b of  alpha / 2 ||h||^2 + (1 / n) sum_i m_i max(0, 1 - y_i (h(x_i) + b)).

Its dual, with c_i = m_i / n and v_i between 0 and c_i for y_i = 1, -c_i and 0 for y_i = -1:

    max over v of  v.y - 1 / (2 alpha) v' K v,   with sum v = 0 if b is free;

the answer is h = sum_i v_i k(x_i, .) / alpha.

Algorithm: that of `_kernel_qp`. The responses h(x_i) of all rows follow from its gradient, so that
both values, and the best b, cost no value of the kernel. ``C = 1 / (alpha n)`` in LIBSVM's words.

See Cortes and Vapnik, "Support-vector networks" (1995), and the papers named in `_kernel_qp`.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.kernel_rows import KernelRows
from skimlearn.formulas import losses, regularizers
from skimlearn.problem import Problem
from skimlearn.result import Certificate, Result
from skimlearn.solvers._kernel_qp import KernelPrograms
from skimlearn.solvers._kernel_run import Callback, KernelRun
from skimlearn.solvers._limits import Limits

__all__ = ["judged", "kernel_svm"]

Vector = NDArray[np.float64]
BIASES = ("free", "none")


def kernel_svm(
    table: KernelRows,
    targets: Vector,
    weights: Vector,
    *,
    alpha: float,
    bias: str,
    limits: Limits,
    seed: int | np.random.Generator | None = None,
    callback: Callback | None = None,
    stop: threading.Event | None = None,
) -> list[Result]:
    """Train m machines on the same rows.

    Parameters
    ----------
    table : KernelRows
        The kernel matrix of n rows.
    targets, weights : arrays of shape (m, n)
        The labels, -1 and +1, and the weights, of mean 1, of each machine.
    alpha : float
        The strength of the regularizer.
    bias : {"free", "none"}
        Whether to learn an intercept.
    limits : Limits
        ``eps`` is relative to the primal value.
    seed : int, Generator or None
        Source of the first sample.
    callback, stop : callable and Event, or None
        Called with each record; asked after each look at all rows.

    Returns
    -------
    list of Result
        ``x`` holds the coefficients of h on the rows, ``p`` the dual variables v.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Gaussian
    >>> table = KernelRows(as_rows([[0.0], [1.0], [2.0]]), Gaussian())
    >>> y = np.array([[1.0, -1.0, 1.0]])
    >>> result = kernel_svm(
    ...     table, y, np.ones((1, 3)), alpha=0.01, bias="free", limits=Limits(eps=1e-6)
    ... )[0]
    >>> bool((y * (result.x @ table.among(np.arange(3)) + result.bias) > 0.0).all())
    True
    """
    cap = weights / targets.shape[1]
    programs = KernelPrograms(
        table,
        -targets,
        np.where(targets > 0.0, 0.0, -cap),
        np.where(targets > 0.0, cap, 0.0),
        np.zeros_like(targets),
        scale=1.0 / alpha,
        rng=np.random.default_rng(seed),
        groups=np.zeros(targets.shape, dtype=np.int64) if bias == "free" else None,
    )
    return _Machines(table, programs, targets, weights, alpha, bias, limits.eps).run(
        limits, callback, stop
    )


def judged(problem: Problem, v: Vector, z: Vector, b: float) -> tuple[float, float, float]:
    """Primal value, dual value and bias of dual variables v with responses z, without the bias."""
    if problem.bias == "free":
        b = certificates.middle_bias(problem, z, certificates.best_bias(problem, z, b))
    half = 0.5 * float(v @ z)
    primal = half + certificates.mean_loss(problem, z, b)
    return primal, float(v @ problem.y) - half, b


class _Machines(KernelRun):
    def __init__(
        self,
        table: KernelRows,
        programs: KernelPrograms,
        targets: Vector,
        weights: Vector,
        alpha: float,
        bias: str,
        eps: float,
    ) -> None:
        super().__init__(table, programs)
        self.alpha, self.eps = alpha, eps
        shared: dict[str, Any] = {"loss": losses.Hinge(), "alpha": alpha, "bias": bias}
        shared |= {"rows": table.rows, "regularizer": regularizers.resolve(2.0, None)}
        self.problems = [
            Problem(y=y, weights=m, **shared) for y, m in zip(targets, weights, strict=True)
        ]
        self.biases = np.zeros(len(targets))

    def judge(self, k: int) -> None:
        v, z, bound = self.programs.v[k], self.programs.g[k] + self.problems[k].y, self.bounds[k]
        primal, dual, self.biases[k] = judged(self.problems[k], v, z, float(self.biases[k]))
        if primal < bound.upper:
            bound.primal(primal, v / self.alpha, float(self.biases[k]))
        if dual > bound.lower:
            bound.dual(dual, v.copy())

    def target(self, certificate: Certificate) -> float:
        return self.eps * abs(certificate.primal) if math.isfinite(certificate.primal) else 0.0
