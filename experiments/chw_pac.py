"""Section II-C of "Sublinear optimization", the PAC model; and its verification by sampling.

    python experiments/chw_pac.py [--quick] [--out FOLDER]

pac      Separable rows with margin sigma, n = 1 / (sigma^2 delta) of them: entries read to a
         generalisation error, as the dimension d grows. The paper compares bounds: one pass of
         online gradient descent, d / (sigma^2 delta), with the sublinear perceptron,
         1 / (sigma^4 delta) + d / sigma^2, which is less by a factor of about sigma^2 d. Two kinds
         of rows: "alike", where all tell the same (to an error of delta), and "rare", where one
         in 1 / delta shows another direction (until that is found: 10 % of its rows wrong).
verify   Corollary II.9: how often sampling accepts an answer with one row spoiled by 4 eps, and
         rejects a good one; both may happen with probability delta. At 2 eps either is right.

Needs no data. Runs and counts are those of benchmarks/reads_to_error.py.
"""

from pathlib import Path

import numpy as np
from _common import main, number, percent, source, table
from _reads_compare import best_of, curves_of, settings_of
from _reads_problems import rare_task, teacher_task

from skimlearn.data.columns import as_matrix
from skimlearn.solvers.verify import verify

KINDS = {"alike": (0.125, 0.05), "rare": (0.3, 0.005)}  # margin, delta
SOLVERS = {
    "simba": "sublinear perceptron", "tracking": "tracking", "pegasos": "Pegasos", "asgd": "ASGD",
}  # fmt: skip
SUBLINEAR, ONLINE = ("simba", "tracking"), ("pegasos", "asgd")
EPS, BOUND = 0.1, 0.5  # of the check


def measure(options):
    kinds = ["rare"] if options.quick else KINDS
    found = {kind: pac(kind, options.quick) for kind in kinds}
    return {"pac": found, **checks(options.quick)}


def pac(kind, quick):
    """Reads of each solver to the error, by the dimension."""
    margin, delta = KINDS[kind]
    n = round(1.0 / (margin**2 * delta))
    goal = delta if kind == "alike" else 0.1
    alphas, found = (1e-1, 1e-2, 1e-3) if kind == "alike" else (1e-2, 1e-4), []
    for d in (256, 1024) if quick else 2 ** np.arange(7, 15):
        d = int(d)
        if kind == "alike":
            task = teacher_task(n, d, 1.0 / margin, 0.0, tests=1000)
        else:
            task = rare_task(n, d, round(1.0 / delta), margin=margin, tests=600)
        settings = settings_of("simba", (0.0,)) + settings_of("tracking", (0.0,), (1, 2))
        for solver in ONLINE:
            settings += settings_of(solver, alphas[:1] if quick else alphas)
        curves = curves_of(task, settings, seeds=2 if quick else 9, budget=3.0, goal=goal)
        reads = {solver: best_of(curves, goal, solver)["median"] for solver in SOLVERS}
        found.append({"d": d, "n": n, **reads})
        print(f"{kind}, d = {d:,}: done", flush=True)
    return found


def checks(quick):
    """Rates of wrong verdicts over runs, by the failure that is allowed."""
    n, d, runs = (10, 20_000, 20) if quick else (20, 40_000, 1000)
    rng = np.random.default_rng(0)
    x = np.full(d, d**-0.5)
    across = rng.normal(size=(n, d))
    across -= np.outer(across @ x, x)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    found = []
    for delta in (0.2,) if quick else (0.5, 0.2, 0.05):
        entry = {"delta": delta, "runs": runs}
        for name, spoiled in (("good", 0.0), ("between", 2.0), ("spoiled", 4.0)):
            heights = np.full(n, BOUND)
            heights[0] -= spoiled * EPS
            A = heights[:, None] * x + np.sqrt(1.0 - heights**2)[:, None] * across
            matrix = as_matrix(A)
            seen = [
                verify(matrix, x, eps=EPS, delta=delta, rng=seed, bound=BOUND)
                for seed in range(runs)
            ]
            worst = [np.abs(v.estimates - heights).max() for v in seen]
            entry[name] = {
                "accepted": np.mean([v.accepted for v in seen]),
                "reads": np.mean([v.reads for v in seen]) / A.size,
                "beyond": np.mean(np.array(worst) > EPS),
                "exact": seen[0].exact,
            }
        found.append(entry)
        print(f"delta = {delta:g}: done", flush=True)
    return {"checks": found, "rows": n, "columns": d}


# ---------------------------------------------------------------------------------------- results


def bounds(kind, d):
    """The paper's two bounds, without constants and logarithms."""
    margin, delta = KINDS[kind]
    return d / (margin**2 * delta), 1.0 / (margin**4 * delta) + d / margin**2


def gains(entries, sublinear):
    """Reads of the better online solver over those of a sublinear one, by dimension."""
    online = [min(e[s] or np.inf for s in ONLINE) for e in entries]
    return np.array([o / (e[sublinear] or np.inf) for o, e in zip(online, entries, strict=True)])


def texts(found):
    rows, verdict = [], []
    for kind, entries in found["pac"].items():
        ratios = {s: gains(entries, s) for s in SUBLINEAR}
        for at, entry in enumerate(entries):
            theirs, ours = bounds(kind, entry["d"])
            rows.append([
                kind, f"{entry['d']:,}", *(thousands(entry[s]) for s in SOLVERS),
                *(number(ratios[s][at], 2) for s in SUBLINEAR), number(theirs / ours, 2),
            ])  # fmt: skip
        d = np.array([entry["d"] for entry in entries])
        for solver in SUBLINEAR:
            ratio = ratios[solver]
            slope = np.polyfit(np.log(d), np.log(np.maximum(ratio, 1e-6)), 1)[0]
            always = d[np.minimum.accumulate(ratio[::-1])[::-1] > 1.0]
            less = f"from d = {always[0]:,} on" if len(always) else "nowhere for good"
            verdict.append(
                f"- {kind}, {SOLVERS[solver]}: the ratio of reads goes from {number(ratio[0], 2)} "
                f"to {number(ratio[-1], 2)}, an exponent of {number(slope, 2)} in d (of the "
                f"bounds: towards 1); it reads less than the better online solver {less}."
            )
    checked = [
        [f"{e['delta']:g}", f"{e['runs']:,}", percent(1.0 - e["good"]["accepted"]),
         percent(e["spoiled"]["accepted"]), percent(e["between"]["accepted"], 0),
         percent(max(e[k]["beyond"] for k in ("good", "spoiled", "between"))),
         percent(e["good"]["reads"], 0)] for e in found["checks"]
    ]  # fmt: skip
    wrong = max(max(1 - e["good"]["accepted"], e["spoiled"]["accepted"]) for e in found["checks"])
    verdict.append(f"- Verification: the highest rate of wrong verdicts is {percent(wrong)}.")
    return {
        "pac": table(["rows", "d", *(f"{label}, thousand reads" for label in SOLVERS.values()),
                      *(f"online / {SOLVERS[s]}" for s in SUBLINEAR), "ratio of the bounds"], rows),
        "checks": table(["delta", "runs", "good, rejected", "spoiled by 4 eps, accepted",
                         "spoiled by 2 eps, accepted", "an estimate errs by more than eps",
                         "part of the entries read"], checked),
        "verdict": "\n".join(verdict) + "\n\n" + source(found),
    }  # fmt: skip


def thousands(reads):
    return "not reached" if reads is None else f"{reads / 1e3:,.0f}"


def draw(found):
    import matplotlib.pyplot as plt

    figure, (*panels, right) = plt.subplots(1, 3, figsize=(12.5, 4), layout="constrained")
    styles = {"simba": "C0-o", "tracking": "C2-D", "pegasos": "C3-s", "asgd": "C1-^"}
    for axis, (kind, entries) in zip(panels, found["pac"].items(), strict=False):
        d = np.array([entry["d"] for entry in entries])
        for solver, label in SOLVERS.items():
            reads = np.array([entry[solver] for entry in entries], dtype=float)
            axis.loglog(d, reads, styles[solver], ms=4, label=label)
        theirs, ours = np.array([bounds(kind, x) for x in d]).T
        axis.loglog(d, theirs, "C3:", lw=1, label="bound, online (no constants)")
        axis.loglog(d, ours, "C0:", lw=1, label="bound, sublinear (no constants)")
        margin, _ = KINDS[kind]
        axis.set(xlabel="dimension d", ylabel="entries read")
        axis.set_title(f"rows {kind}: margin {margin:g}, n = {entries[0]['n']:,}")
    panels[0].legend(fontsize=7.5)
    for entry, style in zip(found["checks"], ("C0o", "C2s", "C3^"), strict=False):
        rates = [100 * entry[name]["accepted"] for name in ("good", "between", "spoiled")]
        right.plot((0, 2, 4), rates, style, ms=6, alpha=0.7, label=f"delta = {entry['delta']:g}")
    right.axvspan(-0.2, 1, color="C0", alpha=0.1, lw=0)
    right.axvspan(3, 4.2, color="C3", alpha=0.1, lw=0)
    right.text(0.4, 50, "must be\naccepted", ha="center", va="center", fontsize=8.5)
    right.text(3.6, 50, "must be\nrejected", ha="center", va="center", fontsize=8.5)
    right.set(xlabel="the worst row misses the bound by, in eps", ylabel="accepted, % of runs")
    right.set_title("verification by sampling")
    right.legend(fontsize=8, loc="upper right")
    return figure


if __name__ == "__main__":
    main(Path(__file__).stem, measure, texts, draw, __doc__)
