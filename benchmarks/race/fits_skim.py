"""Our own entries: the default solver over tolerances and epochs, and single solvers beside it."""

import numpy as np
import scipy.sparse as sp

from race.peers import ALL, Peer, doublings, tolerances


def _model(task, seed, **settings):
    from skimlearn import LinearClassifier, LinearRegressor

    cls = LinearClassifier if task.classes else LinearRegressor
    jobs = {"n_jobs": task.threads} if task.classes else {}
    common = {"alpha": task.alpha, "bias": "none", "random_state": seed, "verbose": False}
    return cls(task.loss, **common, **jobs, **settings)


def _fit(X, y, task, setting, seed):
    return _model(task, seed, **setting).fit(X, y).coef_


def _by_gap(solver):
    def ladders(task):
        return [[{"solver": solver, "tol": tol, "max_epochs": None} for tol in GAPS]]

    return ladders


def _by_epochs(solver, most=256):
    def ladders(task):
        return [[{"solver": solver, "tol": None, "max_epochs": k} for k in doublings(most)]]

    return ladders


def _by_gap_or_epochs(solver):
    def ladders(task):
        return _by_gap(solver)(task) + _by_epochs(solver, most=16)(task)

    return ladders


GAPS = tolerances(0.3, 1e-5)


def _warm_up(solver):
    """All stages of a solver, so that none is compiled or loaded within a measurement."""

    def warm_up(X, y, task):
        _model(task, 0, solver=solver, tol=None, max_epochs=2).fit(X, y)
        if solver == "auto":
            _model(task, 0, tol=0.3, max_epochs=None, max_seconds=2.0).fit(X, y)
            # few rows and columns: Newton's method
            part = X[:: max(1, task.n // 2000)]
            columns = np.argsort(np.diff(sp.csc_matrix(part).indptr), kind="stable")[-5:]
            few = part[:, columns] if task.sparse else np.ascontiguousarray(part[:, columns])
            _model(task, 0).fit(few, y[:: max(1, task.n // 2000)])

    return warm_up


def reference(X, y, task, seconds):
    """The optimum, its certified relative gap, and weights: (objective, gap, w)."""
    model = _model(task, 0, solver="auto", tol=1e-8, max_epochs=None, max_seconds=seconds)
    certificate = model.fit(X, y).result_.certificate
    rows = len(model.coef_) if np.ndim(model.coef_) > 1 else 1
    return certificate.primal / rows, certificate.relative_gap, model.coef_


def _peer(name, solver, ladders):
    how = {"many": True, "warm_up": _warm_up(solver)}
    return Peer(name, "skimlearn", "skimlearn", ALL, ladders(solver), _fit, **how)


PEERS = [
    _peer("skimlearn", "auto", _by_gap_or_epochs),
    _peer("skimlearn-dual", "dual", _by_gap),
    _peer("skimlearn-asgd", "asgd", _by_epochs),
    _peer("skimlearn-sgd", "sgd", _by_epochs),
    _peer("skimlearn-pegasos", "pegasos", _by_epochs),
]
