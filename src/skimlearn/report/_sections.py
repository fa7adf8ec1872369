"""The parts of a page that are text and tables. Whatever comes from outside is escaped here."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._words import ROUNDING, amount, apart, duration, number, percent
from skimlearn.report._quality import Quality
from skimlearn.report.entry import Entry

__all__ = [
    "cards",
    "comparison",
    "escape",
    "feature_name",
    "named",
    "side_by_side",
    "tag",
    "tests",
    "weights",
]

MOST_WEIGHTS = 20  # of one vector
MOST_VECTORS = 8
LONG_NAME = 60  # letters
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
    if known and certificate.relative_gap < ROUNDING:
        big, small = "0 %", "from the optimum, up to rounding"
    elif known and math.isfinite(certificate.shortfall):
        side = "below" if certificate.maximize else "above"
        big, small = percent(certificate.shortfall), f"{side} the optimum, at most"
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
    if off > size or entry.result.certificate.relative_gap < ROUNDING:
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
    return side_by_side(entries, [_figures(e, q) for e, q in zip(entries, found, strict=True)])


def side_by_side(entries: Sequence[Entry], columns: list[dict[str, str]]) -> str:
    """Facts of some entries, a column for each; one column stands for all."""
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [
        [escape(name), *(escape(column.get(name, "—")) for column in columns)] for name in names
    ]
    head = ["", *(named(e, k) for k, e in enumerate(entries))] if len(columns) > 1 else []
    return table(head, rows, "figures")


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
        texts = apart(certificate.primal, certificate.dual)
        lines["value of the answer"], lines["bound of the optimum"] = texts
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
    if len(entries) == 1 or not any(parts):
        return "".join(parts)
    return tag("div", "".join(parts), class_="columns")


def _weights(entry: Entry, k: int, several: bool) -> str:
    vectors = entry.weights
    if vectors is None or not vectors.any():
        return ""
    most = MOST_WEIGHTS if len(vectors) == 1 else FEW_WEIGHTS
    what = "label " if getattr(entry.model, "multilabel_", False) else "class "
    parts = [
        tag("div", _bars(w, feature_name(entry), most, label and what + label))
        for label, w in list(zip(entry.outputs, vectors, strict=True))[:MOST_VECTORS]
    ]
    if not several and len(parts) > 1:
        parts = [tag("div", "".join(parts), class_="columns")]
    head = tag("h3", named(entry, k)) if several else ""
    rest = len(vectors) - MOST_VECTORS
    note = tag("p", f"and {rest} more weight vectors", class_="note") if rest > 0 else ""
    return tag("div", head + "".join(parts) + note)


def _short(name: str) -> str:
    if len(name) <= LONG_NAME:
        return escape(name)
    return tag("span", escape(name[: LONG_NAME - 1] + "…"), title=name)


def _bars(w: NDArray[Any], name: Any, most: int, label: str) -> str:
    order = np.argsort(-np.abs(w), kind="stable")[:most]
    order = order[w[order] != 0.0]
    largest = float(np.abs(w).max()) or 1.0
    rows = []
    for j in order[np.argsort(-w[order], kind="stable")].tolist():
        share = 50.0 * abs(float(w[j])) / largest
        side = "up" if w[j] > 0.0 else "down"
        bar = tag("i", "", class_=f"bar {side}", style=f"width:{share:.2f}%")
        rows.append([_short(name(j)), tag("div", bar, class_="track"), number(float(w[j]))])
    caption = tag("h4", escape(label)) if label else ""
    return caption + table([], rows, "weights")


# ---------------------------------------------------------------------------------------- the test


def tests(entries: Sequence[Entry], found: Sequence[Quality | None]) -> str:
    """What was predicted for what it was, and what is right of each class."""
    parts = []
    for k, (entry, one) in enumerate(zip(entries, found, strict=True)):
        inner = [part(one) for part in (_confusion, _per_class)] if one is not None else []
        if not any(inner):
            continue
        if len(entries) > 1:
            parts.append(tag("div", tag("h3", named(entry, k)) + "".join(inner)))
        else:
            parts.extend(tag("div", part) for part in inner if part)
    return tag("div", "".join(parts), class_="columns") if parts else ""


def _confusion(found: Quality) -> str:
    counts = found.confusion
    if counts is None:
        return ""
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


def _per_class(found: Quality) -> str:
    rows = [
        [escape(name), f"{a:.3f}", f"{b:.3f}", f"{c:.3f}", amount(n)]
        for name, a, b, c, n in found.per_class
    ]
    return table(["class", "precision", "recall", "F1", "rows"], rows, "figures") if rows else ""
