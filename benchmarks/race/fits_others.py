"""snapml, cyanure, skglm, celer, ReHLine and river."""

import numpy as np
import scipy.sparse as sp

from race.peers import ALL, Peer, dense_up_to, doublings, tolerances

# ------------------------------------------------------------------------------------------- snapml


def _fit_snapml(X, y, task, setting, seed):
    import snapml

    common = {
        "regularizer": task.alpha * task.n, "fit_intercept": False, "n_jobs": task.threads,
        "random_state": seed, "tol": 1e-12, **setting,
    }  # fmt: skip
    if task.loss == "hinge" or task.loss == "squared_hinge":
        model = snapml.SupportVectorMachine(loss=task.loss, **common)
    elif task.loss == "log":
        model = snapml.LogisticRegression(**common)
    else:
        model = snapml.LinearRegression(**common)
    return model.fit(X, y).coef_


def _snapml_ladders(task):
    forms = [{}] if "hinge" in task.loss else [{"dual": True}, {"dual": False}]
    return [[{**form, "max_iter": k} for k in doublings(1024)] for form in forms]


# ------------------------------------------------------------------------------------------ cyanure

CYANURE = {"log": "logistic", "squared_hinge": "sqhinge", "squared": "square"}


def _fit_cyanure(X, y, task, setting, seed):
    from cyanure import estimators

    common = {
        "penalty": "l2", "lambda_1": task.alpha, "fit_intercept": False, "verbose": False,
        "n_threads": task.threads, "random_state": seed, "max_iter": 100_000, **setting,
    }  # fmt: skip
    if task.loss == "squared":
        model = estimators.Regression(**common)
    else:
        model = estimators.Classifier(loss=CYANURE[task.loss], **common)
    return np.ravel(model.fit(X, y).coef_)


def _cyanure_ladders(task):
    solvers = ("auto", "qning-miso", "catalyst-svrg")
    return [[{"solver": s, "tol": t} for t in tolerances(0.3, 1e-6)] for s in solvers]


# -------------------------------------------------------------------------------------------- skglm


def _fit_skglm(X, y, task, setting, seed):
    from skglm import LinearSVC, datafits, penalties, solvers

    if task.loss == "hinge":
        return LinearSVC(C=task.C, fit_intercept=False, **setting).fit(X, y).coef_
    X = sp.csc_matrix(X) if sp.issparse(X) else np.asfortranarray(X)
    datafit = {
        "log": datafits.Logistic,
        "squared": datafits.Quadratic,
        "huber": lambda: datafits.Huber(1.0),
    }[task.loss]()
    if "max_iter" in setting:
        solver, penalty = solvers.LBFGS(**setting), penalties.L2(task.alpha)
    else:
        penalty = penalties.L1_plus_L2(task.alpha, 0.0)
        solver = solvers.AndersonCD(
            fit_intercept=False,
            max_iter=1000,
            max_epochs=100_000,
            ws_strategy="fixpoint",
            **setting,
        )
    return solver.solve(X, y, datafit, penalty)[0]


def _skglm_ladders(task):
    if task.loss == "hinge":
        return [[{"tol": t, "max_iter": 1000} for t in tolerances(1, 1e-6)]]
    if task.loss == "log":
        return [[{"tol": 1e-14, "max_iter": k} for k in doublings(1024, 2)]]
    return [[{"tol": t} for t in tolerances(0.1, 1e-8)]]


# ------------------------------------------------------------------------------------------ ReHLine


def _fit_rehline(X, y, task, setting, seed):
    from rehline import plqERM_Ridge

    loss = {
        "hinge": {"name": "svm"},
        "absolute": {"name": "QR", "qt": 0.5},
        "huber": {"name": "huber", "tau": 1.0},
    }[task.loss]
    C = 2.0 * task.C if task.loss == "absolute" else task.C
    model = plqERM_Ridge(loss=loss, C=C, max_iter=1_000_000, coordinate_seed=seed, **setting)
    model.fit(X=np.ascontiguousarray(X.toarray() if sp.issparse(X) else X), y=y)
    return model.coef_


# -------------------------------------------------------------------------------------------- river


def _fit_river(X, y, task, setting, seed):
    from river import linear_model, optim

    optimizer = optim.SGD(setting["rate"] / task.norm2)
    common = {"optimizer": optimizer, "l2": task.alpha, "intercept_lr": 0.0}
    if task.loss in ("hinge", "log"):
        loss = optim.losses.Hinge() if task.loss == "hinge" else optim.losses.Log()
        model = linear_model.LogisticRegression(loss=loss, **common)
        y = y > 0
    else:
        losses = {"absolute": optim.losses.Absolute, "huber": optim.losses.Huber}
        loss = losses.get(task.loss, optim.losses.Squared)()
        model = linear_model.LinearRegression(loss=loss, **common)
    if sp.issparse(X):
        parts = np.split(X.indices, X.indptr[1:-1]), np.split(X.data, X.indptr[1:-1])
        rows = [dict(zip(c.tolist(), v.tolist(), strict=True)) for c, v in zip(*parts, strict=True)]
    else:
        rows = [dict(enumerate(row)) for row in X.tolist()]
    rng = np.random.default_rng(seed)
    targets = y.tolist()
    for _ in range(setting["passes"]):
        for i in rng.permutation(task.n):
            model.learn_one(rows[i], targets[i])
    w = np.zeros(task.d)
    for column, value in model.weights.items():
        w[column] = value
    return w


def _river_ladders(task):
    return [[{"rate": r, "passes": k} for k in doublings(16)] for r in (0.03, 0.3, 3.0)]


def _river_refuses(task):
    if task.stored > 2_000_000:
        return "learns row by row in Python: left out above 2,000,000 entries"
    return None


# -------------------------------------------------------------------------------------------- celer


def _l1_only(task):
    return "has l1 penalties only"


def _peer(name, losses, ladders, fit, module=None, **more):
    return Peer(name, name, module or name, losses, ladders, fit, **more)


PEERS = [
    _peer(
        "snapml", ("hinge", "squared_hinge", "log", "squared"), _snapml_ladders, _fit_snapml
    ),
    _peer("cyanure", tuple(CYANURE), _cyanure_ladders, _fit_cyanure),
    _peer("skglm", ("hinge", "log", "squared", "huber"), _skglm_ladders, _fit_skglm),
    _peer("celer", ALL, None, None, refuses=_l1_only),  # named, never run
    _peer(
        "rehline", ("hinge", "absolute", "huber"),
        lambda task: [[{"tol": t} for t in tolerances(1, 1e-6)]], _fit_rehline,
        refuses=dense_up_to(10**8),
    ),
    _peer(
        "river", ("hinge", "log", "squared", "absolute", "huber"), _river_ladders, _fit_river,
        refuses=_river_refuses,
    ),
]  # fmt: skip
