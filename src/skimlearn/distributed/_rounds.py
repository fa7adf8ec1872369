"""The loop over rounds: budget, checks, the best answer, interruption, checkpoints.

Values that partitions have computed stay on their workers; what Dask would need to compute them
again is every round since the client last had them. So the client takes them from time to time
(`dump`) and gives them anew (`restore`): after so many rounds that the vectors of these are longer
than they are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skimlearn import certificates
from skimlearn.data.ledger import Reads
from skimlearn.distributed._certify import Answer
from skimlearn.distributed._checkpoint import Checkpoint
from skimlearn.distributed._pieces import Spec
from skimlearn.distributed._team import Cluster, Team
from skimlearn.problem import make_problem
from skimlearn.result import Budget, Certificate, Record, Result, Status

__all__ = ["Round", "settled", "solve"]

FEWEST, MOST = 8, 32  # rounds between two times that the client has everything


@dataclass(frozen=True)
class Round(Record):
    """One line of the history of a cluster.

    Attributes
    ----------
    rounds : int
        Rounds so far.
    moved : int
        Bytes that were sent so far, about: vectors to every worker, and from every partition.
    """

    rounds: int
    moved: int

    @property
    def note(self) -> str:
        """What the progress line says of it."""
        return f"round {self.rounds}  moved {self.moved / 1e6:,.1f} MB"


def solve(
    team: Team,
    method: Any,
    budget: Budget,
    *,
    entries: int,
    callback: Callable[[Record], Any] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Let a method go round until the budget is used up; return the best answer."""
    return _Loop(team, method, budget, entries, callback, checkpoint).run()


def settled(spec: Spec) -> Result:
    """The answer if all rows have the same target and the bias is free: none needs to be read."""
    began = time.perf_counter()
    assert spec.constant is not None
    problem = make_problem([[0.0]], [spec.constant], loss=spec.loss, alpha=spec.alpha)
    primal, dual = certificates.at_zero(problem)
    bias = certificates.middle_bias(problem, np.zeros(1), primal.b)
    record = Round(0.0, 0.0, 0, primal.value, dual.value, rounds=0, moved=0)
    return Result(
        x=np.zeros(spec.d), bias=bias, p=np.zeros(spec.n),
        certificate=Certificate(primal.value, dual.value), reads=Reads(),
        seconds=time.perf_counter() - began, epochs=0.0, status=Status.CONVERGED,
        history=[record], solver="none",
    )  # fmt: skip


class _Loop:
    def __init__(
        self, team: Team, method: Any, budget: Budget, entries: int, callback: Any, checkpoint: Any
    ) -> None:
        self.team, self.method, self.budget, self.entries = team, method, budget, entries
        self.callback, self.checkpoint = callback, checkpoint
        self.began = time.perf_counter()
        self.spec: Spec = method.spec
        self.history: list[Record] = []
        self.checks = 0
        self.best: Answer | None = None  # by its primal value
        self.bound: tuple[Answer, Any] | None = None  # by its dual value, with the states then
        self.every = int(min(max(4 * self.spec.n / self.spec.d, FEWEST), MOST))

    def run(self) -> Result:
        status = None
        if self.checkpoint is not None and self.checkpoint.resumes:
            self.method.restore(
                self.checkpoint.read(self.spec, self.team.count, self.method.numbers)
            )
        self._check()
        try:
            if self._is_exact():
                status = Status.STALLED if self.budget.gap is None else Status.CONVERGED
            while status is None:
                self.team.settle()
                self.method.advance()
                if self.method.rounds % self.every == 0:
                    self._keep()
                self._check()
                status = self._status()
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        assert status is not None
        if self.checkpoint is not None and status is not Status.INTERRUPTED:
            self.checkpoint.write(self.spec, self.team.count, self.method.dump())
        return self._result(status)

    def _keep(self) -> None:
        if isinstance(self.team, Cluster) or self.checkpoint is not None:
            arrays = self.method.dump()
            if self.checkpoint is not None:
                self.checkpoint.write(self.spec, self.team.count, arrays)
            self.method.restore(arrays)

    def _check(self) -> None:
        answer = self.method.check()
        self.checks += 1
        if self.best is None or answer.primal <= self.best.primal:
            self.best = answer
        if self.bound is None or answer.dual > self.bound[0].dual:
            self.bound = (answer, self.method.states)
        self.history.append(self._record())

    def _certificate(self) -> Certificate:
        assert self.best is not None
        assert self.bound is not None
        return Certificate(self.best.primal, self.bound[0].dual)

    def _record(self) -> Round:
        certificate = self._certificate()
        return Round(
            epoch=self.method.visits / self.spec.n,
            seconds=time.perf_counter() - self.began,
            reads=self.method.reads,
            primal=certificate.primal,
            dual=certificate.dual,
            rounds=self.method.rounds,
            moved=self.method.moved,
        )

    def _status(self) -> Status | None:
        budget, certificate = self.budget, self._certificate()
        method, spec = self.method, self.spec
        if budget.gap is not None and certificate.relative_gap <= budget.gap:
            return Status.CONVERGED
        if self._is_exact():
            return Status.STALLED if budget.gap is None else Status.CONVERGED
        if certificate.gap <= 1e-13 * abs(certificate.primal):
            return Status.STALLED
        if budget.epochs is not None and method.visits / spec.n + method.epochs > budget.epochs:
            return Status.EPOCHS
        if budget.reads is not None and method.reads + self.entries > budget.reads:
            return Status.READS
        if budget.seconds is not None and time.perf_counter() - self.began >= budget.seconds:
            return Status.SECONDS
        if self.callback is not None and self.callback(self.history[-1]):
            return Status.STOPPED
        return None

    def _is_exact(self) -> bool:
        """Whether the gap is less than what the rounding of predictions makes, or none."""
        gap = self._certificate().gap
        return gap <= 0.0 or gap < self.spec.rounding

    def _result(self, status: Status) -> Result:
        assert self.best is not None
        assert self.bound is not None
        answer, states = self.bound
        try:
            variables = self.method.variables(states, answer)
        except KeyboardInterrupt:  # they could not be had any more
            variables = np.full(self.spec.n, math.nan)
        reads = self.method.reads
        return Result(
            x=self.best.w,
            bias=self.best.b,
            p=variables,
            certificate=self._certificate(),
            reads=Reads(
                self.method.visits * self.spec.d,
                reads,
                self.checks * self.entries,
            ),
            seconds=time.perf_counter() - self.began,
            epochs=self.method.visits / self.spec.n,
            status=status,
            history=self.history,
            solver=self.method.name,
        )
