"""How much a solver may do, and why it stopped."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Budget", "Status"]


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

    def share(self, spent: float, count: int, left: float) -> Budget:
        """One of ``count`` problems' share of the reads, and of the seconds that are not spent.

        ``left`` problems, as many threads see them, have still to share the seconds.
        """
        reads, seconds = self.reads, self.seconds
        if reads is not None:
            reads //= count
        if seconds is not None:
            seconds = max(seconds - spent, 0.0) / max(left, 1.0)
        return replace(self, reads=reads, seconds=seconds)
