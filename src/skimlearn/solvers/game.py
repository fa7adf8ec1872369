r"""Zero-sum games from a few rows and columns, with an exact certificate that costs nothing.

Problem:  min over x, max over p (both distributions) of  p' A x.

Each step draws a row i ~ p and a column j ~ x and adds what it read to the players' scores,

    U += A[:, j],   W += A[i, :],     p ~ exp(eta_t U),   x ~ exp(-eta'_t W),

with eta_t = sqrt(log n / t) / G and G the range of the entries seen so far. With xbar and pbar the
frequencies of the draws, U / t = A xbar and W / t = A' pbar exactly, so that the value of the game
lies between min W / t and max U / t: no entry is read twice, and the bounds need no entry at all.

See Grigoriadis and Khachiyan, "A sublinear-time randomized approximation algorithm for matrix
games" (1995), and Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning"
(2010), section IV. After T steps the gap is O(G sqrt(log(n d) / T)), whatever the size of A.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.columns import Matrix, as_matrix
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import Oracle, ReadLimit
from skimlearn.data.rows import add, entry, size
from skimlearn.result import Certificate, Record, Result, Status

__all__ = ["matrix_game"]

Vector = NDArray[np.float64]
CHUNK = 256  # steps between two looks at the clock, at first

# positions in the state of the kernel: steps, stored entries read, least and greatest entry seen
STEPS, READS, LEAST, GREATEST = range(4)


def matrix_game(
    A: Any,
    *,
    eps: float = 0.01,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Result:
    """Solve a zero-sum game to a certified gap, reading a small part of its payoffs.

    Parameters
    ----------
    A : array, sparse matrix or Oracle of shape (n, d)
        What the column player pays to the row player.
    eps : float, default=0.01
        Stop when the bounds of the value differ by no more.
    max_reads : int or None
        Stop before more stored entries than that are read.
    max_steps : int or None
        Stop after so many steps; each reads a row and a column.
    max_seconds : float or None
        Stop after so many seconds.
    random_state : int, Generator or None
        Source of randomness.

    Returns
    -------
    Result
        ``x`` is the column player's mixed strategy, ``p`` the row player's; the value of the game
        lies between ``certificate.dual`` and ``certificate.primal``.

    Examples
    --------
    >>> rock_paper_scissors = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    >>> result = matrix_game(rock_paper_scissors, eps=0.05, random_state=0)
    >>> result.certificate.dual <= 0.0 <= result.certificate.primal
    True
    >>> result.x.round(1)
    array([0.3, 0.3, 0.3])
    """
    if not eps > 0.0:
        raise ValueError(f"eps={eps!r} must be positive: the bounds meet only in the limit")
    for name, value in (("max_reads", max_reads), ("max_steps", max_steps)):
        if value is not None and not value >= 0:
            raise ValueError(f"{name}={value!r} must not be negative")
    rng = np.random.default_rng(random_state)
    players = _OracleGame(A, rng) if isinstance(A, Oracle) else _MatrixGame(as_matrix(A), rng)
    return _play(players, eps, max_reads, max_steps, max_seconds)


def _play(
    game: _Game,
    eps: float,
    max_reads: int | None,
    max_steps: int | None,
    max_seconds: float | None,
) -> Result:
    """Play until the bounds meet, keeping the best of each."""
    began = time.perf_counter()
    best = _Bounds()
    history: list[Record] = []
    status = None
    target = CHUNK
    while status is None:
        if max_steps is not None:
            target = min(target, max_steps)
        try:
            out_of_reads = game.play(target, math.inf if max_reads is None else max_reads)
        except ReadLimit:
            out_of_reads = True
        except KeyboardInterrupt:
            status, out_of_reads = Status.INTERRUPTED, False
        best.consider(game)
        seconds = time.perf_counter() - began
        history.append(Record(game.steps, seconds, game.reads.nnz, best.upper, best.lower))
        if best.upper - best.lower <= eps:
            status = Status.CONVERGED
        elif out_of_reads:
            status = Status.READS
        elif max_seconds is not None and seconds >= max_seconds:
            status = Status.SECONDS
        elif max_steps is not None and game.steps >= max_steps:
            status = Status.EPOCHS
        target = game.steps + max(CHUNK, game.steps // 8)
    return Result(
        x=best.x if best.x is not None else np.full(game.shape[1], 1.0 / game.shape[1]),
        bias=0.0,
        p=best.p if best.p is not None else np.full(game.shape[0], 1.0 / game.shape[0]),
        certificate=Certificate(best.upper, best.lower),
        reads=game.reads,
        seconds=time.perf_counter() - began,
        epochs=game.reads.dense / (game.shape[0] * game.shape[1]),
        status=status,
        history=history,
        solver="game",
    )


@dataclass
class _Bounds:
    """The best bounds so far, with the strategies behind them."""

    upper: float = math.inf
    lower: float = -math.inf
    x: Vector | None = None
    p: Vector | None = None

    def consider(self, game: _Game) -> None:
        if game.steps == 0:
            return
        upper, lower = float(game.U.max()) / game.steps, float(game.W.min()) / game.steps
        if upper < self.upper:
            self.upper, self.x = upper, game.plays_x / game.steps
        if lower > self.lower:
            self.lower, self.p = lower, game.plays_p / game.steps


class _Game:
    """Two players: their scores, and how often they played what."""

    def __init__(self, shape: tuple[int, int], rng: np.random.Generator) -> None:
        n, d = self.shape = shape
        self.rng = rng
        self.U, self.W = np.zeros(n), np.zeros(d)
        self.plays_p, self.plays_x = np.zeros(n), np.zeros(d)
        self.state = np.array([0.0, 0.0, math.inf, -math.inf])

    @property
    def steps(self) -> int:
        return int(self.state[STEPS])

    @property
    def reads(self) -> Reads:
        return Reads(dense=self.steps * sum(self.shape), nnz=int(self.state[READS]))

    def play(self, steps: int, max_reads: float) -> bool:
        """Go on to so many steps; True if the limit of reads ended it."""
        raise TypeError("a game knows its matrix")


class _MatrixGame(_Game):
    def __init__(self, matrix: Matrix, rng: np.random.Generator) -> None:
        super().__init__(matrix.shape, rng)
        self.matrix = matrix

    def play(self, steps: int, max_reads: float) -> bool:
        u = self.rng.random((max(0, steps - self.steps), 2))
        return bool(
            _play_steps(
                self.matrix.rows, self.matrix.columns, u, float(max_reads),
                self.U, self.W, self.plays_p, self.plays_x, self.state,
            )
        )  # fmt: skip


class _OracleGame(_Game):
    def __init__(self, oracle: Oracle, rng: np.random.Generator) -> None:
        super().__init__(oracle.shape, rng)
        self.oracle = oracle
        self.before = oracle.reads

    def play(self, steps: int, max_reads: float) -> bool:
        while self.steps < steps:
            if self.state[READS] + sum(self.shape) > max_reads:
                return True
            u = self.rng.random(2)
            i, j = _draw(self.U, self.W, self.state, u[0], u[1])
            row, column = self.oracle.row(int(i)), self.oracle.column(int(j))
            for line in (row, column):
                self.state[LEAST] = min(self.state[LEAST], line.min())
                self.state[GREATEST] = max(self.state[GREATEST], line.max())
            self.W += row
            self.U += column
            self.plays_p[i] += 1.0
            self.plays_x[j] += 1.0
            self.state[STEPS] += 1.0
            self.state[READS] = self.oracle.reads - self.before
        return False


@kernel
def _draw(U, W, state, u, v):
    """Draw a row and a column from the players' present strategies."""
    t = state[STEPS] + 1.0
    spread = max(state[GREATEST] - state[LEAST], 1e-300) if state[STEPS] > 0.0 else 1.0
    rate = math.sqrt(math.log(max(len(U), 2)) / t) / spread
    other = math.sqrt(math.log(max(len(W), 2)) / t) / spread
    return _draw_exponential(U, rate, u), _draw_exponential(W, -other, v)


@kernel
def _draw_exponential(scores, rate, u):
    """Draw in proportion to exp(rate * score), in two passes."""
    top = -np.inf
    for i in range(len(scores)):
        top = max(top, rate * scores[i])
    total = 0.0
    for i in range(len(scores)):
        total += math.exp(rate * scores[i] - top)
    rest, last = u * total, 0
    for i in range(len(scores)):
        weight = math.exp(rate * scores[i] - top)
        if weight > 0.0:
            last = i
            if rest < weight:
                break
        rest -= weight
    return last


@kernel
def _range(rows, i, state):
    """Widen the range of the entries seen by those of row i; missing entries are zeros."""
    count = size(rows, i)
    for k in range(count):
        value = entry(rows, i, k)[1]
        state[LEAST] = min(state[LEAST], value)
        state[GREATEST] = max(state[GREATEST], value)
    return count


@kernel
def _play_steps(rows, columns, u, max_reads, U, W, plays_p, plays_x, state):
    for k in range(len(u)):
        i, j = _draw(U, W, state, u[k, 0], u[k, 1])
        cost = size(rows, i) + size(columns, j)
        if state[READS] + cost > max_reads:
            return True
        row, column = _range(rows, i, state), _range(columns, j, state)
        if row < len(W) or column < len(U):
            state[LEAST] = min(state[LEAST], 0.0)
            state[GREATEST] = max(state[GREATEST], 0.0)
        add(rows, i, 1.0, W)
        add(columns, j, 1.0, U)
        plays_p[i] += 1.0
        plays_x[j] += 1.0
        state[STEPS] += 1.0
        state[READS] += cost
    return False
