"""Values of kernels: all kinds of rows, sums, kept rows, reads, limits."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from skimlearn.data import kernel_blocks, kernel_rows
from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_blocks import weighted
from skimlearn.data.kernel_rows import KernelRows, own_values, variance
from skimlearn.data.oracle import ReadLimit
from skimlearn.formulas.kernels import Gaussian, Linear, Polynomial

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.6)
Z = rng.normal(size=(11, 5)) * (rng.random((11, 5)) < 0.6)
K = rbf_kernel(X, gamma=0.3)
FORMS = [np.asarray, np.asfortranarray, sp.csr_array]


def opened(form=np.asarray, **options):
    return KernelRows(as_rows(form(X)), Gaussian(0.3), **options)


@pytest.fixture(params=[1, 2])
def small_pieces(request, monkeypatch):
    monkeypatch.setattr(kernel_blocks, "HIGH", 4)
    monkeypatch.setattr(kernel_blocks, "WIDE", 3)
    monkeypatch.setattr(kernel_blocks, "SPARSE", 7)
    return request.param  # threads


@pytest.mark.parametrize("filled", [0, 16])
@pytest.mark.parametrize("form", FORMS)
def test_parts_and_sums_of_the_matrix(form, filled, small_pieces, monkeypatch):
    monkeypatch.setattr(kernel_rows, "FILLED", filled)
    table = opened(form, threads=small_pieces)
    some, others = np.array([3, 29, 0, 7, 8]), np.array([5, 3, 9, 11])
    np.testing.assert_allclose(table.among(some, others), K[np.ix_(some, others)])
    np.testing.assert_allclose(table.among(some), K[some])
    weights = rng.normal(size=(2, 5))
    np.testing.assert_allclose(table.weighted(weights, some), weights @ K[some])
    np.testing.assert_allclose(
        table.weighted(weights, some, others), weights @ K[np.ix_(some, others)]
    )
    np.testing.assert_allclose(table.row(4), K[4])
    np.testing.assert_allclose(table.diagonal, 1.0)


@pytest.mark.parametrize("left", FORMS)
@pytest.mark.parametrize("right", FORMS)
def test_rows_of_different_kinds(left, right):
    weights = rng.normal(size=(3, 11))
    sums = weighted(Gaussian(0.3), weights, as_rows(left(Z)), as_rows(right(X)))
    np.testing.assert_allclose(sums, weights @ rbf_kernel(Z, X, gamma=0.3))


def test_sparse_rows_with_very_many_columns():
    """A dense line of them would take 16 GB, which a model file of a few bytes can ask for."""
    places = np.array([5, 77, 4_000, 2**30, 2**31 - 1])

    def wide(matrix):
        narrow = sp.coo_array(matrix)
        parts = (narrow.data, (narrow.row, places[narrow.col]))
        return as_rows(sp.csr_array(parts, shape=(len(matrix), 2**31)), bounded=True)

    weights = rng.normal(size=(2, 11))
    other = np.column_stack([X[:, :4], np.zeros(30)])  # which lacks a column of the left rows
    sums = weighted(Gaussian(0.3), weights, wide(Z), wide(other))
    np.testing.assert_allclose(sums, weights @ rbf_kernel(Z, other, gamma=0.3))
    nothing = weighted(Linear(), weights, wide(0.0 * Z), wide(X))
    np.testing.assert_array_equal(nothing, np.zeros((2, 30)))


def test_tiny_weights_in_float32():
    rows = as_rows(X.astype(np.float32))
    weights = 1e-42 * rng.normal(size=(1, 30))
    sums = weighted(Gaussian(0.3), weights, rows, rows)
    np.testing.assert_allclose(sums, weights @ K, rtol=1e-4, atol=1e-47)
    assert not weighted(Gaussian(0.3), 0.0 * weights, rows, rows).any()


@pytest.mark.parametrize("filled", [0, 16])
def test_reads_are_counted(filled, monkeypatch):
    monkeypatch.setattr(kernel_rows, "FILLED", filled)
    table = opened(sp.csr_array)
    stored = np.count_nonzero(X)
    assert table.reads.nnz == stored  # for the lengths of the rows
    table.among(np.array([1, 2]), np.array([0, 4, 5]))
    assert table.reads.nnz == stored + 2 * np.count_nonzero(X[[0, 4, 5]])
    assert table.reads.dense == 150 + 2 * 3 * 5
    assert table.values == 6
    table.weighted(np.ones((3, 1)), np.array([1]))
    assert table.reads.nnz == 2 * stored + 2 * np.count_nonzero(X[[0, 4, 5]])


def test_the_last_used_rows_are_kept():
    table = opened(cache_bytes=2 * 30 * 8)  # two rows
    for i in (0, 1, 0, 2):  # 1 makes room for 2
        table.row(i)
    assert table.values == 3 * 30
    assert table.knows(0)
    assert table.knows(2)
    assert not table.knows(1)
    np.testing.assert_array_equal(table.row(0), table.among(np.array([0]))[0])
    nothing = opened(cache_bytes=0)
    nothing.row(0)
    nothing.row(0)
    assert nothing.values == 60
    with pytest.raises(ValueError, match="cache_bytes=-1 must not be negative"):
        opened(cache_bytes=-1)


def test_a_limit_of_reads():
    table = opened()
    table.limit = 2 * 150
    table.row(0)
    with pytest.raises(ReadLimit):
        table.row(1)
    assert table.reads.nnz == 300
    table.row(0)  # is known


def test_a_kernel_that_overflows():
    with pytest.raises(ValueError, match="not finite for row 0 of X: scale the features"):
        KernelRows(as_rows(np.full((2, 2), 1e40)), Polynomial(5.0))


def test_pieces_that_gamma_is_made_of():
    weights = rng.random(30)
    weights /= weights.mean()
    repeated = np.repeat(X.ravel(), 1)
    expected = np.average(repeated**2, weights=np.repeat(weights, 5)) - (
        np.average(repeated, weights=np.repeat(weights, 5)) ** 2
    )
    for form in FORMS:
        assert variance(as_rows(form(X)), weights) == pytest.approx(expected)
    assert variance(as_rows(np.full((4, 3), 7.0)), np.ones(4)) == 0.0
    np.testing.assert_array_equal(own_values(Linear(), np.array([1.0, 4.0])), [1.0, 4.0])
