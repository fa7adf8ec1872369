"""One pass over the rows: A x and A'p at once, with the greatest norm of a row as a by-product."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.columns import Matrix
from skimlearn.data.oracle import ReadLimit
from skimlearn.data.rows import Dense, add, entry, size
from skimlearn.solvers._source import Source

__all__ = ["Sweeper"]

Vector = NDArray[np.float64]


class Sweeper:
    """Makes passes over the rows a_i = y_i x_i of a source, and counts what they read.

    Examples
    --------
    >>> from skimlearn.data.columns import as_matrix
    >>> sweeper = Sweeper(as_matrix([[3.0, 4.0], [0.0, 1.0]]), np.array([1.0, -1.0]))
    >>> sweeper.sweep(np.array([1.0, 1.0]), np.array([0.5, 0.5]))
    True
    >>> sweeper.Ax, sweeper.Atp, sweeper.R, sweeper.stored
    (array([ 7., -1.]), array([1.5, 1.5]), 5.0, 4)
    """

    def __init__(self, source: Source, y: Vector) -> None:
        n, d = source.shape
        self.source, self.y = source, y
        self.entries = source.entries if isinstance(source, Matrix) else n * d
        self.Ax, self.Atp = np.zeros(n), np.zeros(d)
        self.R = 0.0  # the greatest norm of a row, after the first pass
        self.dense = self.stored = 0  # entries read

    def sweep(self, x: Vector, p: Vector, more: float = math.inf) -> bool:
        """Compute Ax and Atp, reading no more than so many entries; False if that is too few."""
        n, d = self.source.shape
        self.Atp[:] = 0.0
        largest = 0.0
        if isinstance(self.source, Matrix):
            if self.entries > more:
                return False
            largest = _sweep(self.source.rows, n, 0, self.y, x, p, self.Ax, self.Atp)
            self.dense += n * d
            self.stored += self.entries
        else:
            before = self.source.reads
            try:
                with self.source.within(more):
                    for i in range(n):
                        row = Dense(self.source.row(i).reshape(1, -1))
                        square = _sweep(row, 1, i, self.y, x, p, self.Ax, self.Atp)
                        largest = max(largest, square)
            except ReadLimit:
                return False
            finally:
                self.dense += self.source.reads - before
                self.stored += self.source.reads - before
        if not math.isfinite(largest):
            raise ValueError(
                "Input X contains NaN or infinity, or rows too long to be squared: impute or drop "
                "missing values, scale or clip large ones"
            )
        self.R = math.sqrt(largest)
        return True


@kernel
def _sweep(rows, count, first, y, x, p, Ax, Atp):
    """The pass, for rows first, first + 1, ...; return the largest squared norm."""
    largest = 0.0
    for k in range(count):
        i = first + k
        response, squares = 0.0, 0.0
        for e in range(size(rows, k)):
            j, value = entry(rows, k, e)
            response += value * x[j]
            squares += value * value
        Ax[i] = y[i] * response
        if p[i] != 0.0:
            add(rows, k, p[i] * y[i], Atp)
        if largest >= 0.0 and not squares <= largest:  # nan comes through, and stays
            largest = squares
    return largest
