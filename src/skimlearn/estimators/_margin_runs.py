"""The margins of all classes in progress: begun, run on threads, and taken up by a later fit."""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import Matrix
from skimlearn.data.oracle import Oracle
from skimlearn.data.store import Store
from skimlearn.estimators._base import solve_on_threads
from skimlearn.estimators._checks import seeds, workers
from skimlearn.estimators._progress import Progress
from skimlearn.result import Status
from skimlearn.solvers._source import Source, longest_row
from skimlearn.solvers.choose_margin import MarginRun
from skimlearn.solvers.soft_margin import SoftMargin, explained

__all__ = ["MarginRuns"]

Vector = NDArray[np.float64]
SOME_ROWS = 64  # whose lengths tell the unit of eps where nothing else depends on it


class MarginRuns:
    """A run for each vector of targets, with the parameters of a `SublinearSVC`.

    Attributes
    ----------
    length : float
        Of the longest row: the unit of ``eps`` and ``nu``.
    """

    def __init__(self, model: Any, given: Any, source: Source, targets: list[Vector]) -> None:
        # data that can't change: a later fit may be of the same
        self.given = given if isinstance(given, Oracle | Matrix | Store) else None
        self.asked = _asked(model)
        *others, last = seeds(model.random_state, len(targets) + 1)
        needed = bool(model.nu) or model.bias == "free" or model.mode != "monte-carlo"
        some = None
        if not needed and source.shape[0] > SOME_ROWS:  # the length is but the unit of eps
            rng = np.random.default_rng(last)
            some = rng.choice(source.shape[0], SOME_ROWS, replace=False)
        length, entries = longest_row(source, 2.0, some)
        self.length = length if length > 0.0 else 1.0
        jobs = workers(model.n_jobs, sys.maxsize) // workers(model.n_jobs, len(targets))
        self.runs = [
            MarginRun(
                source,
                target,
                np.random.default_rng(seed),
                nu=0.0 if model.nu is None else model.nu * self.length,
                kappa=model._kappa(),
                bias=model.bias == "free",
                solver=model.solver,
                batch=model.batch_size,
                eps=model.eps * self.length,
                mode=model.mode,
                delta=model.delta,
                length=self.length if needed else 0.0,  # else it is learned from the rows read
                n_jobs=jobs,
            )
            for target, seed in zip(targets, others, strict=True)
        ]
        self.runs[0].count(entries)  # what it took to know the longest row

    def is_of(self, model: Any, given: Any, targets: list[Vector]) -> bool:
        """Whether these runs are of the same unchanging data, and were asked for the same."""
        return bool(
            given is self.given
            and self.asked == _asked(model)
            and len(self.runs) == len(targets)
            and all(np.array_equal(r.y, t) for r, t in zip(self.runs, targets, strict=True))
        )

    def run(self, model: Any) -> list[SoftMargin]:
        """Go on, within the limits that the model has now."""
        count = len(self.runs)
        limits = model._limits(self.length, count)
        for run in self.runs:
            run.set_eps(limits.eps)
        progress = Progress(model.verbose, None, model.callback)
        stop = threading.Event()

        def solve(k: int) -> SoftMargin:
            run = self.runs[k]
            result = run.run(limits, lambda record: progress(record) or stop.is_set())
            if result.status is Status.INTERRUPTED:
                stop.set()
            return explained(run, result)

        try:
            threads = workers(model.n_jobs, count)
            if threads == 1 or isinstance(self.runs[0].source, Oracle):
                return [solve(k) for k in range(count)]
            results: Any = solve_on_threads(solve, count, threads, stop)
            return results
        finally:
            progress.close()

    def models(self, results: list[SoftMargin]) -> list[tuple[Vector, float]]:
        """The weights and the bias of each result, with a margin of 1 if the margin is known."""
        return [_model(run, result) for run, result in zip(self.runs, results, strict=True)]


def _asked(model: Any) -> tuple[Any, ...]:
    """The parameters that a run can't change on its way."""
    return (
        model.nu, model.kappa, model.bias, model.mode, model.delta, model.solver, model.batch_size,
    )  # fmt: skip


def _model(run: MarginRun, result: SoftMargin) -> tuple[Vector, float]:
    if not result.x.any() and run.skim is not None:  # proven best, but useless for predictions
        x, bias, _ = run.skim.fallback()
        return x, bias
    known = math.isfinite(result.margin) and result.margin > 0.0
    scale = result.margin if known else 1.0
    return result.x / scale, result.bias / scale
