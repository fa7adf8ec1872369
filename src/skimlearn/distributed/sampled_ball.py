r"""The smallest enclosing ball from sampled rows and columns, the rows on a cluster.

Problem:  min over c of max_i ||a_i - c||^2;  its dual, for any o:
          max over distributions p of  sum_i p_i ||a_i - o||^2 - ||A'p - o||^2.

The sublinear algorithm of Clarkson, Hazan and Woodruff, "Sublinear optimization for machine
learning" (2010), III-A, in rounds (`_sampled`). The reference o is the mean of a few rows, the
heights are the distances h_i = ||a_i - o||^2, which take a pass, and U is the largest of them. With
x = c - o, the mean of the rows drawn so far less o,

    columns j ~ x_j^2,  v = (h - U) / U - 2 mean of (column j - o_j) * ||x||^2 / (U x_j),

which lacks what is the same for all rows. The lower bound is free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.ledger import Reads
from skimlearn.data.rows import combine, stored, take
from skimlearn.distributed._parcel import Parcel, added
from skimlearn.distributed._pieces import Piece
from skimlearn.distributed._sampled import Asked, Numbers, Sampled

__all__ = ["SampledBall"]

Vector = NDArray[np.float64]

SAMPLE = 16  # rows whose mean is the reference


def some(piece: Piece, chosen: Numbers) -> Parcel:
    """The sum of some rows, and what they have stored."""
    rows, vector = take(piece.rows, chosen), np.zeros(piece.rows.shape[1])
    combine(rows, np.ones(len(chosen)), vector)
    return Parcel.of(vector, [float(stored(rows))])


class SampledBall(Sampled):
    """The sublinear ball in progress; x is the centre less the reference."""

    kind = "ball"
    origin: Vector

    def measure(self) -> float:
        """See `Sampled`. The ball around the reference is the first answer."""
        chosen = np.sort(self.rng.choice(self.shape[0], min(SAMPLE, self.shape[0]), replace=False))
        parts = np.split(chosen, np.searchsorted(chosen, self.firsts[1:]))
        local = [part - first for part, first in zip(parts, self.firsts, strict=True)]
        sums = added(self.team.fetch(self.team.each("some", some, local)))
        self.reads += Reads(len(chosen) * self.shape[1], int(sums.numbers[0]))
        self.origin = sums.vector / len(chosen)
        farthest = float(self.looked_at(self.origin[None])[0])
        self.bounds.primal(farthest, self.origin)
        return farthest or 1.0

    def point(self, t: int) -> Vector:
        """See `Sampled`."""
        return self.s / (t - 1) - self.origin if t > 1 else np.zeros(self.shape[1])

    def law(self, x: Vector) -> Vector:
        """See `Sampled`."""
        return x * x

    def asked(self, x: Vector, numbers: Numbers, shares: Vector, eta: float) -> Asked:
        """See `Sampled`."""
        scales = 2.0 * eta * shares * float(x @ x) / (self.unit * x[numbers])
        shift = eta - float(scales @ self.origin[numbers])
        return Asked(numbers, scales, -eta / self.unit, shift)

    def proven(self, mean: Vector, height: float) -> float:
        """See `Sampled`."""
        return max(0.0, height - float(np.sum((mean - self.origin) ** 2)))

    def candidate(self, mean: Vector) -> Vector:
        """See `Sampled`."""
        return self.origin + mean

    def reached(self, eps: float) -> bool:
        """See `Sampled`; eps is a part of the squared radius."""
        return self.bounds.certificate.gap <= eps * self.bounds.upper
