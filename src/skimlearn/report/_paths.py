"""The picture of a regularization path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skimlearn.estimators.path import Path, regularization_path
from skimlearn.report._axes import axes_of, finish

__all__ = ["PathDisplay"]


PARAMETERS = ("loss", "p", "radius", "bias", "solver", "tol", "max_epochs", "max_seconds")


def path_of(estimator: Any, X: Any, y: Any, alphas: Any = 11) -> Path:
    """The path of the problem that a model has the parameters of."""
    given = estimator.get_params()
    if "alpha" not in given or not set(PARAMETERS) <= set(given):
        raise TypeError(
            f"a path is one of LinearClassifier or LinearRegressor, not of "
            f"{type(estimator).__name__}"
        )
    chosen = {name: given[name] for name in PARAMETERS}
    return regularization_path(X, y, alphas=alphas, random_state=given["random_state"], **chosen)


class PathDisplay:
    """Weights along a regularization path, from strong regularization to weak.

    Parameters
    ----------
    path : Path
        What `regularization_path` returned.
    feature_names : sequence of str or None
        The names of the columns.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure around it.
    lines_ : list of matplotlib Line2D
        One for each weight that was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skimlearn import LinearRegressor
    >>> from skimlearn.report import PathDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = PathDisplay.from_estimator(LinearRegressor(random_state=0), X, y, alphas=4)
    >>> len(display.lines_)
    10
    """

    def __init__(self, path: Path, *, feature_names: Sequence[str] | None = None) -> None:
        if feature_names is not None and len(feature_names) != path.coefs.shape[1]:
            raise ValueError(
                f"feature_names has {len(feature_names)} names, but there are "
                f"{path.coefs.shape[1]} columns: give one for each"
            )
        self.path = path
        self.feature_names = feature_names

    @classmethod
    def from_path(
        cls, path: Path, *, feature_names: Sequence[str] | None = None, **options: Any
    ) -> PathDisplay:
        """Draw a path.

        Parameters
        ----------
        path : Path
            What `regularization_path` returned.
        feature_names : sequence of str or None
            The names of the columns.
        options : Any
            As for `plot`.

        Returns
        -------
        PathDisplay
        """
        return cls(path, feature_names=feature_names).plot(**options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        alphas: Any = 11,
        feature_names: Sequence[str] | None = None,
        **options: Any,
    ) -> PathDisplay:
        """Compute the path with the parameters of a model, and draw it.

        Parameters
        ----------
        estimator : LinearClassifier or LinearRegressor
            The parameters; it need not be fitted.
        X, y : array, sparse matrix or Store of shape (n, d), and array of shape (n,)
            What to learn from.
        alphas : int or sequence of float, default=11
            The strengths, or how many of them between 0.1 and 1e-6.
        feature_names : sequence of str or None
            The names of the columns; None: those of X, or their numbers.
        options : Any
            As for `plot`.

        Returns
        -------
        PathDisplay
        """
        columns = getattr(X, "columns", None)
        if feature_names is None and columns is not None:
            feature_names = [str(column) for column in columns]
        path = path_of(estimator, np.asarray(X) if columns is not None else X, y, alphas)
        return cls(path, feature_names=feature_names).plot(**options)

    def plot(self, *, ax: Any = None, most: int = 10, **style: Any) -> PathDisplay:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to; None: into a new figure.
        most : int, default=10
            How many weights: those that become largest.
        style : Any
            As for matplotlib's ``plot``.

        Returns
        -------
        self
        """
        self.ax_, self.figure_ = axes_of(ax)
        self.lines_ = []
        largest = np.abs(self.path.coefs).max(axis=0)
        for j in np.argsort(-largest, kind="stable")[:most].tolist():
            name = f"column {j}" if self.feature_names is None else str(self.feature_names[j])
            options = {"label": name.replace("$", r"\$"), **style}
            self.lines_ += self.ax_.plot(self.path.alphas, self.path.coefs[:, j], **options)
        self.ax_.set_xscale("log")
        if not self.ax_.xaxis_inverted():
            self.ax_.invert_xaxis()
        finish(self.ax_, "alpha", "weight")
        return self
