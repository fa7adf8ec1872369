"""Rows of a matrix, dense or sparse, behind one interface.

A solver's kernel never asks which kind of rows it has: the class picks the inner loop when the
kernel is compiled. Arrays are viewed, not copied: float32 stays float32 (sums are in float64),
read-only and memory-mapped arrays are fine, and so is any order of a dense array.

Inside kernels:

=========================  ===========================================================
``prefetch(rows, i)``      ask the memory for row i, `AHEAD` visits before its use
``dot(rows, i, w)``        <row i, w>
``add(rows, i, c, w)``     w += c * row i
=========================  ===========================================================

Outside: `as_rows` (checks and views a matrix), `responses`, `combine`, `lengths`, `norms`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from skimlearn._jit import dispatch, kernel, prefetch_line

AHEAD = 4  # visits between asking for a row and using it

__all__ = ["Csr", "Dense", "Rows", "as_rows"]


class Dense(NamedTuple):
    """A dense matrix."""

    values: NDArray[Any]  # (n, d), float32 or float64

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.values.shape[0], self.values.shape[1]


class Csr(NamedTuple):
    """A sparse matrix stored by rows."""

    values: NDArray[Any]  # (nnz,), float32 or float64
    columns: NDArray[Any]  # (nnz,), unsigned: numba then skips its check for negative indices
    starts: NDArray[np.uint64]  # (n + 1,), need not begin at 0
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.starts) - 1, self.width


Rows = Dense | Csr


LONGEST = 1e100  # of the rows that a solver takes: squares of squared lengths must not overflow


def as_rows(
    X: ArrayLike | sp.spmatrix | sp.sparray | Rows, *, bounded: bool = False, inspect: bool = True
) -> Rows:
    """Check a matrix and view it as rows, without a copy where none is needed.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
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
    if sp.issparse(X):
        return _csr_rows(X, bounded)
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns, but has shape {values.shape}: "
            "use X.reshape(-1, 1) for a single column or X.reshape(1, -1) for a single row"
        )
    values = _as_float(values)
    rows = Dense(_frozen(values))
    if not inspect:
        return rows
    fault, i, j = _inspect_dense(rows.values)
    if fault == NOT_FINITE:
        raise _not_finite(values[i, j], i, j)
    if fault == TOO_LONG and bounded:
        raise _too_long(i)
    return rows


def _csr_rows(X: Any, bounded: bool) -> Csr:
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
        _frozen(values),
        _frozen(columns.view(np.uint32 if columns.dtype.itemsize == 4 else np.uint64)),
        _frozen(starts.view(np.uint64) if starts.dtype == np.int64 else starts.astype(np.uint64)),
        int(d),
    )
    fault, k = _inspect_csr(rows)
    if fault == OUT_OF_RANGE:
        i = int(np.searchsorted(starts, k, side="right")) - 1
        raise ValueError(
            f"row {i} of X has the column index {columns[k]}, but X has {d} columns: "
            "mend the indices or give the matrix its true shape"
        )
    if fault == NOT_FINITE:
        i = int(np.searchsorted(starts, k, side="right")) - 1
        raise _not_finite(values[k], i, int(columns[k]))
    if fault == OUT_OF_ORDER:
        matrix = sp.csr_array((values.copy(), columns.copy(), starts.copy()), shape=(n, d))
        matrix.sum_duplicates()
        return _csr_rows(matrix, bounded)
    if fault == TOO_LONG and bounded:
        raise _too_long(int(np.searchsorted(starts, k, side="right")) - 1)
    return rows


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


def is_number(value: Any) -> bool:
    """Whether a value can be read as a real number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A plain read-only view, so that every origin of an array gives kernels one type."""
    view = np.asarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def _not_finite(value: Any, i: int, j: int) -> ValueError:
    name = "NaN" if np.isnan(value) else "infinity"
    return ValueError(
        f"Input X contains {name} (row {i}, column {j}): impute or drop missing values and scale "
        "or clip infinite ones before the fit"
    )


def _too_long(i: int) -> ValueError:
    return ValueError(
        f"rows of X are too long: row {i} is longer than {LONGEST:.0e}, so that sums of squares "
        "overflow; scale the features, e.g. with StandardScaler or MaxAbsScaler"
    )


# ------------------------------------------------------------------------------------- inspection

FINE, OUT_OF_RANGE, NOT_FINITE, OUT_OF_ORDER, TOO_LONG = range(5)


@kernel
def _inspect_csr(rows):
    """The first fault of a sparse matrix and its position; disorder and length come last."""
    disorder, long = np.int64(-1), np.int64(-1)
    one = np.uint64(1)
    for i in range(len(rows.starts) - 1):
        start, stop = rows.starts[i], rows.starts[i + 1]
        squares, falls = 0.0, 0  # no branches in these loops: they run at the speed of memory
        for k in range(start, stop):
            squares += np.float64(rows.values[k]) * np.float64(rows.values[k])
        for k in range(start + one, stop):
            falls += rows.columns[k] <= rows.columns[k - one]
        if falls > 0:
            disorder = np.int64(start)
        last = rows.columns[stop - one] if stop > start else 0
        if falls > 0 or last >= rows.width:
            for k in range(start, stop):
                if rows.columns[k] >= rows.width:
                    return OUT_OF_RANGE, np.int64(k)
        if not squares <= LONGEST * LONGEST:
            for k in range(start, stop):
                if not np.isfinite(rows.values[k]):
                    return NOT_FINITE, np.int64(k)
            if long < 0:
                long = np.int64(start)
    if disorder >= 0:
        return OUT_OF_ORDER, disorder
    if long >= 0:
        return TOO_LONG, long
    return FINE, np.int64(-1)


@kernel
def _inspect_dense(values):
    """The first fault of a dense matrix, its row and its column."""
    n, d = values.shape
    long = -1
    for i in range(n):
        squares = 0.0
        for j in range(d):
            squares += np.float64(values[i, j]) * np.float64(values[i, j])
        if not squares <= LONGEST * LONGEST:
            for j in range(d):
                if not np.isfinite(values[i, j]):
                    return NOT_FINITE, i, j
            if long < 0:
                long = i
    return (TOO_LONG if long >= 0 else FINE), long, -1


# --------------------------------------------------------------------------------- inside kernels


def _dense_dot(rows, i, w):
    """<row i, w>, accumulated in float64."""
    total = 0.0
    for j in range(np.uint64(rows.values.shape[1])):
        total += w[j] * rows.values[i, j]
    return total


def _csr_dot(rows, i, w):
    total = 0.0
    for k in range(rows.starts[i], rows.starts[i + 1]):
        total += w[rows.columns[k]] * rows.values[k]
    return total


def _dense_add(rows, i, c, w):
    """w += c * row i."""
    for j in range(np.uint64(rows.values.shape[1])):
        w[j] += c * rows.values[i, j]


def _csr_add(rows, i, c, w):
    for k in range(rows.starts[i], rows.starts[i + 1]):
        w[rows.columns[k]] += c * rows.values[k]


def _dense_size(rows, i):
    """How many entries of row i are stored."""
    return np.uint64(rows.values.shape[1])


def _csr_size(rows, i):
    return rows.starts[i + 1] - rows.starts[i]


def _dense_entry(rows, i, k):
    """The column and the value of the k-th stored entry of row i."""
    return np.uint64(k), np.float64(rows.values[i, k])


def _csr_entry(rows, i, k):
    at = rows.starts[i] + k
    return np.uint64(rows.columns[at]), np.float64(rows.values[at])


def _dense_prefetch(rows, i):
    """Ask the memory for the beginning of row i, a few visits ahead of its use."""


def _csr_prefetch(rows, i):
    start, stop = rows.starts[i], rows.starts[i + 1]
    line = np.uint64(16)  # column indices of 4 bytes in a cache line
    for k in range(start, min(stop, start + np.uint64(4) * line), line):
        prefetch_line(rows.columns, k)
        prefetch_line(rows.values, k)
        prefetch_line(rows.values, k + np.uint64(8))


prefetch = dispatch("prefetch", {Dense: _dense_prefetch, Csr: _csr_prefetch})
dot = dispatch("dot", {Dense: _dense_dot, Csr: _csr_dot})
add = dispatch("add", {Dense: _dense_add, Csr: _csr_add})
size = dispatch("size", {Dense: _dense_size, Csr: _csr_size})
entry = dispatch("entry", {Dense: _dense_entry, Csr: _csr_entry})


# -------------------------------------------------------------------------------- outside kernels


@kernel
def responses(rows, w, out):
    """out_i = <row i, w> for all rows."""
    for i in range(len(out)):
        out[i] = dot(rows, i, w)


@kernel
def combine(rows, c, out):
    """out += sum over i of c_i * row i."""
    for i in range(len(c)):
        if c[i] != 0.0:
            add(rows, i, c[i], out)


@kernel
def _norms(rows, exponent, out):
    for i in range(len(out)):
        squares, largest = 0.0, 0.0
        for k in range(size(rows, i)):
            squares += entry(rows, i, k)[1] ** 2
        if exponent == 2.0 and 1e-200 < squares < 1e200:
            out[i] = math.sqrt(squares)
            continue
        for k in range(size(rows, i)):
            largest = max(largest, abs(entry(rows, i, k)[1]))
        if exponent == np.inf or largest == 0.0:
            out[i] = largest
        else:
            total = 0.0
            for k in range(size(rows, i)):
                total += (abs(entry(rows, i, k)[1]) / largest) ** exponent
            out[i] = largest * total ** (1.0 / exponent)


def norms(rows: Rows, exponent: float = 2.0) -> NDArray[np.float64]:
    """The norm ||row i||_exponent of every row, without overflow."""
    out = np.empty(rows.shape[0])
    with np.errstate(over="ignore"):  # an overflow is seen and mended
        _norms(rows, float(exponent), out)
    return out


def take(rows: Rows, chosen: NDArray[np.int64]) -> Rows:
    """Some of the rows, copied."""
    if isinstance(rows, Dense):
        return Dense(_frozen(rows.values[chosen]))
    counts = lengths(rows)[chosen]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = np.repeat(rows.starts[chosen].astype(np.int64) - starts[:-1], counts)
    at += np.arange(starts[-1])
    parts = (_frozen(rows.values[at]), _frozen(rows.columns[at]))
    return Csr(*parts, _frozen(starts.view(np.uint64)), rows.width)


def nonzeros(rows: Rows) -> NDArray[np.int64]:
    """The number of entries of every row that are not zero."""
    out = np.empty(rows.shape[0], dtype=np.int64)
    _count_nonzeros(rows, out)
    return out


@kernel
def _count_nonzeros(rows, out):
    for i in range(len(out)):
        count = 0
        for k in range(size(rows, i)):
            count += entry(rows, i, k)[1] != 0.0
        out[i] = count


def lengths(rows: Rows) -> NDArray[np.int64]:
    """The number of stored entries of every row: what reading it costs."""
    if isinstance(rows, Csr):
        return np.diff(rows.starts).astype(np.int64)
    return np.full(rows.shape[0], rows.shape[1], dtype=np.int64)
