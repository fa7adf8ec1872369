"""The problems of the race: name -> rows to learn from, rows to test on, a kind of target.

Bundled or made ones (spam, sparse, dense, wide, clicks, line) are always there; others come from a
folder of data sets that has a module ``loaders`` (see README.md of the benchmarks). Rows are CSR or
dense, of float64; labels are -1 and +1, class numbers from 0 on, or numbers of deviation 1. Nothing
is learned from a test row. A problem is prepared once and kept on disk as plain arrays.
"""

import importlib.util
import json
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

CLASSIFY, REGRESS = ("hinge", "log", "squared"), ("squared", "absolute", "huber")
PARTS = ("X", "X_test")


@dataclass(frozen=True)
class Problem:
    """Rows, targets, and what a peer may want to know beforehand."""

    name: str
    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray
    classes: int  # 0: numbers, 2: labels -1 and +1, more: class numbers

    @property
    def losses(self):
        return CLASSIFY if self.classes else REGRESS

    @property
    def stored(self):
        return self.X.nnz if sp.issparse(self.X) else self.X.size

    @property
    def norm2(self):
        """The mean squared length of a row."""
        values = self.X.data if sp.issparse(self.X) else self.X.ravel()
        return float(values @ values) / self.X.shape[0]

    @property
    def digest(self):
        """A checksum of all that is learned from: the same name with other data is another key."""
        arrays = _arrays(self)
        check = 0
        for key in sorted(arrays):
            check = zlib.crc32(np.ascontiguousarray(arrays[key]).view(np.uint8).data, check)
        return f"{check:08x}"


# ---------------------------------------------------------------------------------- made or bundled


def _spam(_):
    from skimlearn.datasets import load_spam

    X, y = load_spam()
    return _split("spam", X, y, 0.25)


def _sparse(_, n=6000, d=20_000, words=60, seed=0):
    """Rows of Zipf-distributed words, a sparse teacher, a tenth of the labels flipped."""
    rng = np.random.default_rng(seed)
    columns = np.minimum(d * rng.random((n, words)) ** 3, d - 1).astype(np.int32)
    values = 1.0 + rng.random((n, words))
    X = sp.csr_matrix((values.ravel(), columns.ravel(), np.arange(0, n * words + 1, words)), (n, d))
    X.sum_duplicates()
    y = np.sign(_unit(X) @ rng.normal(size=d))
    y[rng.random(n) < 0.1] *= -1.0
    return _split("sparse", _unit(X), np.where(y > 0, 1.0, -1.0), 0.25)


def _dense(_, n=20_000, d=100, seed=0):
    """Correlated columns of different scales, and a teacher with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (rng.normal(size=(d, d)) / np.sqrt(d)) * np.geomspace(1, 0.1, d)
    z = X @ rng.normal(size=d)
    return _split("dense", X, np.where(z + 0.3 * z.std() * rng.normal(size=n) > 0, 1.0, -1.0), 0.25)


def _line(_, n=20_000, d=50, seed=0):
    """A regression with a few gross outliers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(1, 0.1, d)
    y = X @ rng.normal(size=d) + 0.5 * rng.standard_t(2.5, size=n)
    return _split("line", X, y, 0.25, classes=0)


def _wide(_, n=600, d=12_000, factors=40, seed=0):
    """Far more columns than rows, moved by some common factors, as activities of genes are."""
    rng = np.random.default_rng(seed)
    known = rng.normal(size=(n, factors)) * np.geomspace(1.0, 0.1, factors)
    X = known @ rng.normal(size=(factors, d)) + 0.3 * rng.normal(size=(n, d))
    X /= np.sqrt(d)
    z = X @ rng.normal(size=d)
    return _split("wide", X, np.where(z + 0.3 * z.std() * rng.normal(size=n) > 0, 1.0, -1.0), 0.25)


def _clicks(_, n=200_000, fields=12, levels=500, seed=0):
    """Rows of one-hot blocks, some levels far more frequent than others, a sparse teacher."""
    rng = np.random.default_rng(seed)
    level = np.minimum(levels * rng.random((n, fields)) ** 3, levels - 1).astype(np.int32)
    columns = level + levels * np.arange(fields, dtype=np.int32)
    shape, ends = (n, fields * levels), np.arange(0, n * fields + 1, fields)
    X = sp.csr_matrix((np.ones(n * fields), columns.ravel(), ends), shape)
    z = X @ rng.normal(size=fields * levels)
    noise = 0.5 * z.std() * rng.logistic(size=n)
    return _split("clicks", X, np.where(z + noise > z.mean(), 1.0, -1.0), 0.25)


def _tiny(loaders):
    """For tests of the race itself."""
    problem = _dense(loaders, n=400, d=8)
    return _made("tiny", problem.X, problem.y, problem.X_test, problem.y_test, 2)


# ------------------------------------------------------------------------------------ from a folder


def _text(name, file, train=None):
    def load(loaders):
        X, y = loaders.svm_xz(_find(loaders, file))
        return (
            _split(name, loaders.l2(X), y, 0.3)
            if train is None
            else _head(name, loaders.l2(X), y, train)
        )

    return load


def _imdb_bigrams(loaders):
    _find(loaders, "imdb/imdb_reviews.tsv.xz")
    texts = loaders.imdb_text()
    X = loaders.vectorize([t[3] for t in texts], (1, 2), min_df=2, binary=True)
    return _head("imdb-bigrams", loaders.l2(X), np.array([float(t[1]) for t in texts]), 25_000)


def _small(name, train, test=None, classes=2):
    def load(loaders):
        X, y = loaders.svm_xz(_find(loaders, f"small/{train}.svm.xz"))
        if test is None:
            return _split(name, X, y, 0.2, classes=classes)
        d = X.shape[1]
        X_test, y_test = loaders.svm_xz(_find(loaders, f"small/{test}.svm.xz"), n_features=d)
        return _made(name, X, y, X_test, y_test, classes)

    return load


def _news20(loaders):
    X, y = loaders.svm_xz(_find(loaders, "small/news20-multiclass.svm.xz"))
    return _split("news20", loaders.l2(X), y, 0.2, classes=20)


def _covtype(loaders):
    _find(loaders, "covtype/covtype.npz.xz")
    X, y = loaders.covtype()
    X = X.astype(np.float64)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return _split("covtype", X, y, 0.2)


def _mnist(loaders):
    _find(loaders, "mnist/mnist.npz.xz")
    X, y, X_test, y_test = loaders.mnist()
    return _made("mnist", X / 255.0, y, X_test / 255.0, y_test, 10)


def _flights(loaders):
    X, y = loaders.svm_xz(_find(loaders, "nycflights/nycflights_arrdelay.svm.xz"))
    return _split("nycflights", X, y, 0.2, classes=0)


MADE = {
    "spam": _spam,
    "sparse": _sparse,
    "dense": _dense,
    "wide": _wide,
    "clicks": _clicks,
    "line": _line,
    "tiny": _tiny,
}
STORED = {
    "imdb": _text("imdb", "imdb/imdb_unigram.svm.xz", 25_000),
    "imdb-bigrams": _imdb_bigrams,
    "debian": _text("debian", "debian-packages/debian_unigram.svm.xz"),
    "20news": _text("20news", "20news/20news_bin_bigram.svm.xz", 11_314),
    "a9a": _small("a9a", "a9a", "a9a.t"),
    "w8a": _small("w8a", "w8a"),
    "ijcnn1": _small("ijcnn1", "ijcnn1-train", "ijcnn1-test"),
    "covtype": _covtype,
    "mnist": _mnist,
    "nycflights": _flights,
    "news20": _news20,
}
NAMES = (*MADE, *STORED)
STANDARD = tuple(name for name in NAMES if name != "tiny")


# ------------------------------------------------------------------------------------------- pieces


def _find(loaders, file):
    path = Path(loaders.__file__).parent / file
    if not path.exists():
        raise FileNotFoundError(f"{file} is not in the data folder")
    return str(path)


def _unit(X):
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.diags(1.0 / np.maximum(norms, 1e-300)) @ X


def _head(name, X, y, train):
    """The first rows to learn from, in a random order: some peers take them as they come."""
    order = np.random.default_rng(0).permutation(train)
    return _made(name, X[:train][order], y[:train][order], X[train:], y[train:], 2)


def _split(name, X, y, tests, classes=2, seed=0):
    order = np.random.default_rng(seed).permutation(X.shape[0])
    test, train = np.split(order, [round(tests * X.shape[0])])
    return _made(name, X[train], y[train], X[test], y[test], classes)


def _made(name, X, y, X_test, y_test, classes):
    """One form for all: float64, plain CSR or C order, targets by kind."""
    X, X_test = (
        sp.csr_matrix(Z, dtype=np.float64)
        if sp.issparse(Z)
        else np.ascontiguousarray(Z, dtype=np.float64)
        for Z in (X, X_test)
    )
    y, y_test = np.asarray(y, dtype=np.float64), np.asarray(y_test, dtype=np.float64)
    if classes == 0:
        mean, deviation = y.mean(), y.std()
        y, y_test = (y - mean) / deviation, (y_test - mean) / deviation
    elif classes == 2:
        y, y_test = (np.where(v > 0, 1.0, -1.0) for v in (y, y_test))
    else:
        values = np.unique(y)
        y, y_test = (np.searchsorted(values, v).astype(np.float64) for v in (y, y_test))
    return Problem(name, X, y, X_test, y_test, classes)


def import_loaders(folder):
    """The module ``loaders`` of a data folder; None without a folder."""
    if folder is None:
        return None
    spec = importlib.util.spec_from_file_location("race_loaders", Path(folder) / "loaders.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ------------------------------------------------------------------------------------------ on disk


def _arrays(problem):
    arrays = {"y": problem.y, "y_test": problem.y_test}
    for part in PARTS:
        X = getattr(problem, part)
        if sp.issparse(X):
            arrays |= {f"{part}.{key}": getattr(X, key) for key in ("data", "indices", "indptr")}
        else:
            arrays[part] = X
    return arrays


def prepare(name, data, cache):
    """The folder with the arrays of a problem; made if it is not there."""
    folder = Path(cache) / "problems" / name
    if not (folder / "meta.json").exists():
        if name not in MADE and data is None:
            raise FileNotFoundError("needs --data FOLDER")
        problem = {**MADE, **STORED}[name](None if name in MADE else import_loaders(data))
        folder.mkdir(parents=True, exist_ok=True)
        for key, array in _arrays(problem).items():
            np.save(folder / f"{key}.npy", array)
        meta = {
            "classes": problem.classes,
            "shapes": [list(getattr(problem, part).shape) for part in PARTS],
            "sparse": sp.issparse(problem.X),
            "stored": int(problem.stored),
            "norm2": problem.norm2,
            "digest": problem.digest,
            "losses": problem.losses,
        }
        (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def meta_of(folder):
    return json.loads((Path(folder) / "meta.json").read_text())


def load(folder):
    """The problem of a folder, its arrays in memory, as those of a user are."""
    folder = Path(folder)
    meta = meta_of(folder)

    def array(key):
        return np.load(folder / f"{key}.npy")

    matrices = [
        sp.csr_matrix(tuple(array(f"{part}.{key}") for key in ("data", "indices", "indptr")), shape)
        if meta["sparse"]
        else array(part)
        for part, shape in zip(PARTS, meta["shapes"], strict=True)
    ]
    X, X_test = matrices
    return Problem(folder.name, X, array("y"), X_test, array("y_test"), meta["classes"])
