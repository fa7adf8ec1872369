"""Pegasos: step by step against a naive implementation, its dual point, and its theorems."""

import math

import numpy as np
import pytest

import reference
from problems import close, make, make_data, make_weights
from skimlearn import certificates
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES
from skimlearn.result import Budget
from skimlearn.solvers import dual, pegasos
from skimlearn.solvers._run import Start

N, D, ALPHA = 40, 5, 0.2


def begin(problem, start=None, seed=0, **settings):
    rng = np.random.default_rng(seed)
    return pegasos.Pegasos(problem, Ledger(problem.rows), pegasos.Settings(**settings), rng, start)


def make_order(sampling, epochs=3, n=N, seed=1):
    rng = np.random.default_rng(seed)
    if sampling == "iid":
        return rng.integers(0, n, n * epochs)
    return np.concatenate([rng.permutation(n) for _ in range(epochs)])


def radius_of(X, y, loss, bias, m):
    problem = make(loss, X, y, bias=bias, alpha=ALPHA, sample_weight=m)
    zero = certificates.primal(problem, np.zeros(D), z=np.zeros(len(y))).value
    return math.sqrt(zero / ALPHA)


# ------------------------------------------------------------------------------------ step by step


@pytest.mark.parametrize("sampling", ["iid", "permuted"])
@pytest.mark.parametrize("project", [False, True])
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "log", "squared"])
def test_every_iterate_is_that_of_the_slides(loss, bias, k, project, sampling):
    X, y = make_data(loss, N, D, length=2.0)
    m = make_weights(N) if k == 7 else None
    t0 = 9.5 if loss == "squared" else 0.0
    problem = make(loss, X, y, bias=bias, alpha=ALPHA, sample_weight=m)
    order = make_order(sampling)
    radius = radius_of(X, y, loss, bias, m) if project else math.inf
    # of the slopes of the hinge, the violators' only are not zero
    iterates = reference.pegasos(
        X, y, order, ALPHA, loss, k=k, radius=radius, bias=bias, t0=t0, m=m
    )
    steps = len(iterates) - 1
    assert steps == -(-len(order) // k)
    for average in ("last", "mean", "tail"):
        method = begin(
            problem, batch_size=k, project=project, sampling=sampling, average=average, t0=t0
        )
        method.visit(order[: 7 * k])  # in two portions
        method.visit(order[7 * k :])
        expected = {
            "last": iterates[-1],
            "mean": reference.mean(iterates[:-1]),
            "tail": reference.tail(iterates[:-1], N, k),
        }[average]
        assert close(method.answer(), expected)
        assert method.steps == steps


def test_projection_has_something_to_do():
    X, y = make_data("hinge", N, D, length=2.0)
    problem = make("hinge", X, y, bias="none", alpha=ALPHA)
    free = reference.pegasos(X, y, make_order("iid"), ALPHA, "hinge")
    assert max(np.linalg.norm(w) for w, _ in free) > 1.2 * ALPHA**-0.5
    assert begin(problem, project=True).radius == pytest.approx(ALPHA**-0.5)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "log", "squared", "absolute"])
def test_no_iterate_leaves_the_ball_that_holds_the_optimum(loss, bias):
    X, y = make_data(loss, 20, 3, length=3.0)
    problem = make(loss, X, y, bias=bias, alpha=ALPHA)
    method = begin(problem, project=True, average="last", batch_size=2)
    sizes = []
    for at in range(0, 200, 2):
        method.visit(make_order("iid", 10, 20)[at : at + 2])
        w, b = method.last()
        sizes.append(math.hypot(np.linalg.norm(w), b if bias == "regularized" else 0.0))
    assert max(sizes) <= method.radius * (1 + 1e-12)
    best = dual.solve(problem, budget=Budget(gap=1e-10, epochs=10000), seed=0)
    b = best.bias if bias == "regularized" else 0.0
    assert math.hypot(np.linalg.norm(best.x), b) <= method.radius
    if loss == "hinge":
        assert max(sizes) > 0.999 * method.radius  # the ball is felt


@pytest.mark.pure_python
@pytest.mark.parametrize("project", [False, True])
def test_steps_and_rescaling_without_the_jit(project):
    """A small alpha shrinks the scale of a projected vector at every step."""
    X, y = make_data("hinge", 12, 3, length=100.0)
    problem = make("hinge", X, y, bias="regularized", alpha=1e-3)
    radius = 1e-3**-0.5 if project else math.inf
    order = make_order("permuted", 20, 12)
    iterates = reference.pegasos(X, y, order, 1e-3, "hinge", k=5, radius=radius, bias="regularized")
    method = begin(problem, project=project, batch_size=5, average="mean")
    method.visit(order)
    assert close(method.answer(), reference.mean(iterates[:-1]), 1e-9)
    assert close(method.last(), iterates[-1], 1e-9)


def test_the_scale_never_underflows():
    """Steps that overshoot by 1e8 shrink the scale by as much: it goes into the vector in time."""
    X, y = make_data("squared", 30, 3, length=1e4)
    problem = make("squared", X, y, bias="none", alpha=1.0)
    order = make_order("iid", 4, 30)
    zero = math.sqrt(np.mean(y**2) / 2)
    iterates = reference.pegasos(X, y, order, 1.0, "squared", radius=zero)
    method = begin(problem, project=True, average="mean", t0=0.0)
    method.visit(order)
    assert close(method.answer(), reference.mean(iterates[:-1]), 1e-6)
    assert np.linalg.norm(method.last()[0]) <= zero * (1 + 1e-9)


@pytest.mark.pure_python
@pytest.mark.parametrize("k", [1, 3])
def test_the_random_iterate_is_any_of_those_analysed(k):
    """Uniformly one of w_1 = 0, ..., w_T: those from which a step was made."""
    X, y = make_data("hinge", 6, 3)
    problem = make("hinge", X, y, bias="none", alpha=ALPHA)
    order = make_order("permuted", 2, 6)
    iterates = [w for w, _ in reference.pegasos(X, y, order, ALPHA, "hinge", k=k)]
    counts = np.zeros(len(iterates))
    draws = 40 * (len(iterates) - 1)
    for seed in range(draws):
        method = begin(problem, seed=seed, average="random", batch_size=k)
        for part in (order[:3], order[3:9], order[9:]):
            method.visit(part)
        drawn = method.answer()[0]
        distances = [np.abs(w - drawn).max() for w in iterates]
        assert min(distances) <= 1e-12
        counts[np.argmin(distances)] += 1
    assert counts[-1] == 0
    assert ((counts[:-1] - 40) ** 2 / 40).sum() < 45.0  # a right law fails once in 100,000


def test_steps_from_a_start():
    X, y = make_data("log", N, D)
    problem = make("log", X, y, bias="regularized", alpha=ALPHA)
    w, b = np.random.default_rng(5).normal(size=D), 0.7
    for project in (False, True):
        method = begin(problem, Start(w, b), average="mean", project=project)
        assert method.t0 >= N
        assert close(method.last(), (w, b))
        method.visit(np.arange(1))
        assert close(method.answer(), (w, b))  # the mean of the first iterate alone
        g = reference.SLOPES["log"](X[0] @ w + b, y[0])
        step = 1 / (ALPHA * (1 + method.t0))
        expected = (1 - ALPHA * step) * np.append(w, b) - step * g * np.append(X[0], 1)
        expected *= min(1.0, method.radius / np.linalg.norm(expected))
        assert close(method.last(), (expected[:-1], expected[-1]))


# -------------------------------------------------------------------------------------------- dual


@pytest.mark.pure_python
@pytest.mark.parametrize("bias", ["none", "regularized"])
def test_permuted_visits_give_a_dual_point_for_nothing(bias):
    """alpha_i, the share of epochs in which row i was a violator, and w = w(alpha), exactly."""
    X, y = make_data("hinge", 30, 3)
    problem = make("hinge", X, y, bias=bias, alpha=0.02)
    method = begin(problem, average="last")
    epochs = 9
    for seed in range(epochs):
        method.visit(np.random.default_rng(seed).permutation(30))
        a = method.pulls / (seed + 1)
        counts = a * y * (seed + 1)
        np.testing.assert_allclose(counts, np.round(counts), atol=1e-12)
        assert ((counts >= 0) & (counts <= seed + 1)).all()
        b = a.sum() / (0.02 * 30) if bias == "regularized" else 0.0
        assert close(method.last(), (X.T @ a / (0.02 * 30), b))
    assert counts.max() == epochs
    answer = certificates.primal(problem, *method.last())
    bound = method.bound(answer)
    low = reference.optimum(X, y, 0.02, "hinge", bias=bias)
    assert certificates.dual(problem, a).value <= bound.value <= low + 1e-9
    assert bound.value > 0.5 * low


def test_independent_visits_need_clipping():
    X, y = make_data("hinge", 30, 3)
    problem = make("hinge", X, y, bias="none", alpha=0.02)
    method = begin(problem, average="last", sampling="iid")
    method.visit(method.order(np.random.default_rng(0)))
    assert (method.pulls * y).max() > 1.5  # some rows came more than once
    bound = method.bound(certificates.primal(problem, *method.last()))
    assert np.isfinite(bound.value)
    assert bound.value <= reference.optimum(X, y, 0.02, "hinge", bias="none") + 1e-9


# ---------------------------------------------------------------------------------------- theorems


@pytest.mark.parametrize("project", [False, True])
def test_excess_is_below_the_bound_and_falls_like_one_over_t(project):
    """Mean over seeds of f(mean iterate) - f*, iid visits: at most c (1 + ln T) / (2 alpha T)."""
    X, y = make_data("hinge", 60, 5, length=1.0)
    y[::5] *= -1
    alpha = 0.05
    low = reference.optimum(X, y, alpha, "hinge", bias="none")
    problem = make("hinge", X, y, bias="none", alpha=alpha)
    reach = np.linalg.norm(X, axis=1).max()
    c = (math.sqrt(alpha) + reach) ** 2 if project else 4 * reach**2
    times = 60 * 4 ** np.arange(5)
    excess = np.zeros(len(times))
    seeds = 12
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        method = begin(problem, average="mean", sampling="iid", project=project)
        for at, steps in enumerate(times):
            method.visit(rng.integers(0, 60, steps - method.steps))
            w, _ = method.answer()
            value = reference.objective(X, y, w, 0.0, alpha, "hinge", bias="none")
            excess[at] += (value - low) / seeds
    bound = c * (1 + np.log(times)) / (2 * alpha * times)
    assert (excess <= bound).all()
    assert (excess > 0).all()
    # with steps of 1 / sqrt(t) the slope is -1/2, with constant ones 0
    slope = np.polyfit(np.log(times), np.log(excess / (1 + np.log(times))), 1)[0]
    assert -1.25 <= slope <= -0.85, slope


def test_the_random_iterate_is_below_its_bound_too():
    X, y = make_data("hinge", 60, 5)
    y[::5] *= -1
    low = reference.optimum(X, y, 0.05, "hinge", bias="none")
    problem = make("hinge", X, y, bias="none", alpha=0.05)
    for steps in (300, 3000):
        excess = 0.0
        for seed in range(40):
            method = begin(problem, seed=seed, average="random", sampling="iid")
            method.visit(np.random.default_rng(seed).integers(0, 60, steps))
            w, _ = method.answer()
            value = reference.objective(X, y, w, 0.0, 0.05, "hinge", bias="none")
            excess += (value - low) / 40
        assert 0 < excess <= 4 * math.log(steps) / (0.05 * steps)


# ------------------------------------------------------------------------------------------- entry


def test_what_pegasos_refuses():
    X, y = make_data("hinge", N, D)
    problem = make("hinge", X, y)
    with pytest.raises(ValueError, match="average='best' must be one of"):
        begin(problem, average="best")
    with pytest.raises(ValueError, match="sampling='sorted' must be 'permuted' or 'iid'"):
        begin(problem, sampling="sorted")
    for size, message in ((0, "at least 1"), (2.5, "whole number"), (True, "whole number")):
        with pytest.raises(ValueError, match=f"batch_size={size} must be .*{message}"):
            begin(problem, batch_size=size)
    with pytest.raises(ValueError, match=r"Pegasos has p=2 and no radius.*use solver='pgs'"):
        begin(make("hinge", X, y, p=1.5))


def test_a_batch_is_no_larger_than_the_data():
    X, y = make_data("hinge", N, D)
    method = begin(make("hinge", X, y), batch_size=10**9)
    assert method.batch_size == N
    method.visit(np.arange(N))
    assert method.steps == 1
