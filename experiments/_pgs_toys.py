"""Runs of PGS that can be looked at on their way, and the toy sets: two Gaussians."""

import time

import numpy as np

from skimlearn.data.ledger import Ledger
from skimlearn.problem import make_problem
from skimlearn.solvers import pgs

TOY_ALPHAS = (3e-4, 1e-3, 3e-3, 1e-2)
ERROR = 0.05  # of unit vectors
MOST = 200_000  # steps


class Run:
    """PGS on its way: visits, and the CPU time of these."""

    def __init__(self, given, k, seed, answer="mean"):
        self.rng = np.random.default_rng(seed)
        settings = pgs.Settings(batch_size=k, sampling="iid", average=answer)
        start = time.process_time()
        self.method = pgs.Pgs(given, Ledger(given.rows), settings, self.rng)
        self.seconds, self.visits = time.process_time() - start, 0

    def advance(self, visits):
        order = self.rng.integers(0, self.method.problem.n, visits - self.visits)
        start = time.process_time()
        self.method.visit(order)
        w = self.method.answer()[0]
        self.seconds += time.process_time() - start
        self.visits = visits
        return w


def growing(first, last, ratio, k=1):
    """Numbers of visits that grow, whole steps each."""
    steps = first * ratio ** np.arange(np.log(last / first) / np.log(ratio) + 1.0)
    return np.unique(k * np.round(steps / k).astype(int)).tolist()


def toys(quick):
    """Median steps to a direction within 0.05 of the best, by dimension and number of rows."""
    dimensions = (10,) if quick else (10, 20, 40)
    sizes = (2000, 50_000) if quick else (6250, 25_000, 50_000, 200_000)
    runs = {"mean": 5} if quick else {"mean": 150, "tail": 30}
    found = {"sizes": sizes, "runs": runs, "most": MOST, "answers": {}}
    for answer, count in runs.items():
        found["answers"][answer] = {}
        for d in dimensions:
            toy = Toy(sizes[-1], d, answer)
            found["answers"][answer][d] = [toy.line(m, 2 if quick else 3, count) for m in sizes]
            print(f"toy set of {d} dimensions, {answer}: done", flush=True)
    return found


class Toy:
    """Rows of two Gaussians, and how soon an answer of PGS has the direction of the best plane."""

    def __init__(self, n, d, answer):
        X, y, self.best = gaussians(n, d)
        self.X, self.y = np.concatenate([X, X]), np.concatenate([y, y])  # n parts of m in a row
        self.answer = answer

    def line(self, m, tries, runs):
        """The median of the steps with m rows; alpha is that which was quickest in some tries."""
        medians = {
            a: np.median([self.steps(m, a, seed) for seed in range(tries)]) for a in TOY_ALPHAS
        }
        alpha = min(medians, key=medians.get)
        count = runs if np.isfinite(medians[alpha]) else tries  # not a chance: no more runs
        steps = [self.steps(m, alpha, tries + seed) for seed in range(count)]
        return {
            "m": m, "alpha": alpha, "steps": np.median(steps),
            "quartiles": np.percentile(steps, (25, 75), method="nearest"),
            "reached": np.mean(np.isfinite(steps)),
        }  # fmt: skip

    def steps(self, m, alpha, seed):
        """Steps until the direction is right, at two looks; inf if it never is."""
        start = int(np.random.default_rng((m, seed)).integers(len(self.y) // 2))
        part = slice(start, start + m)
        given = make_problem(self.X[part], self.y[part], loss="log", alpha=alpha, bias="none")
        run, held = Run(given, 1, seed, self.answer), None
        for count in growing(500, MOST, 1.1):
            w = run.advance(count)
            length = np.linalg.norm(w)
            near = length > 0.0 and np.linalg.norm(w / length - self.best) <= ERROR
            if near and held is not None:
                return held
            held = count if near else None
        return np.inf


def gaussians(n, d, seed=0):
    """Two Gaussians of one covariance, means apart; the unit normal of the best plane."""
    rng = np.random.default_rng(seed)
    root = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.sqrt(np.geomspace(0.5, 2.0, d))
    mean = root @ rng.normal(size=d)
    best = np.linalg.solve(root @ root.T, mean)
    mean *= 1.2 / np.sqrt(best @ mean)  # the classes are 2.4 deviations apart: 12 % are wrong
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    X = rng.normal(size=(n, d)) @ root.T + np.outer(y, mean)
    return X, y, best / np.linalg.norm(best)
