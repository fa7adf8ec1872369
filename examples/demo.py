"""Spam or not: a linear support vector machine, certified, beside scikit-learn's.

    python examples/demo.py

Three models minimise the same objective on the same rows,

    alpha / 2 * ||w||^2  +  mean over the rows of max(0, 1 - y * (<w, x> + b)),

and the table shows what each of them reached. Only skimlearn knows how far from the optimum it can
be: its dual value bounds the optimum from below, and the other models are judged by that bound too.
``demo.png`` shows all three on their way.

LinearSVC adds half the square of its bias to the objective, the others do not. Each model's own
(w, b) is valued in the objective above, so LinearSVC is charged for that difference.
"""

import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # the plot goes to a file: no display is needed
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from skimlearn import LinearClassifier
from skimlearn.datasets import load_spam

ALPHA = 1e-4
TOL = 1e-3  # relative duality gap of the table's model
FINE_TOL = 1e-5  # and of the picture's
SEED = 0
REPEATS = 3  # the least time of so many fits is shown
PASSES = (1, 3, 10, 30, 100, 300)  # how long the peers may run, for their lines in the picture
PLOT = Path("demo.png")


@dataclass
class Row:
    """One line of the table."""

    name: str
    accuracy: float
    objective: float
    seconds: float
    gap: float | None = None  # only skimlearn has one
    reads: int | None = None  # LinearSVC does not say


def objective(model, X, y):
    """Return the objective at the model's weights and bias."""
    w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
    margins = y * (X @ w + b)
    return ALPHA / 2 * float(w @ w) + float(np.maximum(0, 1 - margins).mean())


def timed_fit(model, X, y, repeats=1):
    """Fit, and return the seconds it took: the least of some repetitions."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - start)
    return min(times)


def skim(**options):
    """Return skimlearn's model."""
    return LinearClassifier(loss="hinge", alpha=ALPHA, random_state=SEED, **options)


def peers(n, **options):
    """Return scikit-learn's models of the same objective, by name."""
    return {
        "scikit-learn SGDClassifier": SGDClassifier(
            loss="hinge", alpha=ALPHA, random_state=SEED, **options
        ),
        "scikit-learn LinearSVC": LinearSVC(
            loss="hinge", C=1 / (ALPHA * n), random_state=SEED, **({"max_iter": 10_000} | options)
        ),
    }


def compare(X, y, X_test, y_test):
    """Fit all models with their own rules to stop; return the lines of the table and the result."""
    rows = []
    ours = skim(tol=TOL)
    for name, model in {"skimlearn LinearClassifier": ours, **peers(len(y))}.items():
        seconds = timed_fit(model, X, y, REPEATS)
        rows.append(Row(name, model.score(X_test, y_test), objective(model, X, y), seconds))
        if isinstance(model, SGDClassifier):
            rows[-1].reads = model.n_iter_ * X.nnz  # every pass reads every row once
    result = ours.result_
    rows[0].gap = result.certificate.gap
    rows[0].reads = result.reads.nnz + result.reads.certificate
    return rows, result


def show(rows, bound):
    """Print the table."""
    titles = (
        "model",
        "test accuracy",
        "objective",
        "above the bound",
        "certified gap",
        "entries read",
        "seconds",
    )
    lines = [
        (
            row.name,
            f"{row.accuracy:.4f}",
            f"{row.objective:.6f}",
            f"{row.objective / bound - 1:.3%}",
            "-" if row.gap is None else f"{row.gap:.1e}",
            "-" if row.reads is None else f"{row.reads:,}",
            f"{row.seconds:.3f}",
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(titles, *lines, strict=True)]
    for line in (titles, tuple("-" * width for width in widths), *lines):
        first, *rest = (
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join((first, *rest)).rstrip())


def follow_ours(X, y):
    """Fit to a small gap; return seconds, certified and true distances, and the lower bound."""
    fits = []
    for _ in range(REPEATS):
        model = skim(tol=FINE_TOL)
        fits.append((timed_fit(model, X, y), model.result_))
    seconds, result = min(fits, key=lambda fit: fit[0])
    history, bound = result.history, result.certificate.dual
    before = seconds - result.seconds  # checking the input comes before the history begins
    times = np.array([record.seconds for record in history]) + before
    primal = np.array([record.primal for record in history])
    dual = np.array([record.dual for record in history])
    return times, primal / np.maximum(dual, 1e-12) - 1, primal / bound - 1, bound


def follow_peers(X, y, bound):
    """Fit the peers for more and more passes; return seconds and distances of each, by name."""
    paths = {}
    for passes in PASSES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # they are stopped early on purpose
            for name, model in peers(len(y), max_iter=passes, tol=None).items():
                if isinstance(model, LinearSVC):
                    model.set_params(tol=1e-9)
                seconds = timed_fit(model, X, y, REPEATS)
                paths.setdefault(name, []).append((seconds, objective(model, X, y) / bound - 1))
    return {name: np.array(path).T for name, path in paths.items()}


def plot(ours, others, rows):
    """Draw the relative distance to the optimum against time."""
    times, certified, true, bound = ours
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    known = certified < 10  # before that the bound says nothing yet
    axes.fill_between(times[known], true[known], certified[known], color="C0", alpha=0.12, lw=0)
    axes.plot(
        times[known], certified[known], "C0-", lw=2.5, label="skimlearn: certified, at that moment"
    )
    axes.plot(times, true, "C0--", lw=1.5, label="skimlearn: true, known afterwards")
    axes.axhline(TOL, color="C0", lw=1, ls=":")
    axes.annotate(
        f"tol = {TOL:g}",
        (0.01, TOL),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        color="C0",
        fontsize=9,
    )
    for (name, (seconds, distances)), row, style in zip(
        others.items(), rows[1:], ("C1-s", "C2-^"), strict=True
    ):
        axes.plot(seconds, distances, style, lw=1, ms=4, alpha=0.8, label=f"{name}: true")
        axes.plot(row.seconds, row.objective / bound - 1, style[:2] + style[3:], ms=11, mec="black")
    axes.plot([], [], "wo", ms=11, mec="black", label="where its own rule stops it")
    axes.set(
        xscale="log", yscale="log", xlabel="seconds", ylabel="distance to the optimum, relative"
    )
    axes.set_title(
        f"Spam filter (hinge loss, alpha = {ALPHA:g})\n"
        "Only skimlearn proves, while it runs, how near the optimum is: the solid line",
        fontsize=11,
    )
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
    axes.legend(fontsize=9, loc="lower left")
    figure.savefig(PLOT, dpi=130)
    plt.close(figure)


def main():
    """Train, compare, print and plot."""
    X, y = load_spam()
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=SEED, stratify=y
    )
    print(f"SpamAssassin: {len(y_train):,} messages to train on, {len(y_test):,} to test on,")
    print(f"{X.shape[1]:,} words, {X_train.nnz:,} nonzeros in the training set")

    # two epochs on the real rows go through both phases of the solver, and so compile all of it
    first = timed_fit(skim(tol=None, max_epochs=2), X_train, y_train)
    print(f"first call, which compiles or loads machine code from the cache: {first:.2f} s\n")

    rows, result = compare(X_train, y_train, X_test, y_test)
    certificate = result.certificate
    show(rows, certificate.dual)
    print(f"(seconds: the least of {REPEATS} fits)")
    print(f"\nskimlearn stopped because {result.status.value}. The optimum lies between")
    print(f"{certificate.dual:.6f} (dual value) and {certificate.primal:.6f} (primal value):")
    print(f"the answer is at most {certificate.relative_gap:.2%} away from it.", end=" ")
    print(f"It read {result.reads.nnz:,} entries")
    print(f"to learn and {result.reads.certificate:,} to certify.")

    ours = follow_ours(X_train, y_train)
    plot(ours, follow_peers(X_train, y_train, ours[-1]), rows)
    print(f"\nwrote {PLOT}")


if __name__ == "__main__":
    main()
