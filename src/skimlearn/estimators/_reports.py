"""What makes an estimator one that has a report."""

from __future__ import annotations

from typing import Any

__all__ = ["Reports"]


class Reports:
    """The method `report`; the page is that of `skimlearn.report`."""

    def report(self, path: Any = None, *, X: Any = None, y: Any = None, **more: Any) -> str | None:
        """A page about the fitted model that works offline: see `skimlearn.report`.

        Parameters
        ----------
        path : str, PathLike or None
            Where to write it; None returns the HTML.
        X : array, sparse matrix or Store of shape (n, d), or None
            Rows that were not learned from, to test the predictions on.
        y : array of shape (n,) or None
            Their targets.
        more : Any
            As for `skimlearn.report.Entry`: name, X_train, y_train, regularization_path, errors,
            feature_names, command.

        Returns
        -------
        str or None
        """
        from skimlearn.report import Entry, page, write  # a door upward; see 0019-report.md

        entry = Entry(self, X=X, y=y, **more)
        if path is None:
            return page(entry)
        write(entry, path)
        return None
