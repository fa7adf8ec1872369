"""How good predictions are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skimlearn.cli._inputs import as_classes
from skimlearn.cli._output import Sheet, facts, grid, number

__all__ = ["score", "tables"]

SHOWN = 20  # classes of a confusion matrix on a screen


def score(model: Any, blocks: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """The scores of a model on rows with labels, block by block."""
    import numpy as np

    if getattr(model, "multilabel_", False):
        raise ValueError("the model gives several labels a row, which files of labels do not hold")
    targets, answers, scores, likely = [], [], [], []
    classifies = hasattr(model, "classes_")
    for X, y in blocks:
        if y is None:
            raise ValueError("there are no labels to compare with: give them by --labels FILE")
        targets.append(np.asarray(y))
        if classifies:
            scores.append(model.decision_function(X))
            answers.append(_classes(model, scores[-1]))
            if hasattr(model, "predict_proba"):
                likely.append(model.predict_proba(X))
        else:
            answers.append(model.predict(X))
    y, answer = np.concatenate(targets), np.concatenate(answers)
    if not classifies and not hasattr(model, "coef_"):  # a ball: +1 inside, -1 outside
        return _classification(as_classes(y), answer, np.array([-1, 1]))
    if not classifies:
        return _regression(y, answer)
    if model.classes_.dtype.kind in "iu":
        y = as_classes(y)
    found = _classification(y, answer, model.classes_)
    known = np.isin(y, model.classes_)
    if known.all():
        found |= _ranking(y, np.concatenate(scores), model.classes_)
        if likely:
            chances = np.concatenate(likely)
            chance = chances[np.arange(len(y)), np.searchsorted(model.classes_, y)]
            least = np.finfo(chances.dtype).eps  # as scikit-learn has it: a finite loss
            found["log_loss"] = float(-np.log(np.clip(chance, least, 1.0 - least)).mean())
    return found


def _classes(model: Any, scores: Any) -> Any:
    if scores.ndim == 1:
        return model.classes_[(scores > 0).astype(int)]
    return model.classes_[scores.argmax(axis=1)]


def _classification(y: Any, answer: Any, classes: Any) -> dict[str, Any]:
    import numpy as np

    if y.dtype.kind != answer.dtype.kind and {y.dtype.kind, answer.dtype.kind} & set("UO"):
        y, answer, classes = y.astype(str), answer.astype(str), np.asarray(classes).astype(str)
    every = np.unique(np.concatenate([classes, np.unique(y)]))
    pairs = np.searchsorted(every, y) * len(every) + np.searchsorted(every, answer)
    return {
        "rows": len(y),
        "accuracy": float((y == answer).mean()),
        "classes": every,
        "confusion": np.bincount(pairs, minlength=len(every) ** 2).reshape(len(every), -1),
    }


def _ranking(y: Any, scores: Any, classes: Any) -> dict[str, Any]:
    """The area under the curve: of the second class, or the mean over all, each against the rest.

    It needs rows of the class and rows of others.
    """
    import numpy as np

    columns = [scores] if scores.ndim == 1 else list(scores.T)
    picked = classes[1:] if scores.ndim == 1 else classes
    areas = [
        _area(y == c, column)
        for c, column in zip(picked, columns, strict=True)
        if 0 < (y == c).sum() < len(y)
    ]
    return {"roc_auc": float(np.mean(areas))} if areas else {}


def _area(positive: Any, scores: Any) -> float:
    """The part of all pairs, a positive and a negative row, in which the first has a greater score.

    Equal scores count for a half.
    """
    import numpy as np

    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * (counts - 1))[place]  # the mean one of equal scores
    rows, count = len(scores), int(positive.sum())
    above = float(ranks[positive].sum()) - 0.5 * count * (count + 1)
    return above / (count * (rows - count))


def _regression(y: Any, answer: Any) -> dict[str, Any]:
    import numpy as np

    error = answer - y
    spread = float(((y - y.mean()) ** 2).sum())
    return {
        "rows": len(y),
        "r2": 1.0 - float((error**2).sum()) / spread if spread > 0.0 else float("nan"),
        "mae": float(np.abs(error).mean()),
        "rmse": float(np.sqrt((error**2).mean())),
    }


def summary(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The scores as names and values."""
    names = {"accuracy": "accuracy", "roc_auc": "ROC AUC", "log_loss": "log loss"}
    names |= {"r2": "R2", "mae": "mean absolute error", "rmse": "root mean square error"}
    return [(name, number(found[key], 4)) for key, name in names.items() if key in found]


def tables(found: dict[str, Any], *lines: tuple[str, str]) -> list[Sheet]:
    """Some lines, the scores, and which classes are taken for which."""
    shown = [facts([*lines, ("rows", f"{found['rows']:,}"), *summary(found)])]
    if 1 < len(found.get("classes", ())) <= SHOWN:
        classes = [str(c) for c in found["classes"].tolist()]
        rows = [
            [name, *(f"{k:,}" for k in row)]
            for name, row in zip(classes, found["confusion"].tolist(), strict=True)
        ]
        shown.append(grid(["true \\ predicted", *classes], rows))
    return shown
