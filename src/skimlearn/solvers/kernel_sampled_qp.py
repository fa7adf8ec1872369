r"""Balls and simplex QPs with a kernel, sublinear: a few rows of the kernel matrix, and estimates.

Problem: that of `kernel_simplex_qp`; with b_i = -k(x_i, x_i) it is that of `kernel_ball`.

Algorithm: x_t is the weighted mean of the features of the rows accepted so far. In step t a row is
drawn from p_t ~ exp(-eta_t S), capped, and accepted with a probability that falls as log(t) /
sqrt(t log n); it then has the weight of all steps that it stands for. S grows by the clipped
b_i + 2 <x_t, F(x_i)>, whose second part is exact or estimated (see `_kernel_skim`): a mean needs
one draw only.

The accepted weights p bracket the optimum: b.p + p' K p is above it, and the least value of
q.(b + 2 K p) - p' K p below.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), III and VI.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.result import Result
from skimlearn.sampling.simplex import capped_softmax
from skimlearn.solvers._kernel_run import Callback
from skimlearn.solvers._kernel_skim import KernelSkim
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import as_linear, split
from skimlearn.solvers.kernel_ball import allowed_gap, farthest

__all__ = ["kernel_sampled_ball", "kernel_sampled_qp"]

Vector = NDArray[np.float64]


def kernel_sampled_qp(
    table: KernelRows,
    b: ArrayLike | None = None,
    *,
    cap: float = 1.0,
    responses: str = "auto",
    limits: Limits,
    seed: int | np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Result:
    """Minimise b.p + p'Kp over distributions p <= cap, from a part of the values of the kernel.

    The parameters and the result are those of `kernel_exact_qp`, and ``responses`` that of
    `kernel_perceptron`.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Gaussian
    >>> table = KernelRows(as_rows([[0.0], [1.0], [2.0]]), Gaussian())
    >>> result = kernel_sampled_qp(table, limits=Limits(eps=0.1, max_steps=3000), seed=0)
    >>> result.status.name
    'CONVERGED'
    """
    linear = as_linear(b, table.n)
    run = _Sampled(table, linear, cap, responses, np.random.default_rng(seed))
    return run.run(limits, callback)


def kernel_sampled_ball(
    table: KernelRows,
    *,
    contamination: float = 0.0,
    responses: str = "auto",
    limits: Limits,
    seed: int | np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Result:
    """The smallest ball in the space of a kernel, from a part of the values of the kernel.

    The parameters and the result are those of `kernel_ball`, and ``responses`` that of
    `kernel_perceptron`.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Gaussian
    >>> table = KernelRows(as_rows([[0.0], [1.0], [2.0]]), Gaussian())
    >>> result = kernel_sampled_ball(table, limits=Limits(eps=0.1, max_steps=3000), seed=0)
    >>> result.status.name
    'CONVERGED'
    """
    cap = 1.0 / max(1.0, contamination * table.n)
    rng = np.random.default_rng(seed)
    return _SampledBall(table, -table.diagonal, cap, responses, rng).run(limits, callback)


class _Sampled(KernelSkim):
    name = "sampled"

    def __init__(
        self, table: KernelRows, b: Vector, cap: float, responses: str, rng: np.random.Generator
    ) -> None:
        super().__init__(table, np.ones(table.n), rng, responses, maximize=False)
        self.b = b
        self.sides = split(np.ones(table.n), cap, bias=False)
        self.size = float(np.abs(b).max()) + 2.0 * float(table.diagonal.max()) or 1.0
        self.total = np.zeros(table.n)
        self.chance = 1.0

    def price(self) -> float:
        return self.chance

    def step(self) -> None:
        t, n = self.steps + 1, max(self.table.n, 2)
        eta = min(math.sqrt(math.log(n) / t), 0.5)
        self.chance = min(1.0, math.log(t + 1.0) / math.sqrt(t * math.log(n)))
        p = capped_softmax(-eta * self.total, self.sides.cap)
        sums = np.cumsum(p)
        first, second = self.rng.random(2)
        i = min(int(np.searchsorted(sums, first * sums[-1], side="right")), self.table.n - 1)
        factor = 1.0 / self.heights[-1] if self.heights else 0.0
        e = (self.b + 2.0 * self.respond(factor)) / self.size
        self.total += np.clip(e, -1.0 / eta, 1.0 / eta)
        if second < self.chance:
            self.add(i, 1.0 / self.chance)

    def check(self) -> None:
        p = self.sides.repaired(self.counts)
        products = self.exactly(p[None, :])[0]
        self.judge(p, products, float(p @ products))

    def judge(self, p: Vector, products: Vector, square: float) -> None:
        """Improve the bounds by a distribution p, with products K p."""
        g, bound = self.b + 2.0 * products, self.bounds
        upper = float(p @ self.b) + square
        lower = float(self.sides.lightest(g) @ g) - square
        if upper < bound.upper:
            bound.upper, bound.p = upper, p
        if lower > bound.lower:
            bound.lower, bound.x = lower, p


class _SampledBall(_Sampled):
    def target(self, eps: float) -> float:
        return allowed_gap(self.table, eps, self.bounds.certificate)

    def judge(self, p: Vector, products: Vector, square: float) -> None:
        distances = np.maximum(self.table.diagonal - 2.0 * products + square, 0.0)
        value, radius = farthest(distances, 1.0 / self.sides.cap)
        self.bounds.primal(value, p, radius)
        self.bounds.dual(max(float(p @ self.table.diagonal) - square, 0.0), p)
