"""The frame of the exact kernel solvers: rounds of `KernelPrograms` until all bounds meet.

A subclass turns the gradients of a program into bounds (`judge`) and says how near they must be
(`target`); `KernelRun` adds what all of them share: limits, histories, callbacks, Ctrl-C. The
programs are solved side by side and share what they read: each result has its part of it.
"""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.result import Certificate, Record, Result, Status
from skimlearn.solvers._kernel_qp import KernelPrograms
from skimlearn.solvers._limits import Bounds, Limits

__all__ = ["KernelRun", "open_table"]

Vector = NDArray[np.float64]
Callback = Callable[[Record], Any]
FEW = 0.03  # of the members: with no more new ones, it is time to look at all rows
LONG = 20  # rounds after which it is time in any case: with little memory, members come and go
SMALL = 500  # rows for which the last digits are looked for
PATIENCE = 6  # looks without progress before rounding is blamed


def open_table(table: KernelRows, limits: Limits) -> None:
    """Set the limit of reads; an error if not even the norms of the rows may be read."""
    if limits.max_reads is not None and limits.max_reads < table.entries:
        raise ValueError(
            f"max_reads={limits.max_reads!r} is too small: a kernel needs the norms of all rows, "
            f"which are {table.entries} entries; allow more, or leave it None"
        )
    table.limit = math.inf if limits.max_reads is None else limits.max_reads


class KernelRun(ABC):
    """One run of m programs on one kernel matrix."""

    name = "working-set"

    def __init__(self, table: KernelRows, programs: KernelPrograms, *, maximize: bool = False):
        self.table, self.programs = table, programs
        count = len(programs.v)
        self.bounds = [Bounds(maximize) for _ in range(count)]
        self.histories: list[list[Record]] = [[] for _ in range(count)]
        self.rounds = 0

    @abstractmethod
    def judge(self, k: int) -> None:
        """Improve the bounds of program k by its v and g."""

    @abstractmethod
    def target(self, certificate: Certificate) -> float:
        """The gap at which a program is solved."""

    def run(
        self,
        limits: Limits,
        callback: Callback | None = None,
        stop: threading.Event | None = None,
    ) -> list[Result]:
        """Go on until all bounds meet or a limit is reached."""
        self.began = time.perf_counter()
        open_table(self.table, limits)
        status, programs, idle, least, looked = None, self.programs, 0, math.inf, 0
        try:
            programs.look()  # the zero answer costs nothing
            if self._check(callback):
                status = Status.STOPPED
                programs.active[:] = False
            if programs.active.any():
                programs.begin()
                self._round()
                programs.look()
            while programs.active.any() and status is None:
                status = self._spent(limits, stop)
                if status:
                    programs.look()
                if programs.whole:
                    if self._check(callback):
                        status = Status.STOPPED
                    gap = sum(bound.certificate.gap for bound in self.bounds)
                    idle = 0 if gap < least else idle + 1
                    least = min(gap, least)
                    if status or not programs.active.any():
                        break
                    looked = self.rounds
                new = programs.extend()
                few = new <= FEW * len(programs.members) or self.rounds - looked >= LONG
                if not programs.whole and few:
                    if new:
                        self._round()
                    programs.look()
                    continue
                whole = programs.whole
                programs.part()
                moved = self._round()
                if whole and ((not moved and new == 0) or idle >= PATIENCE):
                    programs.look()
                    self._check(callback)
                    status = Status.STALLED
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        except ReadLimit:
            status = Status.READS
        seconds = time.perf_counter() - self.began
        return [self._result(k, status or Status.STALLED, seconds) for k in range(len(self.bounds))]

    def _round(self) -> bool:
        self.rounds += 1
        return self.programs.solve()

    def _spent(self, limits: Limits, stop: threading.Event | None) -> Status | None:
        most = math.inf if limits.max_seconds is None else limits.max_seconds
        if time.perf_counter() - self.began >= most:
            return Status.SECONDS
        if limits.max_steps is not None and self.rounds >= limits.max_steps:
            return Status.STEPS
        return Status.STOPPED if stop is not None and stop.is_set() else None

    def _check(self, callback: Callback | None) -> bool:
        """Certify the active programs; True if the callback asks to stop."""
        asked = False
        for k in np.flatnonzero(self.programs.active).tolist():
            self.judge(k)
            certificate = self.bounds[k].certificate
            seconds = time.perf_counter() - self.began
            record = Record(
                self.rounds, seconds, self.table.reads.nnz, certificate.primal, certificate.dual
            )
            self.histories[k].append(record)
            if certificate.gap <= self.target(certificate) and not self._goes_on(k):
                self.programs.active[k] = False
            asked |= callback is not None and bool(callback(record))
        return asked

    def _goes_on(self, k: int) -> bool:
        """Whether to go on to the last digits, which costs nothing if there are few rows."""
        size = 1.0 + float(np.abs(self.programs.g[k]).max())
        return self.table.n <= SMALL and bool(self.programs.violation[k] > 1e-12 * size)

    def _result(self, k: int, status: Status, seconds: float) -> Result:
        count, reads, bound = len(self.bounds), self.table.reads, self.bounds[k]
        share = [value // count + (value % count if k == 0 else 0)
                 for value in (reads.dense, reads.nnz, reads.certificate)]  # fmt: skip
        n, d = self.table.n, self.table.d
        closed = bound.certificate.gap <= self.target(bound.certificate)
        return Result(
            x=np.zeros(n) if bound.x is None else bound.x,
            bias=bound.bias,
            p=np.zeros(n) if bound.p is None else bound.p,
            certificate=bound.certificate,
            reads=Reads(*share),
            seconds=seconds / count,
            epochs=share[0] / (n * d),
            status=Status.CONVERGED if closed else status,
            history=self.histories[k],
            solver=self.name,
        )
