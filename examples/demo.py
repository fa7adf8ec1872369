"""Spam or not: a linear support vector machine, certified, beside scikit-learn's.

    python examples/demo.py

Three models minimise the same objective on the same rows,

    alpha / 2 * ||w||^2  +  mean over the rows of max(0, 1 - y * (<w, x> + b)),

and the table shows what each of them reached. Only skimlearn knows how far from the optimum it is:
its dual value bounds the optimum from below. ``demo.png`` measures all three against that bound.

LinearSVC adds the square of its bias to the objective, the others do not. Each model's own (w, b)
is valued in the objective above, so LinearSVC is charged for that difference.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from skimlearn import LinearClassifier
from skimlearn.datasets import load_spam

ALPHA = 1e-4
TOL = 1e-3  # relative duality gap
SEED = 0
PLOT = Path("demo.png")


@dataclass
class Row:
    """One line of the table."""

    name: str
    accuracy: float
    objective: float
    seconds: float
    gap: float | None = None  # only skimlearn has one
    reads: int | None = None


def objective(model, X, y):
    """Return the objective at the model's weights and bias."""
    w, b = model.coef_.ravel(), float(np.ravel(model.intercept_)[0])
    margins = y * (X @ w + b)
    return ALPHA / 2 * float(w @ w) + float(np.maximum(0, 1 - margins).mean())


def timed_fit(model, X, y):
    """Fit, and return the seconds it took."""
    start = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - start


def show(rows):
    """Print the table."""
    titles = ("model", "test accuracy", "objective", "certified gap", "entries read", "seconds")
    lines = [
        (
            row.name,
            f"{row.accuracy:.4f}",
            f"{row.objective:.6f}",
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


def plot(history, bound, rows):
    """Draw the objective's distance to the certified lower bound against time."""
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    axes.plot(
        [record.seconds for record in history],
        [record.primal - bound for record in history],
        marker=".",
        label="skimlearn",
    )
    for row, marker in zip(rows[1:], "s^", strict=True):
        axes.plot(row.seconds, row.objective - bound, marker, label=row.name)
    axes.set(
        title=f"SpamAssassin, hinge loss, alpha = {ALPHA:g}",
        xlabel="seconds",
        ylabel="objective - certified lower bound",
        xscale="log",
        yscale="log",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(PLOT, dpi=150)
    plt.close(figure)


def main():
    """Train, compare, print and plot."""
    X, y = load_spam()
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=SEED, stratify=y
    )
    n = X_train.shape[0]
    print(f"SpamAssassin: {n:,} messages to train on, {len(y_test):,} to test on,", end=" ")
    print(f"{X.shape[1]:,} words, {X_train.nnz:,} nonzeros in the training set")

    skim = LinearClassifier(loss="hinge", alpha=ALPHA, tol=TOL, random_state=SEED)
    first_call = timed_fit(skim, X_train[:200], y_train[:200])
    print(f"first call (compiles, or loads machine code from the cache): {first_call:.2f} s\n")

    peers = [
        SGDClassifier(loss="hinge", alpha=ALPHA, random_state=SEED),
        LinearSVC(loss="hinge", C=1 / (ALPHA * n), max_iter=10_000, random_state=SEED),
    ]
    rows = []
    for name, model in [
        ("skimlearn LinearClassifier", skim),
        *((f"sklearn {type(peer).__name__}", peer) for peer in peers),
    ]:
        seconds = timed_fit(model, X_train, y_train)
        rows.append(
            Row(
                name,
                accuracy=model.score(X_test, y_test),
                objective=objective(model, X_train, y_train),
                seconds=seconds,
            )
        )
    result = skim.result_
    rows[0].gap = result.certificate.gap
    rows[0].reads = result.reads.nnz + result.reads.certificate
    rows[1].reads = peers[0].n_iter_ * X_train.nnz  # every epoch reads every row once
    show(rows)

    certificate = result.certificate
    print(f"\nskimlearn stopped with status {result.status}: the optimum lies between")
    print(f"{certificate.dual:.6f} (dual value) and {certificate.primal:.6f} (primal value).")
    print(f"It read {result.reads.nnz:,} entries to learn", end=" ")
    print(f"and {result.reads.certificate:,} to certify the answer.")
    print("LinearSVC regularises its bias; its objective is valued here without that term.")
    plot(result.history, certificate.dual, rows)
    print(f"\nwrote {PLOT}")


if __name__ == "__main__":
    main()
