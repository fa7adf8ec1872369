r"""CoCoA+, accelerated: dual coordinate ascent on partitions, for every loss and regularizer.

Problem:  min over w, b of  alpha r(w) + bias term + (1/n) sum m_i loss(<w, x_i> + b, y_i), its rows
in K partitions. With theta = sum m_i a_i x_i / (alpha n) and w = grad r*(theta), the dual is to
maximise  D(a) = -alpha r*(theta) - (1/n) sum m_i loss*(-a_i).

A round. Partition k gets theta and changes its own variables, some epochs of coordinate ascent, for
the problem in which every change counts K-fold:

    max over the changes  -(alpha / K) r*(theta + K delta_k) - (1/n) sum over k of m_i loss*(-a_i),

with delta_k what its changes add to theta. All are added up: theta <- theta + sum delta_k. This
never overshoots, for any convex r*: theta + sum delta_k is the mean of the theta + K delta_k, so r*
there is at most the mean of its values (Jensen). For r = ||w||^2 / 2 it is CoCoA+ with sigma' = K
and gamma = 1: Ma, Smith, Jaggi, Jordan, Richtarik and Takac, "Adding vs. averaging in distributed
primal-dual optimization" (2015). The kernel is that of `solvers.dual`, with alpha / K.

Acceleration. A round maximises a lower bound of D around the point where it begins, so that point
may lie ahead (Nesterov; Beck and Teboulle, "FISTA", 2009): a + beta (a - former a), and the same
for theta, which is linear in a and so needs no message. Variables ahead are moved back into their
domain on the partitions. When D has fallen the momentum begins anew.

Free bias. As in `solvers.dual` the bias is regularised towards a centre that moves to where the
bias went, after each round (docs/decisions/0002-free-bias.md). Its constant feature has 1 / K of
the mean squared length of the rows: it is common to all partitions, each of which moves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.rows import combine, lengths, norms
from skimlearn.distributed._certify import Answer, Biases, checked
from skimlearn.distributed._parcel import Parcel
from skimlearn.distributed._pieces import Piece, Spec
from skimlearn.solvers._mirror import mirror_state, refresh
from skimlearn.solvers.dual import _ascend

__all__ = ["Ascent", "State", "Turn", "ascend", "begin"]

Vector = NDArray[np.float64]

EPOCHS = 2  # over the rows of a partition, in a round


class State(NamedTuple):
    """The dual variables of a partition, now and before the last round."""

    a: Vector
    before: Vector
    squares: Vector  # ||x_i||_q^2


@dataclass(frozen=True)
class Turn:
    """What a round gives to all partitions."""

    number: int
    seed: int
    theta: Vector
    offset: float  # of the bias, from its centre
    centre: float
    ahead: float  # beta
    sigma: float
    epochs: int


def begin(
    piece: Piece, a: Vector | None = None, before: Vector | None = None, *, spec: Spec
) -> Any:
    """The state of a partition, all zero or as it was."""
    exponent = spec.regularizer.exponent()
    squares = piece.squares if exponent == 2.0 else norms(piece.rows, exponent) ** 2
    a = np.zeros(piece.n) if a is None else a
    return State(a, a if before is None else before, squares), None


def ascend(piece: Piece, pair: Any, *, spec: Spec, turn: Turn) -> tuple[State, Parcel]:
    """One round on one partition: its new state, and what it adds to theta and to the sums."""
    state: State = pair[0]
    problem = piece.problem(spec)
    n, scale = problem.n, turn.sigma / (spec.alpha * spec.n)
    h = problem.weights * (state.squares + spec.bias_square) * scale
    theta, offset = turn.theta.copy(), np.array([turn.offset])
    a = state.a.copy()
    if turn.ahead > 0.0:
        ahead = state.a + turn.ahead * (state.a - state.before)
        a = certificates.clipped(problem, ahead)
        back = (a - ahead) * problem.weights * scale
        combine(problem.rows, back, theta)
        offset[0] += spec.bias_square * back.sum()
    regularizer = problem.regularizer
    phi = theta if regularizer.linear() else np.zeros(spec.d)
    entries = int(lengths(piece.rows).sum())
    mirror = mirror_state(max(1.0, spec.d * n / max(1, entries)))
    refresh(regularizer, 1.0, theta, phi, mirror)
    moved = np.empty(n, dtype=np.bool_)
    rng = np.random.default_rng([turn.seed, turn.number, piece.number])
    for _ in range(turn.epochs):
        _ascend(
            problem.rows, problem.y, problem.weights, problem.loss, regularizer,
            problem.alpha / turn.sigma, spec.bias_square, turn.centre, rng.permutation(n), float(n),
            h, a, moved, theta, phi, mirror, offset,
        )  # fmt: skip
    weighted = a * problem.weights
    numbers = [
        float(weighted.sum()),
        float(weighted[a > 0.0].sum()),
        n * certificates.mean_conjugate(problem, a),
        turn.epochs * entries,
    ]
    parcel = Parcel.of((theta - turn.theta) / turn.sigma, numbers)
    return State(a, state.a, state.squares), parcel


def variables(piece: Piece, pair: Any) -> Vector:
    """The dual variables of a state."""
    return pair[0].a


def both(piece: Piece, pair: Any) -> tuple[Vector, Vector]:
    """All that changes of a state."""
    return pair[0].a, pair[0].before


class Ascent:
    """Accelerated CoCoA+ in progress."""

    name = "cocoa+"

    def __init__(self, team: Any, spec: Spec, seed: int, *, epochs: int = EPOCHS) -> None:
        self.team, self.spec, self.seed, self.epochs = team, spec, seed, epochs
        self.states = team.each("begin", begin, spec=spec)
        self.theta = self.theta_before = np.zeros(spec.d)
        self.offset = self.offset_before = self.centre = 0.0
        self.sums = (0.0, 0.0)  # of the positive variables, and of all
        self.momentum, self.value = 1.0, -math.inf
        self.rounds = self.reads = self.moved = 0
        self.biases = Biases(spec.bias)
        self.close = False

    def advance(self) -> None:
        """One round."""
        spec = self.spec
        former, self.momentum = self.momentum, 0.5 + math.sqrt(0.25 + self.momentum**2)
        ahead = (former - 1.0) / self.momentum
        if spec.bias == "free":
            self.centre += self.offset
        theta = self.theta + ahead * (self.theta - self.theta_before)
        offset = self.offset + ahead * (self.offset - self.offset_before)
        turn = Turn(
            self.rounds, self.seed, theta, offset, self.centre, ahead, float(self.team.count),
            self.epochs,
        )  # fmt: skip
        shared = self.team.share("turn", turn)
        states = self.team.each("ascend", ascend, self.states, spec=spec, turn=shared)
        parcel = self.team.total(states)
        total, up, conjugates, reads = parcel.numbers.tolist()
        self.states = states
        self.theta_before, self.theta = self.theta, theta + parcel.vector
        self.offset_before = self.offset
        self.offset = spec.bias_square * total / (spec.alpha * spec.n)
        self.sums = (up, total)
        value = -spec.alpha * spec.regularizer.penalty_dual(self.theta) - conjugates / spec.n
        if spec.bias_square > 0.0:
            value -= 0.5 * spec.alpha * self.offset**2 / spec.bias_square
            value -= self.centre * total / spec.n
        if value < self.value:
            self.momentum = 1.0
        self.value = value
        self.rounds += 1
        self.reads += int(reads)
        self.moved += parcel.moved + self.team.workers * theta.nbytes

    def check(self) -> Answer:
        """The certificate of the present answer."""
        answer = self.spec.regularizer.link(self.theta), self.centre + self.offset
        team = self.team
        found, parcel = checked(
            team, self.spec, self.states, answer, self.sums, self.theta, self.biases,
            exact=self.close,
        )  # fmt: skip
        self.moved += parcel.moved + team.workers * self.theta.nbytes
        self.close = found.primal - found.dual < 1e-6 * abs(found.primal)
        return found

    def variables(self, states: list[Any], answer: Answer) -> Vector:
        """The balanced dual variables of the rows of all pieces, in their order."""
        parts = self.team.fetch(self.team.each("variables", variables, states))
        a = np.concatenate(parts)
        return np.asarray(a * np.where(a > 0.0, answer.up, answer.down))

    # ------------------------------------------------------------------------------- checkpoints

    def dump(self) -> dict[str, NDArray[Any]]:
        """All of the state, as arrays; the partitions go on from what the client has."""
        pairs = self.team.fetch(self.team.each("snapshot", both, self.states))
        arrays = {"theta": self.theta, "theta_before": self.theta_before}
        for k, (a, before) in enumerate(pairs):
            arrays |= {f"a.{k}": a, f"before.{k}": before}
        arrays["numbers"] = np.array(
            [
                self.offset, self.offset_before, self.centre, *self.sums, self.momentum, self.value,
                self.rounds, self.reads, self.moved, self.biases.width, self.close,
            ]
        )  # fmt: skip
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take up what `dump` gave."""
        count = self.team.count
        self.theta, self.theta_before = arrays["theta"], arrays["theta_before"]
        (
            self.offset, self.offset_before, self.centre, up, total, self.momentum, self.value,
            rounds, reads, moved, self.biases.width, close,
        ) = arrays["numbers"].tolist()  # fmt: skip
        self.sums, self.close = (up, total), bool(close)
        self.rounds, self.reads, self.moved = int(rounds), int(reads), int(moved)
        self.states = self.team.each(
            "begin", begin, [arrays[f"a.{k}"] for k in range(count)],
            [arrays[f"before.{k}"] for k in range(count)], spec=self.spec,
        )  # fmt: skip
