"""How close are the kernels to what memory allows?

    python benchmarks/limits.py [FILE ...]

For each matrix, nanoseconds per stored entry of

stream      the values and the indices read once, in order: what memory delivers at best
bare        a product and an update of every row, in order, with no algorithm
random      the same in random order, with rows asked for ahead of their use
dual        an epoch of dual coordinate ascent (hinge, log), in random order
asgd        an epoch of averaged SGD (log), in random order: one product, two updates
cg          a pass of Newton's method with conjugate gradients (log), in order
respond     a product with every row: what a check reads

"of ..." divides by the column that does the same reads and writes in the same order. Times are
of the processor, the least of some repetitions. Matrices are made ones, or svmlight files.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from skimlearn import read_svmlight
from skimlearn._jit import kernel
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import add, dot, look_ahead, responses
from skimlearn.problem import make_problem
from skimlearn.solvers import dual, newton_cg, sgd
from skimlearn.solvers._hessian import multiply

MADE = {"small": (30_000, 300, 14), "text": (40_000, 60_000, 60), "wide": (20_000, 1_000_000, 150)}


@kernel
def _stream(values, columns):
    total = 0.0
    for k in range(len(values)):
        total += values[k] * columns[k]
    return total


@kernel
def _touch(rows, order, w, v):
    for at in range(len(order)):
        i = order[at]
        look_ahead(rows, order, at)
        add(rows, i, 1e-9 * dot(rows, i, w), v)


def make_matrix(n, d, words, seed=0):
    """Rows of Zipf-distributed words, as in text."""
    rng = np.random.default_rng(seed)
    columns = np.minimum(d * rng.random((n, words)) ** 3, d - 1).astype(np.int32)
    values = rng.random((n, words)) / np.sqrt(words)
    X = sp.csr_array((values.ravel(), columns.ravel(), np.arange(0, n * words + 1, words)), (n, d))
    X.sum_duplicates()
    return X, np.where(X @ rng.normal(size=d) > 0.0, 1.0, -1.0)


def nanoseconds(work, entries, repeats):
    times = []
    for _ in range(repeats + 1):  # the first may compile
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e9 * min(times[1:]) / entries


def measure(X, y, repeats):
    """Pairs of a name and nanoseconds per entry."""
    hinge = make_problem(X, y, loss="hinge", alpha=1e-4, bias="none")
    log = make_problem(X, y, loss="log", alpha=1e-4, bias="none")
    rows, (n, d), rng = log.rows, X.shape, np.random.default_rng(0)
    order, random = np.arange(n), rng.permutation(n)
    w, v, z = np.zeros(d), np.zeros(d), np.zeros(n)
    ascents = {
        "dual hinge": dual.DualAscent(hinge, Ledger(rows), dual.Settings()),
        "dual log": dual.DualAscent(log, Ledger(rows), dual.Settings()),
        "asgd log": sgd.Sgd(log, Ledger(rows), sgd.Settings(average="mean"), rng),
    }
    descent = newton_cg.NewtonCg(log, Ledger(rows))
    descent.visit(order)

    def iterate():
        descent.product[:] = 0.0
        multiply(rows, descent.term.bend, descent.p, descent.along, descent.product)

    works = {
        "stream": lambda: _stream(rows.values, rows.columns),
        "bare": lambda: _touch(rows, order, w, v),
        "random": lambda: _touch(rows, random, w, v),
        **{name: (lambda m=method: m.visit(random)) for name, method in ascents.items()},
        "cg": iterate,
        "respond": lambda: responses(rows, w, z),
    }
    return {name: nanoseconds(work, len(rows.values), repeats) for name, work in works.items()}


BESIDE = {"dual hinge": "random", "dual log": "random", "asgd log": "random", "cg": "bare"}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="svmlight files")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    matrices = {name: lambda s=shape: make_matrix(*s) for name, shape in MADE.items()}
    if options.files:
        matrices = {path.name: lambda p=path: read_svmlight(p)[:2] for path in options.files}
    first = True
    for name, load in matrices.items():
        X, y = load()
        found = measure(X, np.where(np.asarray(y) > 0.0, 1.0, -1.0), options.repeats)
        if first:
            print("| matrix | " + " | ".join(found) + " |")
            print("|---|" + "---|" * len(found))
            first = False
        cells = [
            f"{ns:.2f}" + (f" ({ns / found[BESIDE[k]]:.1f} of {BESIDE[k]})" if k in BESIDE else "")
            for k, ns in found.items()
        ]
        print(f"| {name}, {X.shape[0]} x {X.shape[1]} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
