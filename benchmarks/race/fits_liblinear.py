"""liblinear by its own Python interface, of one core and of many; building its problem counts."""

import numpy as np
import scipy.sparse as sp

from race.peers import Peer, tolerances

# loss: (solvers, factor of C, other options)
SOLVERS = {
    "hinge": ((3,), 1.0, ""),
    "squared_hinge": ((1, 2), 0.5, ""),
    "log": ((7, 0), 1.0, ""),
    "squared": ((12, 11), 0.5, "-p 0"),
    "absolute": ((13,), 1.0, "-p 0"),
}


def _fit(X, y, task, setting, seed):
    from liblinear.liblinearutil import problem, train

    threads = f"-m {task.threads}" if setting.get("multicore") else ""
    _, factor, more = SOLVERS[task.loss]
    options = (
        f"-s {setting['s']} -c {factor * task.C!r} -e {setting['e']} -B -1 -q {more} {threads}"
    )
    model = train(problem(y, X if sp.issparse(X) else sp.csr_matrix(X)), options.strip())
    wide = model.nr_class if model.nr_class > 2 else 1
    w = np.ctypeslib.as_array(model.w, (model.nr_feature * wide,)).reshape(-1, wide).T.copy()
    if task.classes and task.loss in ("hinge", "squared_hinge", "log"):
        labels = model.get_labels()
        if wide > 1:
            w = w[np.argsort(labels)]
        elif labels[0] < labels[1]:
            w = -w
    if w.shape[1] < task.d:  # columns at the end that have no entry
        w = np.pad(w, ((0, 0), (0, task.d - w.shape[1])))
    return w


def _ladders(multicore):
    def ladders(task):
        more = {"multicore": True} if multicore else {}
        return [
            [{"s": s, "e": e, **more} for e in tolerances(10, 1e-6)] for s in SOLVERS[task.loss][0]
        ]

    return ladders


def _native(task):
    """Ridge on many classes has no one-against-the-rest of its own."""
    return "learns numbers, not classes, by this loss" if _is_ridge_of_classes(task) else None


def _is_ridge_of_classes(task):
    return task.classes > 2 and task.loss in ("squared", "absolute")


PEERS = [
    Peer(
        "liblinear", "liblinear-official", "liblinear.liblinearutil", tuple(SOLVERS),
        _ladders(False), _fit, many=True, refuses=_native,
    ),
    Peer(
        "liblinear-multicore", "liblinear-multicore", "liblinear.liblinearutil", tuple(SOLVERS),
        _ladders(True), _fit, environment="multicore", many=True, refuses=_native,
    ),
]  # fmt: skip
