"""What stores are made from: files of several kinds, blocks, other stores."""

import bz2
import gzip
import lzma
import os

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from skimlearn import (
    Store,
    StoreError,
    open_store,
    write_svmlight,
)
from store_examples import check_same, labels, sparse, tiny_memory
from store_faults import (
    NEW,
    data,
)


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
        ([(np.ones((1, 2)), ["a"]), (np.ones((1, 2)), [1])], {}, "strings, of others numbers"),
        ([(np.ones((1, 2)), [1]), (np.ones((1, 2)), ["a"])], {}, "numbers, of others strings"),
        ([(np.ones((2, 2)), [b"a", b"b"])], {}, "encode classes as numbers"),
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
