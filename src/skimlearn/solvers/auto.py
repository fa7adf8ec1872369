"""The default: a good answer fast, and any accuracy after it.

1. One epoch of a stochastic method (averaged SGD for p = 2, PGS for the others). Its answer is good
   enough for many purposes, and a start near the optimum for what follows.
2. Dual coordinate ascent, which reaches any gap for every loss and every regularizer; losses that
   have no dual step of their own get a numerical one from the base class.
3. If that takes as long as Newton's method would (few features, of very different scales, or a tiny
   alpha), Newton's method takes over.

Problems so small that Newton's method costs nothing are given to it at once, and solved exactly.
"""

from __future__ import annotations

import math
import threading

import numpy as np

from skimlearn import certificates
from skimlearn.data.rows import nonzeros
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Result
from skimlearn.solvers import dual, newton, pgs, sgd
from skimlearn.solvers._run import Callback, Run, Start
from skimlearn.solvers._stochastic import Stochastic, is_safe, shift

__all__ = ["solve"]

TINY = 3e5  # multiplications: a Newton step that costs no more is hardly felt
VISIT = 5.0  # multiplications that take as long as the visit to an entry in dual ascent


def solve(
    problem: Problem,
    budget: Budget | None = None,
    *,
    seed: int | np.random.Generator | None = None,
    start: Start | None = None,
    callback: Callback | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Minimise the problem; a start skips the stochastic phase.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> result = solve(problem, Budget(gap=1e-6), seed=0)
    >>> result.status.name, result.solver
    ('CONVERGED', 'newton')
    """
    budget = budget or Budget(gap=1e-3, epochs=1000)
    run = Run(problem, budget, seed=seed, start=start, callback=callback, stop=stop)
    cost = _newton_cost(problem, budget)
    if cost <= TINY:
        return run.stage(newton.Newton(problem, run.ledger, start, thorough=True)).result()
    # the finisher reads all rows three times before it gains much: norms, start, an epoch
    enough = run.ledger.left >= 5 * run.ledger.total
    if is_safe(problem) and (start is None or not enough):
        run.stage(_first_phase(problem, run, start), epochs=1 if enough else None)
        start = Start(run.answer.w, run.answer.b, certificates.slopes(problem, run.answer))
    if run.status is None:
        epochs = _patience(problem, cost, budget)
        run.stage(dual.DualAscent(problem, run.ledger, dual.Settings(), start), epochs=epochs)
    if run.status is None:
        start = Start(run.answer.w, run.answer.b, run.dual.a)
        run.stage(newton.Newton(problem, run.ledger, start))
    return run.result()


def _patience(problem: Problem, cost: float, budget: Budget) -> int | None:
    """For how many epochs dual ascent goes on: as long as Newton's method would take."""
    if not math.isfinite(cost):
        return None
    steps = 10 if math.isfinite(problem.loss.curvature()) else 30
    epochs = cost * steps / (VISIT * float(nonzeros(problem.rows).sum()) + 1.0)
    most = math.inf if budget.epochs is None else 0.3 * budget.epochs
    return math.ceil(max(10.0, min(epochs, most)))


def _newton_cost(problem: Problem, budget: Budget) -> float:
    """The cost of a Newton step; infinite where Newton's method does not fit."""
    short = budget.reads is not None or (budget.epochs is not None and budget.epochs < 300)
    if short or not isinstance(problem.regularizer, SquaredL2):
        return math.inf
    return newton.cost(problem.rows)


def _first_phase(problem: Problem, run: Run, start: Start | None) -> Stochastic:
    if isinstance(problem.regularizer, SquaredL2):
        return sgd.Sgd(problem, run.ledger, sgd.Settings(), run.rng, start)
    t0 = shift(problem, run.ledger, run.rng, problem.regularizer.exponent())
    return pgs.Pgs(problem, run.ledger, pgs.Settings(t0=t0), run.rng, start)
