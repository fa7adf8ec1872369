"""PGS: step by step against the dense link, its safeguards, and its theorem."""

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from problems import close, make, make_data, make_weights
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES
from skimlearn.solvers import pgs
from skimlearn.solvers._run import Start

N, D, ALPHA = 60, 12, 0.05


def begin(problem, start=None, seed=0, **settings):
    rng = np.random.default_rng(seed)
    return pgs.Pgs(problem, Ledger(problem.rows), pgs.Settings(**settings), rng, start)


def make_order(steps=600, n=N, seed=1):
    return np.random.default_rng(seed).integers(0, n, steps)


def check(
    X, y, loss, order, *, k=1, t0=0.0, tolerance=1e-10, alpha=ALPHA, rows=sp.csr_array, **parameters
):
    """Compare all averages with the naive method, the visits in two portions."""
    m = parameters.get("sample_weight")
    problem = make(loss, rows(X), y, alpha=alpha, **parameters)
    named = {key: parameters[key] for key in ("p", "radius", "bias") if key in parameters}
    iterates = reference.pgs(X, y, order, alpha, loss, k=k, t0=t0, m=m, **named)
    for average, expected in (
        ("last", iterates[-1]),
        ("mean", reference.mean(iterates[:-1])),
        ("tail", reference.tail(iterates[:-1], len(y), k)),
    ):
        method = begin(problem, batch_size=k, average=average, t0=t0)
        method.visit(order[: 9 * k])
        method.visit(order[9 * k :])
        assert close(method.answer(), expected, tolerance), average
    return iterates


# ------------------------------------------------------------------------------------ step by step


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("p", [1.05, 1.1, 1.5, 1.8, 2.0])
def test_every_iterate_is_that_of_the_dense_link(p, k):
    X, y = make_data("log", N, D, density=0.3)
    iterates = check(X, y, "log", make_order(), k=k, p=p, bias="none")
    sizes = [np.linalg.norm(w, p) for w, _ in iterates]
    assert max(sizes) > 0.01
    radius = float(np.median(sizes))  # so that it binds at half of the steps
    iterates = check(X, y, "log", make_order(), k=k, p=p, radius=radius, bias="none")
    bound = [np.linalg.norm(w, p) for w, _ in iterates]
    assert max(bound) <= radius * (1 + 1e-12)
    assert np.mean(np.array(bound) > radius * (1 - 1e-12)) > 0.2


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_every_iterate_is_that_of_exponentiated_gradient(radius, k):
    """With the divisor of the link moving in steps of an eighth."""
    X, y = make_data("log", N, D, density=0.3)
    iterates = check(X, y, "log", make_order(), k=k, p=1, radius=radius, bias="none")
    assert 0.01 < max(np.abs(w).sum() for w, _ in iterates) <= radius


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "squared", "absolute"])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_losses_biases_weights_and_a_shift(p, loss, bias):
    X, y = make_data(loss, N, D, density=0.3)
    m = make_weights(N)
    parameters = {"p": p, "bias": bias, "sample_weight": m} | ({"radius": 3.0} if p == 1 else {})
    check(X, y, loss, make_order(300), t0=40.0, rows=np.asarray, **parameters)


@pytest.mark.pure_python
@pytest.mark.parametrize(("p", "radius"), [(2.0, None), (1.5, None), (1.1, 0.8), (1.0, 2.0)])
def test_steps_without_the_jit(p, radius):
    X, y = make_data("log", 16, 4, density=0.6)
    parameters = {"p": p, "bias": "regularized"} | ({} if radius is None else {"radius": radius})
    check(X, y, "log", make_order(100, 16), k=3, **parameters)


def test_with_p_two_it_is_pegasos_but_for_the_divisor():
    """Pegasos divides by t where PGS divides by t + 1: a shift by one step makes them one."""
    X, y = make_data("hinge", N, D)
    problem = make("hinge", X, y, bias="none", alpha=ALPHA)
    method = begin(problem, average="last")
    method.visit(make_order())
    shifted = reference.pegasos(X, y, make_order(), ALPHA, "hinge", t0=1.0)
    assert close(method.answer(), shifted[-1])


@pytest.mark.pure_python
def test_the_random_iterate_is_any_of_those_analysed():
    """Uniformly one of w_0 = 0, ..., w_{T-1}."""
    X, y = make_data("log", 6, 3)
    problem = make("log", X, y, bias="none", alpha=ALPHA, p=1.5)
    order = make_order(8, 6)
    iterates = [w for w, _ in reference.pgs(X, y, order, ALPHA, "log", p=1.5)]
    counts = np.zeros(len(iterates))
    for seed in range(320):
        method = begin(problem, seed=seed, average="random")
        method.visit(order[:3])
        method.visit(order[3:])
        distances = [np.abs(w - method.answer()[0]).max() for w in iterates]
        assert min(distances) <= 1e-12
        counts[np.argmin(distances)] += 1
    assert counts[-1] == 0
    assert ((counts[:-1] - 40) ** 2 / 40).sum() < 38.0  # a right law fails once in 300,000


@pytest.mark.parametrize("bias", ["regularized", "free"])
@pytest.mark.parametrize(("p", "radius"), [(2.0, None), (1.5, None), (1.5, 2.0), (1.0, 4.0)])
def test_steps_from_a_start(p, radius, bias):
    X, y = make_data("log", N, 3)
    problem = make("log", X, y, bias=bias, alpha=ALPHA, p=p, radius=radius)
    w, b = np.array([0.5, -0.9, 0.1]), 0.7
    method = begin(problem, Start(w, b), average="mean")
    assert method.t0 >= N
    assert close(method.last(), (w, b), 1e-9)
    method.visit(np.array([2]))
    assert close(method.answer(), (w, b), 1e-9)  # the mean of the first iterate alone
    method.visit(np.array([3, 4]))
    # two more steps, from the dual vector of the start
    names = {"p": p} | ({} if radius is None else {"radius": radius})
    t0 = method.t0
    lam = ALPHA * (t0 + 1) * problem.regularizer.unlink(w)
    divisor, beta, centre = ALPHA * (t0 + 1), 0.0, b
    if bias == "regularized":
        beta, centre = ALPHA * (t0 + 1) * b, 0.0
    at, offset = w, beta / divisor
    for t, i in enumerate([2, 3, 4], 1):
        g = reference.SLOPES["log"](X[i] @ at + offset + centre, y[i])
        lam, beta = lam - g * X[i], beta - g
        now = ALPHA * (t + t0 + 1)
        divisor = now if p > 1 or now >= 1.125 * divisor else divisor
        at, offset = reference.link(lam / divisor, **names), beta / now
    assert close(method.last(), (at, offset + centre), 1e-8)


# -------------------------------------------------------------------------------------- safeguards


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_large_exponents_do_not_overflow(scale):
    """p = 1.01 raises to the power 100, and the first steps of a small alpha are long."""
    X, y = make_data("hinge", N, D, density=0.3, length=scale)
    for k in (1, 5):
        check(X, y, "hinge", make_order(300), k=k, alpha=1e-3, tolerance=1e-7, p=1.01, bias="none")


@pytest.mark.parametrize("k", [1, 5])
def test_long_steps_of_exponentiated_gradient_do_not_overflow(k):
    """The first step alone moves an exponent by 1 / alpha."""
    X, y = make_data("hinge", N, D, density=0.3)
    check(X, y, "hinge", make_order(300), k=k, alpha=1e-4, tolerance=1e-8, p=1, radius=1.0,
          bias="none")  # fmt: skip


@pytest.mark.parametrize("p", [1.0, 1.02, 1.05, 1.1, 1.5])
def test_many_steps_between_two_refreshes(p):
    """Few of many columns in a row: one unit must do for many steps, the first ones included."""
    X, y = make_data("log", N, 2000, density=0.003)
    X *= 0.1
    ball = {"radius": 3.0} if p == 1 else {}
    check(X, y, "log", make_order(500), p=p, bias="none", alpha=1e-3, **ball)


def test_a_mass_that_nearly_vanishes():
    """Two opposite rows, the second takes all but a little of the first away."""
    X = np.array([[1e3, 0.0, 0.0], [-1e3, 1e-5, 0.0], [0.0, 1e-5, 1e-6]])
    y = np.ones(3)
    order = np.tile([0, 1, 2, 0, 1, 2, 2, 1], 30)
    for p in (1.1, 1.5):
        check(X, y, "hinge", order, p=p, bias="none", alpha=1e-9, tolerance=1e-7)


# ----------------------------------------------------------------------------------------- theorem


@pytest.mark.parametrize("p", [1.5, 2.0])
def test_excess_is_below_the_bound_and_falls_like_one_over_t(p):
    """Mean over seeds of F(mean iterate) - F*: at most G^2 (1 + ln T) / (2 alpha T)."""
    X, y = make_data("hinge", 60, 5)
    y[::5] *= -1
    low = reference.optimum(X, y, ALPHA, "hinge", bias="none", p=p)
    problem = make("hinge", X, y, bias="none", alpha=ALPHA, p=p)
    bound = np.linalg.norm(X, p / (p - 1), axis=1).max() ** 2
    times = 60 * 4 ** np.arange(5)
    excess = np.zeros(len(times))
    seeds = 12
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        method = begin(problem, average="mean", sampling="iid")
        for at, steps in enumerate(times):
            method.visit(rng.integers(0, 60, steps - method.steps))
            w, _ = method.answer()
            value = reference.objective(X, y, w, 0.0, ALPHA, "hinge", bias="none", p=p)
            excess[at] += (value - low) / seeds
    assert (excess <= bound * (1 + np.log(times)) / (2 * ALPHA * times)).all()
    assert (excess > 0).all()
    slope = np.polyfit(np.log(times), np.log(excess / (1 + np.log(times))), 1)[0]
    assert -1.25 <= slope <= -0.85, slope


def test_what_pgs_refuses():
    X, y = make_data("hinge", N, D)
    with pytest.raises(ValueError, match="average='best' must be one of"):
        begin(make("hinge", X, y), average="best")
    with pytest.raises(ValueError, match="batch_size=-1 must be at least 1"):
        begin(make("hinge", X, y), batch_size=-1)
    with pytest.raises(ValueError, match="sampling='sorted' must be"):
        begin(make("hinge", X, y), sampling="sorted")
