"""The last digits of a margin: working set, variance-reduced extragradient and mirror-prox.

    python experiments/finish.py [--quick] [--out FOLDER]

The problems of benchmarks/finishers.py, from a loose to a tight gap. The sublinear steps are good
for a first answer; what should come after them? Seconds are CPU time. Needs no data.
"""

from pathlib import Path

import numpy as np
from _common import cpu_clock, main, number, source, table
from finishers import GAPS, cloud

from skimlearn.data.columns import as_matrix
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.extragradient import extragradient
from skimlearn.solvers.mirror_prox import mirror_prox
from skimlearn.solvers.working_set import working_set

SOLVERS = ("working set", "extragradient", "mirror-prox")


def measure(options):
    n, d = (200, 60) if options.quick else (1000, 300)
    X, y = cloud(n, d, np.random.default_rng(0))
    matrix = as_matrix(X)
    limits = Limits(eps=GAPS[-1], max_seconds=2.0 if options.quick else 25.0)
    found = {"rows": n, "columns": d, "gaps": GAPS, "problems": {}}
    few = as_matrix(X[:50])
    for name, cap in (("hard margin", 1.0), ("kappa = 0.2", 1.0 / (0.2 * n))):
        solve(few, y[:50], max(cap, 0.1), Limits(eps=0.1))  # compiles
        with cpu_clock():
            results = solve(matrix, y, cap, limits)
        found["problems"][name] = {
            solver: {
                "passes": [r.reads / matrix.entries for r in thinned(result.history)],
                "seconds": [r.seconds for r in thinned(result.history)],
                "gap": [r.dual - r.primal for r in thinned(result.history)],
                "status": result.status.value,
            }
            for solver, result in results.items()
        }
        print(f"{name}: done", flush=True)
    return found


def solve(matrix, y, cap, limits):
    given = {"cap": cap, "bias": False, "limits": limits}
    return {
        "working set": working_set(matrix, y, **given),
        "extragradient": extragradient(matrix, y, rng=np.random.default_rng(0), **given),
        "mirror-prox": mirror_prox(matrix, y, **given),
    }


def thinned(history, most=0.9):
    """The checks at which the gap has become smaller by a tenth, and the last."""
    kept = [history[0]]
    for record in history:
        if record.dual - record.primal <= most * (kept[-1].dual - kept[-1].primal):
            kept.append(record)
    return [*kept, history[-1]]


def first(entry, gap, what):
    held = np.array(entry["gap"]) <= gap
    return entry[what][int(held.argmax())] if held.any() else None


def texts(found):
    rows, verdict = [], []
    for name, by_solver in found["problems"].items():
        for solver, entry in by_solver.items():
            cells = [
                f"{number(first(entry, gap, 'passes'))} ({number(first(entry, gap, 'seconds'), 2)})"
                for gap in found["gaps"]
            ]
            rows.append([name, solver, *cells, entry["status"]])
        gap = found["gaps"][2]
        passes = {s: first(e, gap, "passes") for s, e in by_solver.items()}
        verdict.append(f"- {name}, passes to a gap of {gap:g}: " + ", ".join(
            f"{solver} {number(value)}" for solver, value in passes.items()) + ".")  # fmt: skip
    return {
        "passes": table(["problem", "solver", *(f"{gap:g}" for gap in found["gaps"]),
                         "why it stopped"], rows),
        "verdict": "\n".join(verdict) + "\n\n" + source(found),
    }  # fmt: skip


def draw(found):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.7), layout="constrained", sharey=True)
    for axis, (name, by_solver) in zip(axes, found["problems"].items(), strict=True):
        for solver, colour in zip(SOLVERS, ("C0", "C3", "C2"), strict=True):
            entry = by_solver[solver]
            gap = np.array(entry["gap"], dtype=float)
            axis.loglog(entry["passes"], np.where(gap > 0.0, gap, np.nan), "-o", ms=2.5,
                        color=colour, label=solver)  # fmt: skip
        axis.set(title=f"{name}, {found['rows']:,} x {found['columns']:,}",
                 xlabel="entries read, in passes over the data")  # fmt: skip
    axes[0].set_ylabel("certified gap (longest row = 1)")
    axes[0].set_ylim(0.5 * found["gaps"][-1], 1.0)
    axes[0].legend()
    return figure


if __name__ == "__main__":
    main(Path(__file__).stem, measure, texts, draw, __doc__)
