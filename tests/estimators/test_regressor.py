"""The regressor: every loss, against direct solutions of the same objective."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from skimlearn import LinearRegressor, Status, losses

N, D = 150, 5
rng = np.random.default_rng(11)
X = rng.normal(size=(N, D))
TRUE = np.array([1.0, -2.0, 0.0, 0.5, 3.0])
y = X @ TRUE + 1.5 + 0.5 * rng.normal(size=N)
WEIGHTS = rng.random(N) + 0.05

LOSSES = {
    "squared": lambda r: 0.5 * r**2,
    "absolute": np.abs,
    "huber": lambda r: np.where(np.abs(r) <= 1.0, 0.5 * r**2, np.abs(r) - 0.5),
    "epsilon_insensitive": lambda r: np.maximum(0.0, np.abs(r) - 0.1),
}


def model(**parameters):
    return LinearRegressor(**{"alpha": 1e-2, "tol": 1e-9, "random_state": 0, **parameters})


def ridge(X, y, alpha, weights=None, bias="free"):
    """The minimiser of alpha/2 ||w||^2 + mean half squared error, from its normal equations."""
    n, d = X.shape
    m = np.ones(n) if weights is None else weights / np.mean(weights)
    A = np.column_stack([X, np.ones(n)])
    penalty = np.diag([alpha] * d + [{"free": 0.0, "regularized": alpha}.get(bias, 1e30)])
    solution = np.linalg.solve(A.T @ (m[:, None] * A) / n + penalty, A.T @ (m * y) / n)
    return solution[:d], solution[d]


# ----------------------------------------------------------------------------------- known answers


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("solver", ["auto", "dual"])
def test_diabetes_dense_and_sparse_reach_the_optimum(kind, solver):
    # scikit-learn's SGDRegressor: R2 0.514 for dense rows, 0.478 for the same rows as CSR
    data, target = load_diabetes(return_X_y=True)
    w, b = ridge(data, target, 1e-4)
    fitted = model(alpha=1e-4, solver=solver, tol=1e-6).fit(kind(data), target)
    np.testing.assert_allclose(fitted.coef_, w, atol=0.5 if solver == "dual" else 1e-6)
    assert fitted.intercept_ == pytest.approx(b, rel=1e-4)
    best = 1.0 - np.mean((target - data @ w - b) ** 2) / target.var()
    assert fitted.score(kind(data), target) == pytest.approx(best, abs=1e-4)
    assert best == pytest.approx(0.5147, abs=1e-4)


@pytest.mark.parametrize("solver", ["asgd", "casgd"])
def test_diabetes_with_stochastic_solvers(solver):
    data, target = load_diabetes(return_X_y=True)
    parameters = {"alpha": 1e-4, "solver": solver, "tol": None, "max_epochs": 200}
    dense = model(**parameters).fit(data, target)
    sparse = model(**parameters).fit(sp.csr_array(data), target)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-10)
    assert dense.score(data, target) > 0.51


@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_squared_loss_is_ridge_regression(bias, weights, kind):
    fitted = model(bias=bias).fit(kind(X), y, sample_weight=weights)
    w, b = ridge(X, y, 1e-2, weights, bias)
    np.testing.assert_allclose(fitted.coef_, w, rtol=1e-7)
    assert fitted.intercept_ == pytest.approx(b, rel=1e-7, abs=1e-12)
    certificate = fitted.result_.certificate
    assert fitted.result_.status is Status.CONVERGED
    assert certificate.dual <= certificate.primal * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_every_loss_reaches_its_optimum(loss, weights):
    fitted = model(loss=loss, tol=1e-7).fit(X, y, sample_weight=weights)

    def objective(v):
        return 5e-3 * v[:D] @ v[:D] + np.average(
            LOSSES[loss](X @ v[:D] + v[D] - y), weights=weights
        )

    certificate = fitted.result_.certificate
    answer = np.append(fitted.coef_, fitted.intercept_)
    assert certificate.primal == pytest.approx(objective(answer), rel=1e-12)
    assert certificate.relative_gap <= 1e-7
    found = scipy.optimize.minimize(
        objective, answer, method="Nelder-Mead", options={"maxiter": 2000, "fatol": 1e-13}
    )
    assert found.fun >= certificate.dual - 1e-12


@pytest.mark.parametrize("loss", ["huber", "absolute", "epsilon_insensitive"])
def test_robust_losses_ignore_outliers(loss):
    spoiled = y.copy()
    spoiled[::10] += 100.0
    robust = model(loss=loss, alpha=1e-4, tol=1e-5).fit(X, spoiled)
    squared = model(alpha=1e-4, tol=1e-5).fit(X, spoiled)
    assert np.abs(robust.coef_ - TRUE).max() < 0.25
    assert abs(robust.intercept_ - 1.5) < 0.25
    assert abs(squared.intercept_ - 1.5) > 5.0


def test_the_absolute_loss_with_no_weights_to_speak_of_finds_the_median():
    fitted = model(loss="absolute", alpha=1e6, tol=1e-6).fit(X, y)
    assert np.abs(fitted.coef_).max() < 1e-5
    assert np.sort(y)[N // 2 - 2] <= fitted.intercept_ <= np.sort(y)[N // 2 + 1]


@pytest.mark.parametrize("delta", [0.1, 10.0])
def test_parameters_of_a_loss(delta):
    fitted = model(loss=losses.Huber(delta=delta), tol=1e-6).fit(X, y)
    r = X @ fitted.coef_ + fitted.intercept_ - y
    slopes = np.clip(r, -delta, delta)
    np.testing.assert_allclose(1e-2 * fitted.coef_, -slopes @ X / N, atol=1e-3 * delta)
    if delta == 10.0:  # no residual is so large: the squared loss
        np.testing.assert_allclose(fitted.coef_, ridge(X, y, 1e-2)[0], rtol=1e-3)


# ---------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("loss", LOSSES)
def test_integer_weights_are_repeated_rows(loss):
    counts = np.random.default_rng(3).integers(0, 4, size=N)
    weighted = model(loss=loss, tol=1e-8).fit(X, y, sample_weight=counts)
    repeated = model(loss=loss, tol=1e-8).fit(X.repeat(counts, axis=0), y.repeat(counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-5)
    primal = repeated.result_.certificate.primal
    assert weighted.result_.certificate.primal == pytest.approx(primal, rel=2e-8)


def test_the_scale_of_the_weights_does_not_matter():
    one = model().fit(X, y, sample_weight=WEIGHTS)
    for scale in (1e-200, 1e200, 3):
        other = model().fit(X, y, sample_weight=scale * WEIGHTS)
        np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-9)


# ------------------------------------------------------------------------------- shapes and scales


def test_shapes():
    fitted = model().fit(X, y)
    assert fitted.coef_.shape == (D,)
    assert isinstance(fitted.intercept_, float)
    assert fitted.predict(X).shape == (N,)
    assert fitted.n_features_in_ == D
    assert fitted.n_rows_seen_ == N
    assert fitted.n_iter_ >= 1
    np.testing.assert_allclose(fitted.predict(X), X @ fitted.coef_ + fitted.intercept_, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, bool, object])
def test_targets_of_other_types(dtype):
    target = (3 * y).round().astype(dtype)
    plain = model().fit(X, target.astype(np.float64))
    np.testing.assert_array_equal(model().fit(X, target).coef_, plain.coef_)


def test_a_shift_of_the_targets_moves_a_free_bias_only():
    one, two = model().fit(X, y), model().fit(X, y + 1e4)
    np.testing.assert_allclose(two.coef_, one.coef_, rtol=1e-6)
    assert two.intercept_ - one.intercept_ == pytest.approx(1e4, rel=1e-9)


def test_features_of_very_different_scales():
    scales = np.array([1e-4, 1.0, 1e4, 1e2, 1e-2])
    w, b = ridge(X * scales, y, 1e-6)
    fitted = model(alpha=1e-6).fit(X * scales, y)
    np.testing.assert_allclose(fitted.predict(X * scales), X * scales @ w + b, rtol=1e-5, atol=1e-5)


def test_targets_that_are_transformed_outside():
    outer = TransformedTargetRegressor(model(), transformer=StandardScaler()).fit(X, 1e6 * y)
    assert outer.score(X, 1e6 * y) > 0.95


def test_a_constant_target():
    fitted = model().fit(X, np.full(N, 7.0))
    np.testing.assert_allclose(fitted.coef_, 0.0, atol=1e-9)
    assert fitted.intercept_ == pytest.approx(7.0)
