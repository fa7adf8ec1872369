"""What reads_to_error.py compares: the best setting of each solver, and ratios of both kinds."""

import numpy as np
from _reads_curves import ANSWERS, Setting, make_run

SUBLINEAR, GRADIENT = ("tracking", "simba"), ("pegasos", "asgd")
HEAD = (
    f"{'solver':9s} {'best setting':24s} {'answer':6s} {'stored entries read':>29s} "
    f"{'distinct':>9s} {'dense count':>11s} {'seconds':>9s}"
)


def settings_of(solver, values, batches=(1,)):
    return [Setting(solver, value, batch) for value in values for batch in batches]


def curves_of(task, settings, *, seeds, budget, goal=-1.0, of=any):
    """The looks of each setting and seed; the runs are kept to count distinct entries."""
    found = []
    for setting in settings:
        runs = [make_run(setting, task, seed) for seed in range(seeds)]
        looks = [r.looks(task.errors, budget=budget * task.stored, goal=goal, of=of) for r in runs]
        found.append((setting, runs, looks))
    return found


def reached(looks, answer, goal):
    """The first look at which the error is reached and held; None if there is none."""
    held = [look.errors[answer] <= goal for look in looks]
    return next((looks[k] for k in range(len(held) - 1) if held[k] and held[k + 1]), None)


def best_of(curves, goal, solver, count="nnz", answers=ANSWERS):
    """The setting and the answer of a solver with the fewest reads in the median, and the looks."""
    best = None
    for setting, runs, curve in curves:
        if not setting.solver.startswith(solver):
            continue
        for answer in answers:
            looks = [reached(c, answer, goal) for c in curve]
            reads = [np.inf if look is None else getattr(look, count) for look in looks]
            if best is None or np.median(reads) < best["median"]:
                best = {
                    "median": float(np.median(reads)), "reads": reads, "looks": looks,
                    "setting": setting, "answer": answer, "runs": runs,
                }  # fmt: skip
    return best


def seconds_of(task, best, repeats=3):
    """Seconds of a run straight to the step at which the error was reached: median over seeds."""
    times = []
    for seed, look in enumerate(best["looks"]):
        if look is not None:
            runs = [make_run(best["setting"], task, seed) for _ in range(repeats)]
            for run in runs:
                run.advance(look.steps)
            times.append(min(run.seconds for run in runs))
    return float(np.median(times))


def compare(task, curves, goal, report, *, timed=True):
    """A table of the solvers on one problem; the ratios of the best of both families."""
    report(f"\n{task.name}: {task.X.shape[0]:,} x {task.X.shape[1]:,}, error <= {goal:.3g}")
    report(HEAD)
    spent = {}
    for solver in SUBLINEAR + GRADIENT:
        best = best_of(curves, goal, solver)
        if best is None:
            continue
        known = np.isfinite(best["median"])
        share = [f"{reads / task.stored:.3%}" for reads in best["reads"]]
        distinct = [
            np.inf if look is None else run.distinct(look.steps)[1]
            for run, look in zip(best["runs"], best["looks"], strict=True)
        ]
        spent[solver] = {
            "nnz": best["median"],
            "distinct": float(np.median(distinct)),
            "dense": best_of(curves, goal, solver, "dense")["median"],
            "seconds": seconds_of(task, best) if timed and known else np.nan,
        }
        low, high = min(best["reads"]), max(best["reads"])
        reads = f"{best['median'] / task.stored:.3%} ({low / task.stored:.3%} .. "
        reads += f"{high / task.stored:.3%})" if np.isfinite(high) else "-)"
        numbers = spent[solver]
        report(
            f"{solver:9s} {best['setting']!s:24s} {best['answer']:6s} "
            + (
                f"{reads:>29s} {numbers['distinct'] / task.stored:9.3%} "
                f"{numbers['dense'] / np.prod(task.X.shape):11.3%} {numbers['seconds']:9.2g}"
                if known
                else f"not reached by most of {len(share)} runs".rjust(29)
            )
        )
    return ratios(curves, spent, report)


def ratios(curves, spent, report):
    """Reads of the better gradient solver over those of the better sublinear one."""
    found, text = {"open": False}, []  # open: the sublinear solvers did not get there
    ends = {
        count: max(getattr(c[-1], count, 0) for s, _, cs in curves for c in cs if s.sublinear)
        for count in ("nnz", "dense")
    }
    for count in ("nnz", "distinct", "dense", "seconds"):
        ours, theirs = (
            min([x for s in kind if not np.isnan(x := spent[s][count])], default=np.inf)
            for kind in (SUBLINEAR, GRADIENT)
        )
        sign = ""
        if not np.isfinite(ours) and count in ends:  # at least all that was allowed
            ours, sign, found["open"] = ends[count], "less than ", True
        found[count] = theirs / ours if np.isfinite(ours + theirs) else np.nan
        text.append(f"{count} {sign}{found[count]:.2g}")
    report("SGD / sublinear: " + ", ".join(text))
    return found
