"""The table of docs/howto/migrate.md is true: the same objective has the same answer elsewhere.

Each line of the table that names a peer which is installed has a case. Every one fails with an
alpha that is wrong by a factor of two.
"""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.preprocessing import scale
from sklearn.svm import SVC, LinearSVC, LinearSVR, NuSVC

from skimlearn import KernelClassifier, LinearClassifier, LinearRegressor, SublinearSVC, losses

C, A = 0.1, 0.01
X, y = load_breast_cancer(return_X_y=True)
X, y = scale(X)[::3, ::2], y[::3]
n = len(y)
D, t = load_diabetes(return_X_y=True)
D, t = scale(D)[::3], t[::3] / 50.0
weights = np.random.default_rng(0).uniform(0.5, 3.0, n)
EXACT = {"tol": 1e-9, "max_iter": 1_000_000}
STEPS = {"max_iter": 3000, "tol": None, "average": True, "random_state": 0}


def here(loss, alpha, bias="free"):
    return LinearClassifier(loss=loss, alpha=alpha, bias=bias, tol=1e-10).fit(X, y)


def regression(loss, alpha, bias="free"):
    return LinearRegressor(loss=loss, alpha=alpha, bias=bias, tol=1e-10).fit(D, t)


PAIRS = {
    "-s 3": lambda f: (
        here("hinge", f / (C * n), "regularized"),
        LinearSVC(loss="hinge", C=C, random_state=0, **EXACT).fit(X, y),
    ),
    "-s 2": lambda f: (
        here("squared_hinge", f / (2 * C * n), "regularized"),
        LinearSVC(C=C, random_state=0, **EXACT).fit(X, y),
    ),
    "-s 0": lambda f: (
        here("log", f / (C * n), "regularized"),
        LogisticRegression(C=C, solver="liblinear", random_state=0, **EXACT).fit(X, y),
    ),
    "LogisticRegression": lambda f: (
        here("log", f / (C * n)),
        LogisticRegression(C=C, **EXACT).fit(X, y),
    ),
    "weights": lambda f: (
        LinearClassifier(loss="log", alpha=f / (C * weights.sum()), tol=1e-10).fit(X, y, weights),
        LogisticRegression(C=C, **EXACT).fit(X, y, weights),
    ),
    "SVC": lambda f: (
        here("hinge", f / (C * n)),
        SVC(kernel="linear", C=C, tol=1e-9).fit(X, y),
    ),
    "Ridge": lambda f: (
        regression("squared", f * 10.0 / len(t)),
        Ridge(alpha=10.0).fit(D, t),
    ),
    "LinearSVR": lambda f: (
        regression(losses.EpsilonInsensitive(epsilon=0.1), f / (C * len(t)), "regularized"),
        LinearSVR(epsilon=0.1, C=C, random_state=0, **EXACT).fit(D, t),
    ),
    "SGD hinge": lambda f: (
        here("hinge", f * A),
        SGDClassifier(loss="hinge", alpha=A, **STEPS).fit(X, y),
    ),
    "SGD log_loss": lambda f: (
        here("log", f * A),
        SGDClassifier(loss="log_loss", alpha=A, **STEPS).fit(X, y),
    ),
    "SGD squared_hinge": lambda f: (
        here("squared_hinge", f * 30 * A / 2),
        SGDClassifier(loss="squared_hinge", alpha=30 * A, **STEPS).fit(X, y),
    ),
    "SGDRegressor": lambda f: (
        regression("squared", f * 30 * A),
        SGDRegressor(alpha=30 * A, **STEPS).fit(D, t),
    ),
}


def difference(one, other):
    """Of two models, in the length of the second."""
    a, b = (np.append(model.coef_, model.intercept_) for model in (one, other))
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.parametrize("name", PAIRS)
def test_linear_models(name):
    close = 0.015 if "SGD" in name else 1e-4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of peers that would rather stop early
        assert difference(*PAIRS[name](1.0)) < close
        assert difference(*PAIRS[name](2.0)) > 2.0 * close


def test_a_kernel():
    model = KernelClassifier(gamma=0.05, alpha=1 / (1.0 * n), tol=1e-7, random_state=0).fit(X, y)
    peer = SVC(gamma=0.05, C=1.0, tol=1e-8).fit(X, y)
    ours, theirs = model.decision_function(X), peer.decision_function(X)
    assert np.abs(ours - theirs).max() < 1e-3


def test_the_fraction_of_the_rows():
    model = SublinearSVC(kappa=0.2, eps=1e-6, random_state=0).fit(X, y)
    peer = NuSVC(kernel="linear", nu=0.2, tol=1e-9).fit(X, y)
    assert difference(model, peer) < 1e-3
    other = SublinearSVC(kappa=0.4, eps=1e-6, random_state=0).fit(X, y)
    assert difference(other, peer) > 0.1
