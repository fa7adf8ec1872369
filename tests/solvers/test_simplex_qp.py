"""Quadratic programs over the simplex: the steps, the bounds, the reads."""

import numpy as np
import pytest
import scipy.sparse as sp

from simplex_reference import exact_qp, naive_steps
from skimlearn import Oracle, Status
from skimlearn.solvers._core_set import CoreSet
from skimlearn.solvers._simplex import COMMON, MOMENT
from skimlearn.solvers._source import as_source
from skimlearn.solvers.simplex_qp import QpRun, simplex_qp


def phi(p, A, b):
    return b @ p + ((A.T @ p) ** 2).sum()


def psi(x, A, b):
    return (b + 2.0 * (A @ x)).min() - x @ x


def make(seed):
    """A problem of random size, scale, density and linear term."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 50, size=2)
    scale = 10.0 ** rng.integers(-2, 3)
    A = scale * (rng.normal(size=(n, d)) + rng.normal(size=d))
    if seed % 3 == 0:
        A[rng.random(A.shape) < 0.7] = 0.0
    b = None if seed % 4 == 0 else scale**2 * rng.normal(size=n)
    return A, b, scale**2


# ---------------------------------------------------------------------------------------- the steps


@pytest.mark.parametrize("extras", ["none", "linear", "column", "ridge", "all"])
def test_the_steps_are_those_of_the_definition(extras):
    rng = np.random.default_rng(3)
    n, d, steps = 30, 12, 150
    A = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    b = rng.normal(size=n) if extras in ("linear", "all") else np.zeros(n)
    extra = np.sign(rng.normal(size=n)) if extras in ("column", "all") else None
    ridge = 0.7 if extras in ("ridge", "all") else 0.0
    counts, means, S, moment = naive_steps(
        A, b, steps, np.random.default_rng(8), extra=extra, ridge=ridge
    )
    run = QpRun(
        as_source(sp.csr_array(A)), np.random.default_rng(8), linear=b, extra=extra, ridge=ridge
    )
    run.advance(steps, None)
    np.testing.assert_allclose(run.state.counts, counts, rtol=1e-9)
    assert run.state.scalars[MOMENT] == pytest.approx(moment)
    x, z, q = run._mean()
    np.testing.assert_allclose(x, means["x"], rtol=1e-8, atol=1e-12)
    assert z == pytest.approx(means["z"])
    if ridge:
        np.testing.assert_allclose(q, means["P"], rtol=1e-8)
    else:
        known = steps * b + 2.0 * steps * z * (0.0 if extra is None else extra)
        scores = run.state.scores + run.state.scalars[COMMON]
        np.testing.assert_allclose(known + 2.0 * scores, S, rtol=1e-8, atol=1e-9)
    # the free bound is phi of the shares
    value, p = run._drawn()
    true = phi(p, A, b) + ridge * (p @ p) + (0.0 if extra is None else (extra @ p) ** 2)
    assert value == pytest.approx(true)


def test_dense_sparse_and_oracle_take_the_same_steps():
    A = np.random.default_rng(1).normal(size=(25, 11))
    forms = (
        A,
        np.asfortranarray(A),
        sp.csr_array(A),
        Oracle(A.shape, entry=lambda i, j: A[i, j]),
        Oracle(A.shape, row=lambda i: A[i], column=lambda j: A[:, j]),
    )
    runs = [QpRun(as_source(form), np.random.default_rng(2), linear=A[:, 0]) for form in forms]
    for run in runs:
        run.advance(200, None)
        np.testing.assert_allclose(run.state.counts, runs[0].state.counts)
        np.testing.assert_allclose(run.state.scores, runs[0].state.scores, atol=1e-12)
    assert runs[0].reads == runs[1].reads == runs[2].reads


def test_the_same_in_other_units():
    A = np.random.default_rng(1).normal(size=(25, 11))
    b = np.random.default_rng(2).normal(size=25)
    runs = []
    for unit in (1.0, 1024.0):
        run = QpRun(as_source(unit * A), np.random.default_rng(2), linear=unit**2 * b)
        run.advance(300, None)
        runs.append(run)
    np.testing.assert_array_equal(runs[0].state.counts, runs[1].state.counts)


# ------------------------------------------------------------------------------------- the bounds


@pytest.mark.parametrize("seed", range(32))
def test_the_bounds_bracket_the_minimum_and_close(seed):
    A, b, unit = make(seed)
    linear = np.zeros(len(A)) if b is None else b
    eps = unit * 10.0 ** -(1 + seed % 5)
    form = sp.csr_array(A) if seed % 2 else A
    result = simplex_qp(form, b, eps=eps, random_state=seed)
    p = exact_qp(A, linear, 1e-9 * unit)
    least, certificate = phi(p, A, linear), result.certificate
    slack = 1e-8 * unit * (1 + len(A))
    assert result.status is Status.CONVERGED
    assert certificate.gap <= eps
    assert certificate.dual - slack <= least <= certificate.primal + slack
    # the answers are what the bounds say
    assert result.p.min() >= 0.0
    assert result.p.sum() == pytest.approx(1.0)
    assert phi(result.p, A, linear) == pytest.approx(certificate.primal, rel=1e-9, abs=slack)
    assert psi(result.x, A, linear) == pytest.approx(certificate.dual, rel=1e-9, abs=slack)


@pytest.mark.parametrize("seed", range(10))
def test_the_steps_alone_close_the_gap_for_an_oracle(seed):
    A, b, unit = make(seed)
    oracle = Oracle(A.shape, row=lambda i: A[i], column=lambda j: A[:, j])
    spread = unit * (1 + (A * A).sum(axis=1).max() / unit)
    result = simplex_qp(oracle, b, eps=0.1 * spread, random_state=seed)
    assert result.status is Status.CONVERGED
    linear = np.zeros(len(A)) if b is None else b
    assert psi(result.x, A, linear) >= result.certificate.dual - 1e-9 * spread
    assert phi(result.p, A, linear) <= result.certificate.primal + 1e-9 * spread


@pytest.mark.parametrize("seed", range(6))
def test_a_known_column_and_a_ridge_are_as_good_as_columns(seed):
    rng = np.random.default_rng(seed)
    n, d, ridge = 30, 5, 0.3
    A, b, column = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=n)
    full = np.c_[A, column, np.sqrt(ridge) * np.eye(n)]
    least = phi(exact_qp(full, b), full, b)
    result = simplex_qp(A, b, eps=1e-6, extra_column=column, ridge=ridge, random_state=seed)
    certificate = result.certificate
    assert certificate.dual - 1e-9 <= least <= certificate.primal + 1e-9
    assert certificate.gap <= 1e-6
    assert phi(result.p, full, b) == pytest.approx(certificate.primal)
    assert result.bias == pytest.approx(column @ result.p, abs=1e-3)


def test_half_of_all_planned_runs_are_within_eps():
    A = np.random.default_rng(5).normal(size=(300, 40)) + 0.2
    least = phi(exact_qp(A, np.zeros(300), 1e-6), A, 0.0 * A[:, 0])
    eps = 4.0
    good = 0
    for seed in range(20):
        result = simplex_qp(A, eps=eps, mode="monte-carlo", random_state=seed)
        assert result.status is Status.PLANNED
        assert result.certificate.dual == -np.inf
        assert result.reads.certificate == 0
        good += phi(result.p, A, 0.0 * A[:, 0]) <= least + eps
    assert good >= 10


def test_promises_from_estimates_hold():
    d = 20_000  # so many columns that fewer draws are enough
    rng = np.random.default_rng(0)
    signal = np.zeros(d)
    signal[:20] = 0.3
    A = signal + rng.normal(size=(30, d)) / np.sqrt(d)
    norms = np.linalg.norm(A, axis=1)
    oracle = Oracle(A.shape, row=lambda i: A[i], column=lambda j: A[:, j], rows_norm=norms)
    least = phi(exact_qp(A, np.zeros(30)), A, np.zeros(30))
    result = simplex_qp(oracle, eps=3.0, mode="high-probability", delta=0.1, random_state=0)
    certificate = result.certificate
    assert result.status is Status.CONVERGED
    assert certificate.failure == 0.1
    assert certificate.dual <= psi(result.x, A, np.zeros(30)) <= least <= certificate.primal
    assert oracle.reads < A.size  # columns that were drawn twice are read once
    # read exactly where that is less
    exact = simplex_qp(A[:, :30], eps=0.1, mode="high-probability", random_state=0)
    assert exact.certificate.failure == 0.0


def test_rounding_ends_a_run():
    ends = set()
    for seed in range(12):
        A = np.random.default_rng(seed).normal(size=(20, 6)) + 1.0
        result = simplex_qp(A, eps=1e-300, random_state=0)
        ends.add(result.status)
        assert abs(result.certificate.gap) < 1e-12
    assert Status.STALLED in ends
    assert ends <= {Status.STALLED, Status.CONVERGED}


def test_more_rows_carry_weight_than_a_core_set_holds(monkeypatch):
    monkeypatch.setattr("skimlearn.solvers._core_set.ROOM", 8)
    monkeypatch.setattr("skimlearn.solvers._core_set.SEEDS", 4)
    A = np.random.default_rng(0).normal(size=(60, 3))
    result = simplex_qp(A, eps=1e-6, ridge=50.0, max_steps=3000, random_state=0)
    assert result.status is Status.STEPS
    full = np.c_[A, np.sqrt(50.0) * np.eye(60)]
    least = phi(exact_qp(full, np.zeros(60)), full, np.zeros(60))
    assert result.certificate.dual <= least <= result.certificate.primal
    assert result.certificate.gap < 0.5 * least


# -------------------------------------------------------------------------------------- the reads


def test_reads_are_counted_exactly():
    A = np.random.default_rng(4).normal(size=(40, 30))
    asked = {"row": 0, "column": 0}

    def row(i):
        asked["row"] += 1
        return A[i]

    def column(j):
        asked["column"] += 1
        return A[:, j]

    oracle = Oracle(A.shape, row=row, column=column, cache_bytes=0)
    result = simplex_qp(oracle, eps=1e-9, mode="monte-carlo", max_steps=500, random_state=0)
    assert result.reads.nnz == oracle.reads == 30 * asked["row"] + 40 * asked["column"]
    assert asked["column"] == 499  # there is no x in the first step
    assert asked["row"] < 250  # most steps read no row
    dense = simplex_qp(A, eps=1e-9, mode="monte-carlo", max_steps=500, random_state=0)
    assert dense.reads == result.reads


@pytest.mark.parametrize("limit", [0, 11, 12, 500, 2000])
@pytest.mark.parametrize("mode", ["las-vegas", "monte-carlo"])
def test_the_limit_of_reads_holds(limit, mode):
    A = np.random.default_rng(2).normal(size=(15, 12))
    for form in (A, sp.csr_array(A), Oracle(A.shape, entry=lambda i, j: A[i, j])):
        result = simplex_qp(
            form, eps=1e-12, mode=mode, max_reads=limit, max_steps=400, random_state=0
        )
        assert result.reads.nnz <= limit
        assert result.status in (Status.READS, Status.STALLED, Status.STEPS, Status.CONVERGED)
    first = simplex_qp(A, eps=1e-12, mode=mode, max_reads=11, random_state=0)
    assert first.status is Status.READS
    assert first.reads.nnz == 0
    np.testing.assert_allclose(first.p, 1 / 15)


# -------------------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("A", [[[3.0]], [[1.0, 2.0]], [[1.0], [2.0]], np.zeros((4, 3))])
def test_the_smallest_problems(A):
    result = simplex_qp(A, eps=1e-6, random_state=0)
    A = np.asarray(A)
    assert result.certificate.primal == pytest.approx((A**2).sum(axis=1).min(), abs=1e-5)
    assert result.status is Status.CONVERGED


def test_kinds_of_arrays(tmp_path):
    A = np.random.default_rng(6).normal(size=(50, 8)).astype(np.float32)
    wanted = simplex_qp(A, eps=1e-5, random_state=0)
    np.save(tmp_path / "A.npy", A)
    for form in (np.load(tmp_path / "A.npy", mmap_mode="r"), np.asfortranarray(A), A[::1]):
        form.flags.writeable = False
        np.testing.assert_allclose(simplex_qp(form, eps=1e-5, random_state=0).p, wanted.p)
    twice = simplex_qp(np.r_[A, A], eps=1e-5, random_state=0)  # duplicate rows change nothing
    assert twice.certificate.primal == pytest.approx(wanted.certificate.primal, abs=2e-5)


def test_nan_on_disk_is_found(tmp_path):
    A = np.random.default_rng(6).normal(size=(50, 8))
    A[:, 2] = np.nan
    np.save(tmp_path / "A.npy", A)
    with pytest.raises(ValueError, match="nan or infinite"):
        simplex_qp(np.load(tmp_path / "A.npy", mmap_mode="r"), random_state=0)
    with pytest.raises(ValueError, match="NaN"):
        simplex_qp(A)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0.0}, "eps=0.0"),
        ({"mode": "exact"}, "mode='exact' must be one of 'monte-carlo'"),
        ({"delta": 1.0}, "delta=1.0"),
        ({"ridge": -1.0}, "ridge=-1.0"),
        ({"b": [1.0]}, r"b has shape \(1,\), but A has 2 rows"),
        ({"b": [1.0, np.nan]}, r"b\[1\]"),
        ({"extra_column": [1.0, 2.0, 3.0]}, "extra_column has shape"),
        ({"max_reads": -1}, "max_reads=-1"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        simplex_qp([[0.0, 1.0], [1.0, 0.0]], **options)


def test_limits_of_steps_and_seconds():
    A = np.random.default_rng(5).normal(size=(300, 30))
    steps = simplex_qp(A, eps=1e-12, mode="monte-carlo", max_steps=77, random_state=0)
    assert steps.status is Status.STEPS
    assert steps.history[-1].epoch == 77
    seconds = simplex_qp(A, eps=1e-12, mode="monte-carlo", max_seconds=0.05, random_state=0)
    assert seconds.status is Status.SECONDS


@pytest.mark.parametrize("seed", range(5))
def test_a_core_set_grows_and_shrinks(seed):
    rng = np.random.default_rng(seed)
    points, b = rng.normal(size=(30, 10)), rng.normal(size=30)
    core = CoreSet(room=32)
    for start in range(0, 30, 7):
        stop = min(start + 7, 30)
        core.grow(
            points[start:stop] @ points[:stop].T,
            b[start:stop],
            np.full(stop - start, float(start == 0) / 7.0),
        )
    core.solve(1e-12)
    p = exact_qp(points, b)
    np.testing.assert_allclose(core.weights, p, atol=1e-5)
    kept = core.shrink()
    assert core.size == len(kept) < 30
    assert (core.weights > 0.0).all()
    core.solve(1e-12)
    np.testing.assert_allclose(core.weights, p[kept], atol=1e-5)


@pytest.mark.pure_python
def test_a_program_in_plain_python():
    A = [[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]
    result = simplex_qp(A, eps=1e-6, random_state=0)
    np.testing.assert_allclose(result.p, [0.8, 0.2, 0.0], atol=1e-3)
