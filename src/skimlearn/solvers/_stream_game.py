r"""The frame of the semi-streaming solvers: weights of rows that are rebuilt from a short history.

Rows pass by, again and again, and are not kept. A step is a pass. It leaves behind a few columns
with factors, from which the weights of the rows, by which they are drawn, are computed anew when
they come by: `_stream_history`. With ``keep_weights`` they are kept.

The columns are drawn in proportion to the squares of a vector, the sum of the rows drawn so far. It
is kept, in d numbers; or, with a sketch, it is not: the rows drawn so far are fed to sketches when
they come by again (`sampling.sketches`), and nothing that is kept grows with d.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), section V.
Their steps draw one row and one column; here a step draws several of each, and uses the means. The
weights are exponentials of clipped gains, times a rate that falls with the steps.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._stream_blocks import Block
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Rows, stored, take
from skimlearn.data.stream import RowStream
from skimlearn.result import Record, Status, StreamResult
from skimlearn.sampling.sketches import CountSketch, L2Sampler
from skimlearn.solvers._limits import Bounds, as_count
from skimlearn.solvers._stream_history import Draw, Past

__all__ = ["StreamGame"]

Vector = NDArray[np.float64]
NORM_DEPTH, SAMPLER_DEPTH = 15, 5  # tables of the sketches
GROWTH = 1.25  # passes between two checks


class StreamGame(ABC):
    """One run: its history, its draws, and what is known of the optimum."""

    name = ""

    def __init__(
        self,
        stream: RowStream,
        rng: np.random.Generator,
        *,
        maximize: bool,
        rows_per_pass: int,
        columns_per_pass: int,
        keep_weights: bool,
        sketch: int | None,
        certify: bool,
    ) -> None:
        self.began = time.perf_counter()
        stream.require_again(self.name)
        self.stream, self.rng = stream, rng
        self.draws = as_count(rows_per_pass, "rows_per_pass")
        self.width = as_count(columns_per_pass, "columns_per_pass")
        self.sketch = None if sketch is None else as_count(sketch, "sketch")
        self.certify = certify
        self.seed = int(rng.integers(2**62))
        self.past = Past(self.width, keep_weights)
        self.chosen = np.zeros((0, self.draws), dtype=np.int64)  # rows drawn in each pass
        self.signs = np.zeros((0, self.draws))  # their labels
        self.n = self.d = self.entries = self.steps = self.passes = self.memory = 0
        self.reads = Reads()
        self.bounds = Bounds(maximize)
        self.history: list[Record] = []
        self.next_check = 4

    # ------------------------------------------------------------------------- what a problem adds

    @abstractmethod
    def gains(self, block: Block, first: int) -> tuple[Vector, Vector]:
        """The labels of the rows of a block, and their squares."""

    @abstractmethod
    def seen(self, block: Block, first: int) -> None:
        """Learn from the rows of the first pass."""

    @abstractmethod
    def drawn(self, rows: list[tuple[Rows, float]]) -> None:
        """Add the rows that were drawn, each with its label."""

    @abstractmethod
    def answer(self) -> Vector:
        """The vector of the problem that is to be checked."""

    @abstractmethod
    def check(self, block: Block, x: Vector) -> float:
        """The worst value of the answer x over the rows of a block."""

    @abstractmethod
    def bound(self) -> None:
        """Consider the bound that the rows drawn so far give."""

    @abstractmethod
    def checked(self, worst: float, x: Vector) -> None:
        """Consider the value of an answer, from its worst row."""

    @abstractmethod
    def rate(self) -> tuple[float, float]:
        """Eta of the next step, and where its gains are clipped."""

    @abstractmethod
    def history_entry(self) -> None:
        """Draw the columns of the step, after its pass."""

    @abstractmethod
    def weights(self) -> Vector:
        """The weights of the passes whose rows were drawn, which add up to 1."""

    @abstractmethod
    def shares(self) -> Vector:
        """What the rows of each pass are multiplied with in the vector that columns come from."""

    @abstractmethod
    def sketched(self, norm: CountSketch, drawn: list[tuple[int, float]]) -> None:
        """Make the history of the step from sketches of the vector."""

    @abstractmethod
    def explicit(self, x: Vector) -> None:
        """Write the answer of a sketched run to x, from one more pass over the rows drawn."""

    # ---------------------------------------------------------------------------------- the passes

    def blocks(self) -> Iterator[tuple[int, Block]]:
        """The blocks of a pass, each with the number of its first row."""
        first = 0
        self.passes += 1
        with closing(self.stream.blocks()) as blocks:
            for block in blocks:
                yield first, block
                first += block.rows.shape[0]
        self.n = first

    def step(self, x: Vector | None = None) -> float:
        """One pass: draw rows, and check an answer on the way; return its worst value."""
        best = np.full(self.draws, -np.inf)
        winners: list[Any] = [None] * self.draws
        worst, eta = math.inf, self.rate()[0] if self.steps else 0.0
        sketches = self._sketches()
        for first, block in self.blocks():
            if self.steps == 0:
                self.seen(block, first)
                entries = stored(block.rows)
                self.entries += entries
                self.reads += Reads(block.rows.shape[0] * self.d, entries)
            self._feed(sketches, first, block)
            labels, squares = self.gains(block, first)
            places = np.full(self.draws, -1)
            draw = Draw(eta, self.seed, self.steps, best, places)
            self.reads += self.past.weigh(block.rows, first, labels, squares, draw)
            taken = self._taken(block.rows, places)
            for k in np.flatnonzero(places >= 0).tolist():
                i = int(places[k])
                winners[k] = (first + i, float(labels[i]), taken.get(i))
            if x is not None:
                worst = min(worst, self.check(block, x))
                self.reads += Reads(certificate=stored(block.rows))
        self.steps += 1
        self._finish(sketches)
        self.chosen = np.vstack([self.chosen, [[i for i, _, _ in winners]]])
        self.signs = np.vstack([self.signs, [[sign for _, sign, _ in winners]]])
        self.drawn([(row, sign) for _, sign, row in winners])
        self.memory = max(self.memory, self._bytes(sketches))
        return worst

    def _taken(self, rows: Rows, places: NDArray[np.int64]) -> dict[int, Rows]:
        """Copies of the rows of a block that are ahead; rows of a later block may displace them."""
        if self.sketch is not None:
            return {}
        taken = {i: take(rows, np.array([i])) for i in np.unique(places[places >= 0]).tolist()}
        entries = sum(stored(row) for row in taken.values())
        self.reads += Reads(len(taken) * self.d, entries)
        return taken

    def remember(self, columns: Vector, factors: Vector, constant: float) -> None:
        """Add a step to the history."""
        self.past.add(columns, factors, constant, clip=self.rate()[1])

    # ------------------------------------------------------------------------------------ sketches

    def _sketches(self) -> list[CountSketch]:
        """One sketch for the norm and a sampler for each column, of the rows drawn so far."""
        if self.sketch is None or self.steps == 0:
            return []
        samplers = [L2Sampler(SAMPLER_DEPTH, self.sketch, self.rng) for _ in range(self.width)]
        return [CountSketch(NORM_DEPTH, self.sketch, self.rng), *samplers]

    def _feed(self, sketches: list[CountSketch], first: int, block: Block) -> None:
        if not sketches:
            return
        rows, [weights] = self.combination(first, block, self.shares())
        self.reads += Reads(len(weights) * self.d, stored(rows))
        for sketch in sketches:
            sketch.add(rows, weights)

    def combination(self, first: int, block: Block, *shares: Vector) -> tuple[Rows, list[Vector]]:
        """The rows of a block that were drawn, each with its part if those of a pass have these."""
        chosen, signs = self.chosen.ravel(), self.signs.ravel()
        here = (chosen >= first) & (chosen < first + block.rows.shape[0])
        places, back = np.unique(chosen[here] - first, return_inverse=True)
        weights = []
        for share in shares:
            parts = (np.repeat(share / self.draws, self.draws) * signs)[here]
            weights.append(np.bincount(back, parts, len(places)).astype(np.float64))
        return take(block.rows, places), weights

    def _finish(self, sketches: list[CountSketch]) -> None:
        if self.sketch is None or self.steps == 1:
            self.history_entry()
            return
        drawn = [s.draw(self.d) for s in sketches[1:] if isinstance(s, L2Sampler)]
        self.sketched(sketches[0], drawn)

    def _bytes(self, sketches: list[CountSketch]) -> int:
        kept = (*vars(self).values(), *vars(self.past).values())
        arrays = [value for value in kept if isinstance(value, np.ndarray)]
        tables = [array for s in sketches for array in (s.table, s.hashes)]
        return sum(array.nbytes for array in (*arrays, *tables))

    # -------------------------------------------------------------------------------------- the run

    def run(self, eps: float, max_passes: int) -> StreamResult:
        """Pass over the rows until the bounds meet or the passes are used up."""
        status: Status | None = None
        try:
            while status is None:
                last = self.passes + 1 >= max_passes
                due = self.steps > 0 and (self.steps + 1 >= self.next_check or last)
                if self.certify and self.sketch is None and due:
                    x = self.answer()
                    self.checked(self.step(x), x)
                    self.next_check = math.ceil(GROWTH * (self.steps + 1))
                else:
                    self.step()
                self.bound()
                self._record()
                if self.bounds.certificate.gap <= eps * self.unit():
                    status = Status.CONVERGED
                elif self.passes >= max_passes:
                    status = Status.EPOCHS
        except KeyboardInterrupt:
            if self.steps == 0:
                raise
            status = Status.INTERRUPTED
        if self.certify and self.sketch is not None and status is not Status.INTERRUPTED:
            status = self._certified(eps, status)
        return self._result(status)

    def unit(self) -> float:
        """What eps is a multiple of."""
        return 1.0

    def _certified(self, eps: float, status: Status) -> Status:
        """Build the answer, which takes d numbers, and check it: a pass for each."""
        x = np.zeros(self.d)
        self.explicit(x)
        worst = math.inf
        for _, block in self.blocks():
            worst = min(worst, self.check(block, x))
            self.reads += Reads(certificate=stored(block.rows))
        self.checked(worst, x)
        self._record()
        return Status.CONVERGED if self.bounds.certificate.gap <= eps * self.unit() else status

    def _record(self) -> None:
        certificate = self.bounds.certificate
        seconds = time.perf_counter() - self.began
        self.history.append(
            Record(self.passes, seconds, self.reads.nnz, certificate.primal, certificate.dual)
        )

    def _result(self, status: Status) -> StreamResult:
        weights = np.repeat(self.weights() / self.draws, self.draws)
        rows, back = np.unique(self.chosen.ravel(), return_inverse=True)
        bounds, p = self.bounds, np.zeros(len(rows))
        np.add.at(p, back.ravel(), weights)
        x = bounds.x if bounds.x is not None else self.fallback()
        return StreamResult(
            x=x, bias=bounds.bias, p=p,
            certificate=bounds.certificate, reads=self.reads,
            seconds=time.perf_counter() - self.began, epochs=float(self.passes), status=status,
            history=self.history, solver=self.name, rows=rows, passes=self.passes,
            memory=self.memory,
        )  # fmt: skip

    def fallback(self) -> Vector:
        """An answer that was not checked; none of a sketched run."""
        return self.answer() if self.sketch is None else np.zeros(0)
