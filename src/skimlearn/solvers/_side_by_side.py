"""The loops of `side_by_side`: visits, responses and dual vectors of several problems at once."""

from __future__ import annotations

import numpy as np

from skimlearn._jit import kernel, prefetch_line
from skimlearn.data.rows import look_ahead, products, share_out

__all__ = ["add_gaps", "ascend", "combine", "respond"]


@kernel
def ascend(
    rows, y, m, loss, alpha, bias_square, centre, order, seen,
    h, a, moved, theta, offset, z, change,
):  # fmt: skip
    """Visit rows for all problems."""
    n, count = len(m), np.uint64(len(z))
    unit_step, stretch = 1.0 / (alpha * n), 1.0
    for at in range(len(order)):
        i = np.uint64(order[at])
        soon = look_ahead(rows, order, at)
        prefetch_line(m, soon)
        prefetch_line(h, soon)
        prefetch_line(y, soon * count)
        prefetch_line(a, soon * count)
        prefetch_line(moved, soon * count)
        if seen < n:
            seen += 1.0
            stretch = max(n / seen, 1.0)
        products(rows, i, theta, z)
        steepness, step, largest = stretch * h[i], m[i] * unit_step, 0.0
        for k in range(count):
            z[k] = stretch * (z[k] + offset[k]) + centre[k]
        for k in range(count):
            new = loss.dual_step(a[i, k], z[k], steepness, y[i, k])
            size = abs(new - a[i, k])
            moved[i, k] = size > 1e-12 * abs(new) and h[i] * size > 1e-12 * (
                abs(z[k]) + abs(y[i, k])
            )
            change[k] = step * (new - a[i, k])
            offset[k] += bias_square * change[k]
            a[i, k] = new
            largest = max(largest, size)
        if largest > 0.0:
            share_out(rows, i, change, theta)


@kernel
def add_gaps(rows, y, m, loss, sample, stretch, centre, a, theta, offset, z, gaps, values):
    """Add the gaps between losses and dual variables of some rows, and the primal values."""
    count = np.uint64(len(z))
    for at in range(len(sample)):
        i = np.uint64(sample[at])
        look_ahead(rows, sample, at)
        products(rows, i, theta, z)
        for k in range(count):
            here = stretch * (z[k] + offset[k]) + centre[k]
            value, product = loss.value(here, y[i, k]), a[i, k] * here
            gaps[k] += m[i] * (value + loss.conjugate(-a[i, k], y[i, k]) + product)
            values[k] += m[i] * (value + 0.5 * product)


@kernel
def respond(rows, w, factor, out):
    """The responses of all rows to several vectors, times a factor."""
    for i in range(len(out)):
        products(rows, i, w, out[i])
    if factor != 1.0:
        for i in range(len(out)):
            for k in range(out.shape[1]):
                out[i, k] *= factor


@kernel
def combine(rows, a, m, scale, change, out):
    """out_k += scale * sum over i of m_i a_ik * row i."""
    for i in range(len(a)):
        largest = 0.0
        for k in range(len(change)):
            change[k] = a[i, k] * m[i] * scale
            largest = max(largest, abs(change[k]))
        if largest > 0.0:
            share_out(rows, i, change, out)
