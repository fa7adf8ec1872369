"""Where a run of `tracking` stands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import lean_kernel
from skimlearn.sampling.blocks import BLOCK, block_room, cut_sums
from skimlearn.sampling.team import ALONE, Team, blocks_of
from skimlearn.sampling.tree import tree_nodes
from skimlearn.solvers._margin_bounds import split
from skimlearn.solvers._margin_state import BIASES, FACTORS, LENGTH, POWER, TOP, TOTAL, T

if TYPE_CHECKING:
    from skimlearn.solvers.tracking import Tracking

__all__ = ["State", "direction", "make_state", "mean_of_x", "sum_of_x"]

Vector = NDArray[np.float64]

# positions in the scalars, behind those of simba: mean responses of the two classes; the mass of
# class +1 (with a bias); ||z||^2; the sum of the variances; sum and sum of squares of r; x / s when
# the law of the columns was formed; how many x are in their sum; the levels of the weights of both
# classes, and their rows
PLUS, MINUS, SHARE, SIZE, SPREAD, SUM, SQUARES, LAW, SUMMED, LEVELS, MEMBERS = *range(7, 17), 18
# and those of the opening: what is to be done; the rows looked at (how many; one block of so many,
# counted from here); columns still to be read in this phase, in all, and whether one was just read
PHASE, ACTIVE, STRIDE, OFFSET, TODO, COLUMNS, READ, OPENED = range(20, 28)
STEADY, LEADING, OPENING, DRAWING, EXTENDING = range(5)  # the phases
LEAD = 3  # rows that are drawn before the opening
MOST = 64  # columns of an opening
EARLY = 64  # steps up to which the last x is better than the mean


class State(NamedTuple):
    """Where a run stands."""

    y: Vector  # labels
    weights: Vector  # p, up to a factor; those above TOP count as TOP
    counts: Vector  # how often each row was drawn
    mass: Vector  # sum of p over a part of the steps
    s: Vector  # sum of the rows drawn
    late: Vector  # sum of x over the same; sparse: what it lags behind FACTORS * s
    tracked: Vector  # z
    seen: Vector  # x_j when column j was last read
    responses: Vector  # r = A z, of the rows looked at
    losses: Vector  # L
    spare: Vector
    column_tree: Vector  # of the law that columns are drawn by (sparse rows) or empty
    row_sums: Vector
    column_sums: Vector
    parts: Vector  # (2, blocks): room for other sums
    scalars: Vector
    team: Team = ALONE


def make_state(method: Tracking, y: Vector, d: int, *, sparse: bool, length: float) -> State:
    """The state before the first step; a length of 0 means that it is learned from the rows."""
    n = len(y)
    scalars = np.zeros(OPENED + MOST)
    scalars[LENGTH], scalars[TOP] = length, np.inf
    scalars[ACTIVE], scalars[STRIDE] = n, 1.0
    if method.bias > 0.0:
        scalars[SHARE] = split(y, method.cap, bias=True).masses[0]
        scalars[MEMBERS : MEMBERS + 2] = (y > 0.0).sum(), (y < 0.0).sum()
    else:
        scalars[MEMBERS] = n
    stride = 1
    while n >= 2 * stride * method.sample:
        stride *= 2
    columns = math.floor(method.opening * d / math.ceil(n / stride))
    if columns >= 2 and not sparse:
        scalars[PHASE], scalars[STRIDE], scalars[COLUMNS] = LEADING, stride, min(columns, MOST, d)
    weights, row_sums = np.ones(n), block_room(n)
    scalars[TOTAL] = cut_sums(weights, np.inf, row_sums)
    counts, mass, responses, losses, spare = np.zeros((5, n))
    s, late, tracked, seen = np.zeros((4, d))
    return State(
        y, weights, counts, mass, s, late, tracked, seen, responses, losses, spare,
        tree_nodes(d) if sparse else np.zeros(0), row_sums, block_room(d),
        np.zeros((2, len(block_room(max(n, d))))), scalars,
    )  # fmt: skip


def sum_of_x(state: State) -> Vector:
    """The sum of x over a part of the steps."""
    if len(state.column_tree) > 0:
        return state.scalars[FACTORS] * state.s - state.late
    return state.late


def mean_of_x(state: State) -> tuple[Vector, float]:
    """The mean of x over the same steps, and its bias; early the last x, which is the better one.

    It knows of rare rows what the mean has yet to learn.
    """
    scalars = state.scalars
    length = float(np.linalg.norm(state.s))
    if scalars[T] <= EARLY and length > 0.0:
        return state.s / length, float(scalars[BIASES])
    mean = sum_of_x(state) / max(scalars[SUMMED], 1.0)
    return mean, float(scalars[BIASES] * np.linalg.norm(mean))


@lean_kernel
def direction(state):
    """x is so many times s."""
    return 1.0 / math.sqrt(state.scalars[POWER]) if state.scalars[POWER] > 0.0 else 0.0


@lean_kernel
def blocks_at(state):
    """The blocks of rows that a pass goes over: the first one, and how far the next one is.

    These are the rows looked at; while an opening is extended, those of them that are new.
    """
    scalars = state.scalars
    stride, first = np.int64(scalars[STRIDE]), np.int64(scalars[OFFSET])
    if scalars[PHASE] == EXTENDING:
        return (first + stride) % (2 * stride), 2 * stride
    return first % stride, stride


@lean_kernel
def from_block(at, first):
    """The first row, from this one on, of a block in the pass, and how far the next one is."""
    block, stride = np.int64(first) // BLOCK, at[1]
    return np.uint64((block + (at[0] - block) % stride) * BLOCK), np.uint64(stride * BLOCK)


@lean_kernel
def rows_in(at, n):
    """How many of n rows are in these blocks."""
    count, blocks = 0, blocks_of(n)
    for b in range(at[0], blocks, at[1]):
        count += min(BLOCK, n - b * BLOCK)
    return count
