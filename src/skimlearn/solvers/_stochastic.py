"""What the stochastic solvers share: which iterate they answer with, and the dual of their visits.

A method keeps the running sum of its iterates at no extra cost per step. From it come

``"last"``      the last iterate;
``"mean"``      the mean of all;
``"tail"``      the mean of the last half to three quarters, free of the first steps' noise: the sum
                begins anew when the number of steps passes n/8, n/4, n/2, n, 2n, ..., and the one
                before is remembered;
``"random"``    one iterate drawn uniformly from all, as in the theorems of Pegasos and PGS.

The visits also give dual variables: minus the mean slope of each row, over all steps.

On a stream, a method goes on with other rows (`take`), whose lengths may ask for smaller steps, and
its state can be written down (`dump`) and taken up again (`restore`), to the last bit.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.certificates import Dual, Primal
from skimlearn.data.ledger import Ledger
from skimlearn.problem import Problem
from skimlearn.result import Certificate
from skimlearn.solvers._orders import permutation
from skimlearn.solvers._run import Method, Order, Vector

AVERAGES = ("last", "mean", "tail", "random")


class Stochastic(Method):
    """A method that moves at every visit and may answer with an average of its iterates."""

    sampling = "permuted"
    averages: tuple[str, ...] = AVERAGES  # those it has
    odd: tuple[str, ...] = ()  # vectors of the state that change sign with the labels
    even: tuple[str, ...] = ()  # those that do not
    odd_state: tuple[int, ...] = ()  # positions in the state of the kernel that change sign
    numbers: tuple[str, ...] = ("steps", "mark", "next_mark", "t0", "centre")
    state: Vector
    t0: float

    def __init__(
        self, problem: Problem, ledger: Ledger, average: str, rng: np.random.Generator
    ) -> None:
        super().__init__(problem, ledger)
        if average not in self.averages:
            raise ValueError(
                f"average={average!r} must be one of {self.averages} for solver={self.name!r}"
            )
        self.alpha, self.regularizer, self.bias = problem.alpha, problem.regularizer, problem.bias
        self.average = average
        self.rng = rng
        self.steps = 0
        self.centre = 0.0  # a free bias is regularised towards this value, its last exact optimum
        self.pulls = np.zeros(problem.n)  # sums of minus the slopes, for the dual
        self.scores = np.zeros(0)  # of each row, what was predicted before its step, if wanted
        self.mark = 0  # the step at which the sum of the iterates began
        self.before: tuple[int, Vector, float] = (0, np.zeros(0), 0.0)  # steps and sum before it
        self.next_mark = max(1, problem.n // (8 * self.batch_size))
        self.drawn: tuple[Vector, float] = (np.zeros(0), 0.0)  # set by the first visit

    @abstractmethod
    def move(self, order: Order) -> None:
        """Make the steps of these visits, in the kernel."""

    @abstractmethod
    def last(self) -> tuple[Vector, float]:
        """The last iterate."""

    @abstractmethod
    def total(self) -> tuple[Vector, float]:
        """The sum of the iterates since `forget`, or all."""

    @abstractmethod
    def forget(self) -> None:
        """Begin the sum of the iterates anew."""

    @abstractmethod
    def recentre(self, w: Vector, b: float) -> None:
        """Let a free bias be regularised towards b, the best one for the weights w."""

    @abstractmethod
    def safe(self) -> float:
        """The least shift t0 of the steps that is safe for the rows at hand."""

    @abstractmethod
    def slow_down(self, t0: float) -> None:
        """Let the next steps be those of a larger shift; the iterate, and the sum, stay."""

    def order(self, rng: np.random.Generator) -> Order:
        n = self.problem.n
        return permutation(n, rng) if self.sampling == "permuted" else rng.integers(0, n, n)

    def visit(self, order: Order) -> None:
        """Make the steps, stopping where an iterate or a sum is to be remembered."""
        k = self.batch_size
        count = -(-len(order) // k)
        stops = {count}
        chosen = -1
        if self.average == "random":  # one of all iterates that a step was made from, uniformly
            chosen = int(self.rng.integers(self.steps + count)) - self.steps
            if chosen >= 0:
                stops.add(chosen)
        while self.average == "tail" and self.next_mark < self.steps + count:
            if self.next_mark > self.steps:
                stops.add(self.next_mark - self.steps)
            self.next_mark *= 2
        done = 0
        for stop in sorted(stops):
            self.move(order[done * k : stop * k])
            self.steps += stop - done
            done = stop
            if stop == chosen:
                self.drawn = self.last()
            if self.average == "tail" and (stop < count or self.steps == self.next_mark):
                self.before = (0, np.zeros(0), 0.0)  # it is as long as the weights
                self.before = (self.steps - self.mark, *self.total())
                self.forget()
                self.mark = self.steps
                if self.steps == self.next_mark:
                    self.next_mark *= 2

    def answer(self) -> tuple[Vector, float]:
        if self.steps == 0 or self.average == "last":
            return self.last()
        if self.average == "random":
            return self.drawn
        w, b = self.total()
        steps = self.steps - self.mark
        count, w_before, b_before = self.before
        if steps == 0 or count < self.mark:  # but for the first steps of all
            w += w_before
            b, steps = b + b_before, steps + count
        w /= steps
        return w, b / steps

    def bound(self, answer: Primal) -> Dual:
        """A lower bound: from the slopes at the answer or, where these jump, from the visits."""
        if math.isfinite(self.problem.loss.curvature()) or self.steps == 0:
            return super().bound(answer)
        mean = self.pulls * (self.problem.n / max(1, self.steps * self.batch_size))
        return self.certified(certificates.confined(self.problem, mean))

    def checked(self, answer: Primal, certificate: Certificate) -> None:
        if self.bias == "free":
            self.recentre(answer.w, answer.b)

    # ------------------------------------------------------------------------------------ streams

    def take(self, problem: Problem, ledger: Ledger) -> None:
        """Go on with other rows of the same stream."""
        self.problem, self.ledger = problem, ledger
        self.pulls = np.zeros(problem.n)
        if (t0 := self.safe()) > self.t0:
            self.slow_down(t0)

    def release(self) -> None:
        """Let go of the rows; the state stays."""
        for name in ("problem", "ledger", "rng", "pulls", "scores"):
            delattr(self, name)

    def opposite(self) -> Stochastic:
        """The method that has seen the same rows with the opposite labels."""
        other = copy.copy(self)
        other.state = self.state.copy()
        other.state[list(self.odd_state)] *= -1.0
        for name in self.odd:
            setattr(other, name, -getattr(self, name))
        for name in self.even:
            setattr(other, name, getattr(self, name).copy())
        other.centre = -self.centre
        count, w, b = self.before
        other.before = (count, -w, -b)
        other.drawn = (-self.drawn[0], -self.drawn[1])
        return other

    def dump(self) -> dict[str, NDArray[np.float64]]:
        """All of the state, as arrays."""
        arrays = {name: getattr(self, name) for name in (*self.odd, *self.even, "state")}
        arrays["numbers"] = np.array([float(getattr(self, name)) for name in self.numbers])
        count, arrays["before"], b = self.before
        arrays["before_bias"] = np.array([count, b])
        arrays["drawn"], arrays["drawn_bias"] = self.drawn[0], np.array([self.drawn[1]])
        return arrays

    def restore(self, arrays: dict[str, NDArray[np.float64]]) -> None:
        """Take up a state that `dump` gave, in a method of the same settings and columns."""
        for name in (*self.odd, *self.even, "state"):
            if arrays[name].shape != getattr(self, name).shape:
                raise ValueError(f"the array {name} has the shape {arrays[name].shape}")
            setattr(self, name, arrays[name])
        for name, value in zip(self.numbers, arrays["numbers"].tolist(), strict=True):
            setattr(self, name, int(value) if name in ("steps", "mark", "next_mark") else value)
        count, b = arrays["before_bias"].tolist()
        self.before = (int(count), arrays["before"], b)
        self.drawn = (arrays["drawn"], float(arrays["drawn_bias"][0]))


def check_batch_size(batch_size: object, n: int) -> int:
    """A positive whole number, at most the number of rows."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)):
        raise ValueError(f"batch_size={batch_size!r} must be a whole number")
    if batch_size < 1:
        raise ValueError(f"batch_size={batch_size} must be at least 1")
    return min(int(batch_size), n)


def check_sampling(sampling: str) -> str:
    """One of the two ways to draw rows."""
    if sampling not in ("permuted", "iid"):
        raise ValueError(f"sampling={sampling!r} must be 'permuted' or 'iid'")
    return sampling
