"""The lines of a history: the state of a run at a check, or of a stream."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Progressive", "Record"]


@dataclass(frozen=True)
class Record:
    """One line of the history: the state of a run at a check.

    Attributes
    ----------
    epoch, seconds, reads : float, float and int
        What it had cost by then: visits per row, time, entries read to learn.
    primal, dual : float
        The value of the best answer so far, and the best bound.

    Examples
    --------
    >>> from skimlearn import LinearRegressor
    >>> history = LinearRegressor().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0]).result_.history
    >>> record = history[-1]
    >>> record.primal >= record.dual - 1e-12
    True
    """

    epoch: float
    seconds: float
    reads: int
    primal: float
    dual: float


@dataclass(frozen=True)
class Progressive(Record):
    """One line of the history of a stream: how well rows were predicted before they were learned.

    Each prediction is that of the last iterate before the row's own step, so that it is as good as
    one on held-out rows. An error is a wrong class, or the squared difference of numbers; losses of
    several classes are added up. There is no primal and no dual value.

    Attributes
    ----------
    rows : int
        Rows learned from so far.
    loss, error : float
        Means over the rows since the line before.
    mean_loss, mean_error : float
        Means over all rows so far.

    Examples
    --------
    >>> from skimlearn import LinearClassifier
    >>> blocks = [([[1.0], [-1.0]], [1, -1])] * 50
    >>> model = LinearClassifier(random_state=0).fit_stream(blocks)
    >>> last = model.result_.history[-1]
    >>> last.rows, last.error  # nothing was wrong since the line before
    (100, 0.0)
    """

    rows: int
    loss: float
    error: float
    mean_loss: float
    mean_error: float
