"""Kernel estimators: scikit-learn's contract, classes, parameters, support rows, budgets."""

import pickle
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import skimlearn
from skimlearn import EnclosingBall, KernelClassifier, ModelError, Status, kernels, losses

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y = np.where((X**2).sum(axis=1) + 0.3 * rng.normal(size=200) < 2.0, "in", "out")
IRIS = load_iris()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [KernelClassifier(kind) for kind in kernels.NAMES]
    + [KernelClassifier(kappa=0.5), KernelClassifier("linear", kappa=0.3)]
    + [KernelClassifier(loss="log"), KernelClassifier(loss="squared", alpha=1e-2)]
    + [EnclosingBall(kernel=kind) for kind in kernels.NAMES]
    + [EnclosingBall(kernel="rbf", solver="sampled", eps=0.3)]
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@dataclass(frozen=True)
class Cauchy(kernels.Kernel):
    width: float = 1.0

    def similarity(self, product, left, right):
        return 1.0 / (1.0 + max(left + right - 2.0 * product, 0.0) / self.width**2)


@dataclass(frozen=True)
class Softened(losses.Loss):
    """sqrt(1 + (z - y)^2) - 1, with nothing but what a loss must have."""

    def value(self, z, y):
        return (1.0 + (z - y) * (z - y)) ** 0.5 - 1.0

    def slope(self, z, y):
        return (z - y) / (1.0 + (z - y) * (z - y)) ** 0.5


# -------------------------------------------------------------------------------------- classifier


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pd.DataFrame, np.float32])
def test_predictions_are_those_of_libsvm(form):
    data = X.astype(np.float32) if form is np.float32 else form(X)
    model = KernelClassifier(alpha=1e-2, tol=1e-6).fit(data, y)
    svc = SVC(C=1.0 / (1e-2 * 200), gamma=model.kernel_.gamma, tol=1e-8).fit(X, y)
    assert model.kernel_.gamma == pytest.approx(svc.set_params(gamma="scale").fit(X, y)._gamma)
    np.testing.assert_allclose(
        model.decision_function(data), svc.decision_function(X), atol=2e-3, rtol=1e-3
    )
    assert model.classes_.tolist() == ["in", "out"]
    assert len(model.support_) < 150
    np.testing.assert_array_equal(
        np.asarray(model.support_vectors_ if form is not sp.csr_array
                   else model.support_vectors_.toarray()),
        (X.astype(np.float32) if form is np.float32 else X)[model.support_],
    )  # fmt: skip
    assert is_classifier(model)


def test_many_classes_are_one_against_the_rest():
    model = KernelClassifier(alpha=1e-2, tol=1e-6).fit(IRIS.data, IRIS.target)
    outer = OneVsRestClassifier(
        KernelClassifier(alpha=1e-2, tol=1e-6, gamma=model.kernel_.gamma)
    ).fit(IRIS.data, IRIS.target)
    np.testing.assert_allclose(
        model.decision_function(IRIS.data), outer.decision_function(IRIS.data), atol=1e-4
    )
    assert len(model.results_) == 3
    assert model.result_.certificate.gap == pytest.approx(
        sum(r.certificate.gap for r in model.results_)
    )
    assert model.score(IRIS.data, IRIS.target) > 0.95


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"kernel": Cauchy(2.0)},
        {"kernel": "rbf", "bias": "none"},
        {"kernel": "rbf", "kappa": 0.3, "tol": 1e-3},
        {"kernel": "rbf", "kappa": 0.3, "tol": 0.1, "solver": "perceptron", "max_steps": 2000},
        {"kernel": "rbf", "solver": "pegasos", "tol": 0.1, "max_steps": 40_000},
        {"kernel": "rbf", "solver": "pgs", "tol": 0.1, "max_steps": 40_000},
        {"kernel": "rbf", "solver": "dual"},
        {"loss": "log", "alpha": 1e-3},
        {"loss": "squared_hinge"},
        {"loss": "squared"},
        {"loss": losses.Huber(0.5), "solver": "pgs", "tol": 0.1},
        {"loss": "log", "alpha": 1e-3, "solver": "pgs", "tol": 0.1},
    ],
    ids=str,
)
def test_kernels_and_solvers(parameters):
    model = KernelClassifier(alpha=1e-2, random_state=0).set_params(**parameters).fit(X, y)
    assert model.score(X, y) > 0.88
    assert model.result_.status is Status.CONVERGED
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_losses_and_probabilities(tmp_path):
    model = KernelClassifier(loss="log", alpha=1e-3, random_state=0).fit(X, y)
    assert model.result_.solver == "dual"
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    likely = model.classes_[probabilities.argmax(axis=1)]
    np.testing.assert_array_equal(likely, model.predict(X))
    model.save(tmp_path / "model")
    again = skimlearn.load(tmp_path / "model")
    assert again.loss == "log"
    np.testing.assert_array_equal(again.predict_proba(X), probabilities)
    three = KernelClassifier(loss="log", alpha=1e-3).fit(IRIS.data, IRIS.target)
    np.testing.assert_allclose(three.predict_proba(IRIS.data).sum(axis=1), 1.0)
    assert three.score(IRIS.data, IRIS.target) > 0.95
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        _ = KernelClassifier().fit(X, y).predict_proba


def test_a_model_of_a_time_without_losses_is_that_of_the_hinge(tmp_path, monkeypatch):
    model = KernelClassifier(random_state=0).fit(X, y)
    every = KernelClassifier.get_params

    def former(self, deep=True):
        return {name: value for name, value in every(self, deep).items() if name != "loss"}

    monkeypatch.setattr(KernelClassifier, "get_params", former)
    model.save(tmp_path / "model")
    assert b'"loss"' not in (tmp_path / "model").read_bytes()
    monkeypatch.undo()
    again = skimlearn.load(tmp_path / "model")
    assert again.loss == "hinge"
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_loss_of_ones_own():
    model = KernelClassifier(loss=Softened(), alpha=1e-2).fit(X, y)
    assert model.result_.status is Status.CONVERGED
    assert model.score(X, y) > 0.88


def test_weights_of_rows_and_classes():
    heavy = KernelClassifier(alpha=1e-1, class_weight={"in": 20.0, "out": 1.0}).fit(X, y)
    assert (heavy.predict(X)[y == "in"] == "in").all()
    weights = np.where(y == "in", 20.0, 1.0)
    same = KernelClassifier(alpha=1e-1).fit(X, y, sample_weight=weights)
    # gamma is made of the weighted rows, not of the classes
    assert same.kernel_ != heavy.kernel_
    assert (same.predict(X)[y == "in"] == "in").all()
    with pytest.raises(ValueError, match="solver='perceptron' knows no weights"):
        KernelClassifier(kappa=0.5, solver="perceptron").fit(X, y, sample_weight=weights)


def test_tools_of_scikit_learn():
    pipeline = make_pipeline(StandardScaler(), KernelClassifier(alpha=1e-2))
    grid = {"kernelclassifier__gamma": [1e-3, 0.5]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"kernelclassifier__gamma": 0.5}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha=0.0 must be a positive number"),
        ({"tol": 0.0}, "tol=0.0 must be a positive number"),
        ({"bias": "regularized"}, "bias='regularized' must be one of"),
        ({"solver": "smo"}, "solver='smo' must be one of"),
        ({"solver": "perceptron"}, "solver='perceptron' needs kappa"),
        ({"solver": "pegasos", "kappa": 0.1}, "solver='pegasos' needs alpha"),
        ({"solver": "dual", "kappa": 0.1}, "solver='dual' needs alpha"),
        ({"loss": "log", "solver": "working-set"}, "solver='working-set' is for loss='hinge'"),
        ({"loss": "log", "kappa": 0.1}, "kappa=0.1 is for loss='hinge'"),
        ({"loss": "logit"}, "loss='logit' is not known"),
        ({"kappa": 1.5}, "kappa=1.5 must lie between 0 and 1"),
        ({"kernel": "cosine"}, "kernel='cosine' is not known"),
        ({"degree": 2}, "degree=2 has no meaning"),
        ({"max_reads": -1}, "max_reads=-1 must not be negative"),
        ({"max_reads": 10}, "max_reads=10 is too small"),
        ({"cache_bytes": -1}, "cache_bytes=-1 must not be negative"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelClassifier(**parameters).fit(X, y)
    with pytest.raises(TypeError, match="must be a function of a Record"):
        KernelClassifier(callback=3).fit(X, y)


def test_bad_data():
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"row 3, column 1"):
        KernelClassifier().fit(bad, y)
    with pytest.raises(ValueError, match="only one class, 'in'"):
        KernelClassifier().fit(X[:3], ["in"] * 3)
    model = KernelClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"row 3, column 1"):
        model.predict(bad)


def test_a_spent_budget_gives_an_answer():
    with pytest.warns(ConvergenceWarning, match="the relative duality gap is"):
        model = KernelClassifier(tol=1e-12, max_steps=1).fit(X, y)
    assert model.result_.status is Status.STEPS
    zero = KernelClassifier(max_reads=600).fit(X, y)  # the lengths of the rows, and no more
    assert zero.result_.status is Status.READS
    assert len(set(zero.predict(X))) == 1
    seen = []
    KernelClassifier(callback=lambda record: seen.append(record)).fit(X, y)
    assert len(seen) >= 2


def test_a_kernel_of_ones_own_is_not_saved(tmp_path):
    for model in (KernelClassifier(Cauchy()), EnclosingBall(kernel=Cauchy())):
        model.fit(X, y)
        with pytest.raises(ModelError, match=r"class of your own.*use pickle"):
            model.save(tmp_path / "model")
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kappa", [1e-3, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("bias", ["free", "none"])
def test_weights_with_kappa_are_repetitions(bias, kappa):
    for seed in range(3):
        counts = np.random.default_rng(seed).integers(0, 4, size=len(X))
        labels = np.where(X[:, 0] * X[:, 1] > 0.0, 1, 0) if seed else IRIS.target[:150]
        rows = X[: len(labels)]
        counts = counts[: len(labels)]
        options = {"kappa": kappa, "gamma": 0.5, "bias": bias, "tol": 1e-7, "random_state": 0}
        weighted = KernelClassifier(**options).fit(rows, labels, sample_weight=0.3 * counts)
        repeated = KernelClassifier(**options).fit(
            np.repeat(rows, counts, axis=0), np.repeat(labels, counts)
        )
        for one, other in zip(weighted.results_, repeated.results_, strict=True):
            assert one.certificate.primal == pytest.approx(other.certificate.primal, abs=3e-7)
            assert one.certificate.dual == pytest.approx(other.certificate.dual, abs=3e-7)
            assert -1e-12 <= one.certificate.gap <= 1e-7
            caps = np.minimum(counts / (kappa * counts.sum()), 1.0)
            assert (one.p <= caps + 1e-12).all()
            assert one.p.sum() == pytest.approx(1.0)


def test_weights_of_classes_with_kappa():
    options = {"kappa": 0.4, "gamma": 0.5, "tol": 1e-6, "random_state": 0}
    rows, labels = X[:150], np.where(X[:150, 0] > 0.8, "few", "many")
    heavy = KernelClassifier(**options, class_weight={"few": 3.0}).fit(rows, labels)
    same = KernelClassifier(**options).fit(
        rows, labels, sample_weight=np.where(labels == "few", 3.0, 1.0)
    )
    np.testing.assert_allclose(heavy.decision_function(X), same.decision_function(X), atol=1e-9)
    plain = KernelClassifier(**options).fit(rows, labels)
    assert (heavy.predict(X) == "few").sum() >= (plain.predict(X) == "few").sum()
    assert np.abs(heavy.decision_function(X) - plain.decision_function(X)).max() > 1e-3


# -------------------------------------------------------------------------------------------- ball


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("contamination", [0.0, 0.2])
def test_a_ball_in_the_space_of_a_kernel(form, contamination):
    data = X.astype(np.float32) if form is np.float32 else form(X)
    ball = EnclosingBall(
        kernel="rbf", gamma=0.5, contamination=contamination, eps=1e-4, random_state=0
    ).fit(data)
    outside = (ball.predict(data) == -1).mean()  # rows on the sphere, up to rounding, are inside
    assert contamination - 0.08 <= outside <= contamination + 0.01
    assert ball.radius_ == -ball.offset_
    assert ball.predict(form(np.full((1, 3), 50.0)))[0] == -1
    p, K = ball.dual_coef_[0], np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    inner = K[:, ball.support_] @ p
    square = p @ K[np.ix_(ball.support_, ball.support_)] @ p
    np.testing.assert_allclose(
        -ball.score_samples(data), np.sqrt(1 - 2 * inner + square), rtol=1e-4
    )
    assert not hasattr(ball, "center_")


def test_a_linear_kernel_is_no_kernel():
    plain = EnclosingBall(contamination=0.0, eps=1e-8, random_state=0).fit(X)
    kernel = EnclosingBall(kernel="linear", contamination=0.0, eps=1e-8).fit(X)
    assert kernel.radius_ == pytest.approx(plain.radius_, rel=1e-6)
    np.testing.assert_allclose(kernel.score_samples(X), plain.score_samples(X), rtol=1e-3)
    again = kernel.set_params(kernel=None).fit(X)
    assert not hasattr(again, "support_vectors_")


@pytest.mark.parametrize("contamination", [0.0, 0.1])
@pytest.mark.parametrize(
    "kernel", [kernels.Gaussian(0.5), kernels.Polynomial(2, 0.3, 1.0), kernels.Linear()],
    ids=lambda kernel: type(kernel).__name__,
)  # fmt: skip
def test_the_sampled_ball_is_as_good_as_it_says(kernel, contamination):
    for seed in range(8):
        rows = np.random.default_rng(seed).normal(size=(150, 4))
        options = {"kernel": kernel, "contamination": contamination, "random_state": seed}
        exact = EnclosingBall(**options, eps=1e-8).fit(rows).result_.certificate
        ball = EnclosingBall(**options, solver="sampled", eps=0.1).fit(rows)
        found = ball.result_.certificate
        assert ball.result_.status is Status.CONVERGED
        assert ball.result_.solver.startswith("sampled (")
        assert 0.0 <= found.gap <= 0.1 * found.dual + 1e-12
        assert found.dual <= exact.primal * (1.0 + 1e-9)
        assert found.primal >= exact.dual * (1.0 - 1e-9)
        assert found.primal <= 1.1 * exact.primal * (1.0 + 1e-9)
        if contamination == 0.0:  # the centre has the radius of the certificate
            assert ball.radius_**2 == pytest.approx(found.primal, rel=1e-9)


def test_the_sampled_ball_reads_less_of_many_columns():
    rows = np.random.default_rng(0).normal(size=(400, 3000))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    options = {"kernel": "rbf", "gamma": 0.5, "contamination": 0.0, "random_state": 0, "eps": 0.25}
    exact = EnclosingBall(**options).fit(rows).result_
    sampled = EnclosingBall(**options, solver="sampled").fit(rows).result_
    assert sampled.status is Status.CONVERGED
    assert sampled.solver == "sampled (estimates)"
    total = sampled.reads.nnz + sampled.reads.certificate
    assert total < 0.1 * (exact.reads.nnz + exact.reads.certificate)


def test_the_sampled_ball_of_equal_rows_and_of_few_reads():
    ball = EnclosingBall(kernel="rbf", solver="sampled", contamination=0.0).fit(np.ones((9, 2)))
    assert ball.result_.status is Status.CONVERGED
    assert (ball.predict(np.ones((2, 2))) == 1).all()
    few = EnclosingBall(kernel="rbf", solver="sampled", max_reads=700, eps=1e-3, random_state=0)
    few.fit(X)
    assert few.result_.status is Status.READS
    assert few.result_.reads.nnz <= 700
    assert few.result_.certificate.gap >= 0.0


def test_bad_parameters_of_a_ball():
    with pytest.raises(ValueError, match="mode='monte-carlo' is for kernel=None"):
        EnclosingBall(kernel="rbf", contamination=0.0, mode="monte-carlo").fit(X)
    with pytest.raises(ValueError, match=r"gamma=0.5 has no meaning without a kernel"):
        EnclosingBall(gamma=0.5).fit(X)
    with pytest.raises(ValueError, match="solver='sampled' has no meaning without a kernel"):
        EnclosingBall(solver="sampled").fit(X)
    with pytest.raises(ValueError, match=r"solver='pegasos' must be one of .*'sampled'"):
        EnclosingBall(kernel="rbf", solver="pegasos").fit(X)
