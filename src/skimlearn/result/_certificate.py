"""A proof of how good an answer is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from skimlearn._words import ROUNDING, apart, number, percent

__all__ = ["Certificate"]


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
