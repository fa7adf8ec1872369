"""The working set: exact margins and QPs in a few passes, with exact reads, on every source."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import NuSVC

from margins import exact_margin, holds, make_cap, make_margin
from skimlearn import Oracle, Status
from skimlearn.data.columns import as_matrix
from skimlearn.solvers import working_set as module
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.frank_wolfe import pairwise_frank_wolfe
from skimlearn.solvers.working_set import working_set, working_set_qp


def solve(X, y, *, cap=1.0, bias=False, start=None, callback=None, **limits):
    source = X if isinstance(X, Oracle) else as_matrix(X)
    return working_set(
        source, y, cap=cap, bias=bias, limits=Limits(**limits), start=start, callback=callback
    )


def overlapping(n, d):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(n, d))
    X[:, 0] += 1.5 * y
    return X, y


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_it_finds_the_margin_exactly(seed, bias):
    X, y = make_margin(seed)
    cap = make_cap(seed, len(y))
    value, R = exact_margin(X, y, cap, bias)
    source = sp.csr_array(X) if seed % 2 else X
    result = solve(source, y, cap=cap, bias=bias, eps=1e-7 * R, max_steps=50)
    holds(result, X, y, cap, bias)
    assert result.status is Status.CONVERGED
    assert result.certificate.lower - 1e-6 * R <= value <= result.certificate.upper + 1e-6 * R


@pytest.mark.parametrize("nu", [0.31, 0.5])
def test_it_is_a_nu_svm(nu):
    """The weights of NuSVC, divided by their sum, are optimal: another program, the same answer."""
    X, y = overlapping(80, 5)
    svm = NuSVC(nu=nu, kernel="linear", tol=1e-8).fit(X, y)
    cap = 1.0 / (nu * len(y))
    result = solve(X, y, cap=cap, bias=True, eps=1e-8)
    assert result.status is Status.CONVERGED
    theirs = svm.coef_[0] / np.linalg.norm(svm.coef_)
    np.testing.assert_allclose(result.x, theirs, atol=1e-4)
    assert result.bias == pytest.approx(svm.intercept_[0] / np.linalg.norm(svm.coef_), abs=1e-4)


@pytest.mark.parametrize("seed", range(30))
def test_it_solves_quadratic_programs_exactly(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 60, size=2)
    A = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3)
    R2 = np.sum(A * A, axis=1).max()
    b = -np.sum(A * A, axis=1) if seed % 2 else R2 * rng.normal(size=n)
    cap = 1.0 if seed % 3 else min(1.0, 3.0 / n)
    exact = pairwise_frank_wolfe(A, b, cap=cap, eps=1e-10 * R2).certificate
    source = sp.csr_array(A) if seed % 5 == 0 else A
    result = working_set_qp(as_matrix(source), b, cap=cap, limits=Limits(eps=1e-8 * R2))
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(exact.primal, abs=1e-8 * R2)
    p, x = result.p, result.x
    assert p @ b + np.sum((A.T @ p) ** 2) == pytest.approx(result.certificate.primal)
    weights = np.clip(1 - cap * np.arange(n), 0, cap)
    assert weights @ np.sort(b + 2 * A @ x) - x @ x == pytest.approx(
        result.certificate.dual, abs=1e-11 * R2
    )


@pytest.mark.parametrize(("new", "largest"), [(1, 4), (3, 12), (50, 2000)])
def test_small_working_sets_only_take_longer(monkeypatch, new, largest):
    monkeypatch.setattr(module, "NEW", new)
    monkeypatch.setattr(module, "LARGEST", largest)
    X, y = overlapping(200, 8)
    R = np.linalg.norm(X, axis=1).max()
    result = solve(X, y, cap=1.0 / 60, bias=True, eps=1e-4 * R, max_steps=5000)
    assert result.status is Status.CONVERGED
    assert (len(result.history) < 6) == (new == 50)
    assert result.certificate.primal == pytest.approx(0.5338, abs=2e-4 * R)


def test_a_few_passes_are_enough():
    X, y = make_margin(7, n=2000, d=50)
    R = np.linalg.norm(X, axis=1).max()
    for cap in (1.0, 1.0 / 200):
        for bias in (False, True):
            result = solve(X, y, cap=cap, bias=bias, eps=1e-7 * R)
            assert result.status is Status.CONVERGED
            assert result.reads.nnz < 20 * X.size


def test_all_sources_give_the_same():
    X, y = make_margin(1, n=40, d=12)
    X = X.astype(np.float32)
    asked = []

    def row(i):
        asked.extend((i, j) for j in range(12))
        return X[i]

    oracle = Oracle(X.shape, row=row, column=lambda j: X[:, j], cache_bytes=0)
    results = [
        solve(form, y, cap=0.1, bias=True, eps=1e-8) for form in (X, sp.csr_array(X), oracle)
    ]
    for result in results:
        np.testing.assert_allclose(result.x, results[0].x, rtol=1e-5, atol=1e-6)
        assert result.reads == results[0].reads
    assert results[2].reads.nnz == len(asked) == oracle.reads


@pytest.mark.parametrize("limit", [0, 359, 360, 1439, 1440, 1700])
def test_the_limit_of_reads_holds(limit):
    X, y = make_margin(2, n=30, d=12)
    oracle = Oracle(X.shape, row=lambda i: X[i], column=lambda j: X[:, j], cache_bytes=0)
    for source in (X, oracle):
        result = solve(source, y, eps=1e-12, max_reads=limit)
        assert result.status is Status.READS
        assert result.reads.nnz <= limit
        assert math.isfinite(result.certificate.gap) == (limit >= 1440)  # four passes
    assert oracle.reads == result.reads.nnz


def test_a_start_saves_passes_and_need_not_be_feasible():
    X, y = make_margin(7, n=100, d=10)
    R = np.linalg.norm(X, axis=1).max()
    options = {"cap": 0.05, "bias": True, "eps": 1e-7 * R}
    cold = solve(X, y, **options)
    warm = solve(X, y, start=cold.p, **options)
    assert warm.reads.nnz == 2 * X.size
    far = solve(X, y, start=np.eye(100)[3], **options)
    assert far.status is Status.CONVERGED
    with pytest.raises(ValueError, match="100 weights"):
        solve(X, y, start=np.ones(3), **options)


def test_it_stops_where_floating_point_ends():
    X, y = make_margin(7, n=100, d=10)
    result = solve(X, y, cap=0.05, bias=True, eps=1e-300, max_steps=200)
    assert result.status in (Status.STALLED, Status.CONVERGED)  # by rounding, the gap may be 0
    assert abs(result.certificate.gap) <= 1e-12 * np.linalg.norm(X, axis=1).max()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[3.0]], [1.0]),
        ([[1.0, 2.0]], [-1.0]),
        (np.zeros((4, 3)), [1.0, -1.0, 1.0, 1.0]),
        (np.ones((5, 2)), [1.0, 1.0, 1.0, -1.0, -1.0]),
    ],
)
def test_the_smallest_problems(X, y, bias):
    X, y = np.asarray(X), np.asarray(y)
    result = solve(X, y, bias=bias, eps=1e-9)
    holds(result, X, y, 1.0, bias)
    assert result.status is Status.CONVERGED


@pytest.mark.pure_python
def test_a_margin_in_plain_python():
    X, y = make_margin(1, n=8, d=3)
    holds(solve(X, y, cap=0.5, bias=True, eps=1e-9), X, y, 0.5, True)
