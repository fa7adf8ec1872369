"""Rows that are not settled yet, visited in one place: the joint rounds of CoCoA+ (`cocoa`).

A row is open if its dual variable is neither zero nor at a bound. For the hinge these are the rows
on the margin, a small part of all; the others stay where they are in most visits.

A joint round. Every partition sends its open rows to one worker, which makes some epochs of
coordinate ascent over all of them, as `solvers.dual` does on one machine: from theta, with the
other variables as they are, no change counted K-fold. Their new variables go back to the
partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.rows import Rows, lengths, stacked, stored, take
from skimlearn.distributed._certify import Query
from skimlearn.distributed._local_ascent import (
    SUMS,
    State,
    Turn,
    climbed,
    examine,
    sums_of,
)
from skimlearn.distributed._parcel import Parcel
from skimlearn.distributed._pieces import Piece, Spec
from skimlearn.distributed._team import summed
from skimlearn.problem import Problem

__all__ = ["Open", "join", "opened", "returned"]

Vector = NDArray[np.float64]

ENOUGH = 0.03  # of the gap of the open rows: what is left is for the next round


class Open(NamedTuple):
    """The open rows of a partition."""

    rows: Rows
    y: Vector
    weights: Vector
    squares: Vector
    a: Vector


def opened(
    piece: Piece, pair: Any, *, spec: Spec, theta: Vector, query: Query | None
) -> tuple[Open, Parcel]:
    """The open rows of a partition, and the sums over its other rows.

    With a query, what the partition says about the present answer comes last.
    """
    a, problem = pair[0].a, piece.problem(spec)
    is_open = certificates.inner(problem, a)
    chosen = np.flatnonzero(is_open)
    some = (problem.y[chosen], problem.weights[chosen], piece.squares[chosen], a[chosen])
    others = replace(problem, weights=np.where(is_open, 0.0, problem.weights))
    numbers = sums_of(others, a) + [0.0] * (SUMS - 3)
    if query is not None:
        numbers += examine(piece, pair, spec=spec, query=query, theta=theta)[1].numbers.tolist()
    return Open(take(piece.rows, chosen), *some), Parcel.of(None, numbers)


def join(
    pairs: Sequence[tuple[Open, Parcel]], *, spec: Spec, turn: Turn, theta: Vector
) -> tuple[list[Vector], Parcel]:
    """Visit the open rows of all partitions: their new variables, and the sums over all rows."""
    parts = [pair[0] for pair in pairs]
    rows = stacked([part.rows for part in parts])
    y, weights, squares, before = (
        np.concatenate([part[k] for part in parts]) for k in range(1, len(Open._fields))
    )
    n = len(y)
    problem = Problem(
        rows=rows, y=y, weights=weights, loss=spec.loss, regularizer=spec.regularizer,
        alpha=spec.alpha * spec.n / n, bias=spec.bias, squares=squares,
    )  # fmt: skip
    rng = np.random.default_rng([turn.seed, turn.number, 0, 1])  # no partition has this one
    here, offset = theta.copy(), np.array([turn.offset])
    a = before.copy()
    epochs = climbed(problem, spec, turn, rng, a, here, offset, ENOUGH)
    entries, edges = stored(rows), np.cumsum([len(part.a) for part in parts])[:-1]
    still_open = int(lengths(rows)[certificates.inner(problem, a)].sum())
    read = [(epochs + 1) * entries, (epochs + 1) * n, still_open]  # to send them: once
    others = summed([pair[1] for pair in pairs])
    numbers = others.numbers.copy()
    numbers[:SUMS] += sums_of(problem, a) + read
    parcel = Parcel.of(here - theta, numbers)
    moved = parcel.moved + others.moved + sum(_bytes(part) for part in parts) + a.nbytes
    return np.split(a, edges), replace(parcel, moved=moved)


def returned(piece: Piece, pair: Any, found: Vector, *, spec: Spec) -> tuple[State, None]:
    """The state of a partition after a joint round."""
    a = pair[0].a.copy()
    a[certificates.inner(piece.problem(spec), a)] = found
    return State(a, a), None


def _bytes(part: Open) -> int:
    arrays = [array for array in (*part.rows, *part[1:]) if isinstance(array, np.ndarray)]
    return int(sum(array.nbytes for array in arrays))
