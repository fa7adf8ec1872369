"""A matrix that can be read by row and by column.

The columns of a matrix are the rows of its transpose, so the kernels that read rows read columns
too: a `Matrix` is a pair of `Rows`. Sparse data is held in both compressed forms. Dense data is
held in both orders if that is asked for, else the columns are a strided view, which costs no memory
and reads a cache line for each entry.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from skimlearn.data.rows import Csr, Dense, Rows, as_rows

__all__ = ["Matrix", "as_matrix"]


@dataclass(frozen=True)
class Matrix:
    """A matrix by rows and by columns.

    Attributes
    ----------
    rows : Dense or Csr
        The rows.
    columns : Dense or Csr
        The rows of the transpose.
    seconds : float
        What it took to make the second form.
    """

    rows: Rows
    columns: Rows
    seconds: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows.shape


def as_matrix(X: ArrayLike | sp.spmatrix | sp.sparray | Rows, *, both: bool = True) -> Matrix:
    """Check a matrix and make it readable by row and by column.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        The matrix.
    both : bool, default=True
        Whether dense data is copied into the other order, for the speed of its columns (or rows);
        a file on disk, memory-mapped, is never copied.

    Examples
    --------
    >>> matrix = as_matrix([[1.0, 0.0], [2.0, 3.0]])
    >>> matrix.columns.values
    array([[1., 2.],
           [0., 3.]])
    """
    rows = as_rows(X)
    start = time.perf_counter()
    if isinstance(rows, Csr):
        columns: Rows = _transposed(rows)
    else:
        by_row, by_column = rows.values, rows.values.T
        if both and not _on_disk(X):
            by_row, by_column = np.ascontiguousarray(by_row), np.ascontiguousarray(by_column)
            by_row.flags.writeable = by_column.flags.writeable = False
        rows, columns = Dense(by_row), Dense(by_column)
    return Matrix(rows, columns, time.perf_counter() - start)


def _on_disk(X: Any) -> bool:
    while X is not None:
        if isinstance(X, np.memmap):
            return True
        X = getattr(X, "base", None)
    return False


def _transposed(rows: Csr) -> Csr:
    n, d = rows.shape
    signed = np.int32 if rows.columns.dtype.itemsize == 4 else np.int64
    starts = rows.starts.astype(signed if int(rows.starts[-1]) < 2**31 else np.int64)
    matrix = sp.csr_array((rows.values, rows.columns.view(signed), starts), shape=(n, d))
    other = matrix.tocsc()
    parts = (other.data, other.indices, other.indptr.astype(np.uint64))
    for part in parts:
        part.flags.writeable = False
    unsigned = np.uint32 if other.indices.dtype.itemsize == 4 else np.uint64
    return Csr(parts[0], parts[1].view(unsigned), parts[2], n)
