"""What the linear estimators share: parameters, the budget, solving one or many problems."""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.blas import linalg, one_thread
from skimlearn.data.inspection import as_rows, check_entries, measured
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Rows, scored, without_gaps
from skimlearn.data.store import Store
from skimlearn.data.triple import Triple
from skimlearn.estimators._checks import (
    ABSENT,
    budget_of,
    check_data,
    seeds,
    workers,
)
from skimlearn.estimators._contract import (
    ConvergenceWarning,
    assume_finite,
    check_is_fitted,
)
from skimlearn.estimators._estimator import Estimator
from skimlearn.estimators._progress import Progress
from skimlearn.estimators._stream import Stream
from skimlearn.formulas import losses, regularizers
from skimlearn.formulas.losses import Loss
from skimlearn.problem import BIASES, Problem, check_alpha
from skimlearn.result import Certificate, Result, Status
from skimlearn.solvers import choose
from skimlearn.solvers._run import Start
from skimlearn.solvers._stochastic import AVERAGES

__all__ = ["LinearModel"]

Vector = NDArray[np.float64]

FEW = 100_000  # multiplications: for more, BLAS is noticeably quicker


class LinearModel(Estimator):
    """The base of the linear classifier and the linear regressor."""

    _labels = False  # whether the targets are labels

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        alpha: float = 1e-4,
        p: float = 2.0,
        radius: float | None = None,
        bias: str = "free",
        solver: str = "auto",
        tol: float | None = 1e-3,
        max_epochs: int | None = 1000,
        max_reads: int | None = None,
        max_seconds: float | None = None,
        average: str | None = None,
        batch_size: int | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        callback: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.p = p
        self.radius = radius
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.max_reads = max_reads
        self.max_seconds = max_seconds
        self.average = average
        self.batch_size = batch_size
        self.warm_start = warm_start
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    # ------------------------------------------------------------------------------- checking

    def _check_data(self, X: Any, y: Any = ABSENT, *, reset: bool = True, **options: Any) -> Any:
        return check_data(self, X, y, reset=reset, **options)

    def _problem(self, rows: Rows, squares: Vector, y: Vector, weights: Vector) -> Problem:
        """The problem of these rows and targets, with the parameters checked."""
        if self.bias not in BIASES:
            raise ValueError(f"bias={self.bias!r} must be one of {BIASES}")
        if self.average not in (None, *AVERAGES):
            raise ValueError(f"average={self.average!r} must be one of {AVERAGES}, or None")
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback={self.callback!r} must be a function of a Record, or None")
        return Problem(
            rows=rows,
            y=y,
            weights=weights,
            loss=losses.resolve(self.loss, labels=self._labels),
            regularizer=regularizers.resolve(self.p, self.radius),
            alpha=check_alpha(self.alpha),
            bias=self.bias,
            squares=squares,
        )

    def _problems(
        self, X: Any, targets: Sequence[Vector], weights: Sequence[Vector]
    ) -> list[Problem]:
        rows, squares = measured(X)
        rows = without_gaps(rows)
        return [self._problem(rows, squares, y, w) for y, w in zip(targets, weights, strict=True)]

    # -------------------------------------------------------------------------------- solving

    def _solve(
        self,
        X: Any,
        targets: Sequence[Vector],
        weights: Sequence[Vector],
        n_jobs: int | None = None,
    ) -> list[Result]:
        """Solve one problem for each vector of targets, on threads."""
        problems = self._problems(X, targets, weights)
        choose.check(self.solver, self.average, self.batch_size)
        began, budget, count = time.perf_counter(), budget_of(self), len(problems)
        threads = workers(n_jobs, count)
        seed = seeds(self.random_state, count)
        starts = self._starts(count, problems[0].rows.shape)
        progress = Progress(self.verbose, budget.gap, self.callback)
        stop = threading.Event()
        few = choose.merge(problems, self.solver, budget, stop)
        common: dict[str, Any] = {
            "callback": progress, "stop": stop, "few": few, "shared": choose.shared(problems)
        }  # fmt: skip

        def solve(k: int) -> Result:
            share = budget.share(time.perf_counter() - began, count, (count - k) / threads)
            if begun is not None:
                return begun.end(k, share.seconds)
            return choose.solve(
                problems[k],
                self.solver,
                budget=share,
                average=self.average,
                batch_size=self.batch_size,
                seed=int(seed[k]),
                start=starts[k],
                **common,
            )

        try:
            begun = choose.begin_together(
                problems, self.solver, budget=budget, seeds=seed.tolist(), starts=starts, **common
            )
            if threads == 1:
                results = []
                for k in range(count):
                    results.append(solve(k))
                    if results[-1].status is Status.INTERRUPTED:
                        stop.set()
            else:
                if self.solver == "auto":
                    linalg()  # it may be needed, and other threads can't hold what they load
                results = solve_on_threads(solve, count, threads, stop)
        finally:
            progress.close()
        self._warn(results)
        return results

    def _starts(self, count: int, shape: tuple[int, int]) -> list[Start | None]:
        """Where to begin: at the former answers if warm_start is set and they still fit."""
        nothing: list[Start | None] = [None] * count
        results = getattr(self, "results_", None)
        if not self.warm_start or results is None:
            return nothing
        coef = np.atleast_2d(self.coef_)
        if coef.shape != (count, shape[1]):
            return nothing
        bias = np.broadcast_to(np.atleast_1d(self.intercept_), (count,))
        return [
            Start(
                np.ascontiguousarray(w, dtype=np.float64),
                float(b),
                result.p if len(result.p) == shape[0] else None,
            )
            for w, b, result in zip(coef, bias, results, strict=True)
        ]

    def _warn(self, results: list[Result]) -> None:
        statuses = {result.status for result in results}
        if Status.INTERRUPTED in statuses:
            warnings.warn(
                "the fit was interrupted: the model is the best one found so far",
                UserWarning,
                stacklevel=4,
            )
        elif self.tol is not None and statuses & {Status.EPOCHS, Status.STALLED}:
            gap = max(result.certificate.relative_gap for result in results)
            warnings.warn(
                f"the relative duality gap is {gap:.2g}, above tol={self.tol:g}, after "
                f"{max(result.epochs for result in results):.0f} epochs: raise max_epochs or "
                "alpha, loosen tol, or scale the features",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _keep(self, results: list[Result]) -> None:
        """Set the fitted attributes that all estimators have, from the results."""
        self.results_ = results
        self.result_ = results[0] if len(results) == 1 else summary(results)
        self.n_iter_ = max(1, math.ceil(max(result.epochs for result in results)))
        self.n_rows_seen_ = len(results[0].p)
        self._streams: list[Stream] | None = None

    # ----------------------------------------------------------------------------- predicting

    def _scores(self, X: Any) -> NDArray[Any]:
        return linear_scores(self, X)


def linear_scores(model: Any, X: Any) -> NDArray[Any]:
    """<w, x> + b for all rows and all weight vectors of a fitted model, in the precision of X."""
    check_is_fitted(model)
    X = check_data(model, X, ABSENT, reset=False)
    if isinstance(X, Store | Triple):
        scores = scored(as_rows(X), np.atleast_2d(model.coef_).astype(np.float64, order="C"))
        return (scores + np.atleast_1d(model.intercept_)).astype(X.dtype)
    inspect = not assume_finite()
    sparse = not isinstance(X, np.ndarray)
    if inspect and sparse:
        check_entries(X)
    coef = np.atleast_2d(model.coef_).astype(X.dtype, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        product = _by_row(X, coef) if not sparse and X.size * len(coef) <= FEW else X @ coef.T
        scores = np.asarray(product) + np.atleast_1d(model.intercept_).astype(X.dtype)
        # where no weight is zero, nan and inf reach the scores: no other pass over X is needed
        if inspect and not sparse and not (coef.all() and np.isfinite(scores.sum())):
            check_entries(X)
    return scores


def _by_row(X: NDArray[Any], coef: NDArray[Any]) -> NDArray[Any]:
    """X @ coef.T without BLAS, whose last digits depend on how many rows there are.

    A row that supports two classes has one score for both, and rounding would choose.
    """
    return np.einsum("ij,kj->ik", X, coef)


def summary(results: Sequence[Result]) -> Result:
    """One result for several problems solved side by side: sums, and the worst status."""
    order = list(Status)
    reads = sum((result.reads for result in results), Reads())
    return Result(
        x=np.stack([result.x for result in results]),
        bias=np.array([result.bias for result in results]),  # type: ignore[arg-type]
        p=np.stack([result.p for result in results]),
        certificate=Certificate(
            sum(result.certificate.primal for result in results),
            sum(result.certificate.dual for result in results),
            results[0].certificate.maximize,
            min(1.0, sum(result.certificate.failure for result in results)),
        ),
        reads=reads,
        seconds=sum(result.seconds for result in results),
        epochs=max(result.epochs for result in results),
        status=max((result.status for result in results), key=order.index),
        history=[record for result in results for record in result.history],
        solver=results[0].solver,
    )


def solve_on_threads(solve: Any, count: int, threads: int, stop: threading.Event) -> list[Result]:
    def guarded(k: int) -> Any:
        try:
            return solve(k)
        except BaseException:
            stop.set()  # an error in one: the others need not go on
            raise

    with one_thread(), ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(guarded, k) for k in range(count)]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            stop.set()
            return [future.result() for future in futures]
