"""Any matrix of a user, checked and viewed as rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data._faults import (
    FINE,
    LONGEST,
    NOT_FINITE,
    OUT_OF_ORDER,
    OUT_OF_RANGE,
    TOO_LONG,
    ends_of,
    has_repeats,
    inspect_csr,
    inspect_dense,
)
from skimlearn.data.rows import Csr, Dense, Rows, frozen, norms, stored
from skimlearn.data.triple import Triple, is_sparse

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = [
    "Indexed",
    "as_rows",
    "check_entries",
    "ends",
    "inspected",
    "is_number",
    "measured",
]

Squares = NDArray[np.float64]

NARROW = 10_000  # columns: sparse rows of so many or fewer are sorted for all solvers


class Indexed(ABC):
    """Data that has its rows and columns at hand and answers for them: a `Store`."""

    shape: tuple[int, int]
    y: Any  # labels, or None
    names: Any  # of the columns, or None

    @abstractmethod
    def view(self, side: Literal["row", "column"], *, inspect: bool = True) -> Rows:
        """The rows or the columns, safe to be read by kernels and, if inspected, finite."""

    @property
    @abstractmethod
    def norms(self) -> NDArray[np.float64]:
        """The Euclidean norms of the rows."""


def as_rows(
    X: ArrayLike | sp.spmatrix | sp.sparray | Triple | Rows | Indexed,
    *,
    bounded: bool = False,
    inspect: bool = True,
) -> Rows:
    """Check a matrix and view it as rows, without a copy where none is needed.

    Parameters
    ----------
    X : array, sparse matrix or Store of shape (n, d)
        Floats of 32 or 64 bits are taken as they are; other numbers are converted to float64.
        Sparse formats other than CSR are converted; unsorted or duplicate indices are mended in
        a copy.
    bounded : bool
        Whether to refuse rows so long that a solver's sums would overflow.
    inspect : bool
        Whether to read all entries of a dense matrix to check them.

    Returns
    -------
    Dense or Csr

    Raises
    ------
    ValueError
        If an entry is nan or infinite, an index is out of range, the shape is not (n, d), or a
        row is too long.

    Examples
    --------
    >>> as_rows([[1.0, 0.0], [0.0, 2.0]]).shape
    (2, 2)
    """
    if isinstance(X, Dense | Csr):
        return X
    if isinstance(X, Indexed):
        if bounded and (lengths := X.norms).max(initial=0.0) > LONGEST:
            raise too_long(int(np.argmax(lengths)))
        return X.view("row", inspect=inspect)
    if is_sparse(X):
        return _csr_rows(X, bounded)[0]
    return _dense_rows(X, bounded, inspect)[0]


def measured(
    X: ArrayLike | sp.spmatrix | sp.sparray | Triple | Rows | Indexed,
) -> tuple[Rows, Squares]:
    """The rows that a solver takes, and their squared lengths, from one look at them.

    Squares below 1e-200 may have lost their digits. Sparse rows of many columns may be unsorted, as
    they came: to sort them would take longer than some fits.

    Examples
    --------
    >>> rows, squares = measured([[1.0, 0.0], [3.0, 4.0]])
    >>> squares
    array([ 1., 25.])
    """
    if isinstance(X, Dense | Csr):
        return X, norms(X) ** 2
    if isinstance(X, Indexed):
        return as_rows(X, bounded=True), X.norms**2
    return _csr_rows(X, True, _must_be_sorted) if is_sparse(X) else _dense_rows(X, True, True)


def check_entries(X: Any) -> None:
    """Find broken parts, nan and infinity in a matrix; the order of sparse rows is nobody's matter.

    Examples
    --------
    >>> check_entries([[1.0, 2.0], [3.0, 4.0]])
    """
    if is_sparse(X):
        _csr_rows(X, False, _never)
    else:
        _dense_rows(X, False, True)


def _dense_rows(X: Any, bounded: bool, inspect: bool) -> tuple[Dense, Squares]:
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns, but has shape {values.shape}: "
            "use X.reshape(-1, 1) for a single column or X.reshape(1, -1) for a single row"
        )
    values = _as_float(values)
    rows, squares = Dense(frozen(values)), np.zeros(len(values))
    if not inspect:
        return rows, squares
    fault, i, j = inspect_dense(rows.values, squares)
    if fault == NOT_FINITE:
        raise _not_finite(values[i, j], i, j)
    if fault == TOO_LONG and bounded:
        raise too_long(i)
    return rows, squares


def _always(rows: Csr) -> bool:
    return True


def _never(rows: Csr) -> bool:
    return False


def _csr_rows(X: Any, bounded: bool, sorts: Callable[[Csr], bool] = _always) -> tuple[Csr, Squares]:
    """The rows of a sparse matrix; unsorted ones are mended if ``sorts`` says so."""
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, but has shape {X.shape}")
    matrix = X.tocsr()
    n, d = matrix.shape
    values, columns, starts = _as_float(matrix.data), matrix.indices, matrix.indptr
    if columns.dtype not in (np.int32, np.int64):
        columns = columns.astype(np.int64)
    fault = _fault_of_starts(starts, n, len(values), len(columns))
    if fault:
        raise ValueError(f"X is broken: {fault}; build the matrix anew, e.g. from its COO form")
    rows = Csr(
        frozen(values),
        frozen(columns.view(np.uint32 if columns.dtype.itemsize == 4 else np.uint64)),
        frozen(starts.view(np.uint64) if starts.dtype == np.int64 else starts.astype(np.uint64)),
        int(d),
    )
    squares = np.zeros(n)
    fault, k = inspect_csr(rows, squares)
    if fault == OUT_OF_RANGE:
        i = int(np.searchsorted(starts, k, side="right")) - 1
        raise ValueError(
            f"row {i} of X has the column index {columns[k]}, but X has {d} columns: "
            "mend the indices or give the matrix its true shape"
        )
    if fault == NOT_FINITE:
        i = int(np.searchsorted(starts, k, side="right")) - 1
        raise _not_finite(values[k], i, int(columns[k]))
    if fault == OUT_OF_ORDER and sorts(rows):
        from scipy.sparse import csr_array

        matrix = csr_array((values.copy(), columns.copy(), starts.copy()), shape=(n, d))
        matrix.sum_duplicates()
        return _csr_rows(matrix, bounded)
    if bounded and fault != FINE and (long := squares > LONGEST * LONGEST).any():
        raise too_long(int(np.argmax(long)))
    return rows, squares


def _must_be_sorted(rows: Csr) -> bool:
    """Whether solvers can't take rows that are not sorted.

    They multiply and add them, in any order. But an entry that comes in parts is not as long as its
    parts, and Newton's method multiplies the entries of few columns in pairs, in their order.
    """
    n, d = rows.shape
    if d <= NARROW or stored(rows) >= n * d:
        return True
    return bool(has_repeats(rows, np.zeros(d // 64 + 1, dtype=np.uint64)))


def inspected(rows: Rows) -> str:
    """Read all rows that were not checked before; return what is wrong with them, if anything."""
    if isinstance(rows, Dense):
        fault, i, j = inspect_dense(rows.values, np.empty(len(rows.values)))
        return f"line {i} holds {rows.values[i, j]} at {j}" if fault == NOT_FINITE else ""
    starts, entries = rows.starts.view(np.int64), len(rows.values)
    if broken := _fault_of_starts(starts, rows.shape[0], entries, len(rows.columns)):
        return broken
    fault, k = inspect_csr(rows, np.empty(rows.shape[0]))
    if fault in (FINE, TOO_LONG):
        return ""
    line = int(np.searchsorted(starts, k, side="right")) - 1
    if fault == OUT_OF_RANGE:
        return f"line {line} has the index {rows.columns[k]}, but there are {rows.width}"
    if fault == OUT_OF_ORDER:
        return f"line {line} has indices that are not sorted"
    return f"line {line} holds {rows.values[k]}"


def _fault_of_starts(starts: NDArray[Any], n: int, values: int, columns: int) -> str:
    """What is wrong with the parts of a CSR matrix; spare room behind the last row is fine."""
    if values != columns:
        return f"it has {values} values (data) but {columns} column indices (indices)"
    if len(starts) != n + 1:
        return f"it has {len(starts)} row pointers (indptr), but {n} rows need {n + 1}"
    if starts[0] != 0:
        return f"its row pointers (indptr) begin at {starts[0]} instead of 0"
    falls = starts[1:] < starts[:-1]
    if falls.any():
        i = int(np.argmax(falls))
        return f"its row pointers (indptr) fall from {starts[i]} to {starts[i + 1]} at row {i}"
    if starts[-1] > values:
        return f"its row pointers (indptr) end at {starts[-1]}, but it has {values} values"
    return ""


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype in (np.float32, np.float64) and values.dtype.isnative:
        return values
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must hold real numbers")
    if values.dtype.kind not in "biufO":
        raise ValueError(
            f"X must hold numbers, but its dtype is {values.dtype}: encode text, dates and "
            "categories as numbers first"
        )
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        place, value = next((p, v) for p, v in np.ndenumerate(values) if not is_number(v))
        raise ValueError(
            f"X must hold numbers, but holds {value!r} at {place}: encode text, dates and "
            "categories as numbers first"
        ) from error


def ends(values: NDArray[np.float64]) -> tuple[float, float, bool]:
    """The least and the largest number of a vector, and whether there are no others.

    Examples
    --------
    >>> ends(np.array([1.0, -1.0, 1.0]))
    (-1.0, 1.0, True)
    """
    if not len(values):
        raise ValueError("a vector without numbers has no least one")
    low, high, only = ends_of(frozen(values))
    return float(low), float(high), bool(only)


def is_number(value: Any) -> bool:
    """Whether a value can be read as a real number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _not_finite(value: Any, i: int, j: int) -> ValueError:
    name = "NaN" if np.isnan(value) else "infinity"
    return ValueError(
        f"Input X contains {name} (row {i}, column {j}): impute or drop missing values and scale "
        "or clip infinite ones before the fit"
    )


def too_long(i: int) -> ValueError:
    """What to say of a row that is longer than `LONGEST`."""
    return ValueError(
        f"rows of X are too long: row {i} is longer than {LONGEST:.0e}, so that sums of squares "
        "overflow; scale the features, e.g. with StandardScaler or MaxAbsScaler"
    )
