"""From classes to targets, and to weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.problem import check_weights

__all__ = ["one_against_rest", "two_or_more", "weigh"]

Vector = NDArray[np.float64]


def two_or_more(classes: NDArray[Any]) -> NDArray[Any]:
    """The classes, refused if there is nothing to tell apart."""
    if len(classes) < 2:
        raise ValueError(
            f"y holds only one class, {classes.tolist()[0]!r}: a classifier needs rows of at "
            "least two classes"
        )
    return classes


def one_against_rest(y: NDArray[Any], classes: NDArray[Any]) -> list[Vector]:
    """Targets -1 and +1: the second of two classes against the first, or each against the rest."""
    if y.dtype == np.float64 and y.flags.carray and np.array_equal(classes, (-1.0, 1.0)):
        return [y]  # they are the targets
    positives = classes[1:] if len(classes) == 2 else classes
    return [np.where(y == c, 1.0, -1.0) for c in positives]


def weigh(wanted: Any, weights: Vector, y: NDArray[Any], classes: NDArray[Any]) -> Vector:
    """The weights of the rows times those of their classes, the parameter ``class_weight``."""
    if wanted is None:
        return weights
    present = np.unique(y)
    if isinstance(wanted, dict):
        unknown = set(wanted) - set(classes.tolist())
        if unknown:
            raise ValueError(
                f"class_weight has the keys {sorted(map(str, unknown))}, which are not among "
                f"the classes {classes.tolist()}: remove them, or name classes that are yet "
                "to come in partial_fit's parameter classes"
            )
        factors = np.array([wanted.get(c, 1.0) for c in present.tolist()])
    elif isinstance(wanted, str) and wanted == "balanced":
        factors = len(y) / (len(present) * np.bincount(np.searchsorted(present, y)))
    else:
        factors = np.empty(0, dtype=object)
    if factors.dtype.kind not in "biuf":
        raise ValueError(f"class_weight={wanted!r} must be a dict of numbers, 'balanced' or None")
    if not (np.isfinite(factors) & (factors >= 0.0)).all() or not factors.any():
        raise ValueError(
            f"class_weight={wanted!r} must hold finite numbers >= 0, and not only zeros"
        )
    return check_weights(weights * factors[np.searchsorted(present, y)], len(y))
