"""The Hessian of a mean loss, never formed: its diagonal, and its product with a vector.

Each takes one pass over the rows in the order in which they are stored. ``bends`` are the second
derivatives of the losses, as parts of the mean. Behind the weights, vectors have a bias.
"""

from __future__ import annotations

from skimlearn._jit import kernel
from skimlearn.data.rows import add, dot, entry, size

__all__ = ["expand", "multiply"]


@kernel
def expand(rows, pulls, bends, gradient, diagonal):
    """Add the gradient of the mean loss and the diagonal of its Hessian."""
    last = len(gradient) - 1
    for i in range(len(bends)):
        pull, bend = pulls[i], bends[i]
        if pull == 0.0 and bend == 0.0:
            continue
        gradient[last] -= pull
        diagonal[last] += bend
        for k in range(size(rows, i)):
            j, x = entry(rows, i, k)
            gradient[j] -= pull * x
            diagonal[j] += bend * x * x


@kernel
def multiply(rows, bends, p, along, out):
    """along = X p and out += X' (bends * (X p + the bias of p)), in one pass."""
    last = len(p) - 1
    for i in range(len(bends)):
        along[i] = dot(rows, i, p)
        pull = bends[i] * (along[i] + p[last])
        if pull != 0.0:
            add(rows, i, pull, out)
            out[last] += pull
