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
the same with kinks, and many rows for   the same, if dual ascent would need 60 epochs
each feature
one of these two, with the log loss (or  before it some passes of coordinate descent over
another whose dual steps are searches),  columns
if Newton steps are dear
fewer epochs allowed than dual ascent    averaged SGD (p < 2: PGS) alone
needs, and fewer than ten (three where
passes over columns come first, six
before conjugate gradients on a squared
loss, 60 for a regression with kinks or
before conjugate gradients on kinks);
not for several problems side by side, if
there are more columns than rows
any other with p = 2                     dual coordinate ascent; if that takes as long as
                                         one of Newton's methods would, that takes over
p < 2, or a radius                       an epoch of PGS, then dual coordinate ascent
fewer reads than five passes allowed     a stochastic method alone (averaged SGD or PGS)
=======================================  ========================================================

With s = L S / (alpha n), where n rows have the mean squared length S and L is the curvature of the
loss (1 where it has kinks), dual ascent takes some 4 (1 + s) epochs, and conjugate gradients some
8 + 5 sqrt(s) passes, 1.4 times as many if the loss is not squared, and more where there are few
rows for a feature. Where features are rare and many more than the rows, epochs are far fewer: rows
have directions of their own. A Newton step costs
about the squares of the rows' lengths, or, for dense rows, d^2 in whole blocks; problems that share
the matrix (`_quadratic`) have a part of that each. Several problems of the same rows have their
visits side by side, if they begin with dual ascent (`side_by_side`): these are cheaper then. Some
rows tell all of it.
Steps of averaged SGD are for typical rows, not for the longest, if the slope is bounded.
"""

from __future__ import annotations

import functools
import math
import threading

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.disk import Runs
from skimlearn.data.rows import nonzeros, norms, take
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Result
from skimlearn.solvers import column_descent, dual, newton, newton_cg, pgs, sgd
from skimlearn.solvers._quadratic import Shared
from skimlearn.solvers._run import Callback, Run, Start
from skimlearn.solvers._step_sizes import is_safe, shift, slope_is_bounded, typical_shift
from skimlearn.solvers._stochastic import Stochastic

__all__ = ["Costs", "finish", "slowness", "solve"]

TINY = 3e5  # entries times columns: a Newton step that costs no more is hardly felt
SOME = 1000  # rows that costs are guessed from, at most
KINKED = 10.0  # Newton steps on all rows for a loss with kinks
LONG = 300  # epochs, with fewer of which Newton's steps are too long
HURRY = 10.0  # epochs that a stochastic method alone may have at most,
BRIEF = 3.0  # beside passes over columns,
BRISK = 6.0  # and beside conjugate gradients on a squared loss
SLOW = 60.0  # epochs of dual ascent, more of which make it slow on a loss with kinks,
LOOSE, HOPELESS = 1e-4, 600.0  # a gap, below which it is slow on labels with so many only;
ROUNDS = 150.0  # for which conjugate gradients take so many passes
FEW = 2.0  # rows for a feature: conjugate gradients are slow with fewer, on losses made of pieces
CAREFUL = 2.0  # times their guess is the time of conjugate gradients, before others are given up
VISIT = 5.0  # multiplications that take as long as the visit to an entry in dual ascent
COMMON = 10.0  # rows that a feature has on average: with fewer, dual ascent is quick at any alpha
WIDE, RARE = 5.0, 0.1  # so is it with so many features for a row, if each has few of the rows
ALONE = 2.0  # passes of a problem that has its matrix from others
PASS = 3.0  # the same for an entry in a pass of conjugate gradients
SEARCH = 190.0  # the same for the step of a row in dual ascent, if it is a search
COLUMN, RENEW = 5.0, 35.0  # the same for an entry in a pass over columns, and for a row
DEAR = 2.5  # passes over columns: a Newton step that takes longer is dear
COPIED = 3e7  # entries that may be copied by column, if they are not on disk


def solve(
    problem: Problem,
    budget: Budget | None = None,
    *,
    seed: int | np.random.Generator | None = None,
    start: Start | None = None,
    callback: Callback | None = None,
    stop: threading.Event | None = None,
    shared: Shared | None = None,
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
    users = 1 if shared is None else shared.users(problem)
    costs, z = Costs(problem, budget, users=users), None
    if costs.tiny:
        method = newton.Newton(problem, run.ledger, start, thorough=True, shared=shared)
        return run.stage(method).result()
    hurried = start is None and costs.hurried
    if start is None and costs.columns_are_best and not hurried:
        run.stage(column_descent.ColumnDescent(problem, run.ledger))
        if run.status is not None:
            return run.result()
        start, z = Start(run.answer.w, run.answer.b, run.dual.a), run.answer.z
    if costs.newton_is_best and not hurried:
        order = newton.sample(problem, run.rng) if start is None and not costs.exact else None
        method = newton.Newton(problem, run.ledger, start, order=order, z=z, shared=shared)
        return run.stage(method).result()
    if z is not None or (costs.cg_is_best and not hurried):
        run.stage(newton_cg.NewtonCg(problem, run.ledger, start, z=z))
        if run.status is not None:
            return run.result()
        start = Start(run.answer.w, run.answer.b, run.dual.a)  # no digits are left for it
    # the finisher reads all rows three times before it gains much: norms, start, an epoch
    enough = run.ledger.left >= 5 * run.ledger.total and not hurried
    quick = enough and isinstance(problem.regularizer, SquaredL2)
    if is_safe(problem) and (start is None or not enough) and not quick:
        run.stage(_first_phase(problem, run, start), epochs=1 if enough else None)
        if run.status is None:
            start = Start(run.answer.w, run.answer.b, certificates.slopes(problem, run.answer))
    if run.status is None:
        run.stage(
            dual.DualAscent(problem, run.ledger, dual.Settings(), start), epochs=costs.patience
        )
    return finish(run, costs, shared)


def finish(run: Run, costs: Costs, shared: Shared | None) -> Result:
    """The end of a run, if need be by Newton's method: dual ascent has had its epochs."""
    if run.status is None:
        start = Start(run.answer.w, run.answer.b, run.dual.a)
        if costs.has_newton:
            run.stage(newton.Newton(run.problem, run.ledger, start, shared=shared))
        else:
            run.stage(newton_cg.NewtonCg(run.problem, run.ledger, start))
    return run.result()


def slowness(problem: Problem) -> float:
    """The s of the table's legend: with it, the epochs of dual ascent grow as 1 + s."""
    some = _some_rows(problem.n)
    if problem.squares is not None:
        square = float(problem.squares[some].mean())
    else:
        square = float((norms(take(problem.rows, some)) ** 2).mean())
    return min(problem.loss.curvature(), 1.0) * square / (problem.alpha * problem.n)


@functools.lru_cache(maxsize=8)
def _some_rows(n: int) -> NDArray[np.int64]:
    return np.linspace(0, n - 1, min(n, SOME), dtype=np.int64)


class Costs:
    """What the methods would cost, guessed from some of the rows: the same for dense and sparse.

    Attributes are amounts, in multiplications and epochs; properties are what follows from them.
    ``part`` is that of a visit in dual ascent, where other problems make their visits meanwhile.
    """

    def __init__(
        self, problem: Problem, budget: Budget, *, part: float = 1.0, users: int = 1
    ) -> None:
        n, d, loss = problem.n, problem.d, problem.loss
        counts = nonzeros(problem.rows, _some_rows(n))
        self.most_epochs = math.inf if budget.epochs is None else budget.epochs
        self.alone = part == 1.0  # no other problem makes its visits meanwhile
        self.exact = loss.quadratic  # a Newton step ends at the optimum
        self.smooth = math.isfinite(loss.curvature())
        self.searches = loss.searches
        plain = isinstance(problem.regularizer, SquaredL2) and budget.reads is None
        self.entries = n * float(counts.mean())
        self.copied = self.entries <= COPIED and Runs(problem.rows).pools == 1
        slow_by = slowness(problem)
        self.epochs = 4.0 * (1.0 + slow_by)  # of dual ascent
        self.dual = part * self.epochs * VISIT * self.entries
        self.search = self.epochs * SEARCH * n if self.searches else 0.0  # in its steps
        passes = (8.0 + 5.0 * math.sqrt(slow_by)) * (1.0 if self.exact else 1.4)
        passes = passes if self.smooth else ROUNDS
        common = self.entries >= COMMON * d  # rows of rare features hardly disturb each other
        self.few = n < FEW * d
        self.loose = budget.gap is not None and budget.gap >= LOOSE
        # rows have directions of their own
        self.apart = d > WIDE * n and self.entries < RARE * n * d
        self.rare = d >= n  # features, as there are so many
        self.kinked_regression = not self.smooth and not loss.labels
        # where few rows say what the loss is, a step changes which, again and again
        pieces = not self.smooth or (loss.labels and not (self.exact or self.searches))
        usable = plain and common and not (pieces and self.few)
        self.cg = passes * PASS * self.entries if usable else math.inf
        self.column_pass = COLUMN * self.entries + RENEW * n
        self.newton_step = newton.cost(n, d, counts, users) if plain else math.inf
        if users > 1:  # what each does for itself is no longer little beside the matrix
            self.newton_step += ALONE * PASS * self.entries
        pairs = n * float((counts.astype(np.float64) ** 2).mean())
        self.least = pairs + d**3 / 3 if plain else math.inf  # a Newton step on single entries

    @property
    def has_newton(self) -> bool:
        """Whether Newton's method may be used: its steps take longer than an epoch."""
        return math.isfinite(self.newton_step) and self.most_epochs >= LONG

    @property
    def tiny(self) -> bool:
        """Whether a Newton step is hardly felt."""
        return self.least <= TINY and self.most_epochs >= LONG

    @property
    def newton_is_cheapest(self) -> bool:
        """Whether the steps of Newton's method cost less than anything else would."""
        steps = 1.0 if self.exact else 2.0 if self.smooth else KINKED
        others = min(self.dual + self.search, CAREFUL * self.cg)
        return math.isfinite(self.newton_step) and steps * self.newton_step <= others

    @property
    def newton_is_best(self) -> bool:
        """The same, if it may be used; few rows with kinks may have directions of their own."""
        return self.newton_is_cheapest and self.has_newton and (self.smooth or not self.few)

    @property
    def cg_is_best(self) -> bool:
        """Whether conjugate gradients cost less than dual ascent would."""
        if not self.smooth:
            slow = SLOW if self.loose or self.kinked_regression else HOPELESS
            return math.isfinite(self.cg) and self.epochs > slow
        careful = CAREFUL if self.few else 1.0
        return careful * self.cg <= self.dual and not self.apart

    @property
    def columns_are_best(self) -> bool:
        """Whether to begin with passes over columns, before a method of second order."""
        possible = self.smooth and math.isfinite(self.cg) and self.copied
        if not possible or not self.searches:
            return False
        if self.newton_is_cheapest:  # its samples are as good, if its steps are not dear
            return self.newton_step > DEAR * self.column_pass
        return self.cg_is_best

    @property
    def dual_is_best(self) -> bool:
        """Whether to begin with dual ascent.

        Side by side with other problems an epoch of it takes less than one of averaged SGD, and
        where features are rare it gets as far.
        """
        if self.rare and not self.alone and self.most_epochs < HURRY:
            return not (self.tiny or self.begins_badly)
        others = self.columns_are_best or self.newton_is_best or self.cg_is_best
        return not (self.tiny or self.hurried or others)

    @property
    def begins_badly(self) -> bool:
        """Whether the first epochs of dual ascent, on a loss with kinks, are worth nothing."""
        return self.kinked_regression or (self.cg_is_best and not self.smooth)

    @property
    def hurried(self) -> bool:
        """Whether so few epochs are allowed that a stochastic method gets farther."""
        most = SLOW if self.begins_badly else HURRY
        if self.columns_are_best:
            return self.most_epochs < BRIEF
        if self.exact and self.cg_is_best:
            most = BRISK
        return self.most_epochs < min(most, self.epochs)

    @property
    def patience(self) -> int | None:
        """For how many epochs dual ascent goes on: as long as a method of Newton would take."""
        if self.has_newton:
            cost = self.newton_step * (10.0 if self.smooth or self.few else 30.0)
        elif math.isfinite(self.cg) and (self.smooth or self.loose):
            cost = self.cg * (3.0 * CAREFUL if self.smooth else 1.0)
        else:
            return None
        epochs = cost / (VISIT * self.entries + 1.0)
        return math.ceil(max(10.0, min(epochs, 0.3 * self.most_epochs)))


def _first_phase(problem: Problem, run: Run, start: Start | None) -> Stochastic:
    if isinstance(problem.regularizer, SquaredL2):
        t0 = shift(problem, run.ledger, run.rng)
        # of a loss with kinks, only labels tell how long a step may be: their responses are near 1
        known = problem.loss.labels or math.isfinite(problem.loss.curvature())
        if known and problem.squares is not None and slope_is_bounded(problem):
            t0 = min(t0, typical_shift(problem))
        return sgd.Sgd(problem, run.ledger, sgd.Settings(t0=t0), run.rng, start)
    t0 = shift(problem, run.ledger, run.rng, problem.regularizer.exponent())
    return pgs.Pgs(problem, run.ledger, pgs.Settings(t0=t0), run.rng, start)
