"""Are the rates of the weights in stream_margin and stream_ball good ones? Half and twice as much.

    python benchmarks/stream_rates.py [--passes 24] [--seeds 5] [--factors 0.25 0.5 1 2 4]

Each line is a problem: the gap after so many passes with the rate times a factor, as a multiple of
the gap with the rate as it is, and the geometric mean over seeds. The last lines are means over all
problems, with the greatest and the least of them.
"""

import argparse
import importlib

import numpy as np

margins = importlib.import_module("skimlearn.solvers.stream_margin")
balls = importlib.import_module("skimlearn.solvers.stream_ball")
KEEP = {"eps": 1e-12, "keep_weights": True}


def margin(n, d, gap, noise, decay):
    """Two clouds of n rows, ``gap`` apart, whose columns have sizes that fall as powers."""

    def make(rng):
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        X = noise * rng.standard_normal((n, d)) * np.arange(1.0, d + 1.0) ** -decay
        way = rng.standard_normal(d)
        return X + gap * y[:, None] * way / np.linalg.norm(way), y

    return make


def ball(n, d, tail, shift):
    """n rows around a point at a distance, some much farther out than others."""

    def make(rng):
        X = rng.standard_normal((n, d)) * rng.random((n, 1)) ** tail
        return X + shift, None

    return make


PROBLEMS = {
    "margin, easy": margin(1000, 30, 1.0, 0.1, 0.0),
    "margin, narrow": margin(1000, 30, 0.3, 0.1, 0.0),
    "margin, none": margin(1000, 30, 0.05, 0.3, 0.0),
    "margin, few rows": margin(100, 30, 0.5, 0.1, 0.0),
    "margin, many rows": margin(10_000, 30, 0.5, 0.1, 0.0),
    "margin, many columns": margin(500, 500, 0.5, 0.05, 0.0),
    "margin, columns of all sizes": margin(1000, 100, 0.3, 0.3, 0.7),
    "ball, normal": ball(1000, 30, 0.0, 0.0),
    "ball, at a distance": ball(1000, 30, 0.0, 10.0),
    "ball, few far rows": ball(1000, 30, 2.0, 0.0),
    "ball, a plane": ball(1000, 2, 1.0, 0.0),
    "ball, few rows": ball(100, 30, 0.0, 0.0),
    "ball, many rows": ball(10_000, 30, 0.5, 0.0),
    "ball, many columns": ball(500, 500, 0.5, 0.0),
}


def gap(make, factor, seed, passes):
    """The certified gap after some passes, with a rate of so many times the usual one."""
    X, y = make(np.random.default_rng(seed))
    home = balls if y is None else margins
    solve = balls.stream_ball if y is None else margins.stream_margin
    usual, home.RATE = home.RATE, factor * home.RATE
    try:
        source = X if y is None else (X, y)
        return solve(source, max_passes=passes, random_state=seed, **KEEP).certificate.gap
    finally:
        home.RATE = usual


def ratios(make, factors, seeds, passes):
    """For each factor, the geometric mean over seeds of the gap beside that of the usual rate."""
    gaps = np.array([[gap(make, f, s, passes) for f in (1.0, *factors)] for s in range(seeds)])
    return mean_of(gaps[:, 1:] / gaps[:, :1])


def mean_of(table):
    """The geometric mean of each column."""
    return np.exp(np.log(table).mean(axis=0))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passes", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--factors", type=float, nargs="*", default=[0.25, 0.5, 1.0, 2.0, 4.0])
    options = parser.parse_args()
    factors = options.factors
    print("| problem | " + " | ".join(f"{f:g}" for f in factors) + " |")
    print("|---|" + "---|" * len(factors), flush=True)
    found = {}
    for name, make in PROBLEMS.items():
        found[name] = ratios(make, factors, options.seeds, options.passes)
        print(f"| {name} | " + " | ".join(f"{r:.2f}" for r in found[name]) + " |", flush=True)
    for kind in ("margin", "ball"):
        table = np.array([found[name] for name in found if name.startswith(kind)])
        cells = (
            f"{mean:.2f} ({low:.2f} to {high:.2f})"
            for mean, low, high in zip(
                mean_of(table), *np.sort(table, axis=0)[[0, -1]], strict=True
            )
        )
        print(f"| **all {kind}s** | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
