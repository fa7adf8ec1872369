"""Megabytes per second of svmlight readers, on the same bytes.

    python benchmarks/read_svmlight.py [--svm2csr PYTHON] [FILE ...]

Without files, two are made: sparse rows with values of 6 digits, as of weighted words, and the same
rows with all digits of a double. Compressed files are unpacked first. All readers that are
installed take turns; shown is the best of some rounds, by the clock ("wall") and by the time that
all threads together spent computing ("cpu"), which other work on the machine disturbs less. The
readers of packages that learn (xgboost, lightgbm, catboost) make what their package learns from,
which is more than a matrix: with lightgbm it includes the bins. svm2csr installs for Python 3.9 and
older: ``--svm2csr`` names an interpreter that has it, which reads in a process of its own. Where a
reader gives a matrix, it is compared with that of scikit-learn; if skimlearn's is another, the exit
status is 1.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from skimlearn import read_svmlight, write_svmlight
from skimlearn.data._text_blocks import open_source


def svmlight_loader(path):
    module = importlib.import_module("svmlight_loader")
    with open(path, "rb") as file:
        return module.classification_from_lines(file)[:2]


def svmloader(path):
    return importlib.import_module("svmloader").load_svmfile(path, zero_based=False)


def liblinear(path):
    module = importlib.import_module("liblinear.commonutil")
    y, X = module.svm_read_problem(path, return_scipy=True)
    return X, y


def xgboost(path):
    importlib.import_module("xgboost").DMatrix(f"{path}?format=libsvm", nthread=2)


def lightgbm(path):
    module = importlib.import_module("lightgbm")
    module.Dataset(path, params={"verbose": -1, "num_threads": 2}).construct()


def catboost(path):
    importlib.import_module("catboost").Pool(f"libsvm://{path}", thread_count=2)


def snapml(path):
    importlib.import_module("snapml.Loaders").load_from_svmlight_format(path)


SVM2CSR = """
import sys, time
import svm2csr
best = [9e9, 9e9]
for _ in range(int(sys.argv[2])):
    start, cpu = time.perf_counter(), time.process_time()
    svm2csr.load_svmlight_file(sys.argv[1])
    best = [min(best[0], time.perf_counter() - start), min(best[1], time.process_time() - cpu)]
print(*best)
"""

READERS = {
    "skimlearn, 1 thread": lambda path: read_svmlight(path),
    "skimlearn, 2 threads": lambda path: read_svmlight(path, n_jobs=2),
    "scikit-learn": lambda path: load_svmlight_file(path),
    "svmloader": svmloader,
    "svmlight-loader": svmlight_loader,
    "liblinear-official": liblinear,
    "xgboost, 2 threads": xgboost,
    "lightgbm, 2 threads": lightgbm,
    "catboost, 2 threads": catboost,
    "snapml": snapml,
}


def of_svm2csr(python, path, rounds):
    """What `measure` says of a reader, of svm2csr in another interpreter."""
    command = [python, "-c", SVM2CSR, path, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall, cpu = map(float, done.stdout.split())
    return wall, cpu, None


def make_file(path, megabytes, digits, seed=0):
    """Rows of some 80 rising ids; small ids are the more frequent."""
    rng = np.random.default_rng(seed)
    per_row = 80 * (9 + digits)
    n, d = int(megabytes * 1e6 / per_row), 50_000
    rows = np.repeat(np.arange(n), rng.poisson(80, n))
    columns = (d * rng.random(len(rows)) ** 3).astype(np.int64)
    X = sp.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, d)).tocsr()
    X.data = 0.5 * rng.random(X.nnz) ** 2 + 1e-4
    if digits < 17:
        places = digits - np.ceil(np.log10(X.data))
        X.data = np.round(X.data * 10.0**places) / 10.0**places
    write_svmlight(X, rng.choice([-1, 1], n), path)


def unpacked(path, folder):
    """The file itself, or a copy that is not compressed."""
    source = open_source(path)
    if not source.compressed:
        source.close()
        return path
    target = Path(folder) / Path(path).stem
    buffer = bytearray(2**20)
    with open(target, "wb") as file:
        while count := source.fill(memoryview(buffer)):
            file.write(memoryview(buffer)[:count])
    source.close()
    return str(target)


def equal(found, truth):
    if found is None:
        return None
    X, y = found[:2]
    if not sp.issparse(X):
        return None
    X, Z = sp.csr_matrix(X), truth[0]
    X.sort_indices()
    return bool(
        np.array_equal(y, truth[1])
        and X.nnz == Z.nnz
        and np.array_equal(X.data, Z.data)
        and np.array_equal(X.indices, Z.indices)
    )


def measure(path, rounds, seconds):
    """Best seconds by the clock and by the processor for each reader, and whether it is right."""
    truth = load_svmlight_file(path)
    found = {}
    for turn in range(rounds):
        for name, reader in READERS.items():
            if turn and (name not in found or found[name][0] > seconds):
                continue  # failed, or slow: once is enough
            start, cpu = time.perf_counter(), time.process_time()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    answer = reader(path)
            except Exception as error:
                if not isinstance(error, ImportError):
                    print(f"  {name}: {type(error).__name__}: {str(error)[:100]}")
                continue
            wall, cpu = time.perf_counter() - start, time.process_time() - cpu
            best = found.get(name, (np.inf, np.inf, equal(answer, truth)))
            found[name] = (min(best[0], wall), min(best[1], cpu), best[2])
            del answer
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="svmlight files")
    parser.add_argument("--megabytes", type=float, default=120.0, help="of files that are made")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--svm2csr", metavar="PYTHON", help="an interpreter that has svm2csr")
    parser.add_argument("--seconds", type=float, default=5.0, help="slower readers have one round")
    options = parser.parse_args()

    read_svmlight(b"1 1:1\n")  # compiles
    right = True
    with tempfile.TemporaryDirectory() as folder:
        files = [unpacked(path, folder) for path in options.files]
        if not files:
            for name, digits in (("6 digits", 6), ("17 digits", 17)):
                files.append(f"{folder}/{name}.svm")
                make_file(files[-1], options.megabytes, digits)
        for path in files:
            size = os.path.getsize(path) / 1e6
            print(f"\n{Path(path).name}: {size:.1f} MB")
            print(f"  {'reader':<22} {'MB/s wall':>10} {'cpu':>7} {'ratio wall':>11} {'cpu':>7}")
            found = measure(path, options.rounds, options.seconds)
            if options.svm2csr:
                found["svm2csr, all cores"] = of_svm2csr(options.svm2csr, path, options.rounds)
            base = found["scikit-learn"]
            for name, (wall, cpu, same) in sorted(found.items(), key=lambda item: item[1][0]):
                note = {True: "", False: "  DIFFERENT", None: "  (no matrix to compare)"}[same]
                print(
                    f"  {name:<22} {size / wall:10.0f} {size / cpu:7.0f} {base[0] / wall:11.1f} "
                    f"{base[1] / cpu:7.1f}{note}"
                )
                right &= same is True or not name.startswith("skimlearn")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
