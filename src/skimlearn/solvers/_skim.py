"""The frame of the sublinear solvers: steps that read single rows and columns.

An algorithm is a `Method`, a formula with five parts, and a named tuple of arrays, its state:

===============================  ===============================================================
``draw(state, u, picks)``        choose a row (``picks[0]``) and columns (``picks[1:]``), or -1
``column(state, columns, at, j)``  use column j, which is line ``at`` of ``columns``
``row(state, rows, at, i)``      use row i, which is line ``at`` of ``rows``
``finish(state)``                end the step
``extent(state, columns, at)``   how many entries of a column will be used: all, as a rule
===============================  ===============================================================

`draw` changes nothing. One compiled loop takes all steps on a matrix in memory or on disk; for an
`Oracle` the same parts are called one by one. The same seed makes the same steps on both, unless a
method asks for less of a matrix (`extent`). Several threads may take the parts of a method
together, if its state has a ``team``; they meet between two parts (see `sampling.team`).

`Skim` adds what all of them share: budgets, a history, the best bounds so far, Ctrl-C.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import Formula, kernel
from skimlearn.data.columns import Matrix
from skimlearn.data.disk import ask_for
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import Oracle, ReadLimit
from skimlearn.data.rows import Dense, size
from skimlearn.result import Record, Result, Status
from skimlearn.sampling.team import assemble, meet
from skimlearn.solvers._limits import Bounds, Limits
from skimlearn.solvers._source import Source
from skimlearn.solvers._threads import NEVER, take_together

__all__ = ["Callback", "Method", "Skim"]

Vector = NDArray[np.float64]
Callback = Callable[[Record], Any]

FIRST_CHUNK, LONGEST_CHUNK = 32, 4096  # steps between two looks at the clock

# positions in the tally: steps, entries read in the dense count, stored entries read
STEPS, DENSE, STORED = range(3)


class Method(Formula):
    """The parts of a step; see the head of this module. `width` uniform numbers go into one."""

    def draw(self, state, u, picks):
        raise NotImplementedError

    def column(self, state, columns, at, j):
        raise NotImplementedError

    def row(self, state, rows, at, i):
        raise NotImplementedError

    def finish(self, state):
        raise NotImplementedError

    def extent(self, state, columns, at):
        return np.int64(size(columns, at))


@dataclass
class Skim(ABC):
    """One run of a sublinear algorithm on one source of rows and columns.

    A subclass sets ``method`` and ``state`` and implements `check`, which turns the state into
    bounds, and `fallback`, which is the answer if no bound has one.
    """

    name = "skim"
    threads = 1  # that take a step together; more than one only if the state has a team

    source: Source
    rng: np.random.Generator
    maximize: bool = False
    bounds: Bounds = field(init=False)
    method: Any = field(init=False)
    state: Any = field(init=False)

    def __post_init__(self) -> None:
        self.bounds = Bounds(self.maximize)
        self.tally = np.zeros(3, dtype=np.int64)
        self.certified = 0  # entries read to certify
        self.history: list[Record] = []
        self.seconds = 0.0
        self.stalled = False  # whether rounding forbids any further progress
        self.goal = 0  # steps after which the next check is
        self.unused = np.empty((0, 0))  # uniform numbers of steps that were not taken

    @abstractmethod
    def check(self, last: bool) -> None:
        """Improve the bounds; ``last`` says that no step will follow."""

    @abstractmethod
    def fallback(self) -> tuple[Vector, float, Vector]:
        """x, bias and p of an answer without a proof."""

    def planned(self) -> float:
        """After how many steps the guarantee holds without any further proof."""
        return math.inf

    def closed(self, eps: float) -> bool:
        """Whether the bounds are as near to each other as was asked for."""
        return self.bounds.certificate.gap <= eps

    def certify(self, entries: int) -> None:
        """Count entries that were read to certify."""
        self.certified += entries

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(self.tally[STEPS])

    @property
    def reads(self) -> Reads:
        """Entries read so far."""
        return Reads(int(self.tally[DENSE]), int(self.tally[STORED]), self.certified)

    def run(self, limits: Limits, callback: Callback | None = None) -> Result:
        """Go on until the bounds meet or a limit is reached; may be called again for more."""
        began = time.perf_counter() - self.seconds
        status = None
        while status is None:
            if self.steps >= self.goal:
                self.goal = self.steps + min(max(FIRST_CHUNK, self.steps // 8), LONGEST_CHUNK)
            goal = self.goal
            for end in (limits.max_steps, self.planned()):
                goal = goal if end is None or end == math.inf else min(goal, math.ceil(end))
            spent = False
            try:
                spent = self.advance(goal, limits.max_reads)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            seconds = time.perf_counter() - began
            ends = (
                (self.steps >= self.planned(), Status.PLANNED),
                (spent, Status.READS),
                (seconds >= _or_inf(limits.max_seconds), Status.SECONDS),
                (self.steps >= _or_inf(limits.max_steps), Status.STEPS),
                (self.stalled, Status.STALLED),
            )
            status = status or next((s for reached, s in ends if reached), None)
            # Ctrl-C means now: nothing more is asked of the user's functions, not even for a proof
            asking: AbstractContextManager[None] = nullcontext()
            if status is Status.INTERRUPTED and isinstance(self.source, Oracle):
                asking = self.source.within(0.0)
            try:
                with asking:
                    self.check(status is not None)
            except ReadLimit:
                status = status if status is Status.INTERRUPTED else Status.READS
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            if self.closed(limits.eps):
                status = Status.CONVERGED
            self.seconds = time.perf_counter() - began
            certificate = self.bounds.certificate
            record = Record(
                self.steps, self.seconds, self.reads.nnz, certificate.primal, certificate.dual
            )
            self.history.append(record)
            if callback is not None and callback(record) and status is None:
                status = Status.STOPPED
        return self.result(status)

    def result(self, status: Status) -> Result:
        """The best answer so far."""
        return self.bounds.result(status, self.fallback(), self, self.source.shape)

    def advance(self, steps: int, max_reads: float | None) -> bool:
        """Go on to so many steps; True if the limit of reads ended it before."""
        limit = _or_inf(max_reads)
        if isinstance(self.source, Matrix):
            return self._advance_matrix(steps, limit)
        with self.source.within(limit - int(self.tally[STORED])):
            try:
                self._advance_oracle(self.source, steps)
            except ReadLimit:
                return True
        return False

    def _advance_matrix(self, steps: int, limit: float) -> bool:
        assert isinstance(self.source, Matrix)
        picks = np.empty(int(self.method.width), dtype=np.int64)
        ahead = self.source.ahead
        chunk = LONGEST_CHUNK if ahead == (None, None) else 1
        threads = self.threads if chunk > 1 else 1  # the disk is slower than one thread
        while (count := min(steps - self.steps, chunk)) > 0:
            if chunk == 1:  # on disk: `draw` changes nothing, so it can tell what will be read
                _draw(self.method, self.state, self._numbers(1)[0], picks)
                ask_for(ahead[0], picks[:1])
                ask_for(ahead[1], picks[1:])
            taken = take_together(
                _take_steps, threads, self.state, (picks, self.tally), self.method,
                self.source.rows, self.source.columns, self.source.shape, self._numbers(count),
                limit,
            )  # fmt: skip
            self.unused = self.unused[taken:]
            if taken < count:
                return True
        return False

    def _advance_oracle(self, oracle: Oracle, steps: int) -> None:
        picks = np.empty(int(self.method.width), dtype=np.int64)
        while self.steps < steps:
            _draw(self.method, self.state, self._numbers(1)[0], picks)
            before = oracle.reads
            try:  # all lines first: if one of them fails, the state is that before the step
                row = oracle.row(int(picks[0])) if picks[0] >= 0 else None
                lines = [oracle.column(int(j)) if j >= 0 else None for j in picks[1:]]
            finally:
                self.tally[DENSE:] += oracle.reads - before
            for j, line in zip(picks[1:], lines, strict=True):
                if line is not None:
                    _use_column(self.method, self.state, _alone(line), j)
            if row is not None:
                _use_row(self.method, self.state, _alone(row), picks[0])
            _finish(self.method, self.state)
            self.tally[STEPS] += 1
            self.unused = self.unused[1:]

    def _numbers(self, steps: int) -> NDArray[np.float64]:
        """Uniform numbers of the next steps; a step that could not be taken has the same again."""
        missing = steps - len(self.unused)
        if missing > 0:
            fresh = self.rng.random((missing, int(self.method.width)))
            self.unused = np.concatenate([self.unused, fresh]) if len(self.unused) else fresh
        return self.unused[:steps]


def _alone(line: Vector) -> Dense:
    return Dense(line.reshape(1, -1))


def _or_inf(value: float | None) -> float:
    return math.inf if value is None else float(value)


@kernel
def _take_steps(team, state, private, method, rows, columns, shape, u, limit):
    """One step for each line of u, ending before the limit of reads; return how many."""
    picks, tally = private
    if not assemble(team):
        return NEVER
    for k in range(len(u)):
        method.draw(state, u[k], picks)
        meet(team)
        dense, stored = 0, 0
        if picks[0] >= 0:
            dense += shape[1]
            stored += np.int64(size(rows, picks[0]))
        for b in range(1, len(picks)):
            if picks[b] >= 0:
                part = method.extent(state, columns, picks[b])
                stored += part
                dense += shape[0] if part == np.int64(size(columns, picks[b])) else part
        if tally[STORED] + stored > limit:
            return k
        for b in range(1, len(picks)):
            if picks[b] >= 0:
                method.column(state, columns, picks[b], picks[b])
                meet(team)
        if picks[0] >= 0:
            method.row(state, rows, picks[0], picks[0])
            meet(team)
        method.finish(state)
        meet(team)
        tally[STEPS] += 1
        tally[DENSE] += dense
        tally[STORED] += stored
    return len(u)


@kernel
def _draw(method, state, u, picks):
    method.draw(state, u, picks)


@kernel
def _use_column(method, state, columns, j):
    method.column(state, columns, 0, j)


@kernel
def _use_row(method, state, rows, i):
    method.row(state, rows, 0, i)


@kernel
def _finish(method, state):
    method.finish(state)
