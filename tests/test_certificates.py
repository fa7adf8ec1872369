"""Certificates: weak duality always, no gap at the optimum, the best bias, feasible variables."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, minimize_scalar
from scipy.special import entr

from skimlearn import certificates
from skimlearn.formulas.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Log,
    Loss,
    Squared,
    SquaredHinge,
)
from skimlearn.formulas.regularizers import Entropic, SquaredL2
from skimlearn.problem import BIASES, make_problem

N, D, ALPHA = 12, 3, 0.05

RNG = np.random.default_rng(7)
X = RNG.normal(size=(N, D)) / 2
LABELS = np.where(X[:, 0] + 0.4 * RNG.normal(size=N) > 0, 1.0, -1.0)
NUMBERS = X @ RNG.normal(size=D) + 0.3 * RNG.normal(size=N) + 0.7
WEIGHTS = RNG.random(N) * 3
WEIGHTS[4] = 0.0


@dataclass(frozen=True)
class Pinball(Loss):
    """A user's loss: its conjugate and bounds are found numerically."""

    tau: float = 0.7

    def value(self, z, y):
        return max(self.tau * (y - z), (1.0 - self.tau) * (z - y))

    def slope(self, z, y):
        return 1.0 - self.tau if z > y else -self.tau


LOSSES = [
    Hinge(),
    SquaredHinge(),
    Log(),
    Squared(),
    Absolute(),
    Huber(delta=0.4),
    EpsilonInsensitive(epsilon=0.2),
    Pinball(),
]
REGULARIZERS = {
    "l2": {"p": 2.0},
    "l1.5": {"p": 1.5},
    "l1.5 in a ball": {"p": 1.5, "radius": 0.6},
    "entropic": {"p": 1.0, "radius": 2.0},
}

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
every_regularizer = pytest.mark.parametrize("regularizer", REGULARIZERS)
every_bias = pytest.mark.parametrize("bias", BIASES)
weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])


def make(loss, regularizer="l2", bias="free", weights=None, X=X, y=None, alpha=ALPHA):
    if y is None:
        y = LABELS if loss.labels else NUMBERS
    return make_problem(
        X, y, loss=loss, alpha=alpha, bias=bias, sample_weight=weights, **REGULARIZERS[regularizer]
    )


# ----------------------------------------------- the dual on paper (algorithms.md, section 12.1)


def gain(loss, a, y):
    """-loss*(-a), for all rows at once."""
    if isinstance(loss, Log):
        return entr(a * y) + entr(1 - a * y)
    linear = a * y
    if isinstance(loss, (Squared, SquaredHinge, Huber)):
        return linear - a * a / 2
    if isinstance(loss, EpsilonInsensitive):
        return linear - loss.epsilon * np.abs(a)
    return linear


def box(loss, y):
    """The domain of the dual variables, cut off where it has no end."""
    if isinstance(loss, (Hinge, Log)):
        return np.minimum(y, 0), np.maximum(y, 0)
    if isinstance(loss, SquaredHinge):
        return np.where(y > 0, 0, -9.0), np.where(y > 0, 9.0, 0)
    ends = {
        Squared: (-9, 9),
        Absolute: (-1, 1),
        EpsilonInsensitive: (-1, 1),
        Huber: (-0.4, 0.4),
        Pinball: (-0.3, 0.7),
    }
    low, high = ends[type(loss)]
    return np.full(len(y), float(low)), np.full(len(y), float(high))


def conjugate(regularizer, theta):
    if isinstance(regularizer, SquaredL2):
        return theta @ theta / 2
    if isinstance(regularizer, Entropic):
        return regularizer.radius**2 * np.log(np.cosh(theta / regularizer.radius).mean())
    p = regularizer.p
    length = (p - 1) * np.linalg.norm(theta, p / (p - 1))
    return (length**2 - max(0, length - regularizer.radius) ** 2) / (2 * (p - 1))


def paper_dual(problem, a):
    m = problem.weights
    theta = X.T @ (m * a) / (ALPHA * N)
    value = -ALPHA * conjugate(problem.regularizer, theta)
    if problem.bias == "regularized":
        value -= ALPHA / 2 * (m @ a / (ALPHA * N)) ** 2
    return value + m @ gain(problem.loss, a, problem.y) / N


def paper_primal(problem, w, b):
    """The primal value in numpy; the loss from its plain Python formula."""
    m, y = problem.weights, problem.y
    value = ALPHA * problem.regularizer.penalty(w)
    if problem.bias == "regularized":
        value += ALPHA / 2 * b * b
    z = X @ w + b
    return value + sum(m[i] * problem.loss.value(z[i], y[i]) for i in range(N)) / N


def random_dual(problem, rng):
    low, high = box(problem.loss, problem.y)
    return certificates.feasible(problem, rng.uniform(low, high) * rng.random())


# -------------------------------------------------------------------------------- weak duality


@pytest.mark.pure_python
@every_loss
@every_regularizer
@every_bias
@weighted
def test_weak_duality(loss, regularizer, bias, weights):
    problem = make(loss, regularizer, bias, weights)
    rng = np.random.default_rng(0)
    duals = [certificates.dual(problem, random_dual(problem, rng)).value for _ in range(12)]
    answers = []
    for size in (0.0, 0.1, 1.0, 10.0):
        w = problem.regularizer.link(size * rng.normal(size=D))
        answers.append(certificates.primal(problem, w, size * rng.normal()))
        duals.append(certificates.dual(problem, certificates.slopes(problem, answers[-1])).value)
    primals = [answer.value for answer in answers]
    assert np.isfinite(primals).all()
    assert np.isfinite(duals).all()
    assert max(duals) <= min(primals) + 1e-12
    if bias == "none":
        assert {answer.b for answer in answers} == {0.0}


@pytest.mark.pure_python
@pytest.mark.parametrize("loss", [Hinge(), Huber(delta=0.4), Log()], ids=repr)
@pytest.mark.parametrize("regularizer", ["l2", "entropic"])
@every_bias
@weighted
def test_values_are_those_on_paper(loss, regularizer, bias, weights):
    rng = np.random.default_rng(1)
    for data in (X, sp.csr_array(X)):
        problem = make(loss, regularizer, bias, weights, X=data)
        w = problem.regularizer.link(rng.normal(size=D))
        answer = certificates.primal(problem, w, 0.3)
        assert answer.b == {"regularized": 0.3, "none": 0.0}.get(bias, answer.b)
        assert answer.value == pytest.approx(paper_primal(problem, w, answer.b), rel=1e-12)
        np.testing.assert_allclose(answer.z, X @ w, rtol=1e-12, atol=1e-14)
        again = certificates.primal(problem, w, 0.3, z=X @ w)
        assert again.value == pytest.approx(answer.value, rel=1e-12)
        a = random_dual(problem, rng)
        bound = certificates.dual(problem, a)
        assert bound.value == pytest.approx(paper_dual(problem, a), rel=1e-12, abs=1e-15)
        theta = X.T @ (problem.weights * a) / (ALPHA * N)
        np.testing.assert_allclose(bound.theta, theta, rtol=1e-12, atol=1e-14)
        given = certificates.dual(problem, a, theta=theta)
        assert given.value == pytest.approx(bound.value, rel=1e-12)


@pytest.mark.pure_python
@every_loss
@every_regularizer
@every_bias
@weighted
def test_the_bound_of_slopes_needs_no_conjugate(loss, regularizer, bias, weights):
    problem = make(loss, regularizer, bias, weights)
    rng = np.random.default_rng(3)
    for size in (0.1, 1.0, 10.0):
        w = problem.regularizer.link(size * rng.normal(size=D))
        answer = certificates.primal(problem, w, size * rng.normal())
        a = certificates.slopes(problem, answer)
        general = certificates.dual(problem, a)
        for theta in (None, general.theta):
            bound = certificates.at_slopes(problem, answer, a, theta)
            scale = abs(answer.value) + abs(general.value)
            assert bound.value == pytest.approx(general.value, abs=1e-12 * scale)
            np.testing.assert_allclose(bound.theta, general.theta, rtol=1e-12)


def test_values_without_a_bound_are_infinite_not_nan():
    problem = make(Hinge(), "l1.5 in a ball")
    assert certificates.primal(problem, np.full(D, 9.0)).value == math.inf
    assert certificates.dual(problem, np.full(N, 2.0)).value == -math.inf


# --------------------------------------------------------------------------------- the optimum


def optimum(problem):
    """The dual variables that are best, by a general solver on the formulas above."""
    low, high = box(problem.loss, problem.y)
    if isinstance(problem.loss, Log):
        low, high = low + 1e-9, high - 1e-9
    constraints = {
        "type": "eq",
        "fun": lambda a: problem.weights @ a,
        "jac": lambda a: problem.weights,
    }
    rng = np.random.default_rng(0)
    best = certificates.feasible(problem, np.clip(0.2 * np.sign(low + high + 1e-3), low, high))
    start = best
    for _ in range(6):  # one run alone may end at a kink of the conjugate, where slopes mislead it
        found = minimize(
            lambda a: -paper_dual(problem, a),
            np.clip(start, low, high),
            bounds=list(zip(low, high, strict=True)),
            constraints=constraints if problem.bias == "free" else (),
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-14},
        )
        answers = (best, certificates.feasible(problem, found.x))
        best = max(answers, key=lambda a: paper_dual(problem, a))
        start = best + 0.02 * rng.normal(size=N)
    return best


@every_loss
@every_regularizer
@every_bias
def test_no_gap_at_the_optimum(loss, regularizer, bias):
    weights = WEIGHTS if (regularizer == "l1.5") != (bias == "free") else None
    problem = make(loss, regularizer, bias, weights)
    bound = certificates.dual(problem, optimum(problem))
    w = problem.regularizer.link(bound.theta)
    b = float(problem.weights @ bound.a) / (ALPHA * N)
    answer = certificates.primal(problem, w, b if bias == "regularized" else 0.0)
    assert -1e-12 <= answer.value - bound.value <= 1e-4 * answer.value
    if loss.curvature() < math.inf:  # then the slopes at the answer prove it as well
        _, proof = certificates.regularized(problem, w, answer.b)
        assert answer.value - proof.value <= 1e-3 * answer.value


def test_gap_at_the_exact_answer_of_ridge_regression():
    centred = X - X.mean(axis=0)
    w = np.linalg.solve(
        centred.T @ centred / N + ALPHA * np.eye(D), centred.T @ (NUMBERS - NUMBERS.mean()) / N
    )
    answer, bound = certificates.regularized(make(Squared()), w, 1e3)
    assert answer.b == pytest.approx(NUMBERS.mean() - X.mean(axis=0) @ w, rel=1e-12)
    assert abs(answer.value - bound.value) < 1e-14


@pytest.mark.pure_python
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("bias", ["none", "regularized"])
def test_one_reading_tells_the_answer_its_slopes_and_their_vector(loss, bias):
    problem = make(loss, "l2", bias, WEIGHTS)
    w, b = np.array([0.3, -0.2, 0.5]), 0.1
    one = certificates.primal(problem, w, b)
    a = certificates.slopes(problem, one)
    bound = certificates.dual(problem, a)
    answer, found, theta = certificates.looked_at(problem, w, b)
    assert (answer.b, answer.value) == pytest.approx((one.b, one.value), rel=1e-14)
    np.testing.assert_allclose(answer.z, one.z, rtol=1e-13)
    np.testing.assert_allclose(found, a, rtol=1e-12)
    np.testing.assert_allclose(theta, bound.theta, rtol=1e-12)
    assert certificates.regularized(problem, w, b)[1].value == pytest.approx(bound.value, rel=1e-11)


# ------------------------------------------------------------------------------------- weights


@pytest.mark.pure_python
@pytest.mark.parametrize("loss", [Hinge(), Squared(), Log()], ids=repr)
@every_regularizer
@every_bias
def test_integer_weights_are_repeated_rows(loss, regularizer, bias):
    counts = np.array([1, 2, 0, 3, 1, 1, 5, 0, 2, 1, 1, 4])
    y = LABELS if loss.labels else NUMBERS
    one = make(loss, regularizer, bias, counts)
    two = make(loss, regularizer, bias, X=X.repeat(counts, axis=0), y=y.repeat(counts))
    rng = np.random.default_rng(2)
    w, b = one.regularizer.link(rng.normal(size=D)), 0.2
    first, second = certificates.primal(one, w, b), certificates.primal(two, w, b)
    assert first.value == pytest.approx(second.value, rel=1e-12)
    assert first.b == pytest.approx(second.b, rel=1e-6, abs=1e-9)
    a = random_dual(one, rng)
    np.testing.assert_allclose(certificates.feasible(two, a.repeat(counts)), a.repeat(counts))
    bound = certificates.dual(two, a.repeat(counts))
    assert certificates.dual(one, a).value == pytest.approx(bound.value, rel=1e-12, abs=1e-14)


def test_the_scale_of_the_weights_does_not_matter():
    w = np.ones(D)
    values = {
        round(certificates.primal(make(Log(), weights=c * WEIGHTS), w).value, 12)
        for c in (1.0, 1e-200, 1e200)
    }
    assert len(values) == 1


# ---------------------------------------------------------------------------------- feasibility


@every_loss
@every_bias
@weighted
def test_feasible_variables(loss, bias, weights):
    problem = make(loss, "l2", bias, weights)
    a = np.random.default_rng(3).normal(size=N) * 20
    a[:9] = np.abs(a[:9]) * LABELS[:9]  # of the right sign for losses of labels
    before = a.copy()
    found = certificates.feasible(problem, a)
    np.testing.assert_array_equal(a, before)
    for value, y in zip(found, problem.y, strict=True):
        low, high = loss.dual_bounds(float(y))
        assert low <= value <= high
    m = problem.weights
    if bias == "free":
        assert abs(m @ found) <= 1e-13 * (m @ np.abs(found))
        assert m @ np.abs(found) > 0.0
    else:
        low, high = (np.array(ends) for ends in zip(*map(loss.dual_bounds, problem.y), strict=True))
        np.testing.assert_array_equal(found, np.clip(a, low, high))
    np.testing.assert_allclose(certificates.feasible(problem, found), found, rtol=1e-12)


@pytest.mark.pure_python
@every_loss
def test_feasible_variables_that_all_have_one_sign(loss):
    """Nothing to balance with: only zero is left, and it gives a valid bound."""
    y = np.ones(N) if loss.labels else NUMBERS
    problem = make(loss, y=y)
    found = certificates.feasible(problem, np.full(N, 0.25))
    np.testing.assert_array_equal(found, 0.0)
    assert certificates.dual(problem, found).value == pytest.approx(0.0, abs=1e-12)


# ------------------------------------------------------------------------------------- the bias


def mean_loss(problem, z, b):
    values = [problem.loss.value(u + b, t) for u, t in zip(z.tolist(), problem.y, strict=True)]
    return problem.weights @ values / problem.n


@pytest.mark.pure_python
@every_loss
@weighted
def test_best_bias_is_the_minimiser(loss, weights):
    problem = make(loss, weights=weights)
    z = np.random.default_rng(4).normal(size=N) * 2
    grid = [mean_loss(problem, z, b) for b in np.linspace(-12, 12, 481)]
    found = minimize_scalar(
        lambda b: mean_loss(problem, z, b),
        bounds=(-12, 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    values = []
    for start in (0.0, -300.0, 1e6, -1e9, math.nan, math.inf):
        b = certificates.best_bias(problem, z, start)
        values.append(mean_loss(problem, z, b))
        assert values[-1] <= min(*grid, found.fun) * (1 + 1e-12)
    assert max(values) == pytest.approx(min(values), rel=1e-12)


@pytest.mark.pure_python
def test_best_bias_of_the_absolute_loss_is_the_median():
    y = np.array([5.0, 1.0, 100.0, 7.0, 3.0])
    problem = make(Absolute(), X=np.zeros((5, D)), y=y)
    assert certificates.best_bias(problem, np.zeros(5)) == pytest.approx(5.0, rel=1e-15)
    problem = make(Absolute(), X=np.zeros((4, D)), y=y[:4])  # a tie: anything from 5 to 7
    for start in (0.0, 6.0, 50.0):
        assert 5.0 <= certificates.best_bias(problem, np.zeros(4), start) <= 7.0


@pytest.mark.pure_python
def test_best_bias_of_the_squared_loss_is_the_mean():
    problem = make(Squared(), weights=WEIGHTS)
    found = certificates.best_bias(problem, X[:, 0])
    assert found == pytest.approx(np.average(NUMBERS - X[:, 0], weights=WEIGHTS), rel=1e-14)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Log()], ids=repr)
@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_best_bias_of_one_class(loss, label):
    problem = make(loss, y=np.full(N, label))
    z = X[:, 0]
    b = certificates.best_bias(problem, z)
    assert math.isfinite(b)
    assert math.copysign(1, b) == label
    assert mean_loss(problem, z, b) <= 1e-300
    answer, bound = certificates.regularized(problem, np.zeros(D))
    assert answer.value - bound.value <= 1e-12


@pytest.mark.parametrize("loss", LOSSES[3:], ids=repr)
@pytest.mark.parametrize("offset", [1e8, -1e8, 1e-8])
def test_best_bias_for_far_targets(loss, offset):
    y = offset * (1 + 1e-4 * np.arange(N) ** 2)
    problem = make(loss, y=y)
    b = certificates.best_bias(problem, np.zeros(N))
    value = mean_loss(problem, np.zeros(N), b)
    others = [*y.tolist(), float(y.mean()), *np.linspace(y.min(), y.max(), 200).tolist()]
    assert value <= min(mean_loss(problem, np.zeros(N), c) for c in others) * (1 + 1e-12)


def test_best_bias_with_weights_of_very_different_sizes():
    weights = 10.0 ** np.linspace(-12, 0, N)
    for loss in (Log(), Absolute(), Squared()):
        problem = make(loss, weights=weights)
        b = certificates.best_bias(problem, X[:, 1])
        value = mean_loss(problem, X[:, 1], b)
        for c in itertools.chain(np.linspace(-40, 40, 801), b + np.array([-1e-3, 1e-3])):
            assert value <= mean_loss(problem, X[:, 1], c) * (1 + 1e-12) + 1e-15


@pytest.mark.pure_python
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log", "squared", "absolute", "huber"])
def test_zero_weights_and_variables_need_no_look_at_the_rows(loss, bias, weights):
    y = LABELS if loss in ("hinge", "squared_hinge", "log") else NUMBERS
    problem = make_problem(X, y, loss=loss, alpha=ALPHA, bias=bias, sample_weight=weights)
    answer, bound = certificates.at_zero(problem)
    slow = certificates.primal(problem, np.zeros(D))
    assert answer.value == pytest.approx(slow.value, rel=1e-12)
    assert certificates.mean_loss(problem, slow.z, answer.b) == pytest.approx(slow.value, rel=1e-12)
    assert bound.value == pytest.approx(certificates.dual(problem, np.zeros(N)).value, rel=1e-12)
    for vector in (answer.w, answer.z, bound.a, bound.theta):
        assert not vector.any()


@pytest.mark.pure_python
def test_inner_variables_are_neither_zero_nor_at_an_end():
    weights = np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    problem = make_problem(
        np.eye(5), [1, 1, 1, -1, 1], loss="hinge", alpha=1.0, sample_weight=weights
    )
    a = np.array([0.0, 0.5, 1.0, -0.25, 0.5])
    assert certificates.inner(problem, a).tolist() == [False, True, False, True, False]
