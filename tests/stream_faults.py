"""A stream that is killed in the middle, and taken up again."""

import os
import signal

import numpy as np
import scipy.sparse as sp

from skimlearn import LinearClassifier, LinearRegressor
from store_faults import in_child

D = 30


def blocks(seed, count, rows=40, classes=2):
    """Sparse blocks of several sizes, generated on the fly; the targets are classes or numbers."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(D, max(classes, 1)))
    for _ in range(count):
        n = int(rng.integers(1, 2 * rows))
        X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.3)
        z = X @ w + 0.1 * rng.normal(size=(n, w.shape[1]))
        y = z[:, 0] if classes == 0 else z.argmax(axis=1) if classes > 2 else (z[:, 0] > 0) * 1
        yield sp.csr_array(X), y


def make(parameters, classes):
    """A model for the blocks."""
    kind = LinearRegressor if classes == 0 else LinearClassifier
    return kind(**{"alpha": 1e-2, "random_state": 3, **parameters})


def learn(model, source, classes, **options):
    """Let it learn from a source of blocks."""
    if classes:
        options["classes"] = range(classes)
    return model.fit_stream(source, **options)


def killed(parameters, seed, count, classes, path, at, every):
    """Learn in a process that is killed when block number ``at`` is asked for."""

    def source():
        for k, block in enumerate(blocks(seed, count, classes=classes)):
            if k == at:
                os.kill(os.getpid(), signal.SIGKILL)
            yield block

    def work():
        learn(make(parameters, classes), source(), classes, checkpoint=path, every=every,
              resume=True)  # fmt: skip

    return os.WIFSIGNALED(os.waitpid(in_child(work), 0)[1])


def state(model):
    """All that a model has learned, as one vector."""
    parts = [np.ravel(model.coef_), np.ravel(model.intercept_)]
    for record in model.result_.history:
        parts.append([record.rows, record.loss, record.error, record.mean_error, record.reads])
    return np.concatenate([*parts, [model.n_rows_seen_, model.result_.reads.nnz]])
