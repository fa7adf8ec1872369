r"""Pegasos with a kernel: a visit asks for one response, and a step costs one row of the matrix.

Problem: that of `kernel_svm`. Algorithm: rows are visited in a fresh random order each epoch. In
visit t a row whose margin y_i (h(x_i) + b) is below 1, with

    h = 1 / (alpha (t - 1)) sum_j m_j c_j y_j k(x_j, .),      c_j = how often row j was so before,

has its count c_i raised. The sums of all rows are kept up to date by a row of the kernel matrix for
each raise; rows that are asked for again are kept, the last used of them.

After E epochs v_i = y_i m_i c_i / (E n) are dual variables, and h is the function of them: the
certificate is free. A free bias is solved for exactly at each check and stays in between; for the
dual side the class with the larger sum of v is scaled down.

See Shalev-Shwartz, Singer, Srebro and Cotter, "Pegasos: primal estimated sub-gradient solver for
SVM" (2011), section 4. c_j is the alpha of the paper, alpha its lambda.
"""

from __future__ import annotations

import math
import threading
import time

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.formulas import losses, regularizers
from skimlearn.problem import Problem
from skimlearn.result import Record, Result, Status
from skimlearn.solvers._kernel_run import Callback, open_table
from skimlearn.solvers._limits import Bounds, Limits
from skimlearn.solvers.kernel_svm import judged

__all__ = ["kernel_pegasos"]

Vector = NDArray[np.float64]
GROWTH = 1.3  # a check follows when the epochs have grown by this factor


def kernel_pegasos(
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
    """Train m machines on the same rows, one after the other.

    The parameters and the results are those of `kernel_svm`; ``limits.max_steps`` counts visits of
    one machine.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Gaussian
    >>> table = KernelRows(as_rows([[0.0], [1.0], [2.0]]), Gaussian())
    >>> result = kernel_pegasos(
    ...     table,
    ...     np.array([[1.0, -1.0, 1.0]]),
    ...     np.ones((1, 3)),
    ...     alpha=0.1,
    ...     bias="none",
    ...     limits=Limits(eps=0.05, max_steps=3000),
    ...     seed=0,
    ... )[0]
    >>> result.status.name
    'CONVERGED'
    """
    open_table(table, limits)
    rng = np.random.default_rng(seed)
    results: list[Result] = []
    began, before = time.perf_counter(), Reads()
    for at, (y, m) in enumerate(zip(targets, weights, strict=True)):
        problem = Problem(
            rows=table.rows, y=y, weights=np.ascontiguousarray(m), loss=losses.Hinge(),
            regularizer=regularizers.resolve(2.0, None), alpha=alpha, bias=bias,
        )  # fmt: skip
        run = _Pegasos(table, problem)
        left = None
        if limits.max_seconds is not None:
            spent = time.perf_counter() - began
            left = max(limits.max_seconds - spent, 0.0) / (len(targets) - at)
        results.append(run.run(limits, left, rng, before, callback, stop))
        before = table.reads
    return results


class _Pegasos:
    def __init__(self, table: KernelRows, problem: Problem) -> None:
        self.table, self.problem = table, problem
        self.counts = np.zeros(problem.n)
        self.sums = np.zeros((2, problem.n))  # of the kernel, by the class that added to them
        self.b, self.steps, self.epochs = 0.0, 0, 0
        self.bounds = Bounds()
        self.history: list[Record] = []

    def run(
        self,
        limits: Limits,
        seconds: float | None,
        rng: np.random.Generator,
        before: Reads,
        callback: Callback | None,
        stop: threading.Event | None,
    ) -> Result:
        began, n = time.perf_counter(), self.problem.n
        most = math.inf if limits.max_steps is None else limits.max_steps
        status, due = None, 1.0
        self._check()
        while status is None:
            try:
                self.epochs += 1
                order = rng.permutation(n)[: int(min(n, most - self.steps))]
                self._visit(order)
            except ReadLimit:
                status = Status.READS
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            passed = time.perf_counter() - began
            if self.steps >= most:
                status = status or Status.STEPS
            elif seconds is not None and passed >= seconds:
                status = status or Status.SECONDS
            elif stop is not None and stop.is_set():
                status = status or Status.STOPPED
            if status is None and self.epochs < due:
                continue
            due = max(self.epochs + 1.0, GROWTH * self.epochs)
            self._check()
            certificate = self.bounds.certificate
            record = Record(
                self.steps, passed, self.table.reads.nnz, certificate.primal, certificate.dual
            )
            self.history.append(record)
            if certificate.relative_gap <= limits.eps:
                status = Status.CONVERGED
            if callback is not None and callback(record):
                status = status or Status.STOPPED
        reads = self.table.reads
        mine = Reads(
            reads.dense - before.dense, reads.nnz - before.nnz,
            reads.certificate - before.certificate,
        )  # fmt: skip
        return self.bounds.result(
            status, (np.zeros(n), 0.0, np.zeros(n)),
            _Spent(mine, time.perf_counter() - began, self.history), (n, self.table.d),
        )  # fmt: skip

    def _visit(self, order: NDArray[np.int64]) -> None:
        problem, alpha = self.problem, self.problem.alpha
        for i in order.tolist():
            y = problem.y[i]
            z = (self.sums[0, i] + self.sums[1, i]) / (alpha * self.steps) if self.steps else 0.0
            if problem.weights[i] > 0.0 and y * (z + self.b) < 1.0:
                row = self.table.row(i)
                self.sums[0 if y > 0.0 else 1] += (y * problem.weights[i]) * row
                self.counts[i] += 1.0
            self.steps += 1

    def _check(self) -> None:
        problem = self.problem
        scale = 1.0 / (max(self.epochs, 1) * problem.n)
        v = scale * self.counts * problem.y * problem.weights
        sums = self.sums * (scale / problem.alpha)
        primal, dual, self.b = judged(problem, v, sums[0] + sums[1], self.b)
        if primal < self.bounds.upper:
            self.bounds.primal(primal, v / problem.alpha, self.b)
        if problem.bias == "free":  # the dual variables must have the sum 0
            up, down = float(v[v > 0.0].sum()), -float(v[v < 0.0].sum())
            factors = np.array([min(1.0, down / up) if up > 0.0 else 1.0,
                                min(1.0, up / down) if down > 0.0 else 1.0])  # fmt: skip
            v = v * np.where(problem.y > 0.0, factors[0], factors[1])
            dual = float(v @ problem.y) - 0.5 * float(v @ (factors @ sums))
        if dual > self.bounds.lower:
            self.bounds.dual(dual, v)


class _Spent:
    name = "pegasos"

    def __init__(self, reads: Reads, seconds: float, history: list[Record]) -> None:
        self.reads, self.seconds, self.history = reads, seconds, history
