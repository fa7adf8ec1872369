"""Stores: what goes in comes out, in both orders; estimators learn the same from it."""

import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skimlearn import (
    EnclosingBall,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    Matrix,
    Store,
    StoreError,
    SublinearSVC,
    enclosing_ball,
    hard_margin,
    matrix_game,
    max_margin,
    open_store,
    regularization_path,
    shortest_vector,
    simplex_qp,
    soft_ball,
    soft_margin,
)
from skimlearn.data.columns import as_matrix
from skimlearn.data.inspection import as_rows
from store_examples import check_same, labels, poke, sparse, tiny_memory


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("memory", [2**28, 1000])
def test_sparse_data_come_back(path, dtype, memory):
    X, y = sparse(dtype=dtype), labels()
    with tiny_memory():
        made = Store.create(path, X, y, memory=memory, names=[f"wort {j} ß" for j in range(9)])
    for store in (made, open_store(path), open_store(str(path)), pickle.loads(pickle.dumps(made))):
        check_same(store, X, y)
        assert store.dtype == dtype
        assert store.y.dtype == np.int64
        assert (store.sparse, store.entries) == (True, X.nnz)
        assert store.names.tolist() == [f"wort {j} ß" for j in range(9)]
        assert_array_equal(store[2:7].toarray(), X[2:7].toarray())
        assert_array_equal(store[[5, 1]].toarray(), X[[5, 1]].toarray())
        assert_array_equal(store[np.arange(40) % 2 == 0, :].toarray(), X[::2].toarray())
    assert len(made) == 40
    assert "40 x 9, sparse" in repr(made)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("memory", [2**28, 500, 1])
@pytest.mark.parametrize("order", "CF")
def test_dense_data_come_back(path, dtype, memory, order):
    X = np.asarray(np.random.default_rng(0).normal(size=(23, 7)), dtype=dtype, order=order)
    with tiny_memory():
        store = Store.create(path, X, np.arange(23) / 2, memory=memory)
    check_same(store, X, np.arange(23) / 2)
    assert store.y.dtype == np.float64
    assert_array_equal(store[3:5], X[3:5])
    blocks = list(store.blocks(10))
    assert [len(X) for X, _ in blocks] == [10, 10, 3]
    assert_array_equal(np.concatenate([X for X, _ in blocks]), X)


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 30), st.integers(1, 12)),
    density=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    blocks=st.integers(1, 4),
    memory=st.integers(1, 3000),
    seed=st.integers(0, 2**31),
)
def test_the_external_transpose_is_that_of_scipy(
    tmp_path_factory, shape, density, blocks, memory, seed
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * (rng.random(shape) < density)
    X[:, rng.integers(shape[1])] = 1.0  # a column that may be too long for memory
    parts = [sp.csr_matrix(part) for part in np.array_split(X, blocks)]
    folder = tmp_path_factory.mktemp("transposes")
    with tiny_memory():
        store = Store.create(folder / "s", ((part, None) for part in parts), memory=memory)
        check_same(store, sp.csr_matrix(X))
        check_same(Store.create(folder / "d", X, memory=memory), X)
    assert sorted(os.listdir(folder)) == ["d", "s"]


def test_explicit_zeros_are_kept_and_disorder_is_mended(path):
    X = sp.csr_matrix((np.array([1.0, 0.0, 2.0]), np.array([2, 0, 1]), np.array([0, 2, 3])))
    store = Store.create(path, X)
    assert_array_equal(store.view("row").columns, [0, 2, 1])
    assert_array_equal(store.view("row").values, [0.0, 1.0, 2.0])
    store.verify()


@pytest.mark.parametrize(("kind", "dtype"), [("sparse", np.float64), ("dense", np.float32)])
def test_every_estimator_learns_the_same_from_a_store(path, kind, dtype):
    X, y = sparse(300, 12, dtype, density=0.5), labels(300)
    if kind == "dense":
        X = X.toarray()
    y[X[:, [0]].toarray().ravel() > 0.5 if kind == "sparse" else X[:, 0] > 0.5] = 1
    store = Store.create(path, X, y)
    loose = 1e-4 if dtype == np.float32 else 1e-10
    for model in (
        LinearClassifier(alpha=1e-2, random_state=0),
        LinearClassifier(alpha=1e-2, solver="asgd", max_epochs=3, tol=None, random_state=0),
        LinearClassifierCV(alphas=[1e-1, 1e-2], cv=2, random_state=0),
        LinearRegressor(alpha=1e-2, random_state=0),
        SublinearSVC(nu=0.5, eps=0.2, random_state=0),
    ):
        expected = model.fit(X, y)
        w, scores = expected.coef_.copy(), expected.predict(X)
        for targets in ((store.y,), ()):
            found = model.fit(store, *targets)
            assert_array_equal(found.coef_, w)
            assert_allclose(found.predict(store), scores, rtol=loose, atol=loose)
            assert_allclose(found.score(store, store.y), found.score(X, y), rtol=1e-5)
            assert found.n_features_in_ == 12
            if hasattr(model, "decision_function"):
                decisions = found.decision_function(store)
                assert decisions.dtype == dtype
                assert_allclose(decisions, found.decision_function(X), rtol=loose, atol=loose)
    ball = EnclosingBall(contamination=0.0, random_state=0)
    assert_array_equal(ball.fit(X).center_, ball.fit(store).center_)
    assert_array_equal(ball.predict(store), ball.predict(X))
    soft = EnclosingBall(contamination=0.2)
    assert_array_equal(soft.fit(X).center_, soft.fit(store).center_)


def test_more_than_two_classes_and_names(path):
    X, y = sparse(200, 6, density=0.6), np.random.default_rng(0).integers(3, size=200)
    names = [f"f{j}" for j in range(6)]
    store = Store.create(path, X, y, names=names)
    model = LinearClassifier(alpha=0.1, random_state=0).fit(store)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.feature_names_in_.tolist() == names
    assert_allclose(model.decision_function(store), np.stack(X @ model.coef_.T + model.intercept_))
    assert_array_equal(model.predict(store), model.predict(store))
    model.partial_fit(store, store.y)
    renamed = Store.create(path, X, y, names=names[::-1], overwrite=True)
    with pytest.raises(ValueError, match="names of the store's columns"):
        model.predict(renamed)
    narrow = Store.create(path, X[:, :5], y, overwrite=True)
    with pytest.raises(ValueError, match="5 features, but LinearClassifier is expecting 6"):
        model.predict(narrow)
    plain = Store.create(path, X, overwrite=True)
    assert not hasattr(model.fit(plain, y), "feature_names_in_")
    with pytest.raises(ValueError, match="has no labels: give them as y"):
        model.fit(plain)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(plain, y[1:])


def test_strings_as_labels_of_blocks(path):
    blocks = [(np.ones((2, 2)), ["ham", "spam"]), (np.ones((2, 2)), np.array(["eggs", "ham"]))]
    store = Store.create(path, iter(blocks))
    store.verify()
    assert store.y.tolist() == ["ham", "spam", "eggs", "ham"]


def test_classes_that_are_strings(path, tmp_path):
    X, y = sparse(60, 5, density=0.6), np.where(labels(60) > 0, "ja", "nein")
    for same in (y, y.astype(object), y.tolist()):
        store = Store.create(path, X, same, overwrite=True)
        check_same(store, X, y)
    assert store.y is store.y
    assert [block.tolist() for _, block in store.blocks(40)] == [y[:40].tolist(), y[40:].tolist()]
    model = LinearClassifier(random_state=0).fit(store)
    assert model.classes_.tolist() == ["ja", "nein"]
    assert model.score(store, store.y) == model.score(X, y)
    again = Store.create(tmp_path / "other", store, names="abcde")
    assert again.y.tolist() == y.tolist()
    assert Store.create(path, again, overwrite=True).names.tolist() == list("abcde")
    with pytest.raises(ValueError, match="use LinearClassifier"):
        LinearRegressor().fit(store)


@pytest.mark.parametrize("value", [-1, 2, 2**40])
def test_labels_that_are_numbers_of_no_class(path, value):
    Store.create(path, sparse(), np.where(labels() > 0, "ja", "nein"))
    poke(path, "labels", 3, value)
    store = open_store(path)
    for use in (lambda: store.y, lambda: LinearClassifier().fit(store), store.verify):
        with pytest.raises(StoreError, match=r"labels go from .* but there are 2 classes"):
            use()


def test_functions_take_a_store(path):
    X, y = sparse(60, 5, density=0.8), labels(60)
    store = Store.create(path, X, y)
    options = {"eps": 0.2, "random_state": 0}
    assert_array_equal(enclosing_ball(store, **options).x, enclosing_ball(X, **options).x)
    shifted = sp.csr_matrix(X.toarray() + 5.0 * y[:, None])
    store = Store.create(path, shifted, y, overwrite=True)
    expected = max_margin(shifted, y, eps=1.0, random_state=0)
    assert_array_equal(max_margin(store, store.y, eps=1.0, random_state=0).x, expected.x)
    paths = [
        regularization_path(data, y, loss="hinge", alphas=[0.1], random_state=0)
        for data in (store, shifted)
    ]
    assert_array_equal(paths[0].coefs, paths[1].coefs)
    for function in (
        lambda X: soft_margin(X, y, nu=0.5, eps=0.5, random_state=0),
        lambda X: soft_ball(X, contamination=0.2),
        lambda X: simplex_qp(X, eps=0.5, random_state=0),
        lambda X: shortest_vector(X, eps=0.5, random_state=0),
        lambda X: hard_margin(X, y, eps=1.0, random_state=0),
        lambda X: matrix_game(X, eps=1.0, random_state=0),
    ):
        assert_array_equal(function(store).x, function(shifted).x)


def test_nothing_is_copied(path):
    for X in (sparse(), sparse().toarray()):
        store = Store.create(path, X, overwrite=True)
        matrix = as_matrix(store)
        assert isinstance(matrix, Matrix)
        assert matrix.entries == store.entries
        assert np.shares_memory(as_rows(store).values, store._arrays["row_values"])
        assert np.shares_memory(matrix.columns.values, store._arrays["column_values"])
        for lines in (matrix.rows, matrix.columns):
            assert not lines.values.flags.writeable


def test_rows_that_are_too_long_are_refused_as_elsewhere(path):
    store = Store.create(path, [[1.0], [1e150], [2.0]], [1, -1, 1])
    with pytest.raises(ValueError, match="row 1 is longer"):
        LinearClassifier().fit(store)
    assert as_rows(store).shape == (3, 1)
