"""Balls for sublinear_scaling.py: entries of columns and of rows, with and without skipping."""

import math
from dataclasses import dataclass

import numpy as np
from _tables import Line, Plot, exponents, first_below, grid, mean_interval

from skimlearn.data.columns import as_matrix
from skimlearn.data.rows import add
from skimlearn.sampling.blocks import cut_draw, cut_sums, power_draw, power_sums
from skimlearn.solvers._simplex import (
    LINEAR,
    SINCE,
    SQUARE,
    WEIGHT,
    SimplexSteps,
    _hold,
    _row_law,
)
from skimlearn.solvers._skim import DENSE
from skimlearn.solvers.ball import SAMPLE, BallRun, squared_distances
from skimlearn.solvers.frank_wolfe import pairwise_frank_wolfe


@dataclass(frozen=True)
class EveryRow(SimplexSteps):
    """The steps of the ball without skipping: each reads a row, too, and all have weight 1."""

    def draw(self, state, u, picks):
        _row_law(state, self.ridge)
        mass = cut_sums(state.law, np.inf, state.row_sums)
        picks[0] = cut_draw(state.law, np.inf, state.row_sums, mass, u[0])
        picks[1] = -1
        square = state.scalars[SQUARE]
        if square > 0.0:
            picks[1] = power_draw(state.total, 2.0, state.column_sums, square, u[1])

    def row(self, state, rows, at, i):
        _hold(state, self.ridge)
        add(rows, at, 1.0, state.total)
        for j in range(len(state.total)):
            state.total[j] -= state.origin[j]
        state.counts[i] += 1.0
        state.scalars[WEIGHT] += 1.0
        state.scalars[LINEAR] += state.linear[i]
        state.scalars[SQUARE] = power_sums(state.total, 2.0, state.column_sums)
        state.scalars[SINCE] = -1.0


def make_points(n, d, seed):
    """Gaussian points, and the square of the radius of their smallest ball."""
    A = np.random.default_rng(seed).normal(size=(n, d)) / math.sqrt(d)
    exact = pairwise_frank_wolfe(A, -(A * A).sum(axis=1), eps=1e-9)
    return A, -exact.certificate.primal


def ball_path(A, square, steps, seed, *, skips=True):
    """Relative error of the centre's squared radius, entries of columns and of rows read."""
    n, rng, matrix = len(A), np.random.default_rng(seed), as_matrix(A)
    origin = A[rng.choice(n, size=SAMPLE, replace=False)].mean(axis=0)
    squares = squared_distances(matrix.rows, origin)
    run = BallRun(
        matrix, rng, linear=-squares, origin=origin, longest=float(squares.max()),
        mode="monte-carlo",
    )  # fmt: skip
    if not skips:
        run.method = EveryRow(shifted=1.0)
    rows = []
    for count in steps:
        run.advance(int(count), None)
        centre = run.fallback()[0]
        radius = float(squared_distances(matrix.rows, centre).max())
        of_columns = n * (count - 1.0)  # the first step has no centre yet, and reads a row only
        rows.append((radius / square - 1.0, of_columns, run.tally[DENSE] - of_columns))
    return np.array(rows).T


def ball(quick):
    """Entries of columns and of rows against the error."""
    n, d, seeds, last = (300, 60, 10, 2**12) if quick else (1000, 200, 16, 2**17)
    A, square = make_points(n, d, seed=0)
    eps = 2.0 ** -np.arange(2.0, 4.6 if quick else 7.1, 0.25)
    steps = grid(8, last, 2.0**0.25)
    paths = np.array([ball_path(A, square, steps, seed) for seed in range(seeds)])
    columns, rows = (first_below(paths[:, 0], paths[:, k], eps) for k in (1, 2))
    count = columns / n + 1.0
    of_columns, of_rows = exponents(1.0 / eps, columns), exponents(1.0 / eps, rows)
    without = exponents(1.0 / eps, rows / np.log(count + 1.0))
    lines = [
        Line("ball", "entries of columns: of 1/eps", *mean_interval(of_columns), 1.5, 2.4),
        Line("ball", "entries of rows: of 1/eps", *mean_interval(of_rows), 0.8, 1.5),
        Line("ball", "the same / log(steps)", *mean_interval(without), 0.7, 1.2),
    ]
    curves = {"columns": (1.0 / eps, columns), "rows": (1.0 / eps, rows)}
    slopes = {"columns": 2, "rows": 1}
    return lines, Plot(f"ball, {n} x {d}", "1 / eps", "entries read", curves, slopes)


def skipping(quick):
    """The same steps with a row in each of them: no better, but many more rows."""
    n, d, seeds, last = (300, 60, 10, 2**11) if quick else (1000, 200, 16, 2**14)
    A, square = make_points(n, d, seed=0)
    steps = grid(16, last, 2.0**0.5)
    with_skips, without = (
        np.array([ball_path(A, square, steps, seed, skips=skips) for seed in range(seeds)])
        for skips in (True, False)
    )
    late = steps >= last / 4.0
    gap = np.log(with_skips[:, 0, late] / without[:, 0, late]).mean(axis=1)
    fewer = with_skips[:, 2, -1] / without[:, 2, -1]
    lines = [
        Line("skipping", "error, by that without, at equal steps",
             *np.exp(mean_interval(gap)), 0.7, 1.5),
        Line("skipping", "rows read, by those without", *mean_interval(fewer), 0.0, 0.3),
    ]  # fmt: skip
    curves = {"with skipping": (steps, with_skips[:, 0]), "a row each step": (steps, without[:, 0])}
    slopes = {"a row each step": -0.5}
    return lines, Plot("ball: skipping", "steps", "relative error", curves, slopes)
