r"""The margin problem: its dual set, its bounds, and the bias solved exactly.

Problem:  max over ||x|| <= 1, |b| <= R  of  min over p in the simplex, p <= cap, of p'(A x + b y),

with rows a_i = y_i x_i of norm at most R. The inner minimum is the mean of the 1/cap smallest
responses (`soft_value`); the dual value of p is ||A'p|| + R |p.y| (`dual_value`).

**The bias needs no iteration.** Mass d moved from one class to the other changes ||A'p|| by at most
2 R d, and R |p.y| by exactly 2 R d. So some optimal p has |p.y| as small as it can be: each class
has mass 1/2, or the smaller class has all of its rows at the cap. With these masses fixed (`Sides`)
the bias drops out of the game, max_x min_p p'A x, and comes back in closed form from the exact
responses: it brings the thresholds of both classes to the same level. Without a bias there is one
side, of mass 1.

Along a ray s x the value is linear in s: the best scale is 0 or that of the unit sphere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Answer",
    "Sides",
    "as_labels",
    "as_linear",
    "as_start",
    "best_scale_and_bias",
    "dual_value",
    "soft_value",
    "split",
    "split_by_weight",
]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Sides:
    """Where the dual weights live: 0 <= p_i <= cap, and each side k has the mass masses[k].

    Rows that count more or less than others have caps of their own; ``cap`` is then the greatest.
    """

    side: NDArray[np.int64]  # of each row
    masses: Vector
    cap: float
    caps: Vector | None = None

    @property
    def tilt(self) -> float:
        """p.y for all weights of this set."""
        return float(self.masses[0] - self.masses[1]) if len(self.masses) == 2 else 0.0

    def lightest(self, c: Vector) -> Vector:
        """The weights of this set with the least p.c: the smallest responses of each side."""
        p = np.zeros(len(c))
        for k, mass in enumerate(self.masses):
            members = np.flatnonzero(self.side == k)
            order = members[np.argsort(c[members], kind="stable")]
            p[order] = _filled(mass, self.cap if self.caps is None else self.caps[order], order)
        return p

    def repaired(self, p: Vector) -> Vector:
        """Weights of this set near p; zeros stay zeros where the cap allows it."""
        out = np.zeros(len(p))
        for k, mass in enumerate(self.masses):
            members = np.flatnonzero(self.side == k)
            order = members[np.argsort(-p[members], kind="stable")]
            total = float(p[order].sum())
            placed = np.minimum(p[order] * (mass / total if total > 0.0 else 0.0), self.cap)
            room = self.cap - placed
            rest = mass - placed.sum()  # it goes to the heaviest rows that have room
            out[order] = placed + np.clip(rest - (np.cumsum(room) - room), 0.0, room)
        return out

    def uniform(self) -> Vector:
        """The same weight for all rows of a side."""
        counts = np.bincount(self.side, minlength=len(self.masses))
        return (self.masses / np.maximum(counts, 1))[self.side]


class Answer(NamedTuple):
    """The best that can be made of a direction x: ``scale * x`` with a bias."""

    value: float
    scale: float
    bias: float


def as_labels(y: ArrayLike, n: int) -> Vector:
    """Labels as floats, checked."""
    labels = np.asarray(y, dtype=np.float64)
    if labels.shape != (n,):
        raise ValueError(f"y has shape {labels.shape}, but X has {n} rows: one label for each")
    if not (np.abs(labels) == 1.0).all():
        raise ValueError(
            f"y holds {np.unique(labels)[:5]}: the labels must be +1 and -1; SublinearSVC takes "
            "any classes"
        )
    return labels


def as_linear(b: ArrayLike | None, n: int) -> Vector:
    """The linear part of a quadratic program, checked; zeros if there is none."""
    linear = np.zeros(n) if b is None else np.array(b, dtype=np.float64)
    if linear.shape != (n,) or not np.isfinite(linear).all():
        raise ValueError(f"b must hold {n} finite numbers, one for each row")
    return linear


def as_start(
    start: tuple[ArrayLike, ArrayLike] | None, sides: Sides, d: int
) -> tuple[Vector, Vector]:
    """Where to begin: x in the unit ball, and weights that need not be in the dual set yet."""
    n = len(sides.side)
    if start is None:
        return np.zeros(d), sides.uniform()
    x, p = (np.array(part, dtype=np.float64) for part in start)
    if x.shape != (d,) or not np.isfinite(x).all():
        raise ValueError(f"start must hold a vector x of {d} finite numbers")
    if p.shape != (n,) or not (np.isfinite(p) & (p >= 0.0)).all():
        raise ValueError(f"start must hold {n} weights that are finite and not negative")
    return x / max(1.0, float(np.linalg.norm(x))), p


def split(y: Vector, cap: float, *, bias: bool) -> Sides:
    """The dual set of the labels: two sides of optimal masses, or one side without a bias.

    Examples
    --------
    >>> split(np.array([1.0, -1.0, -1.0]), 1.0, bias=True).masses
    array([0.5, 0.5])
    >>> split(np.array([1.0, -1.0, -1.0]), 0.4, bias=True).masses  # one row holds 0.4 at most
    array([0.4, 0.6])
    """
    n = len(y)
    if not cap * n >= 1.0 - 1e-12:
        raise ValueError(f"cap={cap!r} must be at least 1/n = {1.0 / n:.3g}: weights add up to 1")
    cap = min(max(float(cap), 1.0 / n), 1.0)
    if not bias:
        return Sides(np.zeros(n, dtype=np.int64), np.ones(1), cap)
    side = (np.asarray(y) < 0.0).astype(np.int64)
    room = cap * np.bincount(side, minlength=2)
    first = min(max(0.5, 1.0 - room[1]), room[0])
    return Sides(side, np.array([first, 1.0 - first]), cap)


def split_by_weight(y: Vector, weights: Vector, kappa: float, *, bias: bool) -> Sides:
    """The dual set of the mean of a part kappa of the rows, each counting by its weight.

    The caps are the weights over kappa times their sum, so that a row of weight 2 is two rows.

    Examples
    --------
    >>> split_by_weight(np.ones(3), np.array([2.0, 1.0, 1.0]), 0.5, bias=False).caps
    array([1. , 0.5, 0.5])
    """
    shares = np.minimum(weights / (kappa * weights.sum()), 1.0)
    if (shares == shares[0]).all():
        return split(y, 1.0 / max(1.0, kappa * len(y)), bias=bias)
    caps, greatest = shares / min(shares.sum(), 1.0), float(shares.max())
    if not bias:
        return Sides(np.zeros(len(y), dtype=np.int64), np.ones(1), greatest, caps)
    side = (np.asarray(y) < 0.0).astype(np.int64)
    room = np.bincount(side, caps, minlength=2)
    first = min(max(0.5, 1.0 - room[1]), room[0])
    return Sides(side, np.array([first, 1.0 - first]), greatest, caps)


def soft_value(c: Vector, cap: float) -> float:
    """The mean of the 1/cap smallest numbers, the last one in part: the least p.c with p <= cap.

    Examples
    --------
    >>> c = np.array([4.0, 1.0, 2.0])
    >>> soft_value(c, 1.0), soft_value(c, 0.375)  # 3/8 of 1, 3/8 of 2, and 2/8 of 4
    (1.0, 2.125)
    """
    if cap >= 1.0:
        return float(c.min())
    count = min(len(c), math.ceil(1.0 / cap - 1e-9))
    least = np.partition(c, count - 1)[:count] if count < len(c) else c
    last = float(least.max())
    return last + cap * float((least - last).sum())  # weights of cap, and what is left for the last


def dual_value(g: Vector, p: Vector, y: Vector, R: float) -> float:
    """||A'p|| + R |p.y| from g = A'p: no margin is greater. R = 0 without a bias.

    Examples
    --------
    >>> dual_value(np.array([3.0, 4.0]), np.array([0.5, 0.5]), np.array([1.0, -1.0]), 9.0)
    5.0
    """
    return float(np.linalg.norm(g)) + R * abs(float(p @ y))


def best_scale_and_bias(c: Vector, norm: float, y: Vector, sides: Sides, R: float) -> Answer:
    """The best multiple of x in the unit ball with its best bias, from the responses c = A x.

    Parameters
    ----------
    c : array of shape (n,)
        y_i <x_i, x>, exactly.
    norm : float
        ||x||.
    y : array of shape (n,)
        The labels.
    sides : Sides
        The dual set; two sides mean that there is a bias.
    R : float
        The greatest norm of a row, which bounds the bias.

    Examples
    --------
    >>> y = np.array([1.0, -1.0])
    >>> best_scale_and_bias(np.array([0.75, 0.25]), 0.5, y, split(y, 1.0, bias=True), 2.0)
    Answer(value=1.0, scale=2.0, bias=-0.5)
    """
    lightest = sides.lightest(c)
    scale = 1.0 / norm if norm > 0.0 and float(lightest @ c) > 0.0 else 0.0
    bias = 0.0
    if len(sides.masses) == 2:
        if abs(sides.tilt) > 1e-12:
            bias = math.copysign(R, sides.tilt)
        else:
            caps = np.broadcast_to(sides.cap, len(c)) if sides.caps is None else sides.caps
            levels = [
                _level(c[here], lightest[here], caps[here])
                for here in (sides.side == 0, sides.side == 1)
            ]
            bias = min(max(scale * (levels[1] - levels[0]) / 2.0, -R), R)
    values = scale * c + bias * y
    if sides.caps is None:
        return Answer(soft_value(values, sides.cap), scale, bias)
    order = np.argsort(values, kind="stable")
    value = float(_filled(1.0, sides.caps[order], order) @ values[order])
    return Answer(value, scale, bias)


def _filled(mass: float, cap: float | Vector, order: NDArray[np.int64]) -> Vector:
    """The weights of rows, in their order, that take as much as their caps let them of a mass."""
    before = np.cumsum(cap) - cap if isinstance(cap, np.ndarray) else cap * np.arange(len(order))
    return np.clip(mass - before, 0.0, cap)


def _level(c: Vector, lightest: Vector, caps: Vector) -> float:
    """The response at which the weight of a side ends; the middle, if it is between two rows."""
    used = lightest > 0.0
    last = float(c[used].max())
    whole = bool((lightest[used] >= caps[used] * (1.0 - 1e-9)).all())
    others = c[~used & (caps > 0.0)]
    return (last + float(others.min())) / 2.0 if whole and len(others) else last
