r"""Iterated parameter mixing: partitions learn alone, and the mean of them is the next start.

Problem:  min over w, b of  alpha r(w) + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i), its
rows in K partitions.

A round. Every partition begins at (w, b) and makes some epochs of stochastic steps on its own rows:
averaged SGD ("asgd", p = 2) or PGS ("pgs", every p), with steps that go on getting smaller over the
rounds. The next (w, b) is the mean of the answers, weighted by the numbers of rows; what is
certified is the mean over the rounds since the last doubling. See McDonald, Hall and Mann,
"Distributed training strategies for the structured perceptron" (2010), and Zinkevich, Weimer, Smola
and Li, "Parallelized stochastic gradient descent" (2010).

It is near the optimum after few rounds and then hardly moves: for a proven gap take CoCoA+.

The bound. With a smooth loss the dual variables are minus the slopes at the answer, else the means
of minus the slopes that the visits saw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.ledger import Ledger
from skimlearn.distributed._certify import Answer, Biases, Query, asked, certify, judged, slopes
from skimlearn.distributed._parcel import Parcel
from skimlearn.distributed._pieces import Former, Piece, Spec
from skimlearn.distributed._team import summed
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.solvers import choose
from skimlearn.solvers._run import Start

__all__ = ["Mixing"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Lesson:
    """What a round gives to all partitions."""

    number: int
    seed: int
    w: Vector
    b: float
    kind: str
    epochs: int
    warm: bool  # whether the first round begins at (w, b), too


def learn(piece: Piece, pair: Any, *, spec: Spec, lesson: Lesson) -> tuple[Vector, Parcel]:
    """One round on one partition: minus the mean slopes of its rows, and its share of the mean."""
    problem = replace(piece.problem(spec), alpha=spec.alpha)
    n = problem.n
    method: Any
    method, settings = choose.stream_method(lesson.kind, None, None)
    rng = np.random.default_rng([lesson.seed, lesson.number, piece.number])
    ledger = Ledger(problem.rows)
    steps = method(problem, ledger, settings, rng)
    if lesson.number > 0 or lesson.warm:
        settings = replace(settings, t0=steps.t0 + lesson.number * lesson.epochs * n)
        steps = method(problem, ledger, settings, rng, Start(lesson.w, lesson.b))
    for _ in range(lesson.epochs):
        order = steps.order(rng)
        steps.visit(order)
        ledger.visit(order)
    w, b = steps.answer()
    pulls = steps.pulls * (n / max(1, steps.steps * steps.batch_size))
    before: Vector | None = pair[0]
    if before is not None:  # later rounds count more
        pulls = before + (pulls - before) * (2.0 / (lesson.number + 2.0))
    share = n / spec.n
    return pulls, Parcel.of(share * w, [share * b, ledger.reads.nnz])


def nothing(piece: Piece, a: Vector | None = None) -> tuple[Vector | None, None]:
    """A partition before its first round, or with the slopes it had."""
    return a, None


def pulled(piece: Piece, pair: Any, *, spec: Spec) -> Vector:
    """The dual variables of a state."""
    problem = piece.problem(spec)
    return certificates.clipped(problem, np.zeros(piece.n) if pair[0] is None else pair[0])


def weighed(piece: Piece, a: Vector, *, spec: Spec) -> tuple[None, Parcel]:
    """The sums of the positive variables, and of all."""
    weighted = a * piece.problem(spec).weights
    return None, Parcel.of(None, [float(weighted[a > 0.0].sum()), float(weighted.sum())])


def examine(piece: Piece, a: Vector, *, spec: Spec, query: Query, w: Vector) -> tuple[None, Parcel]:
    """What a partition says about an answer, and its part of theta."""
    return None, certify(piece, a, spec=spec, query=query, w=w, theta=None)


class Mixing:
    """Iterated parameter mixing in progress."""

    numbers = 8  # that a checkpoint has beside the vectors

    def __init__(
        self, team: Any, spec: Spec, seed: int, *, kind: str, epochs: int,
        start: Former | None = None,
    ) -> None:  # fmt: skip
        if kind == "asgd" and not isinstance(spec.regularizer, SquaredL2):
            raise ValueError("solver='asgd' has p=2 and no radius: use solver='pgs' or 'auto'")
        self.name = f"mixing {kind}"
        self.team, self.spec, self.seed, self.epochs, self.kind = team, spec, seed, epochs, kind
        self.warm = start is not None
        former = start or Former(np.zeros(spec.d), 0.0, None)
        self.w, self.b = former.w, former.b
        parts: list[Any] = former.parts or [None] * team.count
        self.states = team.each("begin", nothing, parts)
        self.mean, self.counted, self.until = self.w, 0, 1
        self.rounds = self.reads = self.visits = self.moved = 0
        self.biases = Biases(spec.bias)
        self.smooth = math.isfinite(spec.loss.curvature())
        self.last: list[Any] = []  # the variables of the last check

    def advance(self) -> None:
        """One round."""
        team, spec = self.team, self.spec
        about = (self.kind, self.epochs, self.warm)
        lesson = Lesson(self.rounds, self.seed, self.w, self.b, *about)
        shared = team.share("lesson", lesson)
        self.states = team.each("learn", learn, self.states, spec=spec, lesson=shared)
        parcel = team.total(self.states)
        self.w, (self.b, reads) = parcel.vector.copy(), parcel.numbers.tolist()
        if self.rounds >= self.until:  # the first rounds are forgotten
            self.mean, self.counted, self.until = np.zeros(spec.d), 0, 2 * self.until
        self.counted += 1
        self.mean = self.mean + (self.w - self.mean) / self.counted
        self.rounds += 1
        self.reads += int(reads)
        self.visits += self.epochs * spec.n
        self.moved += parcel.moved + team.workers * self.w.nbytes

    def check(self) -> Answer:
        """The certificate of the present answer."""
        team, spec = self.team, self.spec
        w, shared = self.mean, team.share("answer", self.mean)
        if self.smooth and (self.rounds or self.warm):
            a = team.each("slopes", slopes, spec=spec, w=shared, b=self.b)
        else:
            a = team.each("pulled", pulled, self.states, spec=spec)
        pairs = team.fetch(team.each("weigh", weighed, a, spec=spec))
        up, total = summed([pair[1] for pair in pairs]).numbers.tolist()
        query = asked(spec, self.b, (up, total), self.biases, True)
        found = team.each("certify", examine, a, spec=spec, query=query, w=shared)
        parcel = team.total(found, light=True)
        answer = judged(spec, w, parcel.vector, query, parcel, self.biases)
        self.b = answer.b
        self.last = a
        self.moved += parcel.moved + team.workers * w.nbytes
        return answer

    def variables(self, states: list[Any], answer: Answer) -> Vector:
        """The balanced dual variables of the last check."""
        a = np.concatenate(self.team.fetch(self.last))
        return np.asarray(a * np.where(a > 0.0, answer.up, answer.down))

    def dump(self) -> dict[str, NDArray[Any]]:
        """All of the state, as arrays."""
        pairs = self.team.fetch(self.team.each("snapshot", _pulls, self.states))
        arrays: dict[str, NDArray[Any]] = {f"a.{k}": a for k, a in enumerate(pairs)}
        arrays |= {"theta": self.w, "mean": self.mean}
        arrays["numbers"] = np.array(
            [self.b, self.counted, self.until, self.rounds, self.reads, self.visits,
             self.moved, self.biases.width]
        )  # fmt: skip
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take up what `dump` gave."""
        self.w, self.mean = arrays["theta"], arrays["mean"]
        self.b, *counts, self.biases.width = arrays["numbers"].tolist()
        self.counted, self.until, self.rounds, self.reads, self.visits, self.moved = map(
            int, counts
        )
        parts = [arrays[f"a.{k}"] for k in range(self.team.count)]
        self.states = self.team.each("begin", nothing, parts)


def _pulls(piece: Piece, pair: Any) -> Vector:
    return pair[0]
