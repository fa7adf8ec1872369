"""The regularization path, and the estimators that choose alpha and p on folds."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

from skimlearn import (
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearRegressorCV,
    Status,
    regularization_path,
)
from skimlearn.datasets import load_spam

N, D = 160, 12
rng = np.random.default_rng(2)
X = rng.normal(size=(N, D))
NUMBERS = X[:, :3] @ [2.0, -1.0, 1.0] + 0.5 + 2.0 * rng.normal(size=N)
LABELS = np.where(NUMBERS > 0.5, "yes", "no")
THREE = np.digitize(NUMBERS, [-1.0, 2.0])
WEIGHTS = rng.random(N) + 0.1
ALPHAS = [1.0, 1e-1, 1e-2, 1e-3]


# --------------------------------------------------------------------------------------- the path


@pytest.mark.parametrize(
    ("loss", "y"), [("hinge", LABELS), ("log", LABELS), ("squared", NUMBERS), ("huber", NUMBERS)]
)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_every_point_has_a_certificate_and_is_the_answer_of_a_single_fit(loss, y, kind):
    path = regularization_path(kind(X), y, loss=loss, alphas=ALPHAS, tol=1e-6, random_state=0)
    np.testing.assert_array_equal(path.alphas, ALPHAS)
    assert path.coefs.shape == (4, D)
    assert path.intercepts.shape == (4,)
    assert len(path.results) == len(path.certificates) == 4
    cls = LinearClassifier if y is LABELS else LinearRegressor
    for k, alpha in enumerate(ALPHAS):
        single = cls(loss=loss, alpha=alpha, tol=1e-6, random_state=0).fit(kind(X), y)
        one, two = path.certificates[k], single.result_.certificate
        assert one.relative_gap <= 1e-6
        assert one.primal >= two.dual * (1 - 1e-12)
        assert two.primal >= one.dual * (1 - 1e-12)
        np.testing.assert_allclose(path.coefs[k], np.ravel(single.coef_), rtol=0.02, atol=0.01)
        assert path.results[k].status is Status.CONVERGED
    assert (np.diff([certificate.primal for certificate in path.certificates]) < 0).all()
    assert (np.diff(np.linalg.norm(path.coefs, axis=1)) > 0).all()


@pytest.mark.parametrize(("loss", "share"), [("hinge", 0.9), ("log", 0.97)])
def test_a_warm_start_saves_reads(loss, share):
    data, y = load_spam()
    data, y = data[::4], y[::4]
    alphas = np.geomspace(1e-2, 1e-4, 9)
    warm, cold = 0, 0
    for seed in range(4):
        parameters = {"loss": loss, "tol": 1e-3, "random_state": seed}
        path = regularization_path(data, y, alphas=alphas, **parameters)
        warm += sum(result.reads.nnz for result in path.results)
        for alpha in alphas:
            model = LinearClassifier(alpha=alpha, **parameters).fit(data, y)
            cold += model.result_.reads.nnz
        assert all(certificate.relative_gap <= 1e-3 for certificate in path.certificates)
    assert warm < share * cold


def test_alphas_are_sorted_and_may_be_a_number():
    path = regularization_path(X, NUMBERS, loss="squared", alphas=[1e-3, 1.0, 1e-2])
    np.testing.assert_array_equal(path.alphas, [1.0, 1e-2, 1e-3])
    path = regularization_path(X, NUMBERS, loss="squared", alphas=3, tol=1e-2)
    np.testing.assert_allclose(path.alphas, [1e-1, 10**-3.5, 1e-6])


@pytest.mark.parametrize("bias", ["regularized", "none"])
def test_the_kind_of_bias_is_passed_on(bias):
    path = regularization_path(X, LABELS, loss="hinge", alphas=[0.1], bias=bias, tol=1e-6)
    single = LinearClassifier(alpha=0.1, bias=bias, tol=1e-6).fit(X, LABELS)
    np.testing.assert_allclose(path.intercepts, single.intercept_, atol=1e-4)


def test_weights_of_the_rows_are_passed_on():
    parameters = {"loss": "squared", "alphas": [1e-2], "tol": 1e-9}
    weighted = regularization_path(X, NUMBERS, sample_weight=WEIGHTS, **parameters)
    single = LinearRegressor(alpha=1e-2, tol=1e-9).fit(X, NUMBERS, sample_weight=WEIGHTS)
    np.testing.assert_allclose(weighted.coefs[0], single.coef_, rtol=1e-6)


def test_an_interrupt_ends_the_path(monkeypatch):
    from dataclasses import replace

    from skimlearn.estimators import path as module

    solve = module.choose.solve

    def interrupted(problem, *arguments, **options):
        result = solve(problem, *arguments, **options)
        return replace(result, status=Status.INTERRUPTED) if problem.alpha < 0.5 else result

    monkeypatch.setattr(module.choose, "solve", interrupted)
    with pytest.warns(UserWarning, match="interrupted: the path ends at alpha=0.1"):
        path = regularization_path(X, NUMBERS, loss="squared", alphas=ALPHAS, random_state=0)
    assert path.alphas.tolist() == [1.0, 0.1]
    assert path.coefs.shape == (2, D)
    assert len(path.results) == len(path.intercepts) == 2


def test_norms_other_than_the_second():
    path = regularization_path(X, NUMBERS, loss="squared", alphas=[1.0, 0.1], p=1.2, tol=1e-3)
    assert all(certificate.relative_gap <= 1e-3 for certificate in path.certificates)
    bounded = regularization_path(X, NUMBERS, loss="squared", alphas=[0.1], p=1, radius=2.0)
    assert np.abs(bounded.coefs).sum() <= 2.0 + 1e-9


def test_limits_hold_for_each_strength():
    with pytest.warns(ConvergenceWarning, match="2 of 2 answers .* raise max_epochs, loosen tol"):
        path = regularization_path(
            X, LABELS, loss="hinge", alphas=[1e-3, 1e-5], solver="dual", tol=0.0, max_epochs=3
        )
    for result in path.results:
        assert result.status is Status.EPOCHS
        assert result.epochs == 3
        assert math.isfinite(result.certificate.gap)


@pytest.mark.parametrize(
    ("alphas", "message"),
    [
        (0, "alphas=0 must be at least 1, or a sequence of strengths"),
        (-3, "alphas=-3 must be at least 1"),
        ([], r"alphas=\[\] must be a number of strengths or a sequence"),
        ([[1.0, 2.0]], "must be a number of strengths or a sequence"),
        ([1.0, 0.0], "alpha=0.0 must be a positive number"),
        ([1.0, math.nan], "alpha=nan must be a positive number"),
        ([-1.0], "alpha=-1.0 must be a positive number"),
        (0.5, "alphas=0.5 must be a number of strengths or a sequence"),
        (True, "alphas=True must be a number of strengths or a sequence"),
        ("many", "alphas='many' must be a number of strengths or a sequence"),
        (["a"], r"alphas=\['a'\] must be a number of strengths or a sequence"),
        (None, "alphas=None must be a number of strengths or a sequence"),
    ],
)
def test_bad_alphas(alphas, message):
    with pytest.raises(ValueError, match=message):
        regularization_path(X, NUMBERS, loss="squared", alphas=alphas)
    with pytest.raises(ValueError, match=message):
        LinearRegressorCV(alphas=alphas).fit(X, NUMBERS)


@pytest.mark.parametrize("classes", [1, 3])
def test_a_path_has_two_classes(classes):
    with pytest.raises(ValueError, match=f"y holds {classes} classes: a path needs two.*CV"):
        regularization_path(X, np.arange(N) % classes, loss="hinge")


# ------------------------------------------------------------------------------------- the search


@pytest.mark.parametrize(
    ("search", "single", "y", "folds"),
    [
        (LinearClassifierCV, LinearClassifier, LABELS, StratifiedKFold(4)),
        (LinearRegressorCV, LinearRegressor, NUMBERS, KFold(4)),
    ],
)
def test_the_search_agrees_with_grid_search(search, single, y, folds):
    ours = search(alphas=ALPHAS, cv=folds, tol=1e-7, random_state=0).fit(X, y)
    theirs = GridSearchCV(single(tol=1e-7, random_state=0), {"alpha": ALPHAS}, cv=folds).fit(X, y)
    assert ours.alpha_ == theirs.best_params_["alpha"]
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-6)
    np.testing.assert_allclose(
        ours.scores_[0].mean(axis=1), theirs.cv_results_["mean_test_score"], atol=1e-6
    )
    best = theirs.best_estimator_
    np.testing.assert_allclose(ours.coef_, best.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(ours.alphas_, ALPHAS)
    assert ours.scores_.shape == (1, 4, 4)
    assert ours.result_.certificate.relative_gap <= 1e-7
    assert ours.score(X, y) == pytest.approx(best.score(X, y), abs=1e-6)


def test_the_default_folds_are_those_of_scikit_learn():
    default = LinearClassifierCV(alphas=[0.1, 0.01], random_state=0).fit(X, LABELS)
    explicit = LinearClassifierCV(alphas=[0.1, 0.01], cv=StratifiedKFold(5), random_state=0)
    np.testing.assert_array_equal(default.scores_, explicit.fit(X, LABELS).scores_)


def test_several_norms():
    # few of the features matter: a norm near 1 is the right one
    truth = np.zeros(60)
    truth[:2] = 3.0
    rows = np.random.default_rng(0).normal(size=(80, 60))
    y = rows @ truth + np.random.default_rng(1).normal(size=80)
    search = LinearRegressorCV(alphas=[0.03, 0.01], ps=(2.0, 1.1), cv=3, tol=1e-3, random_state=0)
    search.fit(rows, y)
    assert search.scores_.shape == (2, 2, 3)
    assert search.p_ == 1.1
    i, j = np.unravel_index(search.scores_.mean(axis=2).argmax(), (2, 2))
    assert (search.p_, search.alpha_) == ((2.0, 1.1)[i], (0.03, 0.01)[j])
    single = LinearRegressor(alpha=search.alpha_, p=1.1, tol=1e-3).fit(rows, y)
    np.testing.assert_allclose(search.coef_, single.coef_, atol=0.1)


@pytest.mark.parametrize("ps", [(), (2.0, 0.5), ("a",)])
def test_bad_norms(ps):
    with pytest.raises(ValueError, match=r"p=.* must be a number in \[1, 2\]|ps="):
        LinearRegressorCV(alphas=[0.1], ps=ps).fit(X, NUMBERS)


def test_scoring():
    parameters = {"alphas": ALPHAS, "cv": 3, "random_state": 0, "loss": "log"}
    accuracy = LinearClassifierCV(**parameters).fit(X, LABELS)
    logarithm = LinearClassifierCV(**parameters, scoring="neg_log_loss").fit(X, LABELS)
    assert logarithm.best_score_ < 0 < accuracy.best_score_ <= 1

    def fewest_weights(model, X, y):
        return -np.linalg.norm(model.coef_)

    strongest = LinearClassifierCV(**parameters, scoring=fewest_weights).fit(X, LABELS)
    assert strongest.alpha_ == max(ALPHAS)
    with pytest.raises(ValueError, match="scoring"):
        LinearClassifierCV(**parameters, scoring="best").fit(X, LABELS)


def test_weights_of_the_rows_in_fits_and_scores():
    folds = [(np.arange(0, 100), np.arange(100, N)), (np.arange(60, N), np.arange(0, 60))]
    search = LinearRegressorCV(alphas=ALPHAS, cv=folds, tol=1e-8, random_state=0)
    search.fit(X, NUMBERS, sample_weight=WEIGHTS)
    for k, (train, test) in enumerate(folds):
        single = LinearRegressor(alpha=1e-2, tol=1e-8)
        single.fit(X[train], NUMBERS[train], sample_weight=WEIGHTS[train])
        score = single.score(X[test], NUMBERS[test], sample_weight=WEIGHTS[test])
        assert search.scores_[0, 2, k] == pytest.approx(score, abs=1e-6)
    best = LinearRegressor(alpha=search.alpha_, tol=1e-8).fit(X, NUMBERS, sample_weight=WEIGHTS)
    np.testing.assert_allclose(search.coef_, best.coef_, rtol=1e-5)


@pytest.mark.parametrize("y", [THREE, np.column_stack([THREE > 0, THREE > 1]).astype(int)])
def test_many_classes_and_labels(y):
    search = LinearClassifierCV(alphas=[0.1, 0.01], cv=3, random_state=0).fit(X, y)
    assert search.coef_.shape == (3 if y.ndim == 1 else 2, D)
    assert search.predict(X).shape == y.shape
    single = LinearClassifier(alpha=search.alpha_, random_state=0).fit(X, y)
    assert search.score(X, y) == pytest.approx(single.score(X, y), abs=0.03)


def test_threads_do_not_change_the_choice():
    parameters = {"alphas": ALPHAS, "cv": 3, "random_state": 0}
    one = LinearClassifierCV(**parameters).fit(X, LABELS)
    two = LinearClassifierCV(**parameters, n_jobs=2).fit(X, LABELS)
    np.testing.assert_array_equal(one.scores_, two.scores_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_class_weight_is_passed_on():
    parameters = {"alphas": [0.1], "cv": 2, "random_state": 0, "tol": 1e-6}
    search = LinearClassifierCV(**parameters, class_weight={"no": 1.0, "yes": 9.0}).fit(X, LABELS)
    single = LinearClassifier(alpha=0.1, class_weight={"no": 1.0, "yes": 9.0}, tol=1e-6)
    np.testing.assert_allclose(search.coef_, single.fit(X, LABELS).coef_, atol=1e-3)


def test_sparse_rows():
    dense = LinearClassifierCV(alphas=[0.1, 0.01], cv=2, random_state=0).fit(X, LABELS)
    sparse = LinearClassifierCV(alphas=[0.1, 0.01], cv=2, random_state=0)
    np.testing.assert_allclose(dense.scores_, sparse.fit(sp.csr_array(X), LABELS).scores_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": NUMBERS}, "use LinearRegressor"),
        ({"y": np.ones(N)}, "only one class"),
        ({"X": np.where(np.arange(N)[:, None] == 150, np.nan, X)}, r"NaN \(row 150, column 0\)"),
        ({"sample_weight": -WEIGHTS}, "is negative"),
        ({"sample_weight": WEIGHTS[:5]}, r"sample_weight has shape \(5,\), but X has 160 rows"),
    ],
)
def test_bad_data_is_found_before_the_folds_are_cut(change, message):
    data = {"X": X, "y": LABELS, **change}
    with pytest.raises(ValueError, match=message):
        LinearClassifierCV(alphas=[0.1], cv=2).fit(**data)


def test_a_search_must_be_fitted_before_it_predicts():
    with pytest.raises(NotFittedError):
        LinearClassifierCV().predict(X)
