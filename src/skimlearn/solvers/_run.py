"""The loop that all solvers share: epochs, budget, checks, the best answer, interruption.

A solver is a `Method` (`_method`, used through this module): it visits rows in a given order, and
says on demand what its answer is. `Run` does the rest. Everything that decides the answer depends
on counts, never on the clock, so that a seed gives the same answer on any machine (unless a limit
in seconds cuts the run).
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from skimlearn import certificates
from skimlearn.certificates import Primal
from skimlearn.data.disk import Runs
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import responses
from skimlearn.formulas.losses import Loss
from skimlearn.problem import Problem
from skimlearn.result import Budget, Certificate, Record, Result, Status
from skimlearn.solvers._method import Method, Order, Vector, row_lengths, row_squares

__all__ = [
    "Callback",
    "Method",
    "Options",
    "Order",
    "Run",
    "Start",
    "Vector",
    "rounding",
    "row_lengths",
    "row_squares",
]

Callback = Callable[[Record], Any]

CHUNK = 4_000_000  # stored entries visited between two looks at the clock: about 10 ms
NOTHING = np.zeros(0)  # in the place of a vector that is not kept
MOST_IDLE = 50  # epochs without a visit before a run is given up


@dataclass(frozen=True)
class Start:
    """Where a run begins: weights and bias and, if known, dual variables of the same rows."""

    w: Vector
    b: float = 0.0
    a: Vector | None = None


class Options(TypedDict, total=False):
    """What every ``solve`` hands on to its `Run`; see `choose.solve`."""

    seed: int | np.random.Generator | None
    start: Start | None
    callback: Callback | None
    stop: threading.Event | None


class Run:
    """One or more methods at work on a problem, within one budget; the best answer is kept.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> from skimlearn.solvers import dual
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> run = Run(problem, Budget(gap=1e-6, epochs=100), seed=0)
    >>> run.stage(dual.DualAscent(problem, run.ledger, dual.Settings())).result().status.name
    'CONVERGED'
    """

    def __init__(
        self,
        problem: Problem,
        budget: Budget,
        *,
        seed: int | np.random.Generator | None = None,
        start: Start | None = None,
        callback: Callback | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        self.began: float | None = time.perf_counter()  # None while the clock stands still
        self.spent = 0.0  # seconds, then
        self.problem, self.budget = problem, budget
        self.start, self.callback, self.stop = start, callback, stop
        self.rng = np.random.default_rng(seed)
        self.ledger = Ledger(problem.rows, math.inf if budget.reads is None else budget.reads)
        self.runs = Runs(problem.rows)
        self.visits = 0
        epochs = math.inf if budget.epochs is None else budget.epochs
        self.most_visits = int(min(epochs * problem.n, 2**62))
        self.idle = 0  # epochs in a row that had nothing to read
        self.history: list[Record] = []
        self.reads_at_last_check = 0
        self.status: Status | None = None
        self.solver = ""
        # the first answers cost no reads: zero weights, and zero dual variables
        self.answer, self.dual = certificates.at_zero(problem)
        self.rounding = _rounding(problem)
        if start is not None:
            if start.w.shape != (problem.d,):
                raise ValueError(
                    f"the start has {len(start.w)} weights, but X has {problem.d} columns"
                )
            self._consider(start.w, start.b)

    def stage(self, method: Method, *, epochs: int | None = None) -> Run:
        """Let a method work until the budget is used up, or for some epochs of a longer run."""
        self.enter(method)
        return self.work(epochs)

    def enter(self, method: Method) -> None:
        """Make a method the present one."""
        self.method = method
        self.solver = method.name if not self.solver else f"{self.solver}+{method.name}"

    def pause(self) -> None:
        """Stop the clock."""
        self.spent, self.began = self._seconds(), None

    def resume(self, seconds: float | None) -> None:
        """Let the clock go on after a pause; if the time is limited, so much is left."""
        self.began = time.perf_counter() - self.spent
        if seconds is not None:
            self.budget = replace(self.budget, seconds=self.spent + seconds)

    def work(self, epochs: int | None = None) -> Run:
        """Let the present method work to its end."""
        method = self.method
        last_visit = self.visits + epochs * self.problem.n if epochs is not None else None
        try:
            while self.status is None and (last_visit is None or self.visits < last_visit):
                self.status = Status.STALLED if self._is_exact() else self._epoch()
                if method.finished:
                    break
        except KeyboardInterrupt:
            self.status = Status.INTERRUPTED
        if not self.history or self.history[-1].reads < self.ledger.reads.nnz:
            self._check()
        self._complete()
        if self.status is None and self.visits >= self.most_visits:
            self.status = Status.EPOCHS
        if self._reached():
            self.status = Status.CONVERGED
        del self.method  # its vectors make room for those of the next
        return self

    def result(self) -> Result:
        """The best answer so far."""
        bias = self.answer.b
        if self.problem.bias == "free":
            bias = certificates.middle_bias(self.problem, self.answer.z, bias)
        return Result(
            x=self.answer.w,
            bias=bias,
            p=self.dual.a,
            certificate=self.certificate,
            reads=self.ledger.reads,
            seconds=self._seconds(),
            epochs=self.visits / self.problem.n,
            status=self.status or Status.STALLED,
            history=self.history,
            solver=self.solver,
        )

    @property
    def certificate(self) -> Certificate:
        return Certificate(self.answer.value, self.dual.value)

    def _epoch(self) -> Status | None:
        """One pass over the rows; a status if the run is over."""
        if self.visits >= self.most_visits:
            return Status.EPOCHS
        order = self.method.order(self.rng)
        if not self.method.whole:
            order = self.runs.arranged(order, self.rng)
        free = self.ledger.total == 0 and self.budget.reads is not None  # no reads would end it
        self.idle = self.idle + 1 if free or not len(order) else 0
        if self.idle > MOST_IDLE:
            return Status.STALLED
        status = self._visit(order)
        del order  # a check needs its room
        if status is not None:
            return status
        if self.is_due() and (status := self.judge()) is not None:
            return status
        return Status.STOPPED if self.is_told_to_stop() else None

    def judge(self) -> Status | None:
        """Check; a status if the run is over."""
        before = self.certificate.gap
        self._check()
        if self._reached() and not self.method.thorough:
            return Status.CONVERGED
        return Status.STALLED if self._stalled(before) else None

    def is_due(self) -> bool:
        """Whether the method wants to be checked; it is told what the run is to reach."""
        if self.budget.gap is not None:
            self.method.tol = self.budget.gap
            self.method.goal = self.budget.gap * abs(self.answer.value)
        return self.method.due(self.visits / self.problem.n, self.reads_at_last_check)

    def is_told_to_stop(self) -> bool:
        """Whether the callback says so."""
        return self.callback is not None and bool(self.callback(self._record()))

    def _visit(self, order: Order) -> Status | None:
        """Visit rows in chunks, with a look at the clock after each."""
        status = None
        order = order[: self.most_visits - self.visits]
        allowed = self.ledger.affordable(order)
        if len(allowed) < len(order):
            order, status = allowed, Status.READS
        mean = max(1.0, self.ledger.total / self.problem.n)
        k = self.method.batch_size
        chunk = len(order) if self.method.whole else k * max(1, int(CHUNK / (k * mean)))
        for begin in range(0, len(order), chunk):
            part = order[begin : begin + chunk]
            if not self.method.whole:
                self.runs.ask_for(part)
            self.method.visit(part)
            if not self.method.whole:
                self.ledger.visit(part)
            self.visits += len(part)
            if self.stop is not None and self.stop.is_set():
                return Status.INTERRUPTED
            if self.budget.seconds is not None and self._seconds() >= self.budget.seconds:
                return Status.SECONDS
        return status

    def _check(self) -> None:
        """Certify the present answer; keep it if it is the best."""
        w, b = self.method.answer()
        if np.isfinite(w).all():
            answer = self._consider(w, b, self.method.responses())
            bound = self.method.bound(answer)
            if bound.value > self.dual.value:
                self.dual = bound._replace(theta=NOTHING)  # nobody asks for it again
            self.method.checked(answer, self.certificate)
        self.history.append(self._record())
        self.reads_at_last_check = self.ledger.reads.dense

    def _consider(self, w: Vector, b: float, z: Vector | None = None) -> Primal:
        self.answer = self.answer._replace(z=NOTHING)  # room for the new ones
        answer = certificates.primal(self.problem, w, b, z)
        if z is None:
            self.ledger.certify(self.ledger.total)
        if answer.value <= self.answer.value:
            self.answer = answer
        return answer

    def _complete(self) -> None:
        """Give the best answer its responses, if another was looked at last, and its vectors."""
        w, z = np.ascontiguousarray(self.answer.w), np.ascontiguousarray(self.answer.z)
        if not len(z):
            z = np.empty(self.problem.n)
            responses(self.problem.rows, w, z)
            self.ledger.certify(self.ledger.total)
        self.answer = self.answer._replace(w=w, z=z)
        self.dual = self.dual._replace(a=np.ascontiguousarray(self.dual.a))

    def _reached(self) -> bool:
        target, certificate = self.budget.gap, self.certificate
        if target is None:
            return False
        return certificate.relative_gap <= target or self._is_exact()

    def _is_exact(self) -> bool:
        """Whether the gap is less than what the rounding of predictions makes."""
        return self.certificate.gap < self.rounding

    def _stalled(self, before: float) -> bool:
        """Whether the gap is at the level of rounding and no longer falls."""
        certificate = self.certificate
        return certificate.gap <= 1e-13 * abs(certificate.primal) and certificate.gap >= before

    def _seconds(self) -> float:
        return self.spent if self.began is None else time.perf_counter() - self.began

    def _record(self) -> Record:
        return Record(
            epoch=self.visits / self.problem.n,
            seconds=self._seconds(),
            reads=self.ledger.reads.nnz,
            primal=self.answer.value,
            dual=self.dual.value if math.isfinite(self.dual.value) else -math.inf,
        )


def _rounding(problem: Problem) -> float:
    if problem.loss.labels:
        return 0.0
    far = float(problem.weights @ np.abs(problem.y)) / problem.n
    return rounding(problem.loss, far)


def rounding(loss: Loss, far: float) -> float:
    """What the rounding of predictions costs: an optimum of zero has no relative gap.

    ``far`` is the mean of the absolute targets.
    """
    if loss.labels:
        return 0.0  # with two classes and a positive alpha the optimum is not zero
    return max(0.0, float(loss.value(far * (1.0 + 2.0**-50), far)) - float(loss.value(far, far)))
