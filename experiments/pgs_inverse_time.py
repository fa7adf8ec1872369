"""Inverse time dependency: with more rows, does PGS take less time to the same accuracy?

    python experiments/pgs_inverse_time.py [--quick] [--data FOLDER] [--out FOLDER]

Table II and Figures 5 to 9 of the paper. Reviews of films in words and pairs of words stand in for
CCAT: l2-logistic, l1.8-logistic and l2-squared, alpha tuned on the test rows for each number of
rows, as there. L-BFGS is SciPy's, on the same objective and the same compiled formulas. The toy
sets are two Gaussians of one covariance in 10, 20 and 40 dimensions. Seconds are CPU time of the
steps alone; what it takes to look at the accuracy is not counted.

The answer of PGS is the mean of its iterates, as in the theorem. The default of the estimators, the
mean of the later ones ("tail"), is shown beside it on the toy sets. Each run draws its rows anew
from all there are, so that no number of rows is lucky.
"""

import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _common import main, number, problem, source, table
from _pgs_toys import ERROR, MOST, Run, growing, toys
from scipy.optimize import minimize

from skimlearn import certificates
from skimlearn.data.rows import combine
from skimlearn.problem import make_problem

PAIRS = {  # name: loss, p, rows in a step
    "l2-logistic": ("log", 2.0, 1),
    "l1.8-logistic": ("log", 1.8, 1),
    "l2-squared": ("squared", 2.0, 1),
}
PAPER = {  # Table II: L-BFGS, PGS, seconds
    "l2-logistic": ("94.80 %", "94.74 ± 0.04 %", "55"),
    "l1.8-logistic": ("94.81 %", "94.76 ± 0.04 %", "576 (k = 300)"),
    "l2-squared": ("94.69 %", "94.62 ± 0.06 %", "22"),
}
ALPHAS = (1e-5, 1e-4, 1e-3)


# -------------------------------------------------------------------------------------- the reviews


def measure(options):
    given = problem("imdb-bigrams", options)
    sizes = (300, 1000) if options.quick else (1500, 3000, 6000, 12_500, 25_000)
    sizes = [m for m in sizes if m <= given.X.shape[0]]
    budget = {"visits": 100_000, "runs": 20, "tests": 10_000}
    if options.quick:
        budget = {"visits": 3000, "runs": 3, "tests": 1000}
    found = {
        "data": given.name, "columns": given.X.shape[1], "sizes": sizes, **budget, "pairs": {},
        "goals": (0.85, 0.90, 0.95) if given.name == "spam" else (0.80, 0.84, 0.86, 0.88, 0.90),
    }  # fmt: skip
    pairs = {k: PAIRS[k] for k in ("l2-logistic", "l1.8-logistic")} if options.quick else PAIRS
    for name, (loss, p, k) in pairs.items():
        found["pairs"][name] = [size(reviews(given, loss, p, budget), m, k, budget) for m in sizes]
        print(f"{name}: done", flush=True)
    if not options.quick:
        last = found["pairs"]["l1.8-logistic"][-1]
        rows = reviews(given, "log", 1.8, budget)
        found["batched"] = rows.summary(
            sizes[-1], last["alpha"], 300, budget["visits"], budget["runs"]
        )
    found["toy"] = toys(options.quick)
    return found


def reviews(given, loss, p, budget):
    """The rows to learn from, and some of the test rows (the first ones are all of one class)."""
    chosen = np.random.default_rng(0).permutation(len(given.y_test))[: budget["tests"]]
    return Reviews(given.X, given.y, given.X_test[chosen], given.y_test[chosen], loss, p)


class Reviews:
    """Rows to learn from, and the accuracy on test rows."""

    def __init__(self, X, y, X_test, y_test, loss, p):
        self.X, self.y, self.X_test, self.y_test = sp.csr_array(X), y, X_test, y_test
        self.loss, self.p = loss, p

    def problem(self, m, alpha, seed):
        """So many of the rows, drawn at random."""
        chosen = np.random.default_rng((m, seed)).permutation(len(self.y))[:m]
        given = {"loss": self.loss, "alpha": alpha, "p": self.p, "bias": "none"}
        return make_problem(self.X[chosen], self.y[chosen], **given)

    def accuracy(self, w):
        return float(np.mean(self.y_test * (self.X_test @ w) > 0.0))

    def curve(self, m, alpha, k, visits, seed):
        """Visits, seconds and accuracy along a run."""
        run, looks = Run(self.problem(m, alpha, seed), k, seed), []
        for count in growing(max(100, k), visits, 2.0**0.5, k):
            w = run.advance(count)
            looks.append((count, run.seconds, self.accuracy(w)))
        return np.array(looks)

    def summary(self, m, alpha, k, visits, runs):
        curves = np.array([self.curve(m, alpha, k, visits, 1 + seed) for seed in range(runs)])
        ends = curves[:, -1]
        return {
            "visits": curves[0, :, 0].astype(int), "seconds": np.median(curves[:, :, 1], axis=0),
            "accuracy": np.median(curves[:, :, 2], axis=0),
            "end": np.median(ends[:, 2]), "deviation": ends[:, 2].std(ddof=1),
            "end_seconds": np.median(ends[:, 1]),
        }  # fmt: skip


def size(rows, m, k, budget):
    """One number of rows: alpha tuned, runs of PGS, and L-BFGS."""
    reach = {a: rows.curve(m, a, k, budget["visits"], 0)[:, 2].max() for a in ALPHAS}
    alpha = max(reach, key=reach.get)
    entry = {"m": m, "alpha": alpha, **rows.summary(m, alpha, k, budget["visits"], budget["runs"])}
    return entry | {"lbfgs": lbfgs(rows.problem(m, alpha, 1), rows.accuracy)}


def lbfgs(given, accuracy, most=300):
    """L-BFGS to convergence: seconds and accuracy at its iterations."""

    def value_and_slope(w):
        answer = certificates.primal(given, w)
        slope = given.alpha * given.regularizer.unlink(w)
        pulls = certificates.slopes(given, answer)  # minus the slopes of the loss
        combine(given.rows, pulls * given.weights / -given.n, slope)
        return answer.value, slope

    looks, spent = [], [0.0]

    def look(w):
        spent[0] += time.process_time() - clock[0]
        looks.append((spent[0], accuracy(w)))
        clock[0] = time.process_time()

    clock = [time.process_time()]
    found = minimize(value_and_slope, np.zeros(given.d), jac=True, method="L-BFGS-B", callback=look,
                     options={"maxiter": most, "ftol": 1e-9, "gtol": 1e-6})  # fmt: skip
    times, accuracies = np.array(looks).T
    return {
        "seconds": times, "accuracy": accuracies, "iterations": found.nit,
        "end": accuracies[-1], "value": found.fun,
    }  # fmt: skip


# ---------------------------------------------------------------------------------------- results


def seconds_to(curve, goal):
    """Seconds at which a curve of medians first has an accuracy; nan if never."""
    held = np.array(curve["accuracy"]) >= goal
    return float(curve["seconds"][int(held.argmax())]) if held.any() else np.nan


def texts(found):
    def accuracy(value):
        return f"{100 * value:.2f} %"

    second, times, toy = [], [], []
    for name, entries in found["pairs"].items():
        last = entries[-1]
        second.append([
            name, f"{last['alpha']:g}", accuracy(last["lbfgs"]["end"]),
            number(last["lbfgs"]["seconds"][-1], 2),
            f"{accuracy(last['end'])[:-2]} ± {100 * last['deviation']:.2f} %",
            number(last["end_seconds"], 2), *PAPER[name],
        ])  # fmt: skip
        for goal in found["goals"]:
            cells = [f"{number(seconds_to(e, goal), 2)}" for e in entries]
            slow = [f"{number(seconds_to(e['lbfgs'], goal), 2)}" for e in entries]
            times.append(
                [name, f"{goal:.0%}", *(f"{a} ({b})" for a, b in zip(cells, slow, strict=True))]
            )
    if "batched" in found:
        batched, last = found["batched"], found["pairs"]["l1.8-logistic"][-1]
        second.append([
            "l1.8-logistic, k = 300", f"{last['alpha']:g}", "", "",
            f"{accuracy(batched['end'])[:-2]} ± {100 * batched['deviation']:.2f} %",
            number(batched["end_seconds"], 2), "", "", "",
        ])  # fmt: skip
    for answer, by_dimension in found["toy"]["answers"].items():
        for d, lines in by_dimension.items():
            toy.append([d, answer, *(
                f"{number(line['steps'])} ({line['alpha']:g})" if line["steps"] else
                f"- ({line['reached']:.0%} of runs)" for line in lines
            )])  # fmt: skip
    return {
        "second": table(["regularizer, loss", "alpha", "L-BFGS", "s", "PGS", "s", "paper: L-BFGS",
                         "paper: PGS", "paper: s"], second),
        "times": table(["regularizer, loss", "accuracy",
                        *(f"{m:,} rows" for m in found["sizes"])], times),
        "toy": table(["dimensions", "answer",
                      *(f"{m:,} rows" for m in found["toy"]["sizes"])], toy),
        "verdict": verdict(found) + "\n\n" + source(found),
    }  # fmt: skip


def verdict(found):
    lines = []
    for name, entries in found["pairs"].items():
        by_goal = {g: [seconds_to(e, g) for e in entries] for g in found["goals"]}
        known = {g: t for g, t in by_goal.items() if np.isfinite(t[-1])}
        often = [g for g, t in known.items() if np.isfinite(t).sum() > 1]
        goal = max(often or known)
        ours = [t for t in known[goal] if np.isfinite(t)]
        theirs = seconds_to(entries[-1]["lbfgs"], goal)
        least = next(m for m, t in zip(found["sizes"], known[goal], strict=True) if np.isfinite(t))
        lines.append(
            f"- {name}, {goal:.0%}: reached from {least:,} rows on; "
            f"{number(ours[0], 2)} s there, {number(ours[-1], 2)} s with "
            f"{found['sizes'][-1]:,} rows"
            f"{'; L-BFGS takes ' + number(theirs, 2) + ' s there' if np.isfinite(theirs) else ''}."
        )
    for d, entries in found["toy"]["answers"]["mean"].items():
        reached = [e for e in entries if e["steps"]]
        if reached:
            lines.append(
                f"- {d} dimensions: half of the runs get there from {reached[0]['m']:,} rows on, "
                f"with {number(reached[0]['steps'])} steps; {number(reached[-1]['steps'])} with "
                f"{reached[-1]['m']:,} rows."
            )
    return "\n".join(lines)


def draw(found):
    import matplotlib.pyplot as plt

    pairs = found["pairs"]
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    goals = found["goals"]
    colours = plt.cm.viridis(np.linspace(0.0, 0.9, len(goals)))
    for axis, (name, entries) in zip(axes.flat, pairs.items(), strict=False):
        for goal, colour in zip(goals, colours, strict=True):
            times = [seconds_to(e, goal) for e in entries]
            if np.isfinite(times).any():
                axis.plot(found["sizes"], times, "-o", ms=4, color=colour, label=f"{goal:.0%}")
        axis.set(title=f"{name}: PGS to an accuracy", ylabel="seconds (CPU), median of runs")
        axis.legend(title="test accuracy", title_fontsize=8.5, ncols=4, loc="upper center",
                    columnspacing=0.9, handlelength=1.3)  # fmt: skip
    axis = axes.flat[3]
    goal = goals[1]
    for (name, entries), colour in zip(pairs.items(), ("C0", "C3", "C2"), strict=False):
        for label, curves, style in (
            ("PGS", entries, "-o"), ("L-BFGS", [e["lbfgs"] for e in entries], "--s"),
        ):  # fmt: skip
            times = [seconds_to(curve, goal) for curve in curves]
            axis.plot(found["sizes"], times, style, ms=4, color=colour, label=f"{label}, {name}")
    axis.set(title=f"PGS and L-BFGS to {goal:.0%}", ylabel="seconds (CPU)")
    axis.legend(fontsize=7.5, loc="upper center", ncols=2)
    axis = axes.flat[4]
    for name, entries in pairs.items():
        axis.plot(found["sizes"], [100 * e["end"] for e in entries], "-o", ms=4, label=name)
    axis.set(title="accuracy at the end of a run", ylabel="per cent")
    axis.legend()
    for axis in axes.flat[:5]:
        axis.set(xscale="log", xlabel="rows to learn from")
        axis.set_xticks(found["sizes"], [f"{m:,}" for m in found["sizes"]])
        axis.minorticks_off()
    for axis in axes.flat[:4]:
        axis.set_yscale("log")
    for axis in axes.flat[:4]:
        low, high = axis.get_ylim()
        axis.set_ylim(low, 4.0 * high)  # room for the names
    axis = axes.flat[5]
    toy = found["toy"]
    for answer, style in (("mean", "-o"), ("tail", ":s")):
        for at, (d, entries) in enumerate(toy["answers"].get(answer, {}).items()):
            toy_line(axis, entries, f"{d} dimensions, {answer}", fmt=style, color=f"C{at}")
    axis.set(xscale="log", yscale="log", xlabel="rows to learn from", ylabel="steps")
    axis.set_title(f"two Gaussians: steps to an error of {ERROR:g}")
    axis.set_xticks(toy["sizes"], [f"{m:,}" for m in toy["sizes"]], rotation=30, fontsize=8)
    axis.set_yticks([10_000, 20_000, 50_000, 100_000], ["10,000", "20,000", "50,000", "100,000"])
    axis.minorticks_off()
    axis.set_ylim(2500, 1.1 * MOST)
    axis.legend(loc="lower center", fontsize=7.5, ncols=2)
    return figure


def toy_line(axis, entries, label, **look):
    """Medians, with quartiles around them; a quartile that is never reached is at the end."""
    known = [e for e in entries if e["steps"]]
    if known:
        middle = np.array([e["steps"] for e in known])
        ends = np.array([e["quartiles"] for e in known], dtype=float)  # none: never
        ends[:, 1][np.isnan(ends[:, 1])] = MOST
        rows = [e["m"] for e in known]
        axis.errorbar(rows, middle, np.abs(ends.T - middle), ms=4, capsize=2, label=label, **look)


if __name__ == "__main__":
    main(Path(__file__).stem, measure, texts, draw, __doc__)
