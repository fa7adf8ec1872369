"""A sum tree: weights that change one at a time, drawn in proportion to their size.

The leaves are the weights, every other node the sum of its two children. A change recomputes the
sums on the way to the root, from the leaves: there is no drift, however many changes there are, and
no sum turns negative by cancellation. A change and a draw cost O(log n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import lean_kernel

__all__ = ["SumTree"]


class SumTree:
    """Non-negative weights under change.

    Inside kernels use the array `nodes` with `tree_set`, `tree_draw` and `tree_total`.

    Examples
    --------
    >>> tree = SumTree(np.array([1.0, 0.0, 3.0]))
    >>> tree[0] = 5.0
    >>> tree.total
    8.0
    >>> tree.draw(0.99)
    2
    """

    def __init__(self, weights: NDArray[np.float64]) -> None:
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim != 1 or len(weights) == 0:
            raise ValueError(f"weights of shape {weights.shape} must be a vector that is not empty")
        if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
            raise ValueError("weights must be finite and not negative")
        self.size = len(weights)
        self.nodes = tree_nodes(self.size)
        tree_build(weights, self.nodes)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, i: int) -> float:
        return float(self.nodes[len(self.nodes) // 2 + self._checked(i)])

    def __setitem__(self, i: int, weight: float) -> None:
        if not 0.0 <= weight < np.inf:
            raise ValueError(f"weight={weight!r} must be finite and not negative")
        tree_set(self.nodes, self._checked(i), weight)

    def _checked(self, i: int) -> int:
        if not 0 <= i < self.size:
            raise IndexError(f"index {i} is out of range for {self.size} weights")
        return int(i)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(tree_total(self.nodes))

    def draw(self, u: float) -> int:
        """The index that a uniform number in [0, 1) falls on; -1 if all weights are zero."""
        return int(tree_draw(self.nodes, u))


def tree_nodes(size: int) -> NDArray[np.float64]:
    """Room for the tree of so many weights: node k has the children 2 k and 2 k + 1."""
    leaves = 1
    while leaves < size:
        leaves *= 2
    return np.zeros(2 * leaves)


@lean_kernel
def tree_build(weights, nodes):
    """Fill the tree from its weights, in O(n)."""
    leaves = len(nodes) // 2
    for i in range(leaves):
        nodes[leaves + i] = weights[i] if i < len(weights) else 0.0
    for k in range(leaves - 1, 0, -1):
        nodes[k] = nodes[2 * k] + nodes[2 * k + 1]


@lean_kernel
def tree_total(nodes):
    """The sum of the weights."""
    return nodes[1]


@lean_kernel
def tree_set(nodes, i, weight):
    """Change one weight."""
    k = len(nodes) // 2 + i
    nodes[k] = weight
    while k > 1:
        k //= 2
        nodes[k] = nodes[2 * k] + nodes[2 * k + 1]


@lean_kernel
def tree_draw(nodes, u):
    """The leaf that a uniform number in [0, 1) falls on; -1 if all weights are zero.

    A child of weight zero is never entered, whatever rounding does to the remainder.
    """
    if not nodes[1] > 0.0:
        return -1
    leaves = len(nodes) // 2
    rest = u * nodes[1]
    k = 1
    while k < leaves:
        k *= 2
        if (rest >= nodes[k] and nodes[k + 1] > 0.0) or not nodes[k] > 0.0:
            rest -= nodes[k]
            k += 1
    return k - leaves
