"""The classifier: labels of every kind, many classes, many labels, weights, probabilities."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.utils.multiclass import type_of_target

from skimlearn import LinearClassifier, Status, losses
from skimlearn.estimators._checks import classes_of, kind_of_classes, seeds
from skimlearn.estimators._classes import one_against_rest
from skimlearn.solvers import choose

N, D = 120, 4
rng = np.random.default_rng(7)
X = rng.normal(size=(N, D))
SCORE = X @ [1.0, -2.0, 0.5, 0.0] + 0.7 * rng.normal(size=N)
SIGN = np.where(SCORE > 0.3, 1, -1)
THREE = np.digitize(SCORE, [-1.0, 1.0])
MATRIX = np.column_stack([SCORE > 0.0, X[:, 0] > X[:, 3], rng.random(N) < 0.3]).astype(int)
WEIGHTS = rng.random(N) + 0.1


def model(**parameters):
    return LinearClassifier(**{"alpha": 1e-2, "tol": 1e-9, "random_state": 0, **parameters})


def objective(w, b, y, loss="hinge", alpha=1e-2, weights=None):
    """alpha/2 ||w||^2 plus the weighted mean of the loss, straight from its definition."""
    margin = y * (X @ w + b)
    cost = {
        "hinge": np.maximum(0.0, 1.0 - margin),
        "log": np.log1p(np.exp(-margin)),
    }[loss]
    return 0.5 * alpha * w @ w + np.average(cost, weights=weights)


# ------------------------------------------------------------------------------------ two classes


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [
        (-1, 1, int),
        (0, 1, np.int8),
        (3, 7, np.uint8),
        (-2.0, 5.0, float),
        (False, True, bool),
        ("ham", "spam", str),
        ("ham", "spam", object),
        (0, 1, object),
        (False, True, object),
    ],
)
def test_labels_of_any_kind_give_the_same_weights(low, high, dtype):
    y = np.array([high if s > 0 else low for s in SIGN], dtype=dtype)
    fitted, plain = model().fit(X, y), model().fit(X, SIGN)
    np.testing.assert_array_equal(fitted.coef_, plain.coef_)
    np.testing.assert_array_equal(fitted.intercept_, plain.intercept_)
    assert fitted.classes_.tolist() == [low, high]
    predicted = fitted.predict(X)
    if dtype is not object or isinstance(low, str):
        assert predicted.dtype == y.dtype
    np.testing.assert_array_equal(predicted == high, plain.decision_function(X) > 0)
    if dtype is not object:  # scikit-learn's metrics do not take numbers as objects
        assert fitted.score(X, y) == plain.score(X, SIGN) > 0.8


def test_shapes_of_two_classes():
    fitted = model().fit(X, SIGN)
    assert fitted.coef_.shape == (1, D)
    assert fitted.intercept_.shape == (1,)
    assert fitted.decision_function(X).shape == fitted.predict(X).shape == (N,)
    np.testing.assert_allclose(
        fitted.decision_function(X), X @ fitted.coef_[0] + fitted.intercept_[0], rtol=1e-12
    )
    assert fitted.results_ == [fitted.result_]


@pytest.mark.parametrize("loss", ["hinge", "log"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_the_certificate_is_that_of_the_stated_objective(loss, kind):
    fitted = model(loss=loss).fit(kind(X), SIGN, sample_weight=WEIGHTS)
    certificate = fitted.result_.certificate
    value = objective(fitted.coef_[0], fitted.intercept_[0], SIGN, loss, weights=WEIGHTS)
    assert certificate.primal == pytest.approx(value, rel=1e-12)
    assert certificate.relative_gap <= 1e-9
    assert fitted.result_.status is Status.CONVERGED
    for _ in range(20):  # and nothing near it is better
        w = fitted.coef_[0] + 1e-3 * rng.normal(size=D)
        b = fitted.intercept_[0] + 1e-3 * rng.normal()
        assert objective(w, b, SIGN, loss, weights=WEIGHTS) >= certificate.dual


def test_log_loss_agrees_with_logistic_regression():
    fitted = model(loss="log", alpha=1e-3).fit(X, SIGN)
    other = LogisticRegression(C=1.0 / (1e-3 * N), tol=1e-10, max_iter=10000).fit(X, SIGN)
    np.testing.assert_allclose(fitted.coef_, other.coef_, rtol=1e-4)
    np.testing.assert_allclose(fitted.intercept_, other.intercept_, rtol=1e-4)
    np.testing.assert_allclose(fitted.predict_proba(X), other.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("loss", ["squared", "huber", losses.EpsilonInsensitive(epsilon=0.2)])
def test_losses_of_numbers_compare_with_minus_and_plus_one(loss):
    fitted = model(loss=loss, tol=1e-6).fit(X, np.where(SIGN > 0, "yes", "no"))
    assert fitted.score(X, np.where(SIGN > 0, "yes", "no")) > 0.8


def test_warm_start_begins_at_the_former_answer():
    cold = model(solver="dual", tol=1e-6).fit(X, SIGN)
    warm = model(solver="dual", tol=1e-6, warm_start=True).fit(X, SIGN)
    warm.fit(X, SIGN)
    assert warm.result_.reads.nnz < 0.2 * cold.result_.reads.nnz
    np.testing.assert_allclose(warm.coef_, cold.coef_, rtol=1e-2, atol=1e-3)
    warm.fit(X[:, :2], SIGN)  # another number of columns: begin anew
    assert warm.coef_.shape == (1, 2)


def test_a_seed_gives_the_same_answer_and_another_seed_another():
    parameters = {"solver": "asgd", "max_epochs": 3, "tol": None}
    first = model(**parameters).fit(X, SIGN).coef_
    np.testing.assert_array_equal(first, model(**parameters).fit(X, SIGN).coef_)
    assert (first != model(**parameters, random_state=1).fit(X, SIGN).coef_).any()


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_generators_as_random_state(kind):
    parameters = {"solver": "asgd", "max_epochs": 3, "tol": None}
    first = model(**parameters, random_state=kind(5)).fit(X, SIGN).coef_
    np.testing.assert_array_equal(
        first, model(**parameters, random_state=kind(5)).fit(X, SIGN).coef_
    )
    source = kind(5)
    model(**parameters, random_state=source).fit(X, SIGN)
    assert (first != model(**parameters, random_state=source).fit(X, SIGN).coef_).any()


def test_seeds_are_those_of_a_new_generator_from_any_thread():
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: seeds(k, 3).tolist(), range(200)))
    assert found == [
        np.random.RandomState(k).randint(2**31 - 1, size=3).tolist() for k in range(200)
    ]


@pytest.mark.parametrize("kind", [np.float64, np.float32, int])
def test_targets_of_two_classes(kind):
    """Where the classes are the targets they are taken as they are, but not changed."""
    y = SIGN.astype(kind)
    (targets,) = one_against_rest(y, classes_of(y))
    assert targets.dtype == np.float64
    assert targets.flags.writeable
    np.testing.assert_array_equal(targets, SIGN)
    assert (targets is y) == (kind is np.float64)
    frozen = SIGN.astype(np.float64)
    frozen.flags.writeable = False
    assert one_against_rest(frozen, classes_of(frozen))[0].flags.writeable
    np.testing.assert_array_equal(model().fit(X, frozen).coef_, model().fit(X, SIGN).coef_)
    (others,) = one_against_rest(2.0 * frozen, np.array([-2.0, 2.0]))
    np.testing.assert_array_equal(others, SIGN)


# ----------------------------------------------------------------------------------- many classes


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_many_classes_are_one_against_the_rest(n_jobs):
    names = np.array(["low", "mid", "top"])
    fitted = model(n_jobs=n_jobs).fit(X, names[THREE])
    assert fitted.classes_.tolist() == ["low", "mid", "top"]
    assert fitted.coef_.shape == (3, D)
    assert fitted.intercept_.shape == (3,)
    for k in range(3):
        single = model().fit(X, k == THREE)
        np.testing.assert_allclose(fitted.coef_[k], single.coef_[0], rtol=1e-6, atol=1e-8)
        assert fitted.intercept_[k] == pytest.approx(single.intercept_[0], rel=1e-6, abs=1e-8)
    scores = fitted.decision_function(X)
    assert scores.shape == (N, 3)
    np.testing.assert_array_equal(fitted.predict(X), names[scores.argmax(axis=1)])


def test_threads_do_not_change_the_answer():
    parameters = {"solver": "asgd", "max_epochs": 4, "tol": None}  # depends on the seed
    one = model(**parameters).fit(X, THREE)
    two = model(**parameters, n_jobs=2).fit(X, THREE)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.intercept_, two.intercept_)
    assert one.result_.certificate == two.result_.certificate
    assert one.result_.reads == two.result_.reads
    assert (one.coef_[0] != one.coef_[1]).any()


def test_result_of_many_classes_is_a_sum():
    fitted = model().fit(X, THREE)
    assert len(fitted.results_) == 3
    parts = fitted.results_
    assert fitted.result_.certificate.primal == sum(part.certificate.primal for part in parts)
    assert fitted.result_.certificate.dual == sum(part.certificate.dual for part in parts)
    assert fitted.result_.reads.nnz == sum(part.reads.nnz for part in parts)
    assert fitted.result_.x.shape == (3, D)
    assert fitted.result_.p.shape == (3, N)
    assert fitted.result_.status is Status.CONVERGED
    assert fitted.n_iter_ >= max(part.epochs for part in parts)


# ------------------------------------------------------------------------------------ many labels


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_matrix, np.ndarray.tolist])
def test_many_labels_are_learned_one_by_one(kind):
    fitted = model().fit(X, kind(MATRIX))
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.coef_.shape == (3, D)
    predicted = fitted.predict(X)
    assert predicted.shape == fitted.decision_function(X).shape == (N, 3)
    for k in range(3):
        single = model().fit(X, MATRIX[:, k])
        np.testing.assert_allclose(fitted.coef_[k], single.coef_[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(predicted[:, k], single.predict(X))
    assert fitted.score(X, MATRIX) == (predicted == MATRIX).all(axis=1).mean()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log", "squared"])
@pytest.mark.parametrize("solver", ["auto", "dual", "asgd"])
def test_a_label_that_all_or_no_rows_have(loss, solver):
    y = np.column_stack([MATRIX[:, 0], np.zeros(N, int), np.ones(N, int)])
    fitted = model(loss=loss, solver=solver, tol=None, max_epochs=20).fit(X, y)
    predicted = fitted.predict(X)
    assert not predicted[:, 1].any()
    assert predicted[:, 2].all()
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.intercept_).all()
    for result in fitted.results_:
        assert result.certificate.gap >= -1e-12


def test_threads_for_many_labels():
    np.testing.assert_array_equal(
        model(n_jobs=2).fit(X, MATRIX).coef_, model(n_jobs=1).fit(X, MATRIX).coef_
    )


# ---------------------------------------------------------------------------------------- weights


def test_class_weight_of_a_dict_multiplies_the_weights_of_the_rows():
    y = np.where(SIGN > 0, "b", "a")
    by_class = model(class_weight={"a": 1.0, "b": 3.0}).fit(X, y, sample_weight=WEIGHTS)
    by_row = model().fit(X, y, sample_weight=WEIGHTS * np.where(SIGN > 0, 3.0, 1.0))
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, rtol=1e-9)
    plain = model().fit(X, y)
    assert (by_class.predict(X) == "b").sum() > (plain.predict(X) == "b").sum()


@pytest.mark.parametrize("y", [SIGN, THREE], ids=["two", "three"])
def test_balanced_classes_have_equal_weight(y):
    balanced = model(class_weight="balanced").fit(X, y)
    counts = np.bincount(y + 1)
    by_row = model().fit(X, y, sample_weight=1.0 / counts[y + 1])
    np.testing.assert_allclose(balanced.coef_, by_row.coef_, rtol=1e-8, atol=1e-10)


def test_class_weight_of_labels():
    heavy = model(class_weight={0: 1.0, 1: 5.0}).fit(X, MATRIX)
    for k in range(3):
        single = model().fit(X, MATRIX[:, k], sample_weight=1.0 + 4.0 * MATRIX[:, k])
        np.testing.assert_allclose(heavy.coef_[k], single.coef_[0], rtol=1e-6, atol=1e-8)
    assert heavy.predict(X).sum() > model().fit(X, MATRIX).predict(X).sum()
    constant = np.column_stack([MATRIX[:, 0], np.ones(N, int)])
    assert model(class_weight="balanced").fit(X, constant).predict(X)[:, 1].all()


def test_a_class_without_a_weight_has_the_weight_one():
    some = model(class_weight={1: 2.0}).fit(X, SIGN)
    both = model(class_weight={1: 2.0, -1: 1.0}).fit(X, SIGN)
    np.testing.assert_array_equal(some.coef_, both.coef_)


@pytest.mark.parametrize("loss", ["hinge", "log", "squared"])
def test_integer_weights_are_repeated_rows(loss):
    counts = np.random.default_rng(3).integers(0, 4, size=N)
    weighted = model(loss=loss).fit(X, SIGN, sample_weight=counts)
    repeated = model(loss=loss).fit(X.repeat(counts, axis=0), SIGN.repeat(counts))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-7)
    assert weighted.result_.certificate.primal == pytest.approx(
        repeated.result_.certificate.primal, rel=1e-8
    )


# ---------------------------------------------------------------------------------- probabilities


def test_probabilities_of_two_classes():
    fitted = model(loss="log").fit(X, SIGN)
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (N, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(probabilities[:, 1], 1 / (1 + np.exp(-fitted.decision_function(X))))
    np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), probabilities)
    # the slope in a free bias is zero at the optimum: the mean probability is the frequency
    assert probabilities[:, 1].mean() == pytest.approx((SIGN > 0).mean(), abs=1e-6)


def test_probabilities_of_three_classes():
    fitted = model(loss=losses.Log()).fit(X, THREE)
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (N, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-14)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), fitted.predict(X))


def test_probabilities_of_three_classes_where_all_scores_are_very_low():
    fitted = model(loss="log").fit(X, THREE)
    fitted.intercept_ = np.full(3, -1e5)
    np.testing.assert_allclose(fitted.predict_proba(X), 1 / 3)


def test_probabilities_of_labels_stand_alone():
    fitted = model(loss="log").fit(X, MATRIX)
    probabilities = fitted.predict_proba(X)
    assert probabilities.shape == (N, 3)
    np.testing.assert_array_equal(probabilities > 0.5, fitted.predict(X) == 1)
    assert np.ptp(probabilities.sum(axis=1)) > 0.5  # no scaling to 1


@pytest.mark.parametrize("loss", ["hinge", "squared", losses.Hinge()])
def test_other_losses_have_no_probabilities(loss):
    fitted = model(loss=loss, tol=1e-3).fit(X, SIGN)
    assert not hasattr(fitted, "predict_proba")
    assert not hasattr(fitted, "predict_log_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as caught:
        fitted.predict_proba(X)
    assert "use loss='log', or scikit-learn's CalibratedClassifierCV" in str(caught.value.__cause__)


# ------------------------------------------------------------------------------------ the matrix


@pytest.fixture
def seen(monkeypatch):
    """The rows that reach a solver."""
    rows = []
    solve = choose.solve

    def spy(problem, *arguments, **settings):
        rows.append(problem.rows)
        return solve(problem, *arguments, **settings)

    monkeypatch.setattr(choose, "solve", spy)
    return rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_rows_are_neither_copied_nor_converted(seen, dtype):
    data = X.astype(dtype)
    before = data.copy()
    fitted = model(tol=1e-4).fit(data, THREE)
    assert len(seen) == 3
    for rows in seen:
        assert rows.values.dtype == dtype
        assert np.shares_memory(rows.values, data)
    np.testing.assert_array_equal(data, before)
    assert data.flags.writeable
    assert fitted.coef_.dtype == np.float64
    assert fitted.decision_function(data).dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_sparse_rows_are_neither_copied_nor_converted(seen, dtype, index):
    thin = X * (np.random.default_rng(0).random(X.shape) < 0.5)
    data = sp.csr_array(thin.astype(dtype))
    data.indices, data.indptr = data.indices.astype(index), data.indptr.astype(index)
    model(tol=1e-4).fit(data, SIGN)
    (rows,) = seen
    assert rows.values.dtype == dtype
    assert rows.columns.dtype.itemsize == index().itemsize
    assert np.shares_memory(rows.values, data.data)
    assert np.shares_memory(rows.columns, data.indices)
    assert data.data.flags.writeable


def test_float32_gives_the_answer_of_the_same_numbers_in_float64():
    data = X.astype(np.float32)
    single, double = model().fit(data, SIGN), model().fit(data.astype(np.float64), SIGN)
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-7)


@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
def test_dense_and_sparse_rows_give_the_same_weights(bias):
    thin = X * (np.random.default_rng(0).random(X.shape) < 0.5)
    dense = model(bias=bias).fit(thin, SIGN)
    sparse = model(bias=bias).fit(sp.csr_array(thin), SIGN)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(dense.intercept_, sparse.intercept_, rtol=1e-10, atol=1e-12)
    if bias == "none":
        assert dense.intercept_.tolist() == [0.0]


def test_sparse_rows_without_gaps_are_learned_from_as_dense_ones():
    assert (X != 0.0).all()
    dense, sparse = model().fit(X, SIGN), model().fit(sp.csr_array(X), SIGN)
    assert np.array_equal(dense.coef_, sparse.coef_)
    assert np.array_equal(dense.decision_function(X) > 0, sparse.decision_function(X) > 0)


@pytest.mark.parametrize(("p", "radius"), [(1.3, None), (2.0, 0.5), (1.0, 1.0)])
def test_other_norms(p, radius):
    fitted = model(p=p, radius=radius, tol=1e-3).fit(X, SIGN)
    assert fitted.result_.certificate.relative_gap <= 1e-3
    assert fitted.score(X, SIGN) > 0.75
    if radius is not None:
        assert np.linalg.norm(fitted.coef_[0], p) <= radius * (1 + 1e-9)


VECTORS = [
    np.array([-1.0, 1.0, 1.0]),
    np.array([0.0, -0.0]),
    np.array([3, 1, 3], dtype=np.int8),
    np.array([2, 7, 5], dtype=np.uint16),
    np.array([True, False]),
    np.array([True, True]),
    np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0], dtype=np.float32),
    np.array([0.5, 1.0]),
    np.array([0.5, 1.5, 2.0]),
    np.array(["b", "a"]),
    np.array([[0, 1], [1, 1]]),
    np.array([[0.0], [1.0]]),
]


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("y", VECTORS, ids=repr)
def test_the_short_way_to_classes_is_that_of_scikit_learn(y):
    assert kind_of_classes(y) == type_of_target(y)
    if y.ndim == 1:
        found, expected = classes_of(y), np.unique(y)
        assert found.dtype == expected.dtype
        assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_plain_input_is_checked_as_any_other(dtype):
    """Vectors of numbers with plain matrices take a shorter way: lists and frames do not."""
    plain = X.astype(dtype)
    long = model().fit(plain.astype(dtype, order="F"), SIGN.tolist())
    for rows in (plain, sp.csr_matrix(plain), sp.csr_array(plain)):
        short = model().fit(rows, SIGN)
        assert short.n_features_in_ == D
        assert short.coef_ == pytest.approx(long.coef_, rel=1e-6)
        assert short.classes_.tolist() == long.classes_.tolist()
        with pytest.raises(ValueError, match="X has 3 features, but LinearClassifier is expecting"):
            short.predict(rows[:, :3])
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model().fit(rows, SIGN[1:])
