"""Mirror-prox: against its definition and exact margins, with exact reads."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from margins import exact_margin, holds, make_cap, make_margin
from skimlearn import Oracle, Status
from skimlearn.data.columns import as_matrix
from skimlearn.sampling.simplex import capped_softmax
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.mirror_prox import mirror_prox


def solve(X, y, *, cap=1.0, bias=False, start=None, callback=None, **limits):
    source = X if isinstance(X, Oracle) else as_matrix(X)
    return mirror_prox(
        source, y, cap=cap, bias=bias, limits=Limits(**limits), start=start, callback=callback
    )


@pytest.mark.parametrize("cap", [1.0, 0.2])
def test_bounds_are_those_of_the_definition(cap):
    X, y = make_margin(3, n=20, d=4)
    A = y[:, None] * X
    R = np.linalg.norm(A, axis=1).max()
    weights = np.clip(1 - cap * np.arange(20), 0, cap)
    x, logs, p = np.zeros(4), np.zeros(20), np.full(20, 1 / 20)
    xs, ps, lower, upper = [], [], [0.0], [np.linalg.norm(A.T @ p)]  # of the start, to begin with
    for _ in range(7):
        x_ahead = x + A.T @ p / R
        x_ahead /= max(1, np.linalg.norm(x_ahead))
        p_ahead = capped_softmax(logs - A @ x / R, cap)
        x = x + A.T @ p_ahead / R
        x /= max(1, np.linalg.norm(x))
        p = capped_softmax(logs - A @ x_ahead / R, cap)
        logs = np.log(p)
        xs.append(x_ahead)
        ps.append(p_ahead)
        mean = np.mean(xs, axis=0)
        lower.append(weights @ np.sort(A @ mean / np.linalg.norm(mean)))
        upper.append(np.linalg.norm(A.T @ np.mean(ps, axis=0)))
    seen = []
    result = solve(X, y, cap=cap, eps=1e-9, max_steps=7, callback=seen.append)
    lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper)
    np.testing.assert_allclose([r.primal for r in seen[:7]], lower[1:], rtol=1e-9, atol=1e-12 * R)
    np.testing.assert_allclose([r.dual for r in seen[:7]], upper[1:], rtol=1e-9)
    assert result.reads.nnz == 14 * A.size


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_bounds_bracket_the_margin_and_close(seed, bias):
    X, y = make_margin(seed)
    cap = make_cap(seed, len(y))
    value, R = exact_margin(X, y, cap, bias)
    source = sp.csr_array(X) if seed % 2 else X
    result = solve(source, y, cap=cap, bias=bias, eps=0.02 * R, max_steps=5000)
    holds(result, X, y, cap, bias)
    certificate = result.certificate
    assert certificate.lower - 1e-6 * R <= value <= certificate.upper + 1e-6 * R
    assert result.status is Status.CONVERGED


def test_the_gap_falls_with_the_steps():
    X, y = make_margin(7, n=300, d=40)
    gaps = [solve(X, y, eps=1e-12, max_steps=t).certificate.gap for t in (50, 800)]
    assert gaps[1] < gaps[0] / 8  # the theorem says 16, in the worst case


@pytest.mark.parametrize("limit", [0, 359, 360, 719, 720, 2000])
def test_the_limit_of_reads_holds(limit):
    X, y = make_margin(2, n=30, d=12)
    oracle = Oracle(X.shape, row=lambda i: X[i], column=lambda j: X[:, j], cache_bytes=0)
    for source in (X, oracle):
        result = solve(source, y, eps=1e-9, max_reads=limit)
        assert result.status is Status.READS
        assert result.reads.nnz <= limit
        assert math.isfinite(result.certificate.gap) == (limit >= 360)
    assert oracle.reads == result.reads.nnz
    assert solve(X, y, eps=1e-9, max_reads=limit).reads.nnz == limit // 360 * 360


def test_a_good_start_ends_at_once():
    X, y = make_margin(7, n=100, d=10)
    R = np.linalg.norm(X, axis=1).max()
    cold = solve(X, y, cap=0.05, bias=True, eps=0.01 * R)
    warm = solve(X, y, cap=0.05, bias=True, eps=0.02 * R, start=(cold.x, cold.p))
    assert warm.reads.nnz == 2 * X.size


def test_seconds_callbacks_and_a_zero_matrix():
    X, y = make_margin(2, n=30, d=12)
    assert solve(X, y, eps=1e-12, max_seconds=0.02).status is Status.SECONDS
    assert solve(X, y, eps=1e-12, callback=lambda record: True).status is Status.STOPPED
    zero = solve(np.zeros((3, 2)), np.array([1.0, -1.0, 1.0]), bias=True, eps=1e-9)
    assert zero.certificate.primal == zero.certificate.dual == 0.0


@pytest.mark.pure_python
def test_a_margin_in_plain_python():
    X, y = make_margin(1, n=8, d=3)
    holds(solve(X, y, cap=0.5, bias=True, eps=1e-9, max_steps=10), X, y, 0.5, True)
