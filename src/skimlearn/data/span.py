"""Dense rows with far more columns than there are rows, in coordinates of their own span.

With a penalty on ||w||_2 the weights are a sum of rows, and all that a problem knows of the rows
is their inner products K = X X'. So any Z with Z Z' = K has the same answers: the factor of
Cholesky, which has a column for each row, or fewer if the rank is less. Every visit then costs n
instead of d, and Newton's method is at hand where there were too many columns for its matrix.

    K = P L L' P'  (pivots in the order of size),  Z = P L,  w = X' c with L' c = v

for weights v of Z: ||w|| = ||v||, and X w = Z v. To compute K costs n^2 d, in whole blocks. Rows
are brought to length 1 before, so that long ones do not hide what short ones have of their own.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.blas import linalg
from skimlearn.data.disk import file_of
from skimlearn.data.rows import Dense, Rows, combine, frozen, norms, responses

__all__ = ["Spanned", "may_be_spanned", "spanned"]

Vector = NDArray[np.float64]

LARGE = 300_000  # entries: fewer are visited in no time anyway
WIDE = 2  # columns for a row, at least
BLOCK = 1 << 18  # entries of a block of columns, of which inner products are added up


class Spanned(NamedTuple):
    """The rows in coordinates of their span, and how weights go there and back.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> few = spanned(as_rows(np.array([[3.0, 0.0, 4.0, 0.0]])), large=0)
    >>> few.rows.values, few.back(np.array([2.0])), few.forth(np.array([1.2, 9.0, 1.6, 9.0]))
    (array([[5.]]), array([1.2, 0. , 1.6, 0. ]), array([2.]))
    """

    rows: Dense
    whole: Dense  # the rows as they were
    pivots: NDArray[np.int64]  # so many of them as there are coordinates; these are triangular
    seconds: float  # that it took

    def back(self, v: Vector) -> Vector:
        """The weights of the rows as they were."""
        shares, w = np.zeros(self.whole.shape[0]), np.zeros(self.whole.shape[1])
        shares[self.pivots] = self._solved(v, trans=1)
        combine(self.whole, shares, w)
        return w

    def forth(self, w: Vector) -> Vector:
        """The weights in the span; what is orthogonal to all rows is lost."""
        z = np.empty(self.whole.shape[0])
        responses(self.whole, np.ascontiguousarray(w), z)
        return self._solved(z[self.pivots])

    def _solved(self, right: Vector, trans: int = 0) -> Vector:
        factor = self.rows.values[self.pivots]
        return np.asarray(linalg().solve_triangular(factor, right, lower=True, trans=trans))


def may_be_spanned(rows: Rows, large: int = LARGE) -> bool:
    """Whether rows are dense, in memory, and far longer than there are of them."""
    if not isinstance(rows, Dense) or file_of(rows.values) is not None:
        return False
    n, d = rows.shape
    return d >= WIDE * n and n * d >= large


def spanned(rows: Rows, large: int = LARGE) -> Spanned | None:
    """Rows with a column for each; None if they are not wide, or their products overflow."""
    if not may_be_spanned(rows, large):
        return None
    assert isinstance(rows, Dense)
    began = time.perf_counter()
    n, d = rows.shape
    sizes = norms(rows)
    if not (np.isfinite(sizes).all() and sizes.any()):
        return None
    products, width = np.zeros((n, n)), max(1, BLOCK // n)
    units = np.where(sizes > 0.0, sizes, 1.0)[:, None]
    for begin in range(0, d, width):
        block = rows.values[:, begin : begin + width] / units
        products += block @ block.T
    factor, order, rank, _ = linalg().lapack.dpstrf(products.T, lower=1, overwrite_a=1)
    order = order.astype(np.int64) - 1
    coordinates = np.zeros((n, rank))
    for k, i in enumerate(order):
        coordinates[i, : k + 1] = sizes[i] * factor[k, : min(k + 1, rank)]
    seconds = time.perf_counter() - began
    return Spanned(Dense(frozen(coordinates)), rows, order[:rank], seconds)
