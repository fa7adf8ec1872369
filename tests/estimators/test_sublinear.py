"""SublinearSVC: answers, oracles and matrices, going on after a failure, limits, persistence."""

import copy
import math
import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from skimlearn import LinearClassifier, Matrix, Oracle, Status
from skimlearn import SublinearSVC as AnySVC
from skimlearn.data.oracle import OracleError

X, y = make_blobs([40, 40], n_features=6, cluster_std=1.2, center_box=(-2, 2), random_state=3)
X = X - X.mean(axis=0)
THREE_X, THREE = make_blobs([30, 30, 30], n_features=5, center_box=(-4, 4), random_state=1)
LENGTH = np.linalg.norm(X, axis=1).max()

SublinearSVC = partial(AnySVC, solver="simba")


def model(**parameters):
    return SublinearSVC(**{"eps": 0.05, "random_state": 0, "verbose": False, **parameters})


class Recorded:
    """An oracle that notes what it is asked for, and fails when it is told to."""

    def __init__(self, X, *, fails_at=None, error=TimeoutError, **options):
        self.X, self.fails_at, self.error, self.asked = X, fails_at, error, []
        self.oracle = Oracle(
            X.shape,
            row=lambda i: self.give("row", i, X[i]),
            column=lambda j: self.give("column", j, X[:, j]),
            rows_norm=np.linalg.norm(X, axis=1),
            **options,
        )

    def give(self, kind, place, line):
        if len(self.asked) == self.fails_at:
            self.fails_at = None
            raise self.error("busy")
        self.asked.append((kind, place))
        return line


# --------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("given", [{}, {"kappa": 0.4}, {"nu": 0.05}, {"nu": 0.0}])
@pytest.mark.parametrize("bias", ["free", "none"])
def test_the_answer_separates_and_is_certified(given, bias):
    fitted = model(**given, bias=bias).fit(X, y)
    result = fitted.result_
    assert result.status is Status.CONVERGED
    assert result.certificate.gap <= 0.05 * LENGTH
    assert fitted.score(X, y) >= 0.95
    assert bias == "free" or fitted.intercept_[0] == 0.0
    assert fitted.coef_.shape == (1, 6)
    assert fitted.n_features_in_ == 6
    assert fitted.n_iter_ == result.history[-1].epoch
    # the weights have a margin of 1
    np.testing.assert_allclose(fitted.coef_[0] * result.margin, result.x)
    assert fitted.intercept_[0] * result.margin == pytest.approx(result.bias)
    np.testing.assert_allclose(
        fitted.decision_function(X), X @ fitted.coef_[0] + fitted.intercept_[0]
    )


def test_it_is_the_svm_of_its_alpha():
    fitted = model(kappa=0.3, eps=0.01).fit(X, y)
    n, alpha = len(y), fitted.result_.alpha
    assert pytest.approx(1.0 / (alpha * n)) == fitted.result_.C
    svm = SVC(kernel="linear", C=fitted.result_.C, tol=1e-8).fit(X, y)

    def objective(w, b):
        signs = np.where(y == 1, 1.0, -1.0)
        return 0.5 * alpha * (w @ w) + np.maximum(0.0, 1.0 - signs * (X @ w + b)).mean()

    best = objective(svm.coef_[0], svm.intercept_[0])
    assert best - 1e-9 <= objective(fitted.coef_[0], fitted.intercept_[0]) <= best + 0.05
    linear = LinearClassifier(alpha=alpha, random_state=0).fit(X, y)
    assert (linear.predict(X) == fitted.predict(X)).mean() > 0.95


def test_eps_and_nu_are_in_units_of_the_longest_row():
    for given in ({"nu": 0.05}, {"kappa": 0.3}):
        one, other = model(**given).fit(X, y), model(**given).fit(1e3 * X, y)
        np.testing.assert_allclose(other.result_.x, one.result_.x, rtol=1e-9)
        assert other.result_.certificate.gap == pytest.approx(1e3 * one.result_.certificate.gap)
        assert other.n_iter_ == one.n_iter_


@pytest.mark.parametrize("labels", [["no", "yes"], [3, 7], [False, True]])
def test_classes_of_any_kind(labels):
    fitted = model().fit(X, np.array(labels)[y])
    assert fitted.classes_.tolist() == sorted(labels)
    assert set(fitted.predict(X)) == set(labels)
    np.testing.assert_array_equal(fitted.coef_, model().fit(X, y).coef_)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_more_than_two_classes(n_jobs):
    fitted = model(n_jobs=n_jobs).fit(THREE_X, THREE)
    assert fitted.coef_.shape == (3, 5)
    assert fitted.intercept_.shape == (3,)
    assert fitted.score(THREE_X, THREE) > 0.9
    certificate = fitted.result_.certificate
    assert certificate.maximize
    parts = [result.certificate for result in fitted.results_]
    assert certificate.gap == pytest.approx(sum(part.gap for part in parts))
    assert certificate.lower <= certificate.upper
    assert fitted.result_.reads == sum(
        (r.reads for r in fitted.results_[1:]), fitted.results_[0].reads
    )
    alone = model().fit(THREE_X, THREE)
    np.testing.assert_array_equal(alone.coef_, fitted.coef_)


def test_all_kinds_of_data_give_the_same_model():
    expected = model().fit(X, y).result_.x
    frozen = X.copy()
    frozen.flags.writeable = False
    pair = Matrix.pair(X, np.asfortranarray(X))
    for form in (np.asfortranarray(X), sp.csr_array(X), sp.coo_matrix(X), frozen, pair):
        np.testing.assert_allclose(model().fit(form, y).result_.x, expected, rtol=1e-8)
    single = model().fit(X.astype(np.float32), y)
    np.testing.assert_allclose(single.result_.x, expected, atol=1e-4)


@pytest.mark.parametrize("mode", ["las-vegas", "high-probability", "monte-carlo"])
@pytest.mark.parametrize("given", [{"kappa": 0.3}, {"nu": 0.05}])
def test_modes(mode, given):
    fitted = model(mode=mode, eps=0.2, **given).fit(X, y)
    planned = mode == "monte-carlo"
    assert fitted.result_.status is (Status.PLANNED if planned else Status.CONVERGED)
    assert fitted.score(X, y) > 0.9
    assert math.isfinite(fitted.result_.certificate.upper)
    assert math.isnan(fitted.result_.margin) == planned
    if planned:
        np.testing.assert_array_equal(fitted.coef_[0], fitted.result_.x)
        assert fitted.result_.reads.certificate == X.size  # the lengths of the rows


# --------------------------------------------------------------------------------------- oracles


@pytest.mark.parametrize("given", [{}, {"nu": 0.05}, {"nu": 0.0, "bias": "none"}])
def test_an_oracle_gives_the_same_model_and_is_asked_once_for_each_line(given):
    recorded = Recorded(X)
    fitted = model(**given).fit(recorded.oracle, y)
    same = model(**given).fit(X, y)
    np.testing.assert_allclose(fitted.result_.x, same.result_.x, rtol=1e-8)
    assert fitted.result_.status is Status.CONVERGED
    assert len(recorded.asked) == len(set(recorded.asked))
    reads = fitted.result_.reads
    assert reads.nnz + reads.certificate == recorded.oracle.reads
    assert fitted.n_features_in_ == 6
    assert fitted.score(X, y) > 0.95


def test_classes_share_what_an_oracle_gave():
    recorded = Recorded(THREE_X)
    fitted = model(n_jobs=2).fit(recorded.oracle, THREE)
    assert len(recorded.asked) == len(set(recorded.asked))
    same = model().fit(THREE_X, THREE)
    np.testing.assert_allclose(fitted.result_.x, same.result_.x, rtol=1e-8)


@pytest.mark.parametrize("fails_at", [0, 1, 5, 20])
@pytest.mark.parametrize("given", [{}, {"nu": 0.05}, {"mode": "monte-carlo", "eps": 0.1}])
def test_a_fit_goes_on_after_a_failure_as_if_nothing_had_happened(fails_at, given):
    recorded = Recorded(X, fails_at=fails_at)
    undisturbed = model(**given).fit(Recorded(X).oracle, y)
    warm = model(warm_start=True, **given)
    with pytest.raises(OracleError, match=r"failed: TimeoutError\('busy'\)"):
        warm.fit(recorded.oracle, y)
    assert not hasattr(warm, "coef_")
    warm.fit(recorded.oracle, y)
    assert len(recorded.asked) == len(set(recorded.asked))
    np.testing.assert_array_equal(warm.coef_, undisturbed.coef_)
    np.testing.assert_array_equal(warm.intercept_, undisturbed.intercept_)
    assert warm.result_.certificate == undisturbed.result_.certificate
    assert warm.n_iter_ == undisturbed.n_iter_


def test_several_failures_with_three_classes():
    recorded = Recorded(THREE_X)
    warm = model(warm_start=True)
    for fails_at in (3, 6, 9):
        recorded.fails_at = fails_at
        with pytest.raises(OracleError):
            warm.fit(recorded.oracle, THREE)
    warm.fit(recorded.oracle, THREE)
    assert len(recorded.asked) == len(set(recorded.asked))
    expected = model().fit(Recorded(THREE_X).oracle, THREE)
    np.testing.assert_array_equal(warm.coef_, expected.coef_)


def test_a_fit_goes_on_from_a_limit_only_with_the_same_question():
    matrix = Matrix.pair(X, np.asfortranarray(X))
    warm = model(warm_start=True, eps=0.2).fit(matrix, y)
    steps = warm.n_iter_
    warm.set_params(eps=0.05).fit(matrix, y)  # a finer answer: the steps so far count
    assert warm.n_iter_ > steps
    assert warm.result_.history[0].epoch == 32
    cold = model(kappa=0.5).fit(matrix, y)
    warm.set_params(kappa=0.5).fit(matrix, y)  # another question
    np.testing.assert_array_equal(warm.coef_, cold.coef_)
    warm.fit(matrix, 1 - y)
    np.testing.assert_array_equal(warm.coef_, model(kappa=0.5).fit(matrix, 1 - y).coef_)
    warm.fit(X, y)  # an array may have been changed meanwhile
    np.testing.assert_array_equal(warm.coef_, cold.coef_)
    assert warm.n_iter_ == cold.n_iter_


def test_ctrl_c_keeps_the_best_model():
    recorded = Recorded(X, fails_at=30, error=KeyboardInterrupt)
    with pytest.warns(UserWarning, match="interrupted: the model is the best one found so far"):
        fitted = model().fit(recorded.oracle, y)
    assert fitted.result_.status is Status.INTERRUPTED
    assert len(recorded.asked) == 30
    assert np.isfinite(fitted.coef_).all()


# -------------------------------------------------------------------------------- limits and ends


@pytest.mark.parametrize("max_reads", [0, 5, 1000])
def test_max_reads_is_kept_to_the_entry(max_reads):
    fitted = model(eps=1e-6, max_reads=max_reads, mode="monte-carlo").fit(X, y)
    assert fitted.result_.status is Status.READS
    assert max_reads - 86 < fitted.result_.reads.nnz <= max_reads
    recorded = Recorded(X)
    fitted = model(eps=1e-6, max_reads=max_reads, max_steps=99, mode="monte-carlo")
    if max_reads == 1000:  # more than there is: all steps are taken
        with pytest.warns(ConvergenceWarning):
            fitted.fit(recorded.oracle, y)
    else:
        fitted.fit(recorded.oracle, y)
    assert recorded.oracle.reads == fitted.result_.reads.nnz <= max_reads


def test_max_steps_with_a_warning_that_names_the_remedy():
    with pytest.warns(
        ConvergenceWarning, match=r"above eps=1e-06, after max_steps=70 steps: raise"
    ):
        fitted = model(eps=1e-6, max_steps=70).fit(X, y)
    assert fitted.n_iter_ == 70
    assert fitted.result_.status is Status.STEPS
    fitted = model(eps=1e-6, max_seconds=0.02, max_steps=None).fit(X, y)
    assert fitted.result_.status is Status.SECONDS


def test_classes_that_overlap_too_much_are_named():
    noise = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.arange(60) % 2
    with pytest.warns(UserWarning, match=r"eps=0\.05 at kappa=0\.05: .*raise kappa"):
        fitted = model(kappa=0.05).fit(noise, labels)
    assert fitted.result_.certificate.lower == 0.0
    assert set(fitted.predict(noise)) <= {0, 1}


def test_a_callback_sees_each_check_and_may_stop():
    seen = []
    fitted = model(eps=1e-6, callback=lambda record: seen.append(record) or len(seen) == 4)
    fitted.fit(X, y)
    assert fitted.result_.status is Status.STOPPED
    assert seen == fitted.result_.history
    assert len(seen) == 4


def test_verbose_writes_a_line_for_each_check(capsys):
    fitted = model(verbose=True).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(fitted.result_.history)
    assert "primal" in lines[-1]
    model(verbose=None).fit(X, y)
    assert capsys.readouterr().err == ""  # no terminal, no progress line


# ----------------------------------------------------------------------------------- persistence


@pytest.mark.parametrize("warm_start", [False, True])
@pytest.mark.parametrize("kind", ["array", "matrix", "oracle"])
def test_a_fitted_model_can_be_written_and_copied(kind, warm_start):
    form = {"array": X, "matrix": Matrix.pair(X, X.copy("F")), "oracle": Recorded(X).oracle}[kind]
    fitted = model(warm_start=warm_start).fit(form, y)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
        assert other.result_.certificate == fitted.result_.certificate
        np.testing.assert_allclose(other.fit(X, y).result_.x, fitted.result_.x, rtol=1e-8)
    assert len(pickle.dumps(fitted)) < 30_000  # the data is not part of a model
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    assert not hasattr(fresh, "coef_")


def test_the_data_is_kept_only_for_a_warm_start():
    assert not hasattr(model().fit(X, y), "_runs")
    assert hasattr(model(warm_start=True).fit(X, y), "_runs")


def test_names_of_columns_are_forgotten_with_the_frame():
    pd = pytest.importorskip("pandas")
    fitted = model().fit(pd.DataFrame(X, columns=list("abcdef")), y)
    assert fitted.feature_names_in_.tolist() == list("abcdef")
    fitted.fit(Matrix.pair(X, X.copy("F")), y)
    assert not hasattr(fitted, "feature_names_in_")
    assert fitted.predict(X).shape == (80,)


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nu": -0.1}, r"nu=-0\.1 must be"),
        ({"nu": 0.1, "kappa": 0.1}, r"nu=0\.1 and kappa=0\.1: give one of them"),
        ({"kappa": 2.0}, r"kappa=2\.0 must lie in \(0, 1\]"),
        ({"bias": "some"}, "bias='some' must be one of"),
        ({"eps": 0.0}, r"eps=0\.0 must be positive"),
        ({"eps": -0.5}, r"eps=-0\.5 must be positive"),
        ({"mode": "sure"}, "mode='sure' must be one of"),
        ({"delta": 0.0}, r"delta=0\.0"),
        ({"batch_size": 0}, "batch_size=0 must be a positive integer"),
        ({"max_steps": -1}, "max_steps=-1"),
        ({"max_reads": -1}, "max_reads=-1"),
        ({"max_seconds": -1.0}, r"max_seconds=-1\.0"),
        ({"random_state": "x"}, "random_state='x'"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_bad_parameters_are_named_before_anything_is_read(options, message):
    recorded = Recorded(X)
    with pytest.raises(ValueError, match=message):
        model(**options).fit(recorded.oracle, y)
    assert recorded.asked == []


@pytest.mark.parametrize(
    ("data", "labels", "message"),
    [
        (X, np.zeros(80), "only one class, 0.0"),
        (X, y[:-1], "inconsistent numbers of samples|labels"),
        (Recorded(X).oracle, y[:-1], "y has 79 labels, but X has 80 rows"),
        (np.where(X > 3, np.nan, X), y, r"NaN \(row"),
        (X, np.linspace(0, 1, 80), "Unknown label type"),
    ],
)
def test_bad_data_is_named(data, labels, message):
    with pytest.raises(ValueError, match=message):
        model().fit(data, labels)
