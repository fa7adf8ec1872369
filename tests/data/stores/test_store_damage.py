"""Damaged and hostile stores are refused before a kernel sees them."""

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import (
    EnclosingBall,
    LinearClassifier,
    Store,
    StoreError,
    SublinearSVC,
    open_store,
)
from skimlearn.data import _store_check, _store_format
from skimlearn.data.columns import as_matrix
from skimlearn.data.inspection import as_rows
from store_examples import array, labels, poke, rewrite, sparse
from store_files import check as check_broken
from store_files import make_stores, mutate


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """The files of some stores, and a folder for what is made of them."""
    folder = tmp_path_factory.mktemp("stores")
    return make_stores(folder), tmp_path_factory.mktemp("broken")


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
    monkeypatch.setattr(
        "skimlearn.data._store_arrays.inspected", lambda lines: read.append(lines) or ""
    )
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
