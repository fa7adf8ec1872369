"""The picture of margins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skimlearn.report._axes import axes_of, finish
from skimlearn.report._quality import margins

__all__ = ["MarginDisplay"]


class MarginDisplay:
    """How far rows are on their side of a classifier: left of zero they are predicted wrong.

    Parameters
    ----------
    margins : ndarray of shape (n,)
        For two classes the score times the label, for more the score of the right class less the
        greatest of the others.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    lines_ : list of matplotlib artists
        What was drawn.

    Examples
    --------
    >>> from skimlearn import LinearClassifier
    >>> from skimlearn.datasets import load_spam
    >>> from skimlearn.report import MarginDisplay
    >>> X, y = load_spam()
    >>> model = LinearClassifier(random_state=0).fit(X[::2], y[::2])
    >>> display = MarginDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> bool((display.margins > 0).mean() > 0.97)
    True
    """

    def __init__(self, margins: NDArray[np.float64]) -> None:
        self.margins = margins

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any = None, **options: Any) -> MarginDisplay:
        """Draw the margins of rows.

        Parameters
        ----------
        estimator : fitted classifier or EnclosingBall
            A model of skimlearn.
        X : array, sparse matrix or Store of shape (n, d)
            The rows.
        y : array of shape (n,) or None
            Their classes; a ball needs none.
        options : Any
            As for `plot`.

        Returns
        -------
        MarginDisplay
        """
        check_is_fitted(estimator)
        found = margins(estimator, X, y)
        if found is None:
            raise TypeError(
                f"{type(estimator).__name__} has no margins, or y is missing: give a classifier "
                "and the classes of the rows"
            )
        return cls(found).plot(**options)

    def plot(
        self, *, ax: Any = None, name: str | None = None, bins: int = 50, **style: Any
    ) -> MarginDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to; None: into a new figure.
        name : str or None
            A label for the legend.
        bins : int, default=50
            The number of bars.
        style : Any
            As for matplotlib's ``hist``.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = axes_of(ax)
        part = np.full(len(self.margins), 1.0 / max(1, len(self.margins)))
        options = {"bins": bins, "histtype": "stepfilled", "alpha": 0.5, "label": name, **style}
        *_, self.lines_ = self.ax_.hist(self.margins, weights=part, **options)
        self.ax_.axvline(0.0, color="gray", lw=1, ls=":")
        finish(self.ax_, "margin", "part of the rows")
        return self
