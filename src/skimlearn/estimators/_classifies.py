"""From scores to classes and probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.estimators._contract import available_if
from skimlearn.formulas.losses import Log

__all__ = ["Classifies", "has_probabilities"]


def has_probabilities(model: Any) -> bool:
    """Whether the loss is one that gives probabilities; else an error says so."""
    if isinstance(model.loss, Log) or model.loss == "log":
        return True
    raise AttributeError(
        f"predict_proba is available for loss='log' only, not for loss={model.loss!r}: use "
        "loss='log', or scikit-learn's CalibratedClassifierCV"
    )


class Classifies:
    """The predictions of a linear classifier, given ``classes_``, ``multilabel_`` and scores."""

    classes_: NDArray[Any]
    multilabel_: bool
    _scores: Any

    def decision_function(self, X: Any) -> NDArray[Any]:
        """How sure the model is of each class: <w, x> + b.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,) for two classes, else (n, n_classes)
        """
        scores = self._scores(X)
        if scores.shape[1] == 1 and not self.multilabel_:
            return scores[:, 0]
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row, or its labels as zeros and ones.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,), or (n, n_labels) if the model was fitted with a matrix
        """
        scores = self.decision_function(X)
        if self.multilabel_:
            return (scores > 0).astype(np.int64)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(np.intp)]
        return self.classes_[scores.argmax(axis=1)]

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probability of each class, for the log loss.

        More than two classes: the probabilities of one against the rest, scaled to a sum of 1.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        from scipy.special import expit

        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        probabilities = expit(scores)
        if self.multilabel_:
            return np.asarray(probabilities)
        sums = probabilities.sum(axis=1, keepdims=True)
        even = np.full_like(probabilities, 1.0 / probabilities.shape[1])
        return np.divide(probabilities, sums, out=even, where=sums > 0)

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The logarithm of the probability of each class, for the log loss.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
