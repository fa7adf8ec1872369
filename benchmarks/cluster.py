"""Time to a certified gap on a Dask cluster of processes, by 1, 2 and 4 workers, beside others.

    python benchmarks/cluster.py --data FOLDER [--only imdb debian made dense] [--workers 1 2 4]
    python benchmarks/cluster.py --constants    # of the model in docs/scale.md
    python benchmarks/cluster.py --data FOLDER --peers PYTHON    # one with dask-ml and pyspark

"imdb" and "debian" are counts of words and of pairs of words, of length 1, read by the module
`loaders` of FOLDER; "made" are ten million rows of ten features out of 2^16, generated once into a
folder of stores (--stores, 2 GB); "dense" are 200,000 rows of 30 columns. Rows are dealt out to 4
partitions (8 stores for "made"), whatever the number of workers, so that the lines of a table are
the same computation. Every cluster learns from a few rows before the clock starts, so that machine
code is loaded.

Columns: seconds until the gap is at most 1e-3 of the objective, without and with the time to get
the rows to the workers; rounds; megabytes moved per round, to all workers and back.

With --peers others minimise the same objective, with more and more iterations until their
objective, which we compute, is within 1e-3 of the optimum.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

warnings.filterwarnings("ignore")
PARTS, ROWS, ENTRIES, BITS = 4, 10_000_000, 10, 16
ALPHA = {"imdb": 1e-4, "debian": 1e-4, "made": 1e-4, "dense": 1e-3}


def load(name, folder):
    """Rows in a random order, and labels -1 and +1."""
    rng = np.random.default_rng(0)
    if name == "dense":
        X = rng.standard_normal((200_000, 30))
        return X, np.where(X @ rng.standard_normal(30) + 2 * rng.standard_normal(len(X)) > 0, 1, -1)
    sys.path.insert(0, str(folder))
    import loaders

    if name == "imdb":
        texts = loaders.imdb_text()[:25_000]
        X = loaders.vectorize([t[-1] for t in texts], ngram=(1, 2), min_df=3)
        y = np.array([t[1] for t in texts])
        y = np.where(y == y.max(), 1, -1)
    else:
        X, y = loaders.debian(ngram=(1, 2), min_df=2)
    X = normalize(sp.csr_matrix(X)).astype(np.float32)
    order = rng.permutation(X.shape[0])
    return X[order], y[order]


def block(k, rows):
    """A block of the generated set: few features are common, and one row in ten is mislabelled."""
    rng = np.random.default_rng([1, k])
    columns = (rng.random((rows, ENTRIES)) ** 3 * 2**BITS).astype(np.int32)
    columns.sort(axis=1)
    hidden = np.random.default_rng(2).standard_normal(2**BITS)
    y = np.where(hidden[columns].sum(axis=1) > 0, 1, -1)
    y[rng.random(rows) < 0.1] *= -1
    values = np.full(columns.size, 1 / np.sqrt(ENTRIES), dtype=np.float32)
    starts = np.arange(0, columns.size + 1, ENTRIES)
    X = sp.csr_matrix((values, columns.ravel(), starts), shape=(rows, 2**BITS))
    X.sum_duplicates()
    return X, y


def make(folder, rows, stores=8):
    """Write the generated set, unless it is there."""
    from skimlearn import Store

    folder.mkdir(parents=True, exist_ok=True)
    for k in range(stores):
        path = folder / f"part-{k}"
        if not path.exists():
            share = rows // stores
            step = min(share, 250_000)
            blocks = (block(k * 1000 + j, step) for j in range(share // step))
            Store.create(path, blocks, n_features=2**BITS, dtype=np.float32)


def ours(name, X, y, workers, loss):
    from dask.distributed import Client, LocalCluster

    from skimlearn.distributed import DaskLinearClassifier

    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, **quiet) as cluster,
        Client(cluster) as client,
    ):
        few = np.random.default_rng(0).standard_normal((64, 4))
        warm = few if isinstance(X, np.ndarray) else sp.csr_matrix(few.astype(np.float32))
        small = DaskLinearClassifier(loss, alpha=0.1, partitions=2 * workers, max_epochs=4)
        small.fit(warm, np.sign(few[:, 0]))
        client.run(lambda: None)
        began = time.perf_counter()
        model = DaskLinearClassifier(loss, alpha=ALPHA[name], random_state=0, max_epochs=3000)
        if not isinstance(X, Path):
            model.set_params(partitions=PARTS)
        model.fit(X, y)
        total = time.perf_counter() - began
        result = model.result_
    rounds = len(result.history) - 1
    return {
        "seconds": result.seconds, "total": total, "rounds": rounds,
        "gap": result.certificate.relative_gap, "primal": result.certificate.primal,
        "mb": result.history[-1].moved / max(rounds, 1) / 1e6,
    }  # fmt: skip


def constants():
    """What the model of docs/scale.md is made of."""
    from dask.distributed import Client, LocalCluster

    from skimlearn.distributed import _pieces, _team, cocoa
    from skimlearn.formulas import losses, regularizers

    X, y = block(0, 250_000)
    piece = _pieces.piece_of(0, X, y, None, labels=True)
    spec = _pieces.Spec(
        losses.resolve("hinge", labels=True), regularizers.resolve(2.0, None), 1e-4, "none", len(y),
        X.shape[1], 1.0, 0.0, 1,
    )  # fmt: skip
    method = cocoa.Ascent(_team.Serial([piece]), spec, 0, epochs=1)
    method.advance()
    times = []
    for work in (method.advance, method.check):
        began = time.process_time()
        for _ in range(3):
            work()
        times.append((time.process_time() - began) / 3 / X.nnz * 1e9)
    print(f"an epoch: {times[0]:.1f} ns per entry; a check: {times[1]:.1f} ns (processor time)")
    quiet = {"dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, **quiet) as c, Client(c) as client:
        few = [
            client.submit(_pieces.piece_of, k, X[:10], y[:10], None, labels=True) for k in range(8)
        ]
        team = _team.Cluster(client, few)
        for name, size in (("a task of nothing", 1), ("a vector of 8 MB", 1_000_000)):
            times = []
            for _ in range(8):
                began = time.perf_counter()
                shared = team.share("x", np.ones(size))
                team.total(team.each("y", _answer, x=shared), pairs=False)
                times.append(time.perf_counter() - began)
            print(f"{name} to 2 workers, and the sum of 8 of it back: {min(times) * 1e3:.0f} ms")


def _answer(piece, x):
    from skimlearn.distributed._parcel import Parcel

    return Parcel.of(x)


def objective(X, y, w, b, loss, alpha):
    z = (X @ w + b) * y
    values = np.maximum(0, 1 - z) if loss == "hinge" else np.logaddexp(0, -z)
    return 0.5 * alpha * w @ w + values.mean()


def peers(python, name, X, y):
    """What the others need to come within 1e-3 of the optimum."""
    from skimlearn import LinearClassifier

    with tempfile.TemporaryDirectory() as folder:
        sp.save_npz(f"{folder}/X.npz", sp.csr_matrix(X))
        np.save(f"{folder}/y.npy", y)
        for kind in ("spark-svc", "daskml-sgd", "daskml-log"):
            loss = "log" if kind == "daskml-log" else "hinge"
            if kind == "daskml-log" and X.shape[1] > 1000:
                print(f"| {name} | {kind} | takes no sparse blocks | | |")
                continue
            best = LinearClassifier(loss, alpha=ALPHA[name], tol=1e-5).fit(X, y).result_
            best = best.certificate.primal
            for iterations in (5, 20, 80, 320):
                there = Path(__file__).with_name("_cluster_peers.py")
                command = [python, there, kind, folder, str(ALPHA[name]), str(iterations)]
                try:
                    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
                except subprocess.TimeoutExpired:
                    print(f"| {name} | {kind} | {iterations} | more than 240 s | |", flush=True)
                    break
                if done.returncode:
                    print(f"| {name} | {kind} | failed: {done.stderr.strip()[-80:]} | | |")
                    break
                answer = json.loads(done.stdout.strip().splitlines()[-1])
                w = np.load(f"{folder}/w.npy")
                value = objective(X, y, w[:-1], w[-1], loss, ALPHA[name]) / best - 1
                print(
                    f"| {name} | {kind} | {iterations} | {answer['seconds']:.1f} | {value:.1e} |",
                    flush=True,
                )
                if value <= 1e-3:
                    break


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("."))
    parser.add_argument("--stores", type=Path, default=Path(tempfile.gettempdir()) / "skim-made")
    parser.add_argument("--only", nargs="*", default=["imdb", "debian", "made", "dense"])
    parser.add_argument("--workers", nargs="*", type=int, default=[1, 2, 4])
    parser.add_argument("--loss", nargs="*", default=["hinge", "log"])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--peers", help="an interpreter that has dask-ml and pyspark")
    parser.add_argument("--constants", action="store_true", help="of the model in docs/scale.md")
    options = parser.parse_args()
    if options.constants:
        constants()
        return
    if options.peers:
        print("| data | peer | iterations | seconds | above the optimum |\n|---|---|---|---|---|")
    else:
        print("| data | loss | workers | seconds | with loading | rounds | MB a round | gap |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
    for name in options.only:
        if name == "made":
            if options.peers:
                continue
            make(options.stores, options.rows)
            X, y = options.stores, None
        else:
            X, y = load(name, options.data)
        if options.peers:
            peers(options.peers, name, X, y)
            continue
        for loss in options.loss:
            for workers in options.workers:
                r = ours(name, X, y, workers, loss)
                print(
                    f"| {name} | {loss} | {workers} | {r['seconds']:.1f} | {r['total']:.1f} | "
                    f"{r['rounds']} | {r['mb']:.2f} | {r['gap']:.1e} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
