r"""Zero-sum games from a few rows and columns, with an exact certificate that costs no reads.

Problem:  min over x, max over p (both distributions) of  p' A x.

What was read is known, so two smaller games can be solved without any further read:

===========================  ==================================================================
the known rows, all columns  its value v_I is at most that of the game; the best mix of the rows
                             proves it, and the columns' best answer y is a guess at x
all rows, the known columns  its value v_J is at least that of the game; the best mix of the
                             columns proves it, and the rows' best answer q is a guess at p
===========================  ==================================================================

Each step draws a row from q and a column from y among those that are not known; when an eighth of
the lines is new, both games are solved again. Once q and y have no weight on unknown lines, v_I and
v_J are equal: a game with good strategies of small support needs few lines. A random one needs
hardly more than any proof that is made of whole lines.

The steps are those of Grigoriadis and Khachiyan, "A sublinear-time randomized approximation
algorithm for matrix games" (1995), and of Clarkson, Hazan and Woodruff, "Sublinear optimization for
machine learning" (2010), section IV, with better weights; the two smaller games are those of
McMahan, Gordon and Blum, "Planning in the presence of cost functions controlled by an adversary"
(2003).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.columns import Matrix
from skimlearn.data.rows import entry, size
from skimlearn.result import Result
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._restricted import Restricted
from skimlearn.solvers._skim import Callback, Method, Skim
from skimlearn.solvers._source import as_source

__all__ = ["matrix_game"]

Vector = NDArray[np.float64]

GROWTH = 8  # both games are solved again when a part of 1 / GROWTH of the lines is new
SLICE = 8  # steps of the smaller games between two looks at their bounds, at first
ENOUGH = 512  # steps of the smaller games, after which they are solved exactly or left as they are
WORK = 5e8  # entries that one of them may touch between two looks
SMALL = 1_000_000  # entries of a game that is solved exactly in less time than by more steps


def matrix_game(
    A: Any,
    *,
    eps: float = 0.01,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    random_state: int | np.random.Generator | None = None,
    callback: Callback | None = None,
) -> Result:
    """Solve a zero-sum game to a certified gap, reading a small part of its payoffs.

    Parameters
    ----------
    A : array, sparse matrix or Oracle of shape (n, d)
        What the column player pays to the row player. Of an `Oracle`, the lines that were read are
        kept: 4 bytes per entry if that is exact, else 8.
    eps : float, default=0.01
        Stop when the bounds of the value differ by no more.
    max_reads : int or None
        Stop before more stored entries than that are read; what is known is not read again.
    max_steps : int or None
        Stop after so many steps; each reads a row, a column, or both.
    max_seconds : float or None
        Stop after so many seconds.
    random_state : int, Generator or None
        Source of randomness.
    callback : callable or None
        Called with a `Record` at every check; the run stops if it returns something true.

    Returns
    -------
    Result
        ``x`` is the column player's mixed strategy, ``p`` the row player's; the value of the game
        lies between ``certificate.dual`` and ``certificate.primal``. ``solver`` ends in "highs" if
        a linear program gave the last digits.

    Examples
    --------
    >>> rock_paper_scissors = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    >>> result = matrix_game(rock_paper_scissors, eps=0.05, random_state=0)
    >>> result.certificate.dual <= 0.0 <= result.certificate.primal
    True
    >>> result.x.round(1)
    array([0.3, 0.3, 0.3])
    """
    limits = Limits(eps=eps, max_reads=max_reads, max_steps=max_steps, max_seconds=max_seconds)
    return Game(as_source(A), np.random.default_rng(random_state)).run(limits, callback)


class _Lines(NamedTuple):
    """Which lines are known, and what is to be read next."""

    row_weights: Vector  # q for the rows that are not known, -1 for those that are
    column_weights: Vector
    row_order: NDArray[np.int64]  # the known rows, in the order of their reading
    column_order: NDArray[np.int64]
    known: NDArray[np.int64]  # how many rows and columns are known
    fresh: NDArray[np.int64]  # how many of them are new
    new_rows: Vector  # copies of the new ones, if they cannot be used where they are
    new_columns: Vector


@dataclass(frozen=True)
class Reading(Method):
    """A step: read a row and a column that are not known, by their weights."""

    width: float = 2.0

    def draw(self, state, u, picks):
        rows, columns = _mass(state.row_weights), _mass(state.column_weights)
        picks[:] = -1
        if state.known[0] < len(state.row_order) and state.known[1] < len(state.column_order):
            # A player whose answer is known already reads less often than the other one.
            most = max(rows, columns)
            picks[0] = _draw_unknown(state.row_weights, rows, most, u[0])
            picks[1] = _draw_unknown(state.column_weights, columns, most, u[1])

    def column(self, state, columns, at, j):
        state.column_order[state.known[1]] = j
        state.column_weights[j] = -1.0
        _copy(columns, at, state.new_columns, state.fresh[1])
        state.known[1] += 1
        state.fresh[1] += 1

    def row(self, state, rows, at, i):
        state.row_order[state.known[0]] = i
        state.row_weights[i] = -1.0
        _copy(rows, at, state.new_rows, state.fresh[0])
        state.known[0] += 1
        state.fresh[0] += 1

    def finish(self, state):
        pass


class Game(Skim):
    """A game, what is known of it, and the two smaller games of what is known."""

    name = "game"

    def __post_init__(self) -> None:
        super().__post_init__()
        n, d = self.source.shape
        matrix = self.source if isinstance(self.source, Matrix) else None
        self.by_rows = Restricted(None if matrix is None else matrix.rows, d, 1.0)
        self.by_columns = Restricted(None if matrix is None else matrix.columns, n, -1.0)
        self.method = Reading()
        self.state = _Lines(
            row_weights=np.zeros(n), column_weights=np.zeros(d),
            row_order=np.empty(n, dtype=np.int64), column_order=np.empty(d, dtype=np.int64),
            known=np.zeros(2, dtype=np.int64), fresh=np.zeros(2, dtype=np.int64),
            new_rows=np.empty((0, d)), new_columns=np.empty((0, n)),
        )  # fmt: skip
        self.eps = self.deadline = 0.0

    def run(self, limits: Limits, callback: Callback | None = None) -> Result:
        """Go on until the bounds meet or a limit is reached; may be called again for more."""
        left = math.inf if limits.max_seconds is None else limits.max_seconds - self.seconds
        self.eps, self.deadline = limits.eps, time.perf_counter() + left
        return super().run(limits, callback)

    def fallback(self) -> tuple[Vector, float, Vector]:
        """The mixes of one who knows nothing."""
        return self.by_rows.y, 0.0, self.by_columns.y

    def advance(self, steps: int, max_reads: float | None) -> bool:
        """Read new lines, but not more than make it worth while to solve the smaller games."""
        count = max(0, min(steps - self.steps, max(1, self.steps // GROWTH)))
        n, d = self.source.shape
        self.state.fresh[:] = 0
        self.state = self.state._replace(
            new_rows=np.empty((count * self.by_rows.keeps, d)),
            new_columns=np.empty((count * self.by_columns.keeps, n)),
        )
        try:
            return super().advance(self.steps + count, max_reads)
        except KeyboardInterrupt:
            self.deadline = -math.inf  # what is known is still worth a look, but a short one
            raise
        finally:
            self._learn()

    def check(self, last: bool) -> None:
        """Solve the smaller games as far as the lines at hand are worth it."""
        if min(self.state.known) == 0 or self.stalled:
            return
        gap = self.bounds.certificate.gap
        games = [self.by_rows, self.by_columns]
        whole = np.flatnonzero(self.state.known == self.source.shape)
        complete = len(whole) > 0
        if complete:  # one of the games is that of all rows and all columns
            games = [games[whole[0]]]
        taken, most = 0, max(ENOUGH, games[0].steps)
        while taken < most:
            affordable = int(WORK / max(game.entries for game in games))
            count = min(max(SLICE, min(taken, affordable)), most - taken)
            for game in games:
                if game.slack > self.eps / 20:
                    game.improve(count)
            taken += count
            self._bound()
            if self._settled(complete) or time.perf_counter() > self.deadline:
                break
        else:
            self._solve(games)
            self.stalled = complete and self.bounds.certificate.gap > 0.9 * gap
        rows, columns = self.state.row_weights, self.state.column_weights
        np.copyto(rows, self.by_columns.y, where=rows >= 0.0)
        np.copyto(columns, self.by_rows.y, where=columns >= 0.0)

    def _learn(self) -> None:
        """Give the new lines to the smaller games."""
        state = self.state
        for axis, name, game, order, copies in (
            (0, "row", self.by_rows, state.row_order, state.new_rows),
            (1, "column", self.by_columns, state.column_order, state.new_columns),
        ):
            at = game.learn(order[: state.known[axis]], copies[: state.fresh[axis]])
            if at >= 0:
                raise ValueError(f"A holds NaN or infinity in {name} {at}: payoffs must be finite")

    def _bound(self) -> None:
        """What the mixes of known lines prove; their answers prove as much if all is known."""
        n, d = self.source.shape
        rows, columns = self.state.known
        by_rows, by_columns = self.by_rows, self.by_columns
        self.bounds.dual(by_rows.floor, _spread(by_rows.p, self.state.row_order, n))
        self.bounds.primal(-by_columns.floor, _spread(by_columns.p, self.state.column_order, d))
        if rows == n:
            self.bounds.primal(by_rows.ceiling, by_rows.y)
        if columns == d:
            self.bounds.dual(-by_columns.ceiling, by_columns.y)

    def _settled(self, complete: bool) -> bool:
        """Whether to read more lines will do more good than to go on with those at hand."""
        gap = self.bounds.certificate.gap
        if complete or gap <= self.eps:
            return gap <= self.eps
        reach = -self.by_columns.ceiling - self.by_rows.ceiling  # no mix of them has a smaller gap
        return gap - reach <= (gap / 2 if reach > self.eps else self.eps / 10)

    def _solve(self, games: list[Restricted]) -> None:
        """Solve the smaller games exactly if they are small."""
        for game in games:
            if game.entries <= SMALL and game.slack > self.eps / 20:
                game.solve()
                self.name = "game, highs"
        self._bound()


def _spread(mix: Vector, order: NDArray[np.int64], count: int) -> Vector:
    out = np.zeros(count)
    out[order[: len(mix)]] = mix
    return out


@kernel
def _mass(weights):
    """The weight of the lines that are not known."""
    total = 0.0
    for i in range(len(weights)):
        total += max(weights[i], 0.0)
    return total


@kernel
def _draw_unknown(weights, mass, most, u):
    """A line that is not known, by its weight; or none (-1), with probability 1 - mass / most."""
    flat = most <= 0.0  # nothing speaks for one or the other
    if flat:
        mass = most = 1.0 * np.sum(weights >= 0.0)
    rest, last = u * most, -1
    if rest >= mass:
        return np.int64(-1)
    for i in range(len(weights)):
        if weights[i] < 0.0:
            continue
        weight = 1.0 if flat else weights[i]
        if weight > 0.0:
            last = i
            if rest < weight:
                break
            rest -= weight
    return np.int64(last)


@kernel
def _copy(rows, at, kept, place):
    if place < len(kept):
        for k in range(size(rows, at)):
            kept[place, k] = entry(rows, at, k)[1]
