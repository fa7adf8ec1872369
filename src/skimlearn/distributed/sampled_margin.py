r"""The greatest margin from sampled rows and columns, the rows on a cluster.

Problem, with a_i = y_i x_i:  max over ||x|| <= 1 of min_i <a_i, x>;  its dual: min of ||A'p||.

The sublinear perceptron of Clarkson, Hazan and Woodruff, "Sublinear optimization for machine
learning" (2010), algorithm 1, in rounds (`_sampled`). With R the length of the longest row,

    x = s / max(sqrt(2 t) R, ||s||),  columns j ~ x_j^2,  v = mean of column j * ||x||^2 / (R x_j),

as in `skimlearn.solvers.simba`. The upper bound ||s|| / t is free.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn.distributed._pieces import Piece
from skimlearn.distributed._sampled import CHAIN, Asked, Numbers, Sampled

__all__ = ["CHAIN", "SampledMargin"]

Vector = NDArray[np.float64]


def longest(piece: Piece) -> float:
    """The length of the longest row."""
    return math.sqrt(piece.squares.max())


class SampledMargin(Sampled):
    """The sublinear perceptron in progress."""

    kind, sign = "margin", -1.0

    def measure(self) -> float:
        """See `Sampled`."""
        self.bounds.primal(0.0, np.zeros(self.shape[1]))  # x = 0 needs no proof
        return max(self.team.fetch(self.team.each("longest", longest))) or 1.0

    def point(self, t: int) -> Vector:
        """See `Sampled`."""
        length = float(np.linalg.norm(self.s))
        return self.s / max(math.sqrt(2.0 * t) * self.unit, length)

    def law(self, x: Vector) -> Vector:
        """See `Sampled`."""
        return x * x

    def asked(self, x: Vector, numbers: Numbers, shares: Vector, eta: float) -> Asked:
        """See `Sampled`."""
        return Asked(numbers, eta * shares * float(x @ x) / (self.unit * x[numbers]))

    def proven(self, mean: Vector, height: float) -> float:
        """See `Sampled`."""
        return float(np.linalg.norm(mean))

    def candidate(self, mean: Vector) -> Vector:
        """See `Sampled`."""
        return mean / (float(np.linalg.norm(mean)) or 1.0)
