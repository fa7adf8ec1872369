"""Several threads that take the steps of a sublinear algorithm together.

A step touches n + d numbers, which can be done in parallel, as Clarkson, Hazan and Woodruff (2010)
note. `sampling.team` says how, and why the result does not depend on the number of threads. Here
the threads begin and end, for some hundred steps at a time: none is left behind by an error or by
Ctrl-C, which can come before the first step or after the last one only.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from skimlearn.sampling.team import ALONE, Team, make_teams

__all__ = ["NEVER", "take_together", "thread_count"]

NEVER = -1  # what a thread answers whose team did not come together
WORTH = 20_000  # numbers for each thread, below which threads cost more than they save


def thread_count(n_jobs: int | None, numbers: int) -> int:
    """How many threads n_jobs allows, and so many numbers per step are worth.

    Examples
    --------
    >>> thread_count(None, 10**6), thread_count(4, 10**6), thread_count(4, 1000)
    (1, 4, 1)
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} must be a whole number (-1 for all cores), or None")
    cores = _cores()
    allowed = int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))
    return max(1, min(allowed, numbers // WORTH))


def _cores() -> int:
    """Cores that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def take_together(
    take: Callable[..., int], size: int, state: Any, private: tuple[Any, ...], *shared: Any
) -> int:
    """``take(team, state, private, *shared)`` by a team of so many threads; the caller's answer.

    The state has a field ``scalars``, of which every thread has its own copy as it has of the
    arrays in ``private``; the caller's are those that were given. If the threads cannot be started
    the caller does it alone.
    """
    if size == 1:
        return take(ALONE, state, private, *shared)
    own, *others = make_teams(size)
    helpers = []
    for team in others:
        theirs = state._replace(team=team, scalars=state.scalars.copy())
        copies = tuple(array.copy() for array in private)
        arguments = (take, team, theirs, copies, *shared)
        helpers.append(threading.Thread(target=_help, args=arguments, daemon=True))
    taken = NEVER
    try:
        if _start(helpers):
            taken = take(own, state._replace(team=own), private, *shared)
    finally:
        own.leave()  # if it was before the first step, nobody waits for this thread
        for helper in helpers:
            if helper.ident is not None:
                helper.join()
    return take(ALONE, state, private, *shared) if taken == NEVER else taken


def _start(helpers: list[threading.Thread]) -> bool:
    try:
        for helper in helpers:
            helper.start()
    except RuntimeError:  # the system has no more threads
        return False
    return True


def _help(take: Callable[..., int], team: Team, *arguments: Any) -> None:
    try:
        take(team, *arguments)
    finally:
        team.leave()
