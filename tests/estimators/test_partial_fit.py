"""Learning from a stream: batches that come and go, classes that appear, fits that go on."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import LinearClassifier, LinearRegressor, Status

N, D = 4000, 5
rng = np.random.default_rng(5)
X = rng.normal(size=(N, D))
TRUE = np.array([1.0, -2.0, 0.5, 0.0, 1.0])
NUMBERS = X @ TRUE + 2.0 + 0.5 * rng.normal(size=N)
LABELS = np.where(NUMBERS > 1.0, 1, -1)
CENTRES = 3.0 * np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [-1, -1, -1, 0, 0]])
FOUR = rng.integers(0, 4, size=N)
ROWS = CENTRES[FOUR] + rng.normal(size=(N, D))
NAMES = np.array(["ant", "bee", "cat", "dog"])


def classifier(**parameters):
    return LinearClassifier(**{"alpha": 1e-2, "random_state": 0, **parameters})


def regressor(**parameters):
    return LinearRegressor(**{"alpha": 1e-2, "random_state": 0, **parameters})


def stream(model, X, y, size=100, **options):
    for begin in range(0, len(y), size):
        model.partial_fit(X[begin : begin + size], y[begin : begin + size], **options)
    return model


def excess(model, X, y, loss):
    """How far the objective of a model is above the optimum, relative to it."""
    best = type(model)(loss=loss, alpha=model.alpha, bias=model.bias, tol=1e-6).fit(X, y)
    z = X @ np.ravel(model.coef_) + np.ravel(model.intercept_)[0]
    cost = {
        "hinge": lambda: np.maximum(0.0, 1.0 - y * z),
        "log": lambda: np.log1p(np.exp(-y * z)),
        "squared": lambda: 0.5 * (z - y) ** 2,
        "huber": lambda: np.where(abs(z - y) <= 1, 0.5 * (z - y) ** 2, abs(z - y) - 0.5),
    }[loss]()
    w = np.ravel(model.coef_)
    primal = 0.5 * model.alpha * w @ w + cost.mean()
    return primal / best.result_.certificate.dual - 1.0


# -------------------------------------------------------------------------- towards the optimum


@pytest.mark.parametrize("loss", ["hinge", "log"])
@pytest.mark.parametrize("bias", ["free", "none"])
@pytest.mark.parametrize("size", [1000, 37])
def test_a_stream_of_labels_approaches_the_optimum(loss, bias, size):
    model = stream(classifier(loss=loss, bias=bias), X, LABELS, size)
    assert -1e-5 < excess(model, X, LABELS, loss) < 0.02
    assert model.n_rows_seen_ == N
    if bias == "none":
        assert model.intercept_.tolist() == [0.0]


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_stream_of_numbers_approaches_the_optimum(loss):
    model = stream(regressor(loss=loss), X, NUMBERS)
    assert -1e-5 < excess(model, X, NUMBERS, loss) < 0.02
    # the bias of a stream is learned by steps, so it lags a little behind
    np.testing.assert_allclose(model.coef_, TRUE, atol=0.1)


def test_more_rows_bring_it_closer():
    short = stream(classifier(loss="log"), X[:200], LABELS[:200])
    long = stream(classifier(loss="log"), X, LABELS)
    assert excess(long, X, LABELS, "log") < 0.3 * excess(short, X, LABELS, "log")


@pytest.mark.parametrize("solver", ["auto", "asgd", "sgd", "casgd", "ftrl", "pegasos", "pgs"])
def test_solvers_for_streams(solver):
    model = stream(classifier(solver=solver), X, LABELS)
    assert model.result_.solver == ("asgd" if solver == "auto" else solver)
    assert model.score(X, LABELS) > 0.9


@pytest.mark.parametrize("average", ["mean", "tail"])
def test_averages(average):
    assert stream(classifier(average=average), X, LABELS).score(X, LABELS) > 0.9


def test_the_same_seed_gives_the_same_stream():
    one, two = stream(classifier(), X, LABELS), stream(classifier(), X, LABELS)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert (one.coef_ != stream(classifier(random_state=1), X, LABELS).coef_).any()


def test_the_result_of_a_stream():
    model = classifier().partial_fit(X[:100], LABELS[:100]).partial_fit(X[100:150], LABELS[100:150])
    result = model.result_
    assert result.status is Status.STREAMED
    assert np.isnan(result.certificate.gap) or result.certificate.gap == np.inf
    assert model.n_rows_seen_ == 150
    assert 150 * D <= result.reads.nnz <= 2 * 150 * D  # visits, and lengths for the first step
    np.testing.assert_array_equal(result.x, model.coef_[0])


# ----------------------------------------------------------------------------------- kinds of rows


def test_sparse_batches_equal_dense_ones():
    thin = X * (rng.random(X.shape) < 0.4)
    dense = stream(classifier(), thin, LABELS)
    sparse = stream(classifier(), sp.csr_array(thin), LABELS)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-10)
    mixed = classifier()
    for k, begin in enumerate(range(0, N, 100)):
        part = thin[begin : begin + 100]
        mixed.partial_fit(sp.csr_array(part) if k % 2 else part, LABELS[begin : begin + 100])
    np.testing.assert_allclose(mixed.coef_, dense.coef_, rtol=1e-10)


def test_batches_of_float32():
    single = stream(classifier(), X.astype(np.float32), LABELS)
    double = stream(classifier(), X.astype(np.float32).astype(np.float64), LABELS)
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-6)


def test_batches_of_one_row():
    model = classifier(loss="log").partial_fit(X[:1], LABELS[:1], classes=[-1, 1])
    stream(model, X[1:500], LABELS[1:500], 1)
    assert model.score(X, LABELS) > 0.85


@pytest.mark.parametrize("factor", [10.0, 1000.0])
def test_longer_rows_in_later_batches_do_not_explode(factor):
    model = stream(regressor(), X[:1000], NUMBERS[:1000])
    before = model.coef_.copy()
    stream(model, factor * X[1000:1500], NUMBERS[1000:1500])
    assert np.isfinite(model.coef_).all()
    assert np.abs(model.coef_).max() < 2.0 * np.abs(before).max()
    # the long rows want coefficients that are smaller by the factor
    fresh = NUMBERS[1500:] - 2.0
    assert np.mean((factor * X[1500:] @ model.coef_ - fresh) ** 2) < 2.0 * np.mean(
        (factor * X[1500:] @ before - fresh) ** 2
    )


def test_weights_of_rows():
    weights = np.where(LABELS > 0, 1.0, 1e-9)
    model = classifier().partial_fit(X, LABELS, sample_weight=weights)
    assert (model.predict(X) == 1).all()
    zeros = np.where(np.arange(N) < 2000, 1.0, 0.0)
    numbers = regressor().partial_fit(X, np.where(zeros > 0, NUMBERS, 1e6), sample_weight=zeros)
    assert np.abs(numbers.coef_ - TRUE).max() < 0.3


def test_weights_of_classes():
    light = classifier(class_weight={-1: 1.0, 1: 1.0}).partial_fit(X, LABELS)
    heavy = classifier(class_weight={-1: 1.0, 1: 10.0}).partial_fit(X, LABELS)
    by_row = classifier().partial_fit(X, LABELS, sample_weight=np.where(LABELS > 0, 10.0, 1.0))
    assert (heavy.predict(X) > 0).sum() > (light.predict(X) > 0).sum()
    np.testing.assert_array_equal(heavy.coef_, by_row.coef_)


# ----------------------------------------------------------------------------------------- classes


def test_classes_may_appear_one_after_the_other():
    model = classifier(loss="log")
    for known in (2, 3, 4):
        chosen = known > FOUR
        stream(model, ROWS[chosen], NAMES[FOUR[chosen]])
        assert model.classes_.tolist() == NAMES[:known].tolist()
        assert model.coef_.shape == (1 if known == 2 else known, D)
        assert model.decision_function(ROWS).shape == ((N,) if known == 2 else (N, known))
        assert model.score(ROWS[chosen], NAMES[FOUR[chosen]]) > 0.9
    np.testing.assert_allclose(model.predict_proba(ROWS).sum(axis=1), 1.0)


def test_the_order_of_the_classes_is_the_sorted_one():
    model = classifier(loss="log")
    for pair in (("dog", "cat"), ("dog", "ant"), ("bee", "cat")):  # "ant" comes before the others
        chosen = np.isin(NAMES[FOUR], pair)
        stream(model, ROWS[chosen], NAMES[FOUR[chosen]])
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.score(ROWS, NAMES[FOUR]) > 0.8


def test_a_third_class_leaves_the_first_two_as_they_were():
    two = FOUR < 2
    model = stream(classifier(), ROWS[two], FOUR[two])
    before, bias = model.coef_[0].copy(), model.intercept_[0]
    model.partial_fit(ROWS[FOUR == 2][:1], [2])
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(model.coef_[1], before, atol=0.05)
    np.testing.assert_allclose(model.coef_[0], -before, atol=0.05)
    assert model.intercept_[0] == pytest.approx(-bias, abs=0.05)
    assert (model.predict(ROWS[two]) == FOUR[two]).mean() > 0.95


def test_batches_of_one_class_after_the_first():
    model = classifier().partial_fit(X[:500], LABELS[:500])
    for begin in range(500, 1500, 100):
        part = slice(begin, begin + 100)
        for label in (-1, 1):
            chosen = LABELS[part] == label
            model.partial_fit(X[part][chosen], LABELS[part][chosen])
    assert model.classes_.tolist() == [-1, 1]
    assert model.score(X, LABELS) > 0.85


def test_classes_can_be_announced():
    model = classifier().partial_fit(ROWS[:50], FOUR[:50], classes=[0, 1, 2, 3, 4])
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert model.coef_.shape == (5, D)
    stream(model, ROWS[50:], FOUR[50:])
    assert (model.predict(ROWS) == 4).mean() < 0.02  # no row had that class
    announced = classifier().partial_fit(X[:100], LABELS[:100], classes=[1, -1])
    plain = classifier().partial_fit(X[:100], LABELS[:100])
    np.testing.assert_array_equal(announced.coef_, plain.coef_)


def test_a_first_batch_of_one_class_needs_the_others_announced():
    ones = LABELS == 1
    with pytest.raises(
        ValueError, match=r"only one class, 1: name the others .* classes"
    ) as caught:
        classifier().partial_fit(X[ones], LABELS[ones])
    assert "np.int64" not in str(caught.value)
    model = classifier().partial_fit(X[ones], LABELS[ones], classes=[-1, 1])
    assert (model.predict(X) == 1).mean() > 0.9


# ----------------------------------------------------------------------------------- going on


def test_a_pickle_in_the_middle_of_a_stream_goes_on_identically():
    model = stream(classifier(loss="log"), ROWS[:1000], FOUR[:1000])
    copied = pickle.loads(pickle.dumps(model))
    for one in (model, copied):
        stream(one, ROWS[1000:2000], FOUR[1000:2000])
    np.testing.assert_array_equal(copied.coef_, model.coef_)
    np.testing.assert_array_equal(copied.intercept_, model.intercept_)


def test_a_stream_does_not_keep_its_batches():
    batch = np.random.default_rng(0).normal(size=(20000, D))
    model = classifier().partial_fit(batch, np.where(batch[:, 0] > 0, 1, -1))
    assert len(pickle.dumps(model)) < 10_000  # the batch has 800,000 bytes


def test_a_copy_of_a_stream_is_independent():
    model = stream(classifier(), X[:1000], LABELS[:1000])
    before = model.coef_.copy()
    stream(copy.deepcopy(model), X[1000:], LABELS[1000:])
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("make", [classifier, regressor])
@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
def test_partial_fit_goes_on_from_a_fit(make, bias):
    y = LABELS if make is classifier else NUMBERS
    model = make(bias=bias, tol=1e-6).fit(X[:3000], y[:3000])
    before = np.append(model.coef_, model.intercept_)
    model.partial_fit(X[3000:3010], y[3000:3010])
    assert model.n_rows_seen_ == 3010
    after = np.append(model.coef_, model.intercept_)
    assert (after != before).any()
    # ten rows after three thousand move the answer by little: they do not begin anew
    fresh = make(bias=bias).partial_fit(X[3000:3010], y[3000:3010])
    anew = np.append(fresh.coef_, fresh.intercept_)
    assert np.linalg.norm(after - before) < 0.2 * np.linalg.norm(before)
    assert np.linalg.norm(after - before) < 0.3 * np.linalg.norm(anew - before)


def test_partial_fit_after_a_fit_takes_new_classes():
    two = FOUR < 2
    model = classifier().fit(ROWS[two], FOUR[two])
    before = model.coef_[0].copy()
    model.partial_fit(ROWS[:200], FOUR[:200])
    assert model.classes_.tolist() == [0, 1, 2, 3]
    after = model.coef_[1]  # of class 1, now against three others
    assert after @ before > 0.8 * np.linalg.norm(after) * np.linalg.norm(before)
    assert model.score(ROWS, FOUR) > 0.75


def test_fit_begins_anew():
    model = stream(classifier(), ROWS, FOUR)
    model.fit(X, LABELS)
    plain = classifier().fit(X, LABELS)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.classes_.tolist() == [-1, 1]
    assert model.n_rows_seen_ == N
    assert model.result_.status is Status.CONVERGED
    again, first = model.partial_fit(X[:50], LABELS[:50]), plain.partial_fit(X[:50], LABELS[:50])
    np.testing.assert_array_equal(again.coef_, first.coef_)


def test_fit_with_warm_start_begins_at_the_stream():
    model = stream(classifier(warm_start=True, solver="auto"), X, LABELS)
    model.fit(X, LABELS)
    assert model.result_.certificate.relative_gap <= 1e-3


# ----------------------------------------------------------------------------------------- refusals


def test_a_solver_that_needs_all_rows_is_refused():
    for model, y in ((classifier(solver="dual"), LABELS), (regressor(solver="dual"), NUMBERS)):
        with pytest.raises(ValueError, match=r"solver='dual' can't learn from a stream.*'asgd'"):
            model.partial_fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"class_weight": "balanced"}, "class_weight='balanced' needs all rows.*a dict of weights"),
        ({"class_weight": {5: 1.0}}, r"the keys \['5'\].*name classes .* parameter classes"),
        ({"batch_size": 4}, "batch_size=4 has no meaning for solver='auto'"),
        ({"average": "random"}, "average='random' must be one of"),
        ({"p": 1.5}, r"p=2 and no radius.*use solver='pgs', 'dual' or 'auto'"),
        ({"alpha": 0.0}, "alpha=0.0 must be a positive number"),
    ],
)
def test_parameters_that_make_no_sense_for_a_stream(parameters, message):
    with pytest.raises(ValueError, match=message):
        classifier(**parameters).partial_fit(X, LABELS)


def test_a_matrix_of_labels_is_refused():
    matrix = np.column_stack([LABELS > 0, X[:, 0] > 0]).astype(int)
    with pytest.raises(ValueError, match="not a matrix of labels: use fit, or one model for each"):
        classifier().partial_fit(X, matrix)
    with pytest.raises(ValueError, match="not a matrix of labels"):
        classifier().fit(X, matrix).partial_fit(X, LABELS)


def test_another_number_of_columns_is_refused():
    for model, y in ((classifier(), LABELS), (regressor(), NUMBERS)):
        model.partial_fit(X, y)
        with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 5 features"):
            model.partial_fit(X[:, :3], y)


def test_a_bad_batch_leaves_the_model_as_it_was():
    model = stream(classifier(loss="log"), X[:1000], LABELS[:1000])
    other = copy.deepcopy(model)
    bad = X[1000:1100].copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"contains NaN \(row 3, column 2\)"):
        model.partial_fit(bad, np.where(np.arange(100) % 2, 7, 8))  # new classes, too
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(X[:10], np.full(10, 9), sample_weight=-np.ones(10))
    assert model.classes_.tolist() == [-1, 1]
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    for one in (model, other):
        stream(one, X[1000:2000], LABELS[1000:2000])
    np.testing.assert_array_equal(model.coef_, other.coef_)


def test_an_error_at_the_first_batch_leaves_the_model_unfitted():
    model = classifier(alpha=-1.0)
    with pytest.raises(ValueError, match="alpha"):
        model.partial_fit(ROWS, FOUR)
    model.set_params(alpha=1e-2).partial_fit(X, LABELS)
    assert model.classes_.tolist() == [-1, 1]
