r"""Regularizers: what keeps the weights small, and the map from dual vectors to weights.

A regularizer r is 1-strongly convex in a norm, so its conjugate r* is differentiable, and
``w = link(theta)`` with link = grad r*. All of them have the form

    w_j = scale(M) * tilt(theta_j),        M = sum over j of mass(theta_j),

where only one number, the mass, depends on all coordinates. A solver that changes few coordinates
of theta at a time keeps w up to date in time proportional to those few (``solvers/_mirror.py``).
The ``unit`` is a common factor taken out of all the powers or exponentials, so that none overflows.

================  =========================================  ==============================
class             r(w)                                       r*(theta)
================  =========================================  ==============================
`SquaredL2`       ||w||^2 / 2                                ||theta||^2 / 2
`SquaredLp`       ||w||_p^2 / (2 (p - 1)), 1 < p <= 2        (p - 1) ||theta||_q^2 / 2
`Entropic`        R^2 KL(split of w over +/- | uniform)      R^2 log mean_j cosh(theta_j / R)
================  =========================================  ==============================

`SquaredLp` may be restricted to the ball ||w||_p <= radius; `Entropic` lives on ||w||_1 <= radius.
The first two are those of the PGS paper (Zhu et al., 2009); the third is the bounded form of the
entropy named in its discussion: exponentiated gradient with positive and negative weights, for
models in which few of very many features matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import Formula, kernel

__all__ = ["Entropic", "Regularizer", "SquaredL2", "SquaredLp", "resolve"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Regularizer(Formula):
    """The base class of regularizers: scalar methods for kernels, vector methods for the rest.

    Examples
    --------
    The link is the gradient of r*, so that r(w) + r*(theta) = <w, theta> at w = link(theta):

    >>> r, theta = SquaredLp(p=1.5), np.array([1.0, -2.0])
    >>> w = r.link(theta)
    >>> abs(r.penalty(w) + r.penalty_dual(theta) - float(w @ theta)) < 1e-12
    True
    """

    # ------------------------------------------------------------------ scalars, inside kernels

    def linear(self):
        """Whether the link is the identity, so that no mass needs to be kept."""
        return False

    def homogeneous(self):
        """Whether link(c theta) = c link(theta) for c > 0 (without a radius)."""
        return True

    def unit(self, largest):
        """The common factor for a vector whose largest entry in absolute value is ``largest``."""
        return 1.0

    def ceiling(self, unit):
        """The largest |theta_j| for which this unit may still be used."""
        return math.inf

    def tilt(self, theta, unit):
        """The weight of one coordinate, up to the common scale."""
        return theta

    def mass(self, theta, tilt, unit):
        """The share of one coordinate in the mass, given its tilt."""
        return 0.0

    def scale(self, mass, unit, factor):
        """The common scale, for ``factor * theta`` in the place of ``theta`` if homogeneous."""
        return factor

    # --------------------------------------------------------------------------------- vectors

    def exponent(self) -> float:
        """The exponent q of the dual norm: r* is 1-smooth in ||.||_q."""
        return 2.0

    def penalty(self, w: Vector) -> float:
        """r(w), infinite outside the domain."""
        raise TypeError("a regularizer defines penalty(self, w)")

    def penalty_dual(self, theta: Vector) -> float:
        """r*(theta)."""
        raise TypeError("a regularizer defines penalty_dual(self, theta)")

    def link(self, theta: Vector) -> Vector:
        """The weights of a dual vector: the gradient of r*."""
        raise TypeError("a regularizer defines link(self, theta)")

    def unlink(self, w: Vector) -> Vector:
        """A dual vector whose weights are w (inside the domain)."""
        raise TypeError("a regularizer defines unlink(self, w)")


@dataclass(frozen=True)
class SquaredL2(Regularizer):
    """||w||^2 / 2.

    Examples
    --------
    >>> SquaredL2().penalty(np.array([3.0, 4.0]))
    12.5
    """

    def linear(self):
        return True

    def penalty(self, w: Vector) -> float:
        return 0.5 * squared_length(w)

    def penalty_dual(self, theta: Vector) -> float:
        return 0.5 * squared_length(theta)

    def link(self, theta: Vector) -> Vector:
        return theta.copy()

    def unlink(self, w: Vector) -> Vector:
        return w.copy()


@dataclass(frozen=True)
class SquaredLp(Regularizer):
    """||w||_p^2 / (2 (p - 1)) for 1 < p <= 2, optionally on the ball ||w||_p <= radius.

    Examples
    --------
    >>> round(SquaredLp(p=1.5).penalty(np.array([3.0, 4.0])), 6)
    31.183852
    """

    p: float = 1.5
    radius: float = math.inf

    def __post_init__(self) -> None:
        if not 1.0 < self.p <= 2.0:
            raise ValueError(f"p={self.p!r} must lie in (1, 2]; p=1 is the entropic regularizer")
        if not self.radius > 0.0:
            raise ValueError(f"radius={self.radius!r} must be positive")

    def unit(self, largest):
        return largest if largest > 0.0 else 1.0

    def ceiling(self, unit):
        return unit * (1.0 + 10.0 * (self.p - 1.0) / self.p)  # its power q is below e^10

    def tilt(self, theta, unit):
        return math.copysign((abs(theta) / unit) ** (1.0 / (self.p - 1.0)), theta)

    def mass(self, theta, tilt, unit):
        return abs(tilt) * (abs(theta) / unit)

    def scale(self, mass, unit, factor):
        # w_j = (p-1) ||theta||_q^(2-q) |theta_j|^(q-1) sign theta_j and ||w||_p = (p-1) ||theta||_q
        if mass <= 0.0:
            return 0.0
        q = self.p / (self.p - 1.0)
        norm = mass ** (1.0 / q)
        length = (self.p - 1.0) * factor * unit * norm
        return length * norm ** (1.0 - q) * min(1.0, self.radius / length)

    def exponent(self) -> float:
        return self.p / (self.p - 1.0)

    def penalty(self, w: Vector) -> float:
        norm = _norm(w, self.p)
        return norm * norm / (2 * (self.p - 1)) if norm <= self.radius * (1 + 1e-12) else math.inf

    def penalty_dual(self, theta: Vector) -> float:
        length = (self.p - 1.0) * _norm(theta, self.exponent())
        excess = max(0.0, length - self.radius)  # r* = (length^2 - excess^2) / (2 (p - 1))
        return min(length, self.radius) * (length + excess) / (2.0 * (self.p - 1.0))

    def link(self, theta: Vector) -> Vector:
        largest = float(np.abs(theta).max(initial=0.0))
        if largest == 0.0:
            return np.zeros_like(theta)
        q = self.exponent()
        share = np.abs(theta) / largest
        scale = self.scale(float((share**q).sum()), largest, 1.0)
        return np.copysign(scale * share ** (q - 1.0), theta)

    def unlink(self, w: Vector) -> Vector:
        norm = _norm(w, self.p)
        if norm == 0.0:
            return np.zeros_like(w)
        share = (np.abs(w) / norm) ** (self.p - 1.0)
        return np.copysign(share * norm / (self.p - 1.0), w)


@dataclass(frozen=True)
class Entropic(Regularizer):
    """The relative entropy of signed weights on ||w||_1 <= radius: exponentiated gradient.

    The weights are split into positive and negative parts whose total is ``radius``, and r is
    radius^2 times the least relative entropy of such a split to the uniform one. It is 1-strongly
    convex in the l1 norm.

    Examples
    --------
    >>> w = Entropic(radius=2.0).link(np.array([9.0, 0.0, -1.0]))
    >>> bool(np.abs(w).sum() < 2.0), int(np.argmax(w))
    (True, 0)
    """

    radius: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.radius < math.inf:
            raise ValueError(
                f"radius={self.radius!r} of the entropic regularizer must be positive and finite: "
                "it bounds the l1 norm of the weights"
            )

    def homogeneous(self):
        return False

    def unit(self, largest):
        return largest / self.radius

    def ceiling(self, unit):
        return self.radius * (unit + 20.0)

    def tilt(self, theta, unit):
        x = abs(theta) / self.radius
        return math.copysign(0.5 * math.exp(x - unit) * -math.expm1(-2.0 * x), theta)

    def mass(self, theta, tilt, unit):
        return math.hypot(tilt, math.exp(-unit))

    def scale(self, mass, unit, factor):
        return self.radius / mass

    def exponent(self) -> float:
        return math.inf

    def penalty(self, w: Vector) -> float:
        if float(np.abs(w).sum()) > self.radius * (1 + 1e-12):
            return math.inf
        c = self._split(w)
        large = 0.5 * (np.abs(w) + np.hypot(w, 2.0 * c)) / self.radius
        small = (c / self.radius) ** 2 / np.maximum(large, 1e-300)
        parts = np.concatenate([large, small])
        parts = parts[parts > 0.0]
        entropy = float((parts * np.log(parts)).sum()) + math.log(2.0 * len(w))
        return self.radius**2 * max(entropy, 0.0)

    def _split(self, w: Vector) -> float:
        """The c for which the parts c e^(+t_j), c e^(-t_j) of all w_j add up to the radius."""
        low, high = 0.0, self.radius / 2.0
        for _ in range(200):
            middle = 0.5 * (low + high)
            if float(np.hypot(w, 2.0 * middle).sum()) < self.radius:
                low = middle
            else:
                high = middle
        return low

    def penalty_dual(self, theta: Vector) -> float:
        from scipy.special import logsumexp

        x = theta / self.radius
        return self.radius**2 * float(logsumexp(np.concatenate([x, -x])) - math.log(2 * len(x)))

    def link(self, theta: Vector) -> Vector:
        x = np.abs(theta) / self.radius
        unit = float(x.max(initial=0.0))
        up = np.exp(x - unit)
        total = (up + np.exp(-x - unit)).sum()
        return np.copysign(self.radius * up * -np.expm1(-2.0 * x) / total, theta)

    def unlink(self, w: Vector) -> Vector:
        c = max(self._split(w), 1e-12 * self.radius / len(w))
        return self.radius * np.arcsinh(w / (2.0 * c))


@kernel
def squared_length(x):
    """||x||^2, without the threads that a BLAS would start for it."""
    total = 0.0
    for j in range(len(x)):
        total += x[j] * x[j]
    return total


def _norm(x: Vector, exponent: float) -> float:
    """||x||_exponent without overflow."""
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    return largest * float(((np.abs(x) / largest) ** exponent).sum() ** (1.0 / exponent))


def resolve(p: Any, radius: Any) -> Regularizer:
    """The regularizer of the parameters ``p`` and ``radius``.

    Examples
    --------
    >>> resolve(2, None), resolve(1.5, None), resolve(1, 10.0)
    (SquaredL2(), SquaredLp(p=1.5, radius=inf), Entropic(radius=10.0))
    """
    if not isinstance(p, (int, float, np.number)) or isinstance(p, bool) or not 1.0 <= p <= 2.0:
        raise ValueError(f"p={p!r} must be a number in [1, 2]")
    if radius is not None and not (isinstance(radius, (int, float, np.number)) and radius > 0):
        raise ValueError(f"radius={radius!r} must be a positive number, or None for no bound")
    if p == 1.0:
        if radius is None:
            raise ValueError("p=1 needs radius=..., a bound on the l1 norm of the weights")
        return Entropic(float(radius))
    if p == 2.0 and radius is None:
        return SquaredL2()
    return SquaredLp(float(p), math.inf if radius is None else float(radius))
