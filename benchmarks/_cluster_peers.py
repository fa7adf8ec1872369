"""One fit of a peer of `cluster.py`, in an environment of its own: KIND FOLDER ALPHA ITERATIONS."""

import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

warnings.filterwarnings("ignore")


def spark(X, y, alpha, iterations):
    """LinearSVC, local[2]: mean hinge loss + regParam / 2 ||w||^2, a free bias, by OWL-QN."""
    from pyspark.ml.classification import LinearSVC
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    rows = [
        (float(t > 0), Vectors.sparse(X.shape[1], X[i].indices.tolist(), X[i].data.tolist()))
        for i, t in enumerate(y)
    ]
    frame = session.createDataFrame(rows, ["label", "features"]).repartition(4).cache()
    frame.count()
    began = time.perf_counter()
    model = LinearSVC(
        maxIter=iterations, regParam=alpha, tol=1e-9, standardization=False, aggregationDepth=2
    ).fit(frame)
    seconds = time.perf_counter() - began
    return np.append(model.coefficients.toArray(), model.intercept), seconds


def daskml(X, y, alpha, iterations, kind):
    import dask
    import dask.array as da
    from dask.distributed import Client, LocalCluster

    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as cluster, Client(cluster):
        n = X.shape[0]
        size = -(-n // 4)
        parts = [X[k : k + size] for k in range(0, n, size)]
        if kind == "daskml-log":
            from dask_ml.linear_model import LogisticRegression

            rows = da.concatenate([da.from_array(p.toarray(), chunks=p.shape) for p in parts])
            targets = da.from_array((y > 0).astype(int), chunks=size)
            rows, targets = dask.persist(rows, targets)
            began = time.perf_counter()
            model = LogisticRegression(
                solver="lbfgs", C=1 / (alpha * n), max_iter=iterations, tol=1e-9
            ).fit(rows, targets)
            coef, bias = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
        else:
            from dask_ml.wrappers import Incremental
            from sklearn.linear_model import SGDClassifier

            rows = da.concatenate(
                [
                    da.from_delayed(dask.delayed(p), shape=p.shape, meta=sp.csr_matrix((0, 0)))
                    for p in parts
                ]
            )
            targets = da.from_array(y, chunks=size)
            began = time.perf_counter()
            model = Incremental(
                SGDClassifier(loss="hinge", alpha=alpha, average=True, random_state=0)
            )
            for _ in range(iterations):
                model.partial_fit(rows, targets, classes=[-1, 1])
            fitted = model.estimator_
            coef, bias = fitted.coef_[0], float(fitted.intercept_[0])
        return np.append(coef, bias), time.perf_counter() - began


def main():
    kind, folder, alpha, iterations = sys.argv[1:]
    X, y = sp.load_npz(f"{folder}/X.npz").tocsr(), np.load(f"{folder}/y.npy")
    if kind == "spark-svc":
        w, seconds = spark(X, y, float(alpha), int(iterations))
    else:
        w, seconds = daskml(X, y, float(alpha), int(iterations), kind)
    np.save(f"{folder}/w.npy", w)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
