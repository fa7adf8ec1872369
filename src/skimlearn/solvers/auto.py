"""The default: whatever is quickest for the problem, and any accuracy.

=======================================  ========================================================
the problem                              the method
=======================================  ========================================================
tiny                                     Newton's method, to the last digit
few features or small alpha: its steps   Newton's method, from samples of growing size
cost less than the epochs of dual
ascent would
small alpha, a smooth loss: dual ascent  Newton's method with conjugate gradients
would need many epochs
fewer epochs allowed than dual ascent    averaged SGD (p < 2: PGS) alone
needs, and fewer than ten
any other with p = 2                     dual coordinate ascent; if that takes as long as
                                         one of Newton's methods would, that takes over
p < 2, or a radius                       an epoch of PGS, then dual coordinate ascent
fewer reads than five passes allowed     a stochastic method alone (averaged SGD or PGS)
=======================================  ========================================================

With s = L S / (alpha n), where n rows have the mean squared length S and L is the curvature of the
loss (1 where it has kinks), dual ascent takes some 4 (1 + s) epochs, and conjugate gradients some
15 + 6 sqrt(s) passes, twice as many if the loss is not squared. A Newton step costs about the
squares of the rows' lengths, or, for dense rows, d^2 in whole blocks. Some rows tell all of it.
"""

from __future__ import annotations

import math
import threading

import numpy as np

from skimlearn import certificates
from skimlearn.data.rows import nonzeros, norms, take
from skimlearn.formulas.losses import Squared
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Result
from skimlearn.solvers import dual, newton, newton_cg, pgs, sgd
from skimlearn.solvers._run import Callback, Run, Start
from skimlearn.solvers._stochastic import Stochastic, is_safe, shift

__all__ = ["solve"]

TINY = 3e5  # entries times columns: a Newton step that costs no more is hardly felt
SOME = 1000  # rows that costs are guessed from
KINKED = 10.0  # Newton steps on all rows for a loss with kinks
HURRY = 10.0  # epochs that a stochastic method alone may have at most
VISIT = 5.0  # multiplications that take as long as the visit to an entry in dual ascent
COMMON = 10.0  # rows that a feature has on average: with fewer, dual ascent is quick at any alpha
PASS = 3.0  # the same for an entry in a pass of conjugate gradients


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
    costs = _Costs(problem, budget)
    if costs.tiny:
        return run.stage(newton.Newton(problem, run.ledger, start, thorough=True)).result()
    if costs.newton_is_best:
        exact = isinstance(problem.loss, Squared)  # one step ends at the optimum, from anywhere
        order = run.rng.permutation(problem.n) if start is None and not exact else None
        return run.stage(newton.Newton(problem, run.ledger, start, order=order)).result()
    if costs.cg_is_best and not (start is None and costs.hurried):
        run.stage(newton_cg.NewtonCg(problem, run.ledger, start))
        if run.status is not None:
            return run.result()
        start = Start(run.answer.w, run.answer.b, run.dual.a)  # no digits are left for it
    # the finisher reads all rows three times before it gains much: norms, start, an epoch
    enough = run.ledger.left >= 5 * run.ledger.total and not (start is None and costs.hurried)
    quick = enough and isinstance(problem.regularizer, SquaredL2)
    if is_safe(problem) and (start is None or not enough) and not quick:
        run.stage(_first_phase(problem, run, start), epochs=1 if enough else None)
        if run.status is None:
            start = Start(run.answer.w, run.answer.b, certificates.slopes(problem, run.answer))
    if run.status is None:
        method = dual.DualAscent(problem, run.ledger, dual.Settings(), start)
        run.stage(method, epochs=costs.patience)
    if run.status is None:
        start = Start(run.answer.w, run.answer.b, run.dual.a)
        finisher = newton.Newton if math.isfinite(costs.newton) else newton_cg.NewtonCg
        run.stage(finisher(problem, run.ledger, start))
    return run.result()


class _Costs:
    """What the methods would cost, guessed from some of the rows: the same for dense and sparse."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.problem, self.budget = problem, budget
        n, d = problem.n, problem.d
        some = np.linspace(0, n - 1, min(n, SOME), dtype=np.int64)
        counts = nonzeros(problem.rows, some)
        if problem.squares is not None:
            self.square = float(problem.squares[some].mean())
        else:
            self.square = float((norms(take(problem.rows, some)) ** 2).mean())
        self.entries = n * float(counts.mean())
        short = budget.reads is not None or (budget.epochs is not None and budget.epochs < 300)
        fits = isinstance(problem.regularizer, SquaredL2) and not short
        self.newton = newton.cost(n, d, counts) if fits else math.inf
        curvature = min(problem.loss.curvature(), 1.0)
        slowness = curvature * self.square / (problem.alpha * n)
        self.epochs = 4.0 * (1.0 + slowness)  # dual ascent's
        self.dual = self.epochs * VISIT * self.entries
        passes = 15.0 + 6.0 * math.sqrt(slowness)
        passes *= 1.0 if isinstance(problem.loss, Squared) else 2.0
        smooth = math.isfinite(problem.loss.curvature())
        plain = isinstance(problem.regularizer, SquaredL2) and budget.reads is None
        common = self.entries >= COMMON * d  # rows of rare features hardly disturb each other
        self.cg = passes * PASS * self.entries if smooth and plain and common else math.inf
        self.tiny = fits and n * float((counts.astype(np.float64) ** 2).mean()) + d**3 / 3 <= TINY

    @property
    def newton_is_best(self) -> bool:
        """Whether the steps of Newton's method cost less than anything else would."""
        if not math.isfinite(self.newton):
            return False
        steps = 2.0 if math.isfinite(self.problem.loss.curvature()) else KINKED
        if isinstance(self.problem.loss, Squared):
            steps = 1.0  # its own model
        return steps * self.newton <= min(self.dual, self.cg)

    @property
    def cg_is_best(self) -> bool:
        """Whether conjugate gradients cost less than dual ascent would."""
        return self.cg <= self.dual

    @property
    def hurried(self) -> bool:
        """Whether so few epochs are allowed that a stochastic method gets farther."""
        return self.budget.epochs is not None and self.budget.epochs < min(HURRY, self.epochs)

    @property
    def patience(self) -> int | None:
        """For how many epochs dual ascent goes on: as long as a method of Newton would take."""
        if math.isfinite(self.newton):
            steps = 10 if math.isfinite(self.problem.loss.curvature()) else 30
            cost = self.newton * steps
        elif math.isfinite(self.cg):
            cost = 3.0 * self.cg
        else:
            return None
        epochs = cost / (VISIT * self.entries + 1.0)
        most = math.inf if self.budget.epochs is None else 0.3 * self.budget.epochs
        return math.ceil(max(10.0, min(epochs, most)))


def _first_phase(problem: Problem, run: Run, start: Start | None) -> Stochastic:
    if isinstance(problem.regularizer, SquaredL2):
        return sgd.Sgd(problem, run.ledger, sgd.Settings(), run.rng, start)
    t0 = shift(problem, run.ledger, run.rng, problem.regularizer.exponent())
    return pgs.Pgs(problem, run.ledger, pgs.Settings(t0=t0), run.rng, start)
