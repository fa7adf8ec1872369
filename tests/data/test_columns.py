"""The columns of a matrix are the rows of its transpose."""

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn.data.columns import Matrix, as_matrix, columns_of, entries_to_move, nonzero_columns
from skimlearn.data.inspection import as_rows
from skimlearn.data.rows import Csr, between, responses, stored

A = np.random.default_rng(0).normal(size=(7, 5)) * (np.random.default_rng(1).random((7, 5)) < 0.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["C", "F", "csr", "csc", "csr64"])
def test_both_sides_are_right(kind, dtype):
    X = np.asarray(A, dtype=dtype)
    if kind in "CF":
        X = np.asarray(X, order=kind)
    else:
        X = sp.csr_array(X) if kind.startswith("csr") else sp.csc_array(X)
        if kind == "csr64":
            X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    matrix = as_matrix(X)
    assert matrix.shape == (7, 5)
    assert matrix.columns.shape == (5, 7)
    assert matrix.columns.values.dtype == dtype
    assert matrix.seconds >= 0.0
    for rows, dense in ((matrix.rows, A), (matrix.columns, A.T)):
        v, out = np.arange(1.0, dense.shape[1] + 1), np.empty(dense.shape[0])
        responses(rows, v, out)
        np.testing.assert_allclose(out, dense @ v, rtol=1e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_columns_of_a_range_of_rows(kind):
    some = between(as_rows(kind(A)), 2, 6)
    columns, out = columns_of(some), np.empty(5)
    assert columns.shape == (5, 4)
    assert columns.values.size == stored(some)
    responses(columns, np.arange(1.0, 5.0), out)
    np.testing.assert_allclose(out, A[2:6].T @ np.arange(1.0, 5.0), rtol=1e-12)
    moved = not np.shares_memory(columns.values, some.values)
    assert entries_to_move(some) == (stored(some) if moved else 0)


def test_dense_data_is_contiguous_both_ways_or_not_copied():
    X = A.copy()
    both = as_matrix(X)
    assert both.rows.values.flags.c_contiguous
    assert both.columns.values.flags.c_contiguous
    assert np.shares_memory(both.rows.values, X)
    view = as_matrix(X, both=False)
    assert np.shares_memory(view.columns.values, X)


def test_a_file_is_never_copied(tmp_path):
    X = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=(7, 5))
    X[:] = A
    for data in (X, X[1:], np.asarray(X)):
        matrix = as_matrix(data)
        assert np.shares_memory(matrix.rows.values, X)
        assert np.shares_memory(matrix.columns.values, X)


def test_the_transpose_of_a_sparse_matrix_is_sorted_and_unsigned():
    columns = as_matrix(sp.csr_array(A)).columns
    assert isinstance(columns, Csr)
    assert columns.columns.dtype == np.uint32
    assert columns.starts.dtype == np.uint64
    for k in range(5):
        part = columns.columns[columns.starts[k] : columns.starts[k + 1]]
        assert (np.diff(part.astype(np.int64)) > 0).all()


def test_a_pair_is_neither_copied_nor_read(tmp_path):
    by_row = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=(7, 5))
    by_column = np.memmap(tmp_path / "columns", dtype=np.float32, mode="w+", shape=(5, 7)).T
    by_row[:] = by_column[:] = A
    by_row[6, 4] = np.nan  # an entry is checked when an algorithm reads it
    pair = Matrix.pair(by_row, by_column)
    assert (pair.shape, pair.entries) == ((7, 5), 35)
    assert np.shares_memory(pair.rows.values, by_row)
    assert np.shares_memory(pair.columns.values, by_column)
    assert pair.rows.values.flags.c_contiguous
    assert pair.columns.values.flags.c_contiguous
    assert not pair.rows.values.flags.writeable
    np.testing.assert_array_equal(pair.row(2), A[2].astype(np.float32))
    np.testing.assert_array_equal(pair.column(3), A[:, 3].astype(np.float32))
    assert as_matrix(pair) is pair
    for line in (-1, 7):
        with pytest.raises(IndexError, match=f"line {line} is out of range for 7 lines"):
            pair.row(line)


def test_a_pair_of_different_shapes_is_refused():
    with pytest.raises(ValueError, match=r"shape \(7, 5\) and by_column \(5, 7\).*transpose one"):
        Matrix.pair(A, A.T)


@pytest.mark.pure_python
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array])
def test_sparse_columns_of_rows_of_either_kind(form, dtype):
    B = A.copy()
    B[:, 1] = 0.0
    columns = nonzero_columns(as_rows(form(B.astype(dtype))))
    assert isinstance(columns, Csr)
    assert columns.shape == (5, 7)
    assert (columns.values.dtype, columns.columns.dtype) == (dtype, np.uint32)
    assert len(columns.values) == np.count_nonzero(B)
    starts = columns.starts.astype(np.int64)
    parts = (columns.values, columns.columns.astype(np.int64), starts)
    np.testing.assert_array_equal(sp.csr_array(parts, shape=(5, 7)).toarray(), B.T.astype(dtype))
    for k in range(5):
        assert (np.diff(columns.columns[starts[k] : starts[k + 1]].astype(np.int64)) > 0).all()
