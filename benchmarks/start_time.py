"""Seconds from the start of a process to its first fitted model, with a cold and a warm cache.

    python benchmarks/start_time.py

Kernels are compiled when they are first used, and their machine code is kept on disk. The first
process ("cold") begins with an empty cache in a temporary folder; the others ("warm") find what it
left there and compile nothing. Each case is a process of its own:

import     import skimlearn and the name of an estimator (numba, SciPy and scikit-learn included)
first fit  the first call of fit
again      the same call once more in the same process: what the fit itself takes
start      first fit minus again: what a process pays before it learns
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

CASES = {
    "classifier, sparse": "LinearClassifier(random_state=0)",
    "classifier, sparse, log, p=1.5": "LinearClassifier(loss='log', p=1.5, random_state=0)",
    "classifier, dense": "LinearClassifier(random_state=0)",
    "regressor, dense, small": "LinearRegressor(random_state=0)",
}

CHILD = """
import json, sys, time
clock = time.{clock}
start = clock()
from skimlearn import {estimator}
imported = clock() - start
import numpy as np
from skimlearn.datasets import load_spam
rng = np.random.default_rng(0)
if "sparse" in {case!r}:
    X, y = load_spam()
else:
    n, d = (200, 10) if "small" in {case!r} else (5000, 200)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    if "classifier" in {case!r}:
        y = np.sign(y)
times = []
for _ in range(2):
    start = clock()
    {model}.fit(X, y)
    times.append(clock() - start)
from skimlearn._jit import cache_directory
files = sum(1 for path in cache_directory().rglob("*.nbc"))
print(json.dumps([imported, *times, files]))
"""


def run(case, model, folder, clock="perf_counter"):
    """The times of one process, and the number of compiled kernels in the cache after it."""
    code = CHILD.format(case=case, model=model, estimator=model.partition("(")[0], clock=clock)
    environment = os.environ | {"NUMBA_CACHE_DIR": folder}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=3, help="warm processes; the least counts")
    options = parser.parse_args()
    titles = ("import", "first fit", "again", "start", "compiled")
    print("case".ljust(31), "cache", *(title.rjust(9) for title in titles))
    for case, model in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            cold = run(case, model, folder)
            warm = [run(case, model, folder) for _ in range(options.repeats)]
        best = [min(column) for column in zip(*warm, strict=True)]
        lines = {"cold": (*cold, cold[3]), "warm": (*best, max(w[3] for w in warm) - cold[3])}
        for name, (imported, first, again, _, files) in lines.items():
            numbers = (imported, first, again, first - again)
            print(
                case.ljust(31),
                name.ljust(5),
                *(f"{number:9.3f}" for number in numbers),
                f"{files:9d}",
                flush=True,
            )


if __name__ == "__main__":
    main()
