"""Stores of every kind, and ways to break them."""

import hashlib
import json
import warnings
from unittest import mock

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from model_files import mutate_bytes, mutate_tree
from skimlearn import (
    EnclosingBall,
    LinearClassifier,
    LinearRegressor,
    Store,
    StoreError,
    SublinearSVC,
    open_store,
)
from skimlearn.data import _store_check, _store_format

ODD_NUMBERS = (0, 1, -1, 2**31 - 1, -(2**31), 2**40, 2**62, -(2**62), np.nan, np.inf, 1e300)


def make_stores(folder):
    """The files of some small stores, by name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.5)
    signs = np.where(X[:, 0] + 0.1 * rng.normal(size=30) > 0, 1, -1)
    names = [f"f{j} é" for j in range(6)]
    Store.create(folder / "a", sp.csr_matrix(X), np.where(signs > 0, "ja", "nein"), names=names)
    Store.create(folder / "b", sp.csr_matrix(X.astype(np.float32)), X[:, 1])
    Store.create(folder / "c", X, signs, names=names)
    Store.create(folder / "d", X.astype(np.float32))
    return [
        {file.name: file.read_bytes() for file in sorted((folder / name).iterdir())}
        for name in "abcd"
    ]


def mutate(rng, files):
    """Files of a store with some changes: of the manifest, of numbers, or of any bytes."""
    files = dict(files)
    arrays = [name for name in files if name.endswith(".npy")]
    for _ in range(rng.integers(1, 4)):
        name = arrays[rng.integers(len(arrays))]
        kind = rng.random()
        if kind < 0.3:
            files[name] = _mutate_numbers(rng, files[name])
        elif kind < 0.45:
            files[name] = mutate_bytes(rng, files[name])
        elif kind < 0.5:
            files[name] = files[arrays[rng.integers(len(arrays))]]
        elif kind < 0.9:
            files["manifest.json"] = _mutate_manifest(rng, files["manifest.json"])
        else:
            files["manifest.json"] = mutate_bytes(rng, files["manifest.json"])
    return _agreeing(files) if rng.random() < 0.8 else files


def _mutate_numbers(rng, data):
    """A number behind the header is another one."""
    found = bytearray(data)
    width = int(rng.choice([4, 8]))
    places = (len(found) - 128) // width
    if places <= 0:
        return data
    at = 128 + width * int(rng.integers(places))
    value = ODD_NUMBERS[rng.integers(len(ODD_NUMBERS))]
    kind = f"<{rng.choice(['i', 'f'])}{width}"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found[at : at + width] = np.array([value]).astype(kind).tobytes()
    return bytes(found)


def _mutate_manifest(rng, text):
    try:
        content = json.loads(text)
        mutate_tree(rng, content)
        return json.dumps(content).encode()
    except (ValueError, TypeError, AttributeError, RecursionError):
        return text


def _agreeing(files):
    """The same, with a manifest whose sizes and digests are those of the files."""
    try:
        content = json.loads(files["manifest.json"])
        for name, entry in content["arrays"].items():
            data = files.get(f"{name}.npy", b"")
            entry["size"] = len(data)
            entry["digest"] = _digest(data)
        content["digest"] = _store_format._digest(content)
        return {**files, "manifest.json": json.dumps(content).encode()}
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return files


def _digest(data):
    return hashlib.blake2b(data[128:] + data[:128], digest_size=16).hexdigest()


def check(folder, files):
    """None if a store of these files is refused, or can be used; else what is wrong."""
    for old in folder.iterdir():
        old.unlink()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    _store_check._known.clear()
    with mock.patch.object(_store_check, "_mark", return_value=None), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("ignore", kind)
        try:
            store = open_store(folder)
            use(store)
        except StoreError:
            return None
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None


def use(store):
    """All that is done with a store; errors of users' data are fine, others are not."""
    whole = True
    try:
        store.verify()
    except StoreError:
        whole = False
    X = store[:5]
    assert X.shape[1] == store.shape[1]
    y = store.y
    try:
        if y is None:
            EnclosingBall(max_reads=5000, random_state=0).fit(store).predict(store)
        elif y.dtype.kind == "f":
            LinearRegressor(max_epochs=2, random_state=0).fit(store).predict(store)
        else:
            LinearClassifier(max_epochs=2, random_state=0).fit(store).predict(store)
            SublinearSVC(nu=0.5, eps=0.5, max_reads=5000, random_state=0).fit(store).predict(store)
    except StoreError:
        assert not whole, "it was verified, but not used"
    except ValueError as error:
        words = ("only one class", "scale the", "too long", "at least two", "y contains")
        if not any(word in str(error) for word in words):
            raise
