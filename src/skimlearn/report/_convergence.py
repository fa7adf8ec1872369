"""The picture of a history."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from skimlearn.report._axes import axes_of, finish
from skimlearn.report.entry import Entry
from skimlearn.result import Record, Result

__all__ = ["ConvergenceDisplay"]

X_AXES = {"reads": "entries read to learn", "epochs": "epochs", "seconds": "seconds"}
Y_AXES = {
    "relative_gap": "gap / objective, certified",
    "gap": "gap, certified",
    "objective": "objective",
}
_FIELDS = {"reads": "reads", "epochs": "epoch", "seconds": "seconds"}


class ConvergenceDisplay:
    """How an answer came nearer to the optimum: the certified gap, or the objective.

    Parameters
    ----------
    histories : list of (str, list of Record)
        The checks of each problem that was solved, with a label.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    lines_ : list of matplotlib Line2D
        What was drawn.

    Examples
    --------
    >>> from skimlearn import LinearClassifier
    >>> from skimlearn.datasets import load_spam
    >>> from skimlearn.report import ConvergenceDisplay
    >>> model = LinearClassifier(random_state=0).fit(*load_spam())
    >>> display = ConvergenceDisplay.from_estimator(model, x="epochs")
    >>> display.ax_.get_xlabel()
    'epochs'
    """

    def __init__(self, histories: Sequence[tuple[str, Sequence[Record]]]) -> None:
        self.histories = histories

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> ConvergenceDisplay:
        """Draw the histories of a fitted model, one line for each of its problems.

        Parameters
        ----------
        estimator : fitted estimator
            A model of skimlearn.
        options : Any
            As for `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        return cls(_histories(Entry(estimator))).plot(**options)

    @classmethod
    def from_result(cls, result: Result, **options: Any) -> ConvergenceDisplay:
        """Draw the history of a result.

        Parameters
        ----------
        result : Result
            What a solver returned.
        options : Any
            As for `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        return cls(_histories(Entry(result))).plot(**options)

    def plot(
        self,
        *,
        x: str = "reads",
        y: str = "relative_gap",
        ax: Any = None,
        name: str | None = None,
        **style: Any,
    ) -> ConvergenceDisplay:
        """Draw it.

        Parameters
        ----------
        x : {"reads", "epochs", "seconds"}, default="reads"
            The cost to draw against.
        y : {"relative_gap", "gap", "objective"}, default="relative_gap"
            What to draw; the objective has a band down to the bound of the optimum.
        ax : matplotlib Axes or None
            Where to; None: into a new figure.
        name : str or None
            A label for the legend.
        style : Any
            As for matplotlib's ``plot``.

        Returns
        -------
        self
        """
        _check("x", x, X_AXES)
        _check("y", y, Y_AXES)
        self._take(ax)
        for label, history in self.histories:
            across = np.array([getattr(record, _FIELDS[x]) for record in history])
            primal = np.array([record.primal for record in history])
            dual = np.array([record.dual for record in history])
            shown = " ".join(part for part in (name, label) if part) or None
            if y == "objective":
                self._band(across, primal, dual, shown, style)
                continue
            with np.errstate(invalid="ignore", divide="ignore"):
                height = np.abs(primal - dual) / (np.abs(primal) if y == "relative_gap" else 1.0)
            known = np.isfinite(height) & (height > 0.0)  # a log scale has no zero
            options = {"marker": "o", "markersize": 3, "label": shown, **style}
            self.lines_ += self.ax_.plot(across[known], height[known], **options)
        if y != "objective":
            self.ax_.set_yscale("log")
        finish(self.ax_, X_AXES[x], Y_AXES[y])
        return self

    def _take(self, ax: Any) -> None:
        self.ax_, self.figure_ = axes_of(ax)
        self.lines_: list[Any] = []

    def _band(
        self, across: Any, primal: Any, dual: Any, label: str | None, style: dict[str, Any]
    ) -> None:
        (line,) = self.ax_.plot(
            across, primal, **{"marker": "o", "markersize": 3, "label": label, **style}
        )
        known = np.isfinite(dual)
        self.ax_.fill_between(
            across[known], dual[known], primal[known], color=line.get_color(), alpha=0.15, lw=0
        )
        self.lines_.append(line)


def _histories(entry: Entry) -> list[tuple[str, list[Record]]]:
    found = [(label, history) for label, history in entry.runs if history]
    if not found:
        why = "" if math.isfinite(entry.result.certificate.primal) else ", since it was not checked"
        raise ValueError(
            f"the result has no history{why}: draw one that `fit` or a solver returned"
        )
    return found


def _check(name: str, value: str, known: dict[str, str]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r} must be one of {tuple(known)}")
