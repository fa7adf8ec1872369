"""Do dense and sparse rows give the same answer?

    python benchmarks/dense_sparse.py

First table: the largest relative difference between the coefficients learned from a dense array and
from the same rows as a CSR matrix, with the same seed, over all solvers, losses and kinds of bias.
Second table: R2 on scikit-learn's diabetes data, dense and CSR, of SGDRegressor as it comes (which
shortens the steps of its bias for sparse rows) and of skimlearn.
"""

import argparse
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge, SGDRegressor

from skimlearn import LinearRegressor

SOLVERS = ("sgd", "asgd", "casgd", "pegasos", "pgs", "dual", "auto")
LOSSES = ("squared", "absolute", "huber", "epsilon_insensitive")


def difference(X, y, **options):
    """The largest difference between the two answers, relative to the largest coefficient."""
    answers = []
    for rows in (X, sp.csr_array(X)):
        model = LinearRegressor(**options).fit(rows, y)
        answers.append(np.append(model.coef_, model.intercept_))
    return np.abs(answers[0] - answers[1]).max() / np.abs(answers[0]).max()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--columns", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # few epochs are enough to compare

    rng = np.random.default_rng(options.seed)
    X = rng.normal(size=(options.rows, options.columns))
    X[rng.random(X.shape) < 0.7] = 0.0
    y = X @ rng.normal(size=options.columns) + rng.normal(size=options.rows)
    print("largest relative difference of coefficients, dense and CSR")
    print("solver".ljust(9), *(loss.rjust(20) for loss in LOSSES))
    for solver in SOLVERS:
        line = []
        for loss in LOSSES:
            worst = 0.0
            for bias in ("free", "regularized", "none"):
                if solver == "casgd" and bias != "free":
                    continue  # centring is for a free bias
                common = {"loss": loss, "bias": bias, "solver": solver, "alpha": 1e-2}
                common |= {"max_epochs": options.epochs, "random_state": options.seed}
                worst = max(worst, difference(X, y, **common))
            line.append(f"{worst:20.1e}")
        print(solver.ljust(9), *line, flush=True)

    X, y = load_diabetes(return_X_y=True)
    alpha = 1e-4
    print("\nR2 on the diabetes data".ljust(36), "dense".rjust(8), "CSR".rjust(8))
    for name, make in {
        "scikit-learn Ridge, the optimum": lambda: Ridge(alpha=alpha * len(y), tol=1e-10),
        "scikit-learn SGDRegressor": lambda: SGDRegressor(alpha=alpha, random_state=options.seed),
        "skimlearn LinearRegressor": lambda: LinearRegressor(
            alpha=alpha, tol=1e-6, random_state=options.seed
        ),
    }.items():
        scores = [make().fit(rows, y).score(rows, y) for rows in (X, sp.csr_matrix(X))]
        print(name.ljust(35), *(f"{score:8.3f}" for score in scores))


if __name__ == "__main__":
    main()
