"""What the estimators check of data and parameters before a solver sees them."""

from __future__ import annotations

import operator
import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn import estimators
from skimlearn.data.inspection import ends, is_number
from skimlearn.data.rows import Rows
from skimlearn.data.store import Store
from skimlearn.data.triple import Triple, is_sparse
from skimlearn.problem import check_finite
from skimlearn.result import Budget

ABSENT = "no_validation"  # scikit-learn's word for a missing y
ENCODE = "encode text, dates and categories as numbers first"

_legacy = np.random.RandomState(0)  # a new one takes longer than to seed this one again
_legacy_lock = threading.Lock()


# ------------------------------------------------------------------------------------------- data


def check_data(model: Any, X: Any, y: Any, *, reset: bool, **options: Any) -> Any:
    """Scikit-learn's checks of the data; float32 is kept, and rows are made contiguous.

    Nan and inf are left to `as_rows`, which says where the first one is; in targets, to
    `check_numbers` and `check_classes`.
    """
    if isinstance(X, Store | Rows | Triple) or not estimators.CONTRACT:
        return _check_plain(model, X, y, reset)
    absent = isinstance(y, str) and y == ABSENT
    named = not reset and hasattr(model, "feature_names_in_")  # scikit-learn warns
    plain = set(options) <= {"y_numeric"} and _is_plain(X) and (absent or _fits(y, X))
    if plain and not named:
        return _check_plain(model, X, y, reset)
    from sklearn.utils.validation import validate_data

    dtype = getattr(X, "dtype", None)
    if getattr(dtype, "kind", "?") in "USmM":
        raise ValueError(f"X must hold numbers, but its dtype is {dtype}: {ENCODE}")
    given: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    given |= {"order": None if isinstance(X, np.memmap) else "C", "ensure_all_finite": False}
    given |= {"reset": reset} | options
    if not absent:
        given["y"] = y
    try:
        return validate_data(model, X, **given)
    except (TypeError, ValueError) as error:
        found = _first_text(X)
        if not found:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"X must hold numbers, but holds {found}: {ENCODE} ({error})") from error


def _is_plain(X: Any) -> bool:
    """Whether a matrix needs no check but those of `as_rows`, nor a conversion."""
    if not is_sparse(X):
        plain = type(X) is np.ndarray and X.flags.c_contiguous
    else:
        plain = getattr(X, "format", "") == "csr"
    return (
        plain
        and X.ndim == 2
        and X.dtype in (np.float64, np.float32)
        and X.dtype.isnative
        and 0 not in X.shape
    )


def _fits(y: Any, X: Any) -> bool:
    """Whether targets are a plain vector of numbers, one for each row."""
    return type(y) is np.ndarray and y.dtype.kind in "biuf" and y.shape == X.shape[:1]


def _check_plain(model: Any, X: Any, y: Any, reset: bool) -> Any:
    """The same without scikit-learn, for what has neither frames nor lists in it."""
    names = X.names if isinstance(X, Store) else None
    names = None if names is None else names.astype(object)
    if len(X.shape) != 2 or 0 in X.shape:
        raise ValueError(f"X has the shape {X.shape}: it must have at least one row and one column")
    if reset:
        model.n_features_in_ = X.shape[1]
        if names is not None:
            model.feature_names_in_ = names
        elif hasattr(model, "feature_names_in_"):
            del model.feature_names_in_
    elif X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )
    elif names is not None and not np.array_equal(
        getattr(model, "feature_names_in_", names), names
    ):
        raise ValueError("the names of the store's columns are not those that were seen in fit")
    if isinstance(y, str) and y == ABSENT:
        return X
    y = one_column(y)
    if len(y) != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(y)]}"
        )
    return X, y


def labels_of(X: Any, y: Any) -> Any:
    """The labels that were given or, where none were, those of a store."""
    if y is not None or not isinstance(X, Store):
        return y
    if X.y is None:
        raise ValueError(f"the store {X.path} has no labels: give them as y")
    return X.y


def _first_text(X: Any) -> str:
    """The first entry of a matrix that is no number, and its place."""
    values = np.asarray(X)
    if values.dtype.kind in "OU" and values.ndim == 2:
        for (i, j), value in np.ndenumerate(values):
            if not is_number(value):
                return f"{value!r} (row {i}, column {j})"
    return ""


def check_numbers(y: Any) -> None:
    """Raise an error that says where a target of a regression is no finite number."""
    values = np.asarray(y)
    if values.dtype.kind in "OUS" and y is not None:
        for place, value in np.ndenumerate(values.astype(object)):
            if values.dtype.kind != "O" or not (is_number(value) or value is None):
                raise ValueError(
                    f"y must hold numbers, but holds {value!r} (row {place[0]}): use "
                    "LinearClassifier to learn classes"
                )
        values = values.astype(np.float64)
    if values.dtype.kind == "f":
        check_finite(values, "y")


def check_classes(y: Any) -> Any:
    """Classes, those of an object array by their own type; an error says where one is missing."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    values = np.empty(0) if hasattr(y, "toarray") else np.asarray(y)
    if values.dtype.kind == "f":
        check_finite(values, "y")
    elif values.dtype.kind == "O":
        for place, value in np.ndenumerate(values):
            if _is_missing(value):
                raise ValueError(
                    f"y contains {value!r} (row {place[0]}): drop the rows that have no class"
                )
        if values.ndim == 1 and {type(value) for value in values} <= {int, bool, np.bool_}:
            return np.array(values.tolist())
    return y


def one_column(y: Any) -> Any:
    """The targets as an array of one axis; scikit-learn warns where they are a column."""
    if type(y) is np.ndarray and y.ndim == 1:
        return y
    from sklearn.utils.validation import column_or_1d

    return column_or_1d(y, warn=True)


def classes_of(y: NDArray[Any]) -> NDArray[Any]:
    """The distinct values in order, without sorting if there are two."""
    two = _two_numbers(y)
    return np.unique(y) if two is None else two


def _two_numbers(y: NDArray[Any]) -> NDArray[Any] | None:
    """The distinct values of a vector of numbers, if there are no more than two."""
    if y.ndim != 1 or y.dtype.kind not in "biuf" or len(y) == 0:
        return None
    if y.dtype == np.float64 and y.flags.carray:
        low, high, only = ends(y)
        found = np.array([low, high]) if only else None
    else:
        found = np.array([y.min(), y.max()])
        if not ((y == found[0]) | (y == found[1])).all():
            return None
    return found if found is None or found[0] != found[1] else found[:1]


def kind_of_classes(y: Any) -> str:
    """Scikit-learn's `type_of_target`: "binary", "multiclass", "multilabel-indicator", ..."""
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU" and len(y) > 0
    if plain and (two := _two_numbers(y)) is not None and (two == np.rint(two)).all():
        return "binary"
    if plain and (y.dtype.kind != "f" or (y == np.rint(y)).all()):
        return "binary" if len(classes_of(y)) <= 2 else "multiclass"
    from sklearn.utils.multiclass import type_of_target

    return str(type_of_target(y, input_name="y"))


def one_class_each(y: Any) -> Any:
    """Classes, one for each row, or an error that says what they are instead."""
    y = one_column(check_classes(y))
    if kind_of_classes(y) not in ("binary", "multiclass"):
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)
    return y


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas' NA is neither equal nor unequal to itself
        return True


# ------------------------------------------------------------------------------------- parameters


def budget_of(model: Any) -> Budget:
    """The budget of an estimator's parameters."""
    values: dict[str, Any] = {"gap": model.tol, "seconds": model.max_seconds}
    for name in ("epochs", "reads"):
        value = values[name] = getattr(model, f"max_{name}")
        if value is None:
            continue
        if not _is_real(value) or not 1 <= value < np.inf or value != int(value):
            raise ValueError(
                f"max_{name}={value!r} must be a whole number, 1 or more, or None for no limit"
            )
        values[name] = int(value)
    if model.tol is not None and not (_is_real(model.tol) and model.tol >= 0.0):
        raise ValueError(f"tol={model.tol!r} must be a number, 0 or more, or None for no target")
    seconds = model.max_seconds
    if seconds is not None and not (_is_real(seconds) and seconds > 0.0):
        raise ValueError(f"max_seconds={seconds!r} must be positive, or None for no limit")
    if all(value is None for value in values.values()):
        raise ValueError(
            "tol, max_epochs, max_reads and max_seconds are all None: set at least one, or the fit "
            "would never end"
        )
    return Budget(**values)


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def seeds(random_state: Any, count: int) -> NDArray[np.int64]:
    """So many seeds, drawn from an integer, a generator of either kind, or nothing."""
    most = np.iinfo(np.int32).max
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(most, size=count)
    if random_state is None or random_state is np.random:
        return np.asarray(np.random.randint(most, size=count), dtype=np.int64)  # noqa: NPY002
    try:
        if not isinstance(random_state, np.random.RandomState):
            with _legacy_lock:
                _legacy.seed(operator.index(random_state))
                return np.asarray(_legacy.randint(most, size=count), dtype=np.int64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state={random_state!r} must be a whole number from 0 to 2**32 - 1, a numpy "
            "Generator or RandomState, or None"
        ) from error
    return np.asarray(random_state.randint(most, size=count), dtype=np.int64)


def workers(n_jobs: Any, count: int) -> int:
    """How many threads to use for so many pieces of work."""
    if n_jobs == 0 or not (n_jobs is None or isinstance(n_jobs, (int, np.integer))):
        raise ValueError(f"n_jobs={n_jobs!r} must be a whole number (-1 for all cores), or None")
    if count == 1 or (n_jobs is None and "joblib" not in sys.modules):  # where one may be asked
        return 1
    from joblib import effective_n_jobs

    return int(min(effective_n_jobs(n_jobs), count))
