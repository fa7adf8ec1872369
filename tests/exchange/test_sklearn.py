"""scikit-learn's linear estimators, made from ours and taken as ours."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model, svm
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from model_files import NUMBERS, ROWS, SIGNS, THREE, WORDS
from skimlearn import (
    EnclosingBall,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    Status,
    SublinearSVC,
    from_sklearn,
    losses,
    to_sklearn,
)

OURS = [
    (LinearClassifier("log"), SIGNS, "LogisticRegression"),
    (LinearClassifier("log"), WORDS, "SGDClassifier"),
    (LinearClassifier("hinge"), WORDS, "LinearSVC"),
    (LinearClassifier("squared_hinge", bias="none"), SIGNS > 0, "LinearSVC"),
    (LinearClassifier("squared"), THREE, "SGDClassifier"),
    (LinearClassifier("huber"), SIGNS, "SGDClassifier"),
    (LinearClassifier("absolute"), SIGNS, "SGDClassifier"),
    (LinearClassifierCV(alphas=[0.1], cv=2), THREE, "LinearSVC"),
    (SublinearSVC(kappa=0.9, eps=0.1, random_state=0), SIGNS, "LinearSVC"),
    (LinearRegressor(), NUMBERS, "Ridge"),
    (LinearRegressor(bias="none"), NUMBERS, "Ridge"),
    (LinearRegressor("absolute"), NUMBERS, "LinearSVR"),
    (LinearRegressor(losses.EpsilonInsensitive(epsilon=0.3)), NUMBERS, "LinearSVR"),
    (LinearRegressor(losses.Huber(delta=0.3)), NUMBERS, "SGDRegressor"),
    (LinearRegressorCV(alphas=[0.1], cv=2), NUMBERS, "Ridge"),
]


@pytest.mark.parametrize(("model", "y", "name"), OURS)
def test_a_twin_predicts_the_same(model, y, name):
    model.fit(ROWS, y)
    twin = pickle.loads(pickle.dumps(to_sklearn(model)))
    assert type(twin).__name__ == name
    if name in ("Ridge", "LinearSVR", "SGDRegressor"):
        np.testing.assert_allclose(twin.predict(ROWS), model.predict(ROWS), rtol=1e-12)
    else:
        scores = model.decision_function(ROWS)
        np.testing.assert_allclose(twin.decision_function(ROWS), scores, rtol=1e-12)
        sure = np.ones(len(ROWS), dtype=bool)
        if scores.ndim == 2:  # a row that supports two classes has one score for both
            best = np.sort(scores, axis=1)
            sure = best[:, -1] - best[:, -2] > 1e-9
        assert np.mean(sure) > 0.9
        np.testing.assert_array_equal(twin.predict(ROWS)[sure], model.predict(ROWS)[sure])
    if hasattr(model, "predict_proba"):
        likely = model.predict_proba(ROWS)
        np.testing.assert_allclose(twin.predict_proba(ROWS), likely, rtol=1e-12, atol=1e-12)
    back = from_sklearn(twin)
    np.testing.assert_array_equal(back.coef_, model.coef_)
    np.testing.assert_array_equal(back.intercept_, model.intercept_)


def test_a_twin_has_the_equivalent_parameters():
    twin = to_sklearn(LinearClassifier("log", alpha=1e-2, tol=1e-8).fit(ROWS, SIGNS))
    assert pytest.approx(1 / (60 * 1e-2)) == twin.C
    refitted = linear_model.LogisticRegression(C=twin.C, tol=1e-10).fit(ROWS, SIGNS)
    np.testing.assert_allclose(refitted.coef_, twin.coef_, rtol=1e-3)
    twin = to_sklearn(LinearRegressor(alpha=0.1, tol=1e-12).fit(ROWS, NUMBERS))
    refitted = linear_model.Ridge(alpha=twin.alpha).fit(ROWS, NUMBERS)
    np.testing.assert_allclose(refitted.coef_, twin.coef_, rtol=1e-4)
    assert to_sklearn(LinearRegressor("huber").fit(ROWS, NUMBERS)).epsilon == 1.0
    assert (
        to_sklearn(LinearRegressor(p=1.5, alpha=1.0).fit(ROWS, NUMBERS)).alpha == 1.0
    )  # no equivalent


def test_a_twin_is_a_copy():
    model = LinearRegressor().fit(ROWS, NUMBERS)
    to_sklearn(model).coef_[:] = 0.0
    assert model.coef_.all()
    theirs = linear_model.Ridge().fit(ROWS, NUMBERS)
    from_sklearn(theirs).coef_[:] = 0.0
    assert theirs.coef_.all()


THEIRS = [
    (linear_model.LogisticRegression(), SIGNS, "log"),
    (linear_model.LogisticRegression(), WORDS, "hinge"),
    (linear_model.LogisticRegression(fit_intercept=False), SIGNS > 0, "log"),
    (svm.LinearSVC(), THREE, "squared_hinge"),
    (svm.LinearSVC(loss="hinge"), SIGNS, "hinge"),
    (linear_model.SGDClassifier(loss="log_loss", random_state=0), THREE, "log"),
    (linear_model.SGDClassifier(loss="modified_huber", random_state=0), SIGNS, "hinge"),
    (linear_model.Perceptron(), SIGNS, "hinge"),
    (linear_model.RidgeClassifier(), SIGNS, "squared"),
    (linear_model.RidgeClassifierCV(), THREE, "squared"),
    (linear_model.Ridge(), NUMBERS, "squared"),
    (linear_model.Ridge(), NUMBERS[:, None], "squared"),
    (linear_model.RidgeCV(), NUMBERS, "squared"),
    (linear_model.LinearRegression(fit_intercept=False), NUMBERS, "squared"),
    (linear_model.Lasso(alpha=0.01), NUMBERS, "squared"),
    (linear_model.SGDRegressor(random_state=0), NUMBERS, "squared"),
    (linear_model.QuantileRegressor(alpha=0.01), NUMBERS, "absolute"),
    (svm.LinearSVR(epsilon=0.2), NUMBERS, losses.EpsilonInsensitive(epsilon=0.2)),
]


@pytest.mark.parametrize(("estimator", "y", "loss"), THEIRS)
def test_theirs_are_taken_as_ours(estimator, y, loss):
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    estimator.fit(frame, y)
    model = from_sklearn(estimator)
    assert model.loss == loss
    assert model.bias == ("free" if getattr(estimator, "fit_intercept", True) else "none")
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.result_.status is Status.IMPORTED
    expected = estimator.predict(frame)
    if isinstance(model, LinearRegressor):
        np.testing.assert_allclose(model.predict(frame), expected.ravel(), rtol=1e-9)
    else:
        np.testing.assert_array_equal(model.predict(frame), expected)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(frame), estimator.predict_proba(frame))


def test_sparse_weights_are_taken():
    estimator = linear_model.SGDClassifier(random_state=0).fit(ROWS, THREE)
    expected = estimator.predict(ROWS)
    np.testing.assert_array_equal(from_sklearn(estimator.sparsify()).predict(ROWS), expected)


def test_a_huber_regression_is_taken():
    estimator = linear_model.HuberRegressor().fit(ROWS, NUMBERS + (np.arange(60) % 9 == 0))
    model = from_sklearn(estimator)
    assert model.loss == losses.Huber(delta=float(estimator.epsilon * estimator.scale_))
    np.testing.assert_allclose(model.predict(ROWS), estimator.predict(ROWS), rtol=1e-9)


def test_what_was_taken_can_learn_on():
    model = from_sklearn(linear_model.SGDClassifier(random_state=0).fit(ROWS, SIGNS))
    assert model.n_rows_seen_ >= 60
    before = model.score(ROWS, SIGNS)
    assert model.partial_fit(ROWS, SIGNS).score(ROWS, SIGNS) >= before - 0.1
    model.set_params(warm_start=True).fit(ROWS, SIGNS)
    assert model.result_.status is Status.CONVERGED


def test_what_can_not_be_exchanged():
    with pytest.raises(TypeError, match="estimator=PCA is not one of"):
        from_sklearn(PCA().fit(ROWS))
    with pytest.raises(TypeError, match="estimator=str is not one of"):
        from_sklearn("model.pkl")
    with pytest.raises(NotFittedError):
        from_sklearn(svm.LinearSVC())
    with pytest.raises(ValueError, match="one target"):
        from_sklearn(linear_model.Ridge().fit(ROWS, np.stack([NUMBERS, NUMBERS], axis=1)))
    labels = np.stack([SIGNS, 1 - SIGNS, SIGNS], axis=1)
    with pytest.raises(ValueError, match="many labels a row"):
        from_sklearn(linear_model.RidgeClassifier().fit(ROWS, labels))
    broken = svm.LinearSVC().fit(ROWS, SIGNS)
    broken.coef_ = broken.coef_ * np.nan
    with pytest.raises(ValueError, match="the weights hold nan or inf"):
        from_sklearn(broken)
    with pytest.raises(NotFittedError):
        to_sklearn(LinearClassifier())
    with pytest.raises(ValueError, match="many labels a row"):
        to_sklearn(LinearClassifier().fit(ROWS, labels))
    with pytest.raises(TypeError, match="not EnclosingBall"):
        to_sklearn(EnclosingBall().fit(ROWS))
    own = type("Own", (losses.Hinge,), {})
    with pytest.raises(ValueError, match="no counterpart in scikit-learn"):
        to_sklearn(LinearClassifier().fit(ROWS, SIGNS).set_params(loss=own()))
