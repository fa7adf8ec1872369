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

Joint rounds. With the hinge few rows are open after some rounds, and these are what the safe sum
makes slow: to move one of them, others must give way, many of which are on other partitions. Once
they are few, every other round visits them alone, in one place (`_joint`). It never lowers D, and
the momentum begins anew.

What travels. Theta goes to every worker once in a round, for the check and for the changes; the
point ahead is made there, of this theta and the former one. Each partition sends delta_k. A check
sends numbers only (`_certify`). While the gap is far from its target, a check and the round after
it are one task for each partition: the check will hardly say "stop", and a task has a price.

Free bias. As in `solvers.dual` the bias is regularised towards a centre that moves to where the
bias went, after each round (docs/decisions/0002-free-bias.md). Its constant feature has 1 / K of
the mean squared length of the rows: it is common to all partitions, each of which moves it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.distributed._certify import Answer, Biases, Query, asked, judged
from skimlearn.distributed._joint import join, opened, returned
from skimlearn.distributed._local_ascent import (
    SUMS,
    Turn,
    ascend,
    begin,
    begin_at,
    both,
    examine,
    forward,
    variables,
)
from skimlearn.distributed._parcel import Parcel
from skimlearn.distributed._pieces import Former, Spec
from skimlearn.distributed._team import summed

__all__ = ["Ascent"]

Vector = NDArray[np.float64]

EPOCHS = 2  # over the rows of a partition, in a round
FEW = 3  # joint rounds begin when the entries of open rows are so many times fewer than all
MOST_OPEN = 4_000_000  # entries that are visited in one place, some 50 MB
LONGEST = 100  # epochs of a joint round; it reads no more than another one
SHORT = 65536  # bytes that may travel without need
CLOSE = 1e-6  # a relative gap at which rounding in theta would show


class Ascent:
    """Accelerated CoCoA+ in progress.

    ``tol`` is the gap that is wanted: far from it, checks are made together with the next round.
    """

    name = "cocoa+"
    numbers = 14  # that a checkpoint has beside the vectors
    accelerated = True
    joins = True  # whether there are joint rounds

    def __init__(
        self, team: Any, spec: Spec, seed: int, *, epochs: int = EPOCHS, tol: float | None = None,
        start: Former | None = None,
    ) -> None:  # fmt: skip
        self.team, self.spec, self.seed, self.epochs, self.tol = team, spec, seed, epochs, tol
        self.theta = self.theta_before = np.zeros(spec.d)
        self.shared: list[Any] = [None, None]  # the former theta and this one, where they are known
        self.offset = self.offset_before = self.centre = 0.0
        self.sums = (0.0, 0.0)  # of the positive variables, and of all
        self.momentum, self.value = 1.0, -math.inf
        self.rounds = self.reads = self.visits = self.moved = 0
        self.joint = 0  # epochs of the next round at most, if it is a joint one
        self.biases = Biases(spec.bias)
        self.close = False  # so near the optimum that rounding in theta would show
        self.gaps = (math.inf, math.inf)  # at the last two checks
        self.entered = (0.0, False)  # width of the biases and closeness, after the last round
        self.begun: tuple[list[Any], Parcel] | None = None  # the next round, made with a check
        # states that are short beside a vector need no task that keeps them where they are
        self.light = 16 * spec.n / team.count <= max(4 * spec.d, SHORT)
        self.states: list[Any] = []
        if start is None:
            self.states = team.each("begin", begin)
        else:
            self._begin_at(start)

    def _begin_at(self, start: Former) -> None:
        """Begin at a former answer."""
        team, spec = self.team, self.spec
        w = team.share("answer", start.w) if start.parts is None else None
        parts: list[Any] = start.parts or [None] * team.count
        states = team.each("begin", begin_at, parts, spec=spec, w=w, b=start.b)
        parcel = team.total(states, light=self.light)
        total, up, reads = parcel.numbers.tolist()
        self.states, self.sums, self.reads = states, (up, total), int(reads)
        self.theta = self.theta_before = parcel.vector
        self.offset = self.offset_before = spec.bias_square * total / (spec.alpha * spec.n)
        self.centre = start.b if spec.bias == "free" else 0.0
        self.moved = parcel.moved

    def advance(self) -> None:
        """One round."""
        spec, turn = self.spec, self._turn()
        states, parcel = self.begun or self._made(None)
        self.states, self.begun = states, None
        total, up, conjugates, reads, visits, still_open = parcel.numbers[:SUMS].tolist()
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
        if self.joint:  # the next round begins here
            self.theta_before, self.shared = self.theta, [None, None]
            self.offset_before, self.momentum = self.offset, 1.0
        else:
            self.momentum = 1.0 if value < self.value else self._lead()[0]
            self.moved += 16 * spec.n if self.light else 0
        joins = self.joins and not self.joint and self.team.count > 1
        few = 0.0 < still_open <= min(reads / self.epochs / FEW, MOST_OPEN)
        self.joint = int(min(reads / still_open, LONGEST)) if joins and few else 0
        self.value = value
        self.rounds += 1
        self.reads += int(reads)
        self.visits += int(visits)
        self.moved += parcel.moved
        self.entered = (self.biases.width, self.close)

    def check(self) -> Answer:
        """The certificate of the present answer."""
        spec = self.spec
        b = self.centre + self.offset
        query = asked(spec, b, self.sums, self.biases, self.close)
        if self._is_far():
            self.begun = self._made(query)
            whole = self.begun[1]
            parcel = replace(whole, numbers=whole.numbers[SUMS:])
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

    def _made(self, query: Query | None) -> tuple[list[Any], Parcel]:
        """A round from here: the states then, and the sums."""
        turn, theta = self._turn(), self._known()
        given = {"spec": self.spec, "theta": theta, "query": query}
        if self.joint:
            return self._joined(turn, given)
        before = self._known(former=True) if turn.ahead > 0.0 else None
        states = self.team.each("ascend", ascend, self.states, turn=turn, before=before, **given)
        return states, self.team.total(states, light=self.light)

    def _joined(self, turn: Turn, given: dict[str, Any]) -> tuple[list[Any], Parcel]:
        """A joint round. The client has the new variables, so a state depends on no other."""
        team, spec = self.team, self.spec
        pairs = team.each("open", opened, self.states, **given)
        one = team.once("join", join, pairs, spec=spec, turn=turn, theta=given["theta"])
        parts, parcel = team.fetch([one])[0]
        return team.each("return", returned, self.states, parts, spec=spec), parcel

    def _turn(self) -> Turn:
        ahead = 0.0 if self.joint else self._lead()[1]
        offset = self.offset + ahead * (self.offset - self.offset_before)
        centre = self.centre + (self.offset if self.spec.bias == "free" else 0.0)
        sigma, epochs = float(self.team.count), self.epochs
        if self.joint:
            sigma, epochs = 1.0, self.joint
        return Turn(self.rounds, self.seed, offset, centre, ahead, sigma, epochs)

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
                self.rounds, self.reads, self.visits, self.moved, self.joint, *self.entered,
            ]
        )  # fmt: skip
        return arrays

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take up what `dump` gave."""
        count = self.team.count
        self.theta, self.theta_before = arrays["theta"], arrays["theta_before"]
        (
            self.offset, self.offset_before, self.centre, up, total, self.momentum, self.value,
            rounds, reads, visits, moved, joint, self.biases.width, close,
        ) = arrays["numbers"].tolist()  # fmt: skip
        self.sums, self.close = (up, total), bool(close)
        self.entered = (self.biases.width, self.close)
        self.rounds, self.reads, self.visits = int(rounds), int(reads), int(visits)
        self.moved, self.joint = int(moved), int(joint)
        self.shared, self.begun = [None, None], None
        self.states = self.team.each(
            "begin", begin, [arrays[f"a.{k}"] for k in range(count)],
            [arrays[f"before.{k}"] for k in range(count)],
        )  # fmt: skip
