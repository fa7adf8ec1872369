"""How much a loss is taken to bend where it hardly does.

Where a row is badly wrong the log loss is nearly straight, and a Newton step for a feature of few
rows goes far too far. A row is therefore taken to bend so much that, alone, it would move its
response by no more than `REACH` typical ones: its curvature is at least |slope| / (REACH typical).
"""

from __future__ import annotations

import numpy as np

from skimlearn._jit import kernel
from skimlearn.problem import Problem

__all__ = ["LEAST", "REACH", "bend_at_least", "typical_response"]

REACH = 8.0  # typical responses: how far a row alone may move its own
LEAST = 1e-6  # a typical response is at least so much of the largest target


def typical_response(problem: Problem, b: float) -> float:
    """The size of a typical response: 1 for labels, else how far targets are from the bias.

    Examples
    --------
    >>> from skimlearn.problem import make_problem
    >>> typical_response(make_problem([[1.0], [2.0]], [1.0, 5.0], loss="squared", alpha=1.0), 1.0)
    2.0
    """
    if problem.loss.labels:
        return 1.0
    spread = float(problem.weights @ np.abs(problem.y - b)) / problem.n
    return max(spread, LEAST * float(np.abs(problem.y).max(initial=1e-12)))


@kernel
def bend_at_least(loss, at, y, slope, reach, most):
    """The curvature of a loss, whose slope there is known; ``most`` is that of the whole loss."""
    return max(loss.bend(at, y), min(abs(slope) / reach, most))
