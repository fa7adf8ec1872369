"""SGD, ASGD and CASGD: step by step against dense SGD, and what the paper promises of them."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from problems import LOSSES, NAMES, close, make, make_data, make_weights
from skimlearn import certificates
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES
from skimlearn.result import Budget
from skimlearn.solvers import sgd
from skimlearn.solvers._run import Start

N, D, ALPHA = 40, 5, 0.3
AVERAGES = ("last", "mean", "tail")


def make_order(epochs=3, n=N, seed=1):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(n) for _ in range(epochs)])


def begin(problem, start=None, **settings):
    rng = np.random.default_rng(0)
    return sgd.Sgd(problem, Ledger(problem.rows), sgd.Settings(**settings), rng, start)


def expected(iterates, average, n=N):
    if average == "last":
        return iterates[-1]
    return reference.mean(iterates) if average == "mean" else reference.tail(iterates, n)


# ------------------------------------------------------------------------------------ step by step

KINDS = [(False, bias) for bias in BIASES] + [(True, "free")]


@pytest.mark.parametrize("t0", [0.0, 17.5])
@pytest.mark.parametrize(("centred", "bias"), KINDS)
@pytest.mark.parametrize("loss", [*NAMES, "pinball"])
def test_every_iterate_is_that_of_dense_sgd(loss, centred, bias, t0):
    X, y = make_data(loss, N, D, offset=0.3)
    if centred:
        X = X + 0.4
    m = make_weights(N) if t0 else None
    problem = make(loss, X, y, bias=bias, alpha=ALPHA, sample_weight=m)
    order = make_order()
    iterates = reference.sgd(X, y, order, ALPHA, loss, bias=bias, centred=centred, t0=t0, m=m)
    assert np.abs(iterates[-1][0]).max() > 0.01  # there is something to compare
    for average in AVERAGES:
        method = begin(problem, average=average, centred=centred, t0=t0)
        method.visit(order)
        assert method.steps == len(order)
        assert close(method.answer(), expected(iterates, average))
        assert close(method.last(), iterates[-1])


@pytest.mark.pure_python
@pytest.mark.parametrize(("centred", "bias"), KINDS)
@pytest.mark.parametrize("average", AVERAGES)
def test_visits_may_come_in_any_portions(centred, bias, average):
    """Also such that a mark of the tail falls on the end of a portion, or between two."""
    X, y = make_data("hinge", 16, 3)
    problem = make("hinge", sp.csr_array(X), y, bias=bias, alpha=ALPHA)
    order = make_order(4, 16)
    iterates = reference.sgd(X, y, order, ALPHA, "hinge", bias=bias, centred=centred)
    for cuts in ([2], [1, 2, 3, 4, 8, 16, 32], [5, 6, 33], [31], [63], [32, 48]):
        method = begin(problem, average=average, centred=centred, t0=0.0)
        done = 0
        for cut in [*cuts, len(order)]:
            method.visit(order[done:cut])
            done = cut
            assert close(method.answer(), expected(iterates[:done], average, 16)), (cuts, cut)


def test_the_tail_is_the_last_half_to_three_quarters():
    X, y = make_data("log", N, D)
    problem = make("log", X, y, bias="none", alpha=ALPHA)
    iterates = reference.sgd(X, y, make_order(5), ALPHA, "log", bias="none")
    method = begin(problem, t0=0.0)
    for steps, i in enumerate(make_order(5), 1):
        method.visit(np.array([i]))
        if steps >= N // 4:
            shares = [
                share
                for share in range(steps)
                if close(method.answer(), reference.mean(iterates[share:steps]), 1e-9)
            ]
            assert len(shares) == 1
            assert 0.5 <= 1 - shares[0] / steps <= 0.75


@pytest.mark.parametrize(("centred", "bias"), KINDS)
def test_steps_from_a_start(centred, bias):
    X, y = make_data("log", N, D, offset=0.3)
    X = X + 0.4 * centred
    problem = make("log", X, y, bias=bias, alpha=ALPHA)
    w = np.random.default_rng(5).normal(size=D)
    b = 0.0 if bias == "none" else 0.7
    for average in AVERAGES:
        method = begin(problem, Start(w, b), average=average, centred=centred)
        assert method.t0 >= N  # a start is worth an epoch at least
        assert close(method.answer(), (w, b))
        iterates = reference.sgd(
            X, y, make_order(), ALPHA, "log",
            bias=bias, centred=centred, t0=method.t0, start=(w, b),
        )  # fmt: skip
        method.visit(make_order())
        assert close(method.answer(), expected(iterates, average))


@pytest.mark.parametrize("centred", [False, True])
def test_a_free_bias_goes_on_from_its_new_centre(centred):
    """Recentring moves the predictions by a constant and leaves the weights alone."""
    X, y = make_data("squared", N, D, offset=2.0)
    X = X + 0.4 * centred
    problem = make("squared", X, y, alpha=ALPHA)
    method = begin(problem, average="last", centred=centred)
    method.visit(make_order(1))
    w, _ = method.last()
    method.recentre(w, 1.25)
    assert close(method.last(), (w, 1.25))
    order = make_order(2, seed=9)
    method.visit(order)
    # the same from a start: the bias is regularised towards the centre, in centred coordinates
    iterates = reference.sgd(X - X.mean(0) * centred, y - 1.25 - X.mean(0) @ w * centred, order,
                             ALPHA, "squared", t0=method.t0 + N, start=(w, 0.0))  # fmt: skip
    if not centred:  # with centred rows, the sum of slopes goes on while its bias restarts
        assert close(method.last(), (iterates[-1][0], iterates[-1][1] + 1.25))
    assert close((method.last()[0], 0.0), (iterates[-1][0], 0.0))


@pytest.mark.pure_python
def test_products_with_the_mean_are_those_of_the_rows_at_hand():
    """They are known from the lengths of the rows, or found by the first visits, and then kept."""
    X, y = make_data("squared", N, D, offset=2.0)
    problem, mean, order = make("squared", X, y, alpha=ALPHA), X.mean(0), make_order(2)
    known = begin(problem, average="mean", centred=True)
    assert np.allclose(known.products, X @ mean)
    found = begin(problem, average="mean", centred=True, t0=known.t0)
    assert np.isnan(found.products).all()
    for method in (known, found):
        method.visit(order)
    assert close(known.answer(), found.answer())
    assert np.allclose(found.products, X @ mean)
    other = make("squared", X[: N // 2] + 1.0, y[: N // 2], alpha=ALPHA)
    known.take(other, Ledger(other.rows))
    known.visit(make_order(1, N // 2))
    assert np.allclose(known.products, (X[: N // 2] + 1.0) @ mean)


@pytest.mark.pure_python
def test_dual_variables_of_the_visits():
    """Minus the mean slope of each row: in the domain, and the weights are theirs."""
    X, y = make_data("hinge", 20, 3)
    problem = make("hinge", X, y, bias="regularized", alpha=0.05)
    method = begin(problem, average="last", t0=0.0)
    for seed in range(4):
        method.visit(np.random.default_rng(seed).permutation(20))
    a = method.pulls / 4
    assert ((a * y >= 0) & (a * y <= 1)).all()
    assert np.abs(a).max() > 0
    assert close(method.last(), (X.T @ a / (0.05 * 20), a.sum() / (0.05 * 20)))
    answer = certificates.primal(problem, *method.answer())
    assert method.bound(answer).value >= certificates.dual(problem, a).value


# ---------------------------------------------------------------------------------------- theorems


SHIFT = np.array([30.0, -7.0, 0.5, 100.0])


@pytest.mark.parametrize("loss", ["hinge", "squared"])
@pytest.mark.parametrize("average", AVERAGES)
def test_casgd_does_not_see_a_translation(loss, average):
    """Of the rows: the weights are the same, and so are the predictions."""
    X, y = make_data(loss, 60, 4)
    answers = {}
    for centred in (True, False):
        for shift in (0.0, SHIFT):
            problem = make(loss, X + shift, y, alpha=0.05)
            method = begin(problem, average=average, centred=centred, t0=200.0)
            method.visit(make_order(4, 60))
            w, b = method.answer()
            answers[centred, shift is SHIFT] = w, b + float(w @ np.broadcast_to(shift, 4))
    assert close(answers[True, True], answers[True, False], 1e-9)
    assert not close(answers[False, True], answers[False, False], 0.1)  # it is not for nothing


@pytest.mark.parametrize("loss", ["log", "squared"])
def test_a_run_of_casgd_does_not_see_a_translation(loss):
    """Checks, exact biases and the length of the steps included."""
    X, y = make_data(loss, 60, 4)
    settings = sgd.Settings(centred=True)
    plain, moved = (
        sgd.solve(make(loss, rows, y, alpha=0.05), settings, Budget(epochs=9), seed=3)
        for rows in (X, X + SHIFT)
    )
    assert close((moved.x, moved.bias + moved.x @ SHIFT), (plain.x, plain.bias), 1e-9)
    assert moved.certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-9)
    assert len(plain.history) > 2


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_no_explosion_thanks_to_the_shift(loss):
    X, y = make_data(loss, 200, 20)
    problem = make(loss, X, y, alpha=1e-4, bias="regularized")
    zero = reference.objective(X, y, np.zeros(20), 0.0, 1e-4, loss, bias="regularized")
    size = 0.0
    method = begin(problem, average="last")
    for i in make_order(20, 200):
        method.visit(np.array([i]))
        size = max(size, np.linalg.norm(method.last()[0]))
    assert size < 20.0
    w, b = method.last()
    assert reference.objective(X, y, w, b, 1e-4, loss, bias="regularized") < 0.5 * zero


def test_explosion_without_the_shift():
    X, y = make_data("squared", 200, 20)
    method = begin(make("squared", X, y, alpha=1e-4), average="last", t0=0.0)
    method.visit(make_order(1, 200))
    assert not np.abs(method.last()[0]).max() < 1e50
    # and yet the answer of a run is never worse than zero weights
    problem = make("squared", X, y, alpha=1e-4)
    result = sgd.solve(problem, sgd.Settings(t0=0.0), Budget(epochs=3), seed=0)
    assert np.isfinite(result.x).all()
    assert result.certificate.primal <= y.var() / 2 * (1 + 1e-12)


def test_the_shift_is_the_least_safe_one():
    """(R^2 + 1) L / alpha, with the weights of the rows."""
    X, y = make_data("squared", N, D)
    m = make_weights(N)
    reach = (m * ((X * X).sum(axis=1) + 1)).max()
    for loss, curvature in (("squared", 1.0), ("log", 0.25), ("hinge", 1.0)):
        problem = make(loss, X, np.sign(y), alpha=0.01, sample_weight=m)
        assert begin(problem).t0 == pytest.approx(curvature * reach / 0.01, rel=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "log", "squared", "absolute"])
def test_the_mean_of_more_steps_is_better(loss):
    """The excess of the tail average falls like 1 / T, up to a logarithm."""
    X, y = make_data(loss, 100, 5)
    low = reference.optimum(X[:30], y[:30], 0.1, loss, bias="regularized")
    problem = make(loss, X[:30], y[:30], alpha=0.1, bias="regularized")
    excess = []
    for epochs in (4, 64):
        values = [
            sgd.solve(
                problem, sgd.Settings(sampling="iid"), Budget(epochs=epochs), seed=seed
            ).certificate.primal
            for seed in range(10)
        ]
        excess.append(np.mean(values) - low)
    assert 0 < excess[1] < excess[0] / 4


# ------------------------------------------------------------------------------------------ entry


def test_what_sgd_refuses():
    X, y = make_data("hinge", N, D)
    problem = make("hinge", X, y)
    with pytest.raises(ValueError, match=r"average='random' must be one of .* for solver='asgd'"):
        begin(problem, average="random")
    with pytest.raises(ValueError, match="sampling='shuffled' must be 'permuted' or 'iid'"):
        begin(problem, sampling="shuffled")
    with pytest.raises(ValueError, match=r"p=2 and no radius.*use solver='pgs'"):
        begin(make("hinge", X, y, p=1.5))
    with pytest.raises(ValueError, match=r"p=2 and no radius.*use solver='pgs'"):
        begin(make("hinge", X, y, radius=3.0))
    for bias in ("none", "regularized"):
        with pytest.raises(ValueError, match=f"bias='{bias}': centred SGD.*use bias='free'"):
            begin(make("hinge", X, y, bias=bias), centred=True)
    with pytest.raises(ValueError, match="the start has 3 weights, but X has 5 columns"):
        sgd.solve(problem, start=Start(np.zeros(3)))


def test_names():
    X, y = make_data("hinge", N, D)
    problem = make("hinge", X, y)
    names = {
        (average, centred): sgd.solve(
            problem, sgd.Settings(average=average, centred=centred), Budget(epochs=1), seed=0
        ).solver
        for average in ("last", "tail")
        for centred in (False, True)
    }
    assert names == {
        ("last", False): "sgd",
        ("tail", False): "asgd",
        ("last", True): "casgd",
        ("tail", True): "casgd",
    }


def test_iid_visits_are_drawn_with_replacement():
    X, y = make_data("hinge", N, D)
    problem = make("hinge", X, y)
    rng = np.random.default_rng(0)
    order = np.concatenate([begin(problem, sampling="iid").order(rng) for _ in range(300)])
    counts = np.bincount(order, minlength=N)
    assert len(counts) == N
    # a chi-square test that a right law fails once in a million
    assert ((counts - 300) ** 2 / 300).sum() < 95.0
    assert len(set(order[:N].tolist())) < N
    permuted = begin(problem).order(rng)
    np.testing.assert_array_equal(np.sort(permuted), np.arange(N))


def test_user_losses_need_no_more_than_value_and_slope():
    for loss in ("pinball", "log_cosh"):
        X, y = make_data(loss, N, D)
        problem = make(loss, X, y, bias="regularized", alpha=ALPHA)
        assert problem.loss is LOSSES[loss]
        assert problem.loss.curvature() == math.inf
        result = sgd.solve(problem, budget=Budget(epochs=30), seed=0)
        assert 0 <= result.certificate.gap < 0.05
