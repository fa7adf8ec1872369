"""Draw the pictures of the documentation from runs on the bundled mail corpus.

    python docs/make_images.py

writes ``certificate.png``, ``band.png``, ``solvers.png`` and, from made points, ``kernels.png`` to
``docs/images``. Cost is counted in entries read, not in seconds, so that the pictures come out the
same on every machine.
"""

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skimlearn import EnclosingBall, KernelClassifier, LinearClassifier
from skimlearn.datasets import load_spam

FOLDER = Path(__file__).parent / "images"
STYLE = {"font.size": 10, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True}
READS = "entries read to learn, in passes over the data"


def history(X, y, **options):
    """Fit, and return passes, primal values and dual values at the checks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some solvers are cut off on purpose
        result = LinearClassifier(alpha=1e-4, random_state=0, **options).fit(X, y).result_
    records = result.history
    return (
        np.array([record.reads / X.nnz for record in records]),
        np.array([record.primal for record in records]),
        np.array([record.dual for record in records]),
    )


def draw_certificate(X, y):
    """The optimum is caught between the primal and the dual value, which close in on it."""
    optimum = history(X, y, loss="hinge", tol=1e-6)[2][-1]  # as good as
    passes, primal, dual = history(X, y, loss="hinge", tol=1e-4)
    known = dual > 0
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    left.fill_between(passes, dual, primal, color="C0", alpha=0.15, lw=0)
    left.plot(passes, primal, "C0-o", ms=3, label="primal value: of the answer")
    left.plot(passes, dual, "C3-o", ms=3, label="dual value: the optimum is not below")
    left.axhline(optimum, color="black", lw=1, ls=":")
    note(left, "the optimum", optimum)
    left.set(xlim=(passes[0], 20), ylim=(0, 0.12), xlabel=READS, ylabel="objective")
    left.set_title("The optimum lies in the band ...", fontsize=11)
    left.legend(fontsize=9, loc="upper right")
    right.semilogy(
        passes[known], primal[known] / dual[known] - 1, "C0-o", ms=3, label="certified, at once"
    )
    right.semilogy(passes, primal / optimum - 1, "k--", lw=1, label="true, known afterwards")
    right.axhline(1e-3, color="gray", lw=1, ls=":")
    note(right, "tol=1e-3 stops here", 1e-3)
    right.set(xlabel=READS, ylabel="distance to the optimum, relative")
    right.set_title("... whose width is the certified gap", fontsize=11)
    right.legend(fontsize=9)
    save(figure, "certificate.png")


def draw_band(X, y):
    """The same for the first page, where it has to be seen at a glance."""
    passes, primal, dual = history(X, y, loss="hinge", tol=1e-4)
    figure, axes = plt.subplots(figsize=(5.2, 3.3), layout="constrained")
    axes.fill_between(passes, dual, primal, color="C0", alpha=0.2, lw=0)
    axes.plot(passes, primal, "C0-o", ms=4, lw=2)
    axes.plot(passes, dual, "C3-o", ms=4, lw=2)
    axes.annotate("what you have", (passes[0], primal[0]), (14, -2), textcoords="offset points",
                  color="C0", fontsize=12)  # fmt: skip
    axes.annotate("what nobody can beat", (passes[0], dual[0]), (14, -10),
                  textcoords="offset points", color="C3", fontsize=12)  # fmt: skip
    axes.annotate("the optimum is in between", (passes[1], primal[-1]), (30, 34),
                  textcoords="offset points", fontsize=12, ha="left",
                  arrowprops={"arrowstyle": "->", "color": "gray"})  # fmt: skip
    axes.set(xlim=(passes[0] - 0.2, 16), ylim=(0.5 * dual[0], 1.1 * primal[0]), ylabel="objective")
    axes.set_xlabel("passes over the data (a support vector machine on 6,046 mails)")
    save(figure, "band.png")


def note(axes, text, height):
    """Write above a horizontal line, at its right end."""
    axes.annotate(
        text,
        (0.98, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right",
        fontsize=9,
    )


def draw_solvers(X, y):
    """The certified gap of every solver, for a loss with a kink and for a smooth one."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.9), layout="constrained", sharey=True)
    styles = {
        "sgd": "C1-", "asgd": "C2-", "casgd": "C4--", "ftrl": "C7-", "pegasos": "C5-", "pgs": "C6:",
        "dual": "C3-", "auto": "C0--",
    }  # fmt: skip
    for axes, loss in zip(panels, ("hinge", "log"), strict=True):
        for solver, style in styles.items():
            passes, primal, dual = history(X, y, loss=loss, solver=solver, tol=1e-4, max_epochs=100)
            known = dual > 0.1 * primal
            width = 2.5 if solver in ("auto", "dual") else 1.2
            axes.loglog(
                passes[known], primal[known] / dual[known] - 1, style, lw=width, label=f'"{solver}"'
            )
        axes.set(xlabel=READS, xticks=[2, 5, 10, 20, 50, 100])
        axes.set_xticklabels(["2", "5", "10", "20", "50", "100"])
        axes.minorticks_off()
        axes.set_title(f'loss="{loss}"', fontsize=11)
    panels[0].set_ylabel("certified gap, relative")
    panels[1].legend(fontsize=9, title="solver=", title_fontsize=9)
    save(figure, "solvers.png")


def draw_kernels():
    """A boundary and a ball that are curved among the rows."""
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(np.linspace(-3, 3, 200), np.linspace(-3, 3, 200)), axis=-1)
    flat = grid.reshape(-1, 2)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
    X = rng.normal(size=(400, 2))
    y = X[:, 1] + 0.2 * rng.normal(size=400) > np.sin(2.0 * X[:, 0])
    model = KernelClassifier(gamma=1.0, alpha=1e-3, random_state=0).fit(X, y)
    scores = model.decision_function(flat).reshape(200, 200)
    left.contourf(*grid.T, scores.T, [-99, 0, 99], colors=["C3", "C0"], alpha=0.15)
    left.contour(*grid.T, scores.T, [-1, 0, 1], colors="black", linestyles=[":", "-", ":"])
    left.scatter(*X.T, c=np.where(y, "C0", "C3"), s=6)
    chosen = model.support_vectors_
    left.scatter(*chosen.T, s=28, facecolors="none", edgecolors="black", lw=0.6)
    left.set_title("KernelClassifier: circles are the support rows", fontsize=11)
    angle = rng.uniform(0, 2 * np.pi, 300)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.normal(2, 0.15, 300)[:, None]
    ball = EnclosingBall(kernel="rbf", gamma=2.0, contamination=0.05, eps=1e-3, random_state=0)
    scores = ball.fit(ring).decision_function(flat).reshape(200, 200)
    right.contourf(*grid.T, scores.T, [0, 99], colors=["C0"], alpha=0.15)
    right.contour(*grid.T, scores.T, [0], colors="black")
    right.scatter(*ring.T, c="C0", s=6)
    right.set_title('EnclosingBall(kernel="rbf", contamination=0.05)', fontsize=11)
    for axes in (left, right):
        axes.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal")
    save(figure, "kernels.png")


def save(figure, name):
    """Write a picture as a small file, without the date."""
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / name, dpi=110, metadata={"Software": None})
    plt.close(figure)
    print(f"wrote {FOLDER / name}")


def main():
    """Draw all pictures."""
    X, y = load_spam()
    with plt.rc_context(STYLE):
        draw_certificate(X, y)
        draw_band(X, y)
        draw_solvers(X, y)
        draw_kernels()


if __name__ == "__main__":
    main()
