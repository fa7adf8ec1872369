"""A peer of `cluster.py`, in an environment of its own: KIND FOLDER ALPHA SECONDS.

The rows are in FOLDER, as blocks part-K.npz and labels.npz, and as text rows-K.svm. A line of JSON
on standard output for each number of iterations, once the weights (the bias last) are in w.npy; it
goes on, with about twice as many iterations, when a line comes in, unless all fits together would
then take more than so many seconds.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

warnings.filterwarnings("ignore")
RUNGS = (1, 2, 5, 10, 20, 40, 80, 160, 320, 640, 1280)
QUIET = {"dashboard_address": ":0", "silence_logs": 50}


def blocks(folder):
    labels = np.load(folder / "labels.npz")
    return [
        (sp.load_npz(folder / f"part-{k}.npz").tocsr(), labels[f"part-{k}"])
        for k in range(len(labels.files))
    ]


def spark(folder, alpha):
    """LinearSVC, local[2]: mean hinge loss + regParam / 2 ||w||^2, a free bias, by OWL-QN."""
    from pyspark.ml.classification import LinearSVC
    from pyspark.sql import SparkSession

    width = sp.load_npz(folder / "part-0.npz").shape[1]
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "8g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    reader = session.read.format("libsvm").option("numFeatures", str(width))
    frame = reader.load(str(folder / "rows-*.svm")).repartition(4).cache()
    frame.count()

    def fit(iterations):
        began = time.perf_counter()
        options = {"standardization": False, "aggregationDepth": 2, "tol": 1e-9}
        model = LinearSVC(maxIter=iterations, regParam=alpha, **options).fit(frame)
        seconds = time.perf_counter() - began
        return model.coefficients.toArray(), model.intercept, seconds

    fit(1)  # so that code is loaded
    return fit


def dask_logistic(folder, alpha):
    """LogisticRegression of dask-ml by L-BFGS, dense blocks, 2 workers."""
    import dask
    import dask.array as da
    from dask_ml.linear_model import LogisticRegression

    pairs = blocks(folder)
    n = sum(len(y) for _, y in pairs)
    rows = da.concatenate([da.from_array(X.toarray(), chunks=X.shape) for X, _ in pairs])
    targets = da.concatenate([da.from_array((y > 0).astype(int), chunks=len(y)) for _, y in pairs])
    rows, targets = dask.persist(rows, targets)

    def fit(iterations):
        began = time.perf_counter()
        options = {"solver": "lbfgs", "C": 1 / (alpha * n), "tol": 1e-9}
        model = LogisticRegression(max_iter=iterations, **options).fit(rows, targets)
        seconds = time.perf_counter() - began
        return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), seconds

    fit(1)
    return fit


def dask_incremental(folder, alpha):
    """Incremental of dask-ml around scikit-learn's averaged SGD, 2 workers; an epoch a time."""
    import dask
    import dask.array as da
    from dask_ml.wrappers import Incremental
    from sklearn.linear_model import SGDClassifier

    pairs = blocks(folder)
    empty = sp.csr_matrix((0, 0))
    lazy = [da.from_delayed(dask.delayed(X), shape=X.shape, meta=empty) for X, _ in pairs]
    rows = dask.persist(da.concatenate(lazy))[0]
    targets = da.concatenate([da.from_array(y, chunks=len(y)) for _, y in pairs])
    steps = SGDClassifier(loss="hinge", alpha=alpha, average=True, random_state=0)
    Incremental(steps).partial_fit(rows, targets, classes=[-1, 1])
    model = Incremental(steps)
    done, used = 0, 0.0

    def fit(iterations):
        nonlocal done, used
        began = time.perf_counter()
        for _ in range(iterations - done):
            model.partial_fit(rows, targets, classes=[-1, 1])
        done, used = iterations, used + time.perf_counter() - began
        return model.estimator_.coef_[0], float(model.estimator_.intercept_[0]), used

    return fit


def serve(fit, folder, limit):
    used = 0.0
    for k, iterations in enumerate(RUNGS):
        began = time.perf_counter()
        w, b, seconds = fit(iterations)
        last = time.perf_counter() - began
        np.save(folder / "w.npy", np.append(w, b))
        print(json.dumps({"iterations": iterations, "seconds": seconds}), flush=True)
        used += last
        grown = RUNGS[min(k + 1, len(RUNGS) - 1)] / iterations
        if used + grown * last > limit or not sys.stdin.readline():
            return


def main():
    kind, folder, alpha, limit = sys.argv[1], Path(sys.argv[2]), *map(float, sys.argv[3:])
    if kind == "spark":
        serve(spark(folder, alpha), folder, limit)
        return
    from dask.distributed import Client, LocalCluster

    made = {"logistic": dask_logistic, "incremental": dask_incremental}[kind]
    with LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as cluster, Client(cluster):
        serve(made(folder, alpha), folder, limit)


if __name__ == "__main__":
    main()
