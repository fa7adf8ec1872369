"""A run of `primal_dual`: both players, the weights, and the best bounds so far."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.result import Record, Result, Status
from skimlearn.solvers._limits import Bounds, Limits
from skimlearn.solvers.players import LowRegret, Sampler

__all__ = ["Meeting"]

Vector = NDArray[np.float64]

CHECK = 256  # steps before the first check of the bounds; the later ones are further apart


class Meeting:
    """Both players, the weights, and the best bounds so far."""

    def __init__(
        self,
        lra: LowRegret,
        sampler: Sampler,
        n: int,
        rng: np.random.Generator,
        planned: int | None,
        product: bool,
        evaluate: Callable[[Vector], float] | None,
        dual: Callable[[Vector], float] | None,
    ) -> None:
        self.lra, self.sampler, self.rng = lra, sampler, rng
        self.planned, self.product = planned, product
        self.evaluate, self.dual = evaluate, dual
        self.bounds = Bounds(maximize=True)
        self.history: list[Record] = []
        self.before = (lra.reads, sampler.reads)
        self.scores, self.work = np.zeros(n), np.zeros(n)  # log-weights, up to the rate
        self.counts = np.zeros(n)
        self.tally = np.zeros(1, dtype=np.int64)
        self.x = _checked("lra.start", lra.start(rng), None)
        self.total = np.zeros_like(self.x)

    @property
    def steps(self) -> int:
        return int(self.tally[0])

    @property
    def reads(self) -> Reads:
        now = self.lra.reads + self.sampler.reads
        then = self.before[0] + self.before[1]
        return Reads(now.dense - then.dense, now.nnz - then.nnz, now.certificate - then.certificate)

    def until(self, limits: Limits) -> Result:
        began, status, goal = time.perf_counter(), None, CHECK
        while status is None:
            try:
                status = self.advance(goal, limits, began)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            try:
                self.check(in_order=status is not Status.INTERRUPTED)
            except ReadLimit:
                status = Status.READS
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            certificate = self.bounds.certificate
            if certificate.gap <= limits.eps:
                status = Status.CONVERGED
            seconds = time.perf_counter() - began
            self.history.append(
                Record(self.steps, seconds, self.reads.nnz, certificate.primal, certificate.dual)
            )
            goal = self.steps + max(CHECK, self.steps // 8)
        return self.result(status, seconds)

    def advance(self, goal: int, limits: Limits, began: float) -> Status | None:
        """Go on to so many steps; why it ended before, or there for good."""
        while True:
            ends = (
                (self.steps, self.planned, Status.PLANNED),
                (self.steps, limits.max_steps, Status.STEPS),
                (time.perf_counter() - began, limits.max_seconds, Status.SECONDS),
            )
            for value, end, status in ends:
                if end is not None and value >= end:
                    return status
            if self.steps >= goal:
                return None
            try:
                self.step(math.inf if limits.max_reads is None else limits.max_reads)
            except ReadLimit:
                return Status.READS

    def step(self, max_reads: float) -> None:
        n, rng = len(self.scores), self.rng
        rate = min(0.5, math.sqrt(math.log(max(n, 2)) / (self.planned or self.steps + 1)))
        self.sampler.left = max_reads - self.reads.nnz
        v = _checked("sampler.sample", self.sampler.sample(self.x, rng), (n,))
        i = int(_draw(self.scores, 1.0 if self.product else rate, rng.random(), self.work))
        scaled = rate / self.sampler.scale
        _commit(
            self.scores, v, scaled, rate, self.product,
            self.counts, i, self.x, self.total, self.tally,
        )  # fmt: skip
        self.lra.left = max_reads - self.reads.nnz
        self.x = _checked("lra.update", self.lra.update(i), self.total.shape)

    def check(self, in_order: bool) -> None:
        """Improve the bounds; a player that was interrupted may be in disorder and is not asked."""
        if self.steps == 0:
            return
        free = self.lra.dual() if in_order else None
        if free is not None:
            self.bounds.dual(*free)
        if self.dual is not None:
            p = self.counts / self.steps
            self.bounds.dual(_number("dual(p)", self.dual(p)), p)
        if self.evaluate is not None:
            x = self.total / self.steps
            self.bounds.primal(_number("evaluate(x)", self.evaluate(x)), x)

    def result(self, status: Status, seconds: float) -> Result:
        best, n = self.bounds, len(self.counts)
        x, p = self.x, np.full(n, 1.0 / n)
        if self.steps > 0:
            x, p = self.total / self.steps, self.counts / self.steps
        return Result(
            x=x if best.x is None else best.x,
            bias=0.0,
            p=p if best.p is None else best.p,
            certificate=best.certificate,
            reads=self.reads,
            seconds=seconds,
            epochs=self.reads.dense / (n * len(x)),
            status=status,
            history=self.history,
            solver="primal_dual",
        )


def _checked(name: str, given: Vector, shape: tuple[int, ...] | None) -> Vector:
    """A vector that a player gave."""
    vector = np.asarray(given, dtype=np.float64)
    if vector.ndim != 1 or (shape is not None and vector.shape != shape):
        wanted = "(d,)" if shape is None else shape
        raise ValueError(f"{name} gave an array of shape {vector.shape} instead of {wanted}")
    if not np.isfinite(vector).all():
        at = int(np.argmin(np.isfinite(vector)))
        raise ValueError(f"{name} gave {vector[at]} at position {at}: all numbers must be finite")
    return vector


def _number(name: str, given: float) -> float:
    value = float(given)
    if math.isnan(value):
        raise ValueError(f"{name} gave nan, which bounds nothing")
    return value


@kernel
def _draw(scores, factor, u, work):
    """Draw i in proportion to exp(factor * score); ``work`` is scratch of the same length."""
    top = -np.inf
    for i in range(len(scores)):
        top = max(top, scores[i])
    total = 0.0
    for i in range(len(scores)):
        work[i] = math.exp(factor * (scores[i] - top))
        total += work[i]
    rest, chosen = u * total, 0
    for i in range(len(scores)):
        if work[i] > 0.0:
            chosen = i
            if rest < work[i]:
                break
        rest -= work[i]
    return chosen


@kernel
def _commit(scores, v, scaled, rate, product, counts, i, x, total, tally):
    """All that a step changes here, in one piece that Ctrl-C cannot part."""
    for k in range(len(scores)):
        z = min(1.0, max(-1.0, scaled * v[k]))  # rate * clip(v / scale, 1 / rate)
        if product:
            scores[k] += math.log1p(z * z - z)
        else:
            scores[k] -= z / rate
    for j in range(len(total)):
        total[j] += x[j]
    counts[i] += 1.0
    tally[0] += 1
