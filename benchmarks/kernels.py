"""Kernel machines with a certificate, beside LIBSVM and beside random features.

    python benchmarks/kernels.py --data FOLDER [--only mnist covtype] [--rows 100000] [--balls]
                                 [--out docs/kernels.md]

For each data set, one after the other, in one process: scikit-learn's SVC (LIBSVM, with a cache of
1 GB), `KernelClassifier` with the same kernel, the same C = 1 / (alpha n), and as much memory, on
one thread as LIBSVM and on all, and 1,000 Nystroem features with `LinearClassifier`. `--balls` puts
OneClassSVM beside `EnclosingBall(kernel="rbf")`, which for this kernel are the same problem, on
rows of one class. Test rows take no part in the fit; of more than 20,000 the first ones are scored.
All rows are given in float32, of which LIBSVM makes float64.

``seconds`` are those of the clock, ``cpu`` those of the processor, which others that use the
machine change less. ``values`` are values of the kernel per row (for SVC they are not known),
``gap`` is the certified relative gap. `--out` writes the table into a page, between the markers
``<!-- table: race -->`` and ``<!-- end -->``; lines of sets that are not in this run stay there, so
that sets can be measured one by one. FOLDER has a module ``loaders``; see the README of the
benchmarks.
"""

import argparse
import os
import platform
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from race import problems
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import SVC, OneClassSVM

from skimlearn import EnclosingBall, KernelClassifier, LinearClassifier

# C and gamma: common choices; those of covtype are the best of six on 10,000 rows
SETS = {
    "a9a": (1.0, 0.05),
    "ijcnn1": (10.0, 2.0),
    "mnist": (10.0, "scale"),
    "covtype": (10.0, 0.1),
}
MEMORY = 1000  # megabytes
SCORED = 20_000
LINES = []  # of the table
HEAD = ["set", "rows", "method", "seconds", "cpu", "accuracy", "support", "values", "gap"]


def measured(fit):
    clock, cpu = time.perf_counter(), time.process_time()
    model = fit()
    return model, time.perf_counter() - clock, time.process_time() - cpu


def show(name, n, method, seconds, cpu, accuracy, support="", values="", gap=""):
    cells = (
        name,
        n,
        method,
        f"{seconds:.1f}",
        f"{cpu:.1f}",
        f"{accuracy:.4f}",
        support,
        values,
        gap,
    )
    line = "| " + " | ".join(map(str, cells)) + " |"
    LINES.append(line)
    print(line, flush=True)


def gamma_of(gamma, X):
    if gamma != "scale":
        return gamma
    mean = X.mean()
    square = X.multiply(X).mean() if sp.issparse(X) else float((X * X).mean())
    return float(1.0 / (X.shape[1] * (square - mean * mean)))


def in_float32(X):
    return X.astype(np.float32) if sp.issparse(X) else np.ascontiguousarray(X, dtype=np.float32)


def race(name, problem, rows):
    C, gamma = SETS[name]
    X, y = problem.X[:rows], problem.y[:rows]
    tests, truth = problem.X_test[:SCORED], problem.y_test[:SCORED]
    X, tests = in_float32(X), in_float32(tests)
    n, gamma = X.shape[0], gamma_of(gamma, X)
    few = np.concatenate([np.flatnonzero(y == kind)[:50] for kind in np.unique(y)])
    KernelClassifier(gamma=gamma).fit(X[few], y[few])  # compiled before the clock runs
    for jobs, method in ((1, "KernelClassifier"), (-1, "KernelClassifier, all cores")):
        model = KernelClassifier(
            gamma=gamma, alpha=1.0 / (C * n), cache_bytes=MEMORY * 10**6, n_jobs=jobs,
            random_state=0,
        )  # fmt: skip
        model, *times = measured(lambda model=model: model.fit(X, y))
        reads = model.result_.reads.dense / X.shape[1] / n
        gap = max(r.certificate.relative_gap for r in model.results_)
        score = model.score(tests, truth)
        show(name, n, method, *times, score, len(model.support_), f"{reads:.0f}", f"{gap:.1e}")
    features = Nystroem(gamma=gamma, n_components=1000, random_state=0)
    linear = LinearClassifier(alpha=1.0 / (C * n), random_state=0, tol=1e-2)
    linear, *times = measured(lambda: linear.fit(features.fit_transform(X), y))
    score = linear.score(features.transform(tests), truth)
    gap = max(r.certificate.relative_gap for r in linear.results_)
    show(name, n, "Nystroem + LinearClassifier", *times, score, "", "1000", f"{gap:.1e}")
    svc = SVC(C=C, gamma=gamma, cache_size=MEMORY)
    svc, *times = measured(lambda: svc.fit(X, y))
    show(name, n, "SVC", *times, svc.score(tests, truth), svc.n_support_.sum())


def race_of_balls(name, problem, rows, nu=0.1):
    """One class is known; the score is the balanced accuracy in telling the others from it."""
    kind = problem.y[0]
    X = problem.X[problem.y == kind][:rows]
    tests, truth = problem.X_test[:SCORED], problem.y_test[:SCORED] == kind
    X, tests = in_float32(X), in_float32(tests)
    gamma = gamma_of("scale", X)
    EnclosingBall(kernel="rbf").fit(X[:200])
    for method, model in (
        ("EnclosingBall", EnclosingBall(kernel="rbf", gamma=gamma, contamination=nu, eps=1e-3,
                                        random_state=0)),
        ("OneClassSVM", OneClassSVM(gamma=gamma, nu=nu, cache_size=MEMORY)),
    ):  # fmt: skip
        model, *times = measured(lambda model=model: model.fit(X))
        inside = model.predict(tests) > 0
        score = 0.5 * (inside[truth].mean() + (~inside[~truth]).mean())
        gap, values = "", ""
        if method == "EnclosingBall":
            gap = f"{model.result_.certificate.relative_gap:.1e}"
            values = f"{model.result_.reads.dense / X.shape[1] / X.shape[0]:.0f}"
        show(name, X.shape[0], method, *times, score, len(model.support_), values, gap)


def write(page, given):
    """Put the lines into the table of a page, in place of the former ones of the same sets."""
    marked = re.compile(r"(<!-- table: race -->\n)(.*?)(<!-- end -->)", re.DOTALL)
    text = Path(page).read_text()
    found = marked.search(text)
    if not found:
        raise SystemExit(f"{page} has no part between <!-- table: race --> and <!-- end -->")
    by_set, notes = {name: [] for name in SETS}, {}
    for line in found[2].splitlines():
        name, note = line.strip("| ").partition(" |")[0], line.strip("- ").partition(": ")
        if name in by_set and name not in given.only:
            by_set[name].append(line)
        elif note[0] in SETS:
            notes[note[0]] = note[2]
    for line in LINES:
        by_set[line.strip("| ").partition(" |")[0]].append(line)
    lines = [line for name in SETS for line in by_set[name]]
    table = "\n".join(["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|", *lines])
    machine = f"{platform.processor() or platform.machine()}, {platform.system()}"
    now = f"`--rows {given.rows}` on {machine}, {os.cpu_count()} cores."
    notes |= dict.fromkeys(given.only, now)
    said = "\n".join(f"- {name}: {notes[name]}" for name in SETS if name in notes)
    Path(page).write_text(marked.sub(lambda m: f"{m[1]}{table}\n\n{said}\n{m[3]}", text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True, help="a folder with a module loaders")
    parser.add_argument("--only", nargs="+", choices=sorted(SETS), default=sorted(SETS))
    parser.add_argument("--rows", type=int, default=100_000, help="rows to learn from, at most")
    parser.add_argument("--cache", help="a folder for the prepared data")
    parser.add_argument("--balls", action="store_true", help="one class against novelties")
    parser.add_argument("--out", help="a page whose table is to be written anew")
    given = parser.parse_args()
    if given.balls and given.out:
        parser.error("--out is for the race of classifiers: leave out --balls, or --out")
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            if name in given.only:
                place = problems.prepare(name, given.data, given.cache or folder)
                (race_of_balls if given.balls else race)(name, problems.load(place), given.rows)
    if given.out:
        write(given.out, given)


if __name__ == "__main__":
    main()
