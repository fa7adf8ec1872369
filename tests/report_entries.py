"""Models and results with known figures, for the tests of reports. Nothing is fitted."""

import numpy as np

from skimlearn.data.ledger import Reads
from skimlearn.estimators.weights import classifier_of, regressor_of
from skimlearn.result import Certificate, Record, Result, Status

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\"&amp;"


def history(factor=1.0):
    """Checks at which the gap falls by the factor of ten, the first without a bound."""
    records = [Record(1.0, 0.001, 100, 2.0, -np.inf)]
    for k in range(1, 6):
        gap = factor * 10.0**-k
        records.append(Record(2.0**k, 0.01 * 2.0**k, 100 * 2**k, 1.0 + gap / 2, 1.0 - gap / 2))
    return records


def result(x=(1.0, -2.0, 0.0), **options):
    """A result with that history."""
    records = options.pop("history", history())
    last = records[-1] if records else Record(0.0, 0.0, 0, np.nan, -np.inf)
    given = {
        "x": np.array(x, dtype=np.float64),
        "bias": 0.5,
        "p": np.zeros(4),
        "certificate": Certificate(last.primal, last.dual),
        "reads": Reads(5000, 3200, 700),
        "seconds": 0.4,
        "epochs": 32.0,
        "status": Status.CONVERGED,
        "history": records,
        "solver": "dual",
    }
    return Result(**{**given, **options})


def classifier(classes=("ham", "spam"), d=3, seed=0, loss="log", histories=None):
    """A classifier of normal weights, as if it had been learned."""
    rng = np.random.default_rng(seed)
    count = 1 if len(classes) == 2 else len(classes)
    model = classifier_of(
        rng.normal(size=(count, d)), rng.normal(size=count), sorted(classes), loss=loss
    )
    given = histories or [history()] * count
    found = [result(w, history=h) for w, h in zip(model.coef_, given, strict=True)]
    model._keep(found)
    return model


def regressor(d=3, seed=0):
    """A regressor of normal weights."""
    model = regressor_of(np.random.default_rng(seed).normal(size=d), 0.5)
    model._keep([result(model.coef_)])
    return model


def rows(model, n=200, noise=1.0, seed=0):
    """Rows, and targets that the model predicts well, but not all of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, model.n_features_in_))
    if not hasattr(model, "classes_"):
        return X, model.predict(X) + noise * rng.normal(size=n)
    y = model.predict(X)
    wrong = rng.random(n) < 0.1
    return X, np.where(wrong, rng.permutation(y), y)
