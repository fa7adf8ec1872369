"""The answer of a solver, with all that is known about it."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._words import amount, apart, duration, number
from skimlearn.data.ledger import Reads
from skimlearn.result._budget import Status
from skimlearn.result._certificate import Certificate
from skimlearn.result._history import Record

__all__ = ["Result", "StreamResult"]


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
