"""Certificates over time: the gap that each solver can prove, beside what it really is.

    python experiments/certificates.py [--quick] [--data FOLDER] [--out FOLDER]

Every solver of `LinearClassifier` on package descriptions, reviews and the mail corpus (hinge and
log loss), and the solvers of margins on dense digits (gisette) or made rows. Each line is a
`result_.history`: primal and dual value at the checks. A check is sound if the true distance, known
afterwards from a run to a gap of 1e-8, is not above the certified one. Seconds are CPU time.
"""

import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _common import cpu_clock, main, number, problem, source, table
from _reads_problems import real_tasks
from finishers import cloud
from sklearn.exceptions import ConvergenceWarning

from skimlearn import LinearClassifier, max_margin

SOLVERS = ("sgd", "asgd", "casgd", "ftrl", "pegasos", "pgs", "dual", "auto")
MARGINS = ("simba", "tracking", "extragradient", "working-set")
LOSSES = ("hinge", "log")
ALPHA = 1e-4
LEVELS = (1e-1, 1e-2, 1e-3, 1e-4)


def measure(options):
    names = ("spam",) if options.quick else ("spam", "debian", "imdb")
    sets = {}
    for name in names:
        given = problem(name, options)
        cut = 1000 if options.quick else None
        X, y = sp.csr_array(given.X[:cut]), given.y[:cut]
        entry = {"rows": X.shape[0], "columns": X.shape[1], "stored": X.nnz, "losses": {}}
        for loss in LOSSES[:1] if options.quick else LOSSES:
            entry["losses"][loss] = by_solver(X, y, loss, options.quick)
        sets[given.name] = entry
        print(f"{given.name}: done", flush=True)
    return {"alpha": ALPHA, "sets": sets, "margins": margins(options)}


def by_solver(X, y, loss, quick):
    """The history of each solver, as gaps relative to the optimum."""
    for solver in SOLVERS:  # compiles
        fit(X[:200], y[:200], loss, solver=solver, tol=1e-5, max_epochs=2)
    with cpu_clock():
        fits = {
            solver: fit(X, y, loss, solver=solver, tol=1e-5, max_epochs=10 if quick else 100)
            for solver in SOLVERS
        }
    optima = {
        solver: fit(X, y, loss, solver=solver, tol=1e-8, max_epochs=10_000, bias=bias).certificate
        for solver, bias in (("auto", "none"), ("dual", "free"))
    }
    found = {"solvers": {}}
    for solver, result in fits.items():
        best = optima["dual" if solver == "casgd" else "auto"]
        primal, dual, reads, seconds = history(result)
        found["solvers"][solver] = {
            "checks": len(result.history), "passes": reads / X.nnz, "seconds": seconds,
            "gap": (primal - dual) / best.primal, "true": (primal - best.primal) / best.primal,
            "unsound": int(np.sum((primal < best.dual - 1e-12) | (dual > best.primal + 1e-12))),
        }  # fmt: skip
        found["solvers"][solver] = thinned(found["solvers"][solver], primal - dual)
    return found


def fit(X, y, loss, *, solver, bias=None, **options):
    """No bias, but for centred SGD, which needs a free one."""
    bias = bias or ("free" if solver == "casgd" else "none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some are cut off on purpose
        model = LinearClassifier(
            loss=loss, alpha=ALPHA, solver=solver, bias=bias, random_state=0, **options
        )
        return model.fit(X, y).result_


def history(result):
    return np.array([(r.primal, r.dual, r.reads, r.seconds) for r in result.history]).T


def thinned(line, gap):
    """Without the checks at which hardly anything has changed."""
    kept = [0]
    for at in range(1, len(gap)):
        if gap[at] <= 0.97 * gap[kept[-1]] or not np.isfinite(gap[kept[-1]]) or at == len(gap) - 1:
            kept.append(at)
    return {k: v[kept] if isinstance(v, np.ndarray) else v for k, v in line.items()}


def margins(options):
    """The same for the greatest margin: upper minus lower bound, in units of the longest row."""
    if options.data is not None and not options.quick:
        try:
            task = real_tasks(options.data, most_rows=0, quick=False)["gisette"]()
            X, y, name = task.X, task.y, "gisette"
        except OSError:
            options.data = None
    if options.data is None or options.quick:
        X, y = cloud(300, 100, np.random.default_rng(0)) if options.quick else cloud(
            2000, 500, np.random.default_rng(0))  # fmt: skip
        name = "made rows"
    found = {"name": name, "rows": X.shape[0], "columns": X.shape[1], "solvers": {}}
    best = max_margin(X, y, eps=1e-6, solver="working-set", random_state=0).certificate
    found["optimum"] = best.primal
    for solver in MARGINS:
        max_margin(X[:100], y[:100], eps=0.5, solver=solver, random_state=0)  # compiles
        with cpu_clock():
            result = max_margin(X, y, eps=1e-3, solver=solver, random_state=0,
                                max_seconds=0.5 if options.quick else 20.0)  # fmt: skip
        primal, dual, reads, seconds = history(result)
        found["solvers"][solver] = {
            "checks": len(result.history), "passes": reads / X.size, "seconds": seconds,
            "gap": dual - primal,
            "true": best.primal - primal, "status": result.status.value,
            "unsound": int(np.sum((primal > best.upper + 1e-9) | (dual < best.lower - 1e-9))),
        }  # fmt: skip
        found["solvers"][solver] = thinned(found["solvers"][solver], dual - primal)
        print(f"{name}, {solver}: done", flush=True)
    return found


# ---------------------------------------------------------------------------------------- results


def passes_to(entry, level):
    held = np.array(entry["gap"], dtype=float) <= level
    return entry["passes"][int(held.argmax())] if held.any() else None


def texts(found):
    head = ["problem", "loss", "solver", *(f"{x:g}" for x in LEVELS),
            "true / certified gap at the end", "unsound checks"]  # fmt: skip
    rows, unsound, checks = [], 0, 0
    for name, data in found["sets"].items():
        for loss, entry in data["losses"].items():
            for solver, line in entry["solvers"].items():
                share = max(line["true"][-1], 0.0) / max(line["gap"][-1], 1e-300)
                rows.append([name, loss, solver, *(number(passes_to(line, x)) for x in LEVELS),
                             number(share, 2), line["unsound"]])  # fmt: skip
                unsound, checks = unsound + line["unsound"], checks + line["checks"]
    margin = found["margins"]
    lines = []
    for solver, line in margin["solvers"].items():
        lines.append([margin["name"], solver, *(number(passes_to(line, x)) for x in LEVELS[:3]),
                      number(line["gap"][-1], 2), line["status"], line["unsound"]])  # fmt: skip
        unsound, checks = unsound + line["unsound"], checks + line["checks"]
    return {
        "passes": table(head, rows),
        "margins": table(["problem", "solver", *(f"{x:g}" for x in LEVELS[:3]), "gap at the end",
                          "why it stopped", "unsound checks"], lines),
        "verdict": f"Of {checks:,} checks {unsound} are unsound.\n\n" + source(found),
    }  # fmt: skip


def draw(found):
    import matplotlib.pyplot as plt

    panels = [(name, loss) for name, data in found["sets"].items() for loss in data["losses"]]
    count = len(panels) + 1
    wide = min(4, count)
    high = -(-count // wide)
    figure, axes = plt.subplots(high, wide, figsize=(3.4 * wide, 3.3 * high),
                                layout="constrained", squeeze=False, sharey=True)  # fmt: skip
    styles = {"sgd": "C1", "asgd": "C2", "casgd": "C4", "ftrl": "C7", "pegasos": "C5", "pgs": "C6",
              "dual": "C3", "auto": "C0"}  # fmt: skip
    for axis, (name, loss) in zip(axes.flat, panels, strict=False):
        solvers = found["sets"][name]["losses"][loss]["solvers"]
        for solver, colour in styles.items():
            line = solvers[solver]
            lines(axis, line, colour, f'"{solver}"', lw=2 if solver == "auto" else 1.2)
        axis.set(title=f"{name}, {loss} loss", xlabel="seconds (CPU)")
    axis = axes.flat[len(panels)]
    for at, (solver, line) in enumerate(found["margins"]["solvers"].items()):
        lines(axis, line, f"C{at}", f'"{solver}"')
    axis.set(title=f"greatest margin, {found['margins']['name']}", xlabel="seconds (CPU)")
    axis.legend(fontsize=7.5)
    axes.flat[0].legend(fontsize=7.5)
    for line in axes:
        line[0].set_ylabel("gap (dashed: true distance)")
    for axis in axes.flat[:count]:
        axis.minorticks_off()
    for axis in axes.flat[count:]:
        axis.set_visible(False)
    axes.flat[0].set_ylim(1e-6, 2)
    return figure


def lines(axis, line, colour, label, lw=1.2):
    """Certified gap, and, dashed, the true distance."""
    seconds = np.array(line["seconds"])
    gap, true = (np.array(line[key], dtype=float) for key in ("gap", "true"))
    gap, true = (np.where(v > 0.0, v, np.nan) for v in (gap, true))
    axis.loglog(seconds, gap, "-", color=colour, lw=lw, label=label)
    axis.loglog(seconds, true, "--", color=colour, lw=0.8)


if __name__ == "__main__":
    main(Path(__file__).stem, measure, texts, draw, __doc__)
