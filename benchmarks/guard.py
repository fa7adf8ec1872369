"""Has a hot kernel become slower? Its time in units of a plain loop over the same kind of arrays.

    python benchmarks/guard.py                    # against the baseline of this kind of processor
    python benchmarks/guard.py --update           # take what is measured now as the baseline
    python benchmarks/guard.py --against FOLDER   # against another checkout, on any machine

A ratio to a reference loop, measured in the same process by turns with it, says more than a time:
what slows down the machine slows down both. Both are CPU times, the least of many short runs, so
that other work on the machine hardly matters. A loss must show in each of several processes before
it is believed. The reference loops are compiled here, with options of their own: a change of the
package's options is seen.

Ratios belong to a kind of processor. `guard.json`, next to this file, has those of the kinds that
were measured; on another there is nothing to compare with, and the exit status is 2. There,
``--against`` measures another checkout (that of the branch a change starts from, say) by turns
with this one. The exit status is 1 if a kernel has lost more than a quarter.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASELINE = HERE / "guard.json"
TOLERANCE = 0.25  # a loss of more is a failure
ROUNDS = 4  # processes before a loss is believed
REPEATS = 150  # short runs of each kernel in a process


# ------------------------------------------------------------------------------- what is measured


def references():
    """The plain loops: products gathered by index, products in order, a count of lines."""
    import numba

    @numba.njit(fastmath=True)
    def gather(values, columns, w, passes):
        total = 0.0
        for _ in range(passes):
            for k in range(len(values)):
                total += w[columns[k]] * values[k]
            w[0] = total  # so that no pass can be left out
        return total

    @numba.njit(fastmath=True)
    def product(values, w, passes):
        total = 0.0
        for _ in range(passes):
            for i in range(values.shape[0]):
                for j in range(values.shape[1]):
                    total += w[j] * values[i, j]
            w[0] = total
        return total

    @numba.njit
    def scan(text, passes):
        lines = 0
        for k in range(passes):
            for byte in text:
                lines += byte == 10 + k
        return lines

    return gather, product, scan


def cases():
    """Runs of the reference loops; and by kernel, its reference and what prepares a run of it.

    A run takes a tenth of a millisecond or more, and its arrays fit into the nearer caches, where
    the speed of a kernel does not hang on what others do to the memory.
    """
    import numpy as np
    from step_cost import make_rows

    from skimlearn import read_svmlight, write_svmlight
    from skimlearn.data.columns import Matrix
    from skimlearn.data.ledger import Ledger
    from skimlearn.data.rows import Dense, responses
    from skimlearn.problem import make_problem
    from skimlearn.solvers import dual, sgd
    from skimlearn.solvers._margin_skim import MarginSkim
    from skimlearn.solvers.tracking import Tracking

    rng = np.random.default_rng(0)
    X, y = make_rows(2_000, 5_000, 50, seed=0)
    sparse = make_problem(X, y, loss="hinge", alpha=1e-4)
    table = rng.normal(size=(2_000, 100))
    dense = make_problem(table, y, loss="hinge", alpha=1e-4)
    w, out = rng.normal(size=X.shape[1]), np.empty(len(y))
    square = rng.standard_normal((400, 400), dtype=np.float32)
    matrix = Matrix(Dense(square), Dense(np.ascontiguousarray(square.T)))
    file = io.BytesIO()
    write_svmlight(X[:1_500], y[:1_500], file)
    text = file.getvalue()

    gather, product, scan = references()
    indices, letters = X.indices.view(np.uint32), np.frombuffer(text, dtype=np.uint8)
    loops = {
        "gather": lambda: gather(X.data, indices, 1e-9 * w, 4),
        "product": lambda: product(table, 1e-9 * w[:100], 8),
        "scan": lambda: scan(letters, 4),
    }

    def multiply():
        return lambda: [responses(sparse.rows, w, out) for _ in range(4)]

    def epoch(problem, begin):
        order = np.random.default_rng(1).permutation(problem.n)

        def prepare():
            method = begin(problem, Ledger(problem.rows))
            return lambda: method.visit(order)

        return prepare

    def ascent(problem, ledger):
        return dual.DualAscent(problem, ledger, dual.Settings())

    def averaged(problem, ledger):
        return sgd.Sgd(problem, ledger, sgd.Settings(average="mean"), np.random.default_rng(0))

    def track():
        rng, settings = np.random.default_rng(0), Tracking()
        skim = MarginSkim(matrix, rng, y=y[:400], settings=settings, eps=1.0, length=40.0)
        return lambda: skim.advance(300, None)

    def read():
        return lambda: read_svmlight(text, n_jobs=1)

    return loops, {
        "responses, CSR": ("gather", multiply),
        "dual ascent, CSR": ("gather", epoch(sparse, ascent)),
        "averaged SGD, CSR": ("gather", epoch(sparse, averaged)),
        "dual ascent, dense": ("product", epoch(dense, ascent)),
        "tracking, dense": ("product", track),
        "svmlight reader": ("scan", read),
    }


def measure(repeats):
    """The ratio of each kernel's least CPU time to that of its reference, in this process."""
    loops, kernels = cases()
    best = dict.fromkeys([*loops, *kernels], float("inf"))

    def run(name, work):
        start = time.process_time()
        work()
        best[name] = min(best[name], time.process_time() - start)

    for _ in range(repeats):
        for name, (reference, prepare) in kernels.items():
            run(reference, loops[reference])
            run(name, prepare())
    return {name: best[name] / best[reference] for name, (reference, _) in kernels.items()}


def measured(folder, repeats=REPEATS):
    """The ratios of a checkout, in a process of its own."""
    sources = [str(Path(folder) / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, __file__, "--measure", str(repeats)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sources))},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{folder}: could not be measured")
    return json.loads(done.stdout)


# ---------------------------------------------------------------------------------- what is held


def losses(ratios, baseline):
    """By kernel, by how much it is slower than the baseline; those that one side lacks left out."""
    return {name: ratios[name] / baseline[name] - 1.0 for name in ratios if name in baseline}


def least(rounds):
    """The least ratio of each kernel over all rounds."""
    return {name: min(ratios[name] for ratios in rounds) for name in rounds[0]}


def compare(ours, theirs):
    """Measure until no kernel has lost, or the rounds are over; both sides' ratios.

    ``ours`` measures, and so does ``theirs``, unless it is a baseline.
    """
    mine, other = [], []
    for _ in range(ROUNDS):
        mine.append(ours())
        other.append(theirs() if callable(theirs) else theirs)
        now, baseline = least(mine), least(other)
        if max(losses(now, baseline).values(), default=0.0) <= TOLERANCE:
            break
    return now, baseline


def show(ratios, baseline):
    """Print the table; whether all kernels hold."""
    changes = losses(ratios, baseline)
    print(f"{'kernel':<20} {'ratio':>8} {'baseline':>9} {'change':>8}")
    for name, ratio in ratios.items():
        if name not in changes:
            print(f"{name:<20} {ratio:8.2f} {'-':>9}")
            continue
        change = changes[name]
        note = "  LOSS" if change > TOLERANCE else "  gain" if change < -TOLERANCE else ""
        print(f"{name:<20} {ratio:8.2f} {baseline[name]:9.2f} {100 * change:+7.0f}%{note}")
    lost = [name for name, change in changes.items() if change > TOLERANCE]
    if lost:
        print(f"\nmore than {TOLERANCE:.0%} slower than the baseline: {'; '.join(lost)}")
    elif min(changes.values(), default=0.0) < -TOLERANCE:
        print("\nfaster than the baseline: hold the gain, by --update")
    return not lost


def processor():
    """The kind of processor, as the compiler sees it."""
    from llvmlite import binding

    return binding.get_host_cpu_name()


def update(kind, stored):
    """Take the medians of some rounds as the baseline."""
    rounds = [measured(HERE.parent) for _ in range(ROUNDS)]
    ratios = {name: statistics.median(r[name] for r in rounds) for name in rounds[0]}
    show(ratios, stored.get(kind, {}))
    stored[kind] = {name: round(ratio, 3) for name, ratio in ratios.items()}
    BASELINE.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")
    print(f"\n{BASELINE.name}: the baseline of {kind!r} is what was measured now")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="store the baseline")
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="another checkout")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        measure(2)  # compiles
        print(json.dumps(measure(options.measure)))
        return 0
    stored = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    if options.update:
        update(processor(), stored)
        return 0
    if options.against is not None:
        theirs = lambda: measured(options.against)  # noqa: E731
    elif processor() in stored:
        theirs = stored[processor()]
    else:
        print(
            f"{BASELINE.name} has no baseline of the processor {processor()!r}: make one from a "
            "state known to be good by --update, or compare with a checkout of it by --against",
            file=sys.stderr,
        )
        return 2
    return 0 if show(*compare(lambda: measured(HERE.parent), theirs)) else 1


if __name__ == "__main__":
    sys.exit(main())
