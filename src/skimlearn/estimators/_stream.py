"""Learning from batches that come and go: averaged SGD whose state outlives a batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skimlearn.data.disk import Runs
from skimlearn.data.ledger import Ledger, Reads
from skimlearn.problem import Problem
from skimlearn.solvers import sgd
from skimlearn.solvers._run import Start, Vector

__all__ = ["Stream"]


class Stream:
    """One linear model that learns from batches, each read once.

    The rows of former batches are gone, so there is no certificate, and a free bias is learned by
    steps, as a constant feature, instead of being solved for.

    A stream may go on from the answer of a fit: its first step then has the size that it would have
    had after the rows of the fit.
    """

    def __init__(
        self, settings: sgd.Settings, start: Start | None = None, former_rows: int = 0
    ) -> None:
        self.settings = settings
        self.start, self.former_rows = start, former_rows
        self.method: sgd.Sgd | None = None
        self.reads = Reads()
        self.bias = 0.0  # where the bias begins

    @property
    def name(self) -> str:
        """The solver that learns."""
        return "sgd" if self.settings.average == "last" else "asgd"

    def learn(self, problem: Problem, rng: np.random.Generator) -> tuple[Vector, float]:
        """Visit each row of a batch once, in random order; return the weights and the bias."""
        ledger = Ledger(problem.rows)
        method = sgd.Sgd(problem, ledger, self.settings, rng)
        if self.method is not None:
            method.go_on_from(self.method)
        elif self.start is not None:
            settings = replace(self.settings, t0=float(self.former_rows))
            method.go_on_from(sgd.Sgd(problem, ledger, settings, rng, self.start))
        else:
            method.recentre(np.zeros(problem.d), self.bias)
        order = Runs(problem.rows).arranged(method.order(rng), rng)
        method.visit(order)
        ledger.visit(order)
        self.reads += ledger.reads
        answer = method.answer()
        for name in ("problem", "ledger", "rng", "pulls"):  # the batch goes, the sums stay
            delattr(method, name)
        self.method = method
        return answer

    def opposite(self) -> Stream:
        """The stream of the opposite label, which has learned from the same visits."""
        other = Stream(self.settings, former_rows=self.former_rows)
        other.bias = -self.bias
        if self.start is not None:
            other.start = Start(-self.start.w, -self.start.b)
        other.method = self.method.opposite() if self.method is not None else None
        return other
