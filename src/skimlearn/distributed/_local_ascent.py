"""What a partition does in a round of CoCoA+ (`cocoa`): coordinate ascent on its own variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.rows import combine, lengths, norms, stored
from skimlearn.distributed._certify import Query, certify, slopes
from skimlearn.distributed._parcel import Parcel
from skimlearn.distributed._pieces import Piece, Spec
from skimlearn.problem import Problem
from skimlearn.solvers import _ascent
from skimlearn.solvers._mirror import mirror_state, refresh

__all__ = [
    "SUMS",
    "State",
    "Turn",
    "ascend",
    "begin",
    "begin_at",
    "both",
    "climbed",
    "examine",
    "forward",
    "sums_of",
    "variables",
]

Vector = NDArray[np.float64]

EVERY = 8  # visits from one whose gap is taken down to the next
SUMS = 6  # numbers that a round sends: three sums, entries read, rows visited, entries of open rows


class State(NamedTuple):
    """The dual variables of a partition, now and before the last round."""

    a: Vector
    before: Vector


@dataclass(frozen=True)
class Turn:
    """What a round tells all partitions, beside theta."""

    number: int
    seed: int
    offset: float  # of the bias, from its centre
    centre: float
    ahead: float  # beta
    sigma: float
    epochs: int


def begin(piece: Piece, a: Vector | None = None, before: Vector | None = None) -> Any:
    """The state of a partition, all zero or as it was."""
    a = np.zeros(piece.n) if a is None else a
    return State(a, a if before is None else before), None


def begin_at(
    piece: Piece, a: Vector | None, *, spec: Spec, w: Vector | None, b: float
) -> tuple[State, Parcel]:
    """The state at variables of a former fit or, if there are none, at the slopes of its answer."""
    problem = piece.problem(spec)
    reads = 0
    if a is None:
        assert w is not None
        a, reads = slopes(piece, spec=spec, w=w, b=b), stored(piece.rows)
    a = certificates.clipped(problem, a)
    theta, weighted = np.zeros(spec.d), a * problem.weights
    combine(problem.rows, weighted / (spec.alpha * spec.n), theta)
    reads += int(lengths(piece.rows)[a != 0.0].sum())
    numbers = [float(weighted.sum()), float(weighted[a > 0.0].sum()), reads]
    return State(a, a), Parcel.of(theta, numbers)


def forward(theta: Vector, before: Vector | None, ahead: float) -> Vector:
    """The point from which a round begins."""
    return theta.copy() if before is None else theta + ahead * (theta - before)


def ascend(
    piece: Piece, pair: Any, *, spec: Spec, turn: Turn, theta: Vector, before: Vector | None,
    query: Query | None = None,
) -> tuple[State, Parcel]:  # fmt: skip
    """One round on one partition: its new state, and what it adds to theta and to the sums.

    With a query, what the partition says about the answer from which the round begins comes last.
    """
    state: State = pair[0]
    problem = piece.problem(spec)
    start, offset = forward(theta, before, turn.ahead), np.array([turn.offset])
    here, a = start.copy(), state.a.copy()
    if turn.ahead > 0.0:
        ahead = state.a + turn.ahead * (state.a - state.before)
        a = certificates.clipped(problem, ahead)
        back = (a - ahead) * problem.weights * (turn.sigma / (spec.alpha * spec.n))
        combine(problem.rows, back, here)
        offset[0] += spec.bias_square * back.sum()
    rng = np.random.default_rng([turn.seed, turn.number, piece.number])
    climbed(problem, spec, turn, rng, a, here, offset)
    sizes = lengths(piece.rows)
    visits = [turn.epochs * int(sizes.sum()), turn.epochs * problem.n]
    numbers = [*sums_of(problem, a), *visits, int(sizes[certificates.inner(problem, a)].sum())]
    if query is not None:
        numbers += examine(piece, pair, spec=spec, query=query, theta=theta)[1].numbers.tolist()
    parcel = Parcel.of((here - start) / turn.sigma, numbers)
    return State(a, state.a), parcel


def climbed(
    problem: Problem, spec: Spec, turn: Turn, rng: np.random.Generator, a: Vector, here: Vector,
    offset: Vector, enough: float | None = None,
) -> int:  # fmt: skip
    """Epochs of coordinate ascent on ``a``, ``here`` (theta) and the bias's offset, in place.

    They end early when the gap that visits see has fallen to ``enough`` of what it was.
    """
    regularizer, n = problem.regularizer, problem.n
    exponent = regularizer.exponent()
    assert problem.squares is not None
    squares = problem.squares if exponent == 2.0 else norms(problem.rows, exponent) ** 2
    h = problem.weights * (squares + spec.bias_square) * (turn.sigma / (spec.alpha * spec.n))
    phi = here if regularizer.linear() else np.zeros(spec.d)
    mirror = mirror_state(max(1.0, spec.d * n / max(1, stored(problem.rows))))
    refresh(regularizer, 1.0, here, phi, mirror)
    moved, first = np.empty(n, dtype=np.bool_), 0.0
    for epoch in range(turn.epochs):
        gap = _ascent.ascend(
            problem.rows, problem.y, problem.weights, problem.loss, regularizer,
            problem.alpha / turn.sigma, spec.bias_square, turn.centre, rng.permutation(n), float(n),
            h, a, moved, here, phi, mirror, offset,
            np.inf, EVERY,
        )  # fmt: skip
        first = max(first, gap)
        if enough is not None and gap <= enough * first:
            return epoch + 1
    return turn.epochs


def sums_of(problem: Problem, a: Vector) -> list[float]:
    """The weighted sums of all variables and of the positive ones, and that of the conjugates."""
    weighted = a * problem.weights
    conjugates = problem.n * certificates.mean_conjugate(problem, a)
    return [float(weighted.sum()), float(weighted[a > 0.0].sum()), conjugates]


def examine(
    piece: Piece, pair: Any, *, spec: Spec, query: Query, theta: Vector
) -> tuple[None, Parcel]:
    """What a partition says about an answer."""
    w = theta if spec.regularizer.linear() else spec.regularizer.link(theta)
    return None, certify(piece, pair[0].a, spec=spec, query=query, w=w, theta=theta)


def variables(piece: Piece, pair: Any) -> Vector:
    """The dual variables of a state."""
    return pair[0].a


def both(piece: Piece, pair: Any) -> tuple[Vector, Vector]:
    """All that changes of a state."""
    return pair[0].a, pair[0].before
