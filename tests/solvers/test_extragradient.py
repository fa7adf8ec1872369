"""Variance-reduced extragradient: step by step, against exact margins and QPs, on every source."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from margins import exact_margin, holds, make_cap, make_margin
from skimlearn import Oracle, Status
from skimlearn.data.columns import Matrix, as_matrix
from skimlearn.sampling.simplex import capped_softmax
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.extragradient import extragradient
from skimlearn.solvers.extragradient_qp import extragradient_qp
from skimlearn.solvers.frank_wolfe import pairwise_frank_wolfe


def solve(X, y, *, cap=1.0, bias=False, seed=0, start=None, callback=None, **limits):
    source = X if isinstance(X, (Oracle, Matrix)) else as_matrix(X)
    return extragradient(
        source, y, cap=cap, bias=bias, limits=Limits(**limits), rng=np.random.default_rng(seed),
        start=start, callback=callback,
    )  # fmt: skip


def pick(weights, u):
    return int(np.searchsorted(np.cumsum(weights), u * weights.sum(), side="right"))


def naive(A, cap, epochs, rng, *, b=None):
    """Section 15.2 (or 15.3, with b) in dense numpy: R and all snapshots."""
    n, d = A.shape
    R = np.linalg.norm(A, axis=1).max()
    A = A / R
    h = np.zeros(n) if b is None else (b - b.min()) / (2 * R**2)
    K = max(2, round(n * d / (n + d)))
    eagerness, last = 3.0, math.inf
    x, log_p = np.zeros(d), np.full(n, -math.log(n))
    X, P, L = x, np.full(n, 1 / n), log_p
    snapshots = []
    for _ in range(epochs):
        snapshots.append((X, P))
        gx, gp = A.T @ P, A @ X + h
        s = np.sort(gp)
        weights = np.clip(1 - cap * np.arange(n), 0, cap)
        if b is None:
            gap = np.linalg.norm(gx) - weights @ s
            step_x = step_p = 0.99 / math.sqrt(K)
        else:  # in units of R^2
            gap = (2 * P @ h + gx @ gx) - (2 * weights @ s - X @ X)
            a = 1 / math.sqrt(2 * math.log(n))
            step_x, step_p = a * 0.99 / math.sqrt(K), 0.99 / math.sqrt(K) / a
        eagerness = min(max(eagerness * (0.7 if gap > last else 1.05), 1.0), 3.0)
        last = gap
        step_x, step_p = eagerness * step_x, eagerness * step_p

        def prox(z, step_x=step_x):
            return z / max(1.0, np.linalg.norm(z)) if b is None else z / (1 + step_x)

        xs, ps, logs = [], [], []
        for _ in range(K):
            u = rng.random(2)
            cx, cl = (1 - 1 / K) * x + X / K, (1 - 1 / K) * log_p + L / K
            dp = capped_softmax(cl - step_p * gp, cap) - P
            dx = prox(cx + step_x * gx) - X
            Gx, Gp = gx, gp
            if np.abs(dp).sum() > 1e-15:
                i = pick(np.abs(dp), u[0])
                Gx = gx + A[i] * np.sign(dp[i]) * np.abs(dp).sum()
            if dx @ dx > 1e-30:
                j = pick(dx * dx, u[1])
                Gp = gp + np.clip(A[:, j] * (dx @ dx) / dx[j], -1 / step_p, 1 / step_p)
            x = prox(cx + step_x * Gx)
            log_p = np.log(capped_softmax(cl - step_p * Gp, cap))
            xs.append(x)
            ps.append(np.exp(log_p))
            logs.append(log_p)
        X, P, L = np.mean(xs, axis=0), np.mean(ps, axis=0), np.mean(logs, axis=0)
    return R, snapshots


@pytest.mark.parametrize("cap", [1.0, 0.06])
def test_each_step_is_that_of_the_naive_version(cap):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    X = 7.0 * (rng.normal(size=(60, 30)) + 0.4 * y[:, None])
    A = y[:, None] * X
    _, snapshots = naive(A, cap, 4, np.random.default_rng(5))
    bounds = []
    for x, p in snapshots:
        c = np.sort(A @ x / max(np.linalg.norm(x), 1e-300))
        value = np.clip(1 - cap * np.arange(60), 0, cap) @ c
        bounds.append((max(value, 0.0), np.linalg.norm(A.T @ p)))
    best = np.array([(max(b[0] for b in bounds[: k + 1]), min(b[1] for b in bounds[: k + 1]))
                     for k in range(4)])  # fmt: skip
    for epochs in range(1, 5):
        reads = (2 * epochs - 1) * A.size  # 20 steps of 90 entries are as long as a pass
        result = solve(X, y, cap=cap, seed=5, eps=1e-9, max_reads=reads)
        found = (result.certificate.primal, result.certificate.dual)
        np.testing.assert_allclose(found, best[epochs - 1], rtol=1e-8)


def test_each_step_of_the_quadratic_program_is_that_of_the_naive_version():
    rng = np.random.default_rng(0)
    A, b = 3.0 * rng.normal(size=(60, 30)) + 1.0, rng.normal(size=60)
    R, snapshots = naive(A, 0.2, 3, np.random.default_rng(5), b=b)
    values = [p @ b + np.sum((A.T @ p) ** 2) for _, p in snapshots]
    duals = [
        np.clip(1 - 0.2 * np.arange(60), 0, 0.2) @ np.sort(b + 2 * A @ (R * x)) - R**2 * (x @ x)
        for x, _ in snapshots
    ]
    result = extragradient_qp(
        as_matrix(A), b, cap=0.2, limits=Limits(eps=1e-9, max_reads=5 * A.size),
        rng=np.random.default_rng(5),
    )  # fmt: skip
    assert result.certificate.primal == pytest.approx(min(values), rel=1e-8)
    assert result.certificate.dual == pytest.approx(max(duals), rel=1e-8)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_bounds_bracket_the_margin_and_close(seed, bias):
    X, y = make_margin(seed)
    cap = make_cap(seed, len(y))
    value, R = exact_margin(X, y, cap, bias)
    source = sp.csr_array(X) if seed % 2 else X
    result = solve(source, y, cap=cap, bias=bias, seed=seed, eps=0.02 * R, max_steps=20_000)
    holds(result, X, y, cap, bias)
    certificate = result.certificate
    assert certificate.lower - 1e-6 * R <= value <= certificate.upper + 1e-6 * R
    assert result.status is Status.CONVERGED
    assert certificate.gap <= 0.02 * R


@pytest.mark.parametrize("seed", range(30))
def test_bounds_bracket_the_quadratic_program_and_close(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 40, size=2)
    A = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3)
    ball = seed % 2 == 0
    R2 = np.sum(A * A, axis=1).max()
    b = -np.sum(A * A, axis=1) if ball else R2 * rng.normal(size=n)
    cap = 1.0 if seed % 3 else min(1.0, 3.0 / n)
    exact = pairwise_frank_wolfe(A, b, cap=cap, eps=1e-9 * R2).certificate
    result = extragradient_qp(
        as_matrix(A), b, cap=cap, limits=Limits(eps=0.01 * R2, max_steps=50_000),
        rng=np.random.default_rng(seed),
    )  # fmt: skip
    assert result.status is Status.CONVERGED
    assert result.certificate.lower <= exact.upper + 1e-12 * R2
    assert result.certificate.upper >= exact.lower - 1e-12 * R2
    p, x = result.p, result.x
    assert p @ b + np.sum((A.T @ p) ** 2) == pytest.approx(result.certificate.primal)
    weights = np.clip(1 - cap * np.arange(n), 0, cap)
    assert weights @ np.sort(b + 2 * A @ x) - x @ x == pytest.approx(result.certificate.dual)
    assert p.max() <= cap * (1 + 1e-9)


def test_a_tenth_of_the_gap_costs_no_more_than_ten_times_the_reads():
    X, y = make_margin(7, n=400, d=100)
    R = np.linalg.norm(X, axis=1).max()
    reads = [solve(X, y, cap=0.05, eps=e * R, max_reads=1e9).reads.nnz for e in (1e-2, 1e-3)]
    assert reads[0] < 200 * X.size
    assert reads[1] < 10 * reads[0]


# ------------------------------------------------------------------------------- sources and reads


def recording(X):
    asked = []

    def row(i):
        asked.extend((i, j) for j in range(X.shape[1]))
        return X[i]

    def column(j):
        asked.extend((i, j) for i in range(X.shape[0]))
        return X[:, j]

    return asked, Oracle(X.shape, row=row, column=column, cache_bytes=0)


@pytest.mark.parametrize("bias", [False, True])
def test_all_sources_take_the_same_steps(bias, tmp_path):
    X, y = make_margin(1, n=30, d=12)
    X = X.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    asked, oracle = recording(X.astype(np.float64))
    forms = [X, np.asfortranarray(X), sp.csr_array(X), oracle, np.load(tmp_path / "X.npy", "r")]
    results = [
        solve(form, y, cap=0.2, bias=bias, seed=3, eps=1e-12, max_steps=60) for form in forms
    ]
    for result in results:
        np.testing.assert_allclose(result.x, results[0].x, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(result.p, results[0].p, rtol=1e-6, atol=1e-9)
        assert result.reads == results[0].reads
    assert results[3].reads.nnz == len(asked) == oracle.reads


@pytest.mark.parametrize("limit", [0, 359, 360, 400, 402, 1000, 2000])
def test_the_limit_of_reads_holds_to_the_entry(limit):
    X, y = make_margin(2, n=30, d=12)
    asked, oracle = recording(X)
    for source in (X, oracle):
        result = solve(source, y, seed=1, eps=1e-9, max_reads=limit)
        assert result.status is Status.READS
        assert result.reads.nnz <= limit < result.reads.nnz + 360
        assert math.isfinite(result.certificate.gap) == (limit >= 360)
    assert len(asked) <= limit


def test_sparse_passes_count_stored_entries():
    X = sp.random_array((50, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    y = np.ones(50)
    result = solve(X, y, eps=1e-9, max_reads=X.nnz)
    assert result.reads.nnz == X.nnz
    assert result.reads.dense == 2000


# ------------------------------------------------------------------------------------ start, limits


def test_a_good_start_saves_reads():
    X, y = make_margin(7, n=200, d=50)
    R = np.linalg.norm(X, axis=1).max()
    cold = solve(X, y, cap=0.05, bias=True, eps=1e-3 * R)
    warm = solve(X, y, cap=0.05, bias=True, eps=1e-2 * R, start=(cold.x, cold.p))
    assert warm.reads.nnz == X.size  # the pass that certifies it
    np.testing.assert_allclose(warm.x, cold.x, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cap": 0.01}, "cap=0.01"),
        ({"start": (np.zeros(3), np.ones(10) / 10)}, "vector x of 4"),
        ({"start": (np.zeros(4), -np.ones(10))}, "10 weights"),
        ({"eps": 0.0}, "eps=0.0"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y = make_margin(1, n=10, d=4)
    with pytest.raises(ValueError, match=message):
        solve(X, y, **{"eps": 0.1, **options})


def test_bad_labels_and_entries_are_named(tmp_path):
    X, y = make_margin(1, n=10, d=4)
    with pytest.raises(ValueError, match=r"labels must be \+1 and -1"):
        solve(X, np.arange(10.0), eps=0.1)
    with pytest.raises(ValueError, match="one label for each"):
        solve(X, y[:3], eps=0.1)
    with pytest.raises(ValueError, match="b must hold 10 finite"):
        extragradient_qp(
            as_matrix(X), np.full(10, np.nan), limits=Limits(eps=1), rng=np.random.default_rng(0)
        )
    X[3, 2] = np.nan
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="NaN"):  # on disk: found when it is read
        solve(np.load(tmp_path / "X.npy", "r"), y, eps=0.1)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[3.0]], [1.0]),
        ([[3.0], [-2.0]], [1.0, -1.0]),
        ([[1.0, 2.0]], [-1.0]),
        (np.zeros((4, 3)), [1.0, -1.0, 1.0, 1.0]),
        (np.ones((5, 2)), [1.0, 1.0, 1.0, -1.0, -1.0]),
    ],
)
def test_the_smallest_problems(X, y, bias):
    X, y = np.asarray(X), np.asarray(y)
    result = solve(X, y, bias=bias, eps=1e-3, max_steps=50_000)
    holds(result, X, y, 1.0, bias)
    assert result.status is Status.CONVERGED


def test_steps_seconds_and_callbacks_end_a_run():
    X, y = make_margin(2, n=30, d=12)
    assert solve(X, y, eps=1e-12, max_steps=33).status is Status.STEPS
    assert solve(X, y, eps=1e-12, max_steps=0).reads.nnz == 0
    assert solve(X, y, eps=1e-12, max_seconds=0.05).status is Status.SECONDS
    assert (
        solve(X, y, eps=1e-12, callback=lambda record: record.epoch > 50).status is Status.STOPPED
    )
    assert solve(X, y, eps=1e5).reads.nnz == X.size


@pytest.mark.pure_python
def test_a_margin_in_plain_python():
    X, y = make_margin(1, n=8, d=3)
    result = solve(X, y, cap=0.5, bias=True, eps=1e-9, max_steps=30)
    holds(result, X, y, 0.5, True)
