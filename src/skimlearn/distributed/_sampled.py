r"""Rounds that read some rows and columns only, the rows on a cluster: what three problems share.

Problem: min over x of max over the rows i of g_i(x) (see `extremes`).

Every partition keeps the weights of its rows, the client the sum s of the rows drawn. A round, with
x made of s and m draws of each kind:

    client       draws m columns j by its law over them, and for each of m rows the partition, by
                 its mass
    partitions   draw their rows by their weights p;  v_i estimates g_i(x) from the columns drawn
                 p_i is multiplied by 1 - z + z^2, z_i = clip(-eta v_i), eta = sqrt(m log n / t)
                 answer with the sum of the rows drawn and with their new mass
    client       adds the mean of the rows to s

So m columns and m rows are read in a round, which moves m rows, m numbers of columns and K masses:
since masses come with the answers, the client knows from where the next rows are, and no partition
sends a row that is not used. See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine
learning" (2010), whose algorithms these are, with batches.

One bound is that of the rows drawn, which is free. The other takes a pass over all rows, after 16,
32, 64, ... rounds (corollary II.11), for the mean of x in all rounds and in their latter half.

Partitions with sparse rows are transposed by their workers, once, which is counted: their columns
can't be read otherwise. Weights are kept as logarithms, so neither end of their range matters.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import columns_of, entries_to_move
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Rows, combine, lengths, stored, take
from skimlearn.distributed._core_set import values_at
from skimlearn.distributed._parcel import Parcel, added
from skimlearn.distributed._pieces import Facts, Piece
from skimlearn.distributed._rounds import Round
from skimlearn.distributed._team import Team
from skimlearn.result import Record, Result, Status
from skimlearn.solvers._limits import Bounds, Limits

__all__ = ["Asked", "Sampled"]

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

FIRST = 16  # rounds before the first pass
CHAIN = 64  # rounds after which the client takes the weights, so that Dask may forget the past


class Side(NamedTuple):
    """What a partition has beside its rows."""

    columns: Rows
    signs: Vector  # that its rows are multiplied by
    heights: Vector  # a number of each row that needs no estimate


class Asked(NamedTuple):
    """The columns of a round, each once, and how z is made of them."""

    numbers: Numbers
    scales: Vector  # that their entries are multiplied by,
    height: float = 0.0  # the heights of the rows,
    shift: float = 0.0  # and what is added to all


class Answer(NamedTuple):
    """What a partition says in a round."""

    places: Numbers  # of the rows drawn
    rows: Parcel  # their sum, each with its sign, and that of their heights
    top: float  # the largest logarithm of a weight,
    mass: float  # and the sum of all weights in units of that one
    reads: Reads


def beside(piece: Piece, *, kind: str, origin: Vector | None) -> Side:
    """The columns of a partition, a view or for sparse rows the transpose, and the rest."""
    signs = np.ones(piece.n) if kind != "margin" or piece.y is None else piece.y
    heights = np.zeros(piece.n) if origin is None else values_at(piece, kind, origin)
    return Side(columns_of(piece.rows), signs, heights)


def transposed(piece: Piece) -> int:
    """How many entries must be transposed."""
    return entries_to_move(piece.rows)


def reweighed(piece: Piece, side: Side, logs: Vector, *, asked: Asked) -> Vector:
    """The logarithms of the weights after this round."""
    v = np.zeros(piece.n)
    combine(take(side.columns, asked.numbers), asked.scales, v)
    z = np.clip(side.signs * v + asked.height * side.heights + asked.shift, -1.0, 1.0)
    return logs + np.log1p(z * z - z)


def drawn(
    piece: Piece, side: Side, before: Vector, after: Vector, u: Vector, *, asked: Asked
) -> Answer:
    """Rows by the weights before this round, and the mass after it."""
    n, d = piece.rows.shape
    sums = np.cumsum(np.exp(before - before.max()))
    places = np.searchsorted(sums, u * sums[-1], side="right").clip(max=n - 1)
    chosen, counts = np.unique(places, return_counts=True)
    rows, vector = take(piece.rows, chosen), np.zeros(d)
    combine(rows, counts * side.signs[chosen], vector)
    parcel = Parcel.of(vector, [float(counts @ side.heights[chosen])])
    entries = stored(rows) + int(lengths(side.columns)[asked.numbers].sum())
    reads = Reads(len(chosen) * d + len(asked.numbers) * n, entries)
    top = float(after.max())
    return Answer(places, parcel, top, float(np.exp(after - top).sum()), reads)


def largest(piece: Piece, *, kind: str, candidates: Vector) -> Vector:
    """The largest g_i of each candidate."""
    return np.array([values_at(piece, kind, x).max() for x in candidates])


class Sampled(ABC):
    """One run: rounds, passes, and the best bounds so far. Problems derive from it.

    Attributes
    ----------
    s, heights, total : ndarray, float, ndarray
        Sums over the rounds: of the mean of the rows drawn, of their mean height, and of x.
    """

    name = "sampled"
    kind = ""
    sign = 1.0  # of the values that are shown: -1 if the problem is a maximum
    origin: Vector | None = None  # where heights are taken

    def __init__(
        self, team: Team, facts: list[Facts], *, draws: int, rng: np.random.Generator
    ) -> None:
        self.team, self.draws, self.rng = team, draws, rng
        self.began, self.seconds = time.perf_counter(), 0.0
        self.sizes = np.array([fact.n for fact in facts])
        self.firsts = np.cumsum(self.sizes) - self.sizes
        self.shape = int(self.sizes.sum()), facts[0].d
        self.entries = sum(fact.entries for fact in facts)
        moves = sum(team.fetch(team.each("measure", transposed)))
        self.reads = Reads(moves, moves)
        self.rounds, self.moved = 0, 0
        self.bounds = Bounds(maximize=self.sign < 0.0)
        self.unit = self.measure()  # of v
        self.sides = team.each("columns", beside, kind=self.kind, origin=self.origin)
        self.s = self.total = np.zeros(facts[0].d)
        self.heights = 0.0
        self.rows: list[Numbers] = []  # the numbers of those drawn in each round
        self.mark = (0, self.s, 0.0, self.total)  # where the latter half begins
        self.logs: list[Any] = [np.zeros(n) for n in self.sizes]
        self.masses = self.sizes.astype(float)
        self.history: list[Record] = []

    @abstractmethod
    def measure(self) -> float:
        """The unit of estimates, once all is known that must be before the first round."""

    @abstractmethod
    def point(self, t: int) -> Vector:
        """What x is in round t."""

    @abstractmethod
    def law(self, x: Vector) -> Vector:
        """By which columns are drawn; it need not add up to 1."""

    @abstractmethod
    def asked(self, x: Vector, numbers: Numbers, shares: Vector, eta: float) -> Asked:
        """How z is made of the columns drawn, ``shares`` of all draws each."""

    @abstractmethod
    def proven(self, mean: Vector, height: float) -> float:
        """The bound of a distribution, from its mean row and its mean height."""

    @abstractmethod
    def candidate(self, mean: Vector) -> Vector:
        """The answer that a mean of x stands for."""

    def reached(self, eps: float) -> bool:
        """Whether the bounds are as near as wanted."""
        return self.bounds.certificate.gap <= eps

    def run(self, limits: Limits) -> Result:
        """Go round until the bounds are as near as wanted, or a limit is reached."""
        status, goal, late = None, FIRST, False
        most = math.inf if limits.max_steps is None else max(1.0, limits.max_steps)
        latest = math.inf if limits.max_seconds is None else limits.max_seconds
        while status is None:
            try:
                self.round()
                late = time.perf_counter() - self.began >= latest
                if not (late or self.rounds >= min(goal, most)):
                    continue
                self.check()
            except KeyboardInterrupt:
                if self.rounds == 0:
                    raise
                self._free_bounds()
                status = Status.INTERRUPTED
            if self.reached(limits.eps):
                status = Status.CONVERGED
            elif status is None and (late or self.rounds >= most):
                status = Status.SECONDS if late else Status.STEPS
            self._note()
            goal = 2 * self.rounds
        fallback = (self.candidate(self.total / self.rounds), 0.0, np.zeros(0))
        return self.bounds.result(status, fallback, self, self.shape)

    def round(self) -> None:
        """Draw rows and columns, and let the weights follow."""
        u = self.rng.random((2, self.draws))
        t = self.rounds + 1
        x = self.point(t)
        asked = self._columns(x, u[1], t)
        shared = self.team.share("columns-drawn", asked)
        after = self.team.each("reweigh", reweighed, self.sides, self.logs, asked=shared)
        given = (self.sides, self.logs, after, self._parts(u[0]))
        answers = self.team.fetch(self.team.each("draw", drawn, *given, asked=shared))
        tops = np.array([answer.top for answer in answers])
        masses = np.exp(tops - tops.max()) * [answer.mass for answer in answers]
        numbers = [first + a.places for first, a in zip(self.firsts, answers, strict=True)]
        parcel = added([answer.rows for answer in answers])
        self.rows.append(np.concatenate(numbers))
        sums = (self.s + parcel.vector / self.draws, self.total + x)
        height = self.heights + float(parcel.numbers[0]) / self.draws
        reads = sum((answer.reads for answer in answers), self.reads)
        # Ctrl-C finds the state of this round or of the one before it, not a part of both
        state = (t, after, masses, *sums, height, reads)
        (
            self.rounds, self.logs, self.masses, self.s, self.total, self.heights, self.reads
        ) = state  # fmt: skip
        self.moved += parcel.moved + 16 * len(asked.numbers) * self.team.workers
        self.moved += 16 * self.draws + 16 * len(answers)  # numbers and places, masses
        if t % CHAIN == 0:
            self.logs = self.team.fetch(after)
            self.moved += 16 * self.shape[0]
            self.team.settle()

    def check(self) -> None:
        """Look at all rows, for what the means of x are worth."""
        self._free_bounds()
        start, total = self.mark[0], self.mark[3]
        means = [self.total / self.rounds]
        if start > 0:
            means.append((self.total - total) / (self.rounds - start))
        candidates = np.array([self.candidate(mean) for mean in means])
        for x, value in zip(candidates, self.looked_at(candidates), strict=True):
            self.bounds.primal(self.sign * float(value), x)
        self.mark = (self.rounds, self.s, self.heights, self.total)

    def looked_at(self, candidates: Vector) -> Vector:
        """The largest g_i of each candidate, from a pass over all rows."""
        shared = self.team.share("candidates", candidates)
        parts = self.team.each("largest", largest, kind=self.kind, candidates=shared)
        self.reads += Reads(certificate=self.entries)
        self.moved += candidates.nbytes * (self.team.workers + 1)
        return np.max(self.team.fetch(parts), axis=0)

    def _free_bounds(self) -> None:
        """The rows drawn, in all rounds and in the latter half, are distributions."""
        for start, s, heights in ((0, np.zeros_like(self.s), 0.0), self.mark[:3]):
            if start < self.rounds:
                count = self.rounds - start
                value = self.proven((self.s - s) / count, (self.heights - heights) / count)
                chosen = np.concatenate(self.rows[start : self.rounds])
                p = np.bincount(chosen, minlength=self.shape[0]) / len(chosen)
                self.bounds.dual(value, p)

    def _columns(self, x: Vector, u: Vector, t: int) -> Asked:
        """Draw columns; one that is drawn twice is read once."""
        eta = min(0.5, math.sqrt(self.draws * math.log(max(2, self.shape[0])) / t))
        law = self.law(x)
        sums = np.cumsum(law)
        if not sums[-1] > 0.0:  # x = 0: nothing needs to be estimated
            return self.asked(x, np.zeros(0, np.int64), np.zeros(0), eta)
        last = int(np.flatnonzero(law)[-1])
        chosen = np.searchsorted(sums, u * sums[-1], side="right").clip(max=last)
        numbers, counts = np.unique(chosen, return_counts=True)
        return self.asked(x, numbers, counts / self.draws, eta)

    def _parts(self, u: Vector) -> list[Vector]:
        """Deal numbers out to the partitions, by their masses; each gets what is left of its."""
        sums = np.cumsum(self.masses)
        at = u * sums[-1]
        last = int(np.flatnonzero(self.masses)[-1])
        owner = np.searchsorted(sums, at, side="right").clip(max=last)
        rest = (at - (sums - self.masses)[owner]) / self.masses[owner]
        return [rest[owner == k].clip(0.0, 1.0) for k in range(len(sums))]

    def _note(self) -> None:
        self.seconds = time.perf_counter() - self.began
        epoch = self.reads.dense / math.prod(self.shape)
        known = self.bounds.certificate
        now = (epoch, self.seconds, self.reads.nnz, known.primal, known.dual)
        self.history.append(Round(*now, rounds=self.rounds, moved=self.moved))
