"""One run over the simplex: sublinear steps, proofs at the right times, and a finisher.

===================  ===========================================================================
mode                 what is promised
===================  ===========================================================================
"monte-carlo"        an answer within eps in at least half of all runs; no proof is read
"high-probability"   bounds that fail with probability delta at most: rows are estimated from
                     columns drawn anew, or read, whichever is less
"las-vegas"          a proof: all rows are read now and then, until the bounds are eps apart
===================  ===========================================================================

The gap of the sublinear steps falls with the root of what they read. As soon as that says that they
would have to read more than some passes over a matrix, the rows that carry weight go to a `Finish`,
which needs few passes, but all of them over all rows.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import Matrix
from skimlearn.data.oracle import ReadLimit
from skimlearn.data.rows import size
from skimlearn.result import Result
from skimlearn.solvers._core_set import Finish
from skimlearn.solvers._limits import Limits, check_promise
from skimlearn.solvers._simplex import (
    EXTRA,
    EXTRAS,
    LINEAR,
    LONGEST,
    MOMENT,
    SINCE,
    SQUARE,
    WEIGHT,
    SimplexSteps,
    make_state,
)
from skimlearn.solvers._skim import DENSE, STORED, Callback, Skim

__all__ = ["SimplexRun"]

Vector = NDArray[np.float64]
FEWEST = 8  # steps before their regret says anything
PASSES = 8  # what a finish is expected to read, in passes over the matrix
CLIPPED = 2.57  # error of a clipped mean, in units of sqrt(second moment * log(1 / delta) / draws)


@dataclass
class SimplexRun(Skim):
    """A run for a problem of `_simplex`; a subclass says how rows are read and bounds are shown."""

    linear: Vector = None  # type: ignore[assignment]
    origin: Vector | None = None
    extra: Vector | None = None
    ridge: float = 0.0
    longest: float = 0.0  # squared length, if it is known
    mode: str = "las-vegas"
    delta: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check_promise(self.mode, self.delta)
        shifted = self.origin is not None
        self.method = SimplexSteps(ridge=self.ridge, shifted=float(shifted))
        self.state = make_state(
            self.linear, self.source.shape[1], origin=self.origin, extra=self.extra,
            ridge=self.ridge > 0.0, longest=self.longest,
        )  # fmt: skip
        self.limits = Limits(eps=1.0)
        self.setup = 0  # stored entries that were read before the first step
        self.due = 0  # steps before the next proof
        self.attempts = 0
        self.finish: Finish | None = None
        self.hopeless = False  # whether the rows that carry weight are too many, or cost too much

    # ---------------------------------------------------------------------- what a subclass knows

    @abstractmethod
    def gradient(self, x: Vector, z: float, q: Vector) -> Vector:
        """b_i + 2 <a_i, x> + 2 s_i z + 2 r q_i for all rows, read exactly; not yet counted."""

    @abstractmethod
    def found_p(self, phi: float, p: Vector) -> None:
        """Consider phi(p), an upper bound of the minimum."""

    @abstractmethod
    def found_x(self, psi: float, x: Vector, z: float) -> None:
        """Consider psi(x, z, ...), a lower bound of the minimum."""

    @abstractmethod
    def target(self, eps: float) -> float:
        """The gap that is asked for, in units of phi."""

    # ------------------------------------------------------------------------------------ the run

    def run(self, limits: Limits, callback: Callback | None = None) -> Result:
        self.limits = limits
        return super().run(limits, callback)

    def closed(self, eps: float) -> bool:
        return self.bounds.certificate.gap <= self.target(eps)

    def planned(self) -> float:
        """The end of a run without proofs: when the bound of the regret is as small as eps."""
        if self.mode != "monte-carlo" or self.steps < FEWEST:
            return math.inf
        return self.steps if self._regret <= self.target(self.limits.eps) else math.inf

    def advance(self, steps: int, max_reads: float | None) -> bool:
        if self.finish is None:
            return super().advance(steps, max_reads)
        limit = math.inf if max_reads is None else max_reads
        if self.tally[STORED] + self._entries > limit:
            return True
        phi, p, x, z = self.finish.point()
        self.found_p(phi, p)
        before = self.certified
        gradient = self._prove(x, z, p)
        self.certified = before  # what it read was not for the proof alone
        n, d = self.source.shape
        self.tally += (1, n * d, self._entries)
        rows, stored = self.finish.read, self.finish.stored
        self.finish.limit = stored + limit - int(self.tally[STORED])
        try:
            self.finish.learn(gradient)
        except ReadLimit:
            return True
        self.tally[DENSE:] += (self.finish.read - rows) * d, self.finish.stored - stored
        self.stalled = self.finish.stalled
        if self.finish.full:
            self.finish, self.hopeless = None, True
        return False

    def check(self, last: bool) -> None:
        if self.finish is not None or self.state.scalars[WEIGHT] == 0.0:
            return
        if not np.isfinite(self.state.scalars).all():
            raise ValueError(
                "the rows and columns read so far hold nan or infinite entries, or such large ones "
                "that sums overflow: impute, drop or scale them first"
            )
        self.found_p(*self._drawn())
        if self.mode == "monte-carlo":
            return
        if isinstance(self.source, Matrix) and not last and self._should_finish():
            self._begin_finish()
        elif last or self._due():
            self.attempts += 1
            draws = self._draws_to_confirm() if self.mode == "high-probability" else math.inf
            if draws < self.source.shape[1]:
                self._confirm(int(draws))
            else:
                self._prove(*self._mean())
            self.due = 2 * self.steps

    def _due(self) -> bool:
        """The first proof waits until the steps read half as much, or should have arrived."""
        if self.attempts > 0:
            return self.steps >= self.due
        return 2 * self._skimmed >= self._entries or self._regret <= self.target(self.limits.eps)

    @property
    def _skimmed(self) -> int:
        """Stored entries that the steps have read."""
        return int(self.tally[STORED]) - self.setup

    @property
    def _regret(self) -> float:
        """About what the steps so far can have missed, by the bound of their regret."""
        moment = float(self.state.scalars[MOMENT])
        return math.sqrt(math.log(max(len(self.linear), 2)) * moment) / max(self.steps, 1)

    @property
    def _entries(self) -> int:
        n, d = self.source.shape
        return self.source.entries if isinstance(self.source, Matrix) else n * d

    # ------------------------------------------------------------------------------- the averages

    def _drawn(self) -> tuple[float, Vector]:
        """The shares of the rows drawn, and phi of them: free."""
        scalars = self.state.scalars
        weight = scalars[WEIGHT]
        p = self.state.counts / weight
        phi = scalars[LINEAR] / weight + (scalars[SQUARE] + scalars[EXTRA] ** 2) / weight**2
        return float(phi + (self.ridge * (p @ p) if self.ridge > 0.0 else 0.0)), p

    def _mean(self) -> tuple[Vector, float, Vector]:
        """The means of x, z and P over the steps."""
        state, scalars = self.state, self.state.scalars
        held = scalars[SINCE] / scalars[WEIGHT]
        x = (state.means + held * state.total) / self.steps
        z = float(scalars[EXTRAS] + held * scalars[EXTRA]) / self.steps
        q = (state.shares + held * state.counts) / self.steps if self.ridge > 0.0 else state.shares
        return x, z, q

    def fallback(self) -> tuple[Vector, float, Vector]:
        n, d = self.source.shape
        if self.steps == 0 or self.state.scalars[WEIGHT] == 0.0:
            return np.zeros(d), 0.0, np.full(n, 1.0 / n)
        x, z, _ = self._mean()
        return x, z, self._drawn()[1]

    # ------------------------------------------------------------------------------------- proofs

    def _prove(self, x: Vector, z: float, q: Vector) -> Vector:
        """Read all rows: psi(x, z, q). Returns the gradient."""
        gradient = self.gradient(x, z, q)
        self.found_x(float(gradient.min()) - self._square(x, z, q), x, z)
        return gradient

    def _draws_to_confirm(self) -> float:
        """Columns from which all rows are estimated to a quarter of the target."""
        target = self.target(self.limits.eps)
        if not target > 0.0:
            return math.inf
        moment = self._moment(self._mean()[0])
        return math.ceil(self._log_failures * moment * (8.0 * CLIPPED / target) ** 2)

    def _moment(self, x: Vector) -> float:
        """A bound of the second moment of the estimates of <a_i, x>."""
        return float(x @ x) * float(self.state.scalars[LONGEST])

    @property
    def _log_failures(self) -> float:
        """Of all rows, in all attempts: their probabilities add up to delta at most."""
        return math.log(len(self.linear) * 2.0 * self.attempts**2 / self.delta)

    def _confirm(self, draws: int) -> None:
        """Estimate psi of the mean of x from below, by means of clipped estimates.

        With L = log(1 / delta), m draws, second moment u and a cut at sqrt(3 u m / L), Bernstein's
        inequality and the bias of the cut add up to 2.57 sqrt(u L / m).
        """
        x, z, q = self._mean()
        square, moment, total = float(x @ x), self._moment(x), np.zeros(len(self.linear))
        if square > 0.0:
            most = math.sqrt(3.0 * moment * draws / self._log_failures)
            drawn = self.rng.choice(len(x), size=draws, p=x * x / square)
            for j, times in zip(*np.unique(drawn, return_counts=True), strict=True):
                estimate = (self._column(int(j)) - self.state.origin[j]) * (square / x[j])
                total += times * np.clip(estimate, -most, most)
        gradient = self._known(z, q) + 2.0 * total / max(draws, 1)
        error = 2.0 * CLIPPED * math.sqrt(moment * self._log_failures / max(draws, 1))
        self.bounds.failure = self.delta
        self.found_x(float(gradient.min()) - error - self._square(x, z, q), x, z)

    def _known(self, z: float, q: Vector) -> Vector:
        """What the gradient has beside 2 <a_i, x>: it needs no reads."""
        known = self.linear.copy()
        if self.extra is not None:
            known += 2.0 * z * self.extra
        if self.ridge > 0.0:
            known += 2.0 * self.ridge * q
        return known

    def _square(self, x: Vector, z: float, q: Vector) -> float:
        ridge = self.ridge * float(q @ q) if self.ridge > 0.0 else 0.0
        return float(x @ x) + z * z + ridge

    def _column(self, j: int) -> Vector:
        """Column j, read for a proof."""
        if isinstance(self.source, Matrix):
            self.certified += int(size(self.source.columns, j))
            return self.source.column(j)
        before = self.source.reads
        try:
            return self.source.column(j)
        finally:
            self.certified += self.source.reads - before

    # --------------------------------------------------------------------------------- the finish

    def _begin_finish(self) -> None:
        assert isinstance(self.source, Matrix)
        most = self.limits.max_reads
        left = math.inf if most is None else most - int(self.tally[STORED])
        try:
            self.finish = Finish(
                self.source.rows, self.linear, self.state.origin, self.extra, self.ridge,
                p=self._drawn()[1], closeness=0.1 * self._regret, limit=left,
            )  # fmt: skip
        except ReadLimit:
            self.hopeless = True
            return
        self.tally[DENSE:] += self.finish.read * self.source.shape[1], self.finish.stored

    def _should_finish(self) -> bool:
        """Whether more steps would have to read more than a finish does."""
        if self.hopeless:
            return False
        more = 1.0 + PASSES * self._entries / max(self._skimmed, 1)
        error = min(self.bounds.certificate.gap, self._regret)
        return error > math.sqrt(more) * self.target(self.limits.eps)
