r"""Vectors that are too long to be stored, in little memory: norms, and draws by squares.

`CountSketch`: each of ``depth`` tables of ``width`` cells adds up the entries x_j, with random
signs s(j), in cells h(j); h and s are 4-wise independent polynomials modulo 2^31 - 1. A table's sum
of squares is an estimate of ||x||^2 without bias, of variance at most 2 ||x||^4 / width; the median
of all tables errs by a part of more than sqrt(8 / width) only if half of them do (`norm`). The
median of s(j) * cell(h(j)) is an estimate of x_j, which errs by about ||x|| / sqrt(width).

`L2Sampler`: with E_j exponential, x_j^2 / E_j is greatest at j with probability x_j^2 / ||x||^2.
The sketch of z_j = x_j / sqrt(E_j) finds that j, and x_j = z_j sqrt(E_j), up to its errors: the
precision sampling of Andoni, Krauthgamer and Onak (2011), with exponential instead of uniform
numbers, for which the law is exact (Jayaram and Woodruff, 2018).

Both are linear: what is added in another order, or in parts, gives the same. The first is that of
Charikar, Chen and Farach-Colton (2002), and of Thorup and Zhang (2004) for norms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from skimlearn._jit import kernel
from skimlearn.data.rows import Rows, entry, size
from skimlearn.sampling.reservoir import uniform_at

__all__ = ["CountSketch", "L2Sampler"]

PRIME = 2**31 - 1
Vector = NDArray[np.float64]


class CountSketch:
    """The sketch of a vector that is a sum of rows.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> sketch = CountSketch(7, 64, np.random.default_rng(0))
    >>> sketch.add(as_rows([[3.0, 0.0, 0.0], [0.0, 0.0, 4.0]]), np.ones(2))
    >>> sketch.norm(), sketch.estimate(2)
    (5.0, 4.0)
    """

    seed = -1  # of the scaling: none

    def __init__(self, depth: int, width: int, rng: np.random.Generator) -> None:
        self.hashes = rng.integers(1, PRIME, size=(depth, 8)).astype(np.uint64)
        self.table = np.zeros((depth, width))

    def add(self, rows: Rows, weights: Vector) -> None:
        """Add the rows times their weights."""
        if rows.shape[1] >= PRIME:
            raise ValueError(f"a sketch has at most {PRIME - 1} columns, not {rows.shape[1]}")
        with np.errstate(over="ignore"):
            _add(rows, weights, self.hashes, self.table, self.seed)

    def norm(self) -> float:
        """An estimate of the norm."""
        return math.sqrt(float(np.median((self.table**2).sum(axis=1))))

    def margin(self) -> tuple[float, float]:
        """By which part the norm may be larger than estimated, and the probability of more."""
        depth, width = self.table.shape
        share = min(math.sqrt(8.0 / width), 0.9)
        chance = min(1.0, 2.0 / (width * share * share))
        wrong = float(binom.sf((depth + 1) // 2 - 1, depth, chance))
        return 1.0 / math.sqrt(1.0 - share) - 1.0, wrong

    def estimate(self, j: int) -> float:
        """An estimate of entry j."""
        with np.errstate(over="ignore"):
            return float(_estimate(self.hashes, self.table, j, np.empty(len(self.table))))


class L2Sampler(CountSketch):
    """A draw of one coordinate in proportion to its square; each draw needs a sampler of its own.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> sampler = L2Sampler(5, 64, np.random.default_rng(0))
    >>> sampler.add(as_rows([[0.0, 2.0, 0.0]]), np.ones(1))
    >>> j, value = sampler.draw(3)
    >>> j, round(value, 12)
    (1, 2.0)
    """

    def __init__(self, depth: int, width: int, rng: np.random.Generator) -> None:
        super().__init__(depth, width, rng)
        self.seed = int(rng.integers(2**62))

    def draw(self, d: int) -> tuple[int, float]:
        """A coordinate and its value, or -1 and 0 if the vector is zero."""
        with np.errstate(over="ignore"):
            j, value = _heaviest(self.hashes, self.table, self.seed, d)
        return int(j), float(value)


@kernel
def _polynomial(c, first, x):
    """A polynomial of degree 3 modulo 2^31 - 1, of a number below it."""
    p = np.uint64(PRIME)
    total = c[first]
    for k in range(1, 4):
        total = (total * x + c[first + k]) % p
    return total


@kernel
def _scale(seed, j):
    """1 / sqrt(E_j); 1 if nothing is scaled."""
    return 1.0 / math.sqrt(-math.log(uniform_at(seed, 0, 0, j))) if seed >= 0 else 1.0


@kernel
def _add(rows, weights, hashes, table, seed):
    width = np.uint64(table.shape[1])
    for i in range(len(weights)):
        for e in range(size(rows, i)):
            j, value = entry(rows, i, e)
            value *= weights[i] * _scale(seed, j)
            if value == 0.0:
                continue
            for k in range(len(table)):
                cell = _polynomial(hashes[k], 0, j) % width
                odd = _polynomial(hashes[k], 4, j) & np.uint64(1)
                table[k, cell] += value if odd == np.uint64(1) else -value


@kernel
def _estimate(hashes, table, j, work):
    """The median over the tables of the cell of j with its sign."""
    width, x = np.uint64(table.shape[1]), np.uint64(j)
    for k in range(len(table)):
        cell = _polynomial(hashes[k], 0, x) % width
        odd = _polynomial(hashes[k], 4, x) & np.uint64(1)
        value = table[k, cell] if odd == np.uint64(1) else -table[k, cell]
        at = k
        while at > 0 and work[at - 1] > value:
            work[at] = work[at - 1]
            at -= 1
        work[at] = value
    half = len(work) // 2
    return work[half] if len(work) % 2 == 1 else 0.5 * (work[half - 1] + work[half])


@kernel
def _heaviest(hashes, table, seed, d):
    """The coordinate of the greatest estimate, and its value before it was scaled."""
    work = np.empty(len(table))
    best, place = 0.0, -1
    for j in range(d):
        value = _estimate(hashes, table, j, work)
        if abs(value) > abs(best):
            best, place = value, j
    return place, best / _scale(seed, place) if place >= 0 else 0.0
