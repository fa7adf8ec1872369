"""Solvers by name: what a user asks for, checked and sent to the right file."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skimlearn.data.blas import one_thread_for
from skimlearn.data.private import Merged, may_be_merged, merged
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.result import Budget, Result
from skimlearn.solvers import auto, dual, ftrl, pegasos, pgs, sgd
from skimlearn.solvers._run import Callback, Options, Start
from skimlearn.solvers._stochastic import Stochastic

__all__ = ["SOLVERS", "merge", "solve"]

SOLVERS = ("auto", "sgd", "asgd", "casgd", "ftrl", "pegasos", "pgs", "dual")
MANY = 10  # allowed epochs, with fewer of which rows are not copied
PAYS = 5.0  # epochs of all problems together, as guessed, that pay for a copy of the rows
FIRST, DIGIT = 0.5, 1.2  # epochs of dual ascent at any gap, and for each of its digits


def merge(problems: Sequence[Problem], solver: str, budget: Budget) -> Merged | None:
    """The rows with fewer columns, where many are in one row only and `solve` would gain from it.

    The problems have these rows in common, and are solved one after the other with the same budget.
    """
    one = problems[0]
    alike = solver in ("auto", "dual") and isinstance(one.regularizer, SquaredL2)
    long = budget.reads is None and (budget.epochs is None or budget.epochs >= MANY)
    pays = (
        alike
        and long
        and may_be_merged(one.rows)
        and sum(_epochs(p, budget) for p in problems) >= PAYS
    )
    return merged(one.rows) if pays else None


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
    few: Merged | None = None,
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
    few : Merged or None
        What `merge` says.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> problem = make_problem([[1.0], [-1.0]], [1.0, -1.0], loss="hinge", alpha=0.5)
    >>> solve(problem, "dual", budget=Budget(gap=1e-6, epochs=99), seed=0).solver
    'dual'
    """
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} must be one of {SOLVERS}")
    if batch_size is not None and solver not in ("pegasos", "pgs"):
        raise _no_batches(solver, batch_size)
    if average is not None and solver in ("auto", "dual"):
        raise ValueError(
            f"average={average!r} has no meaning for solver={solver!r}: leave it None, or use a "
            "stochastic solver: 'sgd', 'asgd', 'casgd', 'ftrl', 'pegasos' or 'pgs'"
        )
    if few is not None:
        problem = replace(problem, rows=few.rows)
        start = None if start is None else replace(start, w=few.forth(start.w))
    common: Options = {"seed": seed, "start": start, "callback": callback, "stop": stop}
    with one_thread_for(problem.rows):
        result = _by_name(problem, solver, budget, average, batch_size, common)
    return result if few is None else replace(result, x=few.back(result.x))


def _by_name(
    problem: Problem,
    solver: str,
    budget: Budget,
    average: str | None,
    batch_size: int | None,
    common: Options,
) -> Result:
    if solver == "auto":
        return auto.solve(problem, budget, **common)
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
