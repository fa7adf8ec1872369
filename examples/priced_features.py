"""Features that cost money: what a budget buys, read by rows and columns or by whole rows.

    python examples/priced_features.py [picture.png]

A laboratory tells the results of 500 tests on 2,000 samples, at a price for each result: most tests
are cheap, some are dear. The labels are known. What is sought is a linear rule that tells the sick
from the healthy, and the illness has two kinds: the common one shows in one test, a rare one in
another. A rule that misses the rare kind is right nearly always and yet of little use, so the table
shows how often it is right for each kind, on new samples, for two shares of the rare kind.

Two buyers have the same budget:

* *skimming* maximises the margin of the worst sample by the sublinear perceptron. It asks for one
  whole sample (a row) and one test on all samples (a column) a step. Columns tell it which samples
  its present rule gets wrong, and it asks for those. What it has bought it does not buy again.
* *whole rows* buys samples at random, all their tests, and fits a support vector machine to them.

The service ends a purchase that is beyond the budget by raising `ReadLimit`, and the solver returns
the best it has.

Columns are dear: with the smallest budgets whole rows are the better buy. Once skimming can
afford a dozen columns it finds the rare kind sooner, the more so the rarer it is. That needs rows
that matter more than others: where all samples are alike a random one is as good as a chosen one,
and whole rows are the better buy at small budgets and no worse at large ones.
"""

import sys

import numpy as np

from skimlearn import LinearClassifier, Oracle
from skimlearn.data.oracle import ReadLimit
from skimlearn.solvers.low_regret import Ball
from skimlearn.solvers.primal_dual import primal_dual
from skimlearn.solvers.samplers import InnerProducts

SAMPLES, TESTS = 2000, 500
RARE = (0.03, 0.01)  # shares of the rare kind
NOISE = 0.06
CHEAP, DEAR = 1.0, 20.0  # the price of one result
DEAR_SHARE = 0.2
BUDGETS = (0.01, 0.02, 0.05, 0.1)  # shares of the price of all results
SEEDS = range(20)
STEPS = 3000


def make_samples(rng, count, rare_share):
    """Make samples of unit length, their labels, and which are of the rare kind."""
    y = rng.choice([-1.0, 1.0], size=count)
    rare = rng.random(count) < rare_share
    X = NOISE * rng.normal(size=(count, TESTS))
    X[:, 0] += np.where(rare, 0.0, y)
    X[:, 1] += np.where(rare, y, 0.0)
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
    oracle = Oracle(  # the labels are folded into the rows
        laboratory.X.shape,
        row=lambda i: y[i] * laboratory.sample(i),
        column=lambda j: y * laboratory.test(j),
        rows_norm=1.0,
    )
    result = primal_dual(
        Ball(oracle), InnerProducts(oracle), len(y), max_steps=STEPS, random_state=seed
    )
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


def compare(rare_share):
    """Return for each buyer and budget: right on the common and the rare kind, and what it bought.

    Each is an array of shape (budgets, seeds, 4).
    """
    scores = {name: np.empty((len(BUDGETS), len(SEEDS), 4)) for name in LEARNERS}
    for s, seed in enumerate(SEEDS):
        rng = np.random.default_rng(seed)
        X, y, _ = make_samples(rng, SAMPLES, rare_share)
        test, labels, rare = make_samples(rng, 4 * SAMPLES, rare_share)
        prices = np.where(rng.random(TESTS) < DEAR_SHARE, DEAR, CHEAP)
        for b, share in enumerate(BUDGETS):
            for name, learn in LEARNERS.items():
                laboratory = Laboratory(X, prices, share * prices.sum() * SAMPLES)
                right = test @ learn(laboratory, y, seed) * labels > 0.0
                kinds = right[~rare].mean(), right[rare].mean()
                scores[name][b, s] = *kinds, laboratory.rows, laboratory.columns
    return scores


def show(rare_share, scores):
    """Print the table: averages over the seeds, with the standard error for the rare kind."""
    print(f"rare kind: {rare_share:.0%} of the samples")
    print(f"{'budget':>7}  {'buyer':<11} {'common':>7} {'rare':>16} {'rows':>6} {'columns':>8}")
    for b, share in enumerate(BUDGETS):
        for name in LEARNERS:
            common, rare, rows, columns = scores[name][b].mean(axis=0)
            error = scores[name][b, :, 1].std(ddof=1) / len(SEEDS) ** 0.5
            accuracies = f"{common:>7.1%} {rare:>7.1%} +/- {error:>4.1%}"
            print(f"{share:>7.1%}  {name:<11} {accuracies} {rows:>6.0f} {columns:>8.0f}")


def draw(tables, path):
    """Draw the accuracies for the rare kind against the budget."""
    try:
        import matplotlib
    except ImportError:
        sys.exit("the picture needs matplotlib: pip install 'skimlearn[report]'")
    matplotlib.use("Agg")  # the plot goes to a file: no display is needed
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(tables), figsize=(9, 4), layout="constrained", sharey=True, squeeze=False
    )
    for axes, (rare_share, scores) in zip(panels[0], tables.items(), strict=True):
        for name, values in scores.items():
            rare = values[:, :, 1]
            error = rare.std(axis=1, ddof=1) / len(SEEDS) ** 0.5
            axes.errorbar(BUDGETS, rare.mean(axis=1), error, fmt="o-", capsize=3, label=name)
        axes.set_xscale("log")
        axes.set_xticks(BUDGETS, [f"{share:.0%}" for share in BUDGETS])
        axes.minorticks_off()
        axes.set_title(f"rare kind: {rare_share:.0%} of the samples")
        axes.set_xlabel("budget, as a share of the price of all results")
        axes.grid(alpha=0.3)
    panels[0, 0].set_ylabel("accuracy on the rare kind")
    panels[0, 0].legend()
    figure.savefig(path, dpi=150)
    print(f"picture: {path}")


def main():
    """Run the comparison; draw it if a path is given."""
    tables = {rare_share: compare(rare_share) for rare_share in RARE}
    for rare_share, scores in tables.items():
        show(rare_share, scores)
    if len(sys.argv) > 1:
        draw(tables, sys.argv[1])


if __name__ == "__main__":
    main()
