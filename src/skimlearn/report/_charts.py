"""The data of the charts: numbers that the script of the page draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.report.entry import Entry
from skimlearn.result import Record

__all__ = ["convergence", "histogram", "numbers", "path_lines", "search_lines"]

Chart = dict[str, Any]

MOST_POINTS = 600  # of a line: more can't be told apart on a screen
MOST_RUNS = 20  # of one entry, those with the widest gaps
MOST_LINES = 10  # of a regularization path
BINS = 40


def numbers(values: Any) -> list[float | None]:
    """Numbers as JSON has them: six digits, and None for nan and inf."""
    return [
        float(f"{value:.6g}") if math.isfinite(value) else None
        for value in np.asarray(values, dtype=np.float64).ravel().tolist()
    ]


def thinned(count: int, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Which of so many points to keep: first and last, and evenly between."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.intp))


def convergence(entry: Entry) -> list[Chart]:
    """The histories of an entry, one for each problem that was solved."""
    runs = [(label, history) for label, history in entry.runs if history]
    if len(runs) > MOST_RUNS:
        runs.sort(key=lambda run: -_last_gap(run[1]))
        runs = runs[:MOST_RUNS]
    return [_run(label, history) for label, history in runs]


def _last_gap(history: Sequence[Record]) -> float:
    gap = abs(history[-1].primal - history[-1].dual)
    return gap if math.isfinite(gap) else math.inf


def _run(label: str, history: Sequence[Record]) -> Chart:
    kept = [history[k] for k in thinned(len(history)).tolist()]
    primal = np.array([record.primal for record in kept])
    dual = np.array([record.dual for record in kept])
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = np.abs(primal - dual)
        relative = gap / np.abs(primal)
    return {
        "label": label,
        "epochs": numbers([record.epoch for record in kept]),
        "seconds": numbers([record.seconds for record in kept]),
        "reads": numbers([record.reads for record in kept]),
        "primal": numbers(primal),
        "dual": numbers(dual),
        "gap": numbers(gap),
        "relative": numbers(relative),
    }


def errors(entry: Entry) -> Chart | None:
    """The error along the fit, if it is known."""
    if not entry.errors:
        return None
    return {
        "epochs": numbers([record.epoch for record in entry.errors]),
        "seconds": numbers([record.seconds for record in entry.errors]),
        "reads": numbers([record.reads for record in entry.errors]),
        "error": numbers([record.error for record in entry.errors]),
    }


def histogram(values: NDArray[Any]) -> Chart:
    """How many values lie where; the outermost bins hold what lies beyond, a part of 1/500 each."""
    values = np.asarray(values, dtype=np.float64)
    values = values[np.isfinite(values)]
    low, high = np.quantile(values, [0.002, 0.998]) if len(values) else (0.0, 1.0)
    if not high > low:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(np.clip(values, low, high), bins=BINS, range=(low, high))
    share = counts / max(1, len(values))
    return {"edges": numbers(edges), "share": numbers(share), "count": len(values)}


def path_lines(entry: Entry, name: Any) -> Chart | None:
    """The weights that matter most along a regularization path, and the gaps of its answers."""
    path = entry.regularization_path
    if path is None:
        return None
    size = np.abs(path.coefs).max(axis=0)
    most = np.argsort(-size, kind="stable")[:MOST_LINES]
    gaps = [certificate.relative_gap for certificate in path.certificates]
    return {
        "alphas": numbers(path.alphas),
        "gaps": numbers(gaps),
        "lines": [
            {"label": name(j), "weights": numbers(path.coefs[:, j])}
            for j in most.tolist()
            if size[j] > 0.0
        ],
    }


def search_lines(entry: Entry) -> list[Chart]:
    """The scores on the folds for each strength that a search tried, one line for each p."""
    scores = getattr(entry.estimator, "scores_", None)
    if scores is None or getattr(entry.estimator, "alphas_", None) is None:
        return []
    norms = np.atleast_1d(np.asarray(entry.estimator.ps, dtype=np.float64))
    return [
        {
            "label": f"p = {p:g}",
            "alphas": numbers(entry.estimator.alphas_),
            "mean": numbers(table.mean(axis=1)),
            "spread": numbers(table.std(axis=1)),
        }
        for p, table in zip(norms.tolist(), scores, strict=True)
    ]
