"""Rows: every kind of matrix gives numpy's numbers, without a copy, and bad ones are found."""

import ast
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn._jit import kernel
from skimlearn.data import inspection
from skimlearn.data import rows as module
from skimlearn.data.inspection import as_rows, check_entries, measured
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import (
    Csr,
    Dense,
    between,
    checksum,
    combine,
    largest_entry,
    lengths,
    norms,
    responses,
    stored,
    without_gaps,
)
from skimlearn.data.triple import one_matrix

N, D = 7, 5

quiet_without_jit = pytest.mark.filterwarnings("ignore:.* encountered in scalar multiply")


def matrix(seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.6)
    X[3] = 0.0  # an empty row
    return X.astype(dtype)


def sparse(values, indices=np.int32, pointers=None):
    """A CSR matrix with index types of one's choice: scipy itself would shrink them."""
    X = sp.csr_array(values)
    X.indices = X.indices.astype(indices)
    X.indptr = X.indptr.astype(pointers or indices)
    return X


def raw(data, indices, indptr, shape):
    """A CSR matrix of broken parts, past the checks of scipy."""
    X = sp.csr_array(shape, dtype=np.float64)
    X.data = np.asarray(data, dtype=np.float64)
    X.indices = np.asarray(indices)
    X.indptr = np.asarray(indptr)
    return X


def answers(rows, seed=3):
    """What solvers read of the rows: responses, a combination, norms, lengths."""
    rng = np.random.default_rng(seed)
    n, d = rows.shape
    w, c = rng.normal(size=d), rng.normal(size=n)
    c[:1] = 0.0
    z, total = np.empty(n), np.ones(d)
    responses(rows, w, z)
    combine(rows, c, total)
    return z, total, norms(rows), norms(rows, 3.0), norms(rows, np.inf)


def expected(X, seed=3):
    X = np.asarray(X, dtype=np.float64)
    rng = np.random.default_rng(seed)
    w, c = rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])
    c[:1] = 0.0
    return (X @ w, 1.0 + c @ X, *(np.linalg.norm(X, p, axis=1) for p in (2, 3, np.inf)))


def assert_same(rows, X):
    for found, right in zip(answers(rows), expected(X), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-13, atol=1e-15)


def strided():
    X = np.zeros((2 * N, 3 * D))
    view = X[::2, ::-3]
    view[:] = matrix()
    return view


# ---------------------------------------------------------------------------------- dense arrays

DENSE = {
    "C order": matrix(),
    "Fortran order": np.asfortranarray(matrix()),
    "strided": strided(),
    "negative strides": matrix()[::-1, ::-1],
    "float32": matrix(dtype=np.float32),
}


@pytest.mark.pure_python
@pytest.mark.parametrize("kind", DENSE)
def test_dense_arrays_are_viewed(kind):
    X = DENSE[kind]
    before = X.copy()
    rows = as_rows(X)
    assert isinstance(rows, Dense)
    assert rows.shape == (N, D)
    assert np.shares_memory(rows.values, X)
    assert rows.values.dtype == X.dtype
    assert not rows.values.flags.writeable
    assert X.flags.writeable  # the caller's array is as it was
    assert_same(rows, X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(lengths(rows), [D] * N)


@pytest.mark.parametrize("dtype", ["float16", "int8", "int64", "uint64", "bool", ">f8", ">f4", "O"])
def test_other_numbers_become_float64(dtype):
    X = (4 * matrix()).astype(dtype)
    rows = as_rows(X)
    assert rows.values.dtype == np.float64
    assert rows.values.dtype.isnative
    assert_same(rows, X.astype(np.float64))


def test_lists_and_rows_are_taken():
    rows = as_rows([[1, 2], [3, 4]])
    assert rows.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert as_rows(rows) is rows


def test_read_only_dense_array():
    X = matrix()
    X.flags.writeable = False
    rows = as_rows(X)
    assert np.shares_memory(rows.values, X)
    assert_same(rows, X)


@pytest.mark.parametrize("mode", ["r", "c", "r+"])
def test_memory_mapped_dense_array(tmp_path, mode):
    np.save(tmp_path / "X.npy", matrix(dtype=np.float32))
    X = np.load(tmp_path / "X.npy", mmap_mode=mode)
    rows = as_rows(X)
    assert type(rows.values) is np.ndarray  # one type for kernels, whatever the origin
    assert np.shares_memory(rows.values, X)
    assert_same(rows, X)


def test_unaligned_array():
    X = np.zeros(1 + 8 * N * D, dtype=np.uint8)[1:].view(np.float64).reshape(N, D)
    X[:] = matrix()
    assert not X.flags.aligned
    assert_same(as_rows(X), matrix())


def test_float32_is_summed_in_float64():
    X = np.full((1, 1000), 0.1, dtype=np.float32)
    for kind in (X, sp.csr_array(X)):
        z = np.empty(1)
        responses(as_rows(kind), np.ones(1000), z)
        assert z[0] == pytest.approx(1000 * float(np.float32(0.1)), rel=1e-13)


# --------------------------------------------------------------------------------------- sparse


@pytest.mark.pure_python
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_csr_is_viewed(dtype, indices):
    X = sparse(matrix(dtype=dtype), indices)
    rows = as_rows(X)
    assert isinstance(rows, Csr)
    assert rows.shape == (N, D)
    assert np.shares_memory(rows.values, X.data)
    assert np.shares_memory(rows.columns, X.indices)
    assert rows.values.dtype == dtype
    assert rows.columns.dtype == np.dtype(indices.__name__.replace("int", "uint"))
    assert rows.starts.dtype == np.uint64
    assert X.data.flags.writeable
    assert X.indices.flags.writeable
    assert X.indptr.flags.writeable
    assert_same(rows, X.toarray())
    np.testing.assert_array_equal(lengths(rows), np.diff(X.indptr))
    assert lengths(rows).dtype == np.int64


def test_int64_row_offsets_are_viewed():
    X = sparse(matrix(), np.int32, np.int64)
    rows = as_rows(X)
    assert np.shares_memory(rows.starts, X.indptr)
    assert_same(rows, X.toarray())


@pytest.mark.parametrize("wrap", [sp.csr_matrix, sp.csc_matrix, sp.csc_array, sp.coo_array])
def test_other_sparse_classes(wrap):
    X = wrap(matrix())
    assert_same(as_rows(X), matrix())
    np.testing.assert_array_equal(X.toarray(), matrix())


@pytest.mark.parametrize("dtype", [np.int32, bool, np.float16, ">f8"])
def test_sparse_values_of_other_types_become_float64(dtype):
    X = sp.csr_array(matrix() != 0)
    X.data = X.data.astype(dtype)
    rows = as_rows(X)
    assert rows.values.dtype == np.float64
    assert_same(rows, matrix() != 0)


def test_read_only_csr():
    X = sp.csr_array(matrix())
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    assert_same(as_rows(X), matrix())


def test_memory_mapped_csr(tmp_path):
    X = sparse(matrix(dtype=np.float32), np.int64)
    parts = []
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
        parts.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    Y = sp.csr_array(X.shape, dtype=np.float32)
    Y.data, Y.indices, Y.indptr = parts
    rows = as_rows(Y)
    for found, part in zip((rows.values, rows.columns, rows.starts), parts, strict=True):
        assert type(found) is np.ndarray
        assert np.shares_memory(found, part)
    assert_same(rows, X.toarray())


def test_spare_room_behind_the_last_row_is_not_read():
    X = raw([1.0, 2.0, np.nan], [0, 1, 99], [0, 1, 2], (2, 2))
    rows = as_rows(X)
    z = np.empty(2)
    responses(rows, np.ones(2), z)
    assert z.tolist() == [1.0, 2.0]


@pytest.mark.pure_python
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_without_gaps_are_dense_ones(dtype):
    full = sp.csr_array(np.arange(1.0, 13.0, dtype=dtype).reshape(4, 3))
    rows = without_gaps(as_rows(full))
    assert isinstance(rows, Dense)
    assert np.shares_memory(rows.values, full.data)
    assert rows.values.dtype == dtype
    np.testing.assert_array_equal(rows.values, full.toarray())
    assert without_gaps(rows) is rows


@pytest.mark.pure_python
def test_rows_with_gaps_stay_sparse():
    X = np.arange(1.0, 13.0).reshape(4, 3)
    X[2, 1] = 0.0
    rows = as_rows(sp.csr_array(X))
    assert without_gaps(rows) is rows
    some = rows._replace(starts=rows.starts[1:])  # as a view of the last rows has them
    assert without_gaps(some) is some


@pytest.mark.pure_python
@pytest.mark.parametrize("kind", [np.asarray, sparse])
def test_a_view_of_some_rows_is_as_if_there_were_no_others(kind):
    X = matrix()
    X[0, 0], X[6, 4] = 100.0, -100.0
    rows = as_rows(kind(X))
    some, alone = between(rows, 1, 6), as_rows(kind(X[1:6].copy()))
    assert np.shares_memory(some.values, rows.values)
    assert_same(some, X[1:6])
    assert stored(some) == stored(alone) == lengths(alone).sum()
    assert largest_entry(some) == np.abs(X[1:6]).max()
    assert largest_entry(between(rows, 3, 3)) == 0.0
    assert checksum(some) == checksum(alone) != checksum(rows)
    assert checksum(some, 1) != checksum(some)


@pytest.mark.pure_python
def test_a_checksum_sees_columns_but_not_how_wide_their_numbers_are():
    X = matrix()
    assert checksum(as_rows(sparse(X))) == checksum(as_rows(sparse(X, np.int64)))
    assert checksum(as_rows(sparse(X))) != checksum(as_rows(sparse(X[:, ::-1])))
    left = raw([1.0, 2.0], [0, 1], [0, 1, 2], (2, 3))
    right = raw([1.0, 2.0], [0, 2], [0, 1, 2], (2, 3))
    assert checksum(as_rows(left)) != checksum(as_rows(right))


def test_of_sparse_rows_the_entries_that_are_there_are_read():
    X = matrix()
    assert Reads.of_values(as_rows(X), 10, 4) == Reads(10, 10)
    assert Reads.of_values(as_rows(sparse(X)), 10, 4) == Reads(10, 4)


def test_blocks_of_a_matrix_are_put_together():
    X = matrix()
    dense = one_matrix([X[:2], X[2:]])
    assert isinstance(dense, np.ndarray)
    np.testing.assert_array_equal(dense, X)
    for blocks in ([sparse(X[:2]), sparse(X[2:])], [X[:2], sparse(X[2:])], [sparse(X[:2]), X[2:]]):
        both = one_matrix(blocks)
        assert both.format == "csr"
        np.testing.assert_array_equal(both.toarray(), X)


def test_dense_and_sparse_rows_are_told_apart_by_the_data_layer_alone():
    package = Path(module.__file__).parents[1]
    found = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path in sorted(package.rglob("*.py"))
        if package / "data" not in path.parents
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
        if {"Dense", "Csr"} & {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
    ]
    assert not found, (
        f"{found} ask for the kind of rows: give skimlearn.data the function they need"
    )


@pytest.mark.pure_python
def test_explicit_zeros_and_empty_rows():
    X = raw([0.0, 3.0], [1, 0], [0, 0, 1, 1, 2, 2], (5, 2))
    rows = as_rows(X)
    assert lengths(rows).tolist() == [0, 1, 0, 1, 0]
    assert_same(rows, X.toarray())


@pytest.mark.pure_python
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_unsorted_and_duplicate_indices_are_mended_in_a_copy(indices):
    parts = [np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1], indices), np.array([0, 3, 4])]
    before = [part.copy() for part in parts]
    X = raw(*parts, (2, 3))
    rows = as_rows(X)
    assert lengths(rows).tolist() == [2, 1]
    assert rows.columns.tolist() == [0, 2, 1]
    assert_same(rows, [[2.0, 0.0, 5.0], [0.0, 8.0, 0.0]])
    for part, old in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)
        assert part.dtype == old.dtype


@pytest.mark.pure_python
def test_solvers_take_rows_of_many_columns_as_they_came(monkeypatch):
    monkeypatch.setattr(inspection, "NARROW", 4)
    X = raw([1.0, 2.0, 4.0, 8.0, 16.0], [3, 0, 2, 4, 1], [0, 3, 5], (2, 5))
    rows, squares = measured(X)
    assert rows.columns.tolist() == [3, 0, 2, 4, 1]
    assert np.shares_memory(rows.values, X.data)
    assert squares.tolist() == [21.0, 320.0]
    assert_same(rows, X.toarray())
    assert as_rows(X).columns.tolist() == [0, 2, 3, 1, 4]  # for others they are sorted
    again = raw([1.0, 2.0, 4.0, 8.0, 16.0], [3, 0, 3, 4, 1], [0, 3, 5], (2, 5))
    rows, squares = measured(again)  # an entry in two parts
    assert rows.columns.tolist() == [0, 3, 1, 4]
    assert squares.tolist() == [29.0, 320.0]
    full = raw(np.arange(1.0, 11.0), [4, 3, 2, 1, 0] * 2, [0, 5, 10], (2, 5))
    assert measured(full)[0].columns.tolist() == [0, 1, 2, 3, 4] * 2  # no gaps: they may be dense
    monkeypatch.setattr(inspection, "NARROW", 5)
    assert measured(X)[0].columns.tolist() == [0, 2, 3, 1, 4]


@pytest.mark.pure_python
def test_faults_of_unsorted_rows_are_found(monkeypatch):
    monkeypatch.setattr(inspection, "NARROW", 4)
    with pytest.raises(ValueError, match=r"too long: row 1 is longer"):
        measured(raw([1.0, 2.0, 1e101], [3, 0, 1], [0, 2, 3], (2, 5)))
    with pytest.raises(ValueError, match=r"contains NaN \(row 0, column 0\)"):
        measured(raw([1.0, np.nan, 1.0], [3, 0, 1], [0, 2, 3], (2, 5)))
    with pytest.raises(ValueError, match=r"row 0 of X has the column index 7"):
        measured(raw([1.0, 2.0, 1.0], [7, 0, 1], [0, 2, 3], (2, 5)))


def test_entries_are_checked_in_any_order():
    X = raw([1.0, 2.0, 4.0, 8.0], [2, 0, 2, 1], [0, 3, 4], (2, 3))
    before = X.indices.copy()
    check_entries(X)
    np.testing.assert_array_equal(X.indices, before)
    X.data[2] = np.inf
    with pytest.raises(ValueError, match=r"contains infinity \(row 0, column 2\)"):
        check_entries(X)
    X.indices[0] = 3
    with pytest.raises(ValueError, match=r"row 0 of X has the column index 3"):
        check_entries(X)


def test_mended_float32_stays_float32():
    X = raw([1.0, 2.0], [1, 0], [0, 2], (1, 2))
    X.data = X.data.astype(np.float32)
    assert as_rows(X).values.dtype == np.float32


def test_duplicates_that_overflow_are_found():
    with pytest.raises(ValueError, match=r"contains infinity \(row 0, column 1\)"):
        as_rows(raw([1e308, 1e308], [1, 1], [0, 2], (1, 2)))


# ------------------------------------------------------------------------------------ bad input


@pytest.mark.pure_python
@pytest.mark.parametrize(
    ("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
@pytest.mark.parametrize("order", ["C", "F"])
@quiet_without_jit
def test_dense_entry_that_is_not_finite_is_found(value, name, order):
    X = np.ones((4, 3), order=order)
    X[2, 1] = X[3, 0] = value
    with pytest.raises(ValueError, match=rf"contains {name} \(row 2, column 1\): impute or drop"):
        as_rows(X)


@pytest.mark.pure_python
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (-np.inf, "infinity")])
@quiet_without_jit
def test_sparse_entry_that_is_not_finite_is_found(value, name, indices):
    X = sparse(np.diag([1.0, 2.0, 3.0, 4.0]), indices)
    X.data[2] = value
    with pytest.raises(ValueError, match=rf"contains {name} \(row 2, column 2\)"):
        as_rows(X)


def test_float32_not_finite_is_found():
    X = np.ones((2, 2), dtype=np.float32)
    X[1, 0] = np.nan
    with pytest.raises(ValueError, match=r"NaN \(row 1, column 0\)"):
        as_rows(X)


def test_values_that_cancel_in_a_sum_are_not_taken_for_nan():
    X = np.array([[1e308, 1e308, -1e308], [-1e308, -1e308, 5e-324]])
    assert as_rows(X).shape == as_rows(sp.csr_array(X)).shape == (2, 3)


@pytest.mark.pure_python
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("bad", [3, -1, 2**31 - 1, -(2**31)])
def test_column_index_out_of_range(indices, bad):
    columns = np.array([0, 1, bad], dtype=indices)
    message = rf"row 2 of X has the column index {bad}, but X has 3 columns"
    with pytest.raises(ValueError, match=message):
        as_rows(raw([1.0, 1.0, 1.0], columns, [0, 1, 2, 3], (3, 3)))


@pytest.mark.pure_python
@pytest.mark.parametrize(
    ("indices", "indptr", "message"),
    [
        ([0, 1, 2], [0, 2, 1, 3], r"fall from 2 to 1 at row 1"),
        ([0, 1, 2], [1, 1, 2, 3], r"begin at 1 instead of 0"),
        ([0, 1, 2], [-1, 1, 2, 3], r"begin at -1 instead of 0"),
        ([0, 1, 2], [0, 1, 2, 4], r"end at 4, but it has 3 values"),
        ([0, 1, 2], [0, 1, 3], r"has 3 row pointers \(indptr\), but 3 rows need 4"),
        ([0, 1, 2], [0, 1, 2, 3, 3], r"has 5 row pointers \(indptr\), but 3 rows need 4"),
        ([0, 1, 2], [], r"has 0 row pointers"),
        ([0, 1], [0, 1, 2, 3], r"has 3 values \(data\) but 2 column indices"),
        ([0, 1, 2, 0], [0, 1, 2, 3], r"has 3 values \(data\) but 4 column indices"),
    ],
)
def test_broken_csr_parts(indices, indptr, message):
    X = raw([1.0, 2.0, 3.0], indices, np.array(indptr, dtype=np.int32), (3, 3))
    with pytest.raises(ValueError, match=message) as caught:
        as_rows(X)
    assert "build the matrix anew" in str(caught.value)


@pytest.mark.pure_python
@pytest.mark.parametrize("shape", [(4,), (2, 2, 2), ()])
def test_number_of_dimensions(shape):
    with pytest.raises(ValueError, match=r"two dimensions.*reshape\(-1, 1\)") as caught:
        as_rows(np.ones(shape))
    assert str(shape) in str(caught.value)


@pytest.mark.parametrize("shape", [(4,), (2, 2, 2)])
def test_number_of_dimensions_of_sparse_arrays(shape):
    try:
        X = sp.coo_array(np.ones(shape))
    except (TypeError, ValueError):
        pytest.skip("this scipy has no sparse arrays of this kind")
    with pytest.raises(ValueError, match="two dimensions"):
        as_rows(X)


@pytest.mark.pure_python
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_no_rows_or_no_columns(shape):
    for X in (np.empty(shape), sp.csr_array(shape)):
        rows = as_rows(X)
        assert rows.shape == shape
        assert lengths(rows).sum() == 0
        assert norms(rows).tolist() == [0.0] * shape[0]


def test_complex_is_refused():
    for X in (np.ones((2, 2), dtype=complex), sp.csr_array(np.eye(2, dtype=complex))):
        with pytest.raises(ValueError, match="Complex data not supported"):
            as_rows(X)


@pytest.mark.parametrize("X", [[["a", "b"]], [["1", "2"]], np.array([["2020-01-01"]], "M8[D]")])
def test_text_and_dates_are_refused(X):
    with pytest.raises(ValueError, match=r"must hold numbers, but its dtype is .*: encode"):
        as_rows(X)


@pytest.mark.pure_python
@pytest.mark.parametrize("bad", ["red", 1j, [1, 2]])
def test_object_array_names_the_entry_that_is_no_number(bad):
    X = np.ones((2, 3), dtype=object)
    X[1, 2] = bad
    with pytest.raises(ValueError, match=r"at \(1, 2\): encode") as caught:
        as_rows(X)
    assert repr(bad) in str(caught.value)


def test_none_in_an_object_array_is_a_missing_value():
    with pytest.raises(ValueError, match=r"contains NaN \(row 0, column 1\)"):
        as_rows(np.array([[1.0, None]], dtype=object))


# --------------------------------------------------------------------------------------- norms


@pytest.mark.pure_python
@quiet_without_jit
def test_norms_do_not_overflow_or_underflow():
    X = np.array([[3e200, -4e200], [3e-200, 4e-200], [3e-310, 4e-310], [0.0, 5e-324], [0.0, 0.0]])
    right = [5e200, 5e-200, 5e-310, 5e-324, 0.0]
    for kind in (X, sp.csr_array(X)):
        np.testing.assert_allclose(norms(as_rows(kind)), right, rtol=1e-12, atol=0.0)
        assert (norms(as_rows(kind), 101.0) >= 0.999 * np.abs(X).max(axis=1)).all()


# --------------------------------------------------------------------------- beyond 2^31 entries


@kernel
def _dot_and_add(rows, i, c, w):
    z = module.dot(rows, i, w)
    module.add(rows, i, c, w)
    return z


def test_row_offsets_beyond_32_bits(tmp_path):
    """Files with holes: 2^32 entries take a few kilobytes on disk."""
    starts = np.array([2**31 - 2, 2**31 + 1, 2**31 + 1, 2**32 + 3, 2**32 + 5], dtype=np.uint64)
    length = int(starts[-1])
    values = np.memmap(tmp_path / "values", dtype=np.float32, mode="w+", shape=length)
    columns = np.memmap(tmp_path / "columns", dtype=np.int32, mode="w+", shape=length)
    at = np.r_[2**31 - 2 : 2**31 + 1, 2**32 + 3 : 2**32 + 5]
    values[at] = [1.0, 2.0, 3.0, 4.0, 5.0]
    columns[at] = [0, 2, 3, 1, 3]
    rows = Csr(*map(module.frozen, (values, columns.view(np.uint32), starts)), 4)
    # rows 0, 1 and 3; row 2 has two billion entries and is not read
    assert lengths(rows).tolist() == [3, 0, 2**31 + 2, 2]
    w = np.array([1.0, 10.0, 100.0, 1000.0])
    assert _dot_and_add(rows, 0, 1.0, w) == 1.0 + 200.0 + 3000.0
    assert w.tolist() == [2.0, 10.0, 102.0, 1003.0]
    assert _dot_and_add(rows, 1, 7.0, w) == 0.0
    assert _dot_and_add(rows, 3, -1.0, w) == 40.0 + 5 * 1003.0
    assert w.tolist() == [2.0, 6.0, 102.0, 998.0]
    some = rows._replace(starts=module.frozen(starts[:3]))
    z, total = np.empty(2), np.zeros(4)
    responses(some, np.array([1.0, 1.0, 1.0, 1.0]), z)
    combine(some, np.array([2.0, 2.0]), total)
    assert z.tolist() == [6.0, 0.0]
    assert total.tolist() == [2.0, 0.0, 4.0, 6.0]
    assert norms(some).tolist() == pytest.approx([14.0**0.5, 0.0])
    del values, columns, rows, some
    (tmp_path / "values").unlink()
    (tmp_path / "columns").unlink()
