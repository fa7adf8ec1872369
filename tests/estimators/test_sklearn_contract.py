"""Scikit-learn's contract: its own checks, and the tools that estimators are put into."""

import inspect
import io
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skimlearn import (
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    SublinearSVC,
    losses,
)

X, y = make_classification(
    n_samples=200, n_features=6, n_informative=4, class_sep=0.7, flip_y=0.1, random_state=0
)
target = X @ np.arange(6.0) + np.random.default_rng(0).normal(size=200)

ESTIMATORS = [
    LinearClassifier(),
    LinearClassifier(loss="log"),
    LinearRegressor(),
    LinearRegressor(loss="huber", alpha=1e-2),
    LinearClassifierCV(alphas=[1e-2, 1e-4], cv=3),
    LinearRegressorCV(alphas=3, cv=3),
    SublinearSVC(),
    SublinearSVC(nu=0.2, bias="none", mode="monte-carlo"),
]


# Some checks fit noise with a tiny alpha and say nothing about the accuracy they want.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:no weights have a margin above eps:UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def classifier(**parameters):
    return LinearClassifier(**{"alpha": 1e-2, "random_state": 0, **parameters})


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


# ------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    "cls", [LinearClassifier, LinearRegressor, LinearClassifierCV, LinearRegressorCV]
)
def test_parameters_can_be_read_and_set(cls):
    defaults = cls().get_params()
    assert set(defaults) == set(inspect.signature(cls).parameters)
    for name, value in defaults.items():
        assert value == inspect.signature(cls).parameters[name].default
    model = cls().set_params(tol=1e-5, bias="none")
    assert model.get_params() == {**defaults, "tol": 1e-5, "bias": "none"}
    with pytest.raises(ValueError, match="Invalid parameter 'lambda' for estimator"):
        model.set_params(**{"lambda": 1.0})


def test_repr_shows_what_is_not_the_default():
    assert repr(LinearClassifier(alpha=0.5)) == "LinearClassifier(alpha=0.5)"
    model = LinearRegressor(loss=losses.Huber(delta=2.0))
    assert repr(model) == "LinearRegressor(loss=Huber(delta=2.0))"
    assert "LinearRegressor" in model._repr_html_()


def test_clone_is_a_fresh_estimator_with_the_same_parameters():
    model = classifier(loss=losses.Huber(delta=0.5), class_weight={0: 2.0, 1: 1.0}).fit(X, y)
    copy = clone(model)
    assert repr(copy.get_params()) == repr(model.get_params())
    assert not hasattr(copy, "coef_")
    np.testing.assert_array_equal(copy.fit(X, y).coef_, model.coef_)


def test_kinds():
    assert is_classifier(LinearClassifier())
    assert is_classifier(LinearClassifierCV())
    assert is_regressor(LinearRegressor())
    assert is_regressor(LinearRegressorCV())


# ----------------------------------------------------------------------------------- persistence


def with_pickle(model):
    return pickle.loads(pickle.dumps(model))


def with_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


@pytest.mark.parametrize("round_trip", [with_pickle, with_joblib])
@pytest.mark.parametrize(
    "model",
    [
        classifier(loss="log"),
        LinearRegressor(alpha=1e-2, random_state=0),
        LinearClassifierCV(alphas=[0.1, 0.01], cv=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fitted_model_survives_a_round_trip(model, round_trip):
    model.fit(X, y)
    copy = round_trip(model)
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert copy.result_.certificate == model.result_.certificate
    assert copy.result_.status is model.result_.status
    assert copy.result_.reads == model.result_.reads
    assert copy.result_.history == model.result_.history
    np.testing.assert_array_equal(copy.fit(X, y).coef_, model.coef_)


# ----------------------------------------------------------------------------------------- tools


def test_grid_search_finds_the_best_alpha():
    search = GridSearchCV(classifier(), {"alpha": [10.0, 1e-2], "loss": ["hinge", "log"]}, cv=3)
    search.fit(X, y)
    assert search.best_params_["alpha"] == 1e-2
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores.max() > scores.min() + 0.02


def test_cross_val_score_with_sparse_rows():
    dense = cross_val_score(classifier(), X, y, cv=3)
    sparse = cross_val_score(classifier(), sp.csr_array(X), y, cv=3)
    np.testing.assert_allclose(dense, sparse)
    assert dense.mean() > 0.65


def test_pipeline_with_frames_between_the_steps():
    frame = pd.DataFrame(1e3 * X + 5.0, columns=list("abcdef"))
    pipeline = make_pipeline(StandardScaler().set_output(transform="pandas"), classifier())
    pipeline.fit(frame, y)
    assert pipeline[-1].feature_names_in_.tolist() == list("abcdef")
    plain = classifier().fit(StandardScaler().fit_transform(frame.to_numpy()), y)
    np.testing.assert_array_equal(
        pipeline.predict(frame), plain.predict((X - X.mean(0)) / X.std(0))
    )
    assert pipeline.score(frame, y) == plain.score((X - X.mean(0)) / X.std(0), y)


def test_pipeline_with_sparse_rows():
    pipeline = make_pipeline(MaxAbsScaler(), classifier(loss="log")).fit(sp.csr_array(X), y)
    assert pipeline.score(sp.csr_array(X), y) > 0.65
    assert pipeline.predict_proba(sp.csr_array(X)).shape == (200, 2)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_probabilities_of_a_hinge(method):
    model = CalibratedClassifierCV(classifier(), method=method, cv=3).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    # the mean of the probabilities is close to the share of the class, as a calibrated one's is
    assert probabilities[:, 1].mean() == pytest.approx(y.mean(), abs=0.05)


def test_one_vs_rest_around_the_classifier_equals_its_own():
    labels = np.digitize(target, np.quantile(target, [0.3, 0.7]))
    outer = OneVsRestClassifier(classifier(tol=1e-8)).fit(X, labels)
    inner = classifier(tol=1e-8).fit(X, labels)
    np.testing.assert_allclose(outer.decision_function(X), inner.decision_function(X), atol=1e-5)
    coef = np.vstack([model.coef_ for model in outer.estimators_])
    np.testing.assert_allclose(coef, inner.coef_, rtol=1e-4, atol=1e-5)


def test_select_from_model_takes_the_large_weights():
    selector = SelectFromModel(LinearRegressor(alpha=1e-3, random_state=0), max_features=2)
    selector.fit(X, target)
    largest = np.abs(selector.estimator_.coef_).argsort()[-2:]
    assert set(np.flatnonzero(selector.get_support())) == set(largest)
    assert selector.transform(X).shape == (200, 2)


# ----------------------------------------------------------------------------- metadata routing


def test_sample_weight_reaches_the_fit(routing):
    weight = np.where(y == 1, 1.0, 0.0)
    weight[:5] = 0.5
    asked = classifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    silent = classifier().set_score_request(sample_weight=False)
    parameters = {"cv": 2, "params": {"sample_weight": weight}, "return_estimator": True}
    with_weights = cross_validate(asked, X, y, **parameters)["estimator"]
    for model in with_weights:  # almost all of the weight is on class 1
        assert (model.predict(X) == 1).mean() > 0.95
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(silent, X, y, **parameters)


def test_sample_weight_reaches_the_score(routing):
    weight = np.random.default_rng(0).random(200)
    model = LinearRegressor(alpha=1e-2, random_state=0)
    model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scores = cross_val_score(model, X, target, cv=GroupKFold(2), params={
        "sample_weight": weight, "groups": np.arange(200) % 2
    })  # fmt: skip
    even = LinearRegressor(alpha=1e-2, random_state=0)
    even.fit(X[::2], target[::2], sample_weight=weight[::2])
    own = even.score(X[1::2], target[1::2], sample_weight=weight[1::2])
    assert np.isclose(scores, own, rtol=1e-9).any()


# --------------------------------------------------------------------------------------- columns


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_their_names(frame):
    columns = {name: X[:, j] for j, name in enumerate("abcdef")}
    model = classifier().fit(frame(columns), y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_array_equal(model.coef_, classifier().fit(X, y).coef_)
    np.testing.assert_array_equal(model.predict(frame(columns)), classifier().fit(X, y).predict(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_in_another_order_are_refused(frame):
    model = classifier().fit(frame({name: X[:, j] for j, name in enumerate("abcdef")}), y)
    swapped = frame({name: X[:, j] for j, name in enumerate("bacdef")})
    other = frame({name: X[:, j] for j, name in enumerate("abcdeg")})
    for method in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="same order as they were in fit"):
            method(swapped)
        with pytest.raises(ValueError, match=r"unseen at fit time:\n- g\n"):
            method(other)


def test_rows_without_names_for_a_model_with_names():
    model = classifier().fit(pd.DataFrame(X, columns=list("abcdef")), y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)


def test_a_series_of_pandas_as_target():
    index = pd.Index(np.arange(200)[::-1])  # labels of rows must not matter
    model = classifier().fit(X, pd.Series(y, index=index))
    np.testing.assert_array_equal(model.coef_, classifier().fit(X, y).coef_)
    nullable = classifier().fit(X, pd.Series(y, dtype="Int64"))
    np.testing.assert_array_equal(nullable.coef_, model.coef_)
