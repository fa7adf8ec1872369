"""The page: one HTML file with everything in it."""

from __future__ import annotations

from typing import Any

from skimlearn.data._replacing import as_path, replacing
from skimlearn.report.entry import as_entries

__all__ = ["page", "write"]


def page(entries: Any, *, title: str = "skimlearn report") -> str:
    """A page about some models or results, side by side, as the text of an HTML file.

    It needs nothing but a browser: no server, no network. The package plotly, whose script goes
    into the page, is needed to make it: ``pip install skimlearn[report]``.

    Parameters
    ----------
    entries : Entry, fitted estimator or Result, or a list of them
        What the page is about.
    title : str, default="skimlearn report"
        The heading.

    Returns
    -------
    str

    Examples
    --------
    >>> from skimlearn import LinearRegressor
    >>> from skimlearn.report import page
    >>> model = LinearRegressor().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> "It stopped because the target gap was reached." in page(model)
    True
    """
    found = as_entries(entries)
    from skimlearn.report._build import build

    return build(found, str(title))


def write(entries: Any, path: Any, *, title: str = "skimlearn report") -> None:
    """Write the page about some models or results to a file.

    Parameters
    ----------
    entries : Entry, fitted estimator or Result, or a list of them
        What the page is about.
    path : str or PathLike
        Where to; ``.html`` is the usual end of the name. A former file is replaced when the new
        one is complete.
    title : str, default="skimlearn report"
        The heading.

    Examples
    --------
    >>> import os, tempfile
    >>> from skimlearn import LinearRegressor
    >>> from skimlearn.report import write
    >>> model = LinearRegressor().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(model, os.path.join(folder, "line.html"))
    """
    as_path(path)
    text = page(entries, title=title)
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
