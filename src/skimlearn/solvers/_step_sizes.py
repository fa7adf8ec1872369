"""How long the first steps of a stochastic solver may be, and which losses its steps are safe for.

Steps of 1 / (alpha (t + t0)) start t0 ahead, so that the first of them do not overshoot.
"""

from __future__ import annotations

import math

import numpy as np

from skimlearn.data.ledger import Ledger
from skimlearn.data.rows import norms, responses, take
from skimlearn.problem import Problem
from skimlearn.solvers._run import Vector, row_squares

MANY = 10  # rows for each feature: with fewer there are many features


def squared_reach(
    problem: Problem,
    ledger: Ledger,
    exponent: float,
    rng: np.random.Generator,
    mean: Vector | None = None,
    products: Vector | None = None,
) -> float:
    """The largest m_i (||x_i||_q^2 + 1): how far one step can move a prediction.

    With a mean, the lengths are those of the rows without it (q = 2). It takes a pass over the
    rows, unless the lengths are known; ``products`` then gets <mean, row i> of all rows. Where that
    is too much for the limit of reads, it is twice the largest of some rows, drawn at random for a
    tenth of what is left.
    """
    safety, weights, rows = 1.0, problem.weights, problem.rows
    known = problem.squares is not None and exponent == 2.0 and mean is None
    if known or ledger.left >= 4 * ledger.total:
        squares = row_squares(problem, ledger, exponent)
        if mean is not None:
            ledger.pass_over()
    else:
        products = None
        few = rng.permutation(problem.n)
        affordable = np.cumsum(ledger.lengths[few]) <= 0.1 * ledger.left
        chosen, safety = few[affordable], 2.0
        ledger.visit(chosen)
        rows, weights = take(rows, chosen), weights[chosen]
        with np.errstate(over="ignore"):
            squares = norms(rows, exponent) ** 2
    with np.errstate(over="ignore"):
        reaches = squares + 1.0
        if mean is not None:
            products = np.empty(len(squares)) if products is None else products
            responses(rows, mean, products)
            reaches = -2.0 * products
            reaches += squares
            reaches += mean @ mean
            reaches = np.maximum(reaches, 0.0, out=reaches)
            reaches += 1.0
        reaches *= weights
        reach = float(reaches.max(initial=1.0))
    if not math.isfinite(reach):
        raise ValueError(
            f"the rows of X are too long: the largest norm is {math.sqrt(squares.max()):.3g} and "
            "its square overflows; scale the features (e.g. with StandardScaler or MaxAbsScaler)"
        )
    return safety * reach


def shift(
    problem: Problem,
    ledger: Ledger,
    rng: np.random.Generator,
    exponent: float = 2.0,
    mean: Vector | None = None,
    products: Vector | None = None,
) -> float:
    """How many steps to start ahead, so that the first steps are no longer than is safe.

    A step of 1 / (alpha t) on a loss of curvature L overshoots until t is about
    L (||x||^2 + 1) / alpha; losses whose slope is bounded recover from it, others explode.
    """
    curvature = problem.loss.curvature()
    if not math.isfinite(curvature):
        curvature = 1.0
    reach = squared_reach(problem, ledger, exponent, rng, mean, products)
    return curvature * reach / problem.alpha


def typical_shift(problem: Problem) -> float:
    """How many steps to start ahead so that the first are of the length for typical rows.

    For losses of bounded slope: what a step overshoots on a long row is bounded, so that few long
    rows need not make all steps short. With few features steps of the inverse square of a row's
    length are long enough, whatever the curvature.
    """
    assert problem.squares is not None
    curvature = min(problem.loss.curvature(), 1.0) if MANY * problem.d > problem.n else 1.0
    mean = float(problem.weights @ problem.squares) / problem.n
    return curvature * (mean + (problem.bias != "none")) / problem.alpha


def is_safe(problem: Problem) -> bool:
    """Whether the steps of a stochastic method can't explode for the loss."""
    return math.isfinite(problem.loss.curvature()) or slope_is_bounded(problem)


def slope_is_bounded(problem: Problem) -> bool:
    low, high = problem.loss.dual_bounds(1.0)
    return bool(low > -1e12 and high < 1e12)


def check_slope(problem: Problem) -> None:
    """Refuse a loss whose steps could explode."""
    if not is_safe(problem):
        raise ValueError(
            f"the slope of loss={problem.loss!r} is unbounded, so the solver needs to know how "
            "fast it grows: give the loss a method curvature(self) that returns a bound on the "
            "derivative of the slope, or use solver='dual'"
        )


def first_step(
    problem: Problem, ledger: Ledger, rng: np.random.Generator, exponent: float = 2.0
) -> float:
    """The shift t0 that the loss needs: none if its slope is bounded."""
    return 0.0 if slope_is_bounded(problem) else shift(problem, ledger, rng, exponent)
