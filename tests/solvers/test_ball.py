"""Balls around all rows or most of them: the steps, the bounds, invariance, the reads."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from simplex_reference import exact_radius, naive_steps
from skimlearn import Oracle, Status
from skimlearn.data.inspection import as_rows
from skimlearn.solvers._source import as_source
from skimlearn.solvers.ball import (
    BallRun,
    _about_a_reference,
    enclosing_ball,
    exact_norms,
    squared_distances,
)
from skimlearn.solvers.soft_ball import soft_ball


def begin(X, seed):
    """A run before its first step."""
    source, rng = as_source(X), np.random.default_rng(seed)
    origin, squares, _, _ = _about_a_reference(source, rng, None)
    return BallRun(source, rng, linear=-squares, origin=origin, longest=squares.max())


def make(seed):
    """Points of random number, dimension, scale, place and density."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 60, size=2)
    X = 10.0 ** rng.integers(-3, 4) * rng.normal(size=(n, d)) * rng.random((n, 1))
    if seed % 3 == 0:
        X[rng.random(X.shape) < 0.8] = 0.0
    elif seed % 3 == 1:
        X += 100.0 * np.abs(X).max()
    return X


def greatest_square(X, c):
    return ((X - c) ** 2).sum(axis=1).max()


# ---------------------------------------------------------------------------------------- the steps


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_steps_are_those_of_the_definition(form):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 12)) * (rng.random((30, 12)) < 0.5) + 0.1
    X[:, 5:] = 0.0
    run = begin(form(X), 8)
    generator = np.random.default_rng(8)
    A = X - X[generator.choice(30, size=16, replace=False)].mean(axis=0)
    squares = (A * A).sum(axis=1)
    np.testing.assert_allclose(-run.linear, squares)
    counts, means, _, _ = naive_steps(A, -squares, 150, generator, longest=squares.max())
    run.advance(150, None)
    np.testing.assert_allclose(run.state.counts, counts, rtol=1e-9)
    np.testing.assert_allclose(run._mean()[0], means["x"], rtol=1e-7, atol=1e-10)
    p = counts / counts.sum()
    assert -run._drawn()[0] == pytest.approx(p @ squares - ((A.T @ p) ** 2).sum())


def test_the_same_wherever_the_points_lie_and_in_any_unit():
    X = np.round(np.random.default_rng(0).normal(size=(60, 7)), 3)
    wanted = begin(X, 1)
    wanted.advance(400, None)
    for unit, shift in ((1024.0, 0.0), (1.0, 512.0), (2.0**-9, 3.0)):
        run = begin(unit * X + shift, 1)
        run.advance(400, None)
        np.testing.assert_allclose(run.state.counts, wanted.state.counts)
        x = (run._mean()[0] + run.origin - shift) / unit
        np.testing.assert_allclose(x, wanted._mean()[0] + wanted.origin, atol=1e-8)


def test_dense_sparse_and_oracle_take_the_same_steps():
    X = np.random.default_rng(1).normal(size=(25, 11))
    X[X < 0.3] = 0.0
    forms = (X, sp.csr_array(X), Oracle(X.shape, entry=lambda i, j: X[i, j]))
    runs = [begin(form, 2) for form in forms]
    for run in runs:
        run.advance(300, None)
        np.testing.assert_allclose(run.state.counts, runs[0].state.counts)
        np.testing.assert_allclose(run.state.scores, runs[0].state.scores, atol=1e-10)


@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_squared_distances(density):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 9)) * (rng.random((20, 9)) < density)
    c = rng.normal(size=9)
    for form in (X, sp.csr_array(X), X.astype(np.float32)):
        tolerance = 1e-6 if form.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(
            squared_distances(as_rows(form), c), ((X - c) ** 2).sum(axis=1), rtol=tolerance
        )
    far = 1e8 + X  # no cancellation for full rows, stored in either way
    for form in (far, sp.csr_array(far)):
        np.testing.assert_allclose(
            squared_distances(as_rows(form), far[0]), ((far - far[0]) ** 2).sum(axis=1), rtol=1e-12
        )


# ------------------------------------------------------------------------------------- the bounds


@pytest.mark.parametrize("seed", range(32))
def test_the_bounds_bracket_the_radius_and_close(seed):
    X = make(seed)
    eps = 10.0 ** -(1 + seed % 6)
    result = enclosing_ball(sp.csr_array(X) if seed % 2 else X, eps=eps, random_state=seed)
    certificate = result.certificate
    below, above = exact_radius(X)
    slack = 1e-9 * above + 1e-13 * (X * X).sum(axis=1).max()
    assert result.status is Status.CONVERGED
    assert certificate.gap <= eps * certificate.dual + slack
    assert certificate.dual <= above + slack
    assert certificate.primal >= below - slack
    assert greatest_square(X, result.x) == pytest.approx(certificate.primal, abs=slack)
    assert result.bias == certificate.primal
    A, p = X - X.mean(axis=0), result.p
    assert p.min() >= 0.0
    assert p.sum() == pytest.approx(1.0)
    value = p @ (A * A).sum(axis=1) - ((A.T @ p) ** 2).sum()
    assert value == pytest.approx(certificate.dual, abs=slack)


@pytest.mark.parametrize("seed", range(8))
def test_the_steps_alone_close_the_gap_for_an_oracle(seed):
    X = make(seed)
    oracle = Oracle(X.shape, row=lambda i: X[i], column=lambda j: X[:, j])
    result = enclosing_ball(oracle, eps=0.3, random_state=seed)
    below, above = exact_radius(X)
    assert result.status is Status.CONVERGED
    assert result.certificate.dual <= above * (1 + 1e-9)
    assert greatest_square(X, result.x) <= result.certificate.primal * (1 + 1e-9)
    assert result.certificate.primal <= 1.3 * above * (1 + 1e-9)
    assert result.certificate.primal >= below * (1 - 1e-9)


@pytest.mark.parametrize("eps", [0.2, 0.05])
def test_half_of_all_planned_runs_are_within_eps(eps):
    X = np.random.default_rng(5).normal(size=(400, 50))
    radius = exact_radius(X)[1]
    good = 0
    for seed in range(20):
        result = enclosing_ball(X, eps=eps, mode="monte-carlo", random_state=seed)
        assert result.status is Status.PLANNED
        assert result.certificate.primal == np.inf
        assert result.reads.certificate == 0
        assert result.certificate.dual <= radius
        value = greatest_square(X, result.x)
        assert result.bias == pytest.approx(value, rel=0.2)
        good += value <= (1 + eps) * radius
    assert good >= 10


def test_promises_from_estimates_hold():
    rng = np.random.default_rng(0)
    d = 30_000
    X = rng.normal(size=(25, d)) * np.r_[np.full(10, 10.0), np.full(d - 10, 0.01)] + 0.001
    norms = np.linalg.norm(X, axis=1)
    oracle = Oracle(X.shape, row=lambda i: X[i], column=lambda j: X[:, j], rows_norm=norms)
    result = enclosing_ball(oracle, eps=0.6, mode="high-probability", delta=0.1, random_state=0)
    assert result.status is Status.CONVERGED
    assert result.certificate.failure == 0.1
    below, above = exact_radius(X)
    assert result.certificate.dual <= above
    assert greatest_square(X, result.x) <= result.certificate.primal
    assert below <= result.certificate.primal <= 1.6 * above
    assert oracle.reads < X.size  # less than a single pass, though it is Las Vegas' least


def test_steps_read_columns_as_1_over_eps_squared_and_rows_as_1_over_eps():
    X = np.random.default_rng(1).normal(size=(500, 80))
    gaps, rows, steps = [], [], (500, 8000)
    for count in steps:
        runs = [begin(X, seed) for seed in range(4)]
        for run in runs:
            run.advance(count, None)
        values = [greatest_square(X, run._mean()[0] + run.origin) + run._drawn()[0] for run in runs]
        gaps.append(np.mean(values))
        columns = 500 * (count - 1)
        rows.append(np.mean([(run.reads.nnz - columns) / 80 for run in runs]))
    fall = np.log(gaps[0] / gaps[1])
    assert 1.3 < np.log(steps[1] / steps[0]) / fall < 2.3
    assert 0.7 < np.log(rows[1] / rows[0]) / fall < 1.5  # the logarithm is in it


# -------------------------------------------------------------------------------------- the reads


def test_reads_are_counted_exactly():
    X = np.random.default_rng(4).normal(size=(40, 30))
    asked = []

    def entry(i, j):
        asked.append((i, j))
        return X[i, j]

    oracle = Oracle(X.shape, entry=entry)
    result = enclosing_ball(oracle, eps=0.2, random_state=0)
    assert result.reads.nnz + result.reads.certificate == len(asked) == len(set(asked)) == X.size
    known = Oracle(X.shape, entry=entry, rows_norm=np.linalg.norm(X, axis=1))
    asked.clear()
    few = enclosing_ball(known, eps=1e-9, mode="monte-carlo", max_steps=5, random_state=0)
    assert few.reads.nnz == len(asked) < X.size
    matrix = sp.random_array((200, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    result = enclosing_ball(matrix, eps=1e-6, random_state=0)
    passes = len(result.history) - 1  # after the first check each one reads everything
    rest = result.reads.nnz - (1 + passes) * matrix.nnz
    assert 0 < rest < 32 * (np.diff(matrix.indptr).max() + np.diff(matrix.tocsc().indptr).max())


@pytest.mark.parametrize("limit", [360, 380, 700, 3000])
def test_the_limit_of_reads_holds(limit):
    X = np.random.default_rng(2).normal(size=(15, 12))
    for form in (X, sp.csr_array(X)):
        for mode in ("las-vegas", "monte-carlo"):
            result = enclosing_ball(
                form, eps=1e-15, mode=mode, max_reads=limit, max_steps=500, random_state=0
            )
            assert result.reads.nnz <= limit
            assert np.isfinite(result.x).all()


def test_too_few_reads_for_the_distances():
    X = np.random.default_rng(2).normal(size=(15, 12))
    for form in (X, Oracle(X.shape, entry=lambda i, j: X[i, j])):
        with pytest.raises(ValueError, match="max_reads=100 is too small"):
            enclosing_ball(form, max_reads=100)


def test_what_an_oracle_knows_of_its_norms():
    def make_oracle(norms):
        return Oracle((3, 2), entry=lambda i, j: float(i + j), rows_norm=norms)

    assert exact_norms(make_oracle(None)) is None
    assert exact_norms(make_oracle(5.0)) is None  # a bound for all
    np.testing.assert_array_equal(exact_norms(make_oracle([1.0, 2.0, 5.0])), [1.0, 2.0, 5.0])


# -------------------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("mode", ["las-vegas", "high-probability", "monte-carlo"])
@pytest.mark.parametrize(
    ("X", "radius"),
    [
        ([[1.0, 2.0]], 0.0),
        ([[1.1, 2.3]] * 3, 0.0),
        (np.zeros((3, 4)), 0.0),
        ([[0.0], [1.0]], 0.25),
        (np.eye(7), 6 / 7),
    ],
)
def test_the_smallest_balls(X, radius, mode):
    for form in (np.array(X), sp.csr_array(np.array(X))):
        result = enclosing_ball(form, eps=0.1, mode=mode, random_state=0)
        assert result.status in (Status.CONVERGED, Status.PLANNED)
        assert greatest_square(np.array(X), result.x) == pytest.approx(radius, rel=0.2, abs=1e-12)


def test_kinds_of_arrays(tmp_path):
    X = np.random.default_rng(6).normal(size=(50, 8)).astype(np.float32)
    wanted = enclosing_ball(X, eps=1e-5, random_state=0)
    np.save(tmp_path / "X.npy", X)
    for form in (np.load(tmp_path / "X.npy", mmap_mode="r"), np.asfortranarray(X), X):
        form.flags.writeable = False
        np.testing.assert_allclose(enclosing_ball(form, eps=1e-5, random_state=0).x, wanted.x)
    twice = enclosing_ball(np.r_[X, X], eps=1e-5, random_state=0)
    assert twice.certificate.primal == pytest.approx(wanted.certificate.primal, rel=2e-5)


def test_nan_is_found(tmp_path):
    X = np.random.default_rng(6).normal(size=(50, 8))
    X[7, 2] = np.nan
    np.save(tmp_path / "X.npy", X)
    for seed in range(12):  # the row is, or is not, one of those behind the reference
        with pytest.raises(ValueError, match="row 7 holds nan"):
            enclosing_ball(np.load(tmp_path / "X.npy", mmap_mode="r"), random_state=seed)
    with pytest.raises(ValueError, match="NaN"):
        enclosing_ball(X)


def test_rounding_ends_a_run():
    X = np.random.default_rng(0).normal(size=(50, 6))
    result = enclosing_ball(X, eps=1e-300, random_state=0)
    assert result.status in (Status.STALLED, Status.CONVERGED)
    assert result.certificate.gap < 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [({"eps": -1.0}, "eps=-1.0"), ({"mode": "fast"}, "mode='fast'"), ({"delta": 0.0}, "delta=0.0")],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        enclosing_ball([[0.0, 1.0], [1.0, 0.0]], **options)


# ---------------------------------------------------------------------------------- the soft ball


def soft_value(X, c, kappa):
    """The mean of the kappa n greatest squared distances."""
    far = np.sort(((X - c) ** 2).sum(axis=1))[::-1]
    share = max(1.0, kappa * len(X))
    whole = int(share + 1e-9)
    rest = (share - whole) * far[whole] if whole < len(X) else 0.0
    return (far[:whole].sum() + rest) / share


@pytest.mark.parametrize("seed", range(32))
def test_the_bounds_of_the_soft_ball(seed):
    X = make(seed)
    n = len(X)
    kappa = (0.03, 0.1, 0.37, 0.5, 1.0)[seed % 5]
    eps = 10.0 ** -(1 + seed % 6)
    result = soft_ball(sp.csr_array(X) if seed % 2 else X, contamination=kappa, eps=eps)
    certificate, p = result.certificate, result.p
    scale = ((X - X.mean(axis=0)) ** 2).sum(axis=1).max()
    slack = 1e-10 * scale + 1e-13 * (X * X).sum(axis=1).max()
    assert result.status is Status.CONVERGED
    assert -slack <= certificate.gap <= eps * certificate.dual + slack
    # the primal value, in both of its forms
    value = soft_value(X, result.x, kappa)
    assert certificate.primal == pytest.approx(value, abs=slack)
    squares = ((X - result.x) ** 2).sum(axis=1)
    excess = np.maximum(0.0, squares - result.bias).sum() / max(1.0, kappa * n)
    assert result.bias + excess == pytest.approx(value, abs=slack)
    assert (squares > result.bias + slack).sum() <= kappa * n
    # the dual value, and that p is allowed
    A = X - X.mean(axis=0)
    assert p.min() >= 0.0
    assert p.sum() == pytest.approx(1.0)
    assert p.max() <= min(1.0, 1.0 / (kappa * n)) * (1 + 1e-9)
    dual = p @ (A * A).sum(axis=1) - ((A.T @ p) ** 2).sum()
    assert dual == pytest.approx(certificate.dual, abs=slack)


def test_the_soft_ball_against_a_general_solver():
    X = np.random.default_rng(3).normal(size=(40, 3))
    result = soft_ball(X, contamination=0.25, eps=1e-7)
    least = min(
        minimize(
            lambda c: soft_value(X, c, 0.25), start, method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 4000},
        ).fun
        for start in (np.zeros(3), X.mean(axis=0))
    )  # fmt: skip
    assert result.certificate.dual <= least * (1 + 1e-7)
    assert result.certificate.primal == pytest.approx(least, rel=1e-5)


def test_no_row_left_out_is_the_ball_itself():
    X = np.random.default_rng(3).normal(size=(60, 5))
    soft, hard = (
        soft_ball(X, contamination=1e-9, eps=1e-7),
        enclosing_ball(X, eps=1e-7, random_state=0),
    )
    assert soft.certificate.primal == pytest.approx(hard.certificate.primal, rel=1e-6)
    assert soft.bias == pytest.approx(hard.bias, rel=1e-6)


def test_vertices_are_put_together_when_there_are_many(monkeypatch):
    monkeypatch.setattr("skimlearn.solvers.soft_ball.ROOM", 4)
    X = np.random.default_rng(3).normal(size=(80, 12))
    result = soft_ball(X, contamination=0.02, eps=1e-4)
    assert result.status is Status.CONVERGED
    monkeypatch.undo()
    wanted = soft_ball(X, contamination=0.02, eps=1e-7)
    assert result.certificate.primal == pytest.approx(wanted.certificate.primal, rel=2e-4)


def test_limits_of_the_soft_ball():
    X = np.random.default_rng(3).normal(size=(300, 30))
    for options, status in (
        ({"max_steps": 2}, Status.STEPS),
        ({"max_reads": 30000}, Status.READS),
        ({"max_seconds": 0.0}, Status.SECONDS),
    ):
        result = soft_ball(X, contamination=0.02, eps=1e-12, **options)
        assert result.status is status
        assert result.certificate.dual < result.certificate.primal
        assert soft_value(X, result.x, 0.02) == pytest.approx(result.certificate.primal)
        assert options.get("max_reads", np.inf) >= result.reads.nnz
    assert soft_ball(X, contamination=0.02, eps=1e-300).status in (
        Status.STALLED, Status.CONVERGED,
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"contamination=0\.0"):
        soft_ball(X, contamination=0.0)
    with pytest.raises(TypeError, match="Oracle"):
        soft_ball(Oracle(X.shape, entry=lambda i, j: X[i, j]), contamination=0.1)


@pytest.mark.parametrize("limit", [0, 119, 359])
def test_a_soft_ball_says_how_many_reads_it_needs(limit):
    X = np.random.default_rng(0).normal(size=(30, 4))
    with pytest.raises(ValueError, match=f"max_reads={limit} is too small.*allow 360"):
        soft_ball(X, contamination=0.1, max_reads=limit)
    assert soft_ball(X, contamination=0.1, max_reads=360, eps=1e-12).reads.nnz <= 360


@pytest.mark.pure_python
def test_balls_in_plain_python():
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    np.testing.assert_allclose(enclosing_ball(corners, eps=1e-6, random_state=0).x, 1.0, atol=1e-3)
    np.testing.assert_allclose(soft_ball(corners, contamination=0.5, eps=1e-6).x, 1.0, atol=1e-3)
