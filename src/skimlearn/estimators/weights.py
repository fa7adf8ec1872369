"""Fitted models of given weights: what was learned elsewhere, with the estimators' methods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data.ledger import Reads
from skimlearn.estimators.classifier import LinearClassifier
from skimlearn.estimators.regressor import LinearRegressor
from skimlearn.formulas.losses import Loss
from skimlearn.result import Certificate, Result, Status

__all__ = ["classifier_of", "regressor_of"]


def classifier_of(
    coef: ArrayLike, intercept: ArrayLike, classes: ArrayLike, *, loss: str | Loss = "hinge"
) -> LinearClassifier:
    """A classifier with these weights, a row for each class or one for the second of two.

    The classes may come in any order, which is that of the rows.

    Examples
    --------
    >>> classifier_of([[1.0], [0.0], [-1.0]], [0.0, 0.0, 0.0], ["c", "b", "a"]).predict([[5.0]])
    array(['c'], dtype='<U1')
    """
    weights, biases, names = _matrix(coef), _vector(intercept), np.asarray(classes)
    ordered, order = np.unique(names, return_index=True)
    if names.ndim != 1 or len(ordered) != len(names) or len(names) < 2:
        raise ValueError(f"classes={names.tolist()!r} must be two or more, each of them once")
    rows = 1 if len(names) == 2 else len(names)
    if len(weights) != rows or len(biases) != rows:
        raise ValueError(
            f"{len(names)} classes need {rows} weight vectors and biases, but there are "
            f"{len(weights)} and {len(biases)}"
        )
    if rows > 1:
        weights, biases = weights[order], biases[order]
    elif order[0] == 1:  # the first class is the greater one
        weights, biases = -weights, -biases
    model = LinearClassifier(loss)
    model.classes_, model.multilabel_ = ordered, False
    model.coef_, model.intercept_ = weights, biases
    _finish(model, weights, biases)
    return model


def regressor_of(
    coef: ArrayLike, intercept: float, *, loss: str | Loss = "squared"
) -> LinearRegressor:
    """A regressor with these weights.

    Examples
    --------
    >>> regressor_of([2.0], 1.0).predict([[3.0]])
    array([7.])
    """
    weights, biases = _matrix(np.reshape(coef, (1, -1))), _vector(intercept)
    model = LinearRegressor(loss)
    model.coef_, model.intercept_ = weights[0], float(biases[0])
    _finish(model, weights, biases)
    return model


def _matrix(coef: Any) -> NDArray[np.float64]:
    weights = np.array(coef, dtype=np.float64, order="C")  # a copy
    if weights.ndim != 2 or weights.size == 0:
        raise ValueError(f"the weights are of shape {weights.shape}, but must be a matrix")
    return _finite(weights, "weights")


def _vector(intercept: Any) -> NDArray[np.float64]:
    biases = np.array(intercept, dtype=np.float64).reshape(-1)
    return _finite(biases, "biases")


def _finite(values: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    if not np.isfinite(values).all():
        raise ValueError(f"the {what} hold nan or inf: no prediction could be made")
    return values


def _finish(model: Any, weights: NDArray[np.float64], biases: NDArray[np.float64]) -> None:
    model.n_features_in_ = weights.shape[1]
    model._keep(
        [
            Result(
                x=w, bias=float(b), p=np.zeros(0), certificate=Certificate(math.nan, -math.inf),
                reads=Reads(), seconds=0.0, epochs=0.0, status=Status.IMPORTED, history=[],
                solver="",
            )
            for w, b in zip(weights, biases, strict=True)
        ]
    )  # fmt: skip
