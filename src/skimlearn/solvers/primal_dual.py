r"""The scheme behind the sublinear solvers, for algorithms and estimates that a user brings.

Problem:  max over x in K of min_i c_i(x),  i = 1..n, all c_i concave on a convex set K.

Two players meet. One moves x by a low-regret algorithm (`LowRegret`), the other holds weights on
the n functions. Step t, with x_t and p_t of the past alone:

    v_t = estimates of c_1(x_t) .. c_n(x_t)           (`Sampler`)
    i_t ~ p_t
    p_{t+1}: clipped multiplicative weights on v_t
    x_{t+1}: the low-regret algorithm's answer to a gain c_{i_t}

The answer is the average of the x_t, that of the other player the frequency of the i_t. With
|c_i| <= s and estimates of variance s^2, T steps err by O(s sqrt(log n / T) + regret / T) with
probability at least 1/2; the bounds show what was reached, where they can be computed.

The weights are Hedge on clipped estimates, p_t ~ exp(-eta_t sum clip(v, 1/eta)), or the product of
the factors 1 - z + z^2, z = eta clip(v, 1/eta); eta_t = sqrt(log n / t) / s, or sqrt(log n / T) / s
if the number T of steps is fixed. Both have the same regret bound for a fixed T; only the first
has one for eta_t.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), section IV.
Its figure 4 updates in another order, which makes x_t depend on i_t; the order above is right.
For the players see `skimlearn.solvers.players`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.result import Record, Result, Status
from skimlearn.solvers._limits import Bounds, Limits
from skimlearn.solvers.players import LowRegret, Sampler

__all__ = ["LowRegret", "Sampler", "primal_dual"]

Vector = NDArray[np.float64]

CHECK = 256  # steps before the first check of the bounds; the later ones are further apart


def primal_dual(
    lra: LowRegret,
    sampler: Sampler,
    n: int,
    *,
    eps: float = 0.05,
    steps: int | None = None,
    weights: str = "hedge",
    evaluate: Callable[[Vector], float] | None = None,
    dual: Callable[[Vector], float] | None = None,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Result:
    """Maximise the least of n concave functions, given two players.

    Parameters
    ----------
    lra : LowRegret
        Moves x.
    sampler : Sampler
        Estimates the functions.
    n : int
        The number of functions.
    eps : float, default=0.05
        Stop when the bounds of the optimum differ by no more.
    steps : int or None
        Plan for so many steps and stop there, with a fixed rate of learning; by default the rate
        falls, and any number of steps is as good as if it had been planned.
    weights : "hedge" or "product"
        How the weights on the functions follow the estimates.
    evaluate : callable or None
        ``evaluate(x)`` is min_i c_i(x) exactly, or a lower bound of it. It is called at checks,
        which are ever further apart; without it the answer has no certificate from below.
    dual : callable or None
        ``dual(p)`` is max over x in K of sum_i p_i c_i(x), or an upper bound of it; p are the
        frequencies of the functions drawn. Some low-regret algorithms know it without being asked.
    max_reads : int or None
        Stop before the players read more entries than that. What ``evaluate`` and ``dual`` read is
        not limited.
    max_steps : int or None
        Stop after so many steps.
    max_seconds : float or None
        Stop after so many seconds.
    random_state : int, Generator or None
        Source of randomness.

    Returns
    -------
    Result
        ``x`` is the best answer checked, or the last if there is no ``evaluate``, and ``p`` the
        weights on the functions that prove the bound.

    Examples
    --------
    A margin: the largest least inner product of a unit vector with the rows of a matrix.

    >>> from skimlearn.solvers.low_regret import Ball
    >>> from skimlearn.solvers.samplers import InnerProducts
    >>> A = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> ball, products = Ball(A), InnerProducts(A)
    >>> result = primal_dual(ball, products, 3, evaluate=products.evaluate, random_state=0)
    >>> result.status
    <Status.CONVERGED: 'the target gap was reached'>
    >>> result.certificate.lower <= 0.5**0.5 <= result.certificate.upper
    True

    Fairness: levels of two services that are best for the group they suit least. Each group has a
    concave utility, here 1 - ||x - t_i||^2 with its own wish t_i. A user's own players, in plain
    Python; there is no bound from above, so the number of steps is limited.

    >>> wishes = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]])
    >>> class Box(LowRegret):  # gradient steps on [0, 1]^2
    ...     def start(self, rng):
    ...         self.x, self.t = np.zeros(2), 0
    ...         return self.x
    ...
    ...     def update(self, i):
    ...         self.t += 1
    ...         slope = 2.0 * (wishes[i] - self.x)
    ...         self.x = np.clip(self.x + slope / (2.0 * self.t), 0.0, 1.0)
    ...         return self.x
    >>> class Utilities(Sampler):
    ...     def sample(self, x, rng):
    ...         return 1.0 - ((x - wishes) ** 2).sum(axis=1)
    >>> utilities = Utilities()
    >>> worst = lambda x: utilities.sample(x, None).min()
    >>> fair = primal_dual(Box(), utilities, 3, evaluate=worst, max_steps=5000, random_state=0)
    >>> fair.x.round(2), round(fair.certificate.primal, 2)  # the best is 0.609, at (0.5, 0.375)
    (array([0.5 , 0.37]), 0.61)
    """
    if weights not in ("hedge", "product"):
        raise ValueError(f"weights={weights!r} must be 'hedge' or 'product'")
    for name, value in (("n", n), ("steps", steps)):
        if value is not None and not value >= 1:
            raise ValueError(f"{name}={value!r} must be at least 1")
    limits = Limits(eps=eps, max_reads=max_reads, max_steps=max_steps, max_seconds=max_seconds)
    has_dual = dual is not None or type(lra).dual is not LowRegret.dual
    bounded = evaluate is not None and has_dual
    ends = (steps, max_reads, max_steps, max_seconds)
    if not bounded and all(end is None for end in ends):
        raise ValueError(
            "nothing would end this run: give steps or a limit, or both evaluate and dual, "
            "so that it can end when the bounds meet"
        )
    rng = np.random.default_rng(random_state)
    run = _Run(lra, sampler, int(n), rng, steps, weights == "product", evaluate, dual)
    return run.until(limits)


class _Run:
    """Both players, the weights, and the best bounds so far."""

    def __init__(
        self,
        lra: LowRegret,
        sampler: Sampler,
        n: int,
        rng: np.random.Generator,
        planned: int | None,
        product: bool,
        evaluate: Callable[[Vector], float] | None,
        dual: Callable[[Vector], float] | None,
    ) -> None:
        self.lra, self.sampler, self.rng = lra, sampler, rng
        self.planned, self.product = planned, product
        self.evaluate, self.dual = evaluate, dual
        self.bounds = Bounds(maximize=True)
        self.history: list[Record] = []
        self.before = (lra.reads, sampler.reads)
        self.scores, self.work = np.zeros(n), np.zeros(n)  # log-weights, up to the rate
        self.counts = np.zeros(n)
        self.tally = np.zeros(1, dtype=np.int64)
        self.x = _checked("lra.start", lra.start(rng), None)
        self.total = np.zeros_like(self.x)

    @property
    def steps(self) -> int:
        return int(self.tally[0])

    @property
    def reads(self) -> Reads:
        now = self.lra.reads + self.sampler.reads
        then = self.before[0] + self.before[1]
        return Reads(now.dense - then.dense, now.nnz - then.nnz, now.certificate - then.certificate)

    def until(self, limits: Limits) -> Result:
        began, status, goal = time.perf_counter(), None, CHECK
        while status is None:
            try:
                status = self.advance(goal, limits, began)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            try:
                self.check(in_order=status is not Status.INTERRUPTED)
            except ReadLimit:
                status = Status.READS
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            certificate = self.bounds.certificate
            if certificate.gap <= limits.eps:
                status = Status.CONVERGED
            seconds = time.perf_counter() - began
            self.history.append(
                Record(self.steps, seconds, self.reads.nnz, certificate.primal, certificate.dual)
            )
            goal = self.steps + max(CHECK, self.steps // 8)
        return self.result(status, seconds)

    def advance(self, goal: int, limits: Limits, began: float) -> Status | None:
        """Go on to so many steps; why it ended before, or there for good."""
        while True:
            ends = (
                (self.steps, self.planned, Status.PLANNED),
                (self.steps, limits.max_steps, Status.STEPS),
                (time.perf_counter() - began, limits.max_seconds, Status.SECONDS),
            )
            for value, end, status in ends:
                if end is not None and value >= end:
                    return status
            if self.steps >= goal:
                return None
            try:
                self.step(math.inf if limits.max_reads is None else limits.max_reads)
            except ReadLimit:
                return Status.READS

    def step(self, max_reads: float) -> None:
        n, rng = len(self.scores), self.rng
        rate = min(0.5, math.sqrt(math.log(max(n, 2)) / (self.planned or self.steps + 1)))
        self.sampler.left = max_reads - self.reads.nnz
        v = _checked("sampler.sample", self.sampler.sample(self.x, rng), (n,))
        i = int(_draw(self.scores, 1.0 if self.product else rate, rng.random(), self.work))
        scaled = rate / self.sampler.scale
        _commit(
            self.scores, v, scaled, rate, self.product,
            self.counts, i, self.x, self.total, self.tally,
        )  # fmt: skip
        self.lra.left = max_reads - self.reads.nnz
        self.x = _checked("lra.update", self.lra.update(i), self.total.shape)

    def check(self, in_order: bool) -> None:
        """Improve the bounds; a player that was interrupted may be in disorder and is not asked."""
        if self.steps == 0:
            return
        free = self.lra.dual() if in_order else None
        if free is not None:
            self.bounds.dual(*free)
        if self.dual is not None:
            p = self.counts / self.steps
            self.bounds.dual(_number("dual(p)", self.dual(p)), p)
        if self.evaluate is not None:
            x = self.total / self.steps
            self.bounds.primal(_number("evaluate(x)", self.evaluate(x)), x)

    def result(self, status: Status, seconds: float) -> Result:
        best, n = self.bounds, len(self.counts)
        x, p = self.x, np.full(n, 1.0 / n)
        if self.steps > 0:
            x, p = self.total / self.steps, self.counts / self.steps
        return Result(
            x=x if best.x is None else best.x,
            bias=0.0,
            p=p if best.p is None else best.p,
            certificate=best.certificate,
            reads=self.reads,
            seconds=seconds,
            epochs=self.reads.dense / (n * len(x)),
            status=status,
            history=self.history,
            solver="primal_dual",
        )


def _checked(name: str, given: Vector, shape: tuple[int, ...] | None) -> Vector:
    """A vector that a player gave."""
    vector = np.asarray(given, dtype=np.float64)
    if vector.ndim != 1 or (shape is not None and vector.shape != shape):
        wanted = "(d,)" if shape is None else shape
        raise ValueError(f"{name} gave an array of shape {vector.shape} instead of {wanted}")
    if not np.isfinite(vector).all():
        at = int(np.argmin(np.isfinite(vector)))
        raise ValueError(f"{name} gave {vector[at]} at position {at}: all numbers must be finite")
    return vector


def _number(name: str, given: float) -> float:
    value = float(given)
    if math.isnan(value):
        raise ValueError(f"{name} gave nan, which bounds nothing")
    return value


@kernel
def _draw(scores, factor, u, work):
    """Draw i in proportion to exp(factor * score); ``work`` is scratch of the same length."""
    top = -np.inf
    for i in range(len(scores)):
        top = max(top, scores[i])
    total = 0.0
    for i in range(len(scores)):
        work[i] = math.exp(factor * (scores[i] - top))
        total += work[i]
    rest, chosen = u * total, 0
    for i in range(len(scores)):
        if work[i] > 0.0:
            chosen = i
            if rest < work[i]:
                break
        rest -= work[i]
    return chosen


@kernel
def _commit(scores, v, scaled, rate, product, counts, i, x, total, tally):
    """All that a step changes here, in one piece that Ctrl-C cannot part."""
    for k in range(len(scores)):
        z = min(1.0, max(-1.0, scaled * v[k]))  # rate * clip(v / scale, 1 / rate)
        if product:
            scores[k] += math.log1p(z * z - z)
        else:
            scores[k] -= z / rate
    for j in range(len(total)):
        total[j] += x[j]
    counts[i] += 1.0
    tally[0] += 1
