"""What a run promises, when it stops, and the best bounds that it has so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.result import Certificate, Result, Status

__all__ = ["MODES", "Bounds", "Limits", "as_count", "check_promise"]

Vector = NDArray[np.float64]
Shape = tuple[int, int]
MODES = ("monte-carlo", "high-probability", "las-vegas")


def as_count(value: Any, name: str) -> int:
    """A whole number, 1 or more."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number, 1 or more")
    return int(value)


def check_promise(mode: str, delta: float, **batch: int) -> None:
    """Refuse what is no mode, no probability, no number of columns (by the name it is known by)."""
    if mode not in MODES:
        raise ValueError(f"mode={mode!r} must be one of {', '.join(map(repr, MODES))}")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta={delta!r} must lie between 0 and 1")
    for name, columns in batch.items():
        if not (isinstance(columns, int | np.integer) and columns >= 1):
            raise ValueError(f"{name}={columns!r} must be a positive integer")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """When to stop: at a gap of ``eps``, or at the first limit that is reached."""

    eps: float
    max_reads: float | None = None
    max_steps: float | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.eps < math.inf:
            raise ValueError(
                f"eps={self.eps!r} must be positive and finite: the bounds meet only in the limit"
            )
        for name in ("max_reads", "max_steps", "max_seconds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name}={value!r} must not be negative; None means no limit")


@dataclass
class Bounds:
    """The best bounds of the optimum so far, with the answers behind them."""

    maximize: bool = False
    lower: float = -math.inf
    upper: float = math.inf
    failure: float = 0.0
    x: Vector | None = None
    bias: float = 0.0
    p: Vector | None = None

    def primal(self, value: float, x: Vector, bias: float = 0.0) -> None:
        """Consider the value of an answer."""
        if self.maximize and value > self.lower:
            self.lower, self.x, self.bias = value, x, bias
        elif not self.maximize and value < self.upper:
            self.upper, self.x, self.bias = value, x, bias

    def dual(self, value: float, p: Vector) -> None:
        """Consider a bound from the other side."""
        if self.maximize and value < self.upper:
            self.upper, self.p = value, p
        elif not self.maximize and value > self.lower:
            self.lower, self.p = value, p

    @property
    def certificate(self) -> Certificate:
        """The bounds as they are shown to a user."""
        pair = (self.lower, self.upper) if self.maximize else (self.upper, self.lower)
        return Certificate(*pair, self.maximize, self.failure)

    def result(
        self, status: Status, fallback: tuple[Vector, float, Vector], run: Any, shape: Shape
    ) -> Result:
        """The best answer so far; what no bound stands behind is taken from the fallback."""
        x, bias, p = fallback
        return Result(
            x=x if self.x is None else self.x,
            bias=bias if self.x is None else self.bias,
            p=p if self.p is None else self.p,
            certificate=self.certificate,
            reads=run.reads,
            seconds=run.seconds,
            epochs=run.reads.dense / (shape[0] * shape[1]),
            status=status,
            history=list(run.history),
            solver=run.name,
        )
