"""Time to a certified gap on a Dask cluster of processes, by 1, 2 and 4 workers, beside others.

    python benchmarks/cluster.py --data FOLDER --peers PYTHON --out docs    # all of docs/scale.md
    python benchmarks/cluster.py --quick                                    # to try it out
    python benchmarks/cluster.py --parts times --only imdb --workers 1 2    # a part of it
    python benchmarks/cluster.py --parts peers --only covtype made --data FOLDER --peers PYTHON

Parts: "times" to a gap of 1e-3; "peers", which are to find an objective as low as ours (PYTHON is
an interpreter that has dask-ml and pyspark); "constants" of the model of a round; "margins" by both
solvers. The rounds of the model are from `rounds.py`. Without --out the page is written to build/.
Every set is written when it is measured, and takes the place of its former lines; those of other
sets stay, with what they were measured on. So a run that was cut short goes on with --only.

"imdb" and "debian" are counts of words and of pairs of words, of length 1, "covtype" the 54 dense
columns of the cover types, all read by the module `loaders` of FOLDER; "made" are ten million rows
of ten features out of 2^16, generated once into a folder of stores (--stores, 2 GB); "dense" are
made, too: 200,000 rows of 30 columns. Rows are dealt out to 4 partitions (8 stores for "made"),
whatever the number of workers, so that the lines of a table are the same computation. Every cluster
learns from a few rows before the clock starts, so that machine code is loaded.
"""

import argparse
import json
import signal
import subprocess
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _cluster_data import ALPHA, ROWS, block, load, make, objective, parts
from _cluster_page import about, load_now, write

from skimlearn import write_svmlight

warnings.filterwarnings("ignore")
PARTS, LIMIT, SETUP = 4, 60, 240  # SETUP: seconds that a peer may take beside its fits
QUIET = {"dashboard_address": ":0", "silence_logs": 50}
PEERS = {
    "spark": ("Spark's LinearSVC, local[2]", "hinge"),
    "incremental": ("dask-ml's Incremental, averaged SGD, 2 workers", "hinge"),
    "logistic": ("dask-ml's LogisticRegression, L-BFGS, 2 workers", "log"),
}


def cluster_of(workers):
    from dask.distributed import LocalCluster

    return LocalCluster(n_workers=workers, threads_per_worker=1, **QUIET)


def client_of(cluster):
    from dask.distributed import Client

    return Client(cluster, direct_to_workers=True)


def ours(name, X, y, workers, loss):
    """Seconds, rounds and bytes to the gap, and the answer."""
    from skimlearn.distributed import DaskLinearClassifier

    with cluster_of(workers) as cluster, client_of(cluster) as client:
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
    last = result.history[-1]
    return {
        "data": name, "loss": loss, "workers": workers, "seconds": result.seconds, "total": total,
        "rounds": last.rounds, "bytes": last.moved, "gap": result.certificate.relative_gap,
        "primal": result.certificate.primal,
    }  # fmt: skip


def times(options, name):
    runs, loads = [], []
    X, y = rows_of(name, options)
    for loss in options.loss:
        for workers in options.workers:
            loads.append(load_now())
            runs.append(ours(name, X, y, workers, loss))
            print(runs[-1], flush=True)
    return {"about": about(options.quick, loads), "runs": runs}


def rows_of(name, options):
    if name != "made":
        return load(name, options.data, options.quick)
    return make(options.stores, 80_000 if options.quick else options.rows), None


def peers(options, name):
    """What the others need to come as low as we do with two workers."""
    runs, loads = [], []
    X, y = rows_of(name, options)
    blocks = parts(X, y)
    with tempfile.TemporaryDirectory() as folder:
        for k, (rows, targets) in enumerate(blocks):
            sp.save_npz(f"{folder}/part-{k}.npz", sp.csr_matrix(rows), compressed=False)
            write_svmlight(rows, (targets > 0).astype(int), f"{folder}/rows-{k}.svm")  # for Spark
        np.savez(f"{folder}/labels.npz", **{f"part-{k}": t for k, (_, t) in enumerate(blocks)})
        for loss in options.loss:
            loads.append(load_now())
            mine = ours(name, X, y, 2, loss)
            about_us = {"who": "skimlearn, 2 workers", "iterations": mine["rounds"]}
            runs.append({key: mine[key] for key in ("data", "loss", "seconds")} | about_us)
            for kind, (who, its) in PEERS.items():
                if its == loss:
                    loads.append(load_now())
                    found = peer(kind, name, blocks, mine["primal"], folder, options)
                    runs.append({"data": name, "who": who, "loss": loss} | found)
                    print(runs[-1], flush=True)
    return {"about": about(options.quick, loads), "peers": versions(options.peers), "runs": runs}


def versions(python):
    ask = "import json, importlib.metadata as m; print(json.dumps({k: m.version(k) for k in "
    ask += "('dask-ml', 'pyspark', 'scikit-learn')}))"
    done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def peer(kind, name, blocks, target, folder, options):
    """The first number of iterations whose objective is no higher than the target."""
    if kind == "logistic" and sp.issparse(blocks[0][0]):
        return {"why": "takes no sparse blocks"}
    there = Path(__file__).with_name("_cluster_peers.py")
    command = [options.peers, there, kind, folder, str(ALPHA[name]), str(options.limit)]
    errors = Path(folder) / f"{kind}.log"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    found, longest = None, options.limit + SETUP
    with errors.open("w") as log, subprocess.Popen(command, stderr=log, **pipes) as process:
        watch = threading.Timer(longest, process.kill)
        watch.start()
        for line in process.stdout:
            found = json.loads(line)
            w = np.load(f"{folder}/w.npy")
            value = objective(blocks, w[:-1], w[-1], PEERS[kind][1], ALPHA[name])
            found["above"] = value / target - 1.0
            if value <= target:
                process.stdin.close()
                break
            process.stdin.write("\n")
            process.stdin.flush()
        watch.cancel()
    if found is None:
        if process.returncode == -signal.SIGKILL:
            return {"why": f"no answer within {longest:.0f} s"}
        return {"why": f"failed: {errors.read_text().strip().splitlines()[-1][:80]}"}
    if found["above"] > 0.0:
        found["note"] = f"not as low; more iterations would take more than {options.limit:.0f} s"
    return found


def constants(options):
    """What the model of a round is made of."""
    from skimlearn.distributed import _pieces, _team, cocoa
    from skimlearn.formulas import losses, regularizers

    X, y = block(0, 20_000 if options.quick else 250_000)
    piece = _pieces.piece_of(0, X, y, None, labels=True)
    spec = _pieces.Spec(
        losses.resolve("hinge", labels=True), regularizers.resolve(2.0, None), 1e-4, "none", len(y),
        X.shape[1], 1.0, 0.0, 1,
    )  # fmt: skip
    method = cocoa.Ascent(_team.Serial([piece]), spec, 0, epochs=1)
    method.advance()
    method.check()
    found, loads = {}, [load_now()]
    for name, work in (("epoch", method.advance), ("check", method.check)):
        began = time.process_time()
        for _ in range(5):
            work()
        found[name] = (time.process_time() - began) / 5 / X.nnz
    count, size = 8, 1_000_000
    with cluster_of(2) as cluster, client_of(cluster) as client:
        few = [
            client.submit(_pieces.piece_of, k, X[:10], y[:10], None, labels=True)
            for k in range(count)
        ]
        team = _team.Cluster(client, few)
        for name, width in (("empty", 1), ("full", size)):
            best = []
            for _ in range(10):
                began = time.perf_counter()
                shared = team.share("x", np.ones(width))
                team.total(team.each("y", _answer, x=shared))
                best.append(time.perf_counter() - began)
            found[name] = min(best)
    found["tasks"] = 2 * count + 2
    found["task"] = found["empty"] / found["tasks"]
    found["bytes"] = 8 * size * (2 + count)  # down to two workers, and up from all pieces
    found["carry"] = max(found.pop("full") - found["empty"], 1e-9)
    found["rate"] = found["bytes"] / found["carry"]
    return {"about": about(options.quick, loads), **found}


def _answer(piece, x):
    from skimlearn.distributed._parcel import Parcel

    return None, Parcel.of(x)


def margins(options):
    """Both solvers of the margin to the same gap, on the same partitions."""
    from skimlearn.distributed import max_margin

    n, d = (2_000, 50) if options.quick else (100_000, 400)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    y = np.where(X @ np.ones(d) > 0, 1, -1)
    X += y[:, None] / np.sqrt(d)
    unit = float(np.linalg.norm(X, axis=1).max())
    eps, loads, runs = 0.1 * unit, [load_now()], []
    with cluster_of(2) as cluster, client_of(cluster):
        for solver, more in (("core-set", {}), ("sampled", {"random_state": 0})):
            few = {"eps": eps, "max_steps": 2, "partitions": PARTS, "solver": solver, **more}
            max_margin(X[:400], y[:400], **few)
            found = max_margin(X, y, **few | {"max_steps": 20_000, "max_seconds": 5 * LIMIT})
            last = found.history[-1]
            runs.append(
                {
                    "solver": solver, "rounds": last.rounds, "bytes": last.moved,
                    "reads": found.reads.nnz + found.reads.certificate, "seconds": found.seconds,
                    "gap": found.certificate.gap / unit, "status": found.status.name,
                }
            )  # fmt: skip
            print(runs[-1], flush=True)
    shape = {"shape": [n, d], "partitions": PARTS, "eps": eps / unit}
    return {"about": about(options.quick, loads), **shape, "runs": runs}


COMMANDS = {"times": times, "peers": peers, "constants": constants, "margins": margins}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--data", type=Path, help="folder of data sets, with a module loaders.py")
    add("--stores", type=Path, default=Path(tempfile.gettempdir()) / "skim-made")
    add("--parts", nargs="*", choices=COMMANDS, help="default: all, peers with --peers only")
    add("--only", nargs="*", choices=ALPHA, help="default: all that there are data for")
    add("--workers", nargs="*", type=int, default=[1, 2, 4])
    add("--loss", nargs="*", default=["hinge", "log"])
    add("--rows", type=int, default=ROWS, help='of "made"')
    add("--limit", type=float, default=LIMIT, help="seconds of all fits of a peer on a set")
    add("--peers", help="an interpreter that has dask-ml and pyspark")
    add("--quick", action="store_true", help="small made problems")
    add("--out", type=Path, default=Path(__file__).resolve().parents[1] / "build" / "cluster")
    options = parser.parse_args()
    if options.only is None:
        there = options.data is not None and not options.quick
        options.only = list(ALPHA) if there else ["made", "dense"]
    if options.parts is None:
        options.parts = [part for part in COMMANDS if part != "peers" or options.peers]
    for part in options.parts:
        if part in ("times", "peers"):
            for name in options.only:  # each is written at once: a long run may be cut short
                write(part, COMMANDS[part](options, name), options.out)
        else:
            write(part, COMMANDS[part](options), options.out)


if __name__ == "__main__":
    main()
