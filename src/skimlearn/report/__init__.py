"""What a fit found, to look at: a page that works offline, and pictures for matplotlib.

A page needs the package plotly, the pictures need matplotlib: ``pip install skimlearn[report]``.

>>> from skimlearn import LinearClassifier
>>> from skimlearn.datasets import load_spam
>>> from skimlearn.report import Entry, page
>>> X, y = load_spam()
>>> model = LinearClassifier(loss="log", random_state=0).fit(X[::2], y[::2])
>>> html = page([Entry(model, name="mails", X=X[1::2], y=y[1::2])])
>>> html.startswith("<!doctype html>")
True
"""

from skimlearn.report._errors import ErrorRecord, error_curve
from skimlearn.report._page import page, write
from skimlearn.report.displays import ConvergenceDisplay, MarginDisplay, PathDisplay
from skimlearn.report.entry import Entry

__all__ = [
    "ConvergenceDisplay",
    "Entry",
    "ErrorRecord",
    "MarginDisplay",
    "PathDisplay",
    "error_curve",
    "page",
    "write",
]
