"""Margins for sublinear_scaling.py: reads by error and by size, success, and what a proof costs."""

import math

import numpy as np
from _tables import Line, Plot, exponents, first_below, grid, half_way, mean_interval

from skimlearn.data.columns import as_matrix
from skimlearn.result import Status
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_skim import MarginSkim
from skimlearn.solvers.margin import max_margin
from skimlearn.solvers.simba import Simba
from skimlearn.solvers.working_set import working_set

MARGIN = 0.2


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
