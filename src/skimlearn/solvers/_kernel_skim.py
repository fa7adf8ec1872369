r"""The frame of the sublinear kernel solvers: a row is drawn, all responses are known or estimated.

The primal vector is a sum of features of drawn rows, s = sum of F(x_i), which no computer can hold.
What a step needs of it is its product with the features of all rows, and there are two ways:

estimates
    draw one of the rows of s by its weight, and estimate its kernel with all rows from a few
    entries of each (`sampling.kernel_values`). The size of s enters the variance: a step
    that stands for factor * s needs factor^2 |s|^2 draws to be as good as with linear features.
exact rows
    keep the products, and add a row of the kernel matrix for each row that joins s. A row that is
    kept in memory costs nothing.

Runs begin with estimates, if the kernel has any, and change to exact rows, once and for all, when a
step would read more entries than that. `share` says which part of the steps was estimated.
Noisy rows are never added up: their errors would not average out.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import as_matrix
from skimlearn.data.kernel_rows import KernelRows
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.result import Record, Result, Status
from skimlearn.sampling.kernel_values import KernelEstimator
from skimlearn.solvers._kernel_run import Callback, open_table
from skimlearn.solvers._limits import Bounds, Limits

__all__ = ["RESPONSES", "KernelSkim"]

Vector = NDArray[np.float64]
RESPONSES = ("auto", "estimates", "exact")
FIRST, GROWTH = 32, 1.5  # steps of the first check, and by which factor they grow


class KernelSkim(ABC):
    """One run of a sublinear algorithm on one kernel matrix.

    ``counts`` says how often, or with which weight, each row is in s, ``signs`` with which sign;
    ``products`` are those of s with the (signed) features of all rows, if they are exact.
    """

    name = "kernel-skim"

    def __init__(
        self,
        table: KernelRows,
        signs: Vector,
        rng: np.random.Generator,
        responses: str,
        *,
        maximize: bool,
    ) -> None:
        if responses not in RESPONSES:
            raise ValueError(f"responses={responses!r} must be one of {RESPONSES}")
        self.table, self.signs, self.rng, self.responses = table, signs, rng, responses
        self.bounds = Bounds(maximize)
        self.estimator: KernelEstimator | None = None
        if responses != "exact":
            if KernelEstimator.can(table.kernel):
                matrix: Any = as_matrix(table.given)
                self.estimator = KernelEstimator(matrix, table.kernel, table.squares)
            elif responses == "estimates":
                raise ValueError(
                    f"responses='estimates' can't be had for kernel={table.kernel!r}: use 'exact'"
                )
        self.counts = np.zeros(table.n)
        self.added: list[int] = []  # the rows of s, in their order
        self.heights: list[float] = []  # the sums of their weights
        self.products: Vector | None = None if self.estimator else np.zeros(table.n)
        self.square = 0.0  # ||s||^2
        self.steps = self.estimated = 0
        self.history: list[Record] = []
        self.seconds = 0.0

    @abstractmethod
    def step(self) -> None:
        """Draw a row, update both sides."""

    @abstractmethod
    def check(self) -> None:
        """Improve the bounds by exact values of the kernel."""

    def target(self, eps: float) -> float:
        """The gap at which the problem is solved."""
        return eps

    # ---------------------------------------------------------------------------------- responses

    def respond(self, factor: float) -> Vector:
        """factor * <s, F(x_i)>, signed, exactly or estimated, for all rows."""
        if not self.added:
            return np.zeros(self.table.n)
        if self.products is None and self._too_dear(factor):
            self._know()
        if self.products is not None:
            return factor * self.products
        assert self.estimator is not None
        draws, total = self._draws(factor), np.zeros(self.table.n)
        picks = np.searchsorted(self.heights, self.rng.random(draws) * self.heights[-1], "right")
        for at in picks.tolist():
            i = self.added[at]
            total += self.signs[i] * self._draw(i)
        self.estimated += 1
        return total * (self.signs * (factor * self.heights[-1] / draws))

    def _draw(self, i: int) -> Vector:
        """An estimate of row i of the kernel matrix; what it reads is counted."""
        table, estimator = self.table, self.estimator
        assert estimator is not None
        stored, columns = estimator.stored, estimator.columns
        estimator.limit = stored + table.limit - table.reads.nnz
        try:
            return estimator.draw(i, self.rng)
        finally:  # the row may have been read, and its columns not
            if estimator.stored > stored:
                dense = table.d + (estimator.columns - columns) * table.n
                table.reads += Reads(dense, estimator.stored - stored)

    def _draws(self, factor: float) -> int:
        most = (factor * self.heights[-1]) ** 2 * float(self.table.diagonal.max())
        return math.ceil(max(1.0, most))

    def _too_dear(self, factor: float) -> bool:
        """Whether an estimate of this step would read more than a row of the kernel matrix."""
        if self.responses == "estimates":
            return False
        assert self.estimator is not None
        square = float(self.table.squares[self.added[-1]])
        columns = self._draws(factor) * self.estimator.expected_columns(square)
        return columns * self.estimator.sizes.mean() >= self.price() * self.table.entries

    def price(self) -> float:
        """How many rows of the kernel matrix a step of exact responses needs."""
        return 1.0

    def _know(self) -> None:
        """Compute the products of s with all rows; they are exact from now on."""
        used = np.flatnonzero(self.counts)
        weights = (self.counts * self.signs)[None, used]
        self.products = self.signs * self.table.weighted(weights, used)[0]

    def add(self, i: int, weight: float = 1.0) -> None:
        """Let row i join s, with a weight."""
        if self.products is None:
            used = np.flatnonzero(self.counts)
            inner = 0.0
            if len(used):
                values = self.table.among(np.array([i]), used)[0].astype(np.float64)
                inner = float(self.signs[i] * (values @ (self.counts * self.signs)[used]))
        else:
            inner = float(self.products[i])
            self.products += (weight * self.signs[i] * self.signs) * self.table.row(i)
        own = weight * weight * float(self.table.diagonal[i])
        self.square = max(self.square + 2.0 * weight * inner + own, 0.0)
        self.counts[i] += weight
        self.heights.append((self.heights[-1] if self.heights else 0.0) + weight)
        self.added.append(i)

    def exactly(self, coefficients: Vector) -> Vector:
        """<sum_i a_i F(x_i), F(x_j)> for rows of coefficients a; counted for the certificate."""
        used = np.flatnonzero(coefficients.any(axis=0))
        before = self.table.reads
        limit, self.table.limit = self.table.limit, math.inf
        try:
            sums = self.table.weighted(coefficients[:, used], used)
        finally:
            self.table.limit = limit
        more = self.table.reads.nnz - before.nnz
        self.table.reads = before + Reads(certificate=more)
        return sums

    # ----------------------------------------------------------------------------------- the loop

    def run(self, limits: Limits, callback: Callback | None = None) -> Result:
        """Step until the bounds meet or a limit is reached."""
        open_table(self.table, limits)
        began, status, due = time.perf_counter(), None, FIRST
        most = math.inf if limits.max_steps is None else limits.max_steps
        seconds = math.inf if limits.max_seconds is None else limits.max_seconds
        while status is None:
            try:
                while self.steps < min(due, most) and time.perf_counter() - began < seconds:
                    self.step()
                    self.steps += 1
            except ReadLimit:
                status = Status.READS
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            if self.steps >= most:
                status = status or Status.STEPS
            due = math.ceil(GROWTH * self.steps)
            if status is not Status.INTERRUPTED:
                self.check()
            self.seconds = time.perf_counter() - began
            if self.seconds >= seconds:
                status = status or Status.SECONDS
            certificate = self.bounds.certificate
            if certificate.gap <= self.target(limits.eps):
                status = Status.CONVERGED
            record = Record(
                self.steps, self.seconds, self.table.reads.nnz, certificate.primal,
                certificate.dual,
            )  # fmt: skip
            self.history.append(record)
            if callback is not None and callback(record):
                status = status or Status.STOPPED
        zeros = np.zeros(self.table.n)
        self.name = f"{self.name} ({self._way()})"
        return self.bounds.result(status, (zeros, 0.0, zeros), self, self.table.rows.shape)

    @property
    def reads(self) -> Reads:
        """Entries read so far."""
        return self.table.reads

    def _way(self) -> str:
        """How the responses were had, for the result."""
        if self.estimated == 0:
            return "exact rows"
        if self.products is None:
            return "estimates"
        return f"estimates for {self.estimated} steps, then exact rows"
