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

What travels. Theta goes to every worker once in a round, for the check and for the changes; the
point ahead is made there, of this theta and the former one. Each partition sends delta_k. A check
sends numbers only (`_certify`). While the gap is far from its target, a check and the round after it
are one task for each partition: what the check says will hardly be "stop", and a task has a price.

Free bias. As in `solvers.dual` the bias is regularised towards a centre that moves to where the
bias went, after each round (docs/decisions/0002-free-bias.md). Its constant feature has 1 / K of
the mean squared length of the rows: it is common to all partitions, each of which moves it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.rows import combine, lengths, norms
from skimlearn.distributed._certify import Answer, Biases, Query, asked, certify, judged
from skimlearn.distributed._parcel import Parcel
from skimlearn.distributed._pieces import Piece, Spec
from skimlearn.distributed._team import summed
from skimlearn.solvers._mirror import mirror_state, refresh
from skimlearn.solvers.dual import _ascend

__all__ = ["Ascent", "State", "Turn", "ascend", "begin"]

Vector = NDArray[np.float64]

EPOCHS = 2  # over the rows of a partition, in a round
SHORT = 65536  # bytes that may travel without need
CLOSE = 1e-6  # a relative gap at which rounding in theta would show


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


class Ascent:
    """Accelerated CoCoA+ in progress.

    ``tol`` is the gap that is wanted: far from it, checks are made together with the next round.
    """

    name = "cocoa+"
    accelerated = True

    def __init__(
        self, team: Any, spec: Spec, seed: int, *, epochs: int = EPOCHS, tol: float | None = None
    ) -> None:
        self.team, self.spec, self.seed, self.epochs, self.tol = team, spec, seed, epochs, tol
        self.states = team.each("begin", begin)
        self.theta = self.theta_before = np.zeros(spec.d)
        self.shared: list[Any] = [None, None]  # the former theta and this one, where they are known
        self.offset = self.offset_before = self.centre = 0.0
        self.sums = (0.0, 0.0)  # of the positive variables, and of all
        self.momentum, self.value = 1.0, -math.inf
        self.rounds = self.reads = self.moved = 0
        self.biases = Biases(spec.bias)
        self.close = False  # so near the optimum that rounding in theta would show
        self.gaps = (math.inf, math.inf)  # at the last two checks
        self.entered = (0.0, False)  # width of the biases and closeness, after the last round
        self.begun: tuple[list[Any], Parcel] | None = None  # the next round, made with a check
        # states that are short beside a vector need no task that keeps them where they are
        self.light = 16 * spec.n / team.count <= max(4 * spec.d, SHORT)

    def advance(self) -> None:
        """One round."""
        spec, turn = self.spec, self._turn()
        states, parcel = self.begun or self._ascended(None)
        self.states, self.begun = states, None
        total, up, conjugates, reads = parcel.numbers[:4].tolist()
        before = self.theta_before if turn.ahead > 0.0 else None
        start = forward(self.theta, before, turn.ahead)
        self.theta_before, self.theta = self.theta, start + parcel.vector
        self.shared = [self.shared[1], None]
        self.offset_before, self.centre = self.offset, turn.centre
        self.offset = spec.bias_square * total / (spec.alpha * spec.n)
        self.sums = (up, total)
        value = -spec.alpha * spec.regularizer.penalty_dual(self.theta) - conjugates / spec.n
        if spec.bias_square > 0.0:
            value -= 0.5 * spec.alpha * self.offset**2 / spec.bias_square
            value -= self.centre * total / spec.n
        self.momentum = 1.0 if value < self.value else self._lead()[0]
        self.value = value
        self.rounds += 1
        self.reads += int(reads)
        self.moved += parcel.moved + (16 * spec.n if self.light else 0)
        self.entered = (self.biases.width, self.close)

    def check(self) -> Answer:
        """The certificate of the present answer."""
        spec = self.spec
        b = self.centre + self.offset
        query = asked(spec, b, self.sums, self.biases, self.close)
        if self._is_far():
            self.begun = self._ascended(query)
            whole = self.begun[1]
            parcel = replace(whole, numbers=whole.numbers[4:])
        else:
            given = {"spec": spec, "query": query, "theta": self._known()}
            pairs = self.team.each("certify", examine, self.states, **given)
            if query.afresh:
                parcel = self.team.total(pairs, light=True)
            else:
                parcel = summed([pair[1] for pair in self.team.fetch(pairs)])
            self.moved += parcel.moved
        w = spec.regularizer.link(self.theta)
        found = judged(spec, w, self.theta, query, parcel, self.biases)
        gap = (found.primal - found.dual) / abs(found.primal) if found.primal else 0.0
        self.close, self.gaps = gap < CLOSE, (self.gaps[1], gap)
        return found

    def _is_far(self) -> bool:
        """Whether this check will hardly be the last one, if the gap falls as it did."""
        if self.tol is None or self.close:
            return False
        former, last = self.gaps
        if not math.isfinite(last):
            return self.rounds == 0
        return last * min(1.0, last / former) > 2.0 * self.tol

    def _ascended(self, query: Query | None) -> tuple[list[Any], Parcel]:
        """A round of all partitions from here: their states then, and the sum of what they send."""
        turn = self._turn()
        before = self._known(former=True) if turn.ahead > 0.0 else None
        given = {"spec": self.spec, "turn": turn, "before": before, "query": query}
        states = self.team.each("ascend", ascend, self.states, theta=self._known(), **given)
        return states, self.team.total(states, light=self.light)

    def _turn(self) -> Turn:
        ahead = self._lead()[1]
        offset = self.offset + ahead * (self.offset - self.offset_before)
        centre = self.centre + (self.offset if self.spec.bias == "free" else 0.0)
        sigma = float(self.team.count)
        return Turn(self.rounds, self.seed, offset, centre, ahead, sigma, self.epochs)

    def _lead(self) -> tuple[float, float]:
        """The next momentum, and by how much of the last step to go ahead."""
        momentum = 0.5 + math.sqrt(0.25 + self.momentum**2)
        return momentum, (self.momentum - 1.0) / momentum if self.accelerated else 0.0

    def _known(self, former: bool = False) -> Any:
        """Theta, or the former one, on the workers; each is sent once."""
        at = 0 if former else 1
        if self.shared[at] is None:
            vector = self.theta_before if former else self.theta
            self.shared[at] = self.team.share("theta", vector)
            self.moved += self.team.workers * vector.nbytes
        return self.shared[at]

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
                self.rounds, self.reads, self.moved, *self.entered,
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
        self.entered = (self.biases.width, self.close)
        self.rounds, self.reads, self.moved = int(rounds), int(reads), int(moved)
        self.shared, self.begun = [None, None], None
        self.states = self.team.each(
            "begin", begin, [arrays[f"a.{k}"] for k in range(count)],
            [arrays[f"before.{k}"] for k in range(count)],
        )  # fmt: skip
