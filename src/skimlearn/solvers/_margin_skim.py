"""A run of `simba` or `tracking`, and the proofs of what it found, in three modes.

===================  ===========================================================================
mode                 what is promised
===================  ===========================================================================
"monte-carlo"        an answer within eps with probability at least 1/2, after a planned number
                     of steps; the upper bound is proven, the lower one open
"high-probability"   an answer within eps with probability 1 - delta: after 1, 2, 4, ... times
                     the plan all rows are estimated from columns (median of means), until the
                     estimates confirm it
"las-vegas"          a proof: all rows are read now and then, until the bounds are eps apart
===================  ===========================================================================

See Clarkson, Hazan and Woodruff (2010), corollaries II.8 to II.11.
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import Matrix
from skimlearn.solvers import _margin_state, _tracking_state
from skimlearn.solvers._limits import Bounds
from skimlearn.solvers._margin_bounds import split
from skimlearn.solvers._margin_state import (
    BIASES,
    FACTORS,
    LENGTH,
    POWER,
    T,
    rewind,
    settle,
)
from skimlearn.solvers._skim import Skim
from skimlearn.solvers._source import (
    Source,
    combination,
    longest_row,
    norm,
    not_finite,
    products,
)
from skimlearn.solvers._worst import Worst
from skimlearn.solvers.lazy_simba import lazily
from skimlearn.solvers.simba import Simba
from skimlearn.solvers.tracking import Tracking
from skimlearn.solvers.verify import verify

__all__ = ["MarginSkim"]

Vector = NDArray[np.float64]
Drawn = tuple[float, Vector, Vector, Vector]
PLAN = 6.0  # steps planned, in units of log n / eps^2: more than half of all runs need less
FIRST = 2.0  # steps before a first proof is tried, in the same units


class MarginSkim(Skim):
    """One run: its steps, and the proofs of what they found."""

    def __init__(
        self,
        source: Source,
        rng: np.random.Generator,
        *,
        y: Vector,
        settings: Simba,
        eps: float,
        mode: str = "las-vegas",
        delta: float = 0.05,
        length: float = 0.0,  # a bound of the lengths of the rows, if it is known
        threads: int = 1,  # used where the data is dense and there is no nu
    ) -> None:
        super().__init__(source, rng, maximize=True)
        if isinstance(settings, Tracking):
            settings = _suited(settings, source, mode)
        self.y, self.eps, self.mode, self.delta = y, eps, mode, delta
        self.settings = settings
        self.name = "tracking" if settings.tracks else "simba"
        self.exponent = settings.q / (settings.q - 1.0)  # of the dual norm
        soft = settings.nu > 0.0 or settings.bias > 0.0
        if length == 0.0 and (soft or mode == "high-probability"):
            length = self._longest(self.exponent) or 1.0  # any will do if all rows are zero
        self.euclidean = length
        if mode == "high-probability" and settings.q < 2.0:
            self.euclidean = self._longest(2.0)  # estimates from columns need it
        sparse = isinstance(source, Matrix) and source.sparse
        self.method = lazily(settings, source)
        make_state: Any = (
            _tracking_state.make_state if settings.tracks else _margin_state.make_state
        )
        self.state = make_state(self.method, y, source.shape[1], sparse=sparse, length=length)
        if isinstance(source, Matrix) and not sparse and settings.nu == 0.0:
            self.threads = threads
        self.start = self.older = self.newer = self._drawn()
        self.entries = source.shape[0] * source.shape[1]
        if isinstance(source, Matrix):
            self.entries = source.entries
        self.begun = 0.0  # where the mean of x begins, in steps of the state
        self.level = math.nan  # the greatest response of those that the answer is measured by
        self.proofs = 0  # how many were tried
        self.due = 0.0  # how much work is done before the next one is

    def _longest(self, exponent: float) -> float:
        length, entries = longest_row(self.source, exponent)
        self.certified += entries
        return length

    # ------------------------------------------------------------------------------- the averages

    def sum_of_x(self) -> Vector:
        """The sum of x over the steps, or over some of them."""
        state, scalars = self.state, self.state.scalars
        if self.settings.tracks:
            return _tracking_state.sum_of_x(state)
        if self.settings.q == 2.0:
            return scalars[FACTORS] * state.s - state.late
        link = np.sign(state.s) * np.abs(state.s) ** (self.exponent - 1.0)
        return state.late + link * (scalars[FACTORS] - state.last)

    def _answer(self) -> tuple[Vector, float]:
        """The mean of x, in the unit ball, and of the bias, over all steps."""
        if self.settings.tracks:
            return _tracking_state.mean_of_x(self.state)
        scalars = self.state.scalars
        steps = float(scalars[T] - self.begun)
        return self.sum_of_x() / steps, float(scalars[BIASES] * scalars[LENGTH] / steps)

    def _drawn(self) -> Drawn:
        """What was drawn so far: steps, sums of the rows, of their counts and of p."""
        state = self.state
        return float(state.scalars[T]), state.s.copy(), state.counts.copy(), self._mass().copy()

    def _mass(self) -> Vector:
        """The sum of p over the steps, or over some of them."""
        if self.method.lazy:
            settle(self.state)
        mass: Vector = self.state.mass
        return mass

    def _since(self, start: Drawn) -> tuple[float, Vector, Vector]:
        """The steps since then, and means over them: of the rows drawn and of their counts."""
        state = self.state
        steps = float(state.scalars[T]) - start[0]
        return steps, (state.s - start[1]) / steps, (state.counts - start[2]) / steps

    def fallback(self) -> tuple[Vector, float, Vector]:
        n, d = self.source.shape
        if self.steps == 0:
            return np.zeros(d), 0.0, np.full(n, 1.0 / n)
        p = self._since(self.start)[2]
        return (*self._answer(), p)

    # --------------------------------------------------------------------------------- the bounds

    @property
    def worst(self) -> Worst:
        """What the margin is measured by."""
        length = float(self.state.scalars[LENGTH])
        settings = self.settings
        return Worst(len(self.y), length, settings.nu, settings.cap, settings.bias > 0.0)

    def planned(self) -> float:
        """Steps after which half of all runs are within eps."""
        if self.mode != "monte-carlo":
            return math.inf
        return self._plan(self.eps, PLAN) + self.steps - self._drew()

    def _drew(self) -> int:
        """Steps that drew a row: an opening has others."""
        return int(self.state.scalars[T]) if self.settings.tracks else self.steps

    def _plan(self, eps: float, factor: float) -> float:
        length = float(self.state.scalars[LENGTH])
        if length == 0.0 and self.steps == 0:
            return math.inf  # not known yet; later it means that all rows are zero
        columns = self.settings.width - 1.0
        return max(8.0, factor * math.log(max(len(self.y), 2)) * (length / eps) ** 2 / columns)

    def check(self, last: bool) -> None:
        """Free upper bounds; and, when it is due, a proof of the answer."""
        state = self.state
        if self.steps == 0:
            return
        sums = state.scalars[
            [FACTORS, POWER, *((_tracking_state.SPREAD,) if self.settings.tracks else ())]
        ]
        if not (np.isfinite(sums).all() and np.isfinite(state.weights).all()):
            raise not_finite()
        for start in (self.start, self.older):  # the later half forgets how it began
            _, rows, p = self._since(start)
            p, moved = self.worst.allowed(p)
            self._dual(norm(rows, self.exponent) + moved * float(state.scalars[LENGTH]), p)
        if self.mode == "las-vegas" and (last or self._work() >= self.due):
            self._prove(last)
        elif self.mode == "high-probability" and (last or self.steps >= self.due):
            self._confirm(last)
        if state.scalars[T] >= 2.0 * self.newer[0]:
            self.older, self.newer = self.newer, self._drawn()

    def _work(self) -> float:
        """Entries read by the steps; those that an oracle had at hand included."""
        if isinstance(self.source, Matrix):
            return self.reads.nnz
        n, d = self.source.shape
        return self._drew() * ((self.settings.width - 1.0) * n + d)

    def _prove(self, last: bool) -> None:
        """Read all rows for the exact value of the mean of x, once the steps have read as much."""
        if self.proofs == 0:
            half = 0.5 * self._plan(self.eps, FIRST) / max(self._drew(), 1) * self._work()
            self.due = min(0.5 * self.entries, half)
            if not last and self._work() < self.due:
                return
        x, bias = self._answer()
        length = norm(x, self.settings.q)
        c = self.y * products(self.source, x, self.certify)
        value, factor, bias = self.worst.improve(c, self.y, length, bias)
        self._answers(value, factor, x, bias, c)
        if len(self.state.mass):
            p = self._mass() - self.older[3]
            p = p if p.any() else self._since(self.older)[2]  # the former is less noisy
            p /= p.sum()
            if self.settings.tracks:  # turns may be uneven: each class is given its mass
                sides = split(self.y, self.settings.cap, bias=self.settings.bias > 0.0)
                p = sides.repaired(p)
                p /= p.sum()
            self._dual(norm(combination(self.source, p * self.y, self.certify), self.exponent), p)
        self.proofs += 1
        self.due = max(1.25 * self._work(), self._work() + 0.5 * self.entries)

    def _confirm(self, last: bool) -> None:
        """Estimate all rows from columns, well enough to accept the mean of x."""
        third = self.eps / 3.0
        if self.proofs == 0:
            self.due = self._plan(third, FIRST)
            if not last and self.steps < self.due:
                return
        self.proofs += 1
        tail = self.delta / (2.0 * self.proofs**2)  # the sum over all proofs is below delta
        if len(self.state.mass):
            tail /= 2.0  # one half for each side
        x, bias = self._answer()
        length = norm(x, self.settings.q)
        answer = verify(
            self.source, x, y=self.y, eps=third, delta=tail, rng=self.rng,
            rows_norm=self.euclidean,
        )  # fmt: skip
        self.certified += answer.reads
        value, factor, bias = self.worst.improve(answer.estimates, self.y, length, bias)
        value -= factor * answer.error
        if value > self.bounds.lower and not answer.exact:
            self.bounds.failure = self.delta
        self._answers(value, factor, x, bias, answer.estimates)
        if len(self.state.mass) and self.bounds.certificate.gap > self.eps:
            self._trust(tail)
        self.due = 2.0 * self.steps

    def _trust(self, tail: float) -> None:
        """A bound from the mean of p, less noisy than the counts, that fails with this probability.

        The mean of the rows drawn is A' times the mean of p, up to a martingale with steps of at
        most 2 R and a variance of at most R^2; see Pinelis, "Optimum bounds for the
        distributions of martingales in Banach spaces" (1994), a bound like Bernstein's.
        """
        steps, rows, _ = self._since(self.older)
        if self.older[0] < self.begun:
            return  # the rows drawn are in part from before a restart
        log = math.log(2.0 / tail)
        linear = 2.0 / 3.0 * log
        error = self.euclidean * (linear + math.sqrt(linear**2 + 2.0 * steps * log)) / steps
        p = self._mass() - self.older[3]
        if not p.any():
            return
        before = self.bounds.upper
        self._dual(norm(rows, self.exponent) + error, p / p.sum())
        if self.bounds.upper < before:
            self.bounds.failure = self.delta

    def _dual(self, norm: float, p: Vector) -> None:
        """Consider the bound from a distribution, given ||A'p|| or more."""
        self.bounds.dual(self.worst.bound(norm, p, self.y), p)

    def _answers(self, value: float, factor: float, x: Vector, bias: float, c: Vector) -> None:
        """Consider a multiple of x, given the responses of x or their estimates."""
        if value > self.bounds.lower:
            self.level = self.worst.level(factor * c + bias * self.y)
        self.bounds.primal(value, factor * x, bias)

    def restart(self, settings: Simba, keep: float = 0.25) -> None:
        """Go on with other settings: the steps so far count for a part of what they were."""
        state = self.state
        rewind(state, keep, settings.cap, self.exponent)
        self.method, self.settings = replace(self.method, **asdict(settings)), settings
        self.bounds, self.history, self.seconds = Bounds(maximize=True), [], 0.0
        self.tally[:], self.certified, self.goal, self.proofs, self.due = 0, 0, 0, 0, 0.0
        self.begun, self.level = float(state.scalars[T]), math.nan
        n, d = self.source.shape
        self.start = (0.0, np.zeros(d), np.zeros(n), np.zeros(len(state.mass)))
        self.older = self.newer = self.start


def _suited(settings: Tracking, source: Source, mode: str) -> Tracking:
    """The settings, without what the source or the proof rules out."""
    if mode == "high-probability":  # `_trust` asks for the mean of all p, none above the cap
        return replace(settings, part=1.0, opening=0.0)
    if not isinstance(source, Matrix) or source.ahead != (None, None):
        return replace(settings, sample=math.inf)  # parts of columns save nothing there
    return settings
