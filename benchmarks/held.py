"""What the package promises about its cost, measured, each beside its limit.

    python benchmarks/held.py

A line of the table has what was measured, the limit, and whether it is held; the exit status is 1
if one is not. ``--only import memory`` runs some of the topics:

import    seconds for ``import skimlearn``, and what must not be loaded by it; the first name of an
          estimator loads scikit-learn, whose own import is shown beside it, without a limit
start     what a new process pays before its first fit, in CPU seconds (other work on the machine
          does not count): with machine code on disk, and without (then with a notice of one line)
memory    the peak beyond the data during a fit, in vectors of max(n, d) floats, or in matrices
          where entries are copied by column: of all arrays (as NumPy reports them), and of what is
          resident (Linux); the guide says what they are
steps     cost of a step for 1,000 columns and for 1,000,000, in units of reading and changing the
          same entries with no algorithm (see step_cost.py)
rows      visits to rows, and seconds of `partial_fit`, until a fixed test error is reached, the
          more rows there are at hand: the more, the quicker; `fit` reads all rows whatever the
          target, to check and to certify them, so its time grows with their number (see
          Shalev-Shwartz and Srebro, "SVM optimization: inverse dependence on training set size",
          2008)
predict   rows per second, beside scikit-learn's
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

# what the guide says a fit needs, and a little for whatever does not grow with the data
SOLVERS = ("auto", "dual", "asgd", "casgd", "newton-cg")
VECTORS = {
    "CSR, many rows": (11.2, 11.2, 9.2, 10.2, 15.2),
    "CSR, many columns": (6.2, 3.2, 6.2, 7.2, 9.2),
    "dense, many rows": (10.2, 10.2, 8.2, 9.2, 14.2),
    "dense, many columns": (6.2, 3.2, 6.2, 7.2, 9.2),
}
MERGED = "CSR, columns of single rows"
COPIED = "CSR, copied by column"  # the same in units of the matrix
MATRICES = 1.1
CLASSES, COUNT = "CSR, ten classes", 10  # the same in units of n + d floats for each class
SHAPES = {  # rows, columns, and entries of a row of CSR
    "CSR, many rows": (1_000_000, 1_000, 10),
    "CSR, many columns": (2_000, 400_000, 2_000),
    "dense, many rows": (500_000, 10, 0),
    "dense, many columns": (20, 500_000, 0),
    MERGED: (2_000, 2_000_000, 100),
    COPIED: (4_000, 4_000, 500),
    CLASSES: (100_000, 100_000, 20),
}
HARD = {"alpha": 1e-5, "tol": 1e-6, "max_epochs": 12}  # checks that are not the best yet, too
FITS = {
    "auto": {"tol": 1e-3, "max_epochs": 5},
    # what lets "auto" take these methods
    "newton-cg": {"loss": "squared_hinge", "alpha": 1e-8, "tol": 1e-3, "max_epochs": 60},
    "columns+newton-cg": {"loss": "log", "alpha": 1e-6, "tol": 1e-3, "max_epochs": 40},
}
HEAVY = ("numpy", "scipy", "numba", "sklearn", "pandas", "polars", "matplotlib", "joblib", "rich")


@dataclass(frozen=True)
class Line:
    """What was measured, and what it may be; without a limit it is only told."""

    topic: str
    what: str
    value: float
    unit: str = ""
    most: float = float("inf")
    least: float = float("-inf")

    @property
    def held(self):
        return self.least <= self.value <= self.most

    @property
    def text(self):
        limit = ""
        if self.most < float("inf"):
            limit = f"at most {self.most:g}"
        elif self.least > float("-inf"):
            limit = f"at least {self.least:g}"
        mark = "" if not limit else "yes" if self.held else "NO"
        value = f"{self.value:.3g} {self.unit}"
        return f"{self.topic:<8} {self.what:<58} {value:<22} {limit:<14} {mark}".rstrip()


def child(code, *options, **environment):
    """The output of a new process, and what it wrote to standard error."""
    done = subprocess.run(
        [sys.executable, *options, "-c", code],
        env=os.environ | environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr


# ------------------------------------------------------------------------------------------ topics


def imports():
    timed = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    for what, statement, most in (
        ("seconds of `import skimlearn`", "import skimlearn", 0.2),
        ("seconds of LinearClassifier", "from skimlearn import LinearClassifier", float("inf")),
        ("seconds of scikit-learn's LinearSVC", "from sklearn.svm import LinearSVC", float("inf")),
    ):
        seconds = min(float(child(timed.format(statement))[0]) for _ in range(3))
        yield Line("import", what, seconds, "s", most)
    loaded = child(f"import sys, skimlearn; print(*{set(HEAVY)} & set(sys.modules))")[0].split()
    names = f": {', '.join(loaded)}" if loaded else ""
    yield Line("import", f"heavy packages loaded by it{names}", len(loaded), most=0)
    spent = defaultdict(float)  # by package, what its modules take by themselves
    report = child("from skimlearn import LinearClassifier", "-X", "importtime")[1]
    for own, name in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", report):
        spent[name.partition(".")[0]] += 1e-6 * float(own)
    for name in sorted(spent, key=spent.get)[:-6:-1]:
        yield Line("import", f"part of LinearClassifier that is {name}'s", spent[name], "s")


def starts():
    from start_time import CASES, run

    for case, model in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            _, first, again, compiled = run(case, model, folder, "process_time")
            yield Line("start", f"{case}: empty cache", first - again, "s", 10.0)
            runs = [run(case, model, folder, "process_time") for _ in range(3)]
            seconds = min(first - again for _, first, again, _ in runs)
            yield Line("start", f"{case}: machine code on disk", seconds, "s", 0.5)
            compiled = max(files for *_, files in runs) - compiled
            yield Line("start", f"{case}: kernels compiled again", compiled, most=0)
    code = (
        "import sys; sys.ps1 = '>>> '\n"  # as in an interpreter or a notebook
        "from skimlearn import LinearRegressor; LinearRegressor().fit([[0.0], [1.0]], [0.0, 1.0])"
    )
    with tempfile.TemporaryDirectory() as folder:
        lines = child(code, NUMBA_CACHE_DIR=folder)[1].splitlines()
        told = len(lines) if all(line.startswith("skimlearn: compiling") for line in lines) else -1
        yield Line("start", "lines that tell about it", told, most=1, least=1)


MEMORY = """
import json, sys, tracemalloc, warnings
sys.path.insert(0, {here!r})
import held
warnings.simplefilter("ignore")
print(json.dumps(held.peaks({kind!r}, {solver!r})))
"""


def memory():
    for kind, limits in VECTORS.items():
        for solver, most in zip(SOLVERS, limits, strict=True):
            yield from memory_of(kind, solver, most, "vectors")
    yield from memory_of(MERGED, "dual", 2.2, "vectors")
    yield from memory_of(COPIED, "columns+newton-cg", MATRICES, "matrices")
    yield from memory_of(CLASSES, "dual", 6.6, "vectors a class")


def memory_of(kind, solver, most, unit):
    code = MEMORY.format(here=str(Path(__file__).parent), kind=kind, solver=solver)
    arrays, resident = json.loads(child(code)[0])
    yield Line("memory", f"{kind}, {solver}: arrays", arrays, unit, most)
    if resident is not None:
        yield Line("memory", f"{kind}, {solver}: resident", resident, unit)


def peaks(kind, solver):
    """The peaks of a fit beyond what there was before it.

    They are in vectors of max(n, d) floats, in copies of the matrix, or, of many classes, in
    vectors of n + d floats for each.
    """
    from skimlearn import LinearClassifier

    rng = np.random.default_rng(0)
    n, d, nonzeros = SHAPES[kind]

    def make(n, d):
        X = rows_of(rng, n, d, nonzeros) if nonzeros else rng.normal(size=(n, d))
        if kind == CLASSES:
            return X, np.asarray(X[:, :50] @ rng.normal(size=(50, COUNT))).argmax(axis=1)
        return X, X[:, :10] @ rng.normal(size=10) + 0.3 * rng.normal(size=n) > 0.0

    def fit(X, y):
        settings = FITS.get(solver, {"solver": solver} | HARD)
        if kind == CLASSES:
            settings |= {"loss": "log"}
        return LinearClassifier(random_state=0, **settings).fit(X, y).result_.solver

    fit(*make(max(n // 1000, 20), max(d // 1000, nonzeros, 50)))  # loads all code
    X, y = make(n, d)
    unit = 8.0 * max(n, d)
    if kind == COPIED:
        unit = float(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    elif kind == CLASSES:
        unit = 8.0 * COUNT * (n + d)
    before = reset_resident()
    taken = fit(X, y)
    if solver != "auto" and taken not in (solver, f"dual+{solver}"):
        raise RuntimeError(f"{taken} was taken for {kind}, not {solver}: mend FITS")
    resident = (status("VmHWM") - before) / unit if before is not None else None
    tracemalloc.start()
    fit(X, y)
    return tracemalloc.get_traced_memory()[1] / unit, resident


def reset_resident():
    """Forget the peak of what is resident; what is now, or None if the system can't tell."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return status("VmRSS")
    except OSError:
        return None


def status(field):
    text = Path("/proc/self/status").read_text()
    return 1024.0 * float(re.search(rf"{field}:\s+(\d+)", text)[1])


def rows_of(rng, n, d, nonzeros):
    """Sparse rows with one entry in each of some blocks of columns."""
    block = d // nonzeros
    columns = rng.integers(0, block, (n, nonzeros), dtype=np.int32)
    columns += block * np.arange(nonzeros, dtype=np.int32)
    values = rng.normal(size=n * nonzeros)
    starts = np.arange(0, n * nonzeros + 1, nonzeros, dtype=np.int32)
    return sp.csr_array((values, columns.ravel(), starts), shape=(n, d))


def steps():
    import step_cost

    from skimlearn.problem import make_problem

    costs = defaultdict(list)
    for d in (1_000, 1_000_000):
        X, y = step_cost.make_rows(100_000, d, 50, seed=0)
        for name, (p, begin) in step_cost.methods().items():
            problem = make_problem(X, y, loss="log", alpha=1e-4, p=p)
            touch = step_cost.touch_seconds(problem, 7)
            costs[name].append(step_cost.step_seconds(problem, begin, 7) / touch)
    for name, (few, many) in costs.items():
        yield Line("steps", f"{name}: 1e6 columns beside 1e3", many / few, "times", 1.5)


def rows():
    """The least reading and time to a test error over alpha, with more and more rows at hand."""
    rng = np.random.default_rng(0)
    d, tests, sizes = 1_000, 10_000, [1_000, 2_000, 4_000, 16_000, 64_000]
    X = rows_of(rng, sizes[-1] + tests, d, 20)
    z = X @ rng.normal(size=d)
    y = np.where(z + 0.2 * z.std() * rng.normal(size=len(z)) > 0.0, 1, -1)
    test, X, y = (X[:tests], y[:tests]), X[tests:], y[tests:]
    alphas = 10.0 ** np.arange(-3.5, 0.6, 0.5)
    target = least_error(X[: sizes[0]], y[: sizes[0]], test, alphas) + 0.005
    yield Line("rows", "test error to be reached", target)
    found = []
    for n in sizes:
        runs = [stream(X[:n], y[:n], test, alpha, target) for alpha in alphas]
        found.append(np.min(runs, axis=0))
        yield Line("rows", f"{n:,} rows at hand: visits", found[-1][0])
        yield Line("rows", f"{n:,} rows at hand: seconds", found[-1][1], "s")
    visits, seconds = found[-1] / found[0]
    compared = f"with {sizes[-1]:,} rows beside {sizes[0]:,}"
    yield Line("rows", f"visits {compared}", visits, "times", 1.0)
    yield Line("rows", f"seconds {compared}", seconds, "times", 1.0)


def least_error(X, y, test, alphas):
    """The least test error of exact answers."""
    from skimlearn import LinearClassifier

    models = (LinearClassifier(alpha=alpha, random_state=0).fit(X, y) for alpha in alphas)
    return min(1.0 - model.score(*test) for model in models)


def stream(X, y, test, alpha, target, batch=250, most=40_000, seeds=3):
    """The median numbers of visits and seconds of `partial_fit` until a test error is reached."""
    from skimlearn import LinearClassifier

    runs = []
    for seed in range(seeds):
        rng, model = np.random.default_rng(seed), LinearClassifier(alpha=alpha, random_state=seed)
        visits, seconds, order = 0, 0.0, np.empty(0, dtype=np.int64)
        while visits < most:
            if not len(order):
                order = rng.permutation(len(y))
            chosen, order = order[:batch], order[batch:]
            part = X[chosen], y[chosen]
            began = time.process_time()
            model.partial_fit(*part, classes=[-1, 1])
            seconds += time.process_time() - began
            visits += len(chosen)
            if 1.0 - model.score(*test) <= target:
                runs.append((visits, seconds))
                break
        else:
            runs.append((np.inf, np.inf))
    return np.median(runs, axis=0)


def predictions():
    from sklearn.svm import LinearSVC

    from skimlearn import LinearClassifier

    rng = np.random.default_rng(0)
    made = {"CSR": rows_of(rng, 200_000, 10_000, 50), "dense": rng.normal(size=(50_000, 200))}
    for kind, X in made.items():
        y = rng.random(X.shape[0]) < 0.5
        for dtype in (np.float64, np.float32):
            Z = X.astype(dtype)
            models = [LinearClassifier(tol=0.5), LinearSVC(tol=0.5, max_iter=5)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                models = [model.fit(Z[:2_000], y[:2_000]) for model in models]
            best = [float("inf")] * 2
            for _ in range(15):
                for k, model in enumerate(models):
                    began = time.process_time()
                    model.predict(Z)
                    best[k] = min(best[k], time.process_time() - began)
            name = f"{kind}, {np.dtype(dtype).name}"
            yield Line("predict", f"{name}: a million rows per second", 1e-6 * len(y) / best[0])
            ratio = best[1] / best[0]
            yield Line("predict", f"{name}: scikit-learn's time / ours", ratio, least=0.8)


TOPICS = {
    "import": imports,
    "start": starts,
    "memory": memory,
    "steps": steps,
    "rows": rows,
    "predict": predictions,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=TOPICS, default=list(TOPICS))
    options = parser.parse_args()
    broken = 0
    for topic in options.only:
        for line in TOPICS[topic]():
            print(line.text, flush=True)
            broken += not line.held
    print(f"\n{broken} limits are not held" if broken else "\nall limits are held")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
