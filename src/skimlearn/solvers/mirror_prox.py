r"""The margin of a linear classifier by mirror-prox: the deterministic baseline, M / eps reads.

Problem:  that of `extragradient`.

Algorithm: with rows divided by R, from x = 0 and uniform weights,

    x' = proj(x + A'p),    p' = project(p exp(-A x)),
    x  = proj(x + A'p'),   p  = project(p exp(-A x')),

two passes a step. The answer is the mean of the x' and the p', whose products are the means of
the products: the certificate costs nothing. The bias is solved exactly (`_margin_bounds`).

See Nemirovski, "Prox-method with rate of convergence O(1/t) for variational inequalities" (2004).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.ledger import Reads
from skimlearn.result import Result, Status
from skimlearn.solvers._entropy import LEAST, logarithms, nearest, project
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import (
    Sides,
    as_labels,
    as_start,
    best_scale_and_bias,
    dual_value,
    split,
)
from skimlearn.solvers._passes import Passes
from skimlearn.solvers._skim import Callback
from skimlearn.solvers._source import Source
from skimlearn.solvers._sweep import Sweeper

__all__ = ["mirror_prox"]

Vector = NDArray[np.float64]


def mirror_prox(
    source: Source,
    y: Vector,
    *,
    cap: float,
    bias: bool,
    limits: Limits,
    start: tuple[Vector, Vector] | None = None,
    callback: Callback | None = None,
) -> Result:
    """Maximise a hard or soft margin by mirror-prox.

    The parameters and the result are those of `extragradient`, but there is no randomness.

    Examples
    --------
    >>> from skimlearn.data.columns import as_matrix
    >>> X, y = as_matrix([[3.0, 0.0], [1.0, 0.0]]), np.array([1.0, -1.0])
    >>> result = mirror_prox(X, y, cap=1.0, bias=True, limits=Limits(eps=1e-6))
    >>> round(result.certificate.primal, 5), round(result.bias, 5)
    (1.0, -2.0)
    """
    y = as_labels(y, source.shape[0])
    sides = split(y, cap, bias=bias)
    x, p = as_start(start, sides, source.shape[1])
    run = _MirrorProx(source.shape, True, source=source, y=y, sides=sides, x=x, p=p)
    return run.run(limits, callback)


@dataclass
class _MirrorProx(Passes):
    name = "mirror-prox"

    source: Source = field(kw_only=True)
    y: Vector = field(kw_only=True)
    sides: Sides = field(kw_only=True)
    x: Vector = field(kw_only=True)
    p: Vector = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        n, d = self.shape
        self.sweeper = Sweeper(self.source, self.y)
        self.p = nearest(self.p, self.sides)
        self.logs = np.log(np.maximum(self.p, math.exp(LEAST)))
        self.factors, self.shifts = np.ones((2, len(self.sides.masses)))
        self.mean_x, self.mean_p = np.zeros(d), np.zeros(n)
        self.mean_Ax, self.mean_Atp = np.zeros(n), np.zeros(d)

    def fallback(self) -> tuple[Vector, float, Vector]:
        return self.x.copy(), 0.0, self.p.copy()

    def step(self, more_reads: float, more_steps: float) -> Status | None:
        ahead = self._move(self.x, self.p, more_reads)
        if ahead is None:
            return Status.READS
        x, p, _ = ahead
        if self.steps == 0:  # the start is an answer too
            self._judge(self.x, self.p, self.sweeper.Ax, self.sweeper.Atp)
        moved = self._move(x, p, more_reads - self.sweeper.entries)
        if moved is None:
            return Status.READS
        self.x, self.p, self.logs = moved
        self.steps += 1
        sweeper = self.sweeper
        for mean, new in ((self.mean_x, x), (self.mean_p, p),
                          (self.mean_Ax, sweeper.Ax), (self.mean_Atp, sweeper.Atp)):  # fmt: skip
            mean += (new - mean) / self.steps
        self._judge(self.mean_x, self.mean_p, self.mean_Ax, self.mean_Atp)
        return None

    def _move(self, x: Vector, p: Vector, more: float) -> tuple[Vector, Vector, Vector] | None:
        """The step from the present point along the gradient at x and p."""
        sweeper, sides = self.sweeper, self.sides
        before = Reads(sweeper.dense, sweeper.stored)
        try:
            if not sweeper.sweep(x, p, more):
                return None
        finally:
            self.reads += Reads(sweeper.dense - before.dense, sweeper.stored - before.nnz)
        unit = sweeper.R or 1.0
        logs = self.logs - sweeper.Ax / unit
        weights = np.empty(len(logs))
        project(logs, sides.side, sides.masses, sides.cap, weights, self.factors)
        logarithms(logs, sides.side, sides.cap, self.factors, self.shifts)
        return _in_ball(self.x + sweeper.Atp / unit), weights, logs

    def _judge(self, x: Vector, p: Vector, Ax: Vector, Atp: Vector) -> None:
        R = self.sweeper.R if len(self.sides.masses) == 2 else 0.0
        norm = float(np.linalg.norm(x))
        value, scale, bias = best_scale_and_bias(Ax, norm, self.y, self.sides, R)
        self.bounds.primal(value, scale * x, bias)
        self.bounds.dual(dual_value(Atp, p, self.y, R), p.copy())


def _in_ball(x: Vector) -> Vector:
    return x / max(1.0, float(np.linalg.norm(x)))
