"""One against the rest for many classes, which are solved side by side."""

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import LinearClassifier, Status
from skimlearn.solvers import side_by_side

COUNT = 12


def make(n=600, d=40, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)).astype(dtype)
    scores = X @ rng.normal(size=(d, COUNT)) + rng.normal(size=(n, COUNT))
    return X, scores.argmax(axis=1)


@pytest.fixture
def groups(monkeypatch):
    """How many problems begin side by side, time after time."""
    seen, begin = [], side_by_side.begin

    def counted(runs, *args, **options):
        seen.append(len(runs))
        return begin(runs, *args, **options)

    monkeypatch.setattr(side_by_side, "begin", counted)
    return seen


@pytest.mark.parametrize(
    ("loss", "form", "dtype"),
    [
        ("hinge", np.asarray, np.float64),
        ("log", sp.csr_array, np.float64),
        ("squared_hinge", sp.csr_array, np.float32),
    ],
)
def test_each_class_has_the_answer_of_its_own_problem(loss, form, dtype, groups):
    X, y = make(dtype=dtype)
    options = {"alpha": 0.1, "tol": 1e-7, "solver": "dual", "random_state": 0}
    model = LinearClassifier(loss, **options).fit(form(X), y)
    assert groups == [COUNT]
    for k, result in enumerate(model.results_):
        alone = LinearClassifier(loss, **options).fit(form(X), y == k)
        assert result.status is Status.CONVERGED
        primal = alone.result_.certificate.primal
        assert result.certificate.primal == pytest.approx(primal, rel=2e-7)
        assert np.abs(model.coef_[k] - alone.coef_[0]).max() < 1e-2 * np.abs(alone.coef_).max()
    assert groups == [COUNT]  # two classes are one problem


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_answers_do_not_depend_on_threads(form, groups):
    X, y = make()
    fits = [
        LinearClassifier("hinge", alpha=0.01, solver="dual", random_state=0, n_jobs=n_jobs)
        .fit(form(X), y)
        .coef_
        for n_jobs in (None, 2, 3)
    ]
    assert groups == [COUNT] * 3
    assert (fits[0] == fits[1]).all()
    assert (fits[0] == fits[2]).all()


def test_dense_and_sparse_rows_agree():
    X, y = make()
    fits = [
        LinearClassifier("log", alpha=0.01, tol=1e-9, solver="dual", random_state=0).fit(Z, y)
        for Z in (X, sp.csr_array(X))
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=1e-5, atol=1e-7)


def test_a_matrix_of_labels_and_weights_of_classes(groups):
    X, y = make()
    labels = np.eye(COUNT, dtype=int)[y]
    labels[:, 0] |= labels[:, 1]
    options = {"alpha": 0.1, "tol": 1e-6, "solver": "dual", "random_state": 0}
    model = LinearClassifier("hinge", **options).fit(X, labels)
    assert groups == [COUNT]
    assert model.result_.status is Status.CONVERGED
    LinearClassifier("hinge", class_weight="balanced", **options).fit(X, y)
    assert groups == [COUNT] * 2  # all classes have the same weights of rows
    LinearClassifier("hinge", class_weight="balanced", **options).fit(X, labels)
    assert groups == [COUNT] * 2  # each label has its own


def test_a_warm_start_begins_at_the_former_answers(groups):
    X, y = make()
    model = LinearClassifier(
        "log", alpha=0.1, tol=1e-6, solver="dual", random_state=0, warm_start=True
    ).fit(X, y)
    first = model.n_iter_
    model.fit(X, y)
    assert groups == [COUNT] * 2
    assert model.n_iter_ <= 1 < first


def test_limits_hold_for_all():
    X, y = make()
    model = LinearClassifier("log", tol=None, max_epochs=3, solver="dual").fit(X, y)
    assert [result.epochs for result in model.results_] == [3.0] * COUNT
    assert sum(result.reads.dense for result in model.results_) == 3 * X.size
    model = LinearClassifier("log", tol=1e-12, max_seconds=1e-9, solver="dual").fit(X, y)
    assert {result.status for result in model.results_} == {Status.SECONDS}


def test_rows_that_support_two_classes_are_predicted_alike_in_any_batch():
    """Their scores are equal but for rounding, which must not depend on the batch."""
    for seed in range(20):
        X = 3.0 * np.random.default_rng(seed).uniform(size=(40, 3))
        model = LinearClassifier("hinge", random_state=0).fit(X, X[:, 0].astype(int))
        one_by_one = np.concatenate([model.predict(X[i : i + 1]) for i in range(40)])
        np.testing.assert_array_equal(model.predict(X), one_by_one)
        np.testing.assert_array_equal(model.predict(X[::3]), one_by_one[::3])


@pytest.mark.parametrize("solver", ["auto", "dual"])
@pytest.mark.parametrize("unused", [{"average": "tail"}, {"batch_size": 7}])
def test_what_a_solver_does_not_have_is_refused(solver, unused):
    X, y = make()
    with pytest.raises(ValueError, match="has no meaning for solver"):
        LinearClassifier("log", alpha=1.0, solver=solver, **unused).fit(X, y)
