"""What a solver is given (`Budget`) and what it returns (`Result`)."""

from __future__ import annotations

import enum
import html
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._words import ROUNDING, amount, apart, duration, number, percent
from skimlearn.data.ledger import Reads

__all__ = ["Budget", "Certificate", "Progressive", "Record", "Result", "Status", "StreamResult"]


class Status(enum.Enum):
    """Why a solver stopped.

    Examples
    --------
    >>> Status.CONVERGED.value
    'the target gap was reached'
    """

    CONVERGED = "the target gap was reached"
    PLANNED = "the steps that the guarantee asks for were taken"
    EPOCHS = "the limit of epochs was reached"
    STEPS = "the limit of steps was reached"
    READS = "the limit of reads was reached"
    SECONDS = "the limit of seconds was reached"
    STALLED = "no further progress is possible in floating point"
    STREAMED = "a batch of a stream was read once; such an answer has no certificate"
    IMPORTED = "the weights were learned elsewhere; such an answer has no certificate"
    STOPPED = "the callback asked to stop"
    INTERRUPTED = "the user interrupted"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much work a solver may do; it stops at whichever limit comes first.

    Attributes
    ----------
    gap : float or None
        Target: stop when the duality gap is at most ``gap`` times the primal value.
    epochs : int or None
        Passes over the data.
    reads : int or None
        Stored entries read to learn; certificates are counted apart.
    seconds : float or None
        Wall-clock time, certificates included.

    Examples
    --------
    >>> Budget(gap=1e-3, seconds=10).gap
    0.001
    """

    gap: float | None = None
    epochs: int | None = None
    reads: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("gap", "epochs", "reads", "seconds"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
                raise TypeError(f"{name}={value!r} of the budget must be a number or None")
            if not value >= 0:
                raise ValueError(f"{name}={value!r} of the budget must not be negative")
        if self.gap is None and self.epochs is None and self.reads is None and self.seconds is None:
            raise ValueError("a budget needs at least one of gap, epochs, reads, seconds")


@dataclass(frozen=True)
class Certificate:
    """A proof of quality: the optimum lies between the two values.

    Attributes
    ----------
    primal : float
        The value of the answer.
    dual : float
        A bound of the optimum from the other side.
    maximize : bool
        Whether the problem is one of maximisation, as that of a margin: then ``dual`` is the
        greater of the two.
    failure : float
        The probability, over the solver's random draws, that the bounds do not hold; 0 for a
        proof.

    Examples
    --------
    >>> Certificate(primal=0.50, dual=0.49).gap <= 0.0101
    True
    >>> Certificate(primal=0.20, dual=0.25, maximize=True).upper
    0.25
    >>> print(Certificate(primal=0.50, dual=0.49).words)
    The answer has the value 0.5, and no answer has one below 0.49: it is at most 2.1 % (0.01) above
    the optimum. This is proven.
    """

    primal: float
    dual: float
    maximize: bool = False
    failure: float = 0.0

    @property
    def lower(self) -> float:
        """The optimum is at least this."""
        return self.primal if self.maximize else self.dual

    @property
    def upper(self) -> float:
        """The optimum is at most this."""
        return self.dual if self.maximize else self.primal

    @property
    def gap(self) -> float:
        """How far the answer is from the optimum at most."""
        return self.upper - self.lower

    @property
    def relative_gap(self) -> float:
        """The gap divided by the primal value."""
        if self.gap <= 0.0:
            return 0.0
        return self.gap / abs(self.primal) if self.primal != 0.0 else math.inf

    @property
    def shortfall(self) -> float:
        """By which part of the optimum the answer can miss it at most; inf if that is not known.

        The gap is divided by the bound, not by the value of the answer: the optimum may be as far
        as the bound.
        """
        if self.gap <= 0.0:
            return 0.0
        if not math.isfinite(self.gap) or not self.primal * self.dual > 0.0:
            return math.inf
        return self.gap / abs(self.dual)

    @property
    def words(self) -> str:
        """What the certificate says, as a sentence or two."""
        if not math.isfinite(self.primal):
            return "There is no certificate: the answer was not checked against the data."
        value, bound = apart(self.primal, self.dual)
        if not math.isfinite(self.dual):
            return f"The answer has the value {value}; a bound of the optimum is not known yet."
        sure = (
            "This is proven."
            if self.failure <= 0.0
            else f"This fails in at most {percent(self.failure)} of all runs."
        )
        side = "above" if self.maximize else "below"
        if self.relative_gap < ROUNDING:
            found = f"The answer has the value {number(self.primal)}, and no answer has one {side}"
            return f"{found} it: it is the optimum, up to rounding. {sure}"
        found = f"The answer has the value {value}, and no answer has one {side} {bound}"
        return f"{found}: it is {self._nearness()}. {sure}"

    def _nearness(self) -> str:
        gap = number(self.gap)
        known = math.isfinite(self.shortfall)
        part = f"{percent(self.shortfall)} ({gap})" if known else gap
        return f"at most {part} {'below' if self.maximize else 'above'} the optimum"


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


@dataclass(frozen=True)
class Result:
    """The best answer that a solver found, with its certificate.

    Attributes
    ----------
    x : ndarray of shape (d,)
        The primal vector: the weights.
    bias : float
        The intercept.
    p : ndarray of shape (n,)
        The dual variables behind the certificate.
    certificate : Certificate
        Primal value of the answer, a lower bound of the optimum, and their gap.
    reads : Reads
        Entries of the data that were read.
    seconds : float
        Wall-clock time.
    epochs : float
        Visits to rows divided by the number of rows.
    status : Status
        Why the solver stopped.
    history : list of Record
        One record for each check of the certificate.
    solver : str
        The algorithm that gave the answer.
    command : str
        The command line of ``skim`` that made it; empty if it was made in Python.

    Examples
    --------
    >>> from skimlearn import LinearRegressor
    >>> result = LinearRegressor().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0]).result_
    >>> result.status
    <Status.CONVERGED: 'the target gap was reached'>
    >>> print(result)
    The answer has the value ... This is proven. It stopped because the target gap was reached.
    value: ...
    """

    x: NDArray[np.float64] = field(repr=False)
    bias: float
    p: NDArray[np.float64] = field(repr=False)
    certificate: Certificate
    reads: Reads
    seconds: float
    epochs: float
    status: Status
    history: list[Record] = field(repr=False)
    solver: str = ""
    command: str = ""

    def report(self, path: Any = None, *, name: str | None = None) -> str | None:
        """A page about the result that works offline: see `skimlearn.report`.

        A model's own method ``report`` shows more than that of its result: weights with their
        names, and how good predictions are.

        Parameters
        ----------
        path : str, PathLike or None
            Where to write it; None returns the HTML.
        name : str or None
            What to call the result; None: its solver.

        Returns
        -------
        str or None
        """
        from skimlearn.report import Entry, page, write  # a door upward; see 0019-report.md

        entry = Entry(self, name=name)
        if path is None:
            return page(entry)
        write(entry, path)
        return None

    def __str__(self) -> str:
        """The certificate in words, and what it cost."""
        lines = [f"{name}: {text}" for name, text in self._facts().items()]
        return "\n".join([self._words(), *lines])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = "".join(
            f'<tr><th style="text-align:left">{html.escape(name)}</th>'
            f'<td style="text-align:left">{html.escape(text)}</td></tr>'
            for name, text in self._facts().items()
        )
        return f"<div><p>{html.escape(self._words())}</p><table>{rows}</table></div>"

    def _words(self) -> str:
        return f"{self.certificate.words} It stopped because {self.status.value}."

    def _facts(self) -> dict[str, str]:
        value, bound = apart(self.certificate.primal, self.certificate.dual)
        facts = {
            "value": value,
            "bound of the optimum": bound,
            "gap": number(max(self.certificate.gap, 0.0)),
            "entries read": f"{amount(self.reads.nnz)}, and {amount(self.reads.certificate)} "
            "for certificates",
            "epochs": number(self.epochs),
            "time": duration(self.seconds),
            "solver": self.solver or "not known",
        }
        if not math.isfinite(self.certificate.primal):
            for name in ("value", "bound of the optimum", "gap"):
                del facts[name]
        return facts


@dataclass(frozen=True)
class StreamResult(Result):
    """The answer of an algorithm that passes over rows without keeping them.

    As a `Result`, but for ``p``, which has the weights of a few rows only.

    Attributes
    ----------
    rows : ndarray
        The numbers of the rows that ``p`` weighs, in the order of the stream.
    passes : int
        Passes over the rows, with those for the certificate.
    memory : int
        Bytes of all numbers that were kept between two blocks, at most.

    Examples
    --------
    >>> from skimlearn import one_pass_ball
    >>> result = one_pass_ball([[[0.0], [2.0]], [[1.0]]])
    >>> result.passes, result.x
    (1, array([1.]))
    """

    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    passes: int = 0
    memory: int = 0
