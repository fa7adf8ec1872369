r"""The frame of the kernel solvers that visit rows: PGS and dual ascent, for every loss.

Problem, with h a function of the kernel's space, weights m_i of mean 1, and b free or zero:

    min over h and b of  alpha / 2 ||h||^2 + (1 / n) sum_i m_i loss(h(x_i) + b, y_i).

Dual variables a_i stand for h = 1 / (alpha n) sum_i m_i a_i k(x_i, .). The sums of the kernel that
give h at all rows are kept, so that a certificate costs no value of the kernel:

    D(a) = -alpha / 2 ||h||^2 - (1 / n) sum_i m_i loss*(-a_i, y_i),

with sum_i m_i a_i = 0 if the bias is free. For that, sums of positive and of negative variables are
kept apart: the larger side is scaled down. The bias of the answer is solved for exactly.

A subclass visits rows (`visit`) and says what makes dual variables of its numbers (`scale`).
"""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from typing import Any, Required, TypedDict

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.kernel_rows import KernelRows
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.formulas import regularizers
from skimlearn.formulas.losses import Loss
from skimlearn.problem import Problem
from skimlearn.result import Record, Result, Status
from skimlearn.solvers._kernel_run import Callback, open_table
from skimlearn.solvers._limits import Bounds, Limits

__all__ = ["KernelVisits", "Options", "Vector", "visit_all"]

Vector = NDArray[np.float64]
ROUNDING = 1e-14
PATIENCE = 30  # checks without progress before rounding is blamed


class KernelVisits(ABC):
    """One machine in training.

    ``a`` holds the sums of what a visit gives to the dual variables, ``sums`` those of the kernel
    with the positive and with the negative ones of them, times their weights.
    """

    name = ""
    growth = 1.0  # a check follows when the epochs have grown by this factor

    def __init__(self, table: KernelRows, problem: Problem) -> None:
        self.table, self.problem = table, problem
        self.a = np.zeros(problem.n)
        self.sums = np.zeros((2, problem.n))
        self.b, self.steps, self.epochs, self.seconds = 0.0, 0, 0, 0.0
        self.bounds = Bounds()
        self.history: list[Record] = []
        self.reads = Reads()

    @abstractmethod
    def visit(self, order: NDArray[np.int64]) -> None:
        """Learn from these rows."""

    @abstractmethod
    def scale(self) -> float:
        """What makes dual variables of ``a``."""

    def run(
        self,
        limits: Limits,
        seconds: float | None,
        rng: np.random.Generator,
        before: Reads,
        callback: Callback | None,
        stop: threading.Event | None,
    ) -> Result:
        """Visit rows until the bounds meet or a limit is reached."""
        began, n = time.perf_counter(), self.problem.n
        most = math.inf if limits.max_steps is None else limits.max_steps
        status, due, idle = None, 1.0, 0
        self.check()
        while status is None:
            try:
                self.epochs += 1
                self.visit(rng.permutation(n)[: int(min(n, most - self.steps))])
            except ReadLimit:
                status = Status.READS
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            self.seconds = time.perf_counter() - began
            if self.steps >= most:
                status = status or Status.STEPS
            elif seconds is not None and self.seconds >= seconds:
                status = status or Status.SECONDS
            elif stop is not None and stop.is_set():
                status = status or Status.STOPPED
            if status is None and self.epochs < due:
                continue
            due = max(self.epochs + 1.0, self.growth * self.epochs)
            gap = self.bounds.certificate.gap
            self.check()
            certificate = self.bounds.certificate
            record = Record(
                self.steps, self.seconds, self.table.reads.nnz, certificate.primal, certificate.dual
            )
            self.history.append(record)
            idle = idle + 1 if certificate.gap >= gap else 0
            if idle >= PATIENCE:
                status = status or Status.STALLED
            if certificate.relative_gap <= limits.eps and (status or not self.goes_on()):
                status = Status.CONVERGED
            if callback is not None and callback(record):
                status = status or Status.STOPPED
        self.reads = Reads(*(
            getattr(self.table.reads, part) - getattr(before, part)
            for part in ("dense", "nnz", "certificate")
        ))  # fmt: skip
        zeros = np.zeros(n)
        return self.bounds.result(status, (zeros, 0.0, zeros), self, (n, self.table.d))

    def goes_on(self) -> bool:
        """Whether to look for the last digits of an answer that is good enough."""
        return False

    def add(self, rows: NDArray[np.int64], new: Vector, lines: NDArray[Any]) -> None:
        """Change ``a`` of some rows, whose rows of the kernel matrix are given."""
        old, m = self.a[rows], self.problem.weights[rows]
        for side, cut in enumerate((np.maximum, np.minimum)):
            change = m * (cut(new, 0.0) - cut(old, 0.0))
            largest = float(np.abs(change).max())  # float32 has no room for tiny numbers
            if largest > 0.0:
                self.sums[side] += largest * ((change / largest).astype(lines.dtype) @ lines)
        self.a[rows] = new

    def check(self) -> None:
        """Improve the bounds by the present variables."""
        problem, bounds = self.problem, self.bounds
        n, scale = problem.n, self.scale()
        a, sums = scale * self.a, self.sums * (scale / (problem.alpha * n))
        v, z = problem.weights * a / n, sums[0] + sums[1]
        if problem.bias == "free":
            self.b = certificates.middle_bias(
                problem, z, certificates.best_bias(problem, z, self.b)
            )
        half = 0.5 * float(v @ z)
        primal = half + certificates.mean_loss(problem, z, self.b)
        if primal <= bounds.upper + ROUNDING * abs(primal):  # of equal ones the last is the best
            bounds.upper = math.inf
            bounds.primal(primal, v / problem.alpha, self.b)
        if problem.bias == "free":  # the dual variables must have the sum 0
            up, down = float(v[v > 0.0].sum()), -float(v[v < 0.0].sum())
            factors = np.array([min(1.0, down / up) if up > 0.0 else 1.0,
                                min(1.0, up / down) if down > 0.0 else 1.0])  # fmt: skip
            shrink = np.where(v > 0.0, factors[0], factors[1])
            a, v = shrink * a, shrink * v
            half = 0.5 * float(v @ (factors @ sums))
        inside = certificates.clipped(problem, a)
        if not np.allclose(inside, a, rtol=1e-12, atol=1e-12):
            return  # beyond rounding: these are no dual variables
        dual = -half - certificates.mean_conjugate(problem, inside)
        if dual > bounds.lower:
            bounds.dual(dual, v)


class Options(TypedDict, total=False):
    """What the solvers hand on to `visit_all`; see `kernel_svm`."""

    alpha: Required[float]
    bias: Required[str]
    limits: Required[Limits]
    seed: int | np.random.Generator | None
    callback: Callback | None
    stop: threading.Event | None


def visit_all(
    kind: type[KernelVisits],
    table: KernelRows,
    targets: Vector,
    weights: Vector,
    *,
    loss: Loss,
    alpha: float,
    bias: str,
    limits: Limits,
    seed: int | np.random.Generator | None = None,
    callback: Callback | None = None,
    stop: threading.Event | None = None,
) -> list[Result]:
    """Train m machines on the same rows, one after the other, each with its part of the time."""
    open_table(table, limits)
    rng = np.random.default_rng(seed)
    results: list[Result] = []
    began, before = time.perf_counter(), Reads()  # the first answers for the lengths of all rows
    for at, (y, m) in enumerate(zip(targets, weights, strict=True)):
        problem = Problem(
            rows=table.rows, y=np.ascontiguousarray(y), weights=np.ascontiguousarray(m), loss=loss,
            regularizer=regularizers.resolve(2.0, None), alpha=alpha, bias=bias,
        )  # fmt: skip
        left = None
        if limits.max_seconds is not None:
            spent = time.perf_counter() - began
            left = max(limits.max_seconds - spent, 0.0) / (len(targets) - at)
        machine = kind(table, problem)
        results.append(machine.run(limits, left, rng, before, callback, stop))
        before = table.reads
    return results
