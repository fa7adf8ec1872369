"""Columns of single rows, merged: the same responses and norms, from fewer columns."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from skimlearn import LinearClassifier, Store, regularization_path
from skimlearn.data import private
from skimlearn.data.inspection import as_rows
from skimlearn.data.private import merged
from skimlearn.data.rows import norms, responses
from skimlearn.problem import make_problem
from skimlearn.result import Budget
from skimlearn.solvers import choose

N, SHARED = 60, 9


def wide(seed=0, dtype=np.float64, width=400):
    """Rows that share some columns and have others for their own; most columns are empty."""
    rng = np.random.default_rng(seed)
    X = np.zeros((N, width), dtype)
    shared = rng.choice(width, SHARED, replace=False)
    X[:, shared] = rng.normal(size=(N, SHARED)) * (rng.random((N, SHARED)) < 0.6)
    others = np.setdiff1d(np.arange(width), shared)
    own = rng.choice(others, 120, replace=False)
    X[rng.integers(0, N // 2, 120), own] = rng.normal(size=120)  # half of the rows have none
    X[7] = 0.0
    return X


def score(rows, w):
    out = np.empty(rows.shape[0])
    responses(rows, w, out)
    return out


@pytest.mark.pure_python
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_products_of_rows_with_each_other_stay(dtype):
    X = wide(dtype=dtype)
    few = merged(as_rows(sp.csr_matrix(X)), wide=0)
    once = (X != 0).sum(axis=0) == 1
    assert few.rows.width == ((X != 0).sum(axis=0) > 1).sum() + X[:, once].any(axis=1).sum()
    assert few.rows.values.dtype == np.float64
    dense = np.stack([score(few.rows, e) for e in np.eye(few.rows.width)], axis=1)
    np.testing.assert_allclose(dense @ dense.T, X.astype(float) @ X.T, rtol=0, atol=1e-13)
    columns = np.split(few.rows.columns, few.rows.starts[1:-1].astype(int))
    assert all((np.diff(c.astype(int)) > 0).all() for c in columns)  # sorted, as all rows are


@pytest.mark.pure_python
def test_weights_go_back_and_forth():
    X = wide()
    few = merged(as_rows(sp.csr_matrix(X)), wide=0)
    w = np.random.default_rng(1).normal(size=few.rows.width)
    all_weights = few.back(w)
    np.testing.assert_allclose(X @ all_weights, score(few.rows, w), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(all_weights @ all_weights, w @ w)
    np.testing.assert_allclose(few.forth(all_weights), w)
    anything = np.random.default_rng(2).normal(size=X.shape[1])  # with parts that no row sees
    np.testing.assert_allclose(score(few.rows, few.forth(anything)), X @ anything, atol=1e-13)
    assert np.linalg.norm(few.forth(anything)) < np.linalg.norm(anything)


@pytest.mark.pure_python
@pytest.mark.parametrize("size", [1e-170, 1e-300, 1e99])
def test_lengths_neither_vanish_nor_overflow(size):
    X = sp.csr_matrix(wide() * size)
    few = merged(as_rows(X), wide=0)
    np.testing.assert_allclose(norms(few.rows), norms(as_rows(X)), rtol=1e-12)
    w = np.random.default_rng(1).normal(size=few.rows.width)
    np.testing.assert_allclose(X @ few.back(w), score(few.rows, w), rtol=1e-9, atol=1e-12 * size)


@pytest.mark.pure_python
def test_zeros_that_are_stored():
    X = sp.csr_matrix(wide())
    X.data[::3] = 0.0  # they stay where they are
    few = merged(as_rows(X), wide=0)
    w = np.random.default_rng(1).normal(size=few.rows.width)
    np.testing.assert_allclose(X @ few.back(w), score(few.rows, w), rtol=1e-12, atol=1e-13)


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_any_pattern(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.random())
    few = merged(as_rows(sp.csr_matrix(X)), wide=0)
    if few is None:
        return
    assert few.rows.width <= private.WORTH * d
    w = rng.normal(size=few.rows.width)
    np.testing.assert_allclose(X @ few.back(w), score(few.rows, w), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(norms(few.rows), np.linalg.norm(X, axis=1), rtol=1e-12)


def test_a_slice_of_rows():
    X = sp.csr_matrix(wide())
    rows = as_rows(X)
    part = rows._replace(starts=rows.starts[10:41])
    few = merged(part, wide=0)
    w = np.random.default_rng(1).normal(size=few.rows.width)
    np.testing.assert_allclose(X[10:40] @ few.back(w), score(few.rows, w), rtol=1e-12, atol=1e-13)


def test_only_where_it_pays(tmp_path, monkeypatch):
    X = sp.csr_matrix(wide())
    assert merged(as_rows(X)) is None  # not wide enough for that
    assert merged(as_rows(X.toarray()), wide=0) is None
    shared = (wide() != 0.0).sum(axis=0) > 1
    assert merged(as_rows(sp.csr_matrix(wide()[:, shared])), wide=0) is None
    assert merged(as_rows(sp.csr_matrix((5, 400))), wide=0) is None
    with monkeypatch.context() as small:
        small.setattr(private, "MOST", X.nnz - 1)
        assert merged(as_rows(X), wide=0) is None
    problem = make_problem(X, np.where(np.arange(N) % 2, 1.0, -1.0), loss="hinge", alpha=1e-2)
    for each in (private.merged, private.may_be_merged):
        monkeypatch.setattr(each, "__defaults__", (0,))
    budget = Budget(gap=1e-3, epochs=100)
    assert choose.merge([problem], "auto", budget) is not None
    assert choose.merge([problem], "asgd", budget) is None
    assert choose.merge([problem], "auto", Budget(gap=1e-3, epochs=3)) is None
    assert choose.merge([problem], "auto", Budget(gap=1e-3, reads=10**9)) is None
    easy = problem.with_alpha(1.0)  # two epochs, which a copy would take as well
    assert choose.merge([easy], "auto", budget) is None
    assert choose.merge([easy] * 5, "auto", budget) is not None  # one copy serves them all
    assert choose.merge([easy], "auto", Budget(gap=1e-9, epochs=100)) is not None
    assert choose.merge([easy], "auto", Budget(gap=None, epochs=100)) is not None
    curved = make_problem(X, problem.y, loss="hinge", alpha=1e-2, p=1.5)
    assert choose.merge([curved], "auto", budget) is None
    store = Store.create(tmp_path / "store", X, problem.y)
    assert merged(as_rows(store)) is not None
    monkeypatch.setattr("skimlearn.data.disk.POOL", 1000)
    monkeypatch.setattr("skimlearn.data.disk.RUN", 100)
    assert merged(as_rows(store)) is None  # as if it were too large for the memory


@pytest.fixture
def both(monkeypatch):
    """Runs a function with merged columns, and without."""

    def run(function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = function()
            for each in (private.merged, private.may_be_merged):
                monkeypatch.setattr(each, "__defaults__", (0,))
            found = function()
        monkeypatch.undo()
        return plain, found

    return run


@pytest.mark.parametrize("solver", ["auto", "dual"])
@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "log", "squared", "absolute"])
def test_a_fit_has_the_same_answer(both, loss, bias, solver):
    X, y = sp.csr_matrix(wide()), np.arange(N) % 3 == 0
    model = LinearClassifier(
        loss, alpha=1e-3, bias=bias, solver=solver, tol=1e-9, max_epochs=300, random_state=0
    )
    plain, found = both(lambda: model.fit(X, y).result_)
    assert len(found.x) == X.shape[1]
    if solver == "dual":  # the others may find another method better for fewer columns
        assert found.epochs == plain.epochs
        assert found.reads.nnz < plain.reads.nnz
        np.testing.assert_allclose(found.x, plain.x, rtol=0, atol=1e-7 * np.abs(plain.x).max())
    np.testing.assert_allclose(found.x, plain.x, rtol=0, atol=1e-3 * np.abs(plain.x).max())
    np.testing.assert_allclose(found.certificate.primal, plain.certificate.primal, rtol=2e-9)


def test_the_certificate_is_that_of_rows_in_float32(monkeypatch):
    """With norms rounded to float32 the answer would be that of another problem."""
    X, y = sp.csr_matrix(wide(dtype=np.float32)), np.where(np.arange(N) % 3 == 0, 1.0, -1.0)
    for each in (private.merged, private.may_be_merged):
        monkeypatch.setattr(each, "__defaults__", (0,))
    model = LinearClassifier("hinge", alpha=1e-2, bias="none", solver="dual", tol=1e-3)
    found = model.fit(X, y).result_
    margins = y * (X.astype(float) @ found.x)
    value = 0.5e-2 * found.x @ found.x + np.maximum(0.0, 1.0 - margins).mean()
    np.testing.assert_allclose(value, found.certificate.primal, rtol=1e-10)


def test_lengths_in_float32_do_not_overflow():
    X = sp.csr_matrix(wide(dtype=np.float32))
    X.data[:] = 2.5e38
    assert np.isfinite(merged(as_rows(X), wide=0).rows.values).all()


def test_classes_warm_starts_and_paths(both):
    X, y = sp.csr_matrix(wide()), np.arange(N) % 3
    model = LinearClassifier("log", alpha=1e-3, tol=1e-13, warm_start=True, random_state=0)
    model.fit(X, y)
    plain, found = both(lambda: model.fit(X, y).coef_.copy())
    np.testing.assert_allclose(found, plain, atol=1e-5)
    assert max(r.epochs for r in model.results_) <= 5  # it began at the answer
    plain, found = both(
        lambda: regularization_path(
            X, y == 1, loss="squared", alphas=[1e-1, 1e-3], tol=1e-10, random_state=0
        )
    )
    np.testing.assert_allclose(found.coefs, plain.coefs, atol=1e-5)
