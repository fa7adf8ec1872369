"""The default: a short stochastic phase, then dual coordinate ascent to the target.

One epoch of a stochastic method (averaged SGD for p = 2, PGS for the others) gives an answer that is
good enough for many purposes, and the finisher a start near the optimum. The finisher reaches any
gap, for every loss and every regularizer; losses without a dual step of their own get a numerical
one from the base class.
"""

from __future__ import annotations

import threading

import numpy as np

from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Result
from skimlearn.solvers import dual, pgs, sgd
from skimlearn.solvers._run import Callback, Run, Start
from skimlearn.solvers._stochastic import Stochastic, is_safe, shift

__all__ = ["solve"]


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
    >>> result = solve(problem, Budget(gap=1e-6, epochs=100), seed=0)
    >>> result.status.name, result.solver
    ('CONVERGED', 'asgd+dual')
    """
    budget = budget or Budget(gap=1e-3, epochs=1000)
    run = Run(problem, budget, seed=seed, start=start, callback=callback, stop=stop)
    if start is None and is_safe(problem):
        run.stage(_first_phase(problem, run), epochs=1)
        start = Start(run.answer.w, run.answer.b)
    if run.status is None:
        run.stage(dual.DualAscent(problem, run.ledger, dual.Settings(), start))
    return run.result()


def _first_phase(problem: Problem, run: Run) -> Stochastic:
    if isinstance(problem.regularizer, SquaredL2):
        return sgd.Sgd(problem, run.ledger, sgd.Settings(), run.rng)
    t0 = shift(problem, run.ledger, problem.regularizer.exponent())
    return pgs.Pgs(problem, run.ledger, pgs.Settings(t0=t0), run.rng)
