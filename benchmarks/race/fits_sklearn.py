"""scikit-learn, and Intel's extension of it."""

from race.peers import Peer, doublings, tolerances

EVER = 1_000_000  # iterations: the tolerance stops, or the time limit
SGD_LOSS = {
    "hinge": {"loss": "hinge"},
    "log": {"loss": "log_loss"},
    "squared": {"loss": "squared_error"},
    "absolute": {"loss": "epsilon_insensitive", "epsilon": 0.0},
    "huber": {"loss": "huber", "epsilon": 1.0},
}


def _fit_sgd(X, y, task, setting, seed):
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    labels = task.loss in ("hinge", "log")
    jobs = {"n_jobs": task.threads} if labels else {}
    model = (SGDClassifier if labels else SGDRegressor)(
        alpha=task.alpha, fit_intercept=False, tol=None, random_state=seed,
        **SGD_LOSS[task.loss], **jobs, **setting,
    )  # fmt: skip
    return model.fit(X, y).coef_


def _sgd_ladders(task):
    """The schedule of theory, plain and averaged, and a slower one of two lengths, averaged."""
    schedules = [{}, {"average": True}] if task.loss in ("hinge", "log") else []
    schedules += [
        {"learning_rate": "invscaling", "eta0": scale / task.norm2, "average": True}
        for scale in (0.1, 1.0)
    ]
    return [[{**s, "max_iter": k} for k in doublings(512)] for s in schedules]


def _fit_linear_svc(X, y, task, setting, seed):
    from sklearn.svm import LinearSVC

    C = task.C / 2 if task.loss == "squared_hinge" else task.C
    model = LinearSVC(
        loss=task.loss, C=C, fit_intercept=False, max_iter=EVER, random_state=seed, **setting
    )
    return model.fit(X, y).coef_


def _linear_svc_ladders(task):
    forms = [True] if task.loss == "hinge" else [True, False]
    return [[{"dual": dual, "tol": tol} for tol in tolerances(10, 1e-6)] for dual in forms]


def _fit_linear_svr(X, y, task, setting, seed):
    from sklearn.svm import LinearSVR

    squared = task.loss == "squared"
    model = LinearSVR(
        epsilon=0.0, C=task.C / 2 if squared else task.C, fit_intercept=False, max_iter=EVER,
        loss="squared_epsilon_insensitive" if squared else "epsilon_insensitive",
        dual=True, random_state=seed, **setting,
    )  # fmt: skip
    return model.fit(X, y).coef_


def _svr_ladders(task):
    return [[{"tol": tol} for tol in tolerances(10, 1e-6)]]


def _fit_logistic(X, y, task, setting, seed):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=task.C, fit_intercept=False, random_state=seed, **setting)
    return model.fit(X, y).coef_


def _logistic_ladders(solver):
    def ladders(task):
        if solver == "liblinear":
            grid = tolerances(10, 1e-6)
            return [
                [{"solver": solver, "dual": dual, "tol": t, "max_iter": EVER} for t in grid]
                for dual in (True, False)
            ]
        counts = doublings(64) if solver.startswith("newton") else doublings(1024, 2)
        return [[{"solver": solver, "tol": 1e-12, "max_iter": k} for k in counts]]

    return ladders


def _fit_ridge(X, y, task, setting, seed):
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=task.alpha * task.n, fit_intercept=False, random_state=seed, **setting)
    return model.fit(X, y).coef_


def _ridge_ladders(solver):
    def ladders(task):
        if solver == "cholesky":
            return [[{"solver": solver}]]
        if solver in ("sag", "saga"):
            return [[{"solver": solver, "tol": 1e-12, "max_iter": k} for k in doublings(1024)]]
        return [[{"solver": solver, "tol": t, "max_iter": EVER} for t in tolerances(0.3, 1e-8)]]

    return ladders


def _few_columns(most):
    def refuses(task):
        return f"makes a {task.d} x {task.d} matrix" if task.d > most else None

    return refuses


def _fit_intel_logistic(X, y, task, setting, seed):
    from sklearnex.linear_model import LogisticRegression

    return LogisticRegression(C=task.C, fit_intercept=False, **setting).fit(X, y).coef_


def _fit_intel_ridge(X, y, task, setting, seed):
    from sklearnex.linear_model import Ridge

    return Ridge(alpha=task.alpha * task.n, fit_intercept=False, **setting).fit(X, y).coef_


def _peer(name, losses, ladders, fit, **more):
    return Peer(f"sklearn-{name}", "scikit-learn", "sklearn", losses, ladders, fit, **more)


def _intel(name, losses, ladders, fit, **more):
    return Peer(
        f"intelex-{name}", "scikit-learn-intelex", "sklearnex", losses, ladders, fit,
        environment="intelex", **more,
    )  # fmt: skip


def _only_dense(task):
    return "falls back to scikit-learn for sparse rows" if task.sparse else None


PEERS = [
    _peer("sgd", tuple(SGD_LOSS), _sgd_ladders, _fit_sgd),
    _peer("linearsvc", ("hinge", "squared_hinge"), _linear_svc_ladders, _fit_linear_svc, many=True),
    _peer("linearsvr", ("squared", "absolute"), _svr_ladders, _fit_linear_svr),
    *(
        _peer(f"logistic-{s}", ("log",), _logistic_ladders(s), _fit_logistic)
        for s in ("liblinear", "lbfgs", "newton-cg", "sag", "saga")
    ),
    _peer(
        "logistic-newton-cholesky",
        ("log",),
        _logistic_ladders("newton-cholesky"),
        _fit_logistic,
        refuses=_few_columns(3000),
    ),
    *(
        _peer(f"ridge-{s}", ("squared",), _ridge_ladders(s), _fit_ridge)
        for s in ("sparse_cg", "lsqr", "sag", "saga")
    ),
    _peer(
        "ridge-cholesky",
        ("squared",),
        _ridge_ladders("cholesky"),
        _fit_ridge,
        refuses=_few_columns(5000),
    ),
    _intel(
        "logistic", ("log",), _logistic_ladders("lbfgs"), _fit_intel_logistic, refuses=_only_dense
    ),
    _intel("ridge", ("squared",), lambda task: [[{}]], _fit_intel_ridge, refuses=_only_dense),
]
