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

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skimlearn.result import Result
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._meeting import Meeting
from skimlearn.solvers.players import LowRegret, Sampler

__all__ = ["LowRegret", "Sampler", "primal_dual"]

Vector = NDArray[np.float64]


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
    run = Meeting(lra, sampler, int(n), rng, steps, weights == "product", evaluate, dual)
    return run.until(limits)
