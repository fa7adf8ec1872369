r"""Rows in order of their weights, where few weights change at a time.

The rows of each of two classes stand on shelves of about sqrt(n) rows, none of them heavier than
those on the next shelf. Any level parts one shelf of a class at most; the sums of all others are at
hand. A row that changes takes a search for its new shelf, and both shelves are summed up anew:
there is no drift. That is O(sqrt(n)) numbers, but next to each other, for which a processor takes
less time than for the O(log n) of a balanced tree, each in a place of its own.

Rows also earn: what all rows of a shelf are given (so much for each, and so much per weight) is
noted once, for the shelf, and a row settles with its shelf when it leaves.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel

__all__ = [
    "Shelves",
    "change_all",
    "last_not_above",
    "make_shelves",
    "multiply_rows",
    "read_shelves",
    "shelve",
    "sum_up",
]

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

TINY = 1e-300  # no weight becomes less
STALE = -1.0  # the total of a shelf where a weight has changed


class Shelves(NamedTuple):
    """Two classes of rows; what is kept for each shelf of a class, in order, is (2, shelves)."""

    sides: Numbers  # the class of each row, 0 or 1
    where: Numbers  # of each row: the number of its shelf times their size, plus its place there
    rows: Numbers  # (shelves, size)
    weights: Vector  # (shelves, size)
    earned: Vector  # (shelves, size): by each row, less what is noted for its shelf
    at: Numbers  # of a shelf: the k-th of its class
    shelf: Numbers  # the number of the k-th
    floor: Vector  # rows from here on are not lighter than this, those before not heavier
    held: Numbers  # how many rows stand on it
    total: Vector  # of their weights, or STALE
    slope: Vector  # earned by each row, per weight
    amount: Vector  # earned by each row besides that
    rank: Numbers  # how many rows stand before
    before: Vector  # the sum of their weights
    length: Numbers  # (2,): how many shelves a class has
    members: Numbers  # (2,): and how many rows


def make_shelves(sides: Numbers) -> Shelves:
    """Room for rows of these classes; `shelve` is to follow."""
    n = len(sides)
    size = max(8, 2 ** round(math.log2(max(n, 1)) / 2.0 - 1.0))
    shelves = 2 * (n // _filled(size) + 4)  # twice as many as there are at first
    return Shelves(
        sides=sides,
        where=np.zeros(n, dtype=np.int64),
        rows=np.zeros((shelves, size), dtype=np.int64),
        weights=np.zeros((shelves, size)),
        earned=np.zeros((shelves, size)),
        at=np.zeros(shelves, dtype=np.int64),
        shelf=np.zeros((2, shelves), dtype=np.int64),
        floor=np.zeros((2, shelves)),
        held=np.zeros((2, shelves), dtype=np.int64),
        total=np.zeros((2, shelves)),
        slope=np.zeros((2, shelves)),
        amount=np.zeros((2, shelves)),
        rank=np.zeros((2, shelves), dtype=np.int64),
        before=np.zeros((2, shelves)),
        length=np.zeros(2, dtype=np.int64),
        members=np.bincount(sides, minlength=2),
    )


@kernel
def shelve(shelves, order, weights, earned):
    """Put all rows on shelves anew, in the order of their weights; `sum_up` is to follow."""
    size, used = shelves.weights.shape[1], 0
    for side in range(2):
        k = -1
        for i in order:
            if shelves.sides[i] != side:
                continue
            if k < 0 or shelves.held[side, k] == _filled(size):
                k += 1
                _begin_shelf(shelves, side, k, used, weights[i] if k > 0 else 0.0)
                used += 1
            _put(shelves, side, k, i, weights[i], earned[i])
        if k < 0:  # a class without rows has a shelf, too
            k = 0
            _begin_shelf(shelves, side, k, used, 0.0)
            used += 1
        shelves.length[side] = k + 1


@kernel
def _begin_shelf(shelves, side, k, b, floor):
    """Let a shelf without rows be the k-th of a class."""
    shelves.at[b], shelves.shelf[side, k], shelves.floor[side, k] = k, b, floor
    shelves.held[side, k], shelves.total[side, k] = 0, STALE
    shelves.slope[side, k], shelves.amount[side, k] = 0.0, 0.0


@kernel
def _put(shelves, side, k, i, weight, earned):
    """Put a row on the k-th shelf of its class, at the end."""
    b, place = shelves.shelf[side, k], shelves.held[side, k]
    shelves.rows[b, place], shelves.weights[b, place] = i, weight
    noted = shelves.slope[side, k] * weight + shelves.amount[side, k]
    shelves.earned[b, place] = earned - noted
    shelves.where[i] = b * shelves.weights.shape[1] + place
    shelves.held[side, k], shelves.total[side, k] = place + 1, STALE


@kernel
def read_shelves(shelves, weights, earned):
    """Write out the weights of all rows and what they have earned, in O(n)."""
    size = shelves.weights.shape[1]
    for i in range(len(shelves.where)):
        side, b, place = shelves.sides[i], shelves.where[i] // size, shelves.where[i] % size
        k, weight = shelves.at[b], shelves.weights[b, place]
        weights[i] = weight
        noted = shelves.slope[side, k] * weight + shelves.amount[side, k]
        earned[i] = shelves.earned[b, place] + noted


@kernel
def sum_up(shelves):
    """Make the sums that changes have made stale."""
    for side in range(2):
        rank, before = 0, 0.0
        for k in range(shelves.length[side]):
            if shelves.total[side, k] == STALE:
                b, total = shelves.shelf[side, k], 0.0
                for place in range(shelves.held[side, k]):
                    total += shelves.weights[b, place]
                shelves.total[side, k] = total
            shelves.rank[side, k], shelves.before[side, k] = rank, before
            rank += shelves.held[side, k]
            before += shelves.total[side, k]


@kernel
def multiply_rows(shelves, rows, factors, ordered):
    """Multiply the weights of some rows i by factors_i; `sum_up` is to follow.

    They may stay where they are if no order is asked for. False if a weight is no number any more.
    """
    size = shelves.weights.shape[1]
    for i in rows:
        side, b, place = shelves.sides[i], shelves.where[i] // size, shelves.where[i] % size
        k, old = shelves.at[b], shelves.weights[b, place]
        weight = old * factors[i]
        if not weight < np.inf:
            return False
        weight = max(weight, TINY)
        shelves.total[side, k] = STALE
        last = k + 1 == shelves.length[side]
        fits = last or weight <= shelves.floor[side, k + 1]
        if (fits and weight >= shelves.floor[side, k]) or not ordered:
            shelves.weights[b, place] = weight
            shelves.earned[b, place] += shelves.slope[side, k] * (old - weight)
            continue
        earned = shelves.slope[side, k] * old + shelves.amount[side, k] + shelves.earned[b, place]
        end = shelves.held[side, k] - 1  # the last one takes its place
        shelves.rows[b, place] = shelves.rows[b, end]
        shelves.weights[b, place] = shelves.weights[b, end]
        shelves.earned[b, place] = shelves.earned[b, end]
        shelves.where[shelves.rows[b, end]] = shelves.where[i]
        shelves.held[side, k] = end
        k = last_not_above(shelves.floor[side], shelves.length[side], weight)
        _put(shelves, side, k, i, weight, earned)
        if shelves.held[side, k] == size:
            _make_room(shelves, side, k)
    return True


@kernel
def last_not_above(values, count, value):
    """The last of the first so many values, which are in order, not above one; else the first."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] <= value:
            low = middle
        else:
            high = middle
    return low


@kernel
def change_all(shelves, factors, floor):
    """Multiply all weights by the factor of their class, up to a floor: their order is the same."""
    for side in range(2):
        for k in range(shelves.length[side]):
            b = shelves.shelf[side, k]
            slope, amount = shelves.slope[side, k], shelves.amount[side, k]
            for place in range(shelves.held[side, k]):
                weight = shelves.weights[b, place]
                shelves.earned[b, place] += slope * weight + amount
                shelves.weights[b, place] = max(factors[side] * weight, floor)
            shelves.slope[side, k], shelves.amount[side, k] = 0.0, 0.0
            shelves.total[side, k] = STALE
            if k > 0:
                shelves.floor[side, k] = max(factors[side] * shelves.floor[side, k], floor)


@kernel
def _make_room(shelves, side, k):
    """Move the heavier half of a full shelf to a new one; if none is left, shelve all rows anew."""
    length, new = shelves.length[side], shelves.length[0] + shelves.length[1]
    if new == len(shelves.at):
        _shelve_anew(shelves)
        return
    for j in range(length, k + 1, -1):  # the new one is to be the next
        shelves.shelf[side, j] = shelves.shelf[side, j - 1]
        shelves.floor[side, j] = shelves.floor[side, j - 1]
        shelves.held[side, j] = shelves.held[side, j - 1]
        shelves.total[side, j] = shelves.total[side, j - 1]
        shelves.slope[side, j] = shelves.slope[side, j - 1]
        shelves.amount[side, j] = shelves.amount[side, j - 1]
        shelves.at[shelves.shelf[side, j]] = j
    _sort_shelf(shelves, side, k)
    b, count = shelves.shelf[side, k], shelves.held[side, k]
    half, slope, amount = count // 2, shelves.slope[side, k], shelves.amount[side, k]
    shelves.length[side] = length + 1
    _begin_shelf(shelves, side, k + 1, new, shelves.weights[b, half])
    shelves.held[side, k], shelves.total[side, k] = half, STALE
    for place in range(half, count):
        weight = shelves.weights[b, place]
        earned = shelves.earned[b, place] + (slope * weight + amount)
        _put(shelves, side, k + 1, shelves.rows[b, place], weight, earned)


@kernel
def _shelve_anew(shelves):
    n, found = len(shelves.where), 0
    order, weights, earned = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    for side in range(2):
        for k in range(shelves.length[side]):
            _sort_shelf(shelves, side, k)
            for place in range(shelves.held[side, k]):
                order[found] = shelves.rows[shelves.shelf[side, k], place]
                found += 1
    read_shelves(shelves, weights, earned)
    shelve(shelves, order, weights, earned)


@kernel
def _sort_shelf(shelves, side, k):
    """Sort the rows of a shelf by their weights, by insertion."""
    b, size = shelves.shelf[side, k], shelves.weights.shape[1]
    rows, weights, earned = shelves.rows[b], shelves.weights[b], shelves.earned[b]
    for place in range(1, shelves.held[side, k]):
        i, weight, mass, goal = rows[place], weights[place], earned[place], place
        while goal > 0 and weights[goal - 1] > weight:
            rows[goal], weights[goal] = rows[goal - 1], weights[goal - 1]
            earned[goal] = earned[goal - 1]
            goal -= 1
        rows[goal], weights[goal], earned[goal] = i, weight, mass
    for place in range(shelves.held[side, k]):
        shelves.where[rows[place]] = b * size + place


@kernel
def _filled(size):
    """How many rows a shelf has at first: some room is left."""
    return 3 * size // 4
