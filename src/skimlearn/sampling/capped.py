r"""A distribution with a cap, where few weights change at a time.

Rows have weights w_i, each a number of its own times a factor of its class (there are two), and are
drawn with probability

    p_i = min(w_i, top) / total,   no more than the cap:   top = cap * sum of min(w_i, top).

All weights of a class can be multiplied at once, by its factor, and single ones by themselves. Both
change every p_i; but whatever is common to the rows of a shelf (see `shelves`) is done once for it,
so that a step costs what the rows do that change by themselves, and O(sqrt(n)) for all others. The
same is true of the ``mass`` of the rows, the sums of p over the steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.sampling.shelves import (
    Shelves,
    change_all,
    last_not_above,
    make_shelves,
    multiply_rows,
    read_shelves,
    shelve,
    sum_up,
)

__all__ = [
    "Capped",
    "add_to_mass",
    "capped_draw",
    "cut_again",
    "make_capped",
    "multiply",
    "read_capped",
    "rescale",
    "set_capped",
]

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

FAR = 1e30  # factors above this, or below its inverse, are multiplied into the weights
CAP, TOP = range(2)  # positions in the scalars


class Capped(NamedTuple):
    """The rows, the factors of the classes, and where the top parts each class."""

    shelves: Shelves
    factors: Vector
    parted: Numbers  # the shelf that the top is on
    above: Vector  # how many rows are not below the top
    below: Vector  # the sum of the weights of the others, less the factor
    totals: Vector  # of the weights, nothing above the top counted
    scalars: Vector


def make_capped(sides: Numbers, cap: float) -> Capped:
    """Rows of these classes (0 or 1), all of weight 1."""
    n = len(sides)
    law = Capped(
        make_shelves(sides.astype(np.int64)),
        factors=np.ones(2),
        parted=np.zeros(2, dtype=np.int64),
        above=np.zeros(2),
        below=np.zeros(2),
        totals=np.zeros(2),
        scalars=np.array([cap, np.inf]),
    )
    set_capped(law, np.ones(n), np.zeros(n))
    return law


def set_capped(law: Capped, weights: Vector, mass: Vector) -> None:
    """Begin anew with these weights and masses, in O(n log n)."""
    law.factors[:] = 1.0
    shelve(law.shelves, np.argsort(weights, kind="stable"), weights, mass)
    cut_again(law)


@kernel
def read_capped(law, weights, mass):
    """Write out the weights and masses of all rows, in O(n)."""
    read_shelves(law.shelves, weights, mass)
    for i in range(len(weights)):
        weights[i] *= law.factors[law.shelves.sides[i]]


@kernel
def multiply(law, common, rows, factors):
    """Multiply some rows i by factors_i, the others by what is common to their class.

    The factors are used up. False if a weight is no number any more.
    """
    for i in rows:
        factors[i] /= common[law.shelves.sides[i]]
    ordered = law.scalars[CAP] < 1.0
    fine = multiply_rows(law.shelves, rows, factors, ordered)
    for side in range(2):
        law.factors[side] *= common[side]
    cut_again(law)
    return fine


@kernel
def cut_again(law):
    """Find the top."""
    shelves, cap, total = law.shelves, law.scalars[CAP], 0.0
    sum_up(shelves)
    for side in range(2):
        last = shelves.length[side] - 1
        total += law.factors[side] * (shelves.before[side, last] + shelves.total[side, last])
    law.scalars[TOP] = _water(law, total) if cap < 1.0 else np.inf
    _part(law, law.scalars[TOP])
    for side in range(2):
        law.totals[side] = law.factors[side] * law.below[side]
        if law.above[side] > 0.0:
            law.totals[side] += law.above[side] * law.scalars[TOP]


@kernel
def _water(law, total):
    """The weight above which p_i is the cap, begun at the last one; infinite if none is above.

    Newton's method on a concave function, the sum of min(w_i, top) less top / cap: from the right
    it never passes the solution, and from where it falls on the left it leads there in one step.
    """
    rows = min(1.0 / law.scalars[CAP], np.float64(len(law.shelves.where)))  # if all had the top
    highest = total / rows
    top = min(law.scalars[TOP], highest)
    for attempt in range(64):
        above, below = _part(law, top)
        if above == 0.0:
            return np.inf
        if above < rows:
            following = min(below / (rows - above), highest)
        elif attempt == 0:
            following = highest  # far to the left: begin on the right
        else:
            return top  # all rows, but for some of no weight, are above
        if abs(following - top) <= 1e-13 * top:
            return top
        top = following
    return top


@kernel
def _part(law, top):
    """Part both classes at a top: how many rows are not below it, and the weight of the others."""
    shelves, above, below = law.shelves, 0.0, 0.0
    for side in range(2):
        level = top / law.factors[side]
        k = last_not_above(shelves.floor[side], shelves.length[side], level)
        b, light, rest = shelves.shelf[side, k], 0, 0.0
        for place in range(shelves.held[side, k]):
            weight = shelves.weights[b, place]
            light += weight < level
            rest += weight if weight < level else 0.0
        law.parted[side] = k
        law.above[side] = shelves.members[side] - shelves.rank[side, k] - light
        law.below[side] = shelves.before[side, k] + rest
        above += law.above[side]
        below += law.factors[side] * law.below[side]
    return above, below


@kernel
def capped_draw(law, u):
    """The row that a uniform number in [0, 1) falls on: by class, then by shelf and place."""
    first, second = law.totals[0], law.totals[1]
    rest, side = u * (first + second), 0
    if (rest >= first and second > 0.0) or not first > 0.0:
        rest, side = rest - first, 1
    shelves, factor, k = law.shelves, law.factors[side], law.parted[side]
    rest, level = rest / factor, law.scalars[TOP] / factor
    whole, count = shelves.before[side, k], shelves.held[side, k]
    heavier = shelves.members[side] - shelves.rank[side, k] - count  # rows on the shelves behind
    inside = law.below[side] - whole
    if law.above[side] > heavier:
        inside += (law.above[side] - heavier) * level
    if rest < whole or (count == 0 and heavier == 0):
        k = last_not_above(shelves.before[side], k, rest)
        while shelves.held[side, k] == 0:
            k -= 1
        return _draw_on_shelf(shelves, side, k, np.inf, rest - shelves.before[side, k])
    if count > 0 and (rest < whole + inside or heavier == 0):
        return _draw_on_shelf(shelves, side, k, level, rest - whole)
    rank = min(max(int((rest - whole - inside) / level), 0), heavier - 1)
    rank += shelves.rank[side, k] + count
    k = last_not_above(shelves.rank[side], shelves.length[side], rank)
    return shelves.rows[shelves.shelf[side, k], rank - shelves.rank[side, k]]


@kernel
def _draw_on_shelf(shelves, side, k, level, rest):
    b, last = shelves.shelf[side, k], shelves.held[side, k] - 1
    for place in range(last):
        weight = min(shelves.weights[b, place], level)
        if rest < weight:
            return shelves.rows[b, place]
        rest -= weight
    return shelves.rows[b, last]


@kernel
def add_to_mass(law):
    """Add p to the masses."""
    shelves, top = law.shelves, law.scalars[TOP]
    total = law.totals[0] + law.totals[1]
    for side in range(2):
        slope, level = law.factors[side] / total, top / law.factors[side]
        parted = law.parted[side]
        for k in range(parted):
            shelves.slope[side, k] += slope
        b = shelves.shelf[side, parted]
        for place in range(shelves.held[side, parted]):
            shelves.earned[b, place] += slope * min(shelves.weights[b, place], level)
        for k in range(parted + 1, shelves.length[side]):
            shelves.amount[side, k] += slope * level


@kernel
def rescale(law, floor):
    """Divide all weights by the largest; those that are less than the floor then, are the floor."""
    largest, least, far = 0.0, np.inf, False
    for side in range(2):
        low, high = _extremes(law, side)
        largest = max(largest, law.factors[side] * high)
        least = min(least, law.factors[side] * low)
    if not 0.0 < largest < np.inf:
        return
    law.scalars[TOP] /= largest
    for side in range(2):
        law.totals[side] /= largest
        law.factors[side] = law.factors[side] / largest if law.shelves.members[side] > 0 else 1.0
        far = far or not 1.0 / FAR < law.factors[side] < FAR
    if far or least < floor * largest:
        change_all(law.shelves, law.factors, floor)
        law.factors[:] = 1.0
        cut_again(law)


@kernel
def _extremes(law, side):
    """The least and the greatest weight of a class, without its factor."""
    shelves, least, greatest = law.shelves, np.inf, 0.0
    first, last = 0, shelves.length[side] - 1
    while first < last and shelves.held[side, first] == 0:
        first += 1
    while first < last and shelves.held[side, last] == 0:
        last -= 1
    ordered = law.scalars[CAP] < 1.0
    for k in range(first, last + 1, max(last - first, 1) if ordered else 1):
        b = shelves.shelf[side, k]
        for place in range(shelves.held[side, k]):
            least = min(least, shelves.weights[b, place])
            greatest = max(greatest, shelves.weights[b, place])
    return least, greatest
