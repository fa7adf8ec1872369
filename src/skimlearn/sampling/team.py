r"""Passes over vectors by several threads together, with the same result as by one.

Every thread of a `Team` runs the same kernel. Each does all of the scalar work by itself, with its
own copy of the scalars, and its `share` of every vector. Two rules make that right:

* between two calls of `meet`, a thread writes to its own share of a vector, and reads of the others
  only what nobody writes to meanwhile;
* sums over a vector are sums of sums over blocks, and a block belongs to one thread.

The second makes the result the same to the bit for any number of threads, one included: a team of
one is `ALONE`, whose share is everything and which never waits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import give_way, lean_kernel, load_shared, store_shared
from skimlearn.sampling.blocks import BLOCK, cut_sums, power_sums

__all__ = [
    "ALONE",
    "Team",
    "assemble",
    "blocks_of",
    "least",
    "make_teams",
    "meet",
    "share",
    "shared_cut_sums",
    "shared_power_sums",
    "sum_of",
]

LINE = 8  # numbers in a cache line: threads do not share one
PATIENCE = 2000  # looks at a mark before the processor is offered to others


class Team(NamedTuple):
    """A thread's place in its team."""

    rank: int
    size: int
    marks: NDArray[np.int64]  # how often each has met the others; behind them, whether one is gone

    def leave(self) -> None:
        """Tell those who wait in `assemble` that this thread will not come."""
        self.marks[self.size * LINE] = 1


def make_teams(size: int) -> list[Team]:
    """The places of a team of so many."""
    marks = np.zeros((size + 1) * LINE, dtype=np.int64)
    return [Team(rank, size, marks) for rank in range(size)]


ALONE = make_teams(1)[0]


@lean_kernel
def assemble(team):
    """Wait until all are there; False if one will not come."""
    if team.size > 1:
        store_shared(team.marks, team.rank * LINE, 1)
        for other in range(team.size):
            while load_shared(team.marks, other * LINE) < 1:
                if load_shared(team.marks, team.size * LINE) > 0:
                    return False
                give_way()
    return True


@lean_kernel
def meet(team):
    """Wait until all have come here: what they wrote before can be read after."""
    if team.size > 1:
        met = load_shared(team.marks, team.rank * LINE) + 1
        store_shared(team.marks, team.rank * LINE, met)
        for other in range(team.size):
            looks = 0
            while load_shared(team.marks, other * LINE) < met:
                looks += 1
                if looks > PATIENCE:
                    give_way()


@lean_kernel
def blocks_of(count):
    """How many blocks so many numbers make, the last of them perhaps not full."""
    return (np.int64(count) + BLOCK - 1) // BLOCK


@lean_kernel
def share(team, count):
    """The first and the last but one of a thread's share of a vector: whole blocks."""
    blocks = blocks_of(count)
    first = blocks * team.rank // team.size * BLOCK
    last = min(blocks * (team.rank + 1) // team.size * BLOCK, np.int64(count))
    return np.uint64(first), np.uint64(last)


@lean_kernel
def sum_of(sums):
    """The sum of all blocks, in one order whoever made them."""
    total = 0.0
    for b in range(len(sums)):
        total += sums[b]
    return total


@lean_kernel
def shared_cut_sums(team, x, top, sums):
    """As `cut_sums`, together."""
    first, last = share(team, len(x))
    low, high = np.int64(first), np.int64(last)
    cut_sums(x[low:high], top, sums[low // BLOCK : blocks_of(high)])
    meet(team)
    return sum_of(sums)


@lean_kernel
def shared_power_sums(team, x, power, sums):
    """As `power_sums`, together."""
    first, last = share(team, len(x))
    low, high = np.int64(first), np.int64(last)
    power_sums(x[low:high], power, sums[low // BLOCK : blocks_of(high)])
    meet(team)
    return sum_of(sums)


@lean_kernel
def least(team, x, sign, parts):
    """The least of sign * x_i, together; parts has room for one number per thread."""
    first, last = share(team, len(x))
    four, one = np.uint64(4), np.uint64(1)
    # by four at a time: a processor then need not wait for each comparison
    a = b = c = d = np.inf
    whole = first + (last - first) // four * four
    for i in range(first, whole, four):
        a = min(a, sign * x[i])
        b = min(b, sign * x[i + one])
        c = min(c, sign * x[i + one + one])
        d = min(d, sign * x[i + one + one + one])
    for i in range(whole, last):
        a = min(a, sign * x[i])
    meet(team)  # others may still read what parts held before
    parts[team.rank] = min(min(a, b), min(c, d))
    meet(team)
    for rank in range(team.size):
        a = min(a, parts[rank])
    return a
