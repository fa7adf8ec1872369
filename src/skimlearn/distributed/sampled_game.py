r"""The value of a zero-sum game from sampled rows and columns, the rows on a cluster.

Problem:  min over x, max over p (both distributions) of  p' A x.

The algorithm of Grigoriadis and Khachiyan, "A sublinear-time randomized approximation algorithm for
matrix games" (1995), in rounds (`_sampled`): the rows' player has its weights on the partitions,
the columns' player at the client. With U the largest entry's size, which takes a pass,

    x ~ exp(-sqrt(log d / t) s / U),  columns j ~ x_j,  v = mean of column j / U.

Entries are used as they are: a column is no estimate of A x with a weight, but a draw from x. The
lower bound, the least entry of s / t, is free.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.ledger import Reads
from skimlearn.data.rows import largest_entry
from skimlearn.distributed._pieces import Piece
from skimlearn.distributed._sampled import Asked, Numbers, Sampled

__all__ = ["SampledGame"]

Vector = NDArray[np.float64]


def size_of(piece: Piece) -> float:
    """The largest absolute value of an entry."""
    return largest_entry(piece.rows)


class SampledGame(Sampled):
    """The game in progress."""

    kind = "game"

    def measure(self) -> float:
        """See `Sampled`."""
        self.reads += Reads(math.prod(self.shape), self.entries)
        return max(self.team.fetch(self.team.each("size", size_of))) or 1.0

    def point(self, t: int) -> Vector:
        """See `Sampled`."""
        rate = math.sqrt(math.log(max(2, self.shape[1])) / t) * math.sqrt(self.draws)
        gains = -min(rate, 0.5) * self.s / self.unit
        weights = np.exp(gains - gains.max())
        return weights / weights.sum()

    def law(self, x: Vector) -> Vector:
        """See `Sampled`."""
        return x

    def asked(self, x: Vector, numbers: Numbers, shares: Vector, eta: float) -> Asked:
        """See `Sampled`."""
        return Asked(numbers, -eta * shares / self.unit)

    def proven(self, mean: Vector, height: float) -> float:
        """See `Sampled`."""
        return float(mean.min())

    def candidate(self, mean: Vector) -> Vector:
        """See `Sampled`."""
        return mean
