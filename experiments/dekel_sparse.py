"""Dekel's averaged SGD on sparse rows: the cost of a step against the dimension, and centring.

    python experiments/dekel_sparse.py [--quick] [--out FOLDER]

cost     Seconds of a step on rows of 50 entries as the number of columns d grows: the same solver
         on a CSR matrix and on an array of all entries. Rows and clock are those of
         benchmarks/step_cost.py.
shift    All rows are moved by an offset, for each of the paper's four losses. The optimum of a
         problem with a free bias does not change; what ten epochs reach does, but for CASGD.

Needs no data.
"""

from pathlib import Path

import numpy as np
from _common import main, number, source, table
from step_cost import make_rows as sparse_rows
from step_cost import methods, step_seconds

from skimlearn import certificates
from skimlearn.problem import make_problem
from skimlearn.result import Budget
from skimlearn.solvers import choose

NONZEROS = 50
SPARSE = ("asgd", "casgd")
KINDS = {"asgd": "ASGD, sparse", "casgd": "CASGD, sparse", "dense": "ASGD, dense"}
LOSSES = ("squared", "absolute", "hinge", "log")
OFFSETS = (0, 1, 2, 4, 8, 16, 32, 64)
RUNS = {
    "asgd regularized": "ASGD, bias regularised (the paper's)",
    "asgd free": "ASGD, free bias",
    "casgd": "CASGD",
}
EPOCHS, ALPHA = 10, 1e-3


def measure(options):
    return {"cost": cost(options.quick), "shift": shift(options.quick)}


# -------------------------------------------------------------------------------------------- cost


def cost(quick):
    n, repeats, powers = (20_000, 2, (2, 3, 4)) if quick else (200_000, 3, (2, 3, 4, 5, 6))
    cells = 2_000_000 if quick else 20_000_000  # of the array of all entries
    found = {}
    for d in (10**power for power in powers):
        X, y = sparse_rows(n, d, NONZEROS, 0)
        given = make_problem(X, y, loss="log", alpha=1e-4)
        line = {kind: step_seconds(given, methods()[kind][1], repeats) for kind in SPARSE}
        if d <= 10_000:
            part = slice(min(n, cells // d))
            given = make_problem(X[part].toarray(), y[part], loss="log", alpha=1e-4)
            line["dense"] = step_seconds(given, methods()["asgd"][1], repeats)
        found[f"{d}"] = {kind: 1e6 * seconds for kind, seconds in line.items()}
        print(f"d = {d:,}: done", flush=True)
    return found


# ------------------------------------------------------------------------------------------- shift


def make_rows(n, d, loss, rng):
    X = rng.normal(size=(n, d))
    z = X @ (rng.normal(size=d) / np.sqrt(d)) + 0.3 * rng.normal(size=n)
    return X, z if loss in ("squared", "absolute") else np.sign(z)


def shift(quick):
    """Relative distances from the optimum, by loss, by solver, over offsets: medians of seeds."""
    n, d, seeds = (1000, 10, 2) if quick else (5000, 20, 7)
    offsets = (0, 16) if quick else OFFSETS
    found = {"rows": n, "columns": d, "seeds": seeds, "offsets": offsets, "losses": {}}
    for loss in LOSSES:
        X, y = make_rows(n, d, loss, np.random.default_rng(0))
        still = make_problem(X, y, loss=loss, alpha=ALPHA)
        optimum = choose.solve(still, budget=Budget(gap=1e-9), seed=0).certificate.primal
        lines = {name: [] for name in RUNS}
        for offset in offsets:
            moved = X + offset / np.sqrt(d)  # by a vector of this length
            free = make_problem(moved, y, loss=loss, alpha=ALPHA)
            for name in RUNS:
                answers = [run(name, free, seed) for seed in range(seeds)]
                # the best bias is found for every answer, so that all are compared alike
                values = [certificates.primal(free, w).value / optimum - 1.0 for w in answers]
                lines[name].append(np.median(values))
        found["losses"][loss] = lines
        print(f"{loss}: done", flush=True)
    return found


def run(name, free, seed):
    """The weights after some epochs."""
    budget = Budget(epochs=EPOCHS)
    solver, _, bias = name.partition(" ")
    given = free
    if bias == "regularized":
        given = make_problem(
            free.rows.values, free.y, loss=free.loss, alpha=free.alpha, bias="regularized"
        )
    return choose.solve(given, solver, budget=budget, seed=seed).x


# ---------------------------------------------------------------------------------------- results


def texts(found):
    cost, shift = found["cost"], found["shift"]
    lines = [
        [f"{int(d):,}", *(number(line.get(kind), 2) for kind in KINDS)] for d, line in cost.items()
    ]
    rows = [
        [loss, RUNS[name], *(number(value, 2) for value in values)]
        for loss, by_name in shift["losses"].items()
        for name, values in by_name.items()
    ]
    first, last = (cost[d] for d in (min(cost, key=int), max(cost, key=int)))
    both = {int(d): line["dense"] / line["asgd"] for d, line in cost.items() if "dense" in line}
    widest = max(both)
    far = shift["offsets"][-1]
    worst = {name: max(by_name[name][-1] for by_name in shift["losses"].values()) for name in RUNS}
    verdict = (
        f"- A sparse step takes {number(last['asgd'] / first['asgd'], 2)} times as long with "
        f"{max(map(int, cost)):,} columns as with {min(map(int, cost)):,} (CASGD "
        f"{number(last['casgd'] / first['casgd'], 2)} times). A dense step "
        f"takes {number(both[widest], 2)} times as long as a sparse one with {widest:,} columns.\n"
        f"- With an offset of {far} the worst of the four losses is "
        f"{number(worst['asgd free'], 2)} (relative) from the optimum after {EPOCHS} epochs of "
        f"ASGD, and {number(worst['casgd'], 2)} after CASGD."
    )
    return {
        "cost": table(["columns", *(f"{label}, µs" for label in KINDS.values())], lines),
        "shift": table(["loss", "solver", *(f"offset {o:g}" for o in shift["offsets"])], rows),
        "verdict": verdict + "\n\n" + source(found),
    }


def draw(found):
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 6.2), layout="constrained")
    grid = figure.add_gridspec(2, 3, width_ratios=(1.15, 1, 1))
    axis = figure.add_subplot(grid[:, 0])
    for (kind, label), style in zip(KINDS.items(), ("C0-o", "C2-s", "C3-^"), strict=True):
        points = [(int(d), line[kind]) for d, line in found["cost"].items() if kind in line]
        axis.loglog(*zip(*points, strict=True), style, ms=4, label=label)
    axis.set(xlabel="columns d", ylabel="microseconds per step (CPU time)", ylim=(0.05, 20))
    axis.set_title(f"cost of a step, {NONZEROS} entries a row")
    axis.legend()
    shift = found["shift"]
    styles = ("C1--s", "C3-o", "C0-^")
    for at, (loss, by_name) in enumerate(shift["losses"].items()):
        axis = figure.add_subplot(grid[at // 2, 1 + at % 2])
        for (name, label), style in zip(RUNS.items(), styles, strict=True):
            axis.plot(shift["offsets"], by_name[name], style, ms=4, lw=1.3, label=label)
        axis.set_xscale("symlog", linthresh=1, base=2)
        axis.set(yscale="log", title=f"{loss} loss", ylim=(1e-5, 5))
        axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        if at % 2 == 0:
            axis.set_ylabel("relative distance to the optimum", fontsize=9)
        if at >= 2:
            axis.set_xlabel("offset of all rows")
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=2, fontsize=8.5)
    return figure


if __name__ == "__main__":
    main(Path(__file__).stem, measure, texts, draw, __doc__)
