"""Learning from batches that come and go: averaged SGD whose state outlives a batch."""

from __future__ import annotations

import numpy as np

from skimlearn.data.ledger import Ledger, Reads
from skimlearn.problem import Problem
from skimlearn.solvers import sgd
from skimlearn.solvers._run import Vector

__all__ = ["Stream"]


class Stream:
    """One linear model that learns from batches, each read once.

    The rows of former batches are gone, so there is no certificate, and a free bias is learned by
    steps, as a constant feature, instead of being solved for.
    """

    def __init__(self, settings: sgd.Settings) -> None:
        self.settings = settings
        self.method: sgd.Sgd | None = None
        self.reads = Reads()
        self.bias = 0.0  # where the bias begins

    def learn(self, problem: Problem, rng: np.random.Generator) -> tuple[Vector, float]:
        """Visit each row of a batch once, in random order; return the weights and the bias."""
        method = sgd.Sgd(problem, Ledger(problem.rows), self.settings, rng)
        if self.method is not None:
            method.go_on_from(self.method)
        else:
            method.recentre(np.zeros(problem.d), self.bias)
        order = method.order(rng)
        method.visit(order)
        method.ledger.visit(order)
        self.reads += method.ledger.reads
        self.method = method
        return method.answer()

    def opposite(self) -> Stream:
        """The stream of the opposite label, which has seen the same rows."""
        other = Stream(self.settings)
        other.reads, other.bias = self.reads, -self.bias
        other.method = self.method.opposite() if self.method is not None else None
        return other
