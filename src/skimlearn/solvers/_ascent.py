"""The loops of dual coordinate ascent: visits, gaps of a sample, and which rows are left."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel, prefetch_line
from skimlearn.data.rows import add, dot, look_ahead
from skimlearn.solvers._mirror import MASS, UNIT, push, refresh

__all__ = ["ascend", "gaps_of", "moving", "places"]

LEAST, PART, SPARED = 256, 32, 16  # rows of a sample: so many, or one in so many; visits for each
NEIGHBOURS = 8  # rows of a sample that lie together: on a disk they are read at once


def places(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Some of so many places at random, of which a few each are neighbours."""
    size = max(LEAST, min(2 * LEAST, count // PART))
    if size >= count:
        return np.arange(count)
    first = rng.integers(0, count, size=-(-size // NEIGHBOURS))
    found: NDArray[np.int64] = (first[:, None] + np.arange(NEIGHBOURS)).ravel() % count
    return found


@kernel
def gaps_of(
    rows, y, m, loss, regularizer, sample, stretch, centre, a, phi, mirror, offset
):  # fmt: skip
    """The sum of the gaps between losses and dual variables of some rows, and of primal values.

    These are losses and parts of the regularizer, since the sum of all a_i z_i is <w, theta>: for
    p = 2 twice its value, for others about that.
    """
    gaps, value = 0.0, 0.0
    scale = regularizer.scale(mirror[MASS], mirror[UNIT], 1.0)
    for at in range(len(sample)):
        i = sample[at]
        look_ahead(rows, sample, at)
        z = stretch * (scale * dot(rows, i, phi) + offset[0]) + centre
        here, product = loss.value(z, y[i]), a[i] * z
        gaps += m[i] * (here + loss.conjugate(-a[i], y[i]) + product)
        value += m[i] * (here + 0.5 * product)
    return gaps, value


@kernel
def ascend(
    rows, y, m, loss, regularizer, alpha, bias_square, centre, order, seen,
    h, a, moved, theta, phi, mirror, offset, reach, every,
):  # fmt: skip
    """Visit rows; return the gaps between losses and dual variables of one in so many, added up.

    A row that would not move for a response within ``reach``, times the root of its h, is at rest.
    """
    unit_step, gaps, stretch = 1.0 / (alpha * len(y)), 0.0, 1.0
    scale = regularizer.scale(mirror[MASS], mirror[UNIT], 1.0)
    for at in range(len(order)):
        i = order[at]
        soon = look_ahead(rows, order, at)
        prefetch_line(y, soon)
        prefetch_line(m, soon)
        prefetch_line(h, soon)
        prefetch_line(a, soon)
        prefetch_line(moved, soon)
        if seen < len(y):
            seen += 1.0
            stretch = max(len(y) / seen, 1.0)
        z = stretch * (scale * dot(rows, i, phi) + offset[0]) + centre
        new = loss.dual_step(a[i], z, stretch * h[i], y[i])
        if every > 0 and at % every == 0:
            gaps += m[i] * (loss.value(z, y[i]) + loss.conjugate(-a[i], y[i]) + a[i] * z)
        change = m[i] * (new - a[i]) * unit_step
        moved[i] = (
            reach == np.inf
            or _differs(new, a[i], z, h[i], y[i])
            or _would_move(loss, a[i], z, reach * math.sqrt(h[i] / m[i]), h[i], y[i])
        )
        if change != 0.0:
            a[i] = new
            offset[0] += bias_square * change
            if regularizer.linear():
                add(rows, i, change, theta)
            else:
                if push(rows, i, change, regularizer, 1.0, theta, phi, mirror):
                    refresh(regularizer, 1.0, theta, phi, mirror)
                scale = regularizer.scale(mirror[MASS], mirror[UNIT], 1.0)
    return every * gaps


@kernel
def _differs(new, a, z, h, y):
    """Whether a step is more than rounding, of the variable and of the response."""
    size = abs(new - a)
    return size > 1e-12 * abs(new) and h * size > 1e-12 * (abs(z) + abs(y))


@kernel
def _would_move(loss, a, z, reach, h, y):
    """Whether a dual variable would move for some response within reach."""
    low, high = z - reach, z + reach
    return _differs(loss.dual_step(a, low, h, y), a, low, h, y) or _differs(
        loss.dual_step(a, high, h, y), a, high, h, y
    )


@kernel
def moving(loss, z, b, y, h, a, radius, squares, bias_square, m, moved, out):
    """Which rows to visit: those that moved, or would for some response within reach.

    They count as moved until they are visited, and the others do not.
    """
    count = 0
    for i in range(len(z)):
        keep = moved[i]
        if not moved[i]:
            reach = radius * math.sqrt(squares[i] + bias_square)
            keep = _would_move(loss, a[i], z[i] + b, reach, h[i], y[i])
            moved[i] = keep
        if keep and m[i] > 0.0:
            out[count] = i
            count += 1
    return count
