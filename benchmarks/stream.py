"""How fast a stream of sparse rows is learned from in one pass, and in how much memory.

    python benchmarks/stream.py [--rows 2000000] [--only skim-asgd sklearn-sgd ...]

The rows are generated on the fly and never stored: 20 features of 2^24, drawn with a skew (few
features are common, most are rare) and scattered by a hash, all of value 1/sqrt(20). The label is
the sign of a sum of hidden weights, with noise; some 12 % of the labels can't be known. Blocks of
50,000 rows come as CSR matrices.

Each line is one process that learns from the same stream: rows per second with and without the time
that the generator takes ("generator" is a process that only generates), the largest memory of the
process, and the error on 200,000 rows of another seed. Our lines show the progressive error too:
that of predictions before each row was learned. Vowpal Wabbit, if its Python package is there,
reads text from a pipe, which another process writes at the same time: with a core to spare it does
not wait for that ("text" is the time to write the text to nowhere). It has its default, adaptive
steps. Compilation is not counted.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numba
import numpy as np
import scipy.sparse as sp

BITS, ENTRIES, BLOCK, TESTS = 24, 20, 50_000, 200_000
D = 1 << BITS
ALPHA = 1e-7


# -------------------------------------------------------------------------------------- the stream


@numba.njit(nogil=True, cache=True)
def mixed(x):
    """A number that looks random (splitmix64)."""
    x = (x + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def fill(seed, first, columns, labels):
    """The columns, sorted, and the labels of rows first, first + 1, ..."""
    unit = 1.0 / 2.0**53
    for i in range(columns.shape[0]):
        state = mixed(np.uint64(seed) * np.uint64(1_000_003) + mixed(np.uint64(first + i)))
        score, count = 0.0, 0
        while count < columns.shape[1]:
            state = mixed(state)
            u = (state >> np.uint64(11)) * unit
            rank = np.uint64(u**8 * D)  # few are common
            j = np.int32((rank * np.uint64(0x9E3779B1)) & np.uint64(D - 1))
            at = count
            while at > 0 and columns[i, at - 1] > j:
                at -= 1
            if at > 0 and columns[i, at - 1] == j:
                continue
            for k in range(count, at, -1):
                columns[i, k] = columns[i, k - 1]
            columns[i, at] = j
            count += 1
            hidden = mixed(rank ^ np.uint64(0xABCDEF))
            score += (hidden >> np.uint64(11)) * unit - 0.5
        noise = 0.0
        for _ in range(4):
            state = mixed(state)
            noise += (state >> np.uint64(11)) * unit - 0.5
        labels[i] = 1 if score + noise > 0.0 else -1


def blocks(rows, seed=0):
    """Blocks (X, y) of the stream."""
    values = np.full(BLOCK * ENTRIES, ENTRIES**-0.5, dtype=np.float32)
    starts = np.arange(0, BLOCK * ENTRIES + 1, ENTRIES, dtype=np.int32)
    for first in range(0, rows, BLOCK):
        n = min(BLOCK, rows - first)
        columns, labels = np.empty((n, ENTRIES), np.int32), np.empty(n, np.int64)
        fill(seed, first, columns, labels)
        entries = n * ENTRIES
        parts = (values[:entries], columns.ravel(), starts[: n + 1])
        yield sp.csr_matrix(parts, shape=(n, D), copy=False), labels


@numba.njit(nogil=True, cache=True)
def text_of(columns, labels, out):
    """Lines of Vowpal Wabbit's format, features of value 1; the number of bytes."""
    at = 0
    for i in range(columns.shape[0]):
        if labels[i] < 0:
            out[at] = 45
            at += 1
        out[at], out[at + 1], out[at + 2] = 49, 32, 124
        at += 3
        for k in range(columns.shape[1]):
            out[at] = 32
            at += 1
            value, digits = columns[i, k], 1
            while value >= 10**digits:
                digits += 1
            for e in range(digits):
                out[at + digits - 1 - e] = 48 + value % 10
                value //= 10
            at += digits
        out[at] = 10
        at += 1
    return at


def write_text(rows, path, seed=0):
    """The stream as text, to a pipe."""
    buffer = np.empty(BLOCK * (5 + 9 * ENTRIES), np.uint8)
    with open(path, "wb", buffering=0) as file:
        for X, y in blocks(rows, seed):
            n = text_of(X.indices.reshape(-1, ENTRIES), y, buffer)
            left = memoryview(buffer)[:n]
            while len(left):
                left = left[file.write(left) :]


# ---------------------------------------------------------------------------------------- learners


def generator(rows):
    for _ in blocks(rows):
        pass
    return None, {}


def skim(rows, **parameters):
    from skimlearn import LinearClassifier

    model = LinearClassifier(loss="log", alpha=ALPHA, random_state=0, verbose=False, **parameters)
    model.fit_stream(blocks(rows), classes=[-1, 1])
    w, b = model.coef_[0], model.intercept_[0]
    return (lambda X: X @ w + b), {"progressive": model.result_.history[-1].mean_error}


def sklearn(rows, **parameters):
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", alpha=ALPHA, random_state=0, **parameters)
    for X, y in blocks(rows):
        model.partial_fit(X, y, classes=[-1, 1])
    return model.decision_function, {}


def wabbit(rows, **_):
    import vowpalwabbit

    with tempfile.TemporaryDirectory() as folder:
        pipe = str(Path(folder) / "pipe")
        os.mkfifo(pipe)
        writer = subprocess.Popen([sys.executable, __file__, "--rows", str(rows), "--write", pipe])
        model = vowpalwabbit.Workspace(
            f"-d {pipe} -b {BITS} --loss_function logistic --no_stdin --quiet --noconstant"
        )
        writer.wait()

    def decide(X):
        scores = []
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            features = " ".join(map(str, X.indices[start:stop].tolist()))
            scores.append(model.predict(f"| {features}"))
        return np.array(scores)

    return decide, {}


LEARNERS = {
    "generator": generator,
    "text": lambda rows: (write_text(rows, os.devnull), {}),
    "skim-asgd": lambda rows: skim(rows, solver="asgd"),
    "skim-sgd": lambda rows: skim(rows, solver="sgd"),
    "skim-ftrl": lambda rows: skim(rows, solver="ftrl"),
    "skim-pegasos": lambda rows: skim(rows, solver="pegasos", average="last"),
    "sklearn-sgd": lambda rows: sklearn(rows),
    "sklearn-asgd": lambda rows: sklearn(rows, average=True),
    "vowpalwabbit": wabbit,
}


def measure(name, rows):
    """Learn in this process; what it took, as JSON."""
    learner = LEARNERS[name]
    learner(BLOCK // 10)  # compiles
    began = time.perf_counter()
    decide, found = learner(rows)
    found["seconds"] = time.perf_counter() - began
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if decide is not None:
        count = TESTS if name != "vowpalwabbit" else TESTS // 10
        wrong = sum(((decide(X) > 0) != (y > 0)).sum() for X, y in blocks(count, seed=1))
        found["error"] = float(wrong) / count
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--only", nargs="+", choices=list(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--learner", choices=list(LEARNERS), help=argparse.SUPPRESS)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write:
        write_text(options.rows, options.write)
        return
    if options.learner:
        measure(options.learner, options.rows)
        return
    print(f"{options.rows:,} rows, {ENTRIES} of 2^{BITS} features each")
    print(f"{'':14} {'rows/s':>10} {'without':>10} {'MB':>6} {'error':>7} {'progressive':>11}")
    free = 0.0
    for name in options.only:
        command = [sys.executable, __file__, "--learner", name, "--rows", str(options.rows)]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            print(f"{name:14} failed: {run.stderr.strip().splitlines()[-1]}")
            continue
        found = json.loads(run.stdout.splitlines()[-1])
        seconds = found["seconds"]
        if name == "generator":
            free = seconds
        rest = seconds - free if name not in ("text", "vowpalwabbit") else 0.0
        without = f"{options.rows / rest:10,.0f}" if rest > 0.0 else f"{'':>10}"
        error, progressive = found.get("error"), found.get("progressive")
        print(
            f"{name:14} {options.rows / seconds:10,.0f} {without} {found['megabytes']:6.0f} "
            f"{'' if error is None else f'{error:7.4f}':>7} "
            f"{'' if progressive is None else f'{progressive:11.4f}'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
