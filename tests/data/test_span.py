"""Wide rows in coordinates of their span: the same inner products, and fits the same answers."""

import time
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import LinearClassifier, LinearRegressor, regularization_path
from skimlearn.certificates import dual, primal
from skimlearn.data.inspection import as_rows
from skimlearn.data.span import may_be_spanned, spanned
from skimlearn.problem import make_problem
from skimlearn.result import Budget, Status
from skimlearn.solvers import choose
from skimlearn.solvers import dual as dual_ascent

N, D = 120, 3000


def wide(n=N, d=D, factors=10, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, factors)) @ rng.normal(size=(factors, d)) / np.sqrt(factors)
    return (X + noise * rng.normal(size=(n, d))) / np.sqrt(d)


def labels(X, seed=1):
    rng = np.random.default_rng(seed)
    z = X @ rng.normal(size=X.shape[1])
    return np.where(z + 0.5 * z.std() * rng.normal(size=len(z)) > 0.0, 1, -1)


@pytest.mark.pure_python
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_inner_products_and_weights_are_the_same(dtype, order):
    X = np.array(wide(12, 70), dtype=dtype, order=order)
    X.flags.writeable = False
    few = spanned(as_rows(X), large=0)
    Z, exact = few.rows.values, X.astype(np.float64)
    assert Z.shape == (12, 12)
    np.testing.assert_allclose(Z @ Z.T, exact @ exact.T, rtol=1e-12, atol=1e-14)
    v = np.random.default_rng(2).normal(size=12)
    w = few.back(v)
    np.testing.assert_allclose(exact @ w, Z @ v, rtol=1e-10)
    assert np.linalg.norm(w) == pytest.approx(np.linalg.norm(v), rel=1e-10)
    np.testing.assert_allclose(few.forth(w), v, rtol=1e-9)


def test_columns_are_added_up_in_blocks():
    X = wide(40, 40_000)  # seven of them
    few = spanned(as_rows(X))
    np.testing.assert_allclose(few.rows.values @ few.rows.values.T, X @ X.T, rtol=1e-12, atol=1e-14)


@pytest.mark.pure_python
def test_rows_that_are_twice_there_or_zero_lower_the_rank():
    X = wide(12, 70)
    X[5], X[8] = X[2], 0.0
    few = spanned(as_rows(X), large=0)
    assert few.rows.values.shape == (12, 10)
    np.testing.assert_allclose(few.rows.values @ few.rows.values.T, X @ X.T, atol=1e-12)
    v = np.random.default_rng(2).normal(size=10)
    np.testing.assert_allclose(X @ few.back(v), few.rows.values @ v, atol=1e-12)


def test_what_is_not_wide_stays_as_it_is(tmp_path):
    assert spanned(as_rows(wide(12, 70))) is None  # small
    assert spanned(as_rows(wide(40, 70)), large=0) is None
    assert spanned(as_rows(sp.csr_matrix(wide(12, 70))), large=0) is None
    assert spanned(as_rows(np.zeros((12, 70))), large=0) is None
    np.save(tmp_path / "rows.npy", wide(12, 70))
    assert not may_be_spanned(as_rows(np.load(tmp_path / "rows.npy", mmap_mode="r")), large=0)


def test_rows_of_any_length():
    X = wide(12, 70)
    X[3] *= 1e170
    X[4] *= 1e-170
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few = spanned(as_rows(X), large=0)
    Z = few.rows.values
    sizes = np.array([np.linalg.norm(x / np.abs(x).max()) * np.abs(x).max() for x in X])
    units, shorter = X / sizes[:, None], Z / sizes[:, None]
    np.testing.assert_allclose(shorter @ shorter.T, units @ units.T, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("bias", ["free", "none"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
def test_a_row_that_is_far_longer_hides_no_other(loss, bias):
    X = wide()
    y, weights = labels(X), np.ones(N)
    X[0] *= 1e9
    weights[0] = 0.0
    model = LinearClassifier(loss, alpha=1e-3, bias=bias, random_state=0)
    result = model.fit(X, y, sample_weight=weights).result_
    assert result.status is Status.CONVERGED
    assert -1e-12 <= result.certificate.relative_gap <= 1e-3


@pytest.mark.parametrize("bias", ["free", "none"])
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_where_inner_products_lose_digits_all_columns_are_learned_from(loss, bias):
    """What is common to all rows is all that their inner products have digits for."""
    X = wide()
    y = labels(X)
    X[:, 0] += 1e7
    model = LinearClassifier(loss, alpha=1e-3, bias=bias, random_state=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = model.fit(X, y).result_
    problem = make_problem(X, y, loss=loss, alpha=1e-3, bias=bias)
    answer = primal(problem, result.x, result.bias)
    assert result.certificate.primal == pytest.approx(answer.value, rel=1e-9)
    converged = result.status is Status.CONVERGED
    assert converged == (result.certificate.relative_gap <= 1e-3)
    assert converged or said
    assert "+" in result.solver


@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "log", "squared_hinge", "squared"])
def test_answers_are_those_of_dual_ascent_on_all_columns(loss, bias):
    X = wide()
    y = labels(X)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, N)
    model = LinearClassifier(loss, alpha=0.01, bias=bias, tol=1e-6, random_state=0)
    model.fit(X, y, sample_weight=weights)
    problem = make_problem(X, y, loss=loss, alpha=0.01, bias=bias, sample_weight=weights)
    exact = dual_ascent.solve(problem, budget=Budget(gap=1e-7, epochs=20_000), seed=0)
    result = model.result_
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(exact.certificate.primal, rel=2e-6)
    assert np.linalg.norm(model.coef_ - exact.x) <= 0.01 * np.linalg.norm(exact.x)


@pytest.mark.parametrize("alpha", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("loss", ["squared", "huber", "absolute"])
def test_the_certificate_is_that_of_the_rows_as_they_were(loss, alpha):
    X = wide(noise=0.01)
    X[7] = X[3]
    y = X @ np.random.default_rng(1).normal(size=D)
    y += 0.1 * y.std() * np.random.default_rng(2).standard_t(3.0, size=N)
    y /= y.std()
    model = LinearRegressor(loss, alpha=alpha, bias="none", tol=1e-3, random_state=0).fit(X, y)
    problem, result = make_problem(X, y, loss=loss, alpha=alpha, bias="none"), model.result_
    assert result.status is Status.CONVERGED
    assert len(result.x) == D
    found, certificate = primal(problem, result.x, 0.0).value, result.certificate
    assert certificate.primal == pytest.approx(found, rel=1e-12)
    assert certificate.dual == pytest.approx(dual(problem, result.p).value, rel=1e-12)
    assert -1e-12 <= certificate.relative_gap <= 1e-3


def test_wide_rows_take_few_passes_where_dual_ascent_would_not_end():
    """What is left of rows that factors move needs weights a thousand times as large."""
    X = wide(noise=0.01)
    y = labels(X)
    model = LinearClassifier("squared_hinge", alpha=1e-6, bias="none", random_state=0).fit(X, y)
    assert model.result_.status is Status.CONVERGED
    problem = make_problem(X, y, loss="squared_hinge", alpha=1e-6)
    slow = dual_ascent.solve(problem, budget=Budget(gap=1e-3, epochs=300), seed=0)
    assert slow.certificate.relative_gap > 0.5


def test_when_it_is_done():
    problem = make_problem(wide(), labels(wide()), loss="hinge", alpha=1e-3)
    budget = Budget(gap=1e-3, epochs=100)
    assert choose.merge([problem], "auto", budget) is not None
    assert choose.merge([problem], "dual", budget) is not None
    assert choose.merge([problem], "asgd", budget) is None
    assert choose.merge([problem], "auto", Budget(gap=1e-3, epochs=3)) is None
    assert choose.merge([problem], "auto", Budget(gap=1e-3, reads=10**9)) is None
    assert choose.merge([problem], "auto", Budget(gap=1e-3, epochs=100, seconds=1e-4)) is None
    sharp = make_problem(wide(), labels(wide()), loss="hinge", alpha=1e-3, p=1.5)
    assert choose.merge([sharp], "auto", budget) is None


def test_a_start_and_classes_and_a_path():
    X = wide()
    rng = np.random.default_rng(4)
    y = np.argmax(X @ rng.normal(size=(D, 3)), axis=1)
    many = LinearClassifier("squared_hinge", alpha=1e-3, tol=1e-5, random_state=0).fit(X, y)
    for k in range(3):
        one = LinearClassifier("squared_hinge", alpha=1e-3, tol=1e-5, random_state=0)
        one.fit(X, np.where(y == k, 1, -1))
        gap = np.linalg.norm(many.coef_[k] - one.coef_.ravel())
        assert gap <= 0.01 * np.linalg.norm(one.coef_)
    z = labels(X)
    path = regularization_path(X, z, alphas=[1e-2, 1e-3], loss="log", tol=1e-6)
    for alpha, coef in zip(path.alphas, path.coefs, strict=True):
        one = LinearClassifier("log", alpha=alpha, tol=1e-6, random_state=0).fit(X, z)
        assert np.linalg.norm(coef - one.coef_) <= 0.01 * np.linalg.norm(one.coef_)
    model = LinearClassifier("log", alpha=1e-3, tol=1e-8, warm_start=True, random_state=0).fit(X, z)
    before = model.coef_.copy()
    model.fit(X, z)
    assert np.linalg.norm(model.coef_ - before) <= 1e-3 * np.linalg.norm(before)


def test_reads_and_seconds_of_the_way_back_count():
    X = wide(200, 20_000)
    y = labels(X)
    began = time.perf_counter()
    model = LinearClassifier("hinge", alpha=1e-3, random_state=0).fit(X, y)
    spent = time.perf_counter() - began
    assert model.result_.reads.certificate >= 3 * X.size
    assert 0.3 * spent < model.result_.seconds <= spent


def test_an_interrupt_in_the_products_leaves_the_answer_so_far(monkeypatch):
    def interrupted(rows):
        raise KeyboardInterrupt

    monkeypatch.setattr(choose, "spanned", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        model = LinearClassifier("hinge", alpha=1e-3, random_state=0).fit(wide(), labels(wide()))
    assert model.result_.status is Status.INTERRUPTED
    with pytest.warns(UserWarning, match="interrupted"):
        path = regularization_path(wide(), labels(wide()), loss="hinge", alphas=[1e-2, 1e-3])
    assert len(path.alphas) == 1


def test_memory_is_that_of_the_inner_products():
    X = wide(200, 20_000)
    tracemalloc.start()
    few = spanned(as_rows(X))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert few.rows.values.shape == (200, 200)
    assert peak < 8 * (2 * 200**2 + 2.2 * (1 << 18)) + 100_000
