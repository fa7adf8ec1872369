"""How many entries does a solver read until a test error is reached?

    python benchmarks/reads_to_error.py [--data FOLDER] [--out FOLDER] [--quick]
    python benchmarks/reads_to_error.py --data FOLDER --page    # what docs/sublinear.md shows

The sublinear solvers (tracking, simba) beside Pegasos and averaged SGD, each with its best
parameters (of a grid) and its best answer (last iterate, mean, tail) for each problem, counted in
the same ledger. No solver is told when to stop: an error counts as reached if it still holds at the
next look. Medians over seeds (5; 15 for the rare rows, 10 for the map), with the range.

rare     A few rows decide: most rows show one direction, one row in 200 (1,000; 2,000) another one.
         The error is that of the worse kind. Who reads only rows has to find the rare ones first.
fresh    The same with other shapes, shares, margins and seeds than those that the constants of
         the opening of `tracking` were chosen on; and what other constants would do there.
even     Can a run find out by itself whether few rows decide? The effective number of rows,
         1 / sum of p_i^2 as a part of n, along runs on problems of both kinds.
teacher  Labels of a linear teacher, a part R of them flipped. Upper bounds of theory: SIMBA needs
         about (R + delta) times the reads of SGD to an error of R + delta, where d is large. SGD
         is shown beside its own bound, which it beats by far.
real     Data sets, to within 1 % (or one test row) of the best error that any solver ends with.
         The folder is --data or $SKIMLEARN_DATA; sets that are not there are skipped, by name.
map      Where it wins: rare rows against the shape and the density of the matrix (an error of 2 %;
         what is not reached in two passes counts as two passes).

Reads are exact and the same on every machine; seconds (of CPU time) are not. They are those of one
run straight to the step at which the error was reached, the least of some repetitions; what it
takes to hold the matrix by row and by column is shown apart.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # errors are measured on one core too

import numpy as np
from _reads_compare import GRADIENT, SUBLINEAR, best_of, compare, curves_of, settings_of
from _reads_curves import ANSWERS, Setting, make_run
from _reads_page import write_page
from _reads_picture import draw
from _reads_problems import rare_task, real_tasks, sparse_rare_task, teacher_task

from skimlearn.solvers._margin_state import TOP

ALPHAS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


class Report:
    """Prints lines and keeps them."""

    def __init__(self):
        self.lines = []

    def __call__(self, line=""):
        self.lines.append(line)
        print(line, flush=True)


# --------------------------------------------------------------------------------------- the parts


def rare_part(options, report):
    n, d = (2000, 5000) if options.quick else (8000, 20_000)
    report("\n== rare rows that decide ==")
    found = {}
    for rare in (200,) if options.quick else (200, 1000, 2000):
        task = rare_task(n, d, rare, tests=600)
        report(f"\n(both orders of the matrix: {task.matrix.seconds:.2g} s, once)")
        settings = settings_of("tracking", (0.0,), (1, 2, 4)) + settings_of("simba", (0.0,), (1, 2))
        for solver in GRADIENT:
            settings += settings_of(solver, ALPHAS[::2])
        # when SGD meets the first rare row is a matter of luck: more seeds than elsewhere
        curves = curves_of(task, settings, seeds=3 * options.seeds, budget=2.0, goal=0.01)
        found[f"1 row in {rare}"] = compare(task, curves, 0.01, report)
        which_answer(task, options, report)
    return found


def which_answer(task, options, report):
    """Reads of each answer of tracking and simba on one task."""
    curves = curves_of(
        task, [Setting("tracking", 0.0, 2), Setting("simba", 0.0)], seeds=options.seeds,
        budget=1.0, goal=0.01, of=all,
    )  # fmt: skip
    for solver in SUBLINEAR:
        medians = {a: best_of(curves, 0.01, solver, answers=(a,))["median"] for a in ANSWERS}
        line = ", ".join(f"{a} {m / task.stored:.3%}" for a, m in medians.items())
        report(f"{solver}, by answer: {line}")


FRESH = (  # n, d, one row in so many, margin
    (4000, 10_000, 100, 0.3),
    (4000, 10_000, 500, 0.3),
    (10_000, 6000, 100, 0.3),
    (10_000, 6000, 500, 0.3),
    (3000, 20_000, 200, 0.2),
    (3000, 20_000, 1000, 0.4),
    (16_000, 4000, 1000, 0.3),
    (6000, 12_000, 50, 0.3),
)
OPENINGS = {
    "as is": {},
    "none": {"opening": 0.0},
    "half": {"opening": 0.8},
    "double": {"opening": 3.2},
    "sample / 2": {"sample": 500.0},
    "sample * 2": {"sample": 2000.0},
}


def fresh_part(options, report):
    report("\n== rare rows, other problems: reads of SGD / those of tracking, by opening ==")
    report(f"{'n':>6s} {'d':>6s} {'1 in':>5s} {'margin':>6s} {'SGD':>8s} "
           + " ".join(f"{name:>10s}" for name in OPENINGS))  # fmt: skip
    ratios = []
    for k, (n, d, rare, margin) in enumerate(FRESH[:2] if options.quick else FRESH):
        task = rare_task(n, d, rare, margin=margin, tests=400, seed=11 + k)
        settings = [Setting("tracking", 0.0, more=more) for more in OPENINGS.values()]
        for solver in GRADIENT:
            settings += settings_of(solver, ALPHAS[:3:2])
        seeds = 3 * options.seeds
        curves = curves_of(task, settings, seeds=seeds, budget=2.0, goal=0.01)
        theirs = min(best_of(curves, 0.01, s)["median"] for s in GRADIENT)
        ours = [best_of(curves[c : c + 1], 0.01, "tracking") for c in range(len(OPENINGS))]
        ratios.append([theirs / best["median"] for best in ours])
        report(f"{n:6d} {d:6d} {rare:5d} {margin:6.1f} {theirs / task.stored:8.2%} "
               + " ".join(f"{ratio:10.1f}" for ratio in ratios[-1]))  # fmt: skip
    means = np.exp(np.mean(np.log(ratios), axis=0))
    report(f"{'geometric mean':>35s} " + " ".join(f"{mean:10.1f}" for mean in means))


def even_part(options, report):
    """The effective number of rows along runs of tracking."""
    n, d = 4000, 8000
    marks = (8, 32, 128)
    report("\n== effective number of rows / n along runs of tracking: least and most of some ==")
    report(f"{'':22s} {'kappa':>5s} " + " ".join(f"{f'{t} steps':>14s}" for t in marks))
    tasks = [rare_task(n, d, rare, tests=2) for rare in (2, 10, 100, 1000)]
    for task in [*tasks, *(teacher_task(n, d, 8.0, flipped, tests=2) for flipped in (0.0, 0.1))]:
        for kappa in (0.0, 0.1):
            found = []
            for seed in range(options.seeds):
                run = make_run(Setting("tracking", kappa), task, seed)
                for steps in marks:
                    run.advance(steps)
                    p = np.minimum(run.skim.state.weights, run.skim.state.scalars[TOP])
                    found.append(p.sum() ** 2 / (p @ p) / n)
            parts = np.reshape(found, (-1, len(marks))).T
            report(f"{task.name:22s} {kappa:5g} "
                   + " ".join(f"{min(x):5.2%} .. {max(x):5.2%}" for x in parts))  # fmt: skip


def teacher_part(options, report):
    report("\n== a noisy teacher of length 8, 100 dimensions of noise ==")
    report("reads in rows of d entries; ratio = SGD / simba or tracking; theory: 1 / (R + delta);")
    report("bound: that of SGD, 64 (R + delta) / delta^2 rows without its constant")
    report(f"{'flipped':>7s} {'delta':>6s} {'d':>6s} {'SGD':>7s} {'simba':>7s} {'tracking':>8s} "
           f"{'ratio':>6s} {'theory':>6s} {'bound':>7s} {'bound / SGD':>11s}")  # fmt: skip
    deltas, seeds, found = (0.1, 0.05, 0.02), options.seeds, []
    for d in (2000,) if options.quick else (2000, 8000):
        for flipped in (0.0, 0.1) if options.quick else (0.0, 0.05, 0.1, 0.2):
            task = teacher_task(2000, d, 8.0, flipped, tests=1000)
            settings = settings_of("tracking", (0.1, 0.5, 0.9))
            settings += settings_of("simba", (0.1, 0.5, 0.9))
            settings += settings_of("simba-nu", (0.02, 0.2))
            for solver in GRADIENT:
                settings += settings_of(solver, ALPHAS[:3])
            goal = float(np.mean(task.y_test * task.truth < 0.0))
            curves = curves_of(task, settings, seeds=seeds, budget=1.0, goal=goal + min(deltas))
            for delta in deltas:
                best = {s: best_of(curves, goal + delta, s) for s in SUBLINEAR + GRADIENT}
                reads = {s: entry["median"] / d for s, entry in best.items()}
                theirs, ours = min(GRADIENT, key=reads.get), min(SUBLINEAR, key=reads.get)
                setting, theirs, ours = best[ours]["setting"], reads[theirs], reads[ours]
                ratio, bound = theirs / ours, 64.0 * (flipped + delta) / delta**2
                found.append({
                    "flipped": flipped, "delta": delta, "d": d, "sgd": theirs, "bound": bound,
                    "ours": ours, "setting": str(setting),
                })  # fmt: skip
                report(
                    f"{flipped:7.2f} {delta:6.2f} {d:6d} {theirs:7.0f} "
                    f"{reads['simba']:7.0f} {reads['tracking']:8.0f} {ratio:6.2f} "
                    f"{1.0 / (flipped + delta):6.1f} {bound:7.0f} {bound / theirs:11.1f}"
                )
    return found


def real_part(options, report):
    report("\n== data sets ==")
    found = {}
    if options.data is None:
        report("skipped: no folder of data sets (--data or $SKIMLEARN_DATA)")
        return found
    most_rows = 8000
    for name, make in real_tasks(options.data, most_rows=most_rows, quick=options.quick).items():
        try:
            task = make()
        except OSError as error:
            report(f"\n{name}: skipped, {error.strerror}: {Path(error.filename).name}")
            continue
        task.name = name
        settings = settings_of("tracking", (0.0, 0.2, 0.5)) + settings_of("simba", (0.2, 0.5))
        settings += settings_of("simba-nu", (1e-3, 1e-2))
        for solver in GRADIENT:
            settings += settings_of(solver, ALPHAS)
        curves = curves_of(task, settings, seeds=options.seeds, budget=3.0)
        ends = [
            np.median([c[-1].errors[a] for c in looks]) for _, _, looks in curves for a in ANSWERS
        ]
        goal = float(min(ends)) + max(0.01, 1.0 / len(task.y_test)) + 1e-9
        found[name] = compare(task, curves, goal, report, timed=task.stored > 1e6)
    return found


def map_part(options, report):
    """Ratios of reads, best of SGD over tracking: rare rows by shape, and by density."""
    report("\n== map: reads of the better of Pegasos and ASGD over those of tracking ==")
    n = 2000 if options.quick else 4000
    rares = (10, 100, 1000) if options.quick else (10, 30, 100, 300, 1000, 2000)
    widths = (1 / 4, 4) if options.quick else (1 / 8, 1 / 4, 1 / 2, 1, 2, 4)
    densities = (0.01, 0.1) if options.quick else (0.005, 0.01, 0.03, 0.1, 0.3)
    kinds = {
        "d / n": (widths, lambda rare, w: rare_task(n, int(w * n), rare, tests=400)),
        "density": (densities, lambda rare, q: sparse_rare_task(n, 2 * n, rare, q, tests=400)),
    }
    found = {}
    for name, (values, make) in kinds.items():
        report(f"\n{name:>12s} " + " ".join(f"{value:8.3g}" for value in values))
        table = np.zeros((len(rares), len(values)))
        for r, rare in enumerate(rares):
            for v, value in enumerate(values):
                task = make(rare, value)
                settings = settings_of("tracking", (0.0,), (1, 2))
                settings += settings_of("asgd", (1e-4,)) + settings_of("pegasos", (1e-3,))
                curves = curves_of(task, settings, seeds=2 * options.seeds, budget=2.0, goal=0.02)
                ours = best_of(curves, 0.02, "tracking")["median"]
                theirs = min(best_of(curves, 0.02, s)["median"] for s in GRADIENT)
                table[r, v] = min(theirs, 2 * task.stored) / min(ours, 2 * task.stored)
            report(f"1 row in {rare:4d} " + " ".join(f"{x:8.2f}" for x in table[r]))
        found[name] = (rares, values, table)
    return found


PARTS = {
    "rare": rare_part, "fresh": fresh_part, "even": even_part, "teacher": teacher_part,
    "real": real_part, "map": map_part,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    folder = os.environ.get("SKIMLEARN_DATA")
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--out", type=Path, help="folder for the table and the picture")
    parser.add_argument("--page", action="store_true", help="write what docs/sublinear.md shows")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="small problems, 3 seeds")
    options = parser.parse_args()
    options.seeds = min(options.seeds, 3) if options.quick else options.seeds
    report, found, began = Report(), {}, time.perf_counter()
    for part in options.only:
        start = time.perf_counter()
        found[part] = PARTS[part](options, report)
        report(f"\n({part}: {time.perf_counter() - start:.0f} s)")
    report(f"(all: {time.perf_counter() - began:.0f} s)")
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "reads_to_error.txt").write_text("\n".join(report.lines) + "\n")
        draw(found, options.out / "reads_to_error.png")
    if options.page:
        write_page(found)


if __name__ == "__main__":
    main()
