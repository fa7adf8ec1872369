"""Kill workers of a cluster at random rounds: every fit ends with the answer it would have had.

    python tools/fault_cluster.py --trials 20 [--sampled]

A trial chooses data, a loss, a number of partitions and a round; when that round is over one of
two workers gets SIGKILL, at once or some moments later, in the middle of the next. Dask starts it
anew and computes again what it held. The fit must end with the gap that was asked for, and with the
coefficients, dual variables and bounds of a fit left alone, to the last bit. With --sampled it is
a margin, a ball or a game from sampled rows, killed at a random moment, that must end as one that
was left alone.
"""

import argparse
import os
import signal
import sys
import threading
import time
from functools import partial

import numpy as np

from distributed import Client, LocalCluster
from skimlearn.distributed import (
    DaskLinearClassifier,
    enclosing_ball,
    matrix_game,
    max_margin,
)

LOSSES = ("hinge", "log", "squared_hinge")


def trial(seed, client):
    """What is wrong, if anything, and what was done."""
    rng = np.random.default_rng(seed)
    n, d, parts = int(rng.integers(200, 2000)), int(rng.integers(2, 50)), int(rng.integers(2, 7))
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0, 1, -1)
    options = {
        "loss": LOSSES[int(rng.integers(3))], "alpha": float(10 ** rng.uniform(-2, -1)),
        "tol": 1e-4, "partitions": parts, "random_state": int(seed),
    }  # fmt: skip
    whole = DaskLinearClassifier(**options).fit(X, y)
    last = len(whole.result_.history) - 1
    at, delay = int(rng.integers(1, max(2, last))), float(rng.choice([0.0, 0.02, 0.1]))
    killed = []

    def kill(record):
        if record.rounds == at and not killed:
            pids = sorted(client.run(os.getpid).values())
            killed.append(pids[int(rng.integers(len(pids)))])
            threading.Timer(delay, os.kill, (killed[0], signal.SIGKILL)).start()

    model = DaskLinearClassifier(**options, callback=kill).fit(X, y)
    result, other = model.result_, whole.result_
    about = f"{options['loss']}, {parts} partitions, round {at} of {last}"
    if result.certificate.relative_gap > options["tol"]:
        return f"the gap is {result.certificate.relative_gap:.1e}", about
    same = (
        np.array_equal(model.coef_, whole.coef_)
        and np.array_equal(result.p, other.p)
        and result.certificate == other.certificate
    )
    if not killed and last > 1:
        return "nobody was killed", about
    return "" if same else "the answer is another one", about


def sampled_trial(seed, client):
    """The same for a margin, a ball or a game from sampled rows and columns."""
    rng = np.random.default_rng(seed)
    n, d, parts = int(rng.integers(200, 2000)), int(rng.integers(2, 50)), int(rng.integers(2, 7))
    X = rng.standard_normal((n, d))
    y = np.where(X @ rng.standard_normal(d) > 0, 1, -1)
    options = {"eps": 1e-9, "max_steps": 80, "partitions": parts, "random_state": int(seed)}
    name, find = (
        ("margin", partial(max_margin, X, y)),
        ("ball", partial(enclosing_ball, X)),
        ("game", partial(matrix_game, X)),
    )[seed % 3]
    whole = find(solver="sampled", **options)
    pids = sorted(client.run(os.getpid).values())
    killed, delay = pids[int(rng.integers(len(pids)))], float(rng.uniform(0.1, 0.7)) * whole.seconds
    threading.Timer(delay, os.kill, (killed, signal.SIGKILL)).start()
    result = find(solver="sampled", **options)
    about = f"sampled {name}, {parts} partitions, after {delay:.1f} of {whole.seconds:.1f} s"
    if killed in client.run(os.getpid).values():
        return "nobody was killed", about
    same = (
        np.array_equal(result.x, whole.x)
        and np.array_equal(result.p, whole.p)
        and result.certificate == whole.certificate
        and result.reads == whole.reads
    )
    return "" if same else "the answer is another one", about


def main():
    """Run the trials; the exit status is 1 if one failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sampled", action="store_true", help="of margins, balls and games")
    options = parser.parse_args()
    failures = 0
    quiet = {"dashboard_address": ":0", "silence_logs": 60}
    for k in range(options.trials):
        began = time.perf_counter()
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, **quiet)
        with cluster, Client(cluster) as client:
            run = sampled_trial if options.sampled else trial
            wrong, about = run(options.seed + k, client)
        failures += bool(wrong)
        passed = time.perf_counter() - began
        print(f"trial {k}: {wrong or 'same bits'} ({about}; {passed:.0f} s)", flush=True)
    print(f"{options.trials - failures} of {options.trials} ended as they should")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
