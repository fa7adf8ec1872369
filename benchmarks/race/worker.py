"""A process of one peer on one problem: it answers requests, a line of JSON each.

    python -m race.worker PEER FOLDER LOSS THREADS      (requests on standard input)

    {"do": "fit", "alpha": ..., "setting": {...}, "seed": ...}
        -> {"wall": ..., "cpu": ..., "objective": ..., "error": ...}
    {"do": "reference", "alpha": ..., "seconds": ...}
        -> {"objective": ..., "gap": ..., "error": ...}

The clock runs from the arrays to the weights, so it includes whatever form a peer wants them in.
Errors are of test rows: the share of wrong labels, or of the variance that is not explained.
"""

import json
import os
import sys


def _pin():
    """To the cores named, before any library starts its threads."""
    cores = os.environ.get("RACE_CORES")
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core) for core in cores.split(",")})


def _own_output():
    """Standard output for answers alone: what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def losses(loss, z, y):
    import numpy as np

    if loss == "hinge":
        return np.maximum(0.0, 1.0 - y * z)
    if loss == "squared_hinge":
        return 0.5 * np.maximum(0.0, 1.0 - y * z) ** 2
    if loss == "log":
        return np.logaddexp(0.0, -y * z)
    r = np.abs(z - y)
    if loss == "squared":
        return 0.5 * r * r
    if loss == "absolute":
        return r
    return np.where(r <= 1.0, 0.5 * r * r, r - 0.5)  # Huber's, delta = 1


def judge(problem, loss, alpha, w):
    """The objective (the mean over the classes) and the test error of weights, (d,) or (k, d)."""
    import numpy as np

    w = np.atleast_2d(np.asarray(w, dtype=np.float64))
    z, z_test = np.asarray(problem.X @ w.T), np.asarray(problem.X_test @ w.T)
    if problem.classes > 2:
        targets = np.where(problem.y[:, None] == np.arange(problem.classes), 1.0, -1.0)
        error = np.mean(np.argmax(z_test, axis=1) != problem.y_test)
    else:
        targets = problem.y[:, None]
        if problem.classes:
            error = np.mean(problem.y_test * z_test[:, 0] <= 0.0)
        else:
            error = np.mean((problem.y_test - z_test[:, 0]) ** 2) / np.var(problem.y_test)
    objective = alpha / 2 * np.mean(np.sum(w * w, axis=1)) + np.mean(losses(loss, z, targets))
    return {"objective": float(objective), "error": float(error)}


class Worker:
    def __init__(self, peer, folder, loss, threads):
        from race import peers, problems

        self.peer = peers.table()[peer]
        self.problem = problems.load(folder)
        self.loss, self.threads = loss, threads
        self.meta = problems.meta_of(folder)

    def task(self, alpha):
        from race.peers import Task

        return Task.of(self.meta, self.loss, alpha, self.threads)

    def learn(self, task, setting, seed):
        """The weights, as an array or with a method ``weights`` that fetches them later."""
        X, y = self.problem.X, self.problem.y
        if self.problem.classes <= 2 or self.peer.many:
            return [self.peer.fit(X, y, task, setting, seed)]
        import numpy as np

        labels = (np.where(y == k, 1.0, -1.0) for k in range(self.problem.classes))
        return [self.peer.fit(X, part, task, setting, seed) for part in labels]

    def fit(self, alpha, setting, seed):
        import time

        import numpy as np

        task = self.task(alpha)
        cpu, wall = time.process_time(), time.perf_counter()
        found = self.learn(task, setting, seed)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        more = {"converted": sum(w.converted for w in found)} if _later(found[0]) else {}
        w = np.concatenate([np.atleast_2d(w.weights() if _later(w) else w) for w in found])
        return {"wall": wall, "cpu": cpu, **judge(self.problem, self.loss, alpha, w), **more}

    def warm_up(self, alpha):
        """Compile, import, read: what a first fit pays and no later one."""
        task = self.task(alpha)
        if self.peer.warm_up is not None:
            self.peer.warm_up(self.problem.X, self.problem.y, task)
        else:
            self.fit(alpha, self.peer.ladders(task)[0][0], 0)

    def reference(self, alpha, seconds):
        from race import fits_skim

        X, y = self.problem.X, self.problem.y
        objective, gap, w = fits_skim.reference(X, y, self.task(alpha), seconds)
        judged = judge(self.problem, self.loss, alpha, w)
        return {**judged, "certified": objective, "gap": gap}


def _later(w):
    return hasattr(w, "weights")


def versions():
    from importlib import metadata

    packages = sorted((d.metadata["Name"] or "", d.version) for d in metadata.distributions())
    return {"python": sys.version.split()[0], **dict(packages)}


def main():
    _pin()
    answers = _own_output()
    import importlib
    import warnings

    warnings.simplefilter("ignore")
    name, folder, loss, threads = sys.argv[1:]

    def answer(**what):
        answers.write(json.dumps(what) + "\n")

    try:
        worker = Worker(name, folder, loss, int(threads))
        importlib.import_module(worker.peer.module)
    except Exception as error:
        answer(failed=f"{type(error).__name__}: {error}")
        return
    answer(ready=True, versions=versions())
    for line in sys.stdin:
        request = json.loads(line)
        do = request.pop("do")
        try:
            answer(**(getattr(worker, do)(**request) or {}))
        except Exception as error:
            answer(failed=f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
