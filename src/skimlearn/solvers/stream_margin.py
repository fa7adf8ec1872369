r"""The greatest margin of two classes from rows that pass by: the semi-streaming perceptron.

Problem:  max over ||x|| <= 1 of min_i y_i <x_i, x>;  its dual: min over p of ||A'p||.

At step t, with s the sum of the means of the rows drawn in the passes before, R the greatest length
of a row, and x_t = s / max(sqrt(2 t) R, ||s||): draw rows i ~ p in a pass over all of them, and
columns j ~ x_t(j)^2, whose entries times ||x_t||^2 / x_t(j) estimate the responses of all rows to
x_t. What they say is used in the passes after (`_stream_game`). The answer is the mean of x_t; the
frequencies of the rows drawn prove the upper bound ||s|| / t.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), sections II
and V, theorem V.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._stream_blocks import Block
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Rows, combine, norms, responses, stored
from skimlearn.data.stream import as_stream
from skimlearn.result import StreamResult
from skimlearn.sampling.alias import AliasTable
from skimlearn.sampling.sketches import CountSketch
from skimlearn.solvers._limits import Limits, as_count
from skimlearn.solvers._margin_bounds import as_labels
from skimlearn.solvers._stream_game import StreamGame

__all__ = ["stream_margin"]

Vector = NDArray[np.float64]
RATE = 2.0  # of the weights; benchmarks/stream_rates.py tries others


def stream_margin(
    source: Any,
    *,
    eps: float = 0.05,
    rows_per_pass: int = 32,
    columns_per_pass: int = 32,
    max_passes: int = 100,
    keep_weights: bool = False,
    sketch: int | None = None,
    certify: bool = True,
    random_state: int | np.random.Generator | None = None,
) -> StreamResult:
    """The direction that parts two classes by the greatest margin, from passes over a stream.

    It maximises the least ``y_i <x_i, x>`` over ``||x|| <= 1``, without keeping the rows: a pass
    draws some rows and columns. Memory is one number per row and column drawn, and d.

    Parameters
    ----------
    source : RowStream, path, list of (X, y), callable, Store, ...
        Blocks of rows with labels +1 and -1, for several passes; see `RowStream`.
    eps : float, default=0.05
        How far from the greatest margin the answer may be, in units of the data.
    rows_per_pass, columns_per_pass : int, default=32
        How many are drawn in a pass; more cost time, and save passes.
    max_passes : int, default=100
        Stop after so many passes.
    keep_weights : bool, default=False
        Keep the weight of every row, n numbers, instead of rebuilding it in each pass from the
        history, whose cost grows with the number of passes. The answer is the same.
    sketch : int or None, default=None
        The width of sketches, e.g. 1024, for memory that does not grow with d either. The vector x
        is then not built, unless ``certify`` asks for it: the answer is a combination of ``rows``.
    certify : bool, default=True
        Read all rows now and then to prove a lower bound, in passes that are made anyway; with a
        sketch: at the end, by two more passes, and d numbers. Without it all passes are made.
    random_state : int, Generator or None
        Source of randomness.

    Returns
    -------
    StreamResult
        ``x`` is the direction; ``p`` the weights, behind the upper bound, of the rows ``rows``.
        ``passes``, ``memory`` and ``reads`` say what it took.

    Examples
    --------
    >>> blocks = [([[1.0, 0.1], [0.9, -0.2]], [1, 1]), ([[-1.0, 0.3], [-0.8, -0.1]], [-1, -1])]
    >>> result = stream_margin(blocks, eps=0.1, random_state=0)
    >>> result.certificate.gap <= 0.1
    True
    >>> bool(result.certificate.primal > 0.7)  # the classes can be parted
    True
    """
    Limits(eps=eps)
    game = _Margin(
        as_stream(source),
        np.random.default_rng(random_state),
        maximize=True,
        rows_per_pass=rows_per_pass,
        columns_per_pass=columns_per_pass,
        keep_weights=keep_weights,
        sketch=sketch,
        certify=certify,
    )
    return game.run(eps, as_count(max_passes, "max_passes"))


class _Margin(StreamGame):
    name = "stream_margin"

    s = np.zeros(0)  # the sum of the means of the rows drawn, if it is kept
    total = np.zeros(0)  # the sum of the x_t, if it is kept
    R = 0.0
    length = 0.0  # ||s|| at the last step, perhaps from a sketch

    def seen(self, block: Block, first: int) -> None:
        rows = block.rows
        if first == 0:
            self.d, self.scales = rows.shape[1], np.zeros(0)  # of x_t, of each step
            if self.sketch is None:
                self.s, self.total = np.zeros(self.d), np.zeros(self.d)
        self.R = max(self.R, float(norms(rows).max()))

    def gains(self, block: Block, first: int) -> tuple[Vector, Vector]:
        if block.y is None:
            raise ValueError(f"block {block.number} has no labels: give pairs (X, y)")
        return as_labels(block.y, block.rows.shape[0]), np.zeros(0)

    def rate(self) -> tuple[float, float]:
        eta = RATE * math.sqrt(math.log(max(self.n, 2)) * self.width / (self.steps + 1.0))
        return eta, max(1.0 / eta, 1.0)

    def _scale(self, length: float) -> float:
        """x_t = scale * s, at a step whose pass was made."""
        root = max(math.sqrt(2.0 * self.steps) * self.R, length)
        return 1.0 / root if root > 0.0 else 0.0

    def history_entry(self) -> None:
        length = float(np.linalg.norm(self.s))
        scale = self._scale(length)
        self.scales = np.append(self.scales, scale)
        if self.sketch is None:
            self.total += scale * self.s
        if not length > 0.0:
            return
        u = self.rng.random(self.width)
        columns = AliasTable((self.s / length) ** 2).draw(u)
        self._remember(columns, self.s[columns], length, scale)

    def sketched(self, norm: CountSketch, drawn: list[tuple[int, float]]) -> None:
        self.length = norm.norm()
        scale = self._scale(self.length)
        self.scales = np.append(self.scales, scale)
        self.spread = norm.margin()
        columns = np.array([j for j, _ in drawn])
        if self.length > 0.0 and (columns >= 0).all():
            self._remember(columns, np.array([x for _, x in drawn]), self.length, scale)

    def _remember(self, columns: Any, entries: Vector, length: float, scale: float) -> None:
        factors = -scale * length**2 / (entries * self.width * self.R)
        self.remember(columns, factors, 0.0)

    def drawn(self, rows: list[tuple[Rows, float]]) -> None:
        if self.sketch is None:
            for row, sign in rows:
                combine(row, np.array([sign / self.draws]), self.s)

    def shares(self) -> Vector:
        return np.ones(self.steps)

    def weights(self) -> Vector:
        return np.full(self.steps, 1.0 / self.steps)

    def answer(self) -> Vector:
        return self.total / max(self.steps, 1)

    def check(self, block: Block, x: Vector) -> float:
        out = np.empty(block.rows.shape[0])
        responses(block.rows, x, out)
        return float((out * as_labels(block.y, len(out))).min())

    def checked(self, worst: float, x: Vector) -> None:
        norm = float(np.linalg.norm(x))
        if worst > 0.0 and norm > 0.0:
            self.bounds.primal(worst / norm, x / norm)
        else:
            self.bounds.primal(0.0, np.zeros(len(x)))  # which is never worse

    def bound(self) -> None:
        if self.sketch is None:
            self.bounds.dual(float(np.linalg.norm(self.s)) / self.steps, self.weights())
        elif self.steps > 1:  # the sketch was of the rows before the last pass
            more, self.bounds.failure = self.spread
            self.bounds.upper = self.length * (1.0 + more) / (self.steps - 1)

    def explicit(self, x: Vector) -> None:
        later = np.cumsum(self.scales[::-1])[::-1]  # row t is in x_{t+1}, x_{t+2}, ...
        parts, s = np.append(later[1:], 0.0) / self.steps, np.zeros(self.d)
        for first, block in self.blocks():
            rows, both = self.combination(first, block, parts, self.shares())
            for out, weights in zip((x, s), both, strict=True):
                combine(rows, weights, out)
            self.reads += Reads(certificate=stored(rows))
        self.bounds.upper, self.bounds.failure = math.inf, 0.0  # a proof takes its place
        self.bounds.dual(float(np.linalg.norm(s)) / self.steps, self.weights())
