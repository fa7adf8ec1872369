"""Data for stores, whether they come back, and stores made to do harm."""

import json
from unittest import mock

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from skimlearn.data import _store_format
from skimlearn.data.rows import Csr, Dense


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


def rewrite(path, change):
    """Change the manifest, and its digest with it."""
    content = json.loads((path / "manifest.json").read_text())
    change(content)
    content["digest"] = _store_format._digest(content)
    (path / "manifest.json").write_text(json.dumps(content))


def array(name, **changes):
    return lambda content: content["arrays"][name].update(changes)


def poke(path, name, at, value):
    """Overwrite one number, and make the manifest agree with it: a store made to do harm."""
    values = np.load(path / f"{name}.npy", mmap_mode="r+")
    values[at] = value
    values.flush()
    del values
    digest = _store_format.digest_of_file(path, name)
    rewrite(path, array(name, digest=digest))
