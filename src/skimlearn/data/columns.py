"""A matrix that can be read by row and by column.

The columns of a matrix are the rows of its transpose, so the kernels that read rows read columns
too: a `Matrix` is a pair of `Rows`. Sparse data is held in both compressed forms. Dense data is
held in both orders if that is asked for, else the columns are a strided view, which costs no memory
and reads a cache line for each entry.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn._jit import kernel
from skimlearn.data.disk import Ahead, ahead_of
from skimlearn.data.inspection import Indexed, as_rows
from skimlearn.data.rows import Csr, Dense, Rows, frozen, own_arrays, stored

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["Matrix", "as_matrix", "columns_of", "entries_to_move", "nonzero_columns"]


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

    Examples
    --------
    >>> A = np.arange(6.0).reshape(2, 3)
    >>> matrix = Matrix.pair(A, np.asfortranarray(A))
    >>> matrix.column(2)
    array([2., 5.])
    """

    rows: Rows
    columns: Rows
    seconds: float = 0.0

    @classmethod
    def pair(cls, by_row: NDArray[Any], by_column: NDArray[Any]) -> Matrix:
        """The same dense matrix twice, as it lies in two arrays or two files on disk.

        Nothing is copied, and nothing is read but the shapes: entries are checked when an algorithm
        reads them. ``by_row`` should be contiguous by rows and ``by_column``, of the same shape,
        by columns.
        """
        if np.shape(by_row) != np.shape(by_column):
            raise ValueError(
                f"by_row has shape {np.shape(by_row)} and by_column {np.shape(by_column)}: both "
                "must be the same matrix; transpose one of them"
            )
        return cls(as_rows(by_row, inspect=False), as_rows(np.transpose(by_column), inspect=False))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows.shape

    @property
    def entries(self) -> int:
        """How many entries are stored."""
        return stored(self.rows)

    @property
    def sparse(self) -> bool:
        """Whether only some of the entries are stored."""
        return isinstance(self.rows, Csr)

    @property
    def ahead(self) -> tuple[Ahead | None, Ahead | None]:
        """What asks the disk for a row and for a column before they are used, if it is a disk."""
        parts = (self.rows, self.columns)
        rows, columns = (ahead_of(p.values) if isinstance(p, Dense) else None for p in parts)
        return rows, columns

    def row(self, i: int) -> NDArray[np.float64]:
        """Row i, all of its entries."""
        return _line(self.rows, i)

    def column(self, j: int) -> NDArray[np.float64]:
        """Column j, all of its entries."""
        return _line(self.columns, j)


def as_matrix(
    X: ArrayLike | sp.spmatrix | sp.sparray | Rows | Matrix | Indexed, *, both: bool = True
) -> Matrix:
    """Check a matrix and make it readable by row and by column.

    Parameters
    ----------
    X : array, sparse matrix, Matrix or Store of shape (n, d)
        The matrix. A file on disk, memory-mapped, is neither copied nor read: its entries are
        checked when an algorithm reads them.
    both : bool, default=True
        Whether dense data is copied into the other order, for the speed of its columns (or rows).

    Examples
    --------
    >>> matrix = as_matrix([[1.0, 0.0], [2.0, 3.0]])
    >>> matrix.columns.values
    array([[1., 2.],
           [0., 3.]])
    """
    if isinstance(X, Matrix):
        return X
    if isinstance(X, Indexed):
        return Matrix(X.view("row", inspect=False), X.view("column", inspect=False))
    on_disk = _on_disk(X)
    rows = as_rows(X, inspect=not on_disk)
    start = time.perf_counter()
    if isinstance(rows, Csr):
        columns: Rows = _transposed(rows)
    else:
        by_row, by_column = rows.values, rows.values.T
        if both and not on_disk:
            by_row, by_column = np.ascontiguousarray(by_row), np.ascontiguousarray(by_column)
            by_row.flags.writeable = by_column.flags.writeable = False
        rows, columns = Dense(by_row), Dense(by_column)
    return Matrix(rows, columns, time.perf_counter() - start)


def columns_of(rows: Rows) -> Rows:
    """The columns of rows, a range of a matrix perhaps: a view, or of sparse rows the transpose."""
    return _transposed(rows) if isinstance(rows, Csr) else Dense(rows.values.T)


def entries_to_move(rows: Rows) -> int:
    """How many entries `columns_of` copies."""
    return stored(rows) if isinstance(rows, Csr) else 0


def nonzero_columns(rows: Rows) -> Csr:
    """The columns of rows of either kind, as sparse lines in memory; zeros may be left out."""
    if isinstance(rows, Csr):
        return _transposed(rows)
    n, d = rows.shape
    starts = np.zeros(d + 2, dtype=np.uint64)
    _count(rows.values, starts)
    np.cumsum(starts, out=starts)
    lines = np.empty(int(starts[-1]), np.uint32 if n < 2**32 else np.uint64)
    values = np.empty(len(lines), rows.values.dtype)
    _spread(rows.values, starts[1:], lines, values)
    return Csr(frozen(values), frozen(lines), frozen(starts[:-1]), n)


@kernel
def _count(values, counts):
    """Count what is not zero in column j at j + 2."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            counts[j + 2] += np.uint64(values[i, j] != 0.0)


@kernel
def _spread(values, places, lines, out):
    """Put what is not zero in column j from places[j] on, which then is where the next begins."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if values[i, j] != 0.0:
                at = places[j]
                places[j] = at + np.uint64(1)
                lines[at], out[at] = i, values[i, j]


def _on_disk(X: Any) -> bool:
    while X is not None:
        if isinstance(X, np.memmap):
            return True
        X = getattr(X, "base", None)
    return False


def _line(rows: Rows, i: int) -> NDArray[np.float64]:
    if not 0 <= i < rows.shape[0]:
        raise IndexError(f"line {i} is out of range for {rows.shape[0]} lines")
    if isinstance(rows, Dense):
        return rows.values[i].astype(np.float64)
    line = np.zeros(rows.width)
    start, stop = int(rows.starts[i]), int(rows.starts[i + 1])
    line[rows.columns[start:stop]] = rows.values[start:stop]
    return line


def _transposed(rows: Csr) -> Csr:
    n, d = rows.shape
    values, columns = own_arrays(rows)
    signed = np.int32 if columns.dtype.itemsize == 4 else np.int64
    starts = (rows.starts - rows.starts[0]).astype(signed if len(values) < 2**31 else np.int64)
    from scipy.sparse import csr_array

    matrix = csr_array((values, columns.view(signed), starts), shape=(n, d))
    other = matrix.tocsc()
    parts = (other.data, other.indices, other.indptr.astype(np.uint64))
    for part in parts:
        part.flags.writeable = False
    unsigned = np.uint32 if other.indices.dtype.itemsize == 4 else np.uint64
    return Csr(parts[0], parts[1].view(unsigned), parts[2], n)
