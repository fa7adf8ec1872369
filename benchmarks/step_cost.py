"""Seconds per step against the number of columns d, at a fixed number of nonzeros per row.

    python benchmarks/step_cost.py

A step of every solver touches the stored entries of one row and nothing else, so its cost may grow
with d only as far as memory itself does: once the weights no longer fit into the caches, touching
50 of them takes longer, whatever the algorithm. The column "touch" shows that part alone: one
product and one update per row, with random columns, and no algorithm. The second table divides by
it.

What is done once per run and costs O(d) (zeroing the weights, the answer at the end) is excluded:
the time of a third of an epoch is subtracted from that of a whole one. The logarithmic loss is used
because each of its steps changes the weights; a step of the hinge does so for rows inside of the
margin only. As in a fit, BLAS has one thread: the time of threads that spin is no part of a step.
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp

from skimlearn.data.blas import one_thread_for
from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import combine, responses
from skimlearn.problem import make_problem
from skimlearn.solvers import dual, pegasos, pgs, sgd


def make_rows(n, d, nonzeros, seed):
    """A sparse matrix with one entry in each of so many blocks of columns, and labels."""
    rng = np.random.default_rng(seed)
    block = d // nonzeros
    columns = rng.integers(0, block, (n, nonzeros)) + block * np.arange(nonzeros)
    values = rng.normal(size=(n, nonzeros)) / np.sqrt(nonzeros)
    starts = np.arange(0, n * nonzeros + 1, nonzeros)
    X = sp.csr_array((values.ravel(), columns.ravel().astype(np.int32), starts), shape=(n, d))
    return X, np.where(rng.random(n) < 0.5, -1.0, 1.0)


def methods():
    """The solvers: the norm of the regularizer, and how to begin."""
    rng = np.random.default_rng(0)
    return {
        "sgd": (2, lambda p, g: sgd.Sgd(p, g, sgd.Settings(average="last"), rng)),
        "asgd": (2, lambda p, g: sgd.Sgd(p, g, sgd.Settings(average="mean"), rng)),
        "casgd": (2, lambda p, g: sgd.Sgd(p, g, sgd.Settings(average="mean", centred=True), rng)),
        "pegasos": (2, lambda p, g: pegasos.Pegasos(p, g, pegasos.Settings(average="mean"), rng)),
        "pgs p=1.5": (1.5, lambda p, g: pgs.Pgs(p, g, pgs.Settings(average="mean"), rng)),
        "dual": (2, lambda p, g: dual.DualAscent(p, g, dual.Settings())),
    }


def seconds_of(work, repeats):
    """The least time of some repetitions; ``work`` prepares and returns what is timed."""
    times = []
    for _ in range(repeats):
        run = work()
        start = time.process_time()  # of one thread: other work on the machine counts less
        run()
        times.append(time.process_time() - start)
    return min(times)


def step_seconds(problem, begin, repeats):
    """Seconds per step: an epoch minus a third of it, divided by the visits of the difference."""
    order = np.random.default_rng(1).permutation(problem.n)
    third = problem.n // 3

    def prepare(visits):
        method = begin(problem, Ledger(problem.rows))

        def run():
            method.visit(order[:visits])
            method.answer()

        return run

    with one_thread_for(problem.rows):
        prepare(third)()  # compiles
        long, short = (seconds_of(lambda v=v: prepare(v), repeats) for v in (problem.n, third))
    return (long - short) / (problem.n - third)


def touch_seconds(problem, repeats):
    """Seconds per row for one product and one update, nothing else."""
    w, out, ones = np.zeros(problem.d), np.zeros(problem.n), np.ones(problem.n)

    def run():
        responses(problem.rows, w, out)
        combine(problem.rows, ones, w)

    run()
    return seconds_of(lambda: run, repeats) / problem.n


def show(title, names, table, form):
    print(f"\n{title}")
    print("d".rjust(9), *(name.rjust(10) for name in names))
    for d, line in table.items():
        print(f"{d:9.0e}", *(form(line[name]).rjust(10) for name in names), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", type=float, nargs="+", default=[1e3, 1e4, 1e5, 1e6, 1e7])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--nonzeros", type=int, default=50, help="of each row")
    parser.add_argument("--alpha", type=float, default=1e-4)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    names, table = ["touch", *methods()], {}
    for d in map(int, options.columns):
        X, y = make_rows(options.rows, d, options.nonzeros, options.seed)
        line = {}
        for name, (p, begin) in methods().items():
            problem = make_problem(X, y, loss="log", alpha=options.alpha, p=p)
            line.setdefault("touch", touch_seconds(problem, options.repeats))
            line[name] = step_seconds(problem, begin, options.repeats)
        table[d] = line
    size = f"{options.nonzeros} nonzeros per row, {options.rows:,} rows"
    show(f"microseconds per step, {size}", names, table, lambda t: f"{1e6 * t:.2f}")
    relative = {d: {k: t / line["touch"] for k, t in line.items()} for d, line in table.items()}
    show("the same, divided by touch", names, relative, lambda t: f"{t:.2f}")


if __name__ == "__main__":
    main()
