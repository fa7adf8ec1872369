r"""The sublinear perceptron and its soft form with a kernel.

Problem: that of `kernel_margin`, the mean of the kappa n smallest responses of a unit vector h.

Algorithm: in step t the primal vector is h_t = s / max(sqrt(2 t) R, ||s||), s the sum of y_i F(x_i)
over the rows drawn so far; a row is drawn from

    p_t ~ exp(-eta_t S), capped at 1 / (kappa n),   S_i = sum of clipped responses y_i <h, F(x_i)>,

with eta_t = sqrt(log n / t), and joins s; S grows by the responses of h_t, which are exact or
estimated, whichever costs fewer reads (see `_kernel_skim`). A bias fixes the mass of each class and
is solved for at the end (see `_margin_bounds`).

The certificate has the frequencies of the drawn rows on the dual side, and on the primal side both
their sum and the mean of all h_t, each with its best scale and bias.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), VI, and
Cotter, Shalev-Shwartz and Srebro, "The kernelized stochastic batch perceptron" (2012).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.result import Result
from skimlearn.sampling.simplex import capped_softmax
from skimlearn.solvers._kernel_run import Callback
from skimlearn.solvers._kernel_skim import KernelSkim
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import as_labels, best_scale_and_bias, split
from skimlearn.solvers.kernel_margin import judged_margin

__all__ = ["kernel_perceptron"]

Vector = NDArray[np.float64]


def kernel_perceptron(
    table: KernelRows,
    y: Vector,
    *,
    kappa: float = 0.0,
    bias: bool = False,
    responses: str = "auto",
    limits: Limits,
    seed: int | np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Result:
    """Maximise a hard or soft margin in the space of a kernel, from a part of its values.

    Parameters
    ----------
    table : KernelRows
        The kernel matrix of n rows.
    y : array of shape (n,)
        The labels, -1 and +1.
    kappa : float, default=0.0
        The part of the rows whose mean response is maximised; up to 1 / n it is the worst row.
    bias : bool, default=False
        Whether to learn an intercept.
    responses : {"auto", "estimates", "exact"}, default="auto"
        How the responses are had; "auto" takes what reads fewer entries.
    limits : Limits
        ``eps`` is in units of R, the greatest length in the space of the kernel.
    seed : int, Generator or None
        Source of the draws.
    callback : callable or None
        Called with each record; a true answer stops the run.

    Returns
    -------
    Result
        ``x`` holds the coefficients of h on the rows, ``p`` the dual weights; ``solver`` says how
        the responses were had.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Gaussian
    >>> table = KernelRows(as_rows([[0.0], [1.0], [2.0]]), Gaussian())
    >>> limits = Limits(eps=0.1, max_steps=5000)
    >>> result = kernel_perceptron(table, np.array([1.0, -1.0, 1.0]), limits=limits, seed=0)
    >>> result.status.name, result.solver
    ('CONVERGED', 'perceptron (exact rows)')
    """
    run = _Perceptron(
        table, as_labels(y, table.n), kappa, bias, responses, np.random.default_rng(seed)
    )
    eps = limits.eps * run.R
    scaled = Limits(
        eps=eps, max_reads=limits.max_reads, max_steps=limits.max_steps,
        max_seconds=limits.max_seconds,
    )  # fmt: skip
    return run.run(scaled, callback)


class _Perceptron(KernelSkim):
    name = "perceptron"

    def __init__(
        self,
        table: KernelRows,
        y: Vector,
        kappa: float,
        bias: bool,
        responses: str,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(table, y, rng, responses, maximize=True)
        self.sides = split(y, 1.0 / max(1.0, kappa * table.n), bias=bias)
        self.R = math.sqrt(float(table.diagonal.max())) or 1.0
        self.total = np.zeros(table.n)  # S of the paper
        self.mean = np.zeros(table.n)  # coefficients of the sum of all h_t

    def law(self, eta: float) -> Vector:
        """p_t: on each side its own mass."""
        if len(self.sides.masses) == 1:
            return capped_softmax(-eta * self.total, self.sides.cap)
        p = np.zeros(self.table.n)
        for k, mass in enumerate(self.sides.masses):
            mine = np.flatnonzero(self.sides.side == k)
            if len(mine) and mass > 0.0:
                cap = min(1.0, max(self.sides.cap / mass, 1.0 / len(mine)))
                p[mine] = mass * capped_softmax(-eta * self.total[mine], cap)
        return p

    def step(self) -> None:
        t = self.steps + 1
        eta = min(math.sqrt(math.log(max(self.table.n, 2)) / t), 0.5)
        p = self.law(eta)
        sums = np.cumsum(p)
        i = int(np.searchsorted(sums, self.rng.random() * sums[-1], side="right"))
        factor = 1.0 / max(math.sqrt(2.0 * t) * self.R, math.sqrt(self.square))
        e = self.respond(factor) / self.R
        self.total += np.clip(e, -1.0 / eta, 1.0 / eta)
        self.mean += factor * self.counts
        self.add(min(i, self.table.n - 1))

    def check(self) -> None:
        y, p = self.signs, self.sides.repaired(self.counts)
        sums = self.exactly(np.stack([p * y, self.mean * y]))
        R = self.R if len(self.sides.masses) == 2 else 0.0
        value, dual, scale, bias = judged_margin(y * sums[0], p, y, self.sides, self.R)
        self.bounds.primal(value, scale * p * y, bias)
        self.bounds.dual(dual, p)
        norm = math.sqrt(max(float((self.mean * y) @ sums[1]), 0.0))
        value, scale, bias = best_scale_and_bias(y * sums[1], norm, y, self.sides, R)
        self.bounds.primal(value, scale * self.mean * y, bias)
