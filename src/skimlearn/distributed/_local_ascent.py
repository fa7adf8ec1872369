"""What a partition does in a round of CoCoA+ (`cocoa`): coordinate ascent on its own variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.rows import combine, lengths, norms
from skimlearn.distributed._certify import Query, certify, slopes
from skimlearn.distributed._parcel import Parcel
from skimlearn.distributed._pieces import Piece, Spec
from skimlearn.solvers._mirror import mirror_state, refresh
from skimlearn.solvers.dual import _ascend

__all__ = [
    "State",
    "Turn",
    "ascend",
    "begin",
    "begin_at",
    "both",
    "examine",
    "forward",
    "variables",
]

Vector = NDArray[np.float64]


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
        a, reads = slopes(piece, spec=spec, w=w, b=b), int(lengths(piece.rows).sum())
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
    regularizer = problem.regularizer
    n, scale = problem.n, turn.sigma / (spec.alpha * spec.n)
    exponent = regularizer.exponent()
    squares = piece.squares if exponent == 2.0 else norms(piece.rows, exponent) ** 2
    h = problem.weights * (squares + spec.bias_square) * scale
    start, offset = forward(theta, before, turn.ahead), np.array([turn.offset])
    here, a = start.copy(), state.a.copy()
    if turn.ahead > 0.0:
        ahead = state.a + turn.ahead * (state.a - state.before)
        a = certificates.clipped(problem, ahead)
        back = (a - ahead) * problem.weights * scale
        combine(problem.rows, back, here)
        offset[0] += spec.bias_square * back.sum()
    phi = here if regularizer.linear() else np.zeros(spec.d)
    entries = int(lengths(piece.rows).sum())
    mirror = mirror_state(max(1.0, spec.d * n / max(1, entries)))
    refresh(regularizer, 1.0, here, phi, mirror)
    moved = np.empty(n, dtype=np.bool_)
    rng = np.random.default_rng([turn.seed, turn.number, piece.number])
    for _ in range(turn.epochs):
        _ascend(
            problem.rows, problem.y, problem.weights, problem.loss, regularizer,
            problem.alpha / turn.sigma, spec.bias_square, turn.centre, rng.permutation(n), float(n),
            h, a, moved, here, phi, mirror, offset,
        )  # fmt: skip
    weighted = a * problem.weights
    numbers = [
        float(weighted.sum()),
        float(weighted[a > 0.0].sum()),
        n * certificates.mean_conjugate(problem, a),
        turn.epochs * entries,
    ]
    if query is not None:
        numbers += examine(piece, pair, spec=spec, query=query, theta=theta)[1].numbers.tolist()
    parcel = Parcel.of((here - start) / turn.sigma, numbers)
    return State(a, state.a), parcel


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
