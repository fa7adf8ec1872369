r"""Dual coordinate ascent on several problems of the same rows, side by side.

Problems:  for k = 1 .. K,  min over w, b of
           alpha/2 ||w||^2 + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_ik),

as one against the rest has them. What takes the time of a visit is to bring a row from the memory
and, if it is sparse, the weights of its columns. With the weights of all problems side by side, a
visit to row i makes the step of `dual` for each of them while the row is at hand:

    z_k = <w_k, x_i> + b_k,    a_ik <- dual_step(a_ik, z_k, h_i, y_ik)    for all k.

An epoch for twenty classes so takes as long as six for one. A check needs the responses of all rows
to all weights, which are one pass, too.

Problems leave when their gap is reached. Rows are put aside when no problem moves them. What is
left of a problem may be few rows, others for each: when all of them alone are less work than those
of any, the problems go their own ways, each with the state it has (`Lane` is a `DualAscent`).

What is read for all is counted once: the k-th of K problems is charged with every K-th row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.certificates import Dual
from skimlearn.data.rows import part_of_visits, stored, vectors
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Status
from skimlearn.solvers._orders import Orders
from skimlearn.solvers._run import CHUNK, Order, Run, Start, Vector
from skimlearn.solvers._side_by_side import add_gaps, ascend, combine, respond
from skimlearn.solvers.dual import DualAscent, Settings

__all__ = ["begin", "groups"]

MOST = 30_000_000  # weights and dual variables of all problems
LANES = 32  # problems: more gain little
WORTH = 0.6  # of the work of single visits: what takes more is not worth it


def groups(problems: Sequence[Problem], budget: Budget) -> list[slice]:
    """Which problems may be solved side by side, of some that have their rows in common."""
    one, count = problems[0], len(problems)
    alike = all(p.weights is one.weights and p.loss == one.loss for p in problems)
    if not alike or not isinstance(one.regularizer, SquaredL2) or budget.reads is not None:
        return []
    most = max(1, min(LANES, MOST // (one.n + one.d)))
    edges = np.linspace(0, count, -(-count // most) + 1).astype(int).tolist()
    pays = part_of_visits(one.rows, count * most // max(count, most)) <= WORTH
    return [slice(low, high) for low, high in pairwise(edges)] if pays else []


def begin(
    runs: Sequence[Run],
    starts: Sequence[Start | None],
    *,
    epochs: int | None = None,
    seconds: float | None = None,
) -> None:
    """Let all runs have their first epochs together; each is left with its method.

    The runs are of problems that differ in their targets alone. What has a status is at its end;
    `Run.work` goes on with the others, if they are to have more epochs, and completes all answers.
    """
    together = _Together(runs, starts, seconds)
    most = math.inf if epochs is None else epochs
    try:
        while together.runs and together.passes < most and not together.are_better_alone():
            together.epoch()
    except KeyboardInterrupt:
        if runs[0].stop is not None:
            runs[0].stop.set()
        together.end(Status.INTERRUPTED)
    together.part()


class Lane(DualAscent):
    """Dual ascent on one of the problems, with what is at hand of it while all are together."""

    z: Vector | None = None  # the responses to the answer
    theta_of_a: Vector | None = None  # the dual vector of the feasible variables
    alone = False  # whether it goes on by itself

    def choose(self, left: Order, rng: np.random.Generator) -> None:
        if self.alone:
            super().choose(left, rng)

    def look(self) -> None:
        if self.alone:
            super().look()

    def responses(self) -> Vector | None:
        return self.z

    def certified(self, a: Vector) -> Dual:
        if self.theta_of_a is None:
            return super().certified(a)
        return certificates.dual(self.problem, a, self.theta_of_a)


class _Together:
    """The problems that are not solved yet, and their state, side by side."""

    def __init__(
        self, runs: Sequence[Run], starts: Sequence[Start | None], seconds: float | None
    ) -> None:
        self.began = self.clock = time.perf_counter()
        self.seconds = seconds
        self.runs = list(runs)
        self.lanes: list[Lane] = []
        for run, start in zip(runs, starts, strict=True):
            lane = Lane(run.problem, run.ledger, Settings(), start)
            self.lanes.append(lane)
            lane.h = self.lanes[0].h  # rows and weights are the same for all
            run.enter(lane)
        one = self.lanes[0]
        self.rows, self.weights, self.bias = one.problem.rows, one.problem.weights, one.problem.bias
        self.begun = any(start is not None for start in starts)  # whether not all is zero
        self.left = one.rows_left  # by any of the problems
        self.passes = 0
        self.checked = True  # whether there was no visit since the last check
        self.rng, self.orders = runs[0].rng, Orders(one.problem.n, runs[0].rng)
        self._lay()

    def _lay(self) -> None:
        """Lay the state of the lanes side by side."""
        n, count = len(self.weights), len(self.lanes)
        theta, a, y = vectors(self.rows, count), np.zeros((n, count)), np.empty((n, count))
        moved, offset = np.ones((n, count), dtype=np.bool_), np.empty(count)
        for k, lane in enumerate(self.lanes):
            y[:, k], offset[k] = lane.problem.y, lane.offset[0]
            if self.begun:
                theta[k], a[:, k], moved[:, k] = lane.theta, lane.a, lane.moved
            lane.theta = lane.phi = theta[k]
            lane.offset = offset[k : k + 1]
        self.theta, self.y, self.a, self.moved, self.offset = theta, y, a, moved, offset

    def epoch(self) -> None:
        """A pass over the rows that any problem moves, and perhaps a check."""
        one = self.runs[0]
        order = one.runs.arranged(self.orders.shuffled(self.left, self.rng), self.rng)
        order = order[: one.most_visits - one.visits]
        if not len(order):
            self.end(Status.EPOCHS)
            return
        self._begin_pass()
        if (status := self._visit(order)) is not None:
            self.end(status)
            return
        self.left = self.left[self.moved[self.left].any(axis=1)]
        self.begun = True
        self.passes += 1
        self._guess()
        due = sum(run.is_due() for run in self.runs)
        if 2 * due >= len(self.runs) or not len(self.left):
            self._check()
        self._share_time()
        told = [run.status is None and run.is_told_to_stop() for run in self.runs]
        if any(told) and not self.checked:
            self._check()
        for run, stops in zip(self.runs, told, strict=True):
            if stops and run.status is None:
                run.status = Status.STOPPED
        self._let_go()

    def _begin_pass(self) -> None:
        """Choose the rows that will tell of the gaps: the same for all problems."""
        for lane in self.lanes:
            lane.begin_pass(self.left, self.rng)
        first = self.lanes[0]
        DualAscent.choose(first, self.left, self.rng)
        for lane in self.lanes:
            lane.since, lane.samples, lane.shares = first.since, first.samples, first.shares

    def _guess(self) -> None:
        """Guess the gaps from these rows."""
        lanes, count = self.lanes, len(self.lanes)
        if lanes[0].samples is None:
            return
        sample, _ = lanes[0].samples
        centre = np.array([lane.centre for lane in lanes])
        gaps, values = np.zeros(count), np.zeros(count)
        add_gaps(
            self.rows, self.y, self.weights, lanes[0].problem.loss, sample, lanes[0].stretch(),
            centre, self.a, self.theta, self.offset, np.empty(count), gaps, values,
        )  # fmt: skip
        self._certify(sample)
        for lane, *found in zip(lanes, gaps.tolist(), values.tolist(), strict=True):
            lane.take((found[0], found[1]))

    def _visit(self, order: NDArray[Any]) -> Status | None:
        """Visit rows in chunks, with a look at the clock after each."""
        one, lanes, count = self.runs[0], self.lanes, len(self.lanes)
        problem, status = one.problem, None
        centre = np.array([lane.centre for lane in lanes])
        z, change = np.empty(count), np.empty(count)
        mean = max(1.0, one.ledger.total / problem.n)
        chunk = max(1, int(CHUNK / (mean * part_of_visits(self.rows, count) * count)))
        for first in range(0, len(order), chunk):
            part = order[first : first + chunk]
            one.runs.ask_for(part)
            self.checked = False
            ascend(
                self.rows, self.y, self.weights, problem.loss, problem.alpha, lanes[0].bias_square,
                centre, part, lanes[0].seen, lanes[0].h, self.a, self.moved, self.theta,
                self.offset, z, change,
            )  # fmt: skip
            seen = min(lanes[0].seen + len(part), float(problem.n))
            for k, (run, lane) in enumerate(zip(self.runs, lanes, strict=True)):
                lane.seen = seen
                run.visits += len(part)
                run.ledger.visit(part[k::count])
            if one.stop is not None and one.stop.is_set():
                status = Status.INTERRUPTED
            elif self.seconds is not None and time.perf_counter() - self.began >= self.seconds:
                status = Status.SECONDS
            if status is not None:
                break
        return status

    def _check(self) -> None:
        """Certify the present answers: one pass for the responses of all."""
        lanes, count = self.lanes, len(self.lanes)
        z = np.empty(self.a.shape)
        respond(self.rows, self.theta, lanes[0].stretch(), z)
        self._certify(np.arange(len(z)))
        self._hand_back()
        for k, lane in enumerate(lanes):
            lane.z = np.ascontiguousarray(z[:, k])
        if self.bias == "free" or any(lane.close for lane in lanes):
            for k, lane in enumerate(lanes):
                z[:, k] = certificates.feasible(lane.problem, lane.a)
            theta = vectors(self.rows, count)
            scale = 1.0 / (lanes[0].problem.alpha * len(z))
            combine(self.rows, z, self.weights, scale, np.empty(count), theta)
            self._certify(np.flatnonzero((z != 0.0).any(axis=1) & (self.weights > 0.0)))
            for k, lane in enumerate(lanes):
                lane.theta_of_a = theta[k]
        self._share_time()
        left = np.zeros(len(z), dtype=np.bool_)
        for run, lane in zip(self.runs, lanes, strict=True):
            run.resume(None)
            run.status = run.judge()
            run.pause()
            lane.z = lane.theta_of_a = None
            if run.status is None:
                left[lane.rows_left] = True
        self.clock = time.perf_counter()
        self.left = np.flatnonzero(left).astype(self.left.dtype)
        self.moved[:], self.checked = True, True

    def _certify(self, chosen: NDArray[Any]) -> None:
        """Count rows that were read for a certificate of all."""
        for k, run in enumerate(self.runs):
            run.ledger.certify(stored(self.rows, chosen[k :: len(self.runs)]))

    def _share_time(self) -> None:
        """Share out the time since this was done last."""
        now = time.perf_counter()
        for run in self.runs:
            run.spent += (now - self.clock) / len(self.runs)
        self.clock = now

    def _hand_back(self) -> None:
        """Give the lanes what lies side by side of it."""
        for k, lane in enumerate(self.lanes):
            lane.a = np.ascontiguousarray(self.a[:, k])
            lane.moved = np.ascontiguousarray(self.moved[:, k])

    def are_better_alone(self) -> bool:
        """Whether the rows that are left of each are less work than those of any, for all."""
        alone, count = sum(len(lane.rows_left) for lane in self.lanes), len(self.lanes)
        together = part_of_visits(self.rows, count) * count * len(self.left)
        return count == 1 or (self.checked and alone < together)

    def end(self, status: Status) -> None:
        """Certify what there is, for whatever reason it ends."""
        if not self.checked:
            self._check()
        for run in self.runs:
            run.status = run.status or status
        self._let_go()

    def _let_go(self) -> None:
        """Leave the runs that have a status: all of them have just been checked."""
        on = [k for k, run in enumerate(self.runs) if run.status is None]
        if len(on) < len(self.runs):
            self.runs, self.lanes = [self.runs[k] for k in on], [self.lanes[k] for k in on]
            if self.runs:
                self._lay()

    def part(self) -> None:
        """Give those that go on what is their own."""
        self._share_time()
        self._hand_back()
        for lane in self.lanes:
            lane.theta = lane.phi = np.array(lane.theta)
            lane.offset = lane.offset.copy()
            lane.alone = True
