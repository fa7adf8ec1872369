"""Features that cost money: what a budget buys, read by rows and columns or by whole rows.

    python examples/priced_features.py [picture.png]

A laboratory tells the results of 500 tests on 2,000 samples, at a price for each result: most tests
are cheap, some are dear. The labels are known. What is sought is a linear rule that tells the sick
from the healthy, and the illness has two kinds: the common one shows in ten tests, a rare one in
ten others. A rule that misses the rare kind is right nearly always and yet of little use, so the
table shows how often it is right for each kind, on new samples.

Two buyers have the same budget:

* *skimming* maximises the margin of the worst sample by `tracking`. It asks for one whole sample (a
  row) and one test on all samples (a column) a step. Columns tell it which samples its present rule
  gets wrong, and it asks for those. What it has bought it does not buy again.
* *whole rows* buys samples at random, all their tests, and fits a support vector machine to them.

The service ends a purchase that is beyond the budget by raising `ReadLimit`, and the solver returns
the best it has.

A few columns are enough to tell which samples are of the rare kind, so that skimming finds it with
a part of the money, the more so the rarer it is; with less than that neither is sure of it. It
needs rows that matter more than others: the last table has one kind only and more noise, all of its
samples are alike, and there whole rows are the better buy at every budget.
"""

import argparse
import sys
from typing import NamedTuple

import numpy as np

from skimlearn import LinearClassifier, Oracle, max_margin
from skimlearn.data.oracle import ReadLimit

SAMPLES, TESTS, SHOWN = 2000, 500, 10  # a kind shows in so many tests
CHEAP, DEAR = 1.0, 20.0  # the price of one result
DEAR_SHARE = 0.2
BUDGETS = (0.005, 0.01, 0.02, 0.05, 0.1)  # shares of the price of all results
SEEDS = range(20)
STEPS = 1000  # of skimming, if it can afford them


class Case(NamedTuple):
    """What the samples are like."""

    name: str
    rare_share: float
    noise: float


CASES = (
    Case("3% are of the rare kind", 0.03, 0.06),
    Case("1% are of the rare kind", 0.01, 0.06),
    Case("one kind, more noise", 0.0, 0.3),
)


def make_samples(rng, count, case):
    """Make samples of unit length, their labels, and which are of the rare kind."""
    y = rng.choice([-1.0, 1.0], size=count)
    rare = rng.random(count) < case.rare_share
    X = case.noise * rng.normal(size=(count, TESTS))
    X[~rare, :SHOWN] += y[~rare, None] / SHOWN**0.5
    X[rare, SHOWN : 2 * SHOWN] += y[rare, None] / SHOWN**0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True), y, rare


class Laboratory:
    """Tells results for money."""

    def __init__(self, X, prices, budget):
        self.X, self.prices, self.budget = X, prices, budget
        self.spent = 0.0
        self.rows = self.columns = 0

    def sample(self, i):
        """All results of one sample."""
        self._pay(self.prices.sum())
        self.rows += 1
        return self.X[i]

    def test(self, j):
        """The results of one test on all samples."""
        self._pay(self.prices[j] * len(self.X))
        self.columns += 1
        return self.X[:, j]

    def _pay(self, price):
        if self.spent + price > self.budget:
            raise ReadLimit(f"{price:.0f} more is beyond the budget of {self.budget:.0f}")
        self.spent += price


def skim(laboratory, y, seed):
    """Learn from rows and columns, until the money is spent."""
    oracle = Oracle(
        laboratory.X.shape, row=laboratory.sample, column=laboratory.test, rows_norm=1.0
    )
    result = max_margin(
        oracle, y, eps=0.05, mode="monte-carlo", solver="tracking", max_steps=STEPS,
        random_state=seed,
    )  # fmt: skip
    return result.x


def buy_rows(laboratory, y, seed):
    """Learn from random samples, until the money is spent."""
    order = np.random.default_rng(seed).permutation(len(y))
    bought = []
    try:
        for i in order:
            bought.append(laboratory.sample(i))
    except ReadLimit:
        pass
    labels = y[order[: len(bought)]]
    if len(set(labels)) < 2:
        return np.zeros(TESTS)
    model = LinearClassifier(loss="hinge", alpha=0.01, bias="none", random_state=seed)
    return model.fit(np.array(bought), labels).coef_.ravel()


LEARNERS = {"skimming": skim, "whole rows": buy_rows}


def compare(case):
    """Return for each buyer and budget: right on the common and the rare kind, and what it bought.

    Each is an array of shape (budgets, seeds, 4); without a rare kind its share of right is nan.
    """
    scores = {name: np.full((len(BUDGETS), len(SEEDS), 4), np.nan) for name in LEARNERS}
    for s, seed in enumerate(SEEDS):
        rng = np.random.default_rng(seed)
        X, y, _ = make_samples(rng, SAMPLES, case)
        test, labels, rare = make_samples(rng, 4 * SAMPLES, case)
        prices = np.where(rng.random(TESTS) < DEAR_SHARE, DEAR, CHEAP)
        for b, share in enumerate(BUDGETS):
            for name, learn in LEARNERS.items():
                laboratory = Laboratory(X, prices, share * prices.sum() * SAMPLES)
                right = test @ learn(laboratory, y, seed) * labels > 0.0
                scores[name][b, s, 0] = right[~rare].mean()
                if rare.any():
                    scores[name][b, s, 1] = right[rare].mean()
                scores[name][b, s, 2:] = laboratory.rows, laboratory.columns
    return scores


def show(case, scores):
    """Print the table: averages over the seeds, with standard errors."""
    print(case.name)
    print(f"{'budget':>7}  {'buyer':<11} {'common':>16} {'rare':>16} {'rows':>6} {'columns':>8}")
    for b, share in enumerate(BUDGETS):
        for name in LEARNERS:
            cells = [f"{share:>7.1%}  {name:<11}"]
            for kind in scores[name][b, :, :2].T:
                mean, error = mean_and_error(kind)
                text = f"{mean:.1%} +/- {error:>4.1%}" if np.isfinite(mean) else "-"
                cells.append(f"{text:>16}")
            rows, columns = scores[name][b, :, 2:].mean(axis=0)
            print(*cells, f"{rows:>6.0f} {columns:>8.0f}")


def mean_and_error(values):
    """The mean over the seeds (the last axis), and its standard error."""
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / values.shape[-1] ** 0.5


def draw(tables, path):
    """Draw the accuracies against the budget: for the rare kind, if there is one."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("the picture needs matplotlib: pip install 'skimlearn[report]'")
    matplotlib.use("Agg")  # the plot goes to a file: no display is needed
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(tables), figsize=(4 * len(tables), 3.8), layout="constrained", sharey=True,
        squeeze=False,
    )  # fmt: skip
    for axes, (case, scores) in zip(panels[0], tables.items(), strict=True):
        kind = 1 if case.rare_share > 0.0 else 0
        for name, values in scores.items():
            mean, error = mean_and_error(values[:, :, kind])
            axes.errorbar(BUDGETS, mean, error, fmt="o-", capsize=3, label=name)
        axes.set_xscale("log")
        axes.set_xticks(BUDGETS, [f"{share:.1%}" for share in BUDGETS])
        axes.minorticks_off()
        axes.set_title(f"{case.name}: accuracy on {'it' if kind else 'all'}", fontsize=10)
        axes.set_xlabel("budget, as a share of the price of all results")
        axes.grid(alpha=0.3)
    panels[0, 0].set_ylabel("accuracy on new samples")
    panels[0, 0].legend(loc="lower right")
    figure.savefig(path, dpi=150)
    plt.close(figure)
    print(f"picture: {path}")


def main():
    """Run the comparison; draw it if a path is given."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("picture", nargs="?", help="where to draw it, a .png file")
    picture = parser.parse_args().picture
    tables = {case: compare(case) for case in CASES}
    for case, scores in tables.items():
        show(case, scores)
    if picture is not None:
        draw(tables, picture)


if __name__ == "__main__":
    main()
