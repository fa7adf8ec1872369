"""Dense rows without their zeros: the same rows, and fits on them the same answers."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import LinearClassifier, LinearRegressor, regularization_path
from skimlearn.data import zeros
from skimlearn.data.inspection import as_rows
from skimlearn.data.rows import plain
from skimlearn.data.zeros import nonzero_rows

N, D = 300, 80


def thin(share=0.1, dtype=np.float64, shape=(N, D)):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) * (rng.random(shape) < share)
    return X.astype(dtype)


@pytest.mark.pure_python
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_rows_are_the_same(dtype, order):
    X = np.array(thin(dtype=dtype, shape=(20, 150)), order=order)
    X[[0, 7]] = 0.0
    few = nonzero_rows(as_rows(X), large=0)
    assert len(few.rows.values) == np.count_nonzero(X)
    assert few.rows.values.dtype == dtype
    np.testing.assert_array_equal(plain(few.rows).toarray(), X)
    w = np.arange(150.0)
    np.testing.assert_array_equal(few.back(few.forth(w)), w)


def test_rows_of_zeros_only():
    few = nonzero_rows(as_rows(np.zeros((5, 100))), large=0)
    assert few.rows.shape == (5, 100)
    assert len(few.rows.values) == 0


def test_what_does_not_pay_is_not_copied(tmp_path):
    assert nonzero_rows(as_rows(thin())) is None  # small
    assert nonzero_rows(as_rows(thin()), large=0) is not None
    assert nonzero_rows(as_rows(thin(0.5)), large=0) is None
    assert nonzero_rows(as_rows(thin()[:, :40]), large=0) is None  # narrow
    assert nonzero_rows(as_rows(sp.csr_matrix(thin())), large=0) is None
    wide = thin(0.23, shape=(N, 2 * D))
    assert nonzero_rows(as_rows(wide), large=0) is not None
    assert nonzero_rows(as_rows(wide.astype(np.float32)), large=0) is None  # a column takes as much
    late = np.ones((3000, D))  # more than the rows that are counted first
    late[np.linspace(0, 2999, zeros.SOME, dtype=int)] = 0.0
    assert nonzero_rows(as_rows(late), large=0) is None


def test_rows_are_counted_where_they_lie():
    """Few rows of many columns: a copy of some of them would be one of all."""
    full = as_rows(np.ones((20, 50_000)))
    tracemalloc.start()
    try:
        assert nonzero_rows(full, large=0) is None
        assert tracemalloc.get_traced_memory()[1] < 0.1 * full.values.nbytes
    finally:
        tracemalloc.stop()


def test_what_lies_in_a_file_is_left_there(tmp_path):
    np.save(tmp_path / "X.npy", thin())
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert nonzero_rows(as_rows(X), large=0) is None
    assert nonzero_rows(as_rows(X[:, :80]), large=0) is None


@pytest.fixture
def both(monkeypatch):
    """Runs a function on dense rows, and on what is left of them without zeros."""

    def run(function):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain = function()
            for function_of_size in (zeros.nonzero_rows, zeros.may_have_zeros):
                monkeypatch.setattr(function_of_size, "__defaults__", (0,))
            found = function()
        monkeypatch.undo()
        return plain, found

    return run


@pytest.mark.parametrize("solver", ["auto", "dual"])
@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "log", "squared"])
def test_a_fit_has_the_same_answer(both, loss, bias, solver):
    X, y = thin(), np.arange(N) % 2
    model = LinearClassifier(
        loss, alpha=1e-3, bias=bias, solver=solver, tol=1e-9, max_epochs=1000, random_state=0
    )
    dense, found = both(lambda: model.fit(X, y).result_)
    np.testing.assert_allclose(found.x, dense.x, rtol=0, atol=1e-4 * np.abs(dense.x).max())
    np.testing.assert_allclose(found.certificate.primal, dense.certificate.primal, rtol=1e-8)
    assert found.reads.nnz < 0.3 * dense.reads.nnz  # what is read really


@pytest.mark.parametrize("solver", ["sgd", "pegasos"])
def test_solvers_of_few_epochs_read_the_rows_as_they_are(both, solver):
    X, y = thin(), np.arange(N) % 2
    model = LinearClassifier(alpha=1e-3, solver=solver, tol=None, max_epochs=20, random_state=0)
    dense, found = both(lambda: model.fit(X, y).result_)
    assert found.reads == dense.reads


def test_few_epochs_do_not_pay_for_a_copy(both):
    X, y = thin(), np.arange(N) % 2
    model = LinearClassifier(alpha=1.0, tol=0.5, solver="dual", random_state=0)
    dense, found = both(lambda: model.fit(X, y).result_)
    assert found.reads == dense.reads


def test_warm_starts_regressions_and_paths(both):
    X = thin()
    y = X @ np.arange(D) + np.arange(N) % 5
    model = LinearRegressor("absolute", alpha=1e-3, tol=1e-8, warm_start=True, random_state=0)
    model.fit(X, y)
    dense, found = both(lambda: model.fit(X, y).coef_.copy())
    np.testing.assert_allclose(found, dense, atol=1e-4 * np.abs(dense).max())
    options = {"loss": "squared", "alphas": [1e-1, 1e-3], "tol": 1e-9, "solver": "dual"}
    dense, found = both(lambda: regularization_path(X, y, **options).coefs)
    np.testing.assert_allclose(found, dense, atol=1e-4 * np.abs(dense).max())
