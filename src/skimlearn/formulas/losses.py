"""Losses: what a prediction ``z`` costs when the target is ``y``.

A loss is convex and non-negative. With ``a`` the dual variable of an example (minus a slope),

====================  ======================================================================
``value(z, y)``       l(z, y)
``slope(z, y)``       its derivative in z (any subgradient at a kink)
``curvature()``       a bound on how fast the slope changes; infinite where the slope jumps
``bend(z, y)``        how fast the slope changes at z
``dual_bounds(y)``    the interval of all ``a = -slope``
``conjugate(s, y)``   l*(s, y) = max over z of s z - l(z, y); infinite outside the interval
``dual_step(a, z, h, y)``  the new a that maximises -l*(-a') - (a' - a) z - h (a' - a)^2 / 2
====================  ======================================================================

The first two are all that a new loss must bring: the base class finds the others numerically,
safely but slower. Class attributes say more: ``labels`` whether ``y`` is a label in {-1, +1} or a
real number, ``searches`` whether a dual step is a search and takes long, ``quadratic`` whether the
slope is a straight line.

    >>> from dataclasses import dataclass
    >>> from skimlearn import losses
    >>> @dataclass(frozen=True)
    ... class LogCosh(losses.Loss):
    ...     '''log cosh of the residual: squared when small, absolute when large.'''
    ...
    ...     def value(self, z, y):
    ...         r = abs(z - y)
    ...         return r + math.log1p(math.exp(-2 * r)) - math.log(2)
    ...
    ...     def slope(self, z, y):
    ...         return math.tanh(z - y)
    >>> round(LogCosh().conjugate(0.5, 0.0), 6)  # found numerically
    0.130812

`conjugate` and `dual_step` are checked against each other and against finite differences for every
loss here; see Shalev-Shwartz and Zhang, "Stochastic dual coordinate ascent methods for regularized
loss minimization" (2013) for the steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from skimlearn._jit import Formula
from skimlearn.formulas._exponential import decay, log_of_one_and

__all__ = [
    "Absolute",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "Log",
    "Loss",
    "Squared",
    "SquaredHinge",
    "resolve",
]

FAR = 1e15  # farther than any response: beyond it a slope is taken as its limit
HUGE = 1e300  # twice of it is still finite
TINY = 1e-30  # keeps a step finite for a row of zeros


@dataclass(frozen=True)
class Loss(Formula):
    """The base class of losses: `value` and `slope` are all that a new one must define.

    What else is needed is found numerically, unless the subclass knows better.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from skimlearn import LinearRegressor, losses
    >>> @dataclass(frozen=True)
    ... class Pinball(losses.Loss):  # its regression is that of a quantile
    ...     q: float = 0.5
    ...
    ...     def value(self, z, y):
    ...         return max(self.q * (y - z), (self.q - 1.0) * (y - z))
    ...
    ...     def slope(self, z, y):
    ...         return -self.q if z < y else 1.0 - self.q
    >>> X, y = [[0.0], [0.0], [0.0], [0.0], [0.0]], [1.0, 2.0, 3.0, 4.0, 5.0]
    >>> round(float(LinearRegressor(loss=Pinball(q=0.7), tol=1e-9).fit(X, y).intercept_), 3)
    4.0
    """

    labels: ClassVar[bool] = False
    searches: ClassVar[bool] = True
    quadratic: ClassVar[bool] = False

    def value(self, z, y):
        """l(z, y)."""
        raise TypeError("a loss defines value(self, z, y)")

    def slope(self, z, y):
        """The derivative of the loss in z."""
        raise TypeError("a loss defines slope(self, z, y)")

    def curvature(self):
        """A bound on the derivative of the slope."""
        return math.inf

    def bend(self, z, y):
        """The derivative of the slope at z, by a difference."""
        step = 1e-6 * (1.0 + abs(z))
        return max(self.slope(z + step, y) - self.slope(z - step, y), 0.0) / (2.0 * step)

    def dual_bounds(self, y):
        """The least and the greatest value of -slope."""
        low = -self.slope(FAR, y)
        high = -self.slope(-FAR, y)
        return low, high

    def conjugate(self, s, y):
        """max over z of s z - l(z, y), by bisection on the slope."""
        low, high = self.dual_bounds(y)
        if -s < low or -s > high:
            return math.inf
        reach = 1.0 + abs(y)
        while reach < FAR and (self.slope(-reach, y) > s or self.slope(reach, y) < s):
            reach *= 2.0
        left, right = -reach, reach
        for _ in range(110):
            middle = 0.5 * (left + right)
            if self.slope(middle, y) < s:
                left = middle
            else:
                right = middle
        return max(s * left - self.value(left, y), s * right - self.value(right, y))

    def dual_step(self, a, z, h, y):
        """The maximiser of -l*(-a') - (a' - a) z - h (a' - a)^2 / 2, as a proximal point.

        With u = z + v the point where v + h (a + slope(u)) changes its sign, the answer is
        a + v / h: bisection between v = 0 and v = -h (a + slope(z)).
        """
        h = max(h, TINY)
        reach = min(max(-h * (a + self.slope(z, y)), -HUGE), HUGE)
        left, right = min(reach, 0.0), max(reach, 0.0)
        for _ in range(1100):  # so many only if the slope overflows at z
            middle = 0.5 * (left + right)
            if right - left <= 3e-16 * (abs(z) + abs(middle)):
                break
            if middle + h * (a + self.slope(z + middle, y)) < 0.0:
                left = middle
            else:
                right = middle
        # without a kink at u the bounds are close to each other, and sharper than the quotient
        return min(max(a + left / h, -self.slope(z + right, y)), -self.slope(z + left, y))


@dataclass(frozen=True)
class Hinge(Loss):
    """max(0, 1 - y z): the loss of the support vector machine.

    Examples
    --------
    >>> Hinge().value(0.25, 1.0)
    0.75
    """

    labels: ClassVar[bool] = True
    searches: ClassVar[bool] = False

    def value(self, z, y):
        return max(0.0, 1.0 - y * z)

    def slope(self, z, y):
        return -y if y * z < 1.0 else 0.0

    def dual_bounds(self, y):
        return min(y, 0.0), max(y, 0.0)

    def conjugate(self, s, y):
        return y * s if -1.0 <= y * s <= 0.0 else math.inf

    def dual_step(self, a, z, h, y):
        return y * min(max(y * a + (1.0 - y * z) / max(h, TINY), 0.0), 1.0)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """max(0, 1 - y z)^2 / 2: a smooth hinge.

    Examples
    --------
    >>> SquaredHinge().value(0.0, 1.0)
    0.5
    """

    labels: ClassVar[bool] = True
    searches: ClassVar[bool] = False

    def value(self, z, y):
        r = max(0.0, 1.0 - y * z)
        return 0.5 * r * r

    def slope(self, z, y):
        return -y * max(0.0, 1.0 - y * z)

    def curvature(self):
        return 1.0

    def bend(self, z, y):
        return 1.0 if y * z < 1.0 else 0.0

    def dual_bounds(self, y):
        return (0.0, math.inf) if y > 0.0 else (-math.inf, 0.0)

    def conjugate(self, s, y):
        return y * s + 0.5 * s * s if y * s <= 0.0 else math.inf

    def dual_step(self, a, z, h, y):
        return y * max(0.0, y * a + (1.0 - y * z - y * a) / (1.0 + h))


@dataclass(frozen=True)
class Log(Loss):
    """log(1 + exp(-y z)): the loss of logistic regression.

    Examples
    --------
    >>> round(Log().value(0.0, 1.0), 6)
    0.693147
    """

    labels: ClassVar[bool] = True

    def value(self, z, y):
        return max(0.0, -y * z) + log_of_one_and(decay(abs(y * z)))

    def slope(self, z, y):
        e = decay(abs(y * z))
        return -y * (e if y * z > 0.0 else 1.0) / (1.0 + e)

    def curvature(self):
        return 0.25

    def bend(self, z, y):
        e = decay(abs(y * z))  # as in the slope, so that both take one exponential
        return e / ((1.0 + e) * (1.0 + e))

    def dual_bounds(self, y):
        return min(y, 0.0), max(y, 0.0)

    def conjugate(self, s, y):
        b = -y * s
        if b < 0.0 or b > 1.0:
            return math.inf
        total = 0.0
        if b > 0.0:
            total += b * math.log(b)
        if b < 1.0:
            total += (1.0 - b) * math.log1p(-b)
        return total

    def dual_step(self, a, z, h, y):
        # u = start + h b with b = 1 / (1 + exp(u)), solved by Halley's method inside a bracket.
        # It is narrow for any h because b < exp(-u) and 1 - b < exp(u).
        start = y * (z - h * a)
        reach = h if h < 4.0 else math.log1p(h)
        low = max(start, min(start + h, 0.0) - reach)
        high = min(start + h, max(start, 0.0) + reach)
        u, b = min(max(y * z, low), high), 0.0
        for _ in range(100):
            e = math.exp(-abs(u))
            b = (e if u > 0.0 else 1.0) / (1.0 + e)
            error = u - start - h * b
            if error > 0.0:
                high = u
            else:
                low = u
            fall = b * (1.0 - b)
            part = 1.0 / (1.0 + h * fall)
            step = error * part
            if abs(step) <= 1e-3:
                step *= 1.0 - (0.5 - b) * step * (1.0 - part)
                if low < u - step < high:  # exact but for the cube of the step
                    return y * (b + step * fall * (1.0 + (0.5 - b) * step))
            if abs(step) <= 1e-14 * (1.0 + abs(u)):
                break
            u -= step
            if not low < u < high:
                u = 0.5 * (low + high)
        return y * b


@dataclass(frozen=True)
class Squared(Loss):
    """(z - y)^2 / 2: half the squared error.

    Examples
    --------
    >>> Squared().value(3.0, 1.0)
    2.0
    """

    searches: ClassVar[bool] = False
    quadratic: ClassVar[bool] = True

    def value(self, z, y):
        return 0.5 * (z - y) * (z - y)

    def slope(self, z, y):
        return z - y

    def curvature(self):
        return 1.0

    def bend(self, z, y):
        return 1.0

    def dual_bounds(self, y):
        return -math.inf, math.inf

    def conjugate(self, s, y):
        return s * y + 0.5 * s * s

    def dual_step(self, a, z, h, y):
        return a + (y - z - a) / (1.0 + h)


@dataclass(frozen=True)
class Absolute(Loss):
    """|z - y|: the error itself, whose best constant is the median.

    Examples
    --------
    >>> Absolute().value(3.0, 1.0)
    2.0
    """

    searches: ClassVar[bool] = False

    def value(self, z, y):
        return abs(z - y)

    def slope(self, z, y):
        return 1.0 if z > y else -1.0

    def dual_bounds(self, y):
        return -1.0, 1.0

    def conjugate(self, s, y):
        return s * y if abs(s) <= 1.0 else math.inf

    def dual_step(self, a, z, h, y):
        return min(max(a + (y - z) / max(h, TINY), -1.0), 1.0)


@dataclass(frozen=True)
class Huber(Loss):
    """Half the squared error up to ``delta``, linear beyond: robust against outliers.

    Examples
    --------
    >>> Huber(delta=1.0).value(3.0, 0.0)
    2.5
    """

    searches: ClassVar[bool] = False
    delta: float = 1.0

    def __post_init__(self):
        if not 0.0 < self.delta < math.inf:
            raise ValueError(f"delta={self.delta!r} of the Huber loss must be positive and finite")

    def value(self, z, y):
        r = abs(z - y)
        return 0.5 * r * r if r <= self.delta else self.delta * (r - 0.5 * self.delta)

    def slope(self, z, y):
        return min(max(z - y, -self.delta), self.delta)

    def curvature(self):
        return 1.0

    def bend(self, z, y):
        return 1.0 if abs(z - y) < self.delta else 0.0

    def dual_bounds(self, y):
        return -self.delta, self.delta

    def conjugate(self, s, y):
        return s * y + 0.5 * s * s if abs(s) <= self.delta else math.inf

    def dual_step(self, a, z, h, y):
        return min(max(a + (y - z - a) / (1.0 + h), -self.delta), self.delta)


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """max(0, |z - y| - epsilon): errors up to ``epsilon`` cost nothing.

    Examples
    --------
    >>> EpsilonInsensitive(epsilon=0.5).value(3.0, 1.0)
    1.5
    """

    searches: ClassVar[bool] = False
    epsilon: float = 0.1

    def __post_init__(self):
        if not 0.0 <= self.epsilon < math.inf:
            raise ValueError(
                f"epsilon={self.epsilon!r} of the epsilon-insensitive loss must be finite and >= 0"
            )

    def value(self, z, y):
        return max(0.0, abs(z - y) - self.epsilon)

    def slope(self, z, y):
        if z > y + self.epsilon:
            return 1.0
        return -1.0 if z < y - self.epsilon else 0.0

    def dual_bounds(self, y):
        return -1.0, 1.0

    def conjugate(self, s, y):
        return s * y + self.epsilon * abs(s) if abs(s) <= 1.0 else math.inf

    def dual_step(self, a, z, h, y):
        h = max(h, TINY)
        v = a + (y - z) / h
        shrunk = max(abs(v) - self.epsilon / h, 0.0)
        return min(max(math.copysign(shrunk, v), -1.0), 1.0)


NAMES: dict[str, type[Loss]] = {
    "absolute": Absolute,
    "epsilon_insensitive": EpsilonInsensitive,
    "hinge": Hinge,
    "huber": Huber,
    "log": Log,
    "squared": Squared,
    "squared_hinge": SquaredHinge,
}


def resolve(loss: str | Loss, *, labels: bool) -> Loss:
    """Turn a name or an instance into a loss that fits the task.

    Parameters
    ----------
    loss : str or Loss
        One of the names, or an instance of a loss, one's own included.
    labels : bool
        Whether the targets are labels (classification) or numbers (regression).

    Examples
    --------
    >>> resolve("hinge", labels=True)
    Hinge()
    """
    if isinstance(loss, str):
        allowed = sorted(name for name, cls in NAMES.items() if labels or not cls.labels)
        if loss not in NAMES:
            raise ValueError(
                f"loss={loss!r} is not known: use one of {allowed} or an instance of "
                "skimlearn.losses.Loss"
            )
        chosen = NAMES[loss]()
    elif isinstance(loss, Loss):
        chosen = loss
    else:
        raise TypeError(
            f"loss={loss!r} must be a name or an instance of skimlearn.losses.Loss"
            + (": put parentheses after the class" if isinstance(loss, type) else "")
        )
    if chosen.labels and not labels:
        raise ValueError(
            f"loss={loss!r} compares a prediction with a label, but the task is regression: "
            "use 'squared', 'absolute', 'huber' or 'epsilon_insensitive'"
        )
    for method in ("value", "slope"):
        if getattr(type(chosen), method) is getattr(Loss, method):
            raise TypeError(f"loss={loss!r} must define {method}(self, z, y)")
    return chosen
