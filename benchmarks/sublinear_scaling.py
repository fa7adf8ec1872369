"""Do the sublinear solvers read as few entries as theory says? Exponents, measured.

    python benchmarks/sublinear_scaling.py --out results/    # table.json, table.md, plots.png
    python benchmarks/sublinear_scaling.py --quick           # fewer seeds, less accuracy

The claims are those of Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning"
(2010), figure 1: eps^-2 (n + d) entries for margins, eps^-2 n + eps^-1 d for balls, all entries in
addition for a proof, and lower bounds that say that this is about the best.

An exponent is a slope by least squares through logarithms, one for each seed; shown are their mean
and a 95 % interval for it (bootstrap over the seeds). The interval does not know what theory leaves
out: factors of log(1 / eps), and the beginning of a run. The errors of answers are exact: they are
computed from the optimum and from all responses, outside of what a run counts as read.

The exit status is 1 if a number is not within the limits in the column "expected".
"""

import argparse
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _tables import Line, Plot, exponents, mean_interval, show, store

from skimlearn.data.columns import as_matrix
from skimlearn.data.rows import add
from skimlearn.result import Status
from skimlearn.sampling.blocks import cut_draw, cut_sums, power_draw, power_sums
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_skim import MarginSkim
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
from skimlearn.solvers.game import matrix_game
from skimlearn.solvers.low_regret import Simplex
from skimlearn.solvers.margin import max_margin
from skimlearn.solvers.primal_dual import primal_dual
from skimlearn.solvers.samplers import InnerProducts
from skimlearn.solvers.simba import Simba
from skimlearn.solvers.working_set import working_set

MARGIN = 0.2


def first_below(gaps, amounts, eps):
    """The amount at which the gap of each seed is first below each eps; nan if never."""
    below = gaps[:, :, None] <= eps
    amounts = np.broadcast_to(amounts, gaps.shape)
    at = np.take_along_axis(amounts, below.argmax(axis=1), axis=1).astype(float)
    return np.where(below.any(axis=1), at, np.nan)


def half_way(x, success):
    """Where a rising frequency first passes 1/2, on a scale of logarithms; nan if it never does."""
    at = int(np.argmax(success >= 0.5))
    if success[at] < 0.5:
        return math.nan
    if at == 0:
        return float(x[0])
    part = (0.5 - success[at - 1]) / (success[at] - success[at - 1])
    return float(x[at - 1] * (x[at] / x[at - 1]) ** part)


def grid(first, last, ratio):
    return np.unique(np.round(first * ratio ** np.arange(math.log(last / first, ratio) + 1)))


# ------------------------------------------------------------------------------------------ margins


def directions(n, d, rng):
    """A unit vector, and unit vectors orthogonal to it."""
    w = np.full(d, d**-0.5)
    across = rng.normal(size=(n, d))
    across -= np.outer(across @ w, w)
    return w, across / np.linalg.norm(across, axis=1, keepdims=True)


def make_cloud(n, d, seed):
    """Unit rows with a margin of about 0.2, which few of them attain; and that margin, exactly."""
    rng = np.random.default_rng(seed)
    w, across = directions(n, d, rng)
    height = np.minimum(0.8 * MARGIN + 0.3 * np.abs(rng.normal(size=n)), 0.95)[:, None]
    A = height * w + np.sqrt(1.0 - height**2) * across
    exact = working_set(as_matrix(A), np.ones(n), cap=1.0, bias=False, limits=Limits(eps=1e-9))
    return A, exact.certificate.primal


def make_pairs(n, d, seed):
    """Unit rows 0.2 w + v and 0.2 w - v: a margin of 0.2, whatever n and d, attained by all."""
    w, across = directions(n // 2, d, np.random.default_rng(seed))
    return MARGIN * w + math.sqrt(1.0 - MARGIN**2) * np.concatenate((across, -across))


def skim_margin(matrix, seed, *, plan=0.0, mode="monte-carlo", eps=0.1):
    n = matrix.shape[0]
    rng = np.random.default_rng(seed)
    settings = Simba(horizon=float(plan))
    return MarginSkim(matrix, rng, y=np.ones(n), settings=settings, eps=eps, mode=mode, length=1.0)


def margin_errors(skim, A, sigma):
    """How far the answer and the free bound are from the greatest margin."""
    x, _, p = skim.fallback()
    return sigma - float((A @ x).min()), float(np.linalg.norm(A.T @ p)) - sigma


def margin_path(A, sigma, steps, seed, *, planned=False):
    """Errors of the answer and of the bound, and reads, after so many steps.

    If the steps are planned, each number of them is a run of its own; else it is one run.
    """
    matrix = as_matrix(A)
    skim, rows = skim_margin(matrix, seed), []
    for count in steps:
        if planned:
            skim = skim_margin(matrix, seed, plan=count)
        skim.advance(int(count), None)
        rows.append((*margin_errors(skim, A, sigma), skim.reads.dense))
    return np.array(rows).T


def perceptron(quick):
    """Reads against the error, on one cloud."""
    n, d, seeds, finest = (200, 100, 10, 2.0**-5.5) if quick else (400, 200, 16, 2.0**-7)
    A, sigma = make_cloud(n, d, seed=1)
    eps = 2.0 ** -np.arange(2.5, -math.log2(finest) + 0.1, 0.25)
    # x = 0 has an error of sigma, and the first rows drawn halve it: the law is one of small errors
    small = eps <= sigma / 4.0
    last = 10.0 * math.log(n) / finest**2
    lines, curves = [], {}
    for planned, ratio in ((True, 2.0 if quick else 2.0**0.5), (False, 2.0**0.25)):
        steps = grid(16, last, ratio)
        paths = np.array([margin_path(A, sigma, steps, s, planned=planned) for s in range(seeds)])
        name = "planned" if planned else "anytime"
        for part, of in enumerate(("answer", "free bound")):
            reads = first_below(paths[:, part], paths[:, 2], eps)
            curves[f"{of}, {name}"] = (1.0 / eps, reads)
            what = f"reads of {of}, {name}: of 1/eps"
            limits = (1.6, 2.6) if part == 0 else (1.2, 2.4)
            line = mean_interval(exponents(1.0 / eps[small], reads[:, small]))
            lines.append(Line("perceptron", what, *line, *limits))
    slopes = {"answer, anytime": 2, "free bound, anytime": 2}
    return lines, Plot(f"margin {sigma:.2f}, {n} x {d}", "1 / eps", "reads", curves, slopes)


def sizes(quick):
    """Steps (reads / (n + d)) against n and d, at one error."""
    seeds, eps = (10, 0.1) if quick else (24, 0.05)
    ns = 2 ** np.arange(7, 12 if quick else 15)
    ds = 2 ** np.arange(7, 12 if quick else 14)
    steps = grid(16, 60.0 * math.log(ns[-1]) / eps**2, 1.1)

    def passage(n, d, seed):
        A = make_pairs(n, d, seed)
        skim = skim_margin(as_matrix(A), seed)
        for count in steps:
            skim.advance(int(count), None)
            if margin_errors(skim, A, MARGIN)[0] <= eps:
                return skim.reads.dense / (n + d)
        return math.nan

    by_n = np.array([[passage(n, 128, seed) for n in ns] for seed in range(seeds)])
    by_d = np.array([[passage(128, d, seed) for d in ds] for seed in range(seeds)])
    of_n, of_log = exponents(ns, by_n), exponents(np.log(ns), by_n)
    lines = [
        Line("sizes", "reads / (n + d): of n", *mean_interval(of_n), 0.0, 0.3),
        Line("sizes", "reads / (n + d): of log n", *mean_interval(of_log), 0.5, 1.8),
        Line("sizes", "reads / (n + d): of d", *mean_interval(exponents(ds, by_d)), -0.1, 0.1),
    ]
    curves = {"n, with d = 128": (ns, by_n), "d, with n = 128": (ds, by_d)}
    return lines, Plot(
        f"to eps = {eps}", "n or d", "reads / (n + d)", curves, scales=("log", "linear")
    )


def success(quick):
    """How often T = C log n / eps^2 steps are enough, and for which C it is every other time."""
    n, d, seeds, eps = (200, 100, 30, 0.1) if quick else (500, 250, 60, 0.05)
    C = 2.0 ** np.arange(-2, 4)
    steps = np.ceil(C * math.log(n) / eps**2)
    lines, curves = [], {}
    A, sigma = make_cloud(n, d, seed=1)
    for kind, data, optimum in (("cloud", A, sigma), ("pairs", make_pairs(n, d, 1), MARGIN)):
        for planned in (True, False):
            paths = [
                margin_path(data, optimum, steps, seed, planned=planned)[0] for seed in range(seeds)
            ]
            hits = np.array(paths) <= eps
            name = f"{kind}, {'planned' if planned else 'anytime'}"
            curves[name] = (C, hits)
            picks = np.random.default_rng(0).integers(seeds, size=(1000, seeds))
            boot = [half_way(C, hits[pick].mean(axis=0)) for pick in picks]
            interval = np.nanpercentile(boot, (2.5, 97.5))
            middle = half_way(C, hits.mean(axis=0))
            lines.append(Line("success", f"C(1/2), {name}", middle, *interval, 0.0, 8.0))
    good = [
        sigma - float((A @ max_margin(A, np.ones(n), eps=eps, mode="monte-carlo",
                                      random_state=seed).x).min()) <= eps
        for seed in range(seeds)
    ]  # fmt: skip
    what = 'max_margin(mode="monte-carlo") within eps'
    lines.append(Line("success", what, *mean_interval(good), 0.5, 1.0))
    return lines, Plot(
        f"within eps = {eps}", "C: steps = C log n / eps²", "part of the runs", curves,
        scales=("log", "linear"),
    )  # fmt: skip


def las_vegas(quick):
    """What a proof costs, beside the pass over all entries that no proof can do without."""
    shapes = ((200, 100), (800, 400)) if quick else ((300, 150), (1000, 500), (3000, 1500))
    seeds = 10
    eps = np.array([0.1, 0.07] if quick else [0.1, 0.07, 0.05, 0.035])
    proofs, own, theory, wrong, curves = [], [], [], 0, {}
    for n, d in shapes:
        A, sigma = make_cloud(n, d, seed=1)
        matrix = as_matrix(A)
        ratios = np.empty((seeds, len(eps)))
        for seed in range(seeds):
            for k, error in enumerate(eps):
                skim = skim_margin(matrix, seed, mode="las-vegas", eps=error)
                result = skim.run(Limits(eps=error))
                bounds = result.certificate
                wrong += not bounds.lower - 1e-8 <= sigma <= bounds.upper + 1e-8
                wrong += sigma - float((A @ result.x).min()) > error + 1e-8
                wrong += result.status is not Status.CONVERGED
                steps, total = result.reads.nnz, result.reads.nnz + result.reads.certificate
                proofs.append(skim.proofs)
                own.append(total / (A.size + steps))
                ratios[seed, k] = total / (A.size + (n + d) * math.log(n) / error**2)
        curves[f"{n} x {d}"] = (1.0 / eps, ratios)
        theory.append(ratios.mean(axis=1))
    lines = [
        Line("Las Vegas", "wrong answers, of all runs", wrong, wrong, wrong, 0, 0),
        Line("Las Vegas", "proofs in a run", *mean_interval(proofs), 1.0, math.inf),
        Line("Las Vegas", "reads / (M + those of the steps)", *mean_interval(own), 1.0, 3.0),
        Line("Las Vegas", "reads / (M + (n + d) log n / eps²)",
             *mean_interval(np.mean(theory, axis=0)), 0.0, 8.0),
    ]  # fmt: skip
    return lines, Plot(
        "proofs included", "1 / eps", "reads / (M + (n + d) log n / eps²)", curves,
        scales=("log", "linear"),
    )  # fmt: skip


# -------------------------------------------------------------------------------------------- balls


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


# -------------------------------------------------------------------------------------------- games


def games(quick):
    """The gap against steps, on random games of payoffs -1 and +1."""
    size, seeds, last = (100, 10, 2**12) if quick else (200, 12, 2**15)
    marks = grid(8, last, 2.0**0.5)

    def slope_and_curve(result):
        steps, gaps = np.array([(r.epoch, abs(r.primal - r.dual)) for r in result.history]).T
        open_ = gaps > 1e-9
        slope = exponents(steps[open_], gaps[open_]) if open_.sum() > 2 else -math.inf
        known = (marks >= steps[0]) & (marks <= steps[-1])
        at = np.searchsorted(steps, marks, side="right") - 1
        return float(slope), np.where(known & open_[at], gaps[at], np.nan)

    def play(seed):
        A = np.random.default_rng(seed).choice((-1.0, 1.0), size=(size, size))
        products, limits = InnerProducts(A, q=1.0), {"eps": 1e-9, "max_steps": last}
        yield slope_and_curve(primal_dual(
            Simplex(A), products, size, evaluate=products.evaluate, random_state=seed, **limits
        ))  # fmt: skip
        yield slope_and_curve(matrix_game(A, random_state=seed, **limits))

    played, lines, curves = [list(play(seed)) for seed in range(seeds)], [], {}
    for k, (name, least) in enumerate((("primal_dual", -0.65), ("matrix_game", -math.inf))):
        slopes, gaps = zip(*(game[k] for game in played), strict=True)
        lines.append(Line("game", f"gap of {name}: of steps", *mean_interval(slopes), least, -0.4))
        curves[name] = (marks, np.array(gaps))
    title = f"±1 games, {size} x {size}"
    return lines, Plot(title, "steps", "gap", curves, {"primal_dual": -0.5})


# -------------------------------------------------------------------------------------- lower bound


def planted(pairs, q, rng, *, flipped):
    """Equal pairs of unit rows a e_j + b (1 - e_j); in one row of all, a may be flipped.

    Also what the margin is if none is, and a bound of it if one is: b (1 - e_j) is half of a pair.
    """
    a = 1.0 - 1.0 / q
    b = math.sqrt((1.0 - a * a) / (q - 1))
    A = np.full((pairs, q), b)
    place = rng.permutation(np.arange(pairs) % q)
    A[np.arange(pairs), place] = a
    A = np.concatenate((A, A))
    if flipped:
        i = rng.integers(pairs)
        A[pairs + i, place[i]] = -a
    return A, (a + b * (q - 1)) / math.sqrt(q), b * math.sqrt(q - 1)


def lower_bound(quick):
    """Telling a matrix from one that differs in one entry: chance, until about n d are read.

    The margins differ by about 1 / sqrt(d), so that eps^-2 (n + d) is more than n d. The
    perceptron says "flipped" once its free bound is below the margin that the other matrix has,
    and is right then; beside it, a strategy that reads pair by pair, until it has seen each a.
    """
    seeds = 20 if quick else 60
    qs = np.array([8, 16, 32] if quick else [8, 16, 32, 64])
    part = 2.0 ** np.arange(-4, 6.1, 0.5)
    curves, half, early = {}, [], []
    for q in qs.tolist():
        entries = 8 * q * q  # 4 q pairs of rows
        found = np.zeros((seeds, len(part)))
        for seed in range(seeds):
            A, margin, _ = planted(4 * q, q, np.random.default_rng(seed), flipped=True)
            skim = skim_margin(as_matrix(A), seed)
            for k, reads in enumerate(part * entries):
                skim.advance(10**9, reads)
                if skim.steps and margin_errors(skim, A, margin)[1] < -1e-9:
                    found[seed, k:] = 1.0
                    break
        curves[f"{8 * q} x {q}"] = (part, 0.5 + 0.5 * found)
        early.append(0.5 + 0.5 * found[:, part <= 0.25].mean(axis=1))
        half.append([half_way(part, found[i::4].mean(axis=0)) * entries for i in range(4)])
    scan = np.array([[min(1.0, 0.5 + 2.0 * r) for r in part]])
    curves["reading pair by pair"] = (part, scan)
    half = np.array(half).T  # quarters of the seeds
    lines = [
        Line("lower bound", "success with n d / 4 reads or less",
             *mean_interval(np.mean(early, axis=0)), 0.5, 0.6),
        Line("lower bound", "reads for success 3/4: of n d",
             *mean_interval(exponents(8 * qs * qs, half)), 0.9, math.inf),
    ]  # fmt: skip
    wrong, least, q = 0, math.inf, int(qs[-2])
    eps = 0.3 / math.sqrt(q)  # less than half of the difference
    for seed in range(seeds // 2):
        for flipped in (False, True):
            A, margin, other = planted(4 * q, q, np.random.default_rng(seed), flipped=flipped)
            skim = skim_margin(as_matrix(A), seed, mode="las-vegas", eps=eps)
            result = skim.run(Limits(eps=eps))
            bounds = result.certificate
            wrong += (bounds.upper < margin - 1e-9, bounds.lower > other + 1e-9) != (
                flipped,
                not flipped,
            )
            least = min(least, (result.reads.nnz + result.reads.certificate) / A.size)
    lines += [
        Line("lower bound", "Las Vegas: wrong answers", wrong, wrong, wrong, 0, 0),
        Line("lower bound", "Las Vegas: least reads / (n d)", least, least, least, 1.0, math.inf),
    ]
    return lines, Plot(
        "one entry of all", "reads / (n d)", "part of right answers", curves,
        scales=("log", "linear"),
    )  # fmt: skip


# --------------------------------------------------------------------------------------------- main

TOPICS = (perceptron, sizes, ball, skipping, games, success, lower_bound, las_vegas)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small problems, less than a minute")
    parser.add_argument("--out", type=Path, help="folder for table.json, table.md and plots.png")
    names = [topic.__name__ for topic in TOPICS]
    parser.add_argument("--only", choices=names, nargs="+", default=names, metavar="TOPIC",
                        help=f"some of: {', '.join(names)}")  # fmt: skip
    arguments = parser.parse_args()
    lines, plots, began = [], [], time.perf_counter()
    for topic in TOPICS:
        if topic.__name__ in arguments.only:
            start = time.perf_counter()
            new, plot = topic(arguments.quick)
            print(f"{topic.__name__}: {time.perf_counter() - start:.1f} s", flush=True)
            lines += new
            plots.append(plot)
    print()
    show(lines)
    if arguments.out is not None:
        store(arguments.out, lines, plots, time.perf_counter() - began)
    return 0 if all(line.seen for line in lines) else 1


if __name__ == "__main__":
    raise SystemExit(main())
