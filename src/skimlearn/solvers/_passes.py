"""The frame of the deterministic solvers: passes over the data until the bounds meet.

A subclass implements `step` and improves ``bounds``; `Passes` adds what all of them share: limits,
a history, callbacks, Ctrl-C.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.ledger import Reads
from skimlearn.result import Record, Result, Status
from skimlearn.solvers._limits import Bounds, Limits
from skimlearn.solvers._skim import Callback

__all__ = ["Passes"]

Vector = NDArray[np.float64]


@dataclass
class Passes(ABC):
    """One run of a deterministic algorithm on a matrix of some shape."""

    name = "passes"

    shape: tuple[int, int]
    maximize: bool = False
    bounds: Bounds = field(init=False)

    def __post_init__(self) -> None:
        self.bounds = Bounds(self.maximize)
        self.steps = 0
        self.reads = Reads()
        self.history: list[Record] = []
        self.seconds = 0.0

    @abstractmethod
    def step(self, more_reads: float, more_steps: float) -> Status | None:
        """Take a step, or a few, within the limits; say so if no further one is possible."""

    @abstractmethod
    def fallback(self) -> tuple[Vector, float, Vector]:
        """x, bias and p of an answer without a proof."""

    def unit(self) -> float:
        """What eps is a multiple of."""
        return 1.0

    def run(self, limits: Limits, callback: Callback | None = None) -> Result:
        """Go on until the bounds meet or a limit is reached; may be called again for more."""
        began = time.perf_counter() - self.seconds
        most = [math.inf if v is None else float(v)
                for v in (limits.max_reads, limits.max_steps, limits.max_seconds)]  # fmt: skip
        status: Status | None = None
        while status is None:
            try:
                if self.steps >= most[1]:
                    status = Status.STEPS
                else:
                    status = self.step(most[0] - self.reads.nnz, most[1] - self.steps)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            self.seconds = time.perf_counter() - began
            certificate = self.bounds.certificate
            if certificate.gap <= limits.eps * self.unit():
                status = Status.CONVERGED
            elif status is None and self.seconds >= most[2]:
                status = Status.SECONDS
            record = Record(
                self.steps, self.seconds, self.reads.nnz, certificate.primal, certificate.dual
            )
            self.history.append(record)
            if callback is not None and callback(record) and status is None:
                status = Status.STOPPED
        return self.result(status)

    def result(self, status: Status) -> Result:
        """The best answer so far."""
        return self.bounds.result(status, self.fallback(), self, self.shape)
