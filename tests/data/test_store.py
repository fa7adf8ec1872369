"""Stores: what goes in comes out, in both orders; damage is found; nothing is ever half there."""

import bz2
import errno
import gzip
import json
import lzma
import os
import pickle
import subprocess
import sys
import threading
from unittest import mock

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
    write_svmlight,
)
from skimlearn.data import _store_check, _store_format
from skimlearn.data.columns import as_matrix
from skimlearn.data.inspection import as_rows
from skimlearn.data.rows import Csr, Dense
from store_faults import (
    FORMER,
    NEW,
    Steps,
    check_after_kill,
    data,
    killed_after,
    killed_at_step,
    make,
    state,
)
from store_files import check as check_broken
from store_files import make_stores, mutate

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data"


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """The tests need not wait for the disk."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def unknown(monkeypatch):
    """No store is known to be sound, as if all came from elsewhere."""
    monkeypatch.setattr(_store_check, "_known", set())
    monkeypatch.setattr(_store_check, "_mark", lambda key: None)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """The files of some stores, and a folder for what is made of them."""
    folder = tmp_path_factory.mktemp("stores")
    return make_stores(folder), tmp_path_factory.mktemp("broken")


def sparse(n=40, d=9, dtype=np.float64, seed=0, density=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    X[3] = 0.0
    X[:, 2] = 0.0
    return sp.csr_matrix(X.astype(dtype))


def labels(n=40, seed=1):
    return np.random.default_rng(seed).choice([-1, 1], size=n)


def tiny_memory():
    return mock.patch("skimlearn.data.store.LEAST_MEMORY", 1)


def check_same(store, X, y=None):
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    assert store.shape == dense.shape
    rows, columns = store.view("row"), store.view("column")
    if store.sparse:
        X = sp.csr_matrix(X)
        X.sort_indices()
        other = X.tocsc()
        other.sort_indices()
        for found, truth in ((rows, X), (columns, other)):
            assert isinstance(found, Csr)
            assert_array_equal(found.values, truth.data)
            assert_array_equal(found.columns, truth.indices)
            assert_array_equal(found.starts, truth.indptr)
        assert rows.width, columns.width == dense.shape[::-1]
    else:
        assert isinstance(rows, Dense)
        assert_array_equal(rows.values, dense)
        assert_array_equal(columns.values, dense.T)
        assert columns.values.flags.c_contiguous
    exact = dense.astype(np.float64)
    assert_allclose(store.norms, np.linalg.norm(exact, axis=1), rtol=1e-12)
    assert_allclose(store.means, exact.mean(axis=0), rtol=1e-9, atol=1e-12)
    if y is None:
        assert store.y is None
    else:
        assert_array_equal(store.y, y)
    store.verify()


# ------------------------------------------------------------------------------------- round trips


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


# ----------------------------------------------------------------------------------------- sources


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_svmlight_files(tmp_path, path, pack, n_jobs):
    X, y = sparse(), labels()
    write_svmlight(X, y, tmp_path / "plain")
    (tmp_path / "text").write_bytes(pack((tmp_path / "plain").read_bytes()))
    store = Store.create(path, tmp_path / "text", n_jobs=n_jobs)
    width = X.indices.max() + 1
    check_same(store, X[:, :width], y)
    wide = Store.create(path, tmp_path / "text", n_features=20, dtype="f4", overwrite=True)
    assert (wide.shape, wide.dtype) == ((40, 20), np.float32)
    assert_array_equal(wide[:].toarray()[:, :9], X.toarray().astype(np.float32))


def test_svmlight_ids_from_zero(tmp_path, path):
    (tmp_path / "text").write_bytes(b"1 0:2 3:1\n0 1:5\n")
    with pytest.raises(ValueError, match=r"line 1.*zero_based=True"):
        Store.create(path, tmp_path / "text")
    assert os.listdir(tmp_path) == ["text"]
    store = Store.create(path, tmp_path / "text", zero_based=True)
    assert_array_equal(store[:].toarray(), [[2, 0, 0, 1], [0, 5, 0, 0]])


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("memory", [2**28, 1000])
def test_npz_files(tmp_path, path, kind, compressed, memory):
    X, y = sparse(dtype=np.float32), labels()
    sp.save_npz(tmp_path / "x.npz", X.asformat(kind), compressed=compressed)
    with tiny_memory():
        store = Store.create(path, tmp_path / "x.npz", y, memory=memory)
        check_same(store, X, y)
        for wrong in (y[:-1], np.append(y, 1)):
            with pytest.raises(ValueError, match=r"y has .* labels, but the source has 40 rows"):
                Store.create(path, tmp_path / "x.npz", wrong, overwrite=True, memory=memory)
    assert open_store(path).shape == X.shape


def test_npz_files_that_are_none(tmp_path, path):
    (tmp_path / "a.npz").write_bytes(b"PK nonsense")
    np.savez(tmp_path / "b.npz", x=np.ones(3))
    sp.save_npz(tmp_path / "c.npz", sparse(), compressed=False)
    whole = (tmp_path / "c.npz").read_bytes()
    (tmp_path / "c.npz").write_bytes(whole[: len(whole) // 2])
    evil = {"format": np.array(b"csr"), "shape": np.array([1, 1]), "indptr": np.array([0, 1])}
    np.savez(tmp_path / "d.npz", **evil, indices=np.zeros(1, np.int32), data=np.array([print]))
    evil["indptr"] = np.array([0, -1])
    np.savez(tmp_path / "e.npz", **evil, indices=np.zeros(1, np.int32), data=np.ones(1))
    for name in "abcde":
        with pytest.raises(StoreError, match=f"{name}.npz"):
            Store.create(path, tmp_path / f"{name}.npz")
        assert not path.exists()


@pytest.mark.parametrize("name", ["csr.npz", "coo.npz", "plain.npy"])
def test_arrays_that_are_damaged_by_chance(tmp_path, path, name):
    """Cut off, or changed in some bytes: the same error always, or a store."""
    source = tmp_path / name
    if name == "plain.npy":
        np.save(source, sparse().toarray())
    else:
        sp.save_npz(source, sparse().asformat(name[:3]))
    whole = source.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for k in range(150):
        data = bytearray(whole[: rng.integers(len(whole))] if k % 3 == 0 else whole)
        for _ in range(k % 3 * 2 if data else 0):
            data[rng.integers(len(data)) % (128 if k % 2 else len(data))] = rng.integers(256)
        source.write_bytes(data)
        try:
            Store.create(path, source, overwrite=True)
        except StoreError:
            refused += 1
        except ValueError as error:
            if "Input X contains" not in str(error):  # a number was changed, not the file
                raise
    assert refused > 40
    source.write_bytes(b"")
    with pytest.raises(StoreError, match=name):
        Store.create(path, source, overwrite=True)


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.bool_])
def test_npy_files(tmp_path, path, dtype):
    X = (np.random.default_rng(0).normal(size=(30, 4)) * 3).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    with tiny_memory():
        store = Store.create(path, tmp_path / "x.npy", memory=2000)
    check_same(store, X.astype(np.float64))
    assert store.dtype == (np.float32 if dtype == np.float32 else np.float64)


def test_npy_files_with_objects(tmp_path, path):
    np.save(tmp_path / "x.npy", np.array([[print]]), allow_pickle=True)
    with pytest.raises(StoreError, match="no file of arrays of numbers"):
        Store.create(path, tmp_path / "x.npy")


def test_blocks_may_widen(path):
    parts = [sparse(d=5, seed=0), sparse(d=9, seed=1), sparse(d=7, seed=2)]
    store = Store.create(path, ((X, labels()) for X in parts))
    wide = [sp.csr_matrix((X.data, X.indices, X.indptr), shape=(40, 9)) for X in parts]
    check_same(store, sp.vstack(wide, "csr"), np.tile(labels(), 3))


def test_a_store_of_a_store(path, tmp_path):
    first = Store.create(path, sparse(), labels())
    second = Store.create(tmp_path / "other", first, dtype=np.float32)
    check_same(second, sparse(dtype=np.float32), labels())
    check_same(Store.create(tmp_path / "lists", [[1.0, 2.0]], [1]), [[1.0, 2.0]], [1])


def test_text_and_wide_blocks_write_the_same_bytes_whatever_the_memory(tmp_path):
    with tiny_memory():
        for k, memory in enumerate((2**28, 700)):
            Store.create(tmp_path / str(k), sparse(200, 30), labels(200), memory=memory)
    for name in os.listdir(tmp_path / "0"):
        assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "1" / name).read_bytes()


NAN = np.array([[1.0, np.nan]])


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (NAN, {}, "NaN"),
        ([(NAN, [1])], {}, "NaN"),
        (np.zeros((0, 3)), {}, "no rows"),
        (iter([]), {}, "no rows"),
        (np.zeros((3, 0)), {}, "no columns"),
        (np.ones(3), {}, "two dimensions"),
        (np.ones((2, 2)), {"y": [1]}, r"y has shape \(1,\), but the source has 2 rows"),
        ([(np.ones((2, 2)), ["a", "b"])], {}, "encode classes as numbers"),
        (np.ones((2, 2)), {"y": "kind"}, "'kind' names a column, but the source is no table"),
        (np.ones((2, 2)), {"y": ["a", ""]}, "classes must have 1 to"),
        (np.ones((2, 2)), {"y": [1.0, np.nan]}, "label of row 1 is nan"),
        (np.full((2, 2), 1e300), {"dtype": np.float32}, "1e.300, beyond float32"),
        (np.ones((2, 2)), {"dtype": np.int32}, "float32 or float64"),
        (np.ones((2, 2)), {"memory": 5}, "memory=5"),
        (np.ones((2, 2)), {"n_features": 5}, "n_features=5, but the source has 2 columns"),
        (sparse(), {"n_features": 5}, "n_features=5, but the source has 9 columns"),
        (np.ones((2, 2)), {"names": ["a"]}, "2 strings"),
        (np.ones((2, 2)), {"names": ["a", 5]}, "must hold strings"),
        (np.ones((2, 2)), {"names": ["", ""]}, "characters"),
        (np.ones((2, 2)), {"names": ["a", "b\0"]}, "not null"),
        ([(np.ones((2, 2)), [1, 2]), (np.ones((1, 3)), [1])], {}, "3 columns behind one of 2"),
        ([(np.ones((2, 2)), [1, 2]), (sparse(), labels())], {}, "sparse and dense"),
        ([(np.ones((2, 2)), [1, 2]), (np.ones((1, 2)), None)], {}, "others have none"),
        ([(np.ones((2, 2)), [1, 2]), (np.ones((1, 2)), [0.5])], {}, "all whole or all floats"),
        ([(np.ones((2, 2)), [1])], {}, r"labels of shape \(1,\)"),
        ([(np.ones((2, 2)), [1, 2])], {"y": [1, 2]}, "y must be None"),
        ([(np.ones((2, 2)), None), 5], {}, "block 1"),
        (5, {}, "must be a path"),
    ],
)
def test_bad_sources_are_refused_and_leave_nothing(tmp_path, path, source, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Store.create(path, source, **options)
    assert os.listdir(tmp_path) == []


def test_progress_is_told(path):
    told = []
    Store.create(path, data(NEW), progress=lambda *args: told.append(args))
    assert told == [("rows", 60), ("rows", 120), ("rows", 180), ("columns", 180)]


# -------------------------------------------------------------------------------------- estimators


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


# ------------------------------------------------------------------------------------------ damage


@pytest.mark.parametrize("name", [n for n in _store_format.FILES if n.endswith("npy")])
def test_changed_and_cut_files_are_found(path, name, unknown):
    y = np.where(labels() > 0, "yes", "no")
    Store.create(path, sparse(), y, names=[f"f{j}" for j in range(9)]).verify()
    whole = (path / name).read_bytes()
    for at in (0, 20, 127, 128, len(whole) - 1):  # header, data
        (path / name).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(StoreError) as found:
            open_store(path).verify()
        assert name in str(found.value)
    for cut in (whole[:-1], whole[: len(whole) // 2], whole[:50], b"", whole + b"x"):
        (path / name).write_bytes(cut)
        with pytest.raises(StoreError, match=f"{name} has {len(cut)} bytes instead of"):
            open_store(path)
    (path / name).unlink()
    with pytest.raises(StoreError, match=f"{name} is missing"):
        open_store(path)
    (path / name).mkdir()
    with pytest.raises(StoreError, match=f"{name} is not a plain file"):
        open_store(path)
    (path / name).rmdir()
    (path.parent / "elsewhere").write_bytes(whole)
    (path / name).symlink_to(path.parent / "elsewhere")
    with pytest.raises(StoreError, match="links and the like are not followed"):
        open_store(path)


def rewrite(path, change):
    """Change the manifest, and its digest with it."""
    content = json.loads((path / "manifest.json").read_text())
    change(content)
    content["digest"] = _store_format._digest(content)
    (path / "manifest.json").write_text(json.dumps(content))


def array(name, **changes):
    return lambda content: content["arrays"][name].update(changes)


HOSTILE = {
    "version 2": lambda c: c.update(version=2),
    "no sound version": lambda c: c.update(version="1"),
    "format is not": lambda c: c.update(format="zip"),
    "no sound shape": lambda c: c.update(shape=[-1, 9]),
    "no sound shape ": lambda c: c.update(shape=[40.0, 9]),
    "no sound shape  ": lambda c: c.update(shape=[True, 9]),
    "no sound shape   ": lambda c: c.update(shape="40"),
    "no sound shape    ": lambda c: c.update(shape=[40, 9, 1]),
    "no sound shape     ": lambda c: c.update(shape=[2**70, 9]),
    "no sound shape      ": lambda c: c.update(entries=None),
    "has the shape": lambda c: c.update(shape=[0, 9]),
    "instead of": lambda c: c.update(shape=[41, 9]),
    "instead of ": lambda c: c.update(shape=[2**62, 2**62]),
    "instead of  ": lambda c: c.update(entries=5),
    "sparse": lambda c: c.update(sparse="yes"),
    "has the shape ": lambda c: c.update(sparse=False),
    "which arrays": lambda c: c.update(arrays=[]),
    "lacks the array 'norms'": lambda c: c["arrays"].pop("norms"),
    "says nothing": lambda c: c["arrays"].update(norms=5),
    "no plain name": lambda c: c["arrays"].update({"../../etc/passwd": c["arrays"]["norms"]}),
    "no plain name ": lambda c: c["arrays"].update({"/etc/passwd": {}}),
    "no plain name  ": lambda c: c["arrays"].update({"a" * 5000: {}}),
    "type '|O'": array("row_values", dtype="|O"),
    "type '<U9999999'": array("names", dtype="<U9999999"),
    "type '<f2'": array("row_values", dtype="<f2"),
    "type '>f8'": array("row_values", dtype=">f8"),
    "type 'f8,O'": array("row_values", dtype="f8,O"),
    "type '5'": array("row_values", dtype=5),
    "type '<i8'": array("row_columns", dtype="<i8"),
    "rows and columns different": array("row_values", dtype="<f4"),
    "shape -5": array("row_values", shape=-5),
    r"shape \[1\]": array("row_values", shape=[1]),
    "no size": array("row_values", size="9"),
    "no digest": array("row_values", digest=None),
    "instead of 7": array("row_values", size=7),
    "classes without labels": lambda c: c["arrays"].pop("labels"),
    "classes without labels ": array("labels", dtype="<f8"),
    r"'classes' the shape \[0\]": array("classes", shape=[0]),
    r"'classes' the shape \[1, 2\]": array("classes", shape=[1, 2]),
    r"classes\.npy has a header": array("classes", shape=[2**62]),
}


@pytest.mark.parametrize("message", HOSTILE)
def test_hostile_manifests_are_refused(path, message):
    Store.create(
        path, sparse(), np.where(labels() > 0, "a", "b"), names=[f"f{j}" for j in range(9)]
    )
    rewrite(path, HOSTILE[message])
    with pytest.raises(StoreError, match=message.strip()):
        open_store(path)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"null", b"[]", b"5", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000,
        b" " * 2**21, b'{"format": "skimlearn store", "version": 1}',
        b'{"format": "skimlearn store", "version": ' + b"9" * 5000 + b"}",
    ],
    ids=repr,
)  # fmt: skip
def test_manifests_that_are_none_are_refused(path, text):
    Store.create(path, sparse())
    (path / "manifest.json").write_bytes(text)
    with pytest.raises(StoreError, match=r"manifest\.json"):
        open_store(path)


def test_a_changed_manifest_is_found_and_more_keys_are_fine(path):
    Store.create(path, sparse())
    text = (path / "manifest.json").read_text()
    (path / "manifest.json").write_text(text.replace('"sparse": true', '"sparse": true, "a": 1'))
    with pytest.raises(StoreError, match="it was changed"):
        open_store(path)

    def more(content):
        content["comment"] = {"by": "a later version"}
        content["arrays"]["order"] = {"dtype": "<i8"}
        content["arrays"]["norms"]["unit"] = "m"

    (path / "manifest.json").write_text(text)
    rewrite(path, more)
    open_store(path).verify()


def test_no_store_at_all(tmp_path):
    with pytest.raises(StoreError, match=r"there is no such folder: make the store with"):
        open_store(tmp_path / "nothing")
    with pytest.raises(StoreError, match=r"no manifest\.json, so it is no store"):
        open_store(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="it is not a folder"):
        open_store(tmp_path / "file")


def test_a_manifest_that_is_a_link_is_not_followed(path):
    Store.create(path, sparse())
    os.rename(path / "manifest.json", path.parent / "elsewhere")
    (path / "manifest.json").symlink_to(path.parent / "elsewhere")
    with pytest.raises(StoreError, match=r"manifest\.json is not a plain file"):
        open_store(path)


def poke(path, name, at, value):
    """Overwrite one number, and make the manifest agree with it: a store made to do harm."""
    values = np.load(path / f"{name}.npy", mmap_mode="r+")
    values[at] = value
    values.flush()
    del values
    digest = _store_format.digest_of_file(path, name)
    rewrite(path, array(name, digest=digest))


HARM = [
    ("row_columns", 5, 2**30, "the rows are damaged: line 1 has the index"),
    ("row_columns", 5, -1, "the rows are damaged: line 1 has the index"),
    ("row_columns", 1, 0, "the rows are damaged: line 0 has indices that are not sorted"),
    ("row_starts", 7, 2**40, "the rows are damaged: its row pointers"),
    ("row_starts", 7, -(2**40), "the rows are damaged: its row pointers"),
    ("row_values", 5, np.nan, "the rows are damaged: line 1 holds nan"),
    ("column_rows", 5, 2**30, "the columns are damaged: line 0 has the index"),
    ("column_starts", 3, 2**40, "the columns are damaged: its row pointers"),
]


@pytest.mark.parametrize(("name", "at", "value", "message"), HARM)
def test_what_could_harm_does_not_reach_a_kernel(path, unknown, name, at, value, message):
    Store.create(path, sparse(density=0.5), labels())
    poke(path, name, at, value)
    _store_check._known.clear()
    store = open_store(path)
    for use in (
        lambda: as_matrix(store),
        lambda: SublinearSVC().fit(store),
        lambda: store.view(name.split("_")[0]),
    ):
        with pytest.raises(StoreError, match=message):
            use()
    if name.startswith("row"):
        for use in (
            lambda: LinearClassifier().fit(store),
            lambda: EnclosingBall().fit(store),
            lambda: as_rows(store, inspect=False),
            lambda: store[:3],
        ):
            with pytest.raises(StoreError, match=message):
                use()
    with pytest.raises(StoreError, match=r"s: (line|its)"):
        store.verify()


@pytest.mark.parametrize("name", ["names", "classes"])
def test_words_that_are_no_text(path, name):
    """Strings of these bytes would be an error in the interpreter itself."""
    Store.create(path, np.eye(2), ["no", "yes"], names=["a", "b"])
    whole = bytearray((path / f"{name}.npy").read_bytes())
    whole[128:132] = b"\xff\xff\xff\x7f"
    (path / f"{name}.npy").write_bytes(whole)
    rewrite(path, array(name, digest=_store_format.digest_of_file(path, name)))
    store = open_store(path)
    for use in (lambda: LinearClassifier().fit(store), store.verify):
        with pytest.raises(StoreError, match=rf"{name}\.npy holds numbers that stand for no char"):
            use()


@pytest.mark.parametrize("seed", [*range(40), 10472])
def test_stores_that_are_broken_by_chance_are_refused_or_used(seed, broken):
    """Some seeds of tools/fuzz_store.py."""
    stores, folder = broken
    rng = np.random.default_rng(seed)
    assert check_broken(folder, mutate(rng, stores[rng.integers(len(stores))])) is None


def test_offsets_that_end_elsewhere_do_not_open(path):
    Store.create(path, sparse())
    poke(path, "column_starts", -1, 5)
    with pytest.raises(StoreError, match=r"column_starts\.npy goes from 0 to 5, not from 0 to"):
        open_store(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("column_values", "the columns are not those of the rows"),
        ("row_values", "the columns are not those of the rows; the norms are not"),
        ("norms", "the norms are not those of the rows"),
        ("means", "the means are not those of the columns"),
    ],
)
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_orders_that_disagree_are_found(path, name, message, kind):
    X = sparse() if kind == "sparse" else sparse().toarray()
    Store.create(path, X)
    at = 4 if kind == "sparse" or name in ("norms", "means") else (1, 1)
    poke(path, name, at, 77.0)
    with pytest.raises(StoreError, match=message):
        open_store(path).verify()


def test_entries_that_changed_places_are_found(path):
    X = sp.csr_matrix(np.array([[1.0, 2.0], [3.0, 0.0]]))
    Store.create(path, X)
    poke(path, "column_values", slice(0, 2), [3.0, 1.0])
    with pytest.raises(StoreError, match="the columns are not those of the rows"):
        open_store(path).verify()
    other = sp.csr_matrix(np.array([[1.0, 2.0], [0.0, 3.0]]))
    Store.create(path, other, overwrite=True)
    poke(path, "row_columns", 2, 0)
    with pytest.raises(StoreError, match="as many entries as the rows give"):
        open_store(path).verify()


def test_a_store_is_inspected_once(path, tmp_path, monkeypatch, unknown):
    read = []
    monkeypatch.setattr("skimlearn.data.store.inspected", lambda lines: read.append(lines) or "")
    store = Store.create(path, sparse(), labels())
    as_matrix(store)
    as_matrix(open_store(path))
    assert read == []  # it was just written
    _store_check._known.clear()
    for _ in range(2):
        as_rows(open_store(path))
    assert len(read) == 1
    as_matrix(open_store(path))
    assert len(read) == 2  # the columns, too
    os.utime(path / "row_values.npy")
    as_matrix(open_store(path))
    assert len(read) == 3
    monkeypatch.setattr(_store_check, "_mark", lambda key: tmp_path / "marks" / key)
    as_rows(open_store(path))
    _store_check._known.clear()
    store = open_store(path)
    store._remember("row")
    _store_check._known.clear()  # as in another process
    as_rows(open_store(path))
    assert len(read) == 3
    dense = Store.create(tmp_path / "dense", np.eye(3))
    _store_check._known.clear()
    monkeypatch.setattr(_store_check, "_mark", lambda key: None)
    dense = open_store(dense.path)
    as_matrix(dense)
    assert len(read) == 3  # an algorithm that reads little of it need not wait for a whole pass
    as_rows(dense)
    assert len(read) == 4


def test_rows_that_are_known_are_not_with_another_width(path, unknown):
    """The rows stay as they were; the rest of the store says that there are fewer columns."""
    X = sparse(density=0.6)
    Store.create(path, X)
    Store.create(path.parent / "narrow", X[:, :5])
    for name in os.listdir(path):
        if name != "manifest.json" and not name.startswith("row_"):
            os.replace(path.parent / "narrow" / name, path / name)

    def narrow(content):
        other = json.loads((path.parent / "narrow" / "manifest.json").read_text())
        content["shape"][1] = 5
        for name, entry in other["arrays"].items():
            if not name.startswith("row_"):
                content["arrays"][name] = entry
        shape = [content["entries"]]
        content["arrays"]["column_values"]["shape"] = shape
        content["arrays"]["column_rows"]["shape"] = shape

    rewrite(path, narrow)
    try:
        store = open_store(path)
    except StoreError:  # the columns do not fit: made to fit below
        values = np.zeros(X.nnz)
        rows = np.zeros(X.nnz, np.int32)
        starts = np.array([0, 0, 0, 0, 0, X.nnz])
        for name, made in (
            ("column_values", values), ("column_rows", rows), ("column_starts", starts),
        ):  # fmt: skip
            header = _store_format.header_of(made.dtype.str, made.shape)
            (path / f"{name}.npy").write_bytes(header + made.tobytes())
            rewrite(path, array(name, shape=list(made.shape), size=128 + made.nbytes))
        store = open_store(path)
    with pytest.raises(StoreError, match="the rows are damaged: line 0 has the index"):
        as_rows(store)


# ------------------------------------------------------------------- interruptions, and two at once


def test_all_is_on_disk_before_it_gets_its_name(path, monkeypatch):
    told, rename = [], os.rename
    monkeypatch.setattr(os, "fsync", lambda handle: told.append(os.fstat(handle).st_ino))
    monkeypatch.setattr(os, "rename", lambda *args: (told.append("named"), rename(*args)))
    make(path)
    named = told.index("named")
    files = {os.stat(path / name).st_ino: name for name in os.listdir(path)}
    assert set(told[:named]) == {*files, os.stat(path).st_ino}
    assert told[named - 1] == os.stat(path).st_ino
    assert files[told[named - 2]] == "manifest.json"
    assert told[named + 1 :] == [os.stat(path.parent).st_ino]


def test_an_existing_target_is_refused_or_replaced(path, tmp_path):
    make(path, FORMER)
    with pytest.raises(StoreError, match="exists already: use overwrite=True"):
        make(path)
    former = open_store(path)
    make(path, overwrite=True)
    assert (state(path), former.shape[1]) == (NEW, FORMER)
    assert_array_equal(former[:5].toarray(), next(data(FORMER))[0][:5].toarray())  # still there
    assert os.listdir(tmp_path) == ["data"]


def test_what_is_no_store_is_never_replaced(tmp_path, path):
    path.mkdir()
    make(path, overwrite=True)  # an empty folder is nobody's
    (path / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"has notes\.txt, so it is no store"):
        make(path, overwrite=True)
    assert state(path) == NEW
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    (tmp_path / "a" / "labels.npy").write_text("mine")
    with pytest.raises(StoreError, match=r"has no manifest\.json, so it is no store"):
        make(tmp_path / "a", overwrite=True)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(path)
    for name in ("file", "link"):
        with pytest.raises(StoreError, match="not a folder, so it is not replaced"):
            make(tmp_path / name, overwrite=True)
    (tmp_path / ".b.skimlearn-new").mkdir()
    (tmp_path / ".b.skimlearn-new" / "mine").write_text("mine")
    with pytest.raises(StoreError, match="foreign files, mine"):
        make(tmp_path / "b", overwrite=True)
    assert (tmp_path / ".b.skimlearn-new" / "mine").read_text() == "mine"
    with pytest.raises(StoreError, match="does not exist: make it first"):
        make(tmp_path / "no" / "such" / "folder")


@pytest.mark.parametrize("former", [False, True])
def test_a_full_disk_at_any_step_leaves_what_was_there(tmp_path, path, former):
    def fail(_name):
        raise OSError(errno.ENOSPC, "the disk is full")

    if former:
        make(path, FORMER)
    with Steps(None) as steps:
        make(tmp_path / "other")
    most = steps.count + 20  # removing the former takes some more
    failed = 0
    for k in range(1, most):
        try:
            with Steps(fail, k) as steps:
                make(path, overwrite=former)
        except OSError as error:
            failed += error.errno == errno.ENOSPC
        assert state(path) in ((FORMER, NEW) if former else (None, NEW))
        if state(path) == NEW:  # only the cleaning failed, or nothing did
            make(path, FORMER, overwrite=True)
            if not former:
                for name in os.listdir(path):
                    os.unlink(path / name)
                path.rmdir()
        left = {name for name in os.listdir(tmp_path) if name.startswith(".")}
        assert left <= {".data.skimlearn-new", ".data.skimlearn-old"}
    assert failed > 30
    make(path, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["data", "other"]


@needs_fork
@pytest.mark.parametrize("former", [False, True])
def test_a_kill_at_any_step_leaves_all_or_nothing(tmp_path, former):
    path = str(tmp_path / "data")
    with Steps(None) as steps:
        make(path, FORMER)
        make(path, overwrite=True)
    last = steps.count // 2 + 20
    killed, step = True, 1
    while killed and step < last:
        if former:
            make(path, FORMER, overwrite=True)
        elif os.path.exists(path):
            for name in os.listdir(path):
                os.unlink(os.path.join(path, name))
            os.rmdir(path)
        killed = killed_at_step(path, step, overwrite=former)
        assert check_after_kill(path, former) is None, step
        step += 4
    assert step > 30


@needs_fork
def test_a_kill_at_any_time_leaves_all_or_nothing(tmp_path):
    rng = np.random.default_rng(0)
    path = str(tmp_path / "data")
    for _ in range(6):
        make(path, FORMER, overwrite=True)
        killed_after(path, 0.1 * rng.random(), rows=300, overwrite=True)
        assert check_after_kill(path, True) is None


def test_a_replacement_that_was_cut_off_loses_nothing(tmp_path, path):
    make(path, FORMER)
    os.rename(path, tmp_path / ".data.skimlearn-old")  # killed between two renamings
    assert open_store(path).shape[1] == FORMER
    with pytest.raises(StoreError, match="exists already"):
        make(path)
    assert state(path) == FORMER
    assert os.listdir(tmp_path) == ["data"]


def test_a_second_writer_is_told_to_wait(tmp_path, path):
    begun, go_on = threading.Event(), threading.Event()

    def slow():
        for block in data(NEW):
            yield block
            begun.set()
            go_on.wait(20)

    writer = threading.Thread(target=lambda: Store.create(path, slow()))
    writer.start()
    assert begun.wait(20)
    with pytest.raises(StoreError, match="another process is writing it: wait for its end"):
        make(path)
    code = (
        "import sys, numpy as np\nfrom skimlearn import Store\nStore.create(sys.argv[1], np.eye(2))"
    )
    other = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(other, capture_output=True, text=True, check=False)
    assert "another process is writing it" in done.stderr
    go_on.set()
    writer.join()
    assert state(path) == NEW
    assert os.listdir(tmp_path) == ["data"]


def test_a_source_that_fails_leaves_nothing(tmp_path, path):
    def broken():
        yield from data(NEW)
        raise RuntimeError("the network is gone")

    def impatient(_stage, _done):
        raise KeyboardInterrupt

    with pytest.raises(RuntimeError, match="the network is gone"):
        Store.create(path, broken())
    with pytest.raises(KeyboardInterrupt):
        Store.create(path, data(NEW), progress=impatient)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="whoever may do anything may write anywhere"
)
def test_a_folder_that_is_not_writable(tmp_path, path):
    make(path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            make(tmp_path / "other")
        assert state(path) == NEW
    finally:
        tmp_path.chmod(0o700)


# ------------------------------------------------------------------------------------------ memory

LIMITED = """
import resource, sys, time
import numpy as np, scipy.sparse as sp
from skimlearn import LinearClassifier, Store, open_store

def blocks(count, rows=2000):
    rng = np.random.default_rng(0)
    w = rng.normal(size=2000)
    starts = np.arange(rows + 1) * 100
    for _ in range(count):
        columns = (20 * np.arange(100) + rng.integers(20, size=(rows, 100))).ravel()
        X = sp.csr_matrix((rng.normal(size=rows * 100), columns, starts), shape=(rows, 2000))
        yield X, np.where(X @ w > 0, 1, -1)

def model():
    return LinearClassifier(alpha=1e-6, solver="auto", max_epochs=4, tol=1e-9, random_state=0)

import warnings
warnings.simplefilter("ignore")
small = Store.create(sys.argv[1] + "/small", blocks(3), memory=2**16)
model().fit(small).score(small, small.y)
data = next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmData"))
resource.setrlimit(resource.RLIMIT_DATA, (1024 * data + 60_000_000, -1))
try:
    np.ones(10_000_000)
    print("no limit")
except MemoryError:
    pass
began = time.perf_counter()
store = Store.create(sys.argv[1] + "/large", blocks(75), memory=2**24)
size = sum(a.nbytes for name, a in store._arrays.items() if name.startswith("row_"))
made = time.perf_counter() - began
fitted = model().fit(store)
print(size > 3 * 59_000_000, fitted.score(store, store.y) > 0.97, made, time.perf_counter() - began)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs RLIMIT_DATA")
def test_a_store_of_three_times_the_memory_is_made_and_learned_from(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["True", "True"], done.stdout
