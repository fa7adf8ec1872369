"""What the loops of dual ascent tell besides steps: gaps of samples, and which rows are left."""

import numpy as np
import pytest

from problems import LOSSES, make, make_data, make_weights
from skimlearn import certificates
from skimlearn.result import Budget
from skimlearn.solvers import dual
from skimlearn.solvers._ascent import LEAST, NEIGHBOURS, moving, places
from skimlearn.solvers._run import Run

N, D = 400, 12


def begun(loss, epochs=2, n=N, shrinking=False, **options):
    """Dual ascent after some epochs, without a check."""
    X, y = make_data(loss, n, D)
    problem = make(loss, X, y, **{"alpha": 0.01, "bias": "none"} | options)
    run = Run(problem, Budget(epochs=100), seed=0)
    method = dual.DualAscent(problem, run.ledger, dual.Settings(shrinking=shrinking))
    for _ in range(epochs):
        method.visit(method.order(run.rng))
    return method, run.rng


def true_gap(method):
    """The gap times n, of the present weights and variables."""
    problem = method.problem
    w, b = method.answer()
    primal = certificates.primal(problem, w, b)
    return problem.n * (primal.value - certificates.dual(problem, method.a).value), primal.value


def gaps_by_row(method):
    problem, (w, b) = method.problem, method.answer()
    z = problem.rows.values @ w + b
    return np.array([
        problem.loss.value(z[i], y) + problem.loss.conjugate(-a, y) + a * z[i]
        for i, (y, a) in enumerate(zip(problem.y, method.a, strict=True))
    ])  # fmt: skip


# ---------------------------------------------------------------------------------------- samples


@pytest.mark.parametrize("count", [1, 10, LEAST - 1, LEAST, 3000, 10**6])
def test_places_of_a_sample(count):
    found = places(count, np.random.default_rng(0))
    assert found.min() >= 0
    assert found.max() < count
    if count <= LEAST:
        np.testing.assert_array_equal(found, np.arange(count))
    else:
        assert LEAST <= len(found) < 2 * LEAST + NEIGHBOURS
        runs = found.reshape(-1, NEIGHBOURS)
        np.testing.assert_array_equal(runs, (runs[:, :1] + np.arange(NEIGHBOURS)) % count)
        again = places(count, np.random.default_rng(1))
        assert set(again) != set(found)


def test_every_row_is_as_likely_as_any_other():
    rng, count = np.random.default_rng(0), 2000
    hits = np.zeros(count)
    for _ in range(8000):
        np.add.at(hits, places(count, rng), 1)
    expected = hits.sum() / count
    assert abs(hits[:10].mean() / expected - 1) < 0.15  # the ends are not left out
    assert abs(hits[-10:].mean() / expected - 1) < 0.15
    assert hits.min() > 0.8 * expected


@pytest.mark.pure_python
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared", "log", "absolute"])
def test_the_gaps_of_all_rows_are_the_gap(loss, weighted):
    n = 30  # fewer than a sample has
    weights = make_weights(n) if weighted else None
    method, rng = begun(LOSSES[loss], n=n, sample_weight=weights)
    method.choose(np.arange(n), rng)
    method.look()
    gap, value = true_gap(method)
    assert gap > 1e-4
    assert method.guess == pytest.approx(gap, rel=1e-9)
    assert method.value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("bias", ["regularized", "none"])
def test_samples_are_right_on_average(bias):
    method, rng = begun("hinge", 1, n=5000, bias=bias)
    guesses, values = [], []
    for _ in range(200):
        method.since = 10**9
        method.choose(method.rows_left, rng)
        method.look()
        guesses.append(method.guess)
        values.append(method.value)
    gap, value = true_gap(method)
    assert np.mean(guesses) == pytest.approx(gap, rel=0.04)
    assert 0.01 < np.std(guesses) / gap < 0.5
    assert np.mean(values) == pytest.approx(value, rel=0.02)


def test_rows_put_aside_have_a_sample_of_their_own():
    method, rng = begun("hinge", 1, n=5000)
    aside = np.arange(5000) % 3 > 0  # a share of the rows that says nothing about their gaps
    method.is_left[:] = ~aside
    method.rows_left = np.flatnonzero(~aside)
    guesses = []
    for _ in range(200):
        method.since = 10**9
        method.choose(method.rows_left, rng)
        assert method.is_left[method.samples[0]].all()
        assert not method.is_left[method.samples[1]].any()
        method.look()
        guesses.append(method.gaps)
    gaps = gaps_by_row(method)
    assert gaps.sum() == pytest.approx(true_gap(method)[0], rel=1e-9)
    assert np.mean(guesses, axis=0) == pytest.approx(
        [gaps[~aside].sum(), gaps[aside].sum()], rel=0.06
    )


def test_gaps_of_rows_put_aside_call_for_a_check():
    method, _ = begun("hinge", 3)
    method.goal, method.tol, method.value = 1e-12, 1e-12, 1.0
    method.look = lambda: None
    method.gaps = 1.0, 0.9 * dual.ASIDE
    assert not method.due(1.5, 10**9)
    method.gaps = 1.0, 1.1 * dual.ASIDE
    assert method.due(1.5, 10**9)


def test_samples_cost_little():
    """After the first epochs a sample is only drawn after many visits."""
    X, y = make_data("hinge", 200, 30)
    problem = make("hinge", X, y, bias="none", alpha=1e-5)
    result = dual.solve(problem, budget=Budget(gap=1e-6, epochs=3000), seed=0)
    checks = X.size * (len(result.history) + 2)
    assert result.epochs > 50
    assert 0 < result.reads.certificate - checks < 0.25 * result.reads.nnz


# ---------------------------------------------------------------------------------------- shrinking


def slow_moving(method, z, radius):
    """Row by row, by trying some responses within reach."""
    problem, found = method.problem, []
    for i in range(problem.n):
        reach = radius * np.sqrt(method.squares[i])
        steps = [
            problem.loss.dual_step(method.a[i], z[i] + s * reach, method.h[i], problem.y[i])
            for s in (-1.0, 0.0, 1.0)
        ]
        if method.moved[i] or any(step != method.a[i] for step in steps):
            found.append(i)
    return np.array(found)


@pytest.mark.pure_python
@pytest.mark.parametrize("radius", [0.0, 0.05, 0.3])
def test_rows_that_come_back(radius):
    method, _ = begun("hinge", 3, n=60)
    problem = method.problem
    method.moved[:] = np.arange(problem.n) % 7 == 0
    z = problem.y * np.random.default_rng(0).uniform(0.5, 1.5, problem.n)
    expected = slow_moving(method, z, radius)
    left = np.empty(problem.n, dtype=np.uint32)
    count = moving(
        problem.loss, z, 0.0, problem.y, method.h, method.a, radius, method.squares, 0.0,
        problem.weights, method.moved, left,
    )  # fmt: skip
    np.testing.assert_array_equal(left[:count], expected)
    assert 0 < count < problem.n
    np.testing.assert_array_equal(np.flatnonzero(method.moved), expected)


def test_a_row_near_its_kink_is_not_put_aside(monkeypatch):
    """The farther a response may go, the fewer rows are at rest."""
    counts = []
    for stay in (0.0, 0.01, 1.0):
        monkeypatch.setattr(dual, "STAY", stay)
        method, rng = begun("hinge", 4, n=2000, shrinking=True)
        method.gaps = 1.0, 0.0
        method.visit(method.order(rng))
        counts.append(int(method.moved[method.rows_left].sum()))
    assert counts[0] < counts[1] < counts[2]
