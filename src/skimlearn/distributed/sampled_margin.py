r"""The greatest margin from sampled rows and columns, the rows on a cluster.

Problem, with a_i = y_i x_i:  max over ||x|| <= 1 of min_i <a_i, x>;  its dual: min of ||A'p||.

Every partition keeps the weights of its rows, the client the sum s of the rows drawn. A round, with
x = s / max(sqrt(2 t) R, ||s||), R the longest row, and m draws of each kind:

    client       draws m columns j ~ x_j^2, and for each of m rows the partition, by its mass
    partitions   draw their rows by their weights p;  v = mean of column j * ||x||^2 / (R x_j)
                 p_i is multiplied by 1 - z + z^2, z = clip(eta v_i), eta = sqrt(m log n / t)
                 answer with the sum of the rows drawn and with their new mass
    client       adds the mean of the rows to s

So m columns and m rows are read in a round, which moves m rows, m numbers of columns and K masses:
since masses come with the answers, the client knows from where the next rows are, and no partition
sends a row that is not used. It is the sublinear perceptron of Clarkson, Hazan and Woodruff,
"Sublinear optimization for machine learning" (2010), algorithm 1, with batches; the steps are those
of `skimlearn.solvers.simba`. The upper bound ||s|| / t is free. The lower one takes a pass over all
rows, after 16, 32, 64, ... rounds (corollary II.11), for the mean of x in all rounds and in the
latter half of them.

Partitions with sparse rows are transposed by their workers, once, which is counted: their columns
can't be read otherwise. Weights are kept as logarithms, so neither end of their range matters.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import as_matrix
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Csr, Dense, Rows, combine, lengths, responses, take
from skimlearn.distributed._parcel import Parcel, added
from skimlearn.distributed._pieces import Facts, Piece
from skimlearn.distributed._rounds import Round
from skimlearn.distributed._team import Team
from skimlearn.result import Record, Result, Status
from skimlearn.solvers._limits import Bounds, Limits

__all__ = ["SampledMargin"]

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

FIRST = 16  # rounds before the first pass
CHAIN = 64  # rounds after which the client takes the weights, so that Dask may forget the past


class Columns(NamedTuple):
    """The columns of this round, each once, and what their entries are multiplied by."""

    numbers: Numbers
    scales: Vector


class Answer(NamedTuple):
    """What a partition says in a round."""

    places: Numbers  # of the rows drawn
    rows: Parcel  # their sum, each with its sign
    top: float  # the largest logarithm of a weight,
    mass: float  # and the sum of all weights in units of that one
    reads: Reads


def measure(piece: Piece) -> tuple[float, int]:
    """The length of the longest row, and how many entries must be transposed."""
    sparse = isinstance(piece.rows, Csr)
    return math.sqrt(piece.squares.max()), int(lengths(piece.rows).sum()) if sparse else 0


def by_column(piece: Piece) -> Rows:
    """The columns of a partition: a view, or for sparse rows the transpose."""
    if isinstance(piece.rows, Dense):
        return Dense(piece.rows.values.T)
    whole = take(piece.rows, np.arange(piece.n))  # a range of a store is a part of its arrays
    return as_matrix(whole).columns


def reweighed(piece: Piece, columns: Rows, logs: Vector, *, asked: Columns) -> Vector:
    """The logarithms of the weights after this round."""
    assert piece.y is not None
    v = np.zeros(piece.n)
    combine(take(columns, asked.numbers), asked.scales, v)
    z = np.clip(piece.y * v, -1.0, 1.0)
    return logs + np.log1p(z * z - z)


def drawn(
    piece: Piece, columns: Rows, before: Vector, after: Vector, u: Vector, *, asked: Columns
) -> Answer:
    """Rows by the weights before this round, and the mass after it."""
    assert piece.y is not None
    n, d = piece.rows.shape
    sums = np.cumsum(np.exp(before - before.max()))
    places = np.searchsorted(sums, u * sums[-1], side="right").clip(max=n - 1)
    chosen, counts = np.unique(places, return_counts=True)
    rows, vector = take(piece.rows, chosen), np.zeros(d)
    combine(rows, counts * piece.y[chosen], vector)
    stored = lengths(rows).sum() + lengths(columns)[asked.numbers].sum()
    reads = Reads(len(chosen) * d + len(asked.numbers) * n, int(stored))
    top = float(after.max())
    return Answer(places, Parcel.of(vector, ()), top, float(np.exp(after - top).sum()), reads)


def least(piece: Piece, *, candidates: Vector) -> Vector:
    """The least margin of each direction."""
    assert piece.y is not None
    z, found = np.empty(piece.n), np.empty(len(candidates))
    for k, x in enumerate(candidates):
        responses(piece.rows, x, z)
        found[k] = (piece.y * z).min()
    return found


class SampledMargin:
    """One run: rounds, passes, and the best bounds so far."""

    name = "sampled"

    def __init__(
        self, team: Team, facts: list[Facts], *, draws: int, rng: np.random.Generator
    ) -> None:
        self.team, self.draws, self.rng = team, draws, rng
        self.began, self.seconds = time.perf_counter(), 0.0
        measures = team.fetch(team.each("measure", measure))
        self.columns = team.each("columns", by_column)
        self.unit = max(longest for longest, _ in measures) or 1.0  # of s: the longest row
        self.reads = sum((Reads(entries, entries) for _, entries in measures), Reads())
        self.sizes = np.array([fact.n for fact in facts])
        self.firsts = np.cumsum(self.sizes) - self.sizes
        self.shape = int(self.sizes.sum()), facts[0].d
        self.entries = sum(fact.entries for fact in facts)
        self.rounds, self.moved = 0, 0
        self.s = self.total = np.zeros(facts[0].d)  # sums of the rows drawn, and of x
        self.rows: list[Numbers] = []  # the numbers of those drawn in each round
        self.mark = (0, self.s, self.total)  # where the latter half begins
        self.logs: list[Any] = [np.zeros(n) for n in self.sizes]
        self.masses = self.sizes.astype(float)
        self.bounds = Bounds(maximize=True)
        self.bounds.primal(0.0, self.s)  # x = 0 needs no proof
        self.history: list[Record] = []

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
            if self.bounds.certificate.gap <= limits.eps:
                status = Status.CONVERGED
            elif status is None and (late or self.rounds >= most):
                status = Status.SECONDS if late else Status.STEPS
            self._note()
            goal = 2 * self.rounds
        nothing = (np.zeros(0), 0.0, np.zeros(0))  # both bounds have answers
        return self.bounds.result(status, nothing, self, self.shape)

    def round(self) -> None:
        """Draw rows and columns, and let the weights follow."""
        u = self.rng.random((2, self.draws))
        t = self.rounds + 1
        x = self.s / max(math.sqrt(2.0 * t), float(np.linalg.norm(self.s)))
        asked = self._columns(x, u[1], t)
        shared = self.team.share("columns-drawn", asked)
        after = self.team.each("reweigh", reweighed, self.columns, self.logs, asked=shared)
        given = (self.columns, self.logs, after, self._parts(u[0]))
        answers = self.team.fetch(self.team.each("draw", drawn, *given, asked=shared))
        self.logs, self.rounds = after, t
        tops = np.array([answer.top for answer in answers])
        self.masses = np.exp(tops - tops.max()) * [answer.mass for answer in answers]
        numbers = [first + a.places for first, a in zip(self.firsts, answers, strict=True)]
        self.rows.append(np.concatenate(numbers))
        parcel = added([answer.rows for answer in answers])
        self.s = self.s + parcel.vector / (self.draws * self.unit)
        self.total = self.total + x
        self.reads = sum((answer.reads for answer in answers), self.reads)
        self.moved += parcel.moved + 16 * len(asked.numbers) * self.team.workers
        self.moved += 16 * self.draws + 16 * len(answers)  # numbers and places, masses
        if t % CHAIN == 0:
            self.logs = self.team.fetch(after)
            self.moved += 16 * self.shape[0]
            self.team.settle()

    def check(self) -> None:
        """Look at all rows, for what the means of x are worth."""
        self._free_bounds()
        start, _, total = self.mark
        means = [self.total] if start == 0 else [self.total, self.total - total]
        candidates = np.array([mean / (float(np.linalg.norm(mean)) or 1.0) for mean in means])
        shared = self.team.share("candidates", candidates)
        found = self.team.fetch(self.team.each("least", least, candidates=shared))
        self.reads += Reads(certificate=self.entries)
        self.moved += candidates.nbytes * (self.team.workers + 1)
        for x, value in zip(candidates, np.min(found, axis=0), strict=True):
            self.bounds.primal(float(value), x)
        self.mark = (self.rounds, self.s, self.total)

    def _free_bounds(self) -> None:
        """The rows drawn, in all rounds and in the latter half, are distributions."""
        for start, s in ((0, np.zeros_like(self.s)), self.mark[:2]):
            if start < self.rounds:
                value = self.unit * float(np.linalg.norm(self.s - s)) / (self.rounds - start)
                chosen = np.concatenate(self.rows[start:])
                p = np.bincount(chosen, minlength=self.shape[0]) / len(chosen)
                self.bounds.dual(value, p)

    def _columns(self, x: Vector, u: Vector, t: int) -> Columns:
        """Draw by x_j^2; a column that is drawn twice is read once."""
        sums = np.cumsum(x * x)
        if not sums[-1] > 0.0:  # x = 0 is known to give 0
            return Columns(np.zeros(0, np.int64), np.zeros(0))
        last = int(np.flatnonzero(x * x)[-1])
        chosen = np.searchsorted(sums, u * sums[-1], side="right").clip(max=last)
        numbers, counts = np.unique(chosen, return_counts=True)
        eta = min(0.5, math.sqrt(self.draws * math.log(max(2, self.shape[0])) / t))
        scales = counts / self.draws * float(sums[-1]) / x[numbers]
        return Columns(numbers, eta * scales / self.unit)

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
        now = (epoch, self.seconds, self.reads.nnz, self.bounds.lower, self.bounds.upper)
        self.history.append(Round(*now, rounds=self.rounds, moved=self.moved))
