"""What a solver is to the loop that all of them share (`_run`)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.certificates import Dual, Primal
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import norms, take
from skimlearn.problem import Problem
from skimlearn.result import Certificate

__all__ = ["Method", "Order", "Vector", "row_lengths", "row_squares"]

Vector = NDArray[np.float64]
Order = NDArray[np.int64]


def row_lengths(problem: Problem, ledger: Ledger, exponent: float = 2.0) -> Vector:
    """The norms ||x_i||_q; those that are known since the rows were checked cost no reads."""
    if problem.squares is None or exponent != 2.0:
        ledger.pass_over()
        return norms(problem.rows, exponent)
    lengths = np.sqrt(problem.squares)
    few = np.flatnonzero(problem.squares < 1e-200)  # too small to be exact
    if len(few):
        lengths[few] = norms(take(problem.rows, few))
    return lengths


def row_squares(problem: Problem, ledger: Ledger, exponent: float = 2.0) -> Vector:
    """The squares of the norms: where they are known they take no memory."""
    if problem.squares is not None and exponent == 2.0:
        return problem.squares
    squares = row_lengths(problem, ledger, exponent)
    with np.errstate(over="ignore"):
        squares *= squares
    return squares


class Method(ABC):
    """A solver in progress: its state, and how it moves."""

    name = ""
    growth = 1.5  # a check follows when the visits have grown by this factor
    batch_size = 1  # rows that are visited together
    whole = False  # whether a visit needs all rows of the epoch at once, and counts its reads
    thorough = False  # whether to go on below the target gap, to the last digits
    finished = False  # whether the method has nothing more to do
    tol: float | None = None  # the relative gap that the run is to reach,
    goal: float | None = None  # and the gap, as far as it is known

    def __init__(self, problem: Problem, ledger: Ledger) -> None:
        self.problem = problem
        self.ledger = ledger

    def order(self, rng: np.random.Generator) -> Order:
        """The rows of the next epoch, in the order of the visits."""
        return rng.permutation(self.problem.n)

    @abstractmethod
    def visit(self, order: Order) -> None:
        """Learn from these rows, one after the other."""

    @abstractmethod
    def answer(self) -> tuple[Vector, float]:
        """The weights and the bias that the method stands for now."""

    def responses(self) -> Vector | None:
        """The responses of the rows to the answer, without its bias, if they are known."""
        return None

    def bound(self, answer: Primal) -> Dual:
        """A lower bound of the optimum: by default from the slopes at the answer."""
        a = certificates.slopes(self.problem, answer)
        self.count_proof(a)
        return certificates.at_slopes(self.problem, answer, a)

    def certified(self, a: Vector) -> Dual:
        """The bound of feasible variables, its reads counted."""
        self.count_proof(a)
        return certificates.dual(self.problem, a)

    def count_proof(self, a: Vector) -> None:
        """Count the reads of the rows whose variables are not zero."""
        used = a != 0.0
        used &= self.problem.weights > 0.0
        self.ledger.certify_rows(used)

    def checked(self, answer: Primal, certificate: Certificate) -> None:  # noqa: B027
        """Learn from a check: the exact bias, the responses of all rows, the gap."""

    def due(self, epochs: float, reads_at_last_check: int) -> bool:
        """Whether a check is due now that an epoch has ended.

        The reads are those of the dense count, so that dense and sparse rows are checked, and a
        free bias is set, at the same times.
        """
        return epochs > 1.0 and self.ledger.reads.dense >= self.growth * reads_at_last_check
