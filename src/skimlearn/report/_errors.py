"""The error on other rows along a fit, which a history of certificates does not have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

__all__ = ["ErrorRecord", "error_curve"]


@dataclass(frozen=True)
class ErrorRecord:
    """The error of the model that a fit had at some time; `error_curve` makes a list of them.

    Attributes
    ----------
    epoch, seconds, reads : float, float and int
        What the fit had cost by then.
    error : float
        The part of the test rows that it got wrong; in a regression the mean squared error.

    Examples
    --------
    >>> ErrorRecord(epoch=1.0, seconds=0.5, reads=1000, error=0.25).error
    0.25
    """

    epoch: float
    seconds: float
    reads: int
    error: float


def error_curve(
    model: Any,
    X: Any,
    y: Any,
    X_test: Any,
    y_test: Any,
    *,
    epochs: Sequence[int] = (1, 2, 4, 8, 16, 32),
) -> list[ErrorRecord]:
    """The error on rows that were not learned from, after so many epochs.

    Each number of epochs is a fit of its own, by a copy of the model without ``tol``; with an
    integer as ``random_state`` they are beginnings of one and the same run.

    Parameters
    ----------
    model : LinearClassifier or LinearRegressor
        The parameters; it need not be fitted, and is not changed.
    X, y : array, sparse matrix or Store of shape (n, d), and array of shape (n,)
        What to learn from.
    X_test, y_test : as X and y
        What to test on.
    epochs : sequence of int, default=(1, 2, 4, 8, 16, 32)
        When to test.

    Returns
    -------
    list of ErrorRecord
        The part of wrong classes, or the mean squared error of a regression.

    Examples
    --------
    >>> from skimlearn import LinearClassifier
    >>> from skimlearn.datasets import load_spam
    >>> X, y = load_spam()
    >>> curve = error_curve(
    ...     LinearClassifier(solver="asgd", random_state=0),
    ...     X[::2],
    ...     y[::2],
    ...     X[1::2],
    ...     y[1::2],
    ...     epochs=(1, 4),
    ... )
    >>> [round(record.epoch) for record in curve]
    [1, 4]
    >>> curve[-1].error < 0.05
    True
    """
    if "max_epochs" not in model.get_params() or "alphas" in model.get_params():
        raise TypeError(
            f"an error curve is one of LinearClassifier or LinearRegressor, not of "
            f"{type(model).__name__}"
        )
    curve = []
    for count in sorted(epochs):
        part = clone(model).set_params(tol=None, max_epochs=count, warm_start=False)
        part.fit(X, y)
        result = part.result_
        if is_classifier(part):
            error = 1.0 - float(part.score(X_test, y_test))
        else:
            error = float(np.mean((part.predict(X_test) - np.asarray(y_test)) ** 2))
        curve.append(ErrorRecord(result.epochs, result.seconds, result.reads.nnz, error))
    return curve
