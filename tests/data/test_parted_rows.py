"""Dense rows with rare columns apart: the products, sums and values of the whole rows."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from skimlearn.data import kernel_blocks, parted_rows
from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_blocks import weighted
from skimlearn.data.kernel_rows import KernelRows
from skimlearn.data.parted_rows import Parted, product, rare_columns, some_of, split, turned
from skimlearn.data.rows import Dense
from skimlearn.formulas.kernels import Gaussian

pytestmark = pytest.mark.pure_python


def rows_of(filled, n=90, seed=0):
    """Rows whose columns have entries in such parts of the rows."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, len(filled))) * (rng.random((n, len(filled))) < filled)


MIXED = [1.0, 0.05, 0.0, 0.9, 0.03, 0.06, 0.5]
CASES = {"mixed": MIXED, "all rare": [0.05, 0.02, 0.0], "one column often": [0.02, 1.0]}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("filled", CASES.values(), ids=CASES)
def test_products_are_those_of_the_rows(filled, dtype, monkeypatch):
    monkeypatch.setattr(parted_rows, "HIGH", 16)
    X = rows_of(filled).astype(dtype)
    rare = rare_columns(Dense(X))
    np.testing.assert_array_equal(rare, (X != 0.0).mean(axis=0) <= parted_rows.RARE)
    parts = split(Dense(X), rare)
    assert parts.shape == X.shape
    assert parts.values.dtype == parts.rare.values.dtype == dtype
    assert len(parts.rare.values) == np.count_nonzero(X[:, rare])
    some, others = np.array([80, 3, 3, 41]), slice(20, 90)
    found = product(some_of(parts, some), turned(some_of(parts, others)))
    tolerance = 1e-5 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(found, X[some] @ X[others].T, atol=tolerance)
    nothing = some_of(parts, slice(7, 7))
    assert product(nothing, turned(parts)).shape == (0, 90)


def test_few_rare_columns_stay_where_they_are():
    assert rare_columns(Dense(rows_of([1.0] * 9 + [0.02]))) is None
    assert rare_columns(Dense(rows_of([1.0] * 7 + [0.02]))) is not None
    often, seldom = Dense(rows_of([1.0] * 4)), Dense(rows_of([0.005] * 4, n=1000))
    assert rare_columns(often) is None
    assert rare_columns(seldom, often).all()  # a product is as rare as the rarer side
    assert rare_columns(Dense(rows_of([0.08] * 4, n=1000)), often) is None


def test_rare_columns_are_sorted_once_for_all_rows_of_a_matrix(monkeypatch):
    monkeypatch.setattr(kernel_blocks, "WIDE", 30)
    sorts = []
    monkeypatch.setattr(kernel_blocks, "turned", lambda rows: sorts.append(0) or turned(rows))
    X = rows_of(MIXED)
    K, table = rbf_kernel(X, gamma=0.3), KernelRows(as_rows(X), Gaussian(0.3), cache_bytes=0)
    for i in (4, 80, 4):
        np.testing.assert_allclose(table.row(i), K[i], rtol=1e-10)
    np.testing.assert_allclose(table.weighted(np.ones((1, 2)), np.array([3, 7]))[0], K[3] + K[7])
    assert len(sorts) == 90 // 30


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, np.float32])
def test_values_and_sums_of_a_kernel(form, threads, monkeypatch):
    for name, value in (("HIGH", 16), ("WIDE", 7), ("COPIED", 14)):
        monkeypatch.setattr(kernel_blocks, name, value)
    X, rng = rows_of(MIXED), np.random.default_rng(1)
    K = rbf_kernel(X, gamma=0.3)
    table = KernelRows(as_rows(form(X)), Gaussian(0.3), threads=threads)
    assert isinstance(table.parts, Parted)
    close = {"atol": 2e-6} if form is np.float32 else {"rtol": 1e-10}
    some, others, weights = np.array([3, 89, 0]), np.arange(60, 2, -1), rng.normal(size=(2, 3))
    np.testing.assert_allclose(table.among(some, others), K[np.ix_(some, others)], **close)
    np.testing.assert_allclose(table.row(4), K[4], **close)
    np.testing.assert_allclose(table.weighted(weights, some), weights @ K[some], atol=1e-5)
    assert table.reads.nnz == X.size + (3 * 58 + 90 + 3 * 90) * X.shape[1]
    weights = rng.normal(size=(2, 30))
    sums = weighted(Gaussian(0.3), weights, as_rows(form(X[:30])), as_rows(X), threads=threads)
    np.testing.assert_allclose(sums, weights @ K[:30], atol=2e-5)
