"""Passes over the data until a margin is known to a part of the longest row.

    python benchmarks/finishers.py

The working set, variance-reduced extragradient and mirror-prox on one Gaussian problem, hard margin
and kappa = 0.2: entries read divided by the number of entries.
"""

import argparse

import numpy as np

from skimlearn.data.columns import as_matrix
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.extragradient import extragradient
from skimlearn.solvers.mirror_prox import mirror_prox
from skimlearn.solvers.working_set import working_set

GAPS = (1e-1, 1e-2, 1e-3, 1e-4)


def cloud(n, d, rng):
    """Rows of length 1 at most with a margin of about 0.2."""
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    y = rng.choice([-1.0, 1.0], size=n)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    X += np.outer(y * rng.uniform(0.2, 0.6, size=n) - X @ w, w)
    return X / np.linalg.norm(X, axis=1).max(), y


def passes(result, entries):
    """When each gap was first certified; a dash if it was not."""
    cells = []
    for gap in GAPS:
        reads = [r.reads for r in result.history if r.dual - r.primal <= gap]
        cells.append(f"{reads[0] / entries:9.1f}" if reads else f"{'-':>9s}")
    return " ".join(cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="for each solver and problem")
    options = parser.parse_args()
    n, d = 1000, 300
    X, y = cloud(n, d, np.random.default_rng(0))
    matrix = as_matrix(X)
    limits = Limits(eps=GAPS[-1], max_seconds=options.seconds)
    print(f"{n} x {d}; passes to a gap of   " + " ".join(f"{gap:9.0e}" for gap in GAPS))
    for name, cap in (("hard margin", 1.0), ("kappa = 0.2", 1.0 / (0.2 * n))):
        problem = {"cap": cap, "bias": False, "limits": limits}
        results = {
            "working set": working_set(matrix, y, **problem),
            "extragradient": extragradient(matrix, y, rng=np.random.default_rng(0), **problem),
            "mirror-prox": mirror_prox(matrix, y, **problem),
        }
        for solver, result in results.items():
            print(f"{name}  {solver:14s} {passes(result, matrix.entries)}")


if __name__ == "__main__":
    main()
