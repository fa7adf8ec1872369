"""FTRL-Proximal: step by step against a naive implementation, its theorem, and rare features."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from problems import close, make, make_data, make_weights
from skimlearn import LinearClassifier, LinearRegressor
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES
from skimlearn.result import Budget
from skimlearn.solvers import dual, ftrl
from skimlearn.solvers._run import Start

N, D, ALPHA = 40, 5, 0.02


def begin(problem, start=None, **settings):
    rng = np.random.default_rng(0)
    return ftrl.Ftrl(problem, Ledger(problem.rows), ftrl.Settings(**settings), rng, start)


def make_order(epochs=2, n=N, seed=1):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(n) for _ in range(epochs)])


@pytest.mark.pure_python
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "log", "squared"])
def test_every_iterate_minimises_what_was_seen(loss, bias):
    X, y = make_data(loss, N, D, length=2.0)
    X[:, 3] = np.where(np.arange(N) % 5, 0.0, X[:, 3])  # a rare feature
    y = 7.0 * y if loss == "squared" else y
    m = make_weights(N)
    problem = make(loss, X, y, bias=bias, alpha=ALPHA, sample_weight=m)
    method = begin(problem)
    unit = math.sqrt(np.mean(y**2)) if loss == "squared" else 1.0
    pull = np.mean(reference.SLOPES[loss](np.zeros(N), y) ** 2)
    length = math.sqrt((X**2).sum(axis=1).mean())
    order = make_order()
    iterates, _ = reference.ftrl(
        X, y, order, ALPHA, loss, bias=bias, m=m,
        ratio=length / unit, first=pull * length**2 / D, own=(1.0 / unit, pull),
    )  # fmt: skip
    done = 0
    for stop in (1, 2, 7, N, 2 * N):
        method.visit(order[done:stop])
        done = stop
        w, b = method.answer()
        assert close((w, b), iterates[stop])


@pytest.mark.parametrize("seed", range(3))
def test_the_regret_is_below_that_of_the_theorem(seed):
    """Regret <= sum of all proximal terms at u + half the squared slopes over the curvatures."""
    X, y = make_data("hinge", 300, D, length=1.0, seed=seed)
    length = math.sqrt((X**2).sum(axis=1).mean())
    order = np.random.default_rng(seed).permutation(300)
    iterates, (sigmas, centres, slopes) = reference.ftrl(
        X, y, order, ALPHA, "hinge", ratio=length, first=length**2 / D
    )
    method = begin(make("hinge", X, y, bias="none", alpha=ALPHA))
    method.scores = np.zeros(300)
    method.visit(order)
    u = dual.solve(method.problem, budget=Budget(gap=1e-9, epochs=10_000), seed=0).x
    hinge = np.maximum(0.0, 1.0 - y * method.scores)  # each before its step
    shrunk = sum(0.5 * ALPHA * w @ w for w, _ in iterates[:-1])
    ours = hinge.sum() + shrunk
    best = np.maximum(0.0, 1.0 - y * (X @ u)).sum() + 300 * 0.5 * ALPHA * u @ u
    whole = np.append(u, 0.0)
    bound = sum(0.5 * s @ (whole - c) ** 2 for s, c in zip(sigmas, centres, strict=True))
    curvature = np.cumsum(sigmas, axis=0)
    bound += sum(0.5 * (g**2 / c).sum() for g, c in zip(slopes, curvature[1:], strict=True))
    assert ours - best <= bound
    assert bound < 0.5 * 300  # it says something: the zero answer loses 1 a row


def rare(n, seed, d=3000):
    """Rows of ten features, few of them common; all hidden weights are of one size."""
    rng = np.random.default_rng(seed)
    columns = (rng.random((n, 10)) ** 4 * d).astype(int)
    X = sp.csr_array((np.ones(10 * n), columns.ravel(), np.arange(0, 10 * n + 1, 10)), shape=(n, d))
    X.sum_duplicates()
    hidden = np.random.default_rng(99).choice([-1.0, 1.0], d)
    return X, np.sign(X @ hidden + rng.normal(size=n))


def test_rare_features_are_learned_in_one_pass():
    X, y = rare(20_000, 0)
    tests, truth = rare(5000, 1)
    score = {}
    for solver in ("ftrl", "asgd", "pegasos"):
        model = LinearClassifier("log", alpha=1e-6, solver=solver, random_state=0)
        score[solver] = model.fit_stream((X, y)).score(tests, truth)
    assert score["ftrl"] > max(score["asgd"], score["pegasos"]) + 0.01


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_units_of_rows_and_targets_do_not_matter(factor):
    X, y = make_data("squared", 200, D, length=1.0)
    plain = LinearRegressor(alpha=1e-3, solver="ftrl", bias="none", random_state=0)
    other = LinearRegressor(alpha=1e-3 * factor**2, solver="ftrl", bias="none", random_state=0)
    plain.fit_stream((X, y))
    other.fit_stream((factor * X, 50.0 * y))
    scale = 50.0 / factor
    np.testing.assert_allclose(other.coef_, scale * plain.coef_, rtol=1e-9)


def test_a_start_is_where_it_begins():
    X, y = make_data("log", N, D)
    problem = make("log", X, y, bias="regularized", alpha=ALPHA)
    start = Start(np.linspace(-1.0, 1.0, D), 0.7)
    w, b = begin(problem, start).answer()
    assert close((w, b), (start.w, start.b))


def test_what_it_can_not_do():
    X, y = make_data("log", N, D)
    with pytest.raises(ValueError, match=r"p=2 and no radius.*use solver='pgs'"):
        LinearClassifier("log", solver="ftrl", p=1.5).fit(X, y)
    with pytest.raises(ValueError, match=r"average='tail' must be one of \('last', 'random'\)"):
        LinearClassifier("log", solver="ftrl", average="tail").fit(X, y)
    with pytest.raises(ValueError, match="batch_size=2 has no meaning for solver='ftrl'"):
        LinearClassifier("log", solver="ftrl", batch_size=2).fit_stream((X, y))
