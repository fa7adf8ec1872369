"""Real data: the automatic solver agrees with liblinear and scikit-learn, within its gap.

The same objective: hinge and log loss with a regularised bias, ridge regression with a free one.
The data sets are not part of the project: these tests are skipped where they are not at hand.
"""

import functools
import io
import itertools
import lzma
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

import reference
from problems import make
from skimlearn.result import Budget, Status
from skimlearn.solvers import auto, choose

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"the data sets are not at {DATA}")

TOL = 1e-3
BUDGET = Budget(gap=TOL, epochs=1000)


def read(name, every=1):
    """Some rows of a LIBSVM file: every so many, to save time."""
    with lzma.open(DATA / f"{name}.svm.xz", "rb") as file:
        text = b"".join(itertools.islice(file, 0, None, every))
    return load_svmlight_file(io.BytesIO(text))


@functools.cache
def load(name):
    """A classification problem: rows and labels."""
    if name == "covtype":
        with lzma.open(DATA / "covtype" / "covtype.npz.xz", "rb") as file:
            parts = dict(np.load(io.BytesIO(file.read())))
        chosen = np.random.default_rng(0).choice(len(parts["y"]), 20_000, replace=False)
        wild, soil = parts["wild"][chosen], parts["soil"][chosen]
        kinds = wild[:, None] == np.arange(4), soil[:, None] == np.arange(40)
        X = np.concatenate([parts["num"][:, chosen].T, *kinds], axis=1)
        X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
        return X, np.where(parts["y"][chosen] == 2, 1.0, -1.0)
    if name == "debian":
        X, y = read("debian-packages/debian_unigram", every=3)
        return normalize(X), y
    if name == "imdb":
        X, y = read("imdb/imdb_unigram", every=5)
        X = X.multiply(np.log(X.shape[0] / (1.0 + np.diff(X.tocsc().indptr)))).tocsr()
        return normalize(X).astype(np.float32), y
    return read(f"small/{name}")


@functools.cache
def peer(name, loss, alpha):
    """(w, b) of liblinear."""
    X, y = load(name)
    C = 1 / (alpha * len(y))
    if loss == "hinge":
        model = LinearSVC(loss="hinge", C=C, tol=1e-4, max_iter=3000, random_state=0)
    else:
        model = LogisticRegression(solver="liblinear", C=C, tol=1e-4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its objective is good all the same
        warnings.simplefilter("ignore", FutureWarning)
        model.fit(X.astype(np.float64), y)
    return model.coef_.ravel(), float(model.intercept_[0])


def value(X, y, w, b, alpha, loss, bias):
    X = X.astype(np.float64)
    return reference.objective(X, y, np.asarray(w), b, alpha, loss, bias=bias)


ALPHAS = {"a9a": 1e-4, "w8a": 1e-4, "covtype": 1e-3, "debian": 1e-4, "imdb": 1e-4}


@pytest.mark.parametrize("loss", ["hinge", "log"])
@pytest.mark.parametrize("name", ALPHAS)
def test_classification_agrees_with_liblinear(name, loss):
    X, y = load(name)
    alpha = ALPHAS[name]
    theirs = value(X, y, *peer(name, loss, alpha), alpha, loss, "regularized")
    result = auto.solve(make(loss, X, y, bias="regularized", alpha=alpha), BUDGET, seed=0)
    ours = value(X, y, result.x, result.bias, alpha, loss, "regularized")
    certificate = result.certificate
    assert result.status is Status.CONVERGED
    assert certificate.relative_gap <= TOL
    assert certificate.primal == pytest.approx(ours, rel=1e-9)
    assert ours <= theirs + certificate.gap  # never further from the optimum than the gap
    assert certificate.dual <= theirs * (1 + 1e-12)
    assert ours == pytest.approx(theirs, rel=TOL)


@pytest.mark.parametrize("name", ALPHAS)
def test_every_solver_is_within_its_gap(name):
    X, y = load(name)
    alpha = ALPHAS[name]
    theirs = value(X, y, *peer(name, "hinge", alpha), alpha, "hinge", "regularized")
    problem = make("hinge", X, y, bias="regularized", alpha=alpha)
    for solver in ("sgd", "asgd", "pegasos", "pgs", "dual"):
        certificate = choose.solve(problem, solver, budget=Budget(epochs=4), seed=0).certificate
        assert certificate.primal <= theirs + certificate.gap, solver
        assert certificate.dual <= theirs * (1 + 1e-12), solver
        assert certificate.primal <= 1.0, solver


@pytest.mark.parametrize("scaled", [False, True])
def test_ridge_regression_agrees_with_a_direct_solution(scaled):
    X, y = load("cadata")
    X = X.toarray()
    if scaled:
        X = StandardScaler().fit_transform(X)
    for alpha in (1e-4, 1.0):
        exact = Ridge(alpha=alpha * len(y), solver="svd").fit(X, y)
        best = value(X, y, exact.coef_, exact.intercept_, alpha, "squared", "free")
        for rows in (X, sp.csr_array(X)):
            result = auto.solve(make("squared", rows, y, bias="free", alpha=alpha), BUDGET, seed=0)
            certificate = result.certificate
            assert result.status is Status.CONVERGED
            assert certificate.dual <= best * (1 + 1e-10)
            assert best * (1 - 1e-10) <= certificate.primal
            assert certificate.primal <= best * (1 + 1e-10) + certificate.gap
            assert certificate.primal == pytest.approx(best, rel=TOL)


@pytest.mark.parametrize("loss", ["absolute", "huber"])
def test_regression_with_other_losses_is_certified(loss):
    X, y = load("cadata")
    X = StandardScaler().fit_transform(X.toarray())
    problem = make(loss, X, y / 1e5, bias="free", alpha=1e-3)
    result = auto.solve(problem, Budget(gap=1e-4, epochs=1000), seed=0)
    assert result.certificate.relative_gap <= 1e-4
