"""Pairwise Frank-Wolfe: against SLSQP and closed forms, to ten digits."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from skimlearn import Status
from skimlearn.solvers.frank_wolfe import pairwise_frank_wolfe


def exact(A, b, cap):
    n = len(b)
    scale = max(np.abs(b).max(), np.sum(A * A, axis=1).max())
    A, b = A / np.sqrt(scale), b / scale
    found = minimize(
        lambda p: p @ b + np.sum((A.T @ p) ** 2),
        np.full(n, 1 / n),
        jac=lambda p: b + 2 * A @ (A.T @ p),
        bounds=[(0, cap)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(n)},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    return found.fun * scale, scale


@pytest.mark.parametrize("seed", range(30))
def test_it_finds_the_optimum_to_ten_digits(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 25, size=2)
    A = (rng.normal(size=(n, d)) + rng.normal(size=d)) * 10.0 ** rng.integers(-2, 3)
    b = np.zeros(n) if seed % 3 else rng.normal(size=n) * np.sum(A * A, axis=1).mean()
    cap = 1.0 if seed % 2 else min(1.0, 2.5 / n)
    value, scale = exact(A, b, cap)
    result = pairwise_frank_wolfe(
        sp.csr_array(A) if seed % 5 == 0 else A, b, cap=cap, eps=1e-10 * scale
    )
    assert result.status is Status.CONVERGED
    certificate, p = result.certificate, result.p
    assert certificate.gap <= 1e-10 * scale
    assert certificate.lower - 1e-8 * scale <= value <= certificate.upper + 1e-8 * scale
    assert p.min() >= 0.0
    assert p.max() <= cap * (1 + 1e-12)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    assert certificate.primal == pytest.approx(p @ b + np.sum((A.T @ p) ** 2), abs=1e-13 * scale)
    x = result.x
    weights = np.clip(1 - cap * np.arange(n), 0, cap)
    dual = weights @ np.sort(b + 2 * A @ x) - x @ x
    assert certificate.dual == pytest.approx(dual, abs=1e-12 * scale)


@pytest.mark.parametrize("seed", range(20))
def test_a_step_moves_the_worst_pair_as_far_as_is_best(seed):
    rng = np.random.default_rng(seed)  # one step at a time: the next may begin with a tie
    A, b, cap = rng.normal(size=(15, 4)), 10 * rng.normal(size=15), 0.25
    p = np.zeros(15)
    p[:6] = rng.permutation([0.25, 0.25, 0.25, 0.125, 0.0625, 0.0625])
    g = b + 2 * A @ (A.T @ p)
    low = np.argmin(np.where(p < cap, g, np.inf))
    high = np.argmax(np.where(p > 0, g, -np.inf))
    direction = A[low] - A[high]
    step = min((g[high] - g[low]) / (2 * direction @ direction), p[high], cap - p[low])
    after = p.copy()
    after[low] += step
    after[high] -= step
    result = pairwise_frank_wolfe(A, b, cap=cap, eps=1e-15, max_steps=1, start=p)
    np.testing.assert_allclose(result.p, after, atol=1e-12)
    value = after @ b + np.sum((A.T @ after) ** 2)
    assert result.certificate.primal == pytest.approx(value)
    assert result.status is Status.STEPS
    rows = np.count_nonzero(p) + np.count_nonzero(after) + 2  # that have weight, and the pair
    assert result.reads.nnz == 3 * A.size + rows * A.shape[1]  # two certificates and the step


def test_a_start_is_kept_and_dense_is_sparse():
    A = np.random.default_rng(1).normal(size=(40, 30)) + 0.5
    cold = pairwise_frank_wolfe(A, eps=1e-10)
    warm = pairwise_frank_wolfe(A, eps=1e-9, start=cold.p)
    assert warm.reads.nnz < cold.reads.nnz / 2
    sparse = pairwise_frank_wolfe(sp.csr_array(A.astype(np.float32)), eps=1e-10)
    np.testing.assert_allclose(sparse.p, cold.p, atol=1e-5)


@pytest.mark.parametrize(
    ("A", "value"),
    [([[3.0]], 9.0), ([[0.0, 0.0]], 0.0), (np.zeros((4, 3)), 0.0), ([[1.0], [-1.0]], 0.0),
     (np.ones((6, 2)), 2.0)],
)  # fmt: skip
def test_the_smallest_problems(A, value):
    result = pairwise_frank_wolfe(A, eps=1e-12)
    assert result.certificate.primal == pytest.approx(value, abs=1e-12)
    assert result.status in (Status.CONVERGED, Status.STALLED)


def test_it_stops_where_floating_point_ends():
    A = np.random.default_rng(1).normal(size=(40, 30)) + 0.5
    result = pairwise_frank_wolfe(A, eps=1e-300, max_steps=None)
    assert result.status in (Status.STALLED, Status.CONVERGED)  # by rounding, the gap may be 0
    assert abs(result.certificate.gap) < 1e-13


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cap": 0.1}, "cap=0.1"),
        ({"b": [0.0]}, "b must hold 3"),
        ({"start": [1.0, 1.0, 1.0]}, "distribution over the 3"),
        ({"start": [1.0, 0.0, 0.0], "cap": 0.5}, "greater than cap=0.5"),
        ({"eps": -1.0}, "eps=-1.0"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        pairwise_frank_wolfe(np.eye(3), **options)


@pytest.mark.pure_python
def test_a_program_in_plain_python():
    result = pairwise_frank_wolfe(np.eye(3), eps=1e-12)
    np.testing.assert_allclose(result.p, 1 / 3, atol=1e-6)
