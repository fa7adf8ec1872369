"""What the linear estimators that learn from streams share: batches, and whole streams."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.certificates import mean_loss
from skimlearn.data.blas import one_thread_for_steps
from skimlearn.data.stream import as_stream
from skimlearn.estimators._base import LinearModel, summary
from skimlearn.estimators._checks import seeds
from skimlearn.estimators._stream import Stream
from skimlearn.estimators._stream_run import EVERY, StreamRun
from skimlearn.problem import Problem
from skimlearn.result import Certificate, Record, Result, Status
from skimlearn.solvers import choose
from skimlearn.solvers._run import Start

__all__ = ["EVERY", "Learned", "Streams"]

Vector = NDArray[np.float64]
Learned = tuple[list[Problem], list[Vector]]  # problems of a batch, and what was predicted for each


class Streams(LinearModel, ABC):
    """A linear model with `partial_fit` and `fit_stream`."""

    coef_: Any
    intercept_: Any

    @abstractmethod
    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Learned:
        """Check a batch and learn from it; what was predicted for each row before its step."""

    @abstractmethod
    def _errors(self, learned: Learned, y: Any) -> Vector:
        """How wrong the predictions were, row by row."""

    def _fit_stream(self, source: Any, classes: Any, options: dict[str, Any]) -> None:
        StreamRun(self, as_stream(source), classes, **options).run()

    def _is_fresh(self) -> bool:
        """Whether nothing was learned yet."""
        return not hasattr(self, "coef_") and getattr(self, "_streams", None) is None

    def _begin_streams(self, count: int) -> None:
        """Make the streams of the first batch; they go on from a fit if there was one."""
        self._stream_rng = np.random.default_rng(seeds(self.random_state, 1))
        if not hasattr(self, "coef_"):
            self.n_rows_seen_ = 0
            self._streams = [self._new_stream() for _ in range(count)]
            return
        pairs = zip(np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_), strict=True)
        self._streams = [self._new_stream(Start(w, float(b))) for w, b in pairs]

    def _new_stream(self, start: Start | None = None) -> Stream:
        """A stream with the settings of the parameters."""
        kind, settings = choose.stream_method(self.solver, self.average, self.batch_size)
        return Stream(kind, settings, start, self.n_rows_seen_ if start is not None else 0)

    def _learn(self, problems: list[Problem]) -> Learned:
        """Let every stream learn from its problem of a batch."""
        seed = self._stream_rng.integers(2**63)  # one order of visits for all streams
        with one_thread_for_steps(problems[0].rows):
            scores = [
                stream.learn(problem, np.random.default_rng(seed))
                for stream, problem in zip(self._streams or [], problems, strict=True)
            ]
        self.n_rows_seen_ += problems[0].n
        return problems, scores

    def _settle(
        self,
        began: float,
        status: Status = Status.STREAMED,
        history: list[Record] | None = None,
    ) -> None:
        """Set the fitted attributes from what the streams have learned."""
        results = []
        for k, stream in enumerate(self._streams or []):
            w, b = stream.answer()
            results.append(
                Result(
                    x=w, bias=b, p=np.zeros(0), certificate=Certificate(math.nan, -math.inf),
                    reads=stream.reads, seconds=time.perf_counter() - began, epochs=1.0,
                    status=status, history=list(history or []) if k == 0 else [],
                    solver=stream.name,
                )
            )  # fmt: skip
        self.results_ = results
        self.result_ = results[0] if len(results) == 1 else summary(results)
        self.n_iter_ = 1
        one = len(results) == 1  # long weights are not copied
        self._set_weights(
            results[0].x[np.newaxis] if one else np.stack([result.x for result in results]),
            np.array([result.bias for result in results]),
        )

    def _set_weights(self, coef: NDArray[np.float64], bias: Vector) -> None:
        self.coef_, self.intercept_ = coef, bias

    def _progress(self, learned: Learned, y: Any) -> tuple[float, float]:
        """The sums of the losses and of the errors of a batch, each row with its weight."""
        problems, scores = learned
        loss = sum(mean_loss(p, z, 0.0) for p, z in zip(problems, scores, strict=True))
        return loss * problems[0].n, float(problems[0].weights @ self._errors(learned, y))
