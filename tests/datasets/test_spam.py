"""The bundled SpamAssassin data is what its documentation says."""

import numpy as np
import pytest
from scipy import sparse

from skimlearn.datasets import load_spam


@pytest.fixture(scope="module")
def counts():
    return load_spam(normalize=False)


def test_documented_size(counts):
    X, y = counts
    assert isinstance(X, sparse.csr_matrix)
    assert X.shape == (6046, 62979)
    assert X.nnz == 931173
    assert y.shape == (6046,)


def test_csr_parts_are_canonical(counts):
    X, _ = counts
    X.check_format(full_check=True)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    inner = np.ones(X.nnz, dtype=bool)
    inner[X.indptr[:-1]] = False
    assert (np.diff(X.indices, prepend=0)[inner] > 0).all()  # sorted, no duplicates
    assert (np.diff(X.indptr) > 0).all()  # no empty message
    assert (X.getnnz(axis=0) > 0).all()  # no unused word


def test_counts_are_whole_and_complete(counts):
    X, _ = counts
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X.data, np.rint(X.data))
    assert X.data.min() == 1
    assert X.data.max() == 485
    assert X.data.sum() == 1823780


def test_labels(counts):
    _, y = counts
    assert y.dtype == np.int64
    np.testing.assert_array_equal(np.unique(y), [-1, 1])
    assert (y == 1).sum() == 1896


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_normalized_rows_have_length_one(counts, dtype, tolerance):
    X, y = load_spam(dtype=dtype)
    assert X.dtype == dtype
    squares = X.astype(np.float64).multiply(X).sum(axis=1)
    np.testing.assert_allclose(squares, 1, rtol=tolerance)
    np.testing.assert_array_equal(y, counts[1])
    np.testing.assert_array_equal(X.indices, counts[0].indices)


def test_normalized_rows_point_where_the_counts_point(counts):
    X, _ = load_spam()
    lengths = np.sqrt(counts[0].multiply(counts[0]).sum(axis=1)).A1
    np.testing.assert_allclose(X.data * np.repeat(lengths, np.diff(X.indptr)), counts[0].data)


def test_every_call_returns_new_arrays(counts):
    X, y = load_spam(normalize=False)
    for part in (X.data, X.indices, X.indptr, y):
        assert part.flags.writeable
        part[:] = 0
    again, y_again = load_spam(normalize=False)
    np.testing.assert_array_equal(again.data, counts[0].data)
    np.testing.assert_array_equal(again.indices, counts[0].indices)
    np.testing.assert_array_equal(again.indptr, counts[0].indptr)
    np.testing.assert_array_equal(y_again, counts[1])


def test_counts_in_an_integer_type():
    X, _ = load_spam(normalize=False, dtype=np.int32)
    assert X.dtype == np.int32
    assert X.data.sum() == 1823780


@pytest.mark.parametrize("dtype", [np.int64, np.float16, np.complex128, bool])
def test_scaled_rows_need_a_floating_point_type(dtype):
    with pytest.raises(ValueError, match=r"dtype=.* normalize=False"):
        load_spam(dtype=dtype)


@pytest.mark.parametrize("dtype", [np.uint8, bool])
def test_counts_need_a_type_that_holds_them(dtype):
    with pytest.raises(ValueError, match="use a wider type"):
        load_spam(normalize=False, dtype=dtype)
