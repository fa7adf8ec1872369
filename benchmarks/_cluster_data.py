"""The problems of `cluster.py`: what is learned, and how much of it."""

import sys

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

ROWS, ENTRIES, BITS, STORES = 10_000_000, 10, 16, 8
ALPHA = {"imdb": 1e-4, "debian": 1e-4, "covtype": 1e-4, "made": 1e-4, "dense": 1e-3}


def load(name, folder, quick=False):
    """Rows in a random order, and labels -1 and +1."""
    rng = np.random.default_rng(0)
    if name == "dense":
        X = rng.standard_normal((5_000 if quick else 200_000, 30))
        return X, np.where(X @ rng.standard_normal(30) + 2 * rng.standard_normal(len(X)) > 0, 1, -1)
    sys.path.insert(0, str(folder))
    import loaders

    if name == "covtype":
        X, y = loaders.covtype()
        X = X.toarray() if sp.issparse(X) else np.asarray(X)
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9) / np.sqrt(X.shape[1])
    else:
        if name == "imdb":
            texts = loaders.imdb_text()[:25_000]
            X = loaders.vectorize([t[-1] for t in texts], ngram=(1, 2), min_df=3)
            y = np.array([t[1] for t in texts])
        else:
            X, y = loaders.debian(ngram=(1, 2), min_df=2)
        X = normalize(sp.csr_matrix(X)).astype(np.float32)
    y = np.where(y == np.max(y), 1, -1)
    order = rng.permutation(X.shape[0])
    return X[order], y[order]


def block(k, rows):
    """A block of the generated set: few features are common, and one row in ten is mislabelled."""
    rng = np.random.default_rng([1, k])
    columns = (rng.random((rows, ENTRIES)) ** 3 * 2**BITS).astype(np.int32)
    columns.sort(axis=1)
    hidden = np.random.default_rng(2).standard_normal(2**BITS)
    y = np.where(hidden[columns].sum(axis=1) > 0, 1, -1)
    y[rng.random(rows) < 0.1] *= -1
    values = np.full(columns.size, 1 / np.sqrt(ENTRIES), dtype=np.float32)
    starts = np.arange(0, columns.size + 1, ENTRIES)
    X = sp.csr_matrix((values, columns.ravel(), starts), shape=(rows, 2**BITS))
    X.sum_duplicates()
    return X, y


def make(folder, rows):
    """Write the generated set, unless it is there; its stores."""
    from skimlearn import Store

    folder = folder / f"rows-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(STORES):
        path = folder / f"part-{k}"
        if not path.exists():
            share = rows // STORES
            step = min(share, 250_000)
            blocks = (block(k * 1000 + j, step) for j in range(share // step))
            Store.create(path, blocks, n_features=2**BITS, dtype=np.float32)
    return folder


def parts(X, y):
    """The rows as blocks: of the stores of a folder, or four of a matrix."""
    if not isinstance(X, (np.ndarray, sp.csr_matrix)):
        from skimlearn import open_store

        stores = [open_store(path) for path in sorted(X.iterdir())]
        return [(sp.csr_matrix(store[:]), np.asarray(store.y)) for store in stores]
    size = -(-X.shape[0] // 4)
    return [(X[k : k + size], y[k : k + size]) for k in range(0, X.shape[0], size)]


def objective(blocks, w, b, loss, alpha):
    """alpha / 2 ||w||^2 + the mean loss, whoever found (w, b)."""
    total, n = 0.0, 0
    for X, y in blocks:
        z = (X @ w + b) * y
        total += float((np.maximum(0, 1 - z) if loss == "hinge" else np.logaddexp(0, -z)).sum())
        n += len(y)
    return 0.5 * alpha * float(w @ w) + total / n
