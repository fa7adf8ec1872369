"""The problems that reads are counted on: two made ones, and data sets from a folder.

Rows have length 1. Nothing is learned from a test row, and no bias is learned by any solver.
"""

import lzma
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize

from skimlearn.data.columns import as_matrix
from skimlearn.problem import make_problem


@dataclass
class Task:
    """Rows to learn from, rows to test on (in groups, of which the worst counts)."""

    name: str
    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray
    groups: np.ndarray | None = None
    truth: np.ndarray | None = None  # the labels of the test rows before any were flipped

    @property
    def stored(self):
        return self.X.nnz if sp.issparse(self.X) else self.X.size

    @cached_property
    def matrix(self):
        """By row and by column; ``matrix.seconds`` says what the second form took."""
        return as_matrix(self.X)

    @cached_property
    def by_rows(self):
        return make_problem(self.X, self.y, loss="hinge", alpha=1.0, bias="none")

    def rows_problem(self, alpha):
        return self.by_rows.with_alpha(alpha)

    def errors(self, answers):
        """The test error of each answer (a column); of the worst group, if there are groups."""
        wrong = self.y_test[:, None] * (self.X_test @ answers.astype(self.X_test.dtype)) <= 0.0
        if self.groups is None:
            return wrong.mean(axis=0)
        return np.max([wrong[self.groups == g].mean(axis=0) for g in (0, 1)], axis=0)


def rare_task(n, d, rare, *, margin=0.3, tests=1000, seed=0):
    """Most rows have a margin along one direction; one in ``rare`` has it along another.

    The rest of a row is noise. The test rows are half of each kind, and the error is that of the
    worse half: a solver that never finds out about the rare rows errs on half of them.
    """
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(d, 2)))[0].T.astype(np.float32)

    def make(groups):
        X = rng.standard_normal((len(groups), d), dtype=np.float32)
        y = np.where(rng.random(len(groups)) < 0.5, -1.0, 1.0)
        for start in range(0, len(X), 1000):
            part = X[start : start + 1000]
            part -= (part @ directions.T) @ directions
            part *= np.sqrt(1.0 - margin**2) / np.linalg.norm(part, axis=1, keepdims=True)
            signs = margin * y[start : start + 1000, None].astype(np.float32)
            part += signs * directions[groups[start : start + 1000]]
        return X, y

    groups = np.zeros(n, dtype=np.int64)
    groups[rng.permutation(n)[: max(1, round(n / rare))]] = 1
    X, y = make(groups)
    halves = np.arange(tests) % 2
    X_test, y_test = make(halves)
    return Task(f"rare, 1 in {rare}", X, y, X_test, y_test, halves)


def sparse_rare_task(n, d, rare, density, *, margin=0.3, words=64, tests=1000, seed=0):
    """The same with sparse rows: each kind has words of its own, and the noise has few columns."""
    rng = np.random.default_rng(seed)
    noise = round(density * d)

    def make(groups):
        y = np.where(rng.random(len(groups)) < 0.5, -1.0, 1.0)
        signs = np.where(np.arange(words) % 2 == 0, 1.0, -1.0)
        signal = y[:, None] * signs * margin / np.sqrt(words)
        rest = rng.normal(size=(len(groups), noise))
        rest *= np.sqrt(1.0 - margin**2) / np.linalg.norm(rest, axis=1, keepdims=True)
        others = 2 * words + np.stack(
            [rng.choice(d - 2 * words, noise, replace=False) for _ in range(len(groups))]
        )
        columns = np.concatenate([words * groups[:, None] + np.arange(words), others], axis=1)
        values = np.concatenate([signal, rest], axis=1)
        starts = np.arange(0, columns.size + 1, columns.shape[1])
        X = sp.csr_array((values.ravel(), columns.ravel(), starts), shape=(len(groups), d))
        X.sort_indices()
        return X, y

    groups = np.zeros(n, dtype=np.int64)
    groups[rng.permutation(n)[: max(1, round(n / rare))]] = 1
    X, y = make(groups)
    halves = np.arange(tests) % 2
    X_test, y_test = make(halves)
    return Task(f"rare, 1 in {rare}, density {density:g}", X, y, X_test, y_test, halves)


def teacher_task(n, d, norm, flipped, *, noise=100, tests=2000, seed=0):
    """A teacher of length ``norm`` has margin 1; a part of the labels, also in test, is flipped.

    The rest of a row lies in a space of ``noise`` dimensions, turned so that all columns show it:
    noise in all of d dimensions would cancel out, and one row would do.
    """
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, noise + 1)))[0].T.astype(np.float32)
    y = np.where(rng.random(n + tests) < 0.5, -1.0, 1.0)
    rest = rng.standard_normal((n + tests, noise), dtype=np.float32)
    rest *= np.sqrt(1.0 - norm**-2.0) / np.linalg.norm(rest, axis=1, keepdims=True)
    X = rest @ basis[1:] + (y / norm).astype(np.float32)[:, None] * basis[0]
    truth = y[n:].copy()
    y[rng.random(n + tests) < flipped] *= -1.0
    return Task(f"teacher, {flipped:.0%} flipped", X[:n], y[:n], X[n:], y[n:], truth=truth)


# ------------------------------------------------------------------------------------- real data


def real_tasks(folder, *, most_rows, quick):
    """Name and maker of each data set; a maker fails with OSError where its file is missing."""
    small = folder / "small"
    sets = {
        "gisette": lambda: _dense(small / "gisette-test.svm.xz", 0.3),
        "arcene": lambda: _dense(small / "arcene.svm.xz", 0.4),
        "duke": lambda: _dense(small / "duke-breast-cancer.svm.xz", 0.4),
        "colon": lambda: _dense(small / "colon-cancer.svm.xz", 0.4),
        "leukemia": lambda: _leukemia(small),
        "mnist 3, 8": lambda: _digits(folder, 3, 8, most_rows),
        "mnist 4, 9": lambda: _digits(folder, 4, 9, most_rows),
        "20news": lambda: _text(folder / "20news/20news_bin_bigram.svm.xz", most_rows),
        "debian": lambda: _text(folder / "debian-packages/debian_unigram.svm.xz", most_rows),
        "imdb": lambda: _text(folder / "imdb/imdb_unigram.svm.xz", most_rows),
    }
    if quick:
        sets = {name: sets[name] for name in ("arcene", "colon", "leukemia")}
    return sets


def _read(path, most=None, seed=0):
    """Rows and labels; if there are more than so many, a random part of them."""
    with lzma.open(path, "rb") as file:
        if most is None:
            return load_svmlight_file(file)
        lines = file.readlines()
    chosen = np.random.default_rng(seed).permutation(len(lines))[:most]
    return load_svmlight_file(BytesIO(b"".join(lines[i] for i in chosen)))


def _standard(name, X, y, X_test, y_test):
    """Columns of mean 0 and deviation 1 over the rows learned from, then rows of length 1."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0.0] = np.inf
    X, X_test = (normalize((Z - mean) / deviation) for Z in (X, X_test))
    return Task(name, X, y, X_test, y_test)


def _dense(path, tests, seed=0):
    X, y = _read(path)
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = np.split(order, [round(tests * len(y))])
    X = X.toarray()
    return _standard(path.name.split(".")[0], X[train], y[train], X[test], y[test])


def _leukemia(folder):
    parts = [_read(folder / f"leukemia-{part}.svm.xz") for part in ("train", "test")]
    (X, y), (X_test, y_test) = ((X.toarray(), y) for X, y in parts)
    return _standard("leukemia", X, y, X_test, y_test)


def _digits(folder, one, other, most_rows):
    with lzma.open(folder / "mnist" / "mnist.npz.xz", "rb") as file:
        parts = dict(np.load(BytesIO(file.read())))
    pieces = []
    for part in ("train", "test"):
        X, y = parts[f"X_{part}"], parts[f"y_{part}"]
        chosen = np.flatnonzero((y == one) | (y == other))[:most_rows]
        pieces += [normalize(X[chosen].astype(np.float32)), np.where(y[chosen] == one, -1.0, 1.0)]
    return Task(f"mnist {one}, {other}", *pieces)


def _text(path, most_rows):
    return text_task(path, most_rows, tests=most_rows // 4, least=5)


def text_task(path, train, *, tests=None, least=1):
    """Counts to tf-idf; columns with fewer rows to learn from than ``least`` are dropped.

    So many rows to learn from and to test on, drawn at random; None: all others are for tests.
    """
    X, y = _read(path, 10**9 if tests is None else train + tests)
    counts = X[:train]
    known = np.bincount(counts.indices, minlength=X.shape[1]) >= least
    weigh = TfidfTransformer(sublinear_tf=True).fit(counts[:, known])
    rows, others = (sp.csr_array(weigh.transform(Z[:, known])) for Z in (counts, X[train:]))
    return Task(path.name.split("_")[0], rows, y[:train], others, y[train:])
