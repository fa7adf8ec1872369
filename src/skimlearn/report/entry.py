"""What a report is about: a model or a result, and what else is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skimlearn.data.store import Store
from skimlearn.estimators.path import Path
from skimlearn.report._errors import ErrorRecord
from skimlearn.result import Record, Result

__all__ = ["Entry", "as_entries"]


@dataclass(frozen=True, eq=False)
class Entry:
    """One column of a report: a fitted model or a result, and what else is known of it.

    Attributes
    ----------
    model : fitted estimator or Result
        What the report is about.
    name : str or None
        What to call it; None: its class, or its solver.
    X, y : array, sparse matrix or Store of shape (n, d), and array of shape (n,), or None
        Rows that were not learned from, and their targets: what predictions are tested on. A store
        may have its own targets.
    X_train, y_train : as X and y
        The rows that were learned from, for their margins and for the summary of the data.
    regularization_path : Path or None
        What `regularization_path` gave for the same data.
    errors : sequence of ErrorRecord or None
        What `error_curve` gave for the same data.
    feature_names : sequence of str or None
        The names of the columns; None: those that the model learned from, or their numbers.
    command : str or None
        What to run to get the same; None: the command line of ``skim`` that made the model, or the
        lines of Python that make such a one.

    Examples
    --------
    >>> from skimlearn import LinearRegressor
    >>> Entry(LinearRegressor().fit([[0.0], [1.0]], [0.0, 1.0])).title
    'LinearRegressor'
    """

    model: Any
    _: KW_ONLY
    name: str | None = None
    X: Any = None
    y: Any = None
    X_train: Any = None
    y_train: Any = None
    regularization_path: Path | None = None
    errors: Sequence[ErrorRecord] | None = None
    feature_names: Sequence[str] | None = None
    command: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, Result):
            if not hasattr(self.model, "get_params"):
                raise TypeError(
                    f"model={type(self.model).__name__} must be a fitted estimator of skimlearn or "
                    "a Result"
                )
            check_is_fitted(self.model)
            if not isinstance(getattr(self.model, "result_", None), Result):
                raise TypeError(
                    f"model={type(self.model).__name__} has no result_: a report is about the "
                    "estimators of skimlearn"
                )
        if self.feature_names is not None and len(self.feature_names) != self.width:
            raise ValueError(
                f"feature_names has {len(self.feature_names)} names, but there are {self.width} "
                "columns: give one for each"
            )
        if self.X is not None and isinstance(self.model, Result):
            raise TypeError("X is given, but a Result can't predict: give the model instead of it")

    @property
    def result(self) -> Result:
        """The result; sums where several problems were solved."""
        return self.model if isinstance(self.model, Result) else self.model.result_

    @property
    def line(self) -> str:
        """The command that makes the same, or nothing if none is known."""
        return self.result.command if self.command is None else self.command

    @property
    def estimator(self) -> Any:
        """The model, or None if only a result is known."""
        return None if isinstance(self.model, Result) else self.model

    @property
    def title(self) -> str:
        """What to call it."""
        if self.name is not None:
            return str(self.name)
        if isinstance(self.model, Result):
            return self.model.solver or "result"
        return type(self.model).__name__

    @property
    def test(self) -> tuple[Any, Any]:
        """The rows that were not learned from, and their targets."""
        return self.X, _targets(self.X, self.y)

    @property
    def train(self) -> tuple[Any, Any]:
        """The rows that were learned from, and their targets."""
        return self.X_train, _targets(self.X_train, self.y_train)

    @property
    def width(self) -> int:
        """The number of columns of the data."""
        if isinstance(self.model, Result):
            return int(np.atleast_2d(self.model.x).shape[1])
        return int(self.model.n_features_in_)

    @property
    def names(self) -> Any:
        """The names of the columns, or None."""
        if self.feature_names is not None:
            return self.feature_names
        return getattr(self.model, "feature_names_in_", None)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weight vectors as rows, or None if the model has none."""
        found = self.model.x if isinstance(self.model, Result) else self._coef()
        return None if found is None else np.atleast_2d(found)

    def _coef(self) -> Any:
        return getattr(self.model, "coef_", None)

    @property
    def outputs(self) -> list[str]:
        """What each weight vector stands for: a class, a label, or nothing if there is one."""
        count = 1 if self.weights is None else len(self.weights)
        if count == 1:
            return [""]
        classes = getattr(self.model, "classes_", None)
        if classes is not None and len(classes) == count:
            return [str(c) for c in classes.tolist()]
        return [str(k) for k in range(count)]

    @property
    def runs(self) -> list[tuple[str, list[Record]]]:
        """The histories of the problems that were solved, each with what it is about."""
        results = getattr(self.model, "results_", None)
        if results is None:
            parts = _split(self.result.history)
        else:
            parts = [result.history for result in results]
        outputs = self.outputs if len(self.outputs) == len(parts) else [""] * len(parts)
        return list(zip(outputs, parts, strict=True))


def _targets(X: Any, y: Any) -> Any:
    """The targets of rows: a store has its own."""
    return X.y if y is None and isinstance(X, Store) else y


def _split(history: list[Record]) -> list[list[Record]]:
    """Histories that were put one behind the other, apart: where the time falls, one begins."""
    parts: list[list[Record]] = [[]]
    for record in history:
        if parts[-1] and record.seconds < parts[-1][-1].seconds:
            parts.append([])
        parts[-1].append(record)
    return parts


def as_entries(entries: Any) -> list[Entry]:
    """Entries from entries, models and results, one or several."""
    if isinstance(entries, Entry | Result) or hasattr(entries, "get_params"):
        entries = [entries]
    if not isinstance(entries, Iterable) or isinstance(entries, str | bytes | dict):
        raise TypeError(f"entries={entries!r} must be a list of models, results or Entry objects")
    found = [item if isinstance(item, Entry) else Entry(item) for item in entries]
    if not found:
        raise ValueError("entries is empty: a report needs at least one model or result")
    return found
