"""The finisher of the algorithms over the simplex: of a million rows only few carry weight.

`CoreSet` keeps a few points with the matrix K of their inner products and minimises

    b.q + q'K q    over the simplex

by pairwise steps: weight moves from the point a of largest gradient that has some to the point s
that gains most, with the exact step. `Finish` does that for rows of a matrix: one pass over all
rows, between two such solutions, proves how good the last one is and says which rows are missing.

See Badoiu and Clarkson, "Optimal core-sets for balls" (2008), and, for the choice of the pair, Fan,
Chen and Lin, "Working set selection using second order information" (2005).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.gram import inner_products
from skimlearn.data.oracle import ReadLimit
from skimlearn.data.rows import Rows, combine, lengths, stacked, take

__all__ = ["CoreSet", "Finish"]

Vector = NDArray[np.float64]
Indices = NDArray[np.int64]
ROOM = 2048  # rows in the core set: their products take 32 MB
SEEDS, MORE = 256, 32  # rows that begin the core set, and rows added after a pass


class CoreSet:
    """Points that carry weight, with the matrix of their products.

    Examples
    --------
    >>> core = CoreSet(room=8)  # the shortest vector between (1, 0) and (0, 2)
    >>> points = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> core.grow(points @ points.T, np.zeros(2), np.array([0.5, 0.5]))
    >>> core.solve(1e-12)
    >>> core.weights.round(3)
    array([0.8, 0.2])
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.size = 0
        self._products = np.zeros((0, 0))
        self._linear = np.zeros(0)
        self._weights = np.zeros(0)

    @property
    def weights(self) -> Vector:
        """The weights of the points; their sum is 1."""
        return self._weights[: self.size]

    @property
    def linear(self) -> Vector:
        """The linear term of each point."""
        return self._linear[: self.size]

    @property
    def free(self) -> int:
        """How many more points there is room for."""
        return self.room - self.size

    def grow(self, products: Vector, linear: Vector, weights: Vector) -> None:
        """Add points: their products with all points, old ones first, and their linear terms."""
        old, new = self.size, self.size + len(linear)
        if new > len(self._linear):
            capacity = min(self.room, max(2 * len(self._linear), new, 64))
            K = np.zeros((capacity, capacity))
            K[:old, :old] = self._products[:old, :old]
            self._products = K
            self._linear = np.resize(self._linear, capacity) if old else np.zeros(capacity)
            self._weights = np.resize(self._weights, capacity) if old else np.zeros(capacity)
        self._products[old:new, :new] = products
        self._products[:old, old:new] = products[:, :old].T
        self._linear[old:new] = linear
        self._weights[old:new] = weights
        self.size = new

    def shrink(self) -> Indices:
        """Forget the points without weight; return the positions of those that stay."""
        kept = np.flatnonzero(self.weights > 0.0)
        if len(kept) < self.size:
            k = len(kept)
            self._products[:k, :k] = self._products[np.ix_(kept, kept)]
            self._linear[:k] = self._linear[kept]
            self._weights[:k] = self._weights[kept]
            self.size = k
        return kept

    def solve(self, tolerance: float, steps: int = 100_000) -> None:
        """Move weight until no pair of points gains more than the tolerance."""
        k = self.size
        _pairwise(self._products[:k, :k], self.linear, self.weights, tolerance, steps)
        self._weights[:k] /= self._weights[:k].sum()


class Finish:
    """The quadratic of `_simplex` on the rows that carry weight; see there for the symbols.

    A row that is chosen is read and kept: ``stored`` counts the entries of these reads, of which
    there are no more than ``limit``. A row beyond it raises `ReadLimit`.
    """

    def __init__(
        self,
        rows: Rows,
        linear: Vector,
        origin: Vector,
        extra: Vector | None,
        ridge: float,
        *,
        p: Vector,
        closeness: float,
        limit: float,
    ) -> None:
        self.rows, self.linear, self.origin, self.extra = rows, linear, origin, extra
        self.ridge, self.limit = ridge, limit
        self.stored, self.read = 0, 0  # entries and rows
        self.lengths = lengths(rows)
        self.core = CoreSet(ROOM)
        self.chosen: Indices = np.zeros(0, dtype=np.int64)
        self.kept = take(rows, self.chosen)
        self.closeness = closeness  # to which the core set is solved
        self.stalled = False  # whether rounding forbids any further progress
        self.full = False  # whether more rows carry weight than there is room for
        self._last = (math.inf, math.inf)  # gap within the core set, and phi, at the last pass
        seeds = np.flatnonzero(p)
        if len(seeds) > SEEDS:
            seeds = np.sort(seeds[np.argpartition(p[seeds], -SEEDS)[-SEEDS:]])
        self._add(seeds, p[seeds] / p[seeds].sum())

    def point(self) -> tuple[float, Vector, Vector, float]:
        """Solve for the chosen rows: phi(p), p, x and z."""
        self.core.solve(self.closeness)
        self.weights = self.core.weights.copy()
        p = np.zeros(len(self.linear))
        p[self.chosen] = self.weights
        x = np.zeros(len(self.origin))
        combine(self.kept, self.weights, x)
        x -= self.origin
        z = 0.0 if self.extra is None else float(self.extra @ p)
        linear = float(self.core.linear @ self.weights)
        self.phi = linear + float(x @ x) + z * z + self.ridge * float(p @ p)
        return self.phi, p, x, z

    def learn(self, gradient: Vector) -> None:
        """Choose more rows, given the gradient of all rows at the last point."""
        inside = gradient[self.chosen]
        mean = float(self.weights @ inside)
        gap, within = mean - float(gradient.min()), mean - float(inside.min())
        if self._add_missing(gradient, float(inside.min())):
            self.closeness = 0.1 * gap
        elif self.core.free == 0:
            self.full = True
        else:
            self.stalled = within >= self._last[0] and self.phi >= self._last[1]
            self.closeness = 0.1 * within
        self._last = within, self.phi

    def _add_missing(self, gradient: Vector, level: float) -> bool:
        """Add rows of least gradient, as far as it is below the level of the chosen ones."""
        if self.core.free < MORE:
            stay = self.core.shrink()
            self.chosen, self.kept = self.chosen[stay], take(self.kept, stay)
        count = min(MORE, self.core.free, len(gradient))
        if count == 0:
            return False
        least = np.sort(np.argpartition(gradient, count - 1)[:count])
        missing = least[gradient[least] < level]
        self._add(missing, np.zeros(len(missing)))
        return len(missing) > 0

    def _add(self, new: Indices, weights: Vector) -> None:
        if len(new) == 0:
            return
        fresh = self._take(new)
        together, kept = np.concatenate([self.chosen, new]), stacked([self.kept, fresh])
        products = inner_products(fresh, kept, self.origin)
        if self.extra is not None:
            products += np.outer(self.extra[new], self.extra[together])
        at = np.arange(len(new))
        products[at, len(self.chosen) + at] += self.ridge
        self.core.grow(products, self.linear[new], weights)
        self.chosen, self.kept = together, kept

    def _take(self, new: Indices) -> Rows:
        stored = int(self.lengths[new].sum())
        if self.stored + stored > self.limit:
            raise ReadLimit("the rows of the core set are beyond max_reads")
        self.stored += stored
        self.read += len(new)
        return take(self.rows, new)


@kernel
def _pairwise(K, b, q, tolerance, steps):
    """Minimise b.q + q'K q over the simplex, from q on; the gradient is kept up to date."""
    k = len(q)
    gradient = np.empty(k)
    for i in range(k):
        gradient[i] = b[i]
        for j in range(k):
            gradient[i] += 2.0 * K[i, j] * q[j]
    for _ in range(steps):
        a, s, least, best = -1, -1, np.inf, 0.0
        for i in range(k):
            if q[i] > 0.0 and (a < 0 or gradient[i] > gradient[a]):
                a = i
        for i in range(k):
            slope = gradient[a] - gradient[i]
            least = min(least, gradient[i])
            if slope > 0.0:
                gain = slope * slope / max(K[i, i] + K[a, a] - 2.0 * K[i, a], 1e-300)
                if gain > best:
                    best, s = gain, i
        if s < 0 or gradient[a] - least <= tolerance:
            break
        curvature = 2.0 * (K[s, s] + K[a, a] - 2.0 * K[s, a])
        step = q[a]
        if (gradient[a] - gradient[s]) < step * curvature:
            step = (gradient[a] - gradient[s]) / curvature
            q[a] -= step
        else:
            q[a] = 0.0
        q[s] += step
        for i in range(k):
            gradient[i] += 2.0 * step * (K[i, s] - K[i, a])
