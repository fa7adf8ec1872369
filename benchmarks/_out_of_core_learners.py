"""The learners of out_of_core.py, and how many steps they need for an aim."""

import numpy as np

from skimlearn import Matrix
from skimlearn.data.inspection import as_rows
from skimlearn.data.ledger import Ledger
from skimlearn.formulas.losses import Hinge
from skimlearn.formulas.regularizers import SquaredL2
from skimlearn.problem import Problem
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.choose_margin import MarginRun
from skimlearn.solvers.pegasos import Pegasos, Settings

AIM = 0.005
ALPHAS = (1e-3, 1e-2, 1e-1)  # those that Pegasos may choose from
AVERAGES = ("last", "mean")


class Tracking:
    """Steps that read one row and one column each."""

    name = "tracking"

    def __init__(self, files, seed):
        self.run = MarginRun(
            Matrix.pair(*files.open()), files.y, np.random.default_rng(seed), solver="tracking",
            mode="monte-carlo", eps=1e-3, length=1.0,
        )  # fmt: skip

    def advance(self, steps):
        self.run.run(Limits(eps=1e-3, max_steps=steps))

    def weights(self):
        return self.run.skim.fallback()[0]

    def read(self):
        return self.run.skim.reads.nnz


class Sgd:
    """Pegasos over rows in the order of the file; each seed begins elsewhere."""

    name = "Pegasos"

    def __init__(self, files, seed, alpha=1e-2, average="last"):
        n = files.shape[0]
        rows = as_rows(files.open()[0], inspect=False)
        problem = Problem(rows, files.y, np.ones(n), Hinge(), SquaredL2(), alpha, "none")
        rng = np.random.default_rng(seed)
        self.method = Pegasos(problem, Ledger(rows), Settings(average=average), rng)
        self.first, self.done, self.d = int(rng.integers(n)), 0, files.shape[1]
        self.n = n

    def advance(self, steps):
        self.method.visit((self.first + np.arange(self.done, steps)) % self.n)
        self.done = steps

    def weights(self):
        return self.method.answer()[0]

    def read(self):
        return self.done * self.d


def steps_to_aims(make, files, most):
    """The least numbers of steps, on a fine grid, after which the two aims are met."""
    learner, aims, steps = make(), [None, None], 0
    while None in aims and steps < most:
        steps = min(most, max(steps + 2, int(1.1 * steps)))
        learner.advance(steps)
        for k, error in enumerate(files.errors(learner.weights())):
            if aims[k] is None and error <= AIM:
                aims[k] = steps
    return [most if steps is None else steps for steps in aims]


def best_sgd(files, seeds):
    """The settings of Pegasos that need the fewest rows for the rare kind, over all seeds."""
    found = {}
    for alpha in ALPHAS:
        for average in AVERAGES:
            options = {"alpha": alpha, "average": average}
            limit = min(found) if found else files.shape[0] * len(seeds)
            total = 0
            for seed in seeds:
                make = lambda o=options, s=seed: Sgd(files, s, **o)  # noqa: E731
                total += steps_to_aims(make, files, min(files.shape[0], limit - total))[1]
                if total >= limit:
                    break
            if total < limit or not found:
                found[total] = options
    return found[min(found)]
