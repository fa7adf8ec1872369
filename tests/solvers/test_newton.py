"""Newton's method against direct solutions and general minimisers, whatever the scales."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

import reference
from problems import LOSSES, NAMES, close, make, make_data, make_weights
from skimlearn import certificates
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES
from skimlearn.result import Budget, Status
from skimlearn.solvers import auto, newton
from skimlearn.solvers._run import Start

N, D, ALPHA = 50, 4, 0.03
TIGHT = Budget(gap=1e-10, epochs=2000)


def smooth_minimum(X, y, loss, bias, m):
    """(w, b) and the value by BFGS, for losses without kinks."""

    def value_and_gradient(v):
        w, b = (v[:-1], v[-1]) if bias != "none" else (v, 0.0)
        g = m * reference.SLOPES[loss](X @ w + b, y) / len(y)
        value = reference.objective(X, y, w, b, ALPHA, loss, bias=bias, m=m)
        gradient = ALPHA * w + X.T @ g
        if bias != "none":
            gradient = np.append(gradient, g.sum() + ALPHA * b * (bias == "regularized"))
        return value, gradient

    start = np.zeros(X.shape[1] + (bias != "none"))
    found = minimize(value_and_gradient, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    return (found.x[:-1], found.x[-1]) if bias != "none" else (found.x, 0.0), found.fun


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "log", "huber"])
def test_smooth_losses_against_a_general_minimiser(loss, bias, weighted):
    X, y = make_data(loss, N, D, offset=0.2)
    m = make_weights(N) if weighted else np.ones(N)
    problem = make(loss, X, y, bias=bias, alpha=ALPHA, sample_weight=m)
    result = newton.solve(problem, TIGHT)
    (w, b), value = smooth_minimum(X, y, loss, bias, m)
    assert result.status is Status.CONVERGED
    assert result.epochs <= 20
    assert result.certificate.primal == pytest.approx(value, rel=1e-10)
    assert result.certificate.primal <= value * (1 + 1e-14)
    assert close((result.x, result.bias), (w, b), 1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive", "pinball"])
def test_losses_with_kinks_against_a_general_minimiser(loss, bias, seed):
    X, y = make_data(loss, 20, 3, seed=seed, offset=0.2)
    m = make_weights(20, seed) if seed % 2 else None
    problem = make(loss, X, y, bias=bias, alpha=ALPHA, sample_weight=m)
    result = newton.solve(problem, TIGHT)
    assert result.status is Status.CONVERGED
    low = reference.optimum(X, y, ALPHA, loss, bias=bias, m=m)
    assert result.certificate.primal == pytest.approx(low, rel=1e-8)


@pytest.mark.pure_python
@pytest.mark.parametrize("loss", ["log", "hinge", "absolute"])
def test_without_the_jit(loss):
    X, y = make_data(loss, 12, 2)
    for rows in (X, sp.csr_array(X)):
        problem = make(loss, rows, y, alpha=0.1)
        result = newton.solve(problem, TIGHT)
        low = reference.optimum(X, y, 0.1, loss, bias="free")
        assert result.certificate.primal == pytest.approx(low, rel=1e-8)


def test_ridge_regression_is_one_step():
    X, y = make_data("squared", N, D, offset=5.0)
    exact = Ridge(alpha=ALPHA * N, solver="cholesky").fit(X, y)
    result = newton.solve(make("squared", X, y, alpha=ALPHA), TIGHT)
    assert close((result.x, result.bias), (exact.coef_, exact.intercept_), 1e-10)
    assert result.epochs <= 4  # a step, and what it takes to see that it was exact
    assert abs(result.certificate.gap) <= 1e-12 * result.certificate.primal


@pytest.mark.parametrize("alpha", [1e-6, 1e-3, 10.0])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", [*LOSSES])
def test_features_of_any_scale(loss, bias, alpha):
    """First-order methods slow down with the square of the ratio of the scales."""
    X, y = make_data(loss, 60, 5)
    X = X * 10.0 ** np.array([-3, -1, 0, 2, 4])
    result = newton.solve(make(loss, X, y, bias=bias, alpha=alpha), Budget(gap=1e-6, epochs=500))
    assert result.certificate.relative_gap <= 1e-6, result


@pytest.mark.parametrize("seed", range(30))
def test_a_free_bias_where_no_row_is_near_a_kink(seed):
    """Then nothing bends along the bias, and a step along it has no natural length."""
    for loss in ("hinge", "absolute", "huber", "pinball"):
        X, y = make_data(loss, 14, 3, seed=seed)
        y = y * (1.0 if loss == "hinge" else 100.0)
        m = make_weights(14, seed)
        result = newton.solve(make(loss, X, y, alpha=0.1, sample_weight=m), TIGHT)
        assert result.certificate.relative_gap <= (1e-6 if loss == "pinball" else 1e-9), loss


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_integer_weights_are_repeated_rows(loss, bias):
    X, y = make_data(loss, 30, D)
    counts = np.random.default_rng(1).integers(0, 4, 30)
    one = newton.solve(make(loss, X, y, sample_weight=counts, bias=bias, alpha=ALPHA), TIGHT)
    rows, labels = X.repeat(counts, 0), y.repeat(counts)
    two = newton.solve(make(loss, rows, labels, bias=bias, alpha=ALPHA), TIGHT)
    assert one.certificate.primal == pytest.approx(two.certificate.primal, rel=1e-10)
    assert close((one.x, 0.0), (two.x, 0.0), 1e-5)
    if bias != "free" or loss == "log":
        assert close((one.x, one.bias), (two.x, two.bias), 1e-5)


def test_rows_of_weight_zero_have_no_influence():
    X, y = make_data("absolute", N, D)
    m = np.ones(N)
    m[::3] = 0.0
    wild = X.copy()
    wild[::3] *= 1e3
    one = newton.solve(make("absolute", wild, y, sample_weight=m, alpha=ALPHA), TIGHT)
    two = newton.solve(make("absolute", X[m > 0], y[m > 0], alpha=ALPHA), TIGHT)
    assert one.certificate.primal == pytest.approx(two.certificate.primal, rel=1e-10)
    assert close((one.x, 0.0), (two.x, 0.0), 1e-6)


@pytest.mark.parametrize("loss", NAMES)
def test_a_start_at_the_optimum_ends_at_once(loss):
    X, y = make_data(loss, N, D)
    problem = make(loss, X, y, alpha=ALPHA)
    first = newton.solve(problem, TIGHT)
    start = Start(first.x, first.bias, first.p)
    again = newton.solve(problem, TIGHT, start=start)
    assert again.epochs <= max(6, first.epochs)
    assert again.certificate.primal <= first.certificate.primal * (1 + 1e-12)
    assert again.certificate.relative_gap <= 1e-9


def test_what_newton_refuses():
    X, y = make_data("log", N, D)
    for parameters in ({"p": 1.5}, {"radius": 2.0}, {"p": 1.0, "radius": 2.0}):
        problem = make("log", X, y, **parameters)
        with pytest.raises(ValueError, match="Newton's method has p=2 and no radius"):
            newton.Newton(problem, Ledger(problem.rows))


def test_cost_is_counted_in_multiplications():
    counts = np.array([2, 0, 3])
    assert newton.cost(300, 3, counts) == pytest.approx(300 * 0.1 * 9 + 0.1 * 9)  # in blocks
    assert newton.cost(300, 100, counts) == pytest.approx(300 * 13 / 3 + 0.1 * 1e6 / 3)
    assert newton.cost(3, 2001, counts) == np.inf


@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", ["log", "squared", "huber", "squared_hinge"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_samples_are_a_start_close_to_the_answer(form, loss, bias):
    X, y = make_data(loss, 6000, 6)
    problem = make(loss, form(X), y, bias=bias, alpha=1e-4)
    method = newton.Newton(
        problem, Ledger(problem.rows), order=np.random.default_rng(0).permutation(6000)
    )
    assert 0 < method.ledger.reads.nnz < 1.1 * method.ledger.total
    value = certificates.primal(problem, method.w, method.b).value
    best = newton.solve(problem, TIGHT).certificate.primal
    assert best <= value * (1 + 1e-12)
    assert value <= 1.02 * best
    for _ in range(4):
        method.visit(np.arange(6000))
    assert certificates.primal(problem, method.w, method.b).value <= best * (1 + 1e-9)


def test_rows_far_off_do_not_mislead_the_first_steps():
    """Rare features and a small alpha: where the loss is straight, full steps go far too far."""
    rng = np.random.default_rng(0)
    X = (rng.random((6000, 60)) < np.geomspace(0.5, 5e-4, 60)) * 1.0
    y = np.where(X @ (3.0 * rng.normal(size=60)) - 1.0 + rng.logistic(size=6000) > 0.0, 1.0, -1.0)
    problem = make("log", X, y, bias="none", alpha=1e-6)
    best = newton.solve(problem, TIGHT).certificate.primal

    def distances(reach):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(newton, "REACH", reach)
            method = newton.Newton(problem, Ledger(problem.rows), Start(3.0 * rng.normal(size=60)))
            values = []
            for _ in range(8):
                method.visit(np.arange(6000))
                values.append(certificates.primal(problem, method.w).value / best - 1.0)
            return values

    bounded, full = distances(newton.REACH), distances(np.inf)
    assert bounded[-1] < 1e-6
    assert sum(value > 1e-2 for value in bounded) < sum(value > 1e-2 for value in full)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["log", "squared", "huber", "squared_hinge"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_dual_vector_of_a_model_is_that_of_its_rows(form, loss, bias):
    """It comes from the linear system, or where variables were put back from their rows."""
    X, y = make_data(loss, 300, 6)
    problem = make(loss, form(X), y, bias=bias, alpha=1e-3, sample_weight=make_weights(300))
    method = newton.Newton(problem, Ledger(problem.rows))
    method.goal = np.inf
    best = newton.solve(problem, TIGHT).certificate.primal
    for _ in range(3):
        method.visit(np.arange(300))
        answer = certificates.primal(problem, *method.answer())
        bound = method.bound(answer)
        again = certificates.dual(problem, certificates.feasible(problem, bound.a))
        assert np.allclose(bound.theta, again.theta, rtol=1e-9, atol=1e-9)
        assert bound.value == pytest.approx(again.value, rel=1e-9)
        assert bound.value <= best * (1 + 1e-12)


def test_a_model_proves_more_than_slopes_where_alpha_is_small():
    X, y = make_data("log", 2000, 6)
    problem = make("log", sp.csr_array(X), y, bias="none", alpha=1e-6)
    best = newton.solve(problem, TIGHT)
    method = newton.Newton(problem, Ledger(problem.rows), Start(best.x + 0.03))
    method.goal = np.inf  # what the model proves is enough
    for _ in range(2):  # a look at the rows, and a step
        method.visit(np.arange(2000))
    answer = certificates.primal(problem, *method.answer())
    used = method.ledger.reads
    proved = answer.value - method.bound(answer).value
    assert method.ledger.reads == used  # nothing had to be put back
    slopes = certificates.at_slopes(problem, answer, certificates.slopes(problem, answer))
    assert 0.0 < proved < 0.05 * (answer.value - slopes.value)


def test_where_a_model_proves_too_little_the_slopes_may_do():
    """Rows that leave the kink of a squared hinge behind have to be put back."""
    X, y = make_data("squared_hinge", 300, 6)
    problem = make("squared_hinge", X, y, bias="none", alpha=1.0)
    method = newton.Newton(problem, Ledger(problem.rows), Start(np.full(6, 0.3)))
    for goal in (None, 1e-300):
        method.goal = goal
        for _ in range(2):
            method.visit(np.arange(300))
        answer = certificates.primal(problem, *method.answer())
        a = certificates.slopes(problem, answer)
        assert method.bound(answer).value >= certificates.at_slopes(problem, answer, a).value


@pytest.mark.parametrize("n", [10, 2000, 6000, 40_000])
def test_as_many_rows_are_drawn_as_the_samples_need(n):
    X, y = make_data("log", n, 6)
    problem = make("log", X, y, bias="none", alpha=1e-3)
    order = newton.sample(problem, np.random.default_rng(0))
    assert len(set(order.tolist())) == len(order) == {10: 0, 2000: 500, 6000: 2000}.get(n, 8000)
    ledger = Ledger(problem.rows)
    newton.Newton(problem, ledger, order=order)
    assert ledger.reads.nnz == 6 * sum(500 * 4**k for k in range(3) if 500 * 4**k <= len(order))


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("seed", range(4))
def test_a_bound_allows_for_the_rounding_of_unscaled_features(bias, seed):
    """Two columns are large and nearly the same: the dual vector of a step's model is far off."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(3000, 12))
    large = 1e5 * (1.0 + base[:, 10:11])
    X = np.hstack([base[:, :10], large, large + base[:, 11:]])
    y = X @ np.linspace(-1.0, 1.0, 12) + 0.01 * rng.normal(size=3000)
    problem = make("squared", X, y, bias=bias, alpha=1e-4)
    for tol in (1e-3, 1e-6):
        result = auto.solve(problem, Budget(gap=tol, epochs=1000), seed=0)
        assert result.solver == "newton"
        Z, t = X, y
        if bias == "free":
            Z, t = X - X.mean(axis=0), y - y.mean()
        elif bias == "regularized":
            Z = np.hstack([X, np.ones((3000, 1))])
        A = np.vstack([Z / np.sqrt(3000), 1e-2 * np.eye(Z.shape[1])])
        b = np.append(t / np.sqrt(3000), np.zeros(Z.shape[1]))
        best = 0.5 * np.sum((A @ np.linalg.lstsq(A, b, rcond=None)[0] - b) ** 2)
        assert result.certificate.dual <= best * (1.0 + 1e-8)
        assert result.certificate.relative_gap <= max(tol, 1e-4)
