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

    >>> import math
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

The base class is in `_loss`, the losses are in `_losses_of_labels` and `_losses_of_numbers`; all of
them are used through this module.
"""

from __future__ import annotations

from skimlearn.formulas._loss import Loss
from skimlearn.formulas._losses_of_labels import Hinge, Log, SquaredHinge
from skimlearn.formulas._losses_of_numbers import Absolute, EpsilonInsensitive, Huber, Squared

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

NAMES: dict[str, type[Loss]] = {
    "absolute": Absolute,
    "epsilon_insensitive": EpsilonInsensitive,
    "hinge": Hinge,
    "huber": Huber,
    "log": Log,
    "squared": Squared,
    "squared_hinge": SquaredHinge,
}


def is_ours(loss: Loss) -> bool:
    """Whether its formulas are tested here; one that is derived from ours is a user's."""
    return type(loss) in NAMES.values()


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
