"""How good the predictions of a model are on rows that it did not learn from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)

from skimlearn.report._charts import Chart, histogram, numbers, thinned
from skimlearn.report.entry import Entry

__all__ = ["Quality", "margins", "quality"]

MOST_CLASSES = 12  # in a table of confusions
MOST_CURVES = 6
MOST_DOTS = 1500
BINS = 10  # of a calibration

Table = tuple[list[str], list[tuple[str, list[str]]]]


@dataclass
class Quality:
    """What is known of the predictions."""

    scores: dict[str, float] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    confusion: NDArray[np.int64] | None = None
    left_out: int = 0  # rows of classes that the table of confusions has no room for
    per_class: list[tuple[str, float, float, float, int]] = field(default_factory=list)
    roc: list[Chart] = field(default_factory=list)
    calibration: Chart | None = None
    residuals: Chart | None = None


def margins(model: Any, X: Any, y: Any) -> NDArray[Any] | None:
    """By how much each row is on its side: positive if it is predicted right.

    For two classes the score times the label, for more the score of the right class less the
    greatest of the others, for a ball the distance to its surface, for a regression none.
    """
    if model is None or not hasattr(model, "decision_function"):
        return None
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    if is_outlier_detector(model) or y is None:
        return scores if is_outlier_detector(model) else None
    if getattr(model, "multilabel_", False):
        return (np.where(np.asarray(_dense(y)) > 0, 1.0, -1.0) * scores).ravel()
    y = np.asarray(y)
    if scores.ndim == 1:
        return np.where(y == model.classes_[1], scores, -scores)
    place = np.searchsorted(model.classes_, y).clip(0, len(model.classes_) - 1)
    known = model.classes_[place] == y
    scores, place = scores[known], place[known]
    line = np.arange(len(scores))
    right = scores[line, place]
    others = scores.copy()
    others[line, place] = -np.inf
    return right - others.max(axis=1)


def quality(entry: Entry) -> Quality | None:
    """What the predictions on the rows X of an entry are worth; None if there are none."""
    model, (X, y) = entry.estimator, entry.test
    if model is None or X is None:
        return None
    if y is None and not is_outlier_detector(model):
        raise ValueError("X is given without y: predictions are tested on rows with targets")
    if is_regressor(model):
        return _regression(model, X, np.asarray(y, dtype=np.float64))
    if is_outlier_detector(model):
        return _novelty(model, X, y)
    if is_classifier(model):
        if getattr(model, "multilabel_", False):
            return _labels(model, X, np.asarray(_dense(y)))
        return _classification(model, X, np.asarray(y))
    return None


def _dense(y: Any) -> Any:
    return y.toarray() if hasattr(y, "toarray") else y


def _classification(model: Any, X: Any, y: NDArray[Any]) -> Quality:
    predicted = np.asarray(model.predict(X))
    found = Quality(scores={"accuracy": float((predicted == y).mean())})
    _count(found, y, predicted)
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    pairs = (
        [(model.classes_[1], scores)]
        if scores.ndim == 1
        else [(c, scores[:, k]) for k, c in enumerate(model.classes_[:MOST_CURVES])]
    )
    for label, values in pairs:
        truth = y == label
        if truth.all() or not truth.any():
            continue  # one class only: there is no curve
        away, right, _ = roc_curve(truth, values)
        kept = thinned(len(away))
        found.roc.append(
            {
                "label": "" if scores.ndim == 1 else str(label),
                "x": numbers(away[kept]),
                "y": numbers(right[kept]),
                "area": float(roc_auc_score(truth, values)),
            }
        )
    if found.roc and scores.ndim == 1:
        found.scores["area under the ROC curve"] = found.roc[0]["area"]
    if hasattr(model, "predict_proba"):
        found.calibration = _calibration(np.asarray(model.predict_proba(X)), model.classes_, y)
    return found


def _count(found: Quality, y: NDArray[Any], predicted: NDArray[Any]) -> None:
    """Fill in the confusions, and what is right of each class."""
    classes, counts = np.unique(np.concatenate([y, predicted]), return_counts=True)
    kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
    inside = np.isin(y, classes[kept]) & np.isin(predicted, classes[kept])
    found.left_out = int((~inside).sum())
    found.classes = [str(c) for c in classes[kept].tolist()]
    found.confusion = np.zeros((len(kept), len(kept)), dtype=np.int64)
    places = [np.searchsorted(classes[kept], labels[inside]) for labels in (y, predicted)]
    np.add.at(found.confusion, tuple(places), 1)
    tables = precision_recall_fscore_support(y, predicted, labels=classes[kept], zero_division=0.0)
    found.per_class = [
        (name, float(precision), float(recall), float(both), int(support))
        for name, precision, recall, both, support in zip(found.classes, *tables, strict=True)
    ]


def _calibration(
    probabilities: NDArray[Any], classes: NDArray[Any], y: NDArray[Any]
) -> Chart | None:
    """What was said against what happened, in bins of as many rows each."""
    if probabilities.shape[1] == 2:
        said, truth = probabilities[:, 1], y == classes[1]
    else:
        said, truth = probabilities.max(axis=1), classes[probabilities.argmax(axis=1)] == y
    if truth.all() or not truth.any():
        return None
    happened, mean = calibration_curve(
        truth, np.clip(said, 0.0, 1.0), n_bins=BINS, strategy="quantile"
    )
    return {"x": numbers(mean), "y": numbers(happened)}


def _labels(model: Any, X: Any, y: NDArray[Any]) -> Quality:
    predicted = np.asarray(model.predict(X))
    truth = (y > 0).astype(np.int64)
    found = Quality(scores={"labels that are right": float((predicted == truth).mean())})
    tables = precision_recall_fscore_support(truth, predicted, average=None, zero_division=0.0)
    found.per_class = [
        (str(k), float(precision), float(recall), float(both), int(support))
        for k, (precision, recall, both, support) in enumerate(zip(*tables, strict=True))
    ]
    return found


def _novelty(model: Any, X: Any, y: Any) -> Quality:
    predicted = np.asarray(model.predict(X))
    found = Quality(scores={"part of the rows outside": float((predicted < 0).mean())})
    if y is not None:
        truth = np.asarray(y)
        found.scores["accuracy"] = float((predicted == truth).mean())
        _count(found, truth, predicted)
    return found


def _regression(model: Any, X: Any, y: NDArray[np.float64]) -> Quality:
    predicted = np.asarray(model.predict(X), dtype=np.float64)
    off = y - predicted
    spread = float(((y - y.mean()) ** 2).sum())
    found = Quality()
    if spread > 0.0:
        found.scores["R²"] = 1.0 - float((off**2).sum()) / spread
    found.scores["root mean squared error"] = float(np.sqrt((off**2).mean()))
    found.scores["mean absolute error"] = float(np.abs(off).mean())
    some = np.arange(len(y))
    if len(y) > MOST_DOTS:
        some = np.sort(np.random.default_rng(0).choice(len(y), MOST_DOTS, replace=False))
    found.residuals = {
        "x": numbers(predicted[some]),
        "y": numbers(off[some]),
        "count": len(y),
        "histogram": histogram(off),
    }
    return found
