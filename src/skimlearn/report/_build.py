"""From entries to the text of a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from skimlearn.report import _charts, _facts, _sections
from skimlearn.report._quality import MOST_CURVES, Quality, margins, quality
from skimlearn.report._sections import escape, tag
from skimlearn.report.entry import Entry

__all__ = ["build"]


def build(entries: Sequence[Entry], title: str) -> str:
    """The page about these entries."""
    found = [quality(entry) for entry in entries]
    data = _data(entries, found)
    tables = {
        "figures": _sections.comparison(entries, found),
        "weights": _sections.weights(entries),
        "test": _sections.tests(entries, found),
        "data": _facts.data_table(entries),
        "repeat": _facts.repeat(entries),
    }
    body = (
        tag("header", tag("h1", escape(title)))
        + _sections.cards(entries)
        + _section("Figures", tables["figures"])
        + _convergence(entries, data)
        + _chart(data, "margins", "Margins", MARGINS)
        + _section(_weights_title(entries), tables["weights"])
        + _chart(data, "path", "Regularization path", PATH)
        + _chart(data, "search", "Search for alpha", SEARCH)
        + _test(data, tables)
        + _section("Data", tables["data"])
        + _section("To repeat it", tables["repeat"])
    )
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{_asset('page.css')}</style></head>\n"
        f"<body><main>{body}</main>\n"
        f'<script type="application/json" id="data">{_json(data)}</script>\n'
        f"<script>{_plotly()}</script>\n<script>{_asset('page.js')}</script></body></html>\n"
    )


def _weights_title(entries: Sequence[Entry]) -> str:
    """What the vectors are: the answer of a function may be a centre, or a strategy."""
    bare = any(entry.estimator is None for entry in entries)
    return "Largest entries of the answer" if bare else "Largest weights"


MARGINS = (
    "By how much each row is on its side: left of zero it is predicted wrong. The outermost bars "
    "hold all that lies beyond."
)
PATH = "The weights that become largest, from strong regularization (left) to weak."
SEARCH = "The mean score on the folds, with a band of one standard deviation."
ROC = (
    "How many of a class are found, against how many others are taken for it. Of many classes, the "
    f"first {MOST_CURVES} are drawn."
)
CALIBRATION = (
    "What the model said against what happened; on the diagonal it can be taken at its word."
)
RESIDUALS = "Target less prediction, against the prediction."


def _data(entries: Sequence[Entry], found: Sequence[Quality | None]) -> dict[str, Any]:
    """All numbers that are drawn."""
    titles = [entry.title for entry in entries]
    return {
        "names": titles,
        "runs": [_charts.convergence(entry) for entry in entries],
        "errors": [_charts.errors(entry) for entry in entries],
        "margins": [_margins(entry) for entry in entries],
        "path": [_charts.path_lines(entry, _sections.feature_name(entry)) for entry in entries],
        "search": [_charts.search_lines(entry) for entry in entries],
        "roc": [one.roc if one else [] for one in found],
        "calibration": [one.calibration if one else None for one in found],
        "residuals": [one.residuals if one else None for one in found],
    }


def _margins(entry: Entry) -> list[dict[str, Any]]:
    parts = []
    for word, (X, y) in (("test", entry.test), ("train", entry.train)):
        if X is None:
            continue
        values = margins(entry.estimator, X, y)
        if values is not None and len(values):
            parts.append({"label": word, **_charts.histogram(values)})
    return parts


def _section(title: str, inner: str, note: str = "") -> str:
    if not inner:
        return ""
    said = tag("p", escape(note), class_="note") if note else ""
    return tag("section", tag("h2", escape(title)) + said + inner)


def _chart(data: dict[str, Any], name: str, title: str, note: str) -> str:
    """A section with a chart, if there is anything to draw."""
    return _section(title, _place(name), note) if any(data[name]) else ""


def _place(name: str, title: str = "", note: str = "") -> str:
    head = tag("h3", escape(title)) if title else ""
    said = tag("p", escape(note), class_="note") if note else ""
    return tag("figure", head + said + tag("div", NOSCRIPT, id=f"chart-{name}", class_="chart"))


NOSCRIPT = "<noscript>The charts need JavaScript; the tables do not.</noscript>"

X_AXES = {"reads": "entries read", "epochs": "epochs", "seconds": "seconds"}
Y_AXES = {
    "relative": "gap, relative",
    "gap": "gap",
    "objective": "objective",
    "error": "test error",
}


def _convergence(entries: Sequence[Entry], data: dict[str, Any]) -> str:
    if not any(data["runs"]) and not any(data["errors"]):
        return ""
    wanted = dict(Y_AXES)
    if not any(data["errors"]):
        del wanted["error"]
    if not any(data["runs"]):
        wanted = {"error": Y_AXES["error"]}
    controls = (
        _switch("y", "show", wanted)
        + _switch("x", "against", X_AXES)
        + tag("label", '<input type="checkbox" id="logy" checked>log scale ↕', class_="check")
        + tag("label", '<input type="checkbox" id="logx">log scale ↔', class_="check")
    )
    note = "How the answer came nearer to the optimum. The gap is what is certified at each check."
    most = max(len(entry.runs) for entry in entries)
    if most > _charts.MOST_RUNS:
        note += f" Of {most} problems, the {_charts.MOST_RUNS} with the widest gaps are drawn."
    return _section(
        "On the way", tag("form", controls, class_="controls") + _place("convergence"), note
    )


def _switch(name: str, legend: str, options: dict[str, str]) -> str:
    buttons = "".join(
        tag(
            "label",
            f'<input type="radio" name="{name}" value="{value}"{" checked" if k == 0 else ""}>'
            + tag("span", escape(text)),
        )
        for k, (value, text) in enumerate(options.items())
    )
    return tag("fieldset", tag("legend", escape(legend)) + tag("div", buttons))


def _test(data: dict[str, Any], tables: dict[str, str]) -> str:
    """What the predictions on other rows are worth."""
    charts = "".join(
        _place(name, title, note)
        for name, title, note in (
            ("roc", "ROC", ROC),
            ("calibration", "Calibration", CALIBRATION),
            ("residuals", "Residuals", RESIDUALS),
        )
        if any(data[name])
    )
    inner = tables["test"] + (tag("div", charts, class_="columns") if charts else "")
    return _section("On rows that were not learned from", inner)


# ------------------------------------------------------------------------------- what it is made of


def _json(data: dict[str, Any]) -> str:
    """JSON in which no tag can begin or end."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return resources.files("skimlearn.report").joinpath(name).read_text(encoding="utf-8")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError(
            "a report needs the package plotly: pip install skimlearn[report]"
        ) from None
    return str(get_plotlyjs())
