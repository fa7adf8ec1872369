"""Novelty detection by balls: scikit-learn's contract, scores, contamination."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_outlier_detector
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skimlearn import Status
from skimlearn.estimators.ball import EnclosingBall
from skimlearn.solvers.ball import enclosing_ball

X = np.random.default_rng(0).normal(size=(300, 6))


@parametrize_with_checks([EnclosingBall(), EnclosingBall(contamination=0.25, eps=1e-6)])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pd.DataFrame])
def test_all_rows_lie_in_the_ball(form):
    data = form(X)
    ball = EnclosingBall(contamination=0.0, eps=1e-4, random_state=0).fit(data)
    assert (ball.predict(data) == 1).all()
    assert ball.decision_function(data).min() == 0.0
    certificate = ball.result_.certificate
    assert ball.radius_**2 == pytest.approx(certificate.primal)
    assert certificate.gap <= 1e-4 * certificate.dual
    best = EnclosingBall(contamination=0.0, eps=1e-7, random_state=1).fit(X)
    np.testing.assert_allclose(ball.center_, best.center_, atol=0.05)
    outside = ball.center_ + 1.001 * ball.radius_ * np.eye(6)[0]
    assert ball.predict(form(outside[None]))[0] == -1
    np.testing.assert_allclose(ball.score_samples(form(outside[None])), -1.001 * ball.radius_)


@pytest.mark.parametrize("contamination", [0.02, 0.1, 0.5])
def test_a_part_of_the_rows_lies_outside(contamination):
    ball = EnclosingBall(contamination=contamination).fit(X)
    assert (ball.predict(X) == -1).mean() == pytest.approx(contamination, abs=1 / 300)
    assert ball.radius_ == -ball.offset_
    np.testing.assert_allclose(ball.decision_function(X), ball.score_samples(X) - ball.offset_)
    # between the smallest and the greatest radius that leave out so many rows
    distances = np.sort(-ball.score_samples(X))[::-1]
    outside = round(300 * contamination)
    assert distances[outside] <= ball.radius_ <= distances[outside - 1]


def test_far_outliers_move_the_ball_less_with_contamination():
    data = np.r_[X, [[50.0] * 6, [60.0] * 6]]
    soft = EnclosingBall(contamination=0.05).fit(data)
    hard = EnclosingBall(contamination=0.0, random_state=0).fit(data)
    assert np.linalg.norm(soft.center_) < 0.5 * np.linalg.norm(hard.center_)
    assert (soft.predict(data[-2:]) == -1).all()


@pytest.mark.parametrize("mode", ["monte-carlo", "high-probability"])
def test_modes_without_a_proof(mode):
    ball = EnclosingBall(contamination=0.0, mode=mode, eps=0.1, random_state=0).fit(X)
    exact = EnclosingBall(contamination=0.0, eps=1e-6, random_state=0).fit(X)
    assert ball.radius_ == pytest.approx(exact.radius_, rel=0.1)
    assert ball.result_.status in (Status.PLANNED, Status.CONVERGED)


def test_the_same_seed_gives_the_same_ball():
    make = EnclosingBall(contamination=0.0, eps=0.1, mode="monte-carlo", random_state=3)
    first, second = clone(make).fit(X), clone(make).fit(X)
    np.testing.assert_array_equal(first.center_, second.center_)
    other = clone(make).set_params(random_state=4).fit(X)
    assert not np.array_equal(first.center_, other.center_)


def test_tools_of_scikit_learn():
    assert is_outlier_detector(EnclosingBall())
    pipeline = make_pipeline(StandardScaler(), EnclosingBall(contamination=0.2))
    assert (pipeline.fit_predict(X) == -1).sum() == 60
    ball = EnclosingBall(contamination=0.2).fit(X)
    copy = pickle.loads(pickle.dumps(ball))
    np.testing.assert_array_equal(copy.predict(X), ball.predict(X))
    assert repr(EnclosingBall(eps=0.5)) == "EnclosingBall(eps=0.5)"
    with pytest.raises(NotFittedError):
        EnclosingBall().predict(X)
    named = EnclosingBall().fit(pd.DataFrame(X, columns=list("abcdef")))
    assert list(named.feature_names_in_) == list("abcdef")


def test_budgets():
    ball = EnclosingBall(contamination=0.0, eps=1e-9, max_reads=3000, random_state=0).fit(X)
    assert ball.result_.reads.nnz <= 3000
    assert ball.result_.status is Status.READS
    assert (ball.predict(X) == 1).all()
    ball = EnclosingBall(contamination=0.0, eps=1e-12, max_seconds=1e-6, random_state=0).fit(X)
    assert ball.result_.status is Status.SECONDS


@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (Status.STALLED, ConvergenceWarning, "rounding"),
        (Status.INTERRUPTED, UserWarning, "interrupted"),
    ],
)
def test_warnings(monkeypatch, status, kind, message):
    result = replace(enclosing_ball(X, random_state=0), status=status)
    monkeypatch.setattr("skimlearn.estimators.ball.enclosing_ball", lambda *_, **__: result)
    with pytest.warns(kind, match=message):
        ball = EnclosingBall(contamination=0.0).fit(X)
    assert (ball.predict(X) == 1).all()


def test_errors():
    for parameters, message in (
        ({"contamination": 0.7}, "contamination=0.7"),
        ({"contamination": -0.1}, "contamination=-0.1"),
        ({"mode": "monte-carlo"}, "mode='monte-carlo' is for contamination=0"),
        ({"contamination": 0.0, "mode": "fast"}, "mode='fast'"),
        ({"eps": 0.0}, "eps=0.0"),
        ({"contamination": 0.0, "random_state": "a"}, "random_state='a'"),
    ):
        with pytest.raises(ValueError, match=message):
            EnclosingBall(**parameters).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        EnclosingBall().fit([[0.0], [np.nan]])
    with pytest.raises(ValueError, match="NaN"):
        EnclosingBall().fit(X).predict(np.full((1, 6), np.nan))
    with pytest.raises(ValueError, match="too long"):
        EnclosingBall().fit([[0.0], [1e200]])
