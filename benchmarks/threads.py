"""Microseconds per step of the sublinear margin solvers, by one thread and by several.

    python benchmarks/threads.py

A step touches n + d numbers, each thread its share of them. The matrices are dense, float32, and
held in both orders; those that would not fit into memory are Hankel matrices, A_ij = g_(i + j),
whose lines are windows of one vector. Shown is the least time of many short runs. One thread and
several must end at the same state, to the bit; if they do not, the exit status is 1.
"""

import argparse
import sys
import time

import numpy as np

from skimlearn.data.columns import Matrix
from skimlearn.data.rows import Dense
from skimlearn.solvers._margin_skim import MarginSkim
from skimlearn.solvers.simba import Simba
from skimlearn.solvers.tracking import Tracking

SHAPES = [
    (5_000, 5_000), (10_000, 10_000), (20_000, 20_000), (50_000, 50_000), (64, 200_000),
    (200_000, 64), (250_000, 250_000), (64, 2_000_000), (2_000_000, 64), (2_000_000, 2_000_000),
]  # fmt: skip
STORED = 1.5e8  # entries of a matrix that is held in memory


def methods(n):
    """Settings by name: the hard margin; and a tenth of the rows, with a bias."""
    cap = 1.0 / (0.1 * n)
    return {
        "simba": Simba(),
        "simba, kappa": Simba(cap=cap, bias=1.0),
        "tracking": Tracking(opening=0.0),
        "tracking, kappa": Tracking(cap=cap, bias=1.0, opening=0.0),
    }


def make_matrix(n, d, seed):
    """A matrix by rows and by columns, and labels."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    if n * d <= STORED:
        by_row = rng.standard_normal((n, d), dtype=np.float32)
        return Matrix(Dense(by_row), Dense(np.ascontiguousarray(by_row.T))), y
    g = rng.standard_normal(n + d, dtype=np.float32)
    windows = np.lib.stride_tricks.sliding_window_view
    return Matrix(Dense(windows(g, d)[:n]), Dense(windows(g, n)[:d])), y


def begin(matrix, y, settings, threads):
    """A run at its beginning."""
    length = 2.0 * np.sqrt(matrix.shape[1])
    rng = np.random.default_rng(0)
    skim = MarginSkim(matrix, rng, y=y, settings=settings, eps=1.0, length=length)
    skim.threads = threads
    return skim


def measure(matrix, y, settings, threads, seconds):
    """Microseconds per step by one thread and by several, and whether they agree."""
    skims = {count: begin(matrix, y, settings, count) for count in (1, threads)}
    best = dict.fromkeys(skims, np.inf)
    steps = int(np.clip(2e6 / sum(matrix.shape), 3, 200))
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 4 or time.perf_counter() < end:
        for count, skim in skims.items():  # by turns: other work on the machine hits them alike
            start = time.perf_counter()
            skim.advance(skim.steps + steps, None)
            best[count] = min(best[count], (time.perf_counter() - start) / steps)
        rounds += 1
    one, many = (skim.state._asdict() for skim in skims.values())
    equal = all(np.array_equal(one[k], many[k]) for k in one if k not in ("parts", "team"))
    return 1e6 * best[1], 1e6 * best[threads], equal


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each figure")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    same = True
    print(f"{'n':>9} {'d':>9}  {'method':<16} {'1 thread':>10} {options.threads:>2} threads  gain")
    for n, d in SHAPES:
        matrix, y = make_matrix(n, d, options.seed)
        for name, settings in methods(n).items():
            one, many, equal = measure(matrix, y, settings, options.threads, options.seconds)
            note = "" if equal else "  DIFFERENT"
            print(
                f"{n:9d} {d:9d}  {name:<16} {one:10.1f} {many:10.1f}  {one / many:.2f}{note}",
                flush=True,
            )
            same &= equal
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
