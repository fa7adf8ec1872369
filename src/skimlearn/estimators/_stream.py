"""Learning from rows that come and go: a stochastic method whose state outlives them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.disk import Runs
from skimlearn.data.ledger import Ledger, Reads
from skimlearn.problem import Problem
from skimlearn.solvers._run import Start, Vector
from skimlearn.solvers._stochastic import Stochastic

__all__ = ["Stream"]


class Stream:
    """One linear model that learns from batches, each read once.

    The rows of former batches are gone, so there is no certificate, and a free bias is learned by
    steps, as a constant feature, instead of being solved for. Centred SGD subtracts the mean of the
    first batch.

    A stream may go on from the answer of a fit: its first step then has the size that it would have
    had after the rows of the fit.
    """

    def __init__(
        self,
        kind: type[Stochastic],
        settings: Any,
        start: Start | None = None,
        former_rows: int = 0,
    ) -> None:
        self.kind, self.settings = kind, settings
        self.start, self.former_rows = start, former_rows
        self.method: Any = None
        self.reads = Reads()
        self.bias = 0.0  # where the bias begins

    @property
    def name(self) -> str:
        """The solver that learns."""
        return str(self.method.name)

    def learn(self, problem: Problem, rng: np.random.Generator) -> Vector:
        """Visit each row of a batch once, in random order; return what was predicted before."""
        ledger = Ledger(problem.rows)
        if self.method is None:
            self.method = self._begun(problem, ledger, rng)
        else:
            self.method.rng = rng
            self.method.take(problem, ledger)
        scores = self.method.scores = np.empty(problem.n)
        order = Runs(problem.rows).arranged(self.method.order(rng), rng)
        self.method.visit(order)
        ledger.visit(order)
        self.reads += ledger.reads
        self.method.release()  # the batch goes, the sums stay
        return scores

    def answer(self) -> tuple[Vector, float]:
        """The weights and the bias."""
        return self.method.answer()

    def _begun(self, problem: Problem, ledger: Ledger, rng: np.random.Generator) -> Any:
        kind: Any = self.kind
        if self.start is None:
            method = kind(problem, ledger, self.settings, rng)
            method.recentre(np.zeros(problem.d), self.bias)
            return method
        settings = replace(self.settings, t0=float(self.former_rows))
        method = kind(problem, ledger, settings, rng, self.start)
        method.take(problem, ledger)  # steps that are safe for these rows
        return method

    def dump(self) -> dict[str, NDArray[np.float64]]:
        """All of the state, as arrays."""
        return self.method.dump()

    def restore(
        self, arrays: dict[str, NDArray[np.float64]], reads: Reads, nothing: Problem
    ) -> None:
        """Take up a state that was dumped; ``nothing`` is a problem of the same formulas."""
        kind: Any = self.kind
        settings = replace(self.settings, t0=0.0)
        method = kind(nothing, Ledger(nothing.rows), settings, np.random.default_rng(0))
        method.restore(arrays)
        method.release()
        self.method, self.reads = method, reads

    def opposite(self) -> Stream:
        """The stream of the opposite label, which has learned from the same visits."""
        other = Stream(self.kind, self.settings, former_rows=self.former_rows)
        other.bias = -self.bias
        if self.start is not None:
            other.start = Start(-self.start.w, -self.start.b)
        other.method = self.method.opposite() if self.method is not None else None
        return other
