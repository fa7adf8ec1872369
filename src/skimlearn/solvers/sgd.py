r"""SGD, averaged SGD and centred averaged SGD, with sparse operations only.

Problem:  min over w, b of  alpha/2 (||w||^2 + b^2) + (1/n) sum m_i loss(<w, x_i> + b, y_i).

With steps 1 / (alpha (t + t0)), the iterates are scaled sums of what the visits added, so a visit
costs the stored entries of its row and nothing else:

    v_t = sum g_j x_j,   a_t = sum g_j,   w_t = -v_t / (alpha (t + t0)),   g_j = m loss'(z_j, y_j)

The sum of all iterates is -(h v - u) / alpha, h_t = sum 1 / (j + t0), u_t = sum h_{j-1} g_j x_j.
The centred version runs on x_i - mean without forming it: <mean, x_i> is one more sparse product,
computed once for each row, and the answer, free of the mean, is put together once at the end.

See Dekel, "Linear learning with sparse data" (2017), Algorithms 1 to 3, the loop of Algorithm 3
starting at t = 2, the lost line ``u += h g x`` of Algorithm 2 restored, and the shift t0, without
which the squared loss explodes as exp(||x||^2 / alpha).

====  ==================================================================
here  paper
====  ==================================================================
v, u  v, u: sums of g x and of h g x
a, c  a, c: sum of g, and of a / t
h     h: sum of 1 / t
z, r  z, r: <v, mean>; bias of the uncentred predictor times -alpha t
s     s: sum of r / t
beta  a of the bias alone (it restarts when a free bias is recentred)
====  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Unpack

import numpy as np

from skimlearn._jit import kernel, prefetch_line
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import add, combine, dot, look_ahead
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Result
from skimlearn.solvers._run import Options, Order, Run, Start, Vector
from skimlearn.solvers._step_sizes import check_slope, shift
from skimlearn.solvers._stochastic import Stochastic, check_sampling

__all__ = ["Settings", "solve"]

A, BETA, C, H, Z, R, S, STEPS = range(8)  # positions in the state of the kernel


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of SGD.

    Attributes
    ----------
    average : {"last", "mean", "tail"}
        Which iterate is the answer.
    centred : bool
        Run on the rows minus their mean (CASGD); needs a free bias.
    sampling : {"permuted", "iid"}
        Visit the rows in a fresh random order each epoch, or draw each visit independently.
    t0 : float or None
        Steps to start ahead; None for the least that is safe.
    """

    average: str = "tail"
    centred: bool = False
    sampling: str = "permuted"
    t0: float | None = None


def solve(
    problem: Problem,
    settings: Settings | None = None,
    budget: Budget | None = None,
    **options: Unpack[Options],
) -> Result:
    """Minimise the problem by stochastic gradient descent.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> result = solve(problem, Settings(average="mean"), Budget(epochs=300), seed=0)
    >>> bool(result.certificate.gap < 0.01)
    True
    """
    run = Run(problem, budget or Budget(epochs=10), **options)
    return run.stage(Sgd(problem, run.ledger, settings or Settings(), run.rng, run.start)).result()


class Sgd(Stochastic):
    """Stochastic gradient descent in progress."""

    name = "sgd"
    averages = ("last", "mean", "tail")
    odd, even = ("v", "u"), ("mean",)
    odd_state = (A, BETA, C, Z, R, S)
    numbers = (*Stochastic.numbers, "centres", "theta")

    def __init__(
        self,
        problem: Problem,
        ledger: Ledger,
        settings: Settings,
        rng: np.random.Generator,
        start: Start | None = None,
    ) -> None:
        check_slope(problem)
        if not isinstance(problem.regularizer, SquaredL2):
            raise ValueError(
                f"stochastic gradient descent has p=2 and no radius, not {problem.regularizer!r}: "
                "use solver='pgs', 'dual' or 'auto'"
            )
        if settings.centred and problem.bias != "free":
            raise ValueError(
                f"bias={problem.bias!r}: centred SGD learns its bias in centred coordinates; use "
                "bias='free', or solver='asgd'"
            )
        self.name = "casgd" if settings.centred else "asgd"
        if settings.average == "last" and not settings.centred:
            self.name = "sgd"
        super().__init__(problem, ledger, settings.average, rng)
        self.sampling = check_sampling(settings.sampling)
        self.mean = np.zeros(problem.d if settings.centred else 0)
        if settings.centred:
            ledger.pass_over()
            combine(problem.rows, problem.weights / problem.n, self.mean)
        self.products = self._no_products(problem)
        self.t0 = self.safe() if settings.t0 is None else float(settings.t0)
        self.theta = 1.0 + float(self.mean @ self.mean)
        self.v, self.state = np.zeros(problem.d), np.zeros(8)
        self.u = np.zeros(problem.d if settings.average != "last" else 0)
        self.centres = 0.0  # sum of the centres over the steps
        if start is not None:
            self.t0 = max(self.t0, float(problem.n))
            self.v[:] = -problem.alpha * self.t0 * start.w
            if self.theta > 1.0:
                self.state[Z] = float(self.v @ self.mean)
            self.recentre(start.w, start.b)
            if problem.bias == "regularized":
                self.state[BETA] = self.state[R] = -problem.alpha * self.t0 * start.b

    def safe(self) -> float:
        if not len(self.mean):
            return shift(self.problem, self.ledger, self.rng)
        return shift(self.problem, self.ledger, self.rng, 2.0, self.mean, self.products)

    def take(self, problem: Problem, ledger: Ledger) -> None:
        self.products = self._no_products(problem)
        super().take(problem, ledger)

    def release(self) -> None:
        super().release()
        del self.products

    def _no_products(self, problem: Problem) -> Vector:
        """Of each row, <mean, row>, once it is known."""
        return np.full(problem.n if len(self.mean) else 0, np.nan)

    def move(self, order: Order) -> None:
        problem = self.problem
        _sgd(
            problem.rows, problem.y, problem.weights, problem.loss, problem.alpha,
            problem.bias != "none", self.centre, self.t0, order,
            self.mean, self.products if self.theta > 1.0 else self.products[:0], self.theta,
            self.v, self.u, self.pulls, self.scores, self.state,
        )  # fmt: skip
        self.centres += self.centre * len(order)
        if self.theta > 1.0:
            self.state[Z] = float(self.v @ self.mean)  # no drift

    def last(self) -> tuple[Vector, float]:
        scale = 1.0 / (self.alpha * max(self.steps + self.t0, 1.0))
        w = -scale * self.v
        if self.theta > 1.0:
            w += (scale * self.state[A]) * self.mean
        return w, -self.state[R] * scale + self.centre

    def total(self) -> tuple[Vector, float]:
        scale = 1.0 / self.alpha
        w = self.state[H] * self.v
        w -= self.u
        if self.theta > 1.0:
            w -= self.state[C] * self.mean
        w *= -scale
        return w, -self.state[S] * scale + self.centres

    def forget(self) -> None:
        self.u[:] = 0.0
        self.state[[C, H, S]] = 0.0
        self.centres = 0.0

    def recentre(self, w: Vector, b: float) -> None:
        if self.bias == "free":
            self.centre = b + (float(w @ self.mean) if self.theta > 1.0 else 0.0)
            self.state[BETA] = 0.0
            self.state[R] = self.state[A] * (self.theta - 1.0) - self.state[Z]

    def slow_down(self, t0: float) -> None:
        grown = (self.steps + t0) / max(self.steps + self.t0, 1e-300)
        self.t0 = t0
        if len(self.u):
            self.u += self.state[H] * (grown - 1.0) * self.v
        self.v *= grown
        self.state[[A, BETA, Z, R]] *= grown

    def opposite(self) -> Sgd:
        other = super().opposite()
        assert isinstance(other, Sgd)
        other.centres = -self.centres
        return other


@kernel
def _sgd(
    rows, y, m, loss, alpha, has_bias, centre, t0, order, mean, products, theta,
    v, u, pulls, scores, state,
):  # fmt: skip
    a, beta, c, h = state[A], state[BETA], state[C], state[H]
    z, r, s, t = state[Z], state[R], state[S], state[STEPS]
    centred, averaged, scored = len(products) > 0, len(u) > 0, len(scores) > 0
    for at in range(len(order)):
        i = order[at]
        soon = look_ahead(rows, order, at)
        prefetch_line(y, soon)
        prefetch_line(m, soon)
        prefetch_line(pulls, soon)
        prefetch_line(products, soon)
        scale = 1.0 / (alpha * (t + t0)) if t + t0 > 0.0 else 0.0
        q = 0.0
        if centred:
            if np.isnan(products[i]):
                products[i] = dot(rows, i, mean)
            q = products[i]
        p = centre - (dot(rows, i, v) + r - a * q) * scale
        if scored:
            scores[i] = p
        slope = loss.slope(p, y[i])
        g = m[i] * slope
        t += 1.0
        pulls[i] -= slope
        if g != 0.0:
            add(rows, i, g, v)
            if averaged:
                add(rows, i, h * g, u)
            if centred:
                a += g
                z += g * q
            if has_bias:
                beta += g
        r = beta + a * (theta - 1.0) - z
        c += a / (t + t0)
        s += r / (t + t0)
        h += 1.0 / (t + t0)
    state[A], state[BETA], state[C], state[H] = a, beta, c, h
    state[Z], state[R], state[S], state[STEPS] = z, r, s, t
