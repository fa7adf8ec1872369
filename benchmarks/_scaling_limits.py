"""Games and the lower bound for sublinear_scaling.py."""

import math

import numpy as np
from _scaling_margins import margin_errors, skim_margin
from _tables import Line, Plot, exponents, grid, half_way, mean_interval

from skimlearn.data.columns import as_matrix
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.game import matrix_game
from skimlearn.solvers.low_regret import Simplex
from skimlearn.solvers.primal_dual import primal_dual
from skimlearn.solvers.samplers import InnerProducts


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
