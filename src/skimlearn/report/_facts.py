"""What a page says of the data, and of how to get the same again."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier

from skimlearn._words import amount, number
from skimlearn.data.store import Store
from skimlearn.report._sections import escape, named, side_by_side, tag
from skimlearn.report.entry import Entry

__all__ = ["data_table", "repeat"]


def data_table(entries: Sequence[Entry]) -> str:
    """What the data is like."""
    columns = [_data(entry) for entry in entries]
    same = all(column == columns[0] for column in columns)
    return side_by_side(entries, columns[:1] if same else columns)


def _data(entry: Entry) -> dict[str, str]:
    lines = {"columns": amount(entry.width)}
    rows = getattr(entry.model, "n_rows_seen_", None)
    if rows and entry.X_train is None:
        lines["rows learned from"] = amount(rows)
    for word, (X, y) in (("learned from", entry.train), ("tested on", entry.test)):
        if X is None:
            continue
        shape = getattr(X, "shape", None) or np.shape(X)
        lines[f"rows {word}"] = amount(shape[0])
        stored = _stored(X)
        if stored is not None:
            part = 100.0 * stored / max(1, shape[0] * shape[1])
            lines[f"entries {word}"] = f"{amount(stored)} ({part:.3g} % of all)"
        if isinstance(X, np.ndarray | Store) or sp.issparse(X):
            kind: Any = X.dtype  # type: ignore[union-attr]
            lines[f"kind of numbers {word}"] = str(kind)
        if y is not None and np.ndim(y) == 1 and len(y):
            lines[f"targets {word}"] = _targets(np.asarray(y), is_classifier(entry.estimator))
    return lines


def _stored(X: Any) -> int | None:
    """How many entries of a sparse matrix are stored; a frame may have a column named nnz."""
    if isinstance(X, Store):
        return X.entries if X.sparse else None
    return int(X.nnz) if sp.issparse(X) else None  # type: ignore[attr-defined]


def _targets(y: NDArray[Any], classes: bool) -> str:
    if classes or y.dtype.kind not in "iuf":
        values, counts = np.unique(y, return_counts=True)
        order = np.argsort(-counts, kind="stable")[:6].tolist()
        parts = [f"{values[k]}: {100.0 * counts[k] / len(y):.1f} %" for k in order]
        rest = len(values) - len(order)
        return ", ".join(parts) + (f", and {rest} more classes" if rest else "")
    return (
        f"{number(float(y.min()))} to {number(float(y.max()))}, "
        f"mean {number(float(y.mean()))}, deviation {number(float(y.std()))}"
    )


# ----------------------------------------------------------------------------------- to repeat it


def repeat(entries: Sequence[Entry]) -> str:
    """What to run to get the same."""
    parts = []
    for k, entry in enumerate(entries):
        head = tag("h3", named(entry, k)) if len(entries) > 1 else ""
        note = ""
        if not entry.line and _unseeded(entry.estimator):
            note = tag(
                "p", "No seed was set (random_state): another run draws other numbers.",
                class_="note",
            )  # fmt: skip
        parts.append(head + tag("pre", tag("code", escape(_command(entry)))) + note)
    packages = ", ".join(f"{name} {version(name)}" for name in ("skimlearn", "numpy", "numba"))
    made = f"Made with {packages} and Python {platform.python_version()} on {platform.machine()}."
    return "".join(parts) + tag("p", escape(made), class_="note")


def _unseeded(model: Any) -> bool:
    return model is not None and model.get_params().get("random_state", 0) is None


def _command(entry: Entry) -> str:
    if entry.line:
        return entry.line
    if entry.estimator is None:
        return "No command is known for a bare result: give Entry(..., command=...)."
    name = type(entry.estimator).__name__
    made = entry.estimator.__repr__(N_CHAR_MAX=10**9)
    return f"from skimlearn import {name}\n\nmodel = {made}\nmodel.fit(X_train, y_train)"
