"""Solvers by name: what a user asks for, checked and sent to the right file."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skimlearn import certificates
from skimlearn.data.blas import one_thread_for
from skimlearn.data.ledger import Reads
from skimlearn.data.private import Merged, may_be_merged, merged
from skimlearn.data.rows import part_of_visits
from skimlearn.data.span import Spanned, may_be_spanned, spanned
from skimlearn.data.zeros import Nonzeros, may_have_zeros, nonzero_rows
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Certificate, Result, Status
from skimlearn.solvers import auto, dual, ftrl, pegasos, pgs, sgd, side_by_side
from skimlearn.solvers._quadratic import Shared, shared
from skimlearn.solvers._run import Callback, Options, Run, Start
from skimlearn.solvers._stochastic import Stochastic

__all__ = ["SOLVERS", "Begun", "begin_together", "check", "merge", "shared", "solve"]

SOLVERS = ("auto", "sgd", "asgd", "casgd", "ftrl", "pegasos", "pgs", "dual")
MANY = 10  # allowed epochs, with fewer of which rows are not copied
WAITED = 160.0  # epochs of all problems, as guessed, that inner products of the rows may cost,
PRODUCT = 0.4  # multiplications for each product; half of them since such guesses are high
MOST, QUICK = 1e11, 1e10  # products of two numbers for them, in all (seconds), and a limit's second
PAYS = 5.0  # epochs of all problems together, as guessed, that pay for a copy of the rows
SETTLED = 12.0  # epochs as guessed, of a loss with kinks: with more, problems are better alone
FIRST, DIGIT = 0.5, 1.2  # epochs of dual ascent at any gap, and for each of its digits


def merge(
    problems: Sequence[Problem],
    solver: str,
    budget: Budget,
    stop: threading.Event | None = None,
) -> Merged | Nonzeros | Spanned | None:
    """The rows with less in them, where `solve` would gain from it.

    Of sparse rows columns that only one row has are merged; of dense ones zeros are left out, or
    there are no more columns than rows. The problems have these rows in common, and are solved one
    after the other with the same budget. An interrupt meanwhile is told to these by ``stop``.
    """
    one = problems[0]
    alike = solver in ("auto", "dual") and isinstance(one.regularizer, SquaredL2)
    long = budget.reads is None and (budget.epochs is None or budget.epochs >= MANY)
    wide = may_be_spanned(one.rows)
    if not (alike and long and (wide or may_be_merged(one.rows) or may_have_zeros(one.rows))):
        return None
    epochs = sum(_epochs(p, budget) for p in problems)
    products = one.n**2 * one.d
    soon = products <= (MOST if budget.seconds is None else min(MOST, budget.seconds * QUICK))
    if wide and soon and min(epochs, WAITED) * auto.VISIT >= PRODUCT * one.n:
        try:
            found = spanned(one.rows)
        except KeyboardInterrupt:
            if stop is None:
                raise
            stop.set()
            return None
        if found is not None:
            return found
    return (merged(one.rows) or nonzero_rows(one.rows)) if epochs >= PAYS else None


def _epochs(problem: Problem, budget: Budget) -> float:
    """How many epochs of dual ascent the gap of a budget takes, roughly."""
    if not budget.gap:
        return math.inf
    return (1.0 + auto.slowness(problem)) * (FIRST + DIGIT * max(0.0, -math.log10(budget.gap)))


def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    budget: Budget,
    average: str | None = None,
    batch_size: int | None = None,
    seed: int | np.random.Generator | None = None,
    start: Start | None = None,
    callback: Callback | None = None,
    stop: threading.Event | None = None,
    few: Merged | Nonzeros | Spanned | None = None,
    shared: Shared | None = None,
) -> Result:
    """Minimise a problem with the solver of a given name.

    Parameters
    ----------
    problem : Problem
        What is minimised.
    solver : str
        One of "auto", "sgd", "asgd", "casgd", "ftrl", "pegasos", "pgs", "dual".
    budget : Budget
        When to stop.
    average : {"last", "mean", "tail", "random"} or None
        Which iterate of a stochastic solver is the answer; None for the solver's own choice.
    batch_size : int or None
        Rows per step of Pegasos and PGS.
    seed : int, Generator or None
        Source of randomness.
    start : Start or None
        Where to begin.
    callback : callable or None
        Called with a `Record` after each epoch; the run stops if it returns something true.
    stop : threading.Event or None
        Set it from another thread to stop the run.
    few : Merged, Nonzeros, Spanned or None
        What `merge` says.
    shared : Shared or None
        What `shared` says of this problem and others.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> solve(problem, "dual", budget=Budget(gap=1e-6, epochs=99), seed=0).solver
    'dual'
    """
    check(solver, average, batch_size)
    if few is not None:
        problem = replace(problem, rows=few.rows)
        start = None if start is None else replace(start, w=few.forth(start.w))
    common: Options = {"seed": seed, "start": start, "callback": callback, "stop": stop}
    with one_thread_for(problem.rows):
        if solver == "auto":
            result = auto.solve(problem, budget, **common, shared=shared)
        else:
            result = _by_name(problem, solver, budget, average, batch_size, common)
    return result if few is None else _of_all(problem, result, few, solver, budget, common)


def _of_all(
    problem: Problem,
    result: Result,
    few: Merged | Nonzeros | Spanned,
    solver: str,
    budget: Budget,
    common: Options,
) -> Result:
    """The result for the rows as they were.

    If the way back rounds it is certified there, and mended there if its gap is too large.
    """
    result = replace(result, x=few.back(result.x))
    if not isinstance(few, Spanned):
        return result
    began = time.perf_counter()
    problem = replace(problem, rows=few.whole)
    answer, b = certificates.primal(problem, result.x, result.bias), result.bias
    if problem.bias == "free":
        b = certificates.middle_bias(problem, answer.z, answer.b)
    bound = certificates.dual(problem, certificates.feasible(problem, result.p))
    result = replace(
        result,
        bias=b,
        p=bound.a,
        certificate=Certificate(answer.value, bound.value),
        reads=result.reads + Reads(certificate=3 * problem.n * problem.d),
        seconds=result.seconds + few.seconds + time.perf_counter() - began,
    )
    lost = budget.gap is not None and result.certificate.relative_gap > budget.gap
    if result.status not in (Status.CONVERGED, Status.STALLED) or not lost:
        return result
    if budget.epochs is not None:
        budget = replace(budget, epochs=max(1, budget.epochs - math.ceil(result.epochs)))
    if budget.seconds is not None:
        budget = replace(budget, seconds=max(0.0, budget.seconds - result.seconds))
    start = Start(result.x, result.bias, result.p)
    common = {**common, "start": start}
    rest = solve(problem, solver, budget=budget, **common)
    return replace(
        rest,
        reads=result.reads + rest.reads,
        seconds=result.seconds + rest.seconds,
        epochs=result.epochs + rest.epochs,
        solver=f"{result.solver}+{rest.solver}",
    )


def check(solver: str, average: str | None, batch_size: int | None) -> None:
    """Refuse a name that is none, and what a solver does not have."""
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} must be one of {SOLVERS}")
    if batch_size is not None and solver not in ("pegasos", "pgs"):
        raise _no_batches(solver, batch_size)
    if average is not None and solver in ("auto", "dual"):
        raise ValueError(
            f"average={average!r} has no meaning for solver={solver!r}: leave it None, or use a "
            "stochastic solver: 'sgd', 'asgd', 'casgd', 'ftrl', 'pegasos' or 'pgs'"
        )


def begin_together(
    problems: Sequence[Problem],
    solver: str,
    *,
    budget: Budget,
    seeds: Sequence[int],
    starts: Sequence[Start | None],
    callback: Callback | None = None,
    stop: threading.Event | None = None,
    few: Merged | Nonzeros | Spanned | None = None,
    shared: Shared | None = None,
) -> Begun | None:
    """Begin to solve problems that differ in their targets side by side; None if `solve` is better.

    The seconds of the budget are those of all problems.
    """
    if solver not in ("auto", "dual") or len(problems) == 1:
        return None
    if few is not None:
        problems = [replace(problem, rows=few.rows) for problem in problems]
        starts = [None if s is None else replace(s, w=few.forth(s.w)) for s in starts]
    parts = side_by_side.groups(problems, budget)
    part = part_of_visits(problems[0].rows, len(problems))
    users = 1 if shared is None else shared.users(problems[0])
    costs = auto.Costs(problems[0], budget, part=part, users=users)
    settled = not costs.smooth and min(costs.epochs, costs.most_epochs) > SETTLED
    if not parts or settled or not (solver == "dual" or costs.dual_is_best):
        return None
    began, count = time.perf_counter(), len(problems)
    runs: list[Run] = []
    most = costs.patience if solver == "auto" else None
    with one_thread_for(problems[0].rows):
        for chosen in parts:
            some = []
            for problem, seed, start in zip(
                problems[chosen], seeds[chosen], starts[chosen], strict=True
            ):
                run = Run(problem, budget, seed=seed, start=start, callback=callback, stop=stop)
                run.pause()
                some.append(run)
            left = (count - len(runs)) / len(some)
            seconds = budget.share(time.perf_counter() - began, count, left).seconds
            side_by_side.begin(some, starts[chosen], epochs=most, seconds=seconds)
            runs += some
    return Begun(runs, solver, costs, few, shared)


@dataclass(frozen=True)
class Begun:
    """Runs that began side by side."""

    runs: list[Run]
    solver: str
    costs: auto.Costs
    few: Merged | Nonzeros | Spanned | None
    shared: Shared | None

    def end(self, k: int, seconds: float | None) -> Result:
        """Go on with one of the runs alone, if the time is limited for so many seconds."""
        run, most = self.runs[k], self.costs.patience
        run.resume(seconds)
        with one_thread_for(run.problem.rows):
            if self.solver == "dual":
                result = run.work().result()
            else:
                had = run.visits // run.problem.n
                run.work(None if most is None else max(most - had, 0))
                result = auto.finish(run, self.costs, self.shared)
        if self.few is None:
            return result
        common: Options = {"seed": run.rng, "callback": run.callback, "stop": run.stop}
        return _of_all(run.problem, result, self.few, self.solver, run.budget, common)


def _by_name(
    problem: Problem,
    solver: str,
    budget: Budget,
    average: str | None,
    batch_size: int | None,
    common: Options,
) -> Result:
    if solver == "dual":
        return dual.solve(problem, dual.Settings(), budget, **common)
    if solver in ("sgd", "asgd", "casgd"):
        return sgd.solve(problem, sgd_settings(solver, average), budget, **common)
    if solver == "ftrl":
        return ftrl.solve(problem, ftrl.Settings(average=average or "last"), budget, **common)
    module = pegasos if solver == "pegasos" else pgs
    return module.solve(problem, _batched(module, average, batch_size), budget, **common)


def _batched(module: Any, average: str | None, batch_size: int | None) -> Any:
    size = 1 if batch_size is None else batch_size
    return module.Settings(average=average or "tail", batch_size=size)


def stream_method(
    solver: str, average: str | None, batch_size: int | None
) -> tuple[type[Stochastic], Any]:
    """The class and the settings of a solver that learns from rows that pass by."""
    if solver in ("auto", "sgd", "asgd", "casgd", "ftrl"):
        if batch_size is not None:
            raise _no_batches(solver, batch_size)
        if solver == "ftrl":
            return ftrl.Ftrl, ftrl.Settings(average=average or "last")
        return sgd.Sgd, sgd_settings("asgd" if solver == "auto" else solver, average)
    if solver not in ("pegasos", "pgs"):
        raise ValueError(
            f"solver={solver!r} can't learn from a stream, since it needs all rows at hand: use "
            "solver='auto', 'sgd', 'asgd', 'casgd', 'ftrl', 'pegasos' or 'pgs'"
        )
    if solver == "pegasos":
        return pegasos.Pegasos, _batched(pegasos, average, batch_size)
    return pgs.Pgs, _batched(pgs, average, batch_size)


def _no_batches(solver: str, batch_size: int) -> ValueError:
    return ValueError(
        f"batch_size={batch_size!r} has no meaning for solver={solver!r}: leave it None, or use "
        "solver='pegasos' or 'pgs'"
    )


def sgd_settings(solver: str, average: str | None) -> sgd.Settings:
    """The settings behind the three names of stochastic gradient descent."""
    if solver == "sgd" and average not in (None, "last"):
        raise ValueError(f"average={average!r}: use solver='asgd' for an average of the iterates")
    if solver == "asgd" and average == "last":
        raise ValueError("average='last': use solver='sgd' for the last iterate")
    return sgd.Settings(
        average=average or ("last" if solver == "sgd" else "tail"), centred=solver == "casgd"
    )
