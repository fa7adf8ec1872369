"""Where a run of `simba` or `lazy_simba` stands.

For `lazy_simba` a `Capped` holds the weights and the sums of p; `settle` writes them out, for those
who look at all rows anyway.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.sampling import capped
from skimlearn.sampling.blocks import block_room
from skimlearn.sampling.capped import Capped, make_capped, read_capped, set_capped
from skimlearn.sampling.cuts import water
from skimlearn.sampling.team import ALONE, Team
from skimlearn.sampling.tree import tree_build, tree_nodes

if TYPE_CHECKING:
    from skimlearn.solvers.simba import Simba

__all__ = ["State", "make_state", "rewind", "settle"]

Vector = NDArray[np.float64]

# positions in the scalars: steps; sum of the factors of s so far; sum of |s_j|^q*; greatest length
# of a row; weights above TOP count as TOP; sum of the biases; sum of the weights
T, FACTORS, POWER, LENGTH, TOP, BIASES, TOTAL = range(7)


class State(NamedTuple):
    """Where a run stands."""

    y: Vector  # labels
    weights: Vector  # p, up to a factor
    counts: Vector  # how often each row was drawn
    mass: Vector  # sum of p over the steps (soft margins only)
    values: Vector  # v of this step (where it is not applied at once)
    spare: Vector  # room for the weights (nu); or 1 for rows that are listed as touched (lazy)
    s: Vector  # sum of the rows drawn
    late: Vector  # what the sum of x lags behind FACTORS * s; for q < 2 the sum of x itself
    last: Vector  # FACTORS when a coordinate of late was last brought up to date (q < 2 only)
    row_tree: Vector  # of the weights (sparse rows, hard margin) or empty
    column_tree: Vector  # of the law that columns are drawn by (sparse rows) or empty
    row_sums: Vector
    column_sums: Vector
    parts: Vector  # (2, blocks): room for other sums
    scalars: Vector
    law: Capped | None  # p, instead of weights and mass (lazy steps only)
    touched: NDArray[np.int64]  # how many rows v is given for, and which (lazy steps only)
    team: Team = ALONE


def make_state(method: Simba, y: Vector, d: int, *, sparse: bool, length: float) -> State:
    """The state before the first step; a length of 0 means that it is learned from the rows."""
    n = len(y)
    direct = not method.soft
    none = np.zeros(0)
    row_tree = tree_nodes(n) if sparse and direct else none
    if len(row_tree):
        tree_build(np.ones(n), row_tree)
    scalars = np.zeros(7)
    scalars[LENGTH], scalars[TOP] = length, np.inf
    sides = np.where((y > 0.0) | (method.bias == 0.0), 0, 1)
    return State(
        y=y,
        weights=np.ones(n),
        counts=np.zeros(n),
        mass=none if direct else np.zeros(n),
        values=none if direct else np.zeros(n),
        spare=np.zeros(n) if method.nu > 0.0 or method.lazy else none,
        s=np.zeros(d),
        late=np.zeros(d),
        last=none if method.q == 2.0 else np.zeros(d),
        row_tree=row_tree,
        column_tree=tree_nodes(d) if sparse else none,
        row_sums=block_room(n),
        column_sums=block_room(d),
        parts=np.zeros((2, len(block_room(max(n, d))))),
        scalars=scalars,
        law=make_capped(sides, method.cap) if method.lazy else None,
        touched=np.zeros(n + 1 if method.lazy else 0, dtype=np.int64),
    )


def settle(state: State) -> None:
    """Write out weights and mass."""
    if state.law is not None:
        read_capped(state.law, state.weights, state.mass)
        state.scalars[TOP] = state.law.scalars[capped.TOP]


def rewind(state: State, keep: float, cap: float, dual: float) -> None:
    """Let the steps so far count for a part of what they were, and go on with this cap."""
    settle(state)
    scalars = state.scalars
    steps = math.floor(keep * scalars[T])
    for drawn in (state.s, state.counts):
        drawn *= steps / max(scalars[T], 1.0)
    state.weights[:] = (state.weights / state.weights.max()) ** keep
    scalars[TOP] = water(state.weights, cap, np.inf) if cap < 1.0 else np.inf
    for total in (state.late, state.last, state.mass):
        total[:] = 0.0
    powers = np.abs(state.s) ** dual
    if len(state.column_tree):
        tree_build(powers, state.column_tree)
    if len(state.row_tree):
        tree_build(state.weights, state.row_tree)
    if state.law is not None:
        state.law.scalars[capped.CAP] = cap
        set_capped(state.law, state.weights, state.mass)
    scalars[POWER] = float(powers.sum())
    scalars[T], scalars[FACTORS], scalars[BIASES] = steps, 0.0, 0.0
