"""Pegasos with mini-batches of k rows: T steps fixed, and k T visits fixed, over k.

    python experiments/pegasos_batches.py [--quick] [--data FOLDER] [--out FOLDER]

The two figures of the slides, with the theorem's bound drawn in: in expectation the mean (and the
random) iterate is within c ln(T) / (alpha T) of the optimum, c = (sqrt(alpha) + R)^2, R the longest
row (1 here: rows are scaled). The steps are as in the paper: independent draws, projection, no
bias. The optimum comes from the default solver, with its certificate.
"""

import math
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _common import main, number, percent, problem, source, table
from sklearn.preprocessing import normalize

from skimlearn import certificates
from skimlearn.data.ledger import Ledger
from skimlearn.problem import make_problem
from skimlearn.result import Budget
from skimlearn.solvers import choose, pegasos

CASES = (("covtype", 1e-3), ("imdb", 1e-3), ("imdb", 1e-4))  # problem, alpha
ITERATES = ("mean", "random", "last")


def measure(options):
    cases = (("spam", 1e-3),) if options.quick else CASES
    found = {"sets": {}}
    for name, alpha in cases:
        given = problem(name, options)
        cut = 1000 if options.quick else None
        rows = Rows(given, alpha, cut)
        entry = {
            "name": given.name, "alpha": rows.alpha, "rows": rows.problem.n,
            "columns": rows.problem.d, "optimum": rows.optimum, "gap": rows.gap,
            "optimum_error": rows.optimum_error,
        }  # fmt: skip
        seeds = 2 if options.quick else 5
        steps, most = ((100, 1000), 2**12) if options.quick else ((1000, 10_000), 2**20)
        fixed = {str(T): [k for k in 4 ** np.arange(6) if k * T <= most] for T in steps}
        entry["fixed_T"] = {
            T: [summary(rows, int(k), int(T), seeds) for k in ks] for T, ks in fixed.items()
        }
        visits = 2**10 if options.quick else 2**17
        ks = 4 ** np.arange(4 if options.quick else 7)
        entry["visits"] = visits
        entry["fixed_kT"] = [summary(rows, int(k), int(visits // k), seeds) for k in ks]
        found["sets"][f"{name}, {alpha:g}"] = entry
        print(f"{name}, alpha = {alpha:g}: done", flush=True)
    return found


class Rows:
    """A problem with rows of length 1, and its optimum."""

    def __init__(self, given, alpha, cut):
        X, self.X_test = (normalize(Z[:cut]) for Z in (given.X, given.X_test))
        self.y_test = given.y_test[:cut]
        self.alpha = alpha
        if sp.issparse(X):
            X = sp.csr_array(X)
        self.problem = make_problem(X, given.y[:cut], loss="hinge", alpha=self.alpha, bias="none")
        result = choose.solve(self.problem, budget=Budget(gap=1e-6, seconds=60), seed=0)
        self.optimum, self.gap = result.certificate.primal, result.certificate.gap
        self.optimum_error = self.error(result.x)

    def error(self, w):
        return float(np.mean(self.y_test * (self.X_test @ w) <= 0.0))

    def distance(self, w):
        return certificates.primal(self.problem, w).value - self.optimum


def summary(rows, k, T, seeds):
    """Means and deviations over seeds of the distance and the error of each iterate."""
    runs = np.array([iterates(rows, k, T, seed) for seed in range(seeds)])
    mean, deviation = runs.mean(axis=0), runs.std(axis=0, ddof=1)
    alpha = rows.alpha
    bound = (math.sqrt(alpha) + 1.0) ** 2 * math.log(T) / (alpha * T)
    entry = {"k": k, "T": T, "bound": bound}
    for at, name in enumerate(ITERATES):
        entry[name] = {"distance": mean[at, 0], "deviation": deviation[at, 0], "error": mean[at, 1]}
    return entry


def iterates(rows, k, T, seed):
    """Distance and error of each iterate after T steps of k rows."""
    rng = np.random.default_rng(seed)
    order = rng.integers(0, rows.problem.n, k * T)
    answers = {}
    for average in ("mean", "random"):
        settings = pegasos.Settings(batch_size=k, project=True, sampling="iid", average=average)
        method = pegasos.Pegasos(rows.problem, Ledger(rows.problem.rows), settings, rng)
        method.visit(order)
        answers |= {average: method.answer()[0], "last": method.last()[0]}
    return [(rows.distance(answers[name]), rows.error(answers[name])) for name in ITERATES]


# ---------------------------------------------------------------------------------------- results


def cells(entry):
    kinds = [f"{number(entry[n]['distance'], 2)}" for n in ITERATES]
    errors = [percent(entry[n]["error"], 1) for n in ("mean", "last")]
    return [entry["k"], f"{entry['T']:,}", *kinds, number(entry["bound"], 2), *errors]


def texts(found):
    head = ["problem, alpha", "k", "T", *(f"{n} iterate" for n in ITERATES), "bound", "error, mean",
            "error, last"]  # fmt: skip
    fixed_T, fixed_kT, verdict = [], [], []
    for data in found["sets"].values():
        name = f"{data['name']}, {data['alpha']:g}"
        for entries in data["fixed_T"].values():
            fixed_T += [[name, *cells(entry)] for entry in entries]
        fixed_kT += [[name, *cells(entry)] for entry in data["fixed_kT"]]
        every = [e for es in data["fixed_T"].values() for e in es] + data["fixed_kT"]
        least = min(e["bound"] / max(e[n]["distance"] for n in ("mean", "random")) for e in every)
        first, *_, last = next(reversed(data["fixed_T"].values()))
        flat = {e["k"]: e["mean"]["distance"] for e in data["fixed_kT"]}
        best = min(flat.values())
        good = max(k for k, distance in flat.items() if distance <= 2.0 * best)
        verdict.append(
            f"- {data['name']}: {data['rows']:,} rows, {data['columns']:,} columns, alpha = "
            f"{data['alpha']:g}; optimum {data['optimum']:.5g}, certified to "
            f"{number(data['gap'], 2)}, test error {percent(data['optimum_error'], 1)}. The bound "
            f"{'holds' if least >= 1.0 else 'FAILS'}: it is never less than {number(least, 2)} "
            f"times the mean distance over seeds. At T = {first['T']:,} the last iterate is "
            f"{number(first['last']['distance'] / last['last']['distance'], 2)} times "
            f"nearer with k = {last['k']} than with k = {first['k']}, the mean iterate "
            f"{number(first['mean']['distance'] / last['mean']['distance'], 2)} times. At k T = "
            f"{data['visits']:,} the mean iterate is within a factor of two of the best up to "
            f"k = {good}."
        )
    return {
        "fixed_T": table(head, fixed_T), "fixed_kT": table(head, fixed_kT),
        "verdict": "\n".join(verdict) + "\n\n" + source(found),
    }  # fmt: skip


def draw(found):
    import matplotlib.pyplot as plt

    sets = found["sets"]
    figure, axes = plt.subplots(
        len(sets), 3, figsize=(12, 3.3 * len(sets)), layout="constrained", squeeze=False,
    )  # fmt: skip
    for line, data in zip(axes, sets.values(), strict=True):
        fixed = list(data["fixed_T"].items())
        for (T, entries), colour in zip(fixed, ("C0", "C1"), strict=True):
            lines(line[0], entries, colour, f", T = {int(T):,}")
            errors(line[2], entries, colour, f"T = {int(T):,}")
        lines(line[1], data["fixed_kT"], "C2", "")
        errors(line[2], data["fixed_kT"], "C2", f"k T = {data['visits']:,}")
        line[2].axhline(100 * data["optimum_error"], color="black", lw=1, ls=":",
                        label="the optimum")  # fmt: skip
        line[0].set_title(f"{data['name']}, alpha = {data['alpha']:g}: T fixed")
        line[1].set_title(
            f"{data['name']}, alpha = {data['alpha']:g}: k T = {data['visits']:,} fixed"
        )
        line[2].set_title(f"{data['name']}, alpha = {data['alpha']:g}: mean iterate")
        for axis in line:
            axis.set_xscale("log", base=4)
            axis.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
            axis.minorticks_off()
            axis.set_xlabel("k, rows in a mini-batch")
            axis.legend(fontsize=7)
        for axis in line[:2]:
            axis.set_yscale("log")
            axis.set_ylabel("objective above the optimum")
        line[2].set_ylabel("test error, per cent")
    return figure


def errors(axis, entries, colour, label):
    k = [entry["k"] for entry in entries]
    axis.plot(
        k, [100 * e["mean"]["error"] for e in entries], "-o", color=colour, ms=3.5, label=label
    )


def lines(axis, entries, colour, label):
    k = [entry["k"] for entry in entries]
    axis.plot(k, [entry["bound"] for entry in entries], color=colour, ls=":", label="bound" + label)
    for name, style in (("mean", "-o"), ("last", "--s")):
        mean = np.array([entry[name]["distance"] for entry in entries])
        deviation = np.array([entry[name]["deviation"] for entry in entries])
        axis.errorbar(k, mean, np.minimum(deviation, 0.9 * mean), color=colour, fmt=style, ms=3.5,
                      lw=1.2, capsize=2, label=f"{name} iterate{label}")  # fmt: skip


if __name__ == "__main__":
    main(Path(__file__).stem, measure, texts, draw, __doc__)
