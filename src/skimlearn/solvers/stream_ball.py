r"""The smallest ball around rows that pass by: in several passes to any accuracy.

Problem:  R^2 = min over c of max_i ||a_i - c||^2,
its dual: R^2 = max over p in the simplex of  sum_i p_i ||a_i - o||^2 - ||A'p - o||^2,  for any o.

At step t, with c_t the mean of the rows drawn in the passes before, later ones counting more: draw
rows i ~ p in a pass over all of them, and columns j ~ (c_t(j) - o_j)^2, which estimate the products
in ||a_i - c_t||^2 = ||a_i - o||^2 - 2 <a_i - o, c_t - o> + ||c_t - o||^2 for all rows. What they
say is used in the passes after (`_stream_game`). The answer is the mean of the centres, later ones
counting more; the weights of the rows drawn prove the lower bound.

The reference o is the mean of the rows of the first pass, so that it does not matter where the data
lie; with a sketch it is the origin, and the rows should lie around it.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), sections
III-A and V, theorem V.2, where the norms of the rows are known; here each pass computes them anew.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._stream_blocks import Block
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Rows, combine, lengths, norms, stored
from skimlearn.data.stream import as_stream
from skimlearn.result import StreamResult
from skimlearn.sampling.alias import AliasTable
from skimlearn.sampling.sketches import CountSketch
from skimlearn.solvers._limits import Limits, as_count
from skimlearn.solvers._stream_game import StreamGame
from skimlearn.solvers.ball import squared_distances

__all__ = ["stream_ball"]

Vector = NDArray[np.float64]
# Of the weights: gains are at most about 1/4, and those of neighbours close. Other rates are tried
# in benchmarks/stream_rates.py.
RATE = 32.0


def stream_ball(
    source: Any,
    *,
    eps: float = 0.05,
    rows_per_pass: int = 8,
    columns_per_pass: int = 64,
    max_passes: int = 100,
    keep_weights: bool = False,
    sketch: int | None = None,
    certify: bool = True,
    random_state: int | np.random.Generator | None = None,
) -> StreamResult:
    """The smallest ball that holds all rows, to a part eps of its squared radius, from passes.

    Parameters
    ----------
    source : RowStream, path, list of blocks, callable, Store, ...
        Blocks of rows, for several passes; see `RowStream`. Labels are not looked at.
    eps : float, default=0.05
        By which part the squared radius of the answer may exceed the least one.
    rows_per_pass, columns_per_pass, max_passes, keep_weights, sketch, certify, random_state
        As in `stream_margin`. Besides the weights, the distances of the rows to a reference are
        kept or computed anew.

    Returns
    -------
    StreamResult
        ``x`` is the centre and ``bias`` the squared radius around it; ``p`` the weights, behind the
        lower bound, of the rows ``rows``. The certificate is one of the squared radius.

    See Also
    --------
    one_pass_ball : a ball in one pass, at most 3/2 times as large as need be.

    Examples
    --------
    >>> corners = [[[0.0, 0.0], [2.0, 0.0]], [[0.0, 2.0], [2.0, 2.0], [1.0, 1.5]]]
    >>> result = stream_ball(corners, eps=0.05, random_state=0)
    >>> result.certificate.relative_gap <= 0.05
    True
    """
    Limits(eps=eps)
    game = _Ball(
        as_stream(source),
        np.random.default_rng(random_state),
        maximize=False,
        rows_per_pass=rows_per_pass,
        columns_per_pass=columns_per_pass,
        keep_weights=keep_weights,
        sketch=sketch,
        certify=certify,
    )
    return game.run(eps, as_count(max_passes, "max_passes"))


class _Ball(StreamGame):
    name = "stream_ball"

    o = np.zeros(0)  # the reference, after the first pass
    y = np.zeros(0)  # the weighted sum of the rows drawn, minus o, if it is kept
    total = np.zeros(0)  # the weighted sum of the centres, minus o, if it is kept
    squares = np.zeros(0)  # of all rows, if they are kept
    spread = 0.0  # the greatest squared distance to the first row, or to the origin
    moment = 0.0  # the weighted sum of the squared distances of the rows drawn to o

    def seen(self, block: Block, first: int) -> None:
        rows = block.rows
        if first == 0:
            self.d = rows.shape[1]
            if self.sketch is None:
                self.o, self.y, self.total = (np.zeros(self.d) for _ in range(3))
                combine(rows, np.eye(1, rows.shape[0])[0], self.o)
                self.reads += Reads(self.d, int(lengths(rows)[0]))
        self.spread = max(self.spread, float(self._distances(rows).max()))

    def _distances(self, rows: Rows) -> Vector:
        """The squared distances of rows to the reference."""
        return norms(rows) ** 2 if self.sketch is not None else squared_distances(rows, self.o)

    def gains(self, block: Block, first: int) -> tuple[Vector, Vector]:
        rows = block.rows
        n = rows.shape[0]
        if self.steps == 0:
            return np.ones(n), np.zeros(n)
        if self.past.sums is not None and len(self.squares) >= first + n:
            return np.ones(n), self.squares[first : first + n]
        squares = self._distances(rows)
        self.reads += Reads(n * self.d, stored(rows))
        if self.past.sums is not None:
            self.squares = np.append(self.squares, squares)
        return np.ones(n), squares

    def rate(self) -> tuple[float, float]:
        return RATE * math.sqrt(math.log(max(self.n, 2)) / (self.steps + 1.0)), 2.0

    def shares(self) -> Vector:
        return np.arange(1.0, self.steps + 1.0)

    def weights(self) -> Vector:
        shares = self.shares()
        return shares / shares.sum()

    def history_entry(self) -> None:
        if self.steps == 1:
            return
        z = self.y / self.weight(self.steps - 1)
        length = float(z @ z)
        columns, entries = np.full(self.width, -1), np.ones(self.width)
        if length > 0.0:
            columns = AliasTable(z * z / length).draw(self.rng.random(self.width))
            entries = z[columns]
        self._remember(columns, entries, length)

    def sketched(self, norm: CountSketch, drawn: list[tuple[int, float]]) -> None:
        total = self.weight(self.steps - 1)
        length = (norm.norm() / total) ** 2
        columns, entries = np.array([j for j, _ in drawn]), np.array([x for _, x in drawn])
        if not (columns >= 0).all():
            columns, entries = np.full(self.width, -1), np.full(self.width, total)
        self._remember(columns, entries / total, length)

    def weight(self, steps: int) -> float:
        """The sum of the shares of so many steps."""
        return 0.5 * steps * (steps + 1.0)

    def _remember(self, columns: Any, entries: Vector, length: float) -> None:
        if not self.spread > 0.0:
            return
        base = self.past.base = 1.0 / (4.0 * self.spread)
        factors = np.where(columns >= 0, -2.0 * length / (entries * self.width), 0.0) * base
        offset = 0.0
        if self.sketch is None and columns[0] >= 0:
            offset = -float(self.o[columns] @ factors)
        self.remember(columns, factors, offset + length * base)

    def drawn(self, rows: list[tuple[Rows, float]]) -> None:
        if self.sketch is not None:
            return
        if self.steps == 1:
            mean = np.zeros(self.d)
            for row, _ in rows:
                combine(row, np.array([1.0 / self.draws]), mean)
            self.o = mean
        share = self.steps / self.draws
        for row, _ in rows:
            combine(row, np.array([share]), self.y)
            self.moment += share * float(squared_distances(row, self.o)[0])
        self.y -= self.steps * self.o
        self.total += self.y * (self.steps / self.weight(self.steps))

    def answer(self) -> Vector:
        return self.o + self.total / self.weight(self.steps)

    def check(self, block: Block, x: Vector) -> float:
        return -float(squared_distances(block.rows, x).max())

    def checked(self, worst: float, x: Vector) -> None:
        self.bounds.primal(-worst, x, bias=-worst)

    def bound(self) -> None:
        if self.sketch is None:
            total = self.weight(self.steps)
            z = self.y / total
            self.bounds.dual(max(0.0, self.moment / total - float(z @ z)), self.weights())

    def unit(self) -> float:
        """The squared radius, but not less than what rounding leaves of it."""
        rounding = 1e-15 * (float(self.o @ self.o) + self.spread)
        return max(self.bounds.lower, rounding, 1e-300)

    def explicit(self, x: Vector) -> None:
        moment, c = 0.0, np.zeros(self.d)
        steps = np.arange(1.0, self.steps + 1.0)
        later = np.cumsum((steps / (0.5 * steps * (steps + 1.0)))[::-1])[::-1]
        parts = steps * later / self.weight(self.steps)  # row t is in the centres t, t + 1, ...
        for first, block in self.blocks():
            rows, [own, weights] = self.combination(first, block, parts, self.weights())
            combine(rows, own, x)
            combine(rows, weights, c)
            moment += float(weights @ norms(rows) ** 2)
            self.reads += Reads(certificate=stored(rows))
        self.bounds.dual(max(0.0, moment - float(c @ c)), self.weights())
