r"""The history of a semi-streaming run, from which the weights of rows are rebuilt.

Step t leaves behind a few columns j with factors g and a constant c, such that

    gain_t(i) = clip( base * square_i + c + sum over the columns of y_i a_i(j) g )

is what row i gains by it (for a margin: minus an estimate of its response; for a ball: an estimate
of its distance). The weight of row i at a step is exp(eta * the sum of its gains so far). It is
computed anew, from the history alone, for each row that comes by, and rows are drawn by Gumbel's
trick (`sampling.reservoir`). If the sums of all n rows are kept instead, a pass reads the columns
of the last step only; the numbers are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Rows, value
from skimlearn.sampling.reservoir import offer

__all__ = ["Draw", "Past"]

Vector = NDArray[np.float64]


class Draw(NamedTuple):
    """The draws of a pass, and who is ahead in each."""

    eta: float
    seed: int
    step: int
    best: Vector  # the greatest key so far
    places: NDArray[np.int64]  # of its row in the block at hand, -1 if it is of a former one


class Past:
    """What the steps so far have left behind.

    Attributes
    ----------
    base : float
        Times the square of a row: a part of its gain at every step.
    sums : ndarray or None
        The gains of all rows, if they are kept: then a pass reads the columns of the last step.
    """

    def __init__(self, width: int, keep_sums: bool) -> None:
        self.base = 0.0
        self.columns = np.zeros((0, width), dtype=np.int64)  # of each step, -1 for none
        self.factors = np.zeros((0, width))
        self.constants, self.clips = np.zeros(0), np.zeros(0)
        self.sums = np.zeros(0) if keep_sums else None

    def add(self, columns: Vector, factors: Vector, constant: float, *, clip: float) -> None:
        """Add a step, whose gains are clipped there."""
        self.columns = np.vstack([self.columns, [columns]])
        self.factors = np.vstack([self.factors, [factors]])
        self.constants = np.append(self.constants, constant)
        self.clips = np.append(self.clips, clip)

    def weigh(self, rows: Rows, first: int, labels: Vector, squares: Vector, draw: Draw) -> Reads:
        """Let the rows of a block, of which ``first`` is the number of the first, take part."""
        n, begin = rows.shape[0], 0
        sums = np.zeros(n)
        if self.sums is not None:
            if len(self.sums) < first + n:
                self.sums = np.concatenate([self.sums, np.zeros(first + n - len(self.sums))])
            sums, begin = self.sums[first : first + n], max(0, len(self.columns) - 1)
        with np.errstate(over="ignore"):
            found = _weigh(
                rows, first, labels, squares, self.base, self.columns, self.factors,
                self.constants, self.clips, begin, draw.eta, draw.seed, draw.step, sums,
                draw.best, draw.places,
            )  # fmt: skip
        read = n * int((self.columns[begin:] >= 0).sum())
        return Reads.of_values(rows, read, int(found))


@kernel
def _weigh(
    rows, first, labels, squares, base, columns, factors, constants, clips, begin, eta, seed, step,
    sums, best, places,
):  # fmt: skip
    """Add the gains of the steps since ``begin`` to the sums, and draw; the entries found."""
    found = 0
    for i in range(len(sums)):
        total = sums[i]
        for t in range(begin, len(columns)):
            gain = constants[t] + (base * squares[i] if base > 0.0 else 0.0)
            for k in range(columns.shape[1]):
                if columns[t, k] >= 0:
                    x = value(rows, i, columns[t, k])
                    if x != 0.0:
                        gain += labels[i] * x * factors[t, k]
                        found += 1
            total += min(max(gain, -clips[t]), clips[t])
        sums[i] = total
        offer(eta * total, seed, step, first + i, i, best, places)
    return found
