"""The parts of a page that are text and tables. Whatever comes from outside is escaped here."""

from __future__ import annotations

import html
import math
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from skimlearn._words import amount, duration, number, percent
from skimlearn.report._quality import Quality
from skimlearn.report.entry import Entry

__all__ = [
    "cards",
    "comparison",
    "confusions",
    "data_table",
    "feature_name",
    "per_class",
    "repeat",
    "weights",
]

MOST_WEIGHTS = 20  # of one vector
MOST_VECTORS = 8
FEW_WEIGHTS = 8  # of each of several vectors


def escape(text: Any) -> str:
    """Text that no browser takes for more than text."""
    return html.escape(str(text), quote=True)


def tag(name: str, inner: str, **attributes: str) -> str:
    """An element; ``inner`` is HTML, the attributes are text."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{given}>{inner}</{name}>"


def named(entry: Entry, k: int) -> str:
    """The name of an entry with its colour."""
    return tag("i", "", class_=f"dot c{k % 8}") + tag("span", escape(entry.title))


def feature_name(entry: Entry) -> Any:
    """A function that gives the name of a column."""
    names = entry.names
    return lambda j: f"column {j}" if names is None else str(names[j])


# --------------------------------------------------------------------------------- the certificate


def cards(entries: Sequence[Entry]) -> str:
    """One card for each entry: how far from the optimum it is at most."""
    return tag("div", "".join(_card(e, k) for k, e in enumerate(entries)), class_="cards")


def _card(entry: Entry, k: int) -> str:
    certificate = entry.result.certificate
    known = math.isfinite(certificate.primal) and math.isfinite(certificate.dual)
    if known and math.isfinite(certificate.relative_gap):
        side = "below" if certificate.maximize else "above"
        big, small = percent(certificate.relative_gap), f"{side} the optimum, at most"
    elif known:
        big, small = number(certificate.gap), "from the optimum, at most"
    else:
        big, small = "—", "no certificate"
    said = [certificate.words, _distance(entry), f"It stopped because {entry.result.status.value}."]
    return tag(
        "article",
        tag("h2", named(entry, k))
        + tag("p", tag("b", big) + tag("span", small), class_="big")
        + tag("p", escape(" ".join(part for part in said if part))),
    )


def _distance(entry: Entry) -> str:
    """How far the weights are from the optimal ones, where that follows from the gap."""
    model, gap = entry.estimator, entry.result.certificate.gap
    p = getattr(model, "p_", getattr(model, "p", None))
    alpha = getattr(model, "alpha_", getattr(model, "alpha", None))
    if p != 2.0 or not isinstance(alpha, float) or not math.isfinite(gap) or entry.weights is None:
        return ""
    off, size = math.sqrt(2.0 * max(gap, 0.0) / alpha), float(np.linalg.norm(entry.weights))
    if off > size:
        return ""
    return f"The weights, of length {number(size)}, are within {number(off)} of the best ones."


# ------------------------------------------------------------------------------------- comparison


def table(head: Sequence[str], rows: Iterable[Sequence[str]], class_: str = "") -> str:
    """A table of HTML cells, which scrolls by itself where the screen is narrow."""
    top = tag("tr", "".join(tag("th", cell, scope="col") for cell in head)) if any(head) else ""
    body = "".join(
        tag("tr", tag("th", row[0], scope="row") + "".join(tag("td", cell) for cell in row[1:]))
        for row in rows
    )
    inner = tag("table", (tag("thead", top) if top else "") + tag("tbody", body))
    return tag("div", inner, class_=f"scroll {class_}".strip())


def comparison(entries: Sequence[Entry], found: Sequence[Quality | None]) -> str:
    """All figures, one column for each entry."""
    columns = [_figures(e, q) for e, q in zip(entries, found, strict=True)]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [
        [escape(name), *(escape(column.get(name, "—")) for column in columns)] for name in names
    ]
    return table(["", *(named(e, k) for k, e in enumerate(entries))], rows, "figures")


def _figures(entry: Entry, found: Quality | None) -> dict[str, str]:
    result = entry.result
    certificate = result.certificate
    lines = {"model": type(entry.model).__name__, "solver": result.solver or "—"}
    model = entry.estimator
    if isinstance(getattr(model, "loss", None), str):
        lines["loss"] = model.loss
    elif hasattr(model, "loss"):
        lines["loss"] = repr(model.loss)
    alpha = getattr(model, "alpha_", getattr(model, "alpha", getattr(result, "alpha", None)))
    if isinstance(alpha, float) and math.isfinite(alpha):
        lines["alpha"] = number(alpha)
    if math.isfinite(certificate.primal):
        lines["value of the answer"] = number(certificate.primal)
        lines["bound of the optimum"] = number(certificate.dual)
        lines["gap"] = number(max(certificate.gap, 0.0))
    for name, value in (found.scores if found else {}).items():
        lines[f"test: {name}"] = number(value)
    lines["time"] = duration(result.seconds)
    lines["epochs"] = number(result.epochs)
    lines["entries read to learn"] = amount(result.reads.nnz)
    lines["entries read to certify"] = amount(result.reads.certificate)
    return lines


# ----------------------------------------------------------------------------------------- weights


def weights(entries: Sequence[Entry]) -> str:
    """The largest weights, with bars to the left and to the right."""
    parts = [_weights(e, k, len(entries) > 1) for k, e in enumerate(entries)]
    return tag("div", "".join(parts), class_="columns") if any(parts) else ""


def _weights(entry: Entry, k: int, several: bool) -> str:
    vectors = entry.weights
    if vectors is None or not vectors.any():
        return ""
    most = MOST_WEIGHTS if len(vectors) == 1 else FEW_WEIGHTS
    parts = []
    for label, w in list(zip(entry.outputs, vectors, strict=True))[:MOST_VECTORS]:
        parts.append(_bars(w, feature_name(entry), most, label))
    head = tag("h3", named(entry, k)) if several else ""
    rest = len(vectors) - MOST_VECTORS
    note = tag("p", f"and {rest} more weight vectors", class_="note") if rest > 0 else ""
    return tag("div", head + "".join(parts) + note)


def _bars(w: NDArray[Any], name: Any, most: int, label: str) -> str:
    order = np.argsort(-np.abs(w), kind="stable")[:most]
    order = order[w[order] != 0.0]
    largest = float(np.abs(w).max()) or 1.0
    rows = []
    for j in order[np.argsort(-w[order], kind="stable")].tolist():
        share = 50.0 * abs(float(w[j])) / largest
        side = "up" if w[j] > 0.0 else "down"
        bar = tag("i", "", class_=f"bar {side}", style=f"width:{share:.2f}%")
        rows.append([escape(name(j)), tag("div", bar, class_="track"), number(float(w[j]))])
    caption = tag("h4", escape(label)) if label else ""
    return caption + table([], rows, "weights")


# ---------------------------------------------------------------------------------------- the test


def confusions(entries: Sequence[Entry], found: Sequence[Quality | None]) -> str:
    """Tables of what was predicted for what it was."""
    parts = []
    for k, (entry, one) in enumerate(zip(entries, found, strict=True)):
        if one is not None and one.confusion is not None:
            head = tag("h3", named(entry, k)) if len(entries) > 1 else ""
            parts.append(tag("div", head + _confusion(one)))
    return tag("div", "".join(parts), class_="columns") if parts else ""


def _confusion(found: Quality) -> str:
    counts = found.confusion
    assert counts is not None
    sums = np.maximum(counts.sum(axis=1), 1)
    rows = []
    for i, name in enumerate(found.classes):
        cells = []
        for j, count in enumerate(counts[i].tolist()):
            shade = f"--share:{count / sums[i]:.3f}"
            kind = "right" if i == j else "wrong"
            cells.append(tag("span", amount(count), class_=kind, style=shade))
        rows.append([escape(name), *cells])
    head = ["is ↓ &nbsp; predicted →", *(escape(name) for name in found.classes)]
    note = ""
    if found.left_out:
        note = tag(
            "p",
            f"{amount(found.left_out)} rows of rarer classes are left out.",
            class_="note",
        )
    return table(head, rows, "confusion") + note


def per_class(entries: Sequence[Entry], found: Sequence[Quality | None]) -> str:
    """Precision and recall of each class."""
    parts = []
    for k, (entry, one) in enumerate(zip(entries, found, strict=True)):
        if one is None or not one.per_class:
            continue
        rows = [
            [escape(name), f"{a:.3f}", f"{b:.3f}", f"{c:.3f}", amount(n)]
            for name, a, b, c, n in one.per_class
        ]
        head = tag("h3", named(entry, k)) if len(entries) > 1 else ""
        columns = ["class", "precision", "recall", "F1", "rows"]
        parts.append(tag("div", head + table(columns, rows, "figures")))
    return tag("div", "".join(parts), class_="columns") if parts else ""


# ---------------------------------------------------------------------------------------- the data


def data_table(entries: Sequence[Entry]) -> str:
    """What the data is like."""
    columns = [_data(entry) for entry in entries]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [
        [escape(name), *(escape(column.get(name, "—")) for column in columns)] for name in names
    ]
    head = ["", *(named(e, k) for k, e in enumerate(entries))] if len(entries) > 1 else []
    return table(head, rows, "figures")


def _data(entry: Entry) -> dict[str, str]:
    lines = {"columns": amount(entry.width)}
    rows = getattr(entry.model, "n_rows_seen_", None)
    if rows and entry.X_train is None:
        lines["rows learned from"] = amount(rows)
    for word, X, y in (
        ("learned from", entry.X_train, entry.y_train),
        ("tested on", entry.X, entry.y),
    ):
        if X is None:
            continue
        shape = getattr(X, "shape", None) or np.shape(X)
        lines[f"rows {word}"] = amount(shape[0])
        stored = getattr(X, "nnz", None)
        if stored is not None:
            size = max(1, shape[0] * shape[1])
            lines[f"entries {word}"] = f"{amount(stored)} ({100.0 * stored / size:.2g} % of all)"
        if hasattr(X, "dtype"):
            lines[f"kind of numbers {word}"] = str(X.dtype)
        if y is None:
            y = getattr(X, "y", None)
        if y is not None and np.ndim(y) == 1 and len(y):
            lines[f"targets {word}"] = _targets(np.asarray(y), is_classifier(entry.estimator))
    return lines


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
        if entry.command is None and _unseeded(entry.estimator):
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
    if entry.command is not None:
        return entry.command
    if entry.estimator is None:
        return "No command is known for a bare result: give Entry(..., command=...)."
    name = type(entry.estimator).__name__
    made = entry.estimator.__repr__(N_CHAR_MAX=10**9)
    return f"from skimlearn import {name}\n\nmodel = {made}\nmodel.fit(X_train, y_train)"
