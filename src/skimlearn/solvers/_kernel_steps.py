"""The innermost loops of `_kernel_qp`: steps of one or two variables on a table in memory."""

from __future__ import annotations

import numpy as np

from skimlearn._jit import kernel

__all__ = ["gather", "insert", "move_pairs", "move_singles", "spread"]


@kernel
def _columns_of(gram, places):
    """Where the columns of places begin in the memory of the panels; a row adds row * width."""
    high, wide = gram.shape[1], gram.shape[2]
    return (places // wide) * (high * wide) + places % wide


@kernel
def gather(gram, chosen, signs, out):
    """The part of the matrix for chosen members, with their signs."""
    wide, cells, columns = gram.shape[2], gram.reshape(gram.size), _columns_of(gram, chosen)
    for i in range(len(chosen)):
        start = chosen[i] * wide
        for j in range(len(chosen)):
            out[i, j] = cells[start + columns[j]]
        if signs[chosen[i]] < 0.0:
            out[i] *= -1.0
    for j in range(len(chosen)):
        if signs[chosen[j]] < 0.0:
            out[:, j] *= -1.0


@kernel
def insert(piece, rows, columns, ahead, gram):
    """Write a piece of the matrix at its places, and its mirror image, in small squares.

    Row i is column ``ahead + i`` of the piece, or would be: what lies beyond is left to its mirror
    image, so that each value is written once.
    """
    wide, cells = gram.shape[2], gram.reshape(gram.size)
    right, left = _columns_of(gram, columns), _columns_of(gram, rows)
    for first in range(0, len(rows), 64):
        last = min(first + 64, len(rows))
        for begin in range(0, min(len(columns), ahead + last), 64):
            end = min(begin + 64, len(columns))
            for i in range(first, last):
                start = rows[i] * wide
                for j in range(begin, min(end, ahead + i + 1)):
                    cells[start + right[j]] = piece[i, j]
            for j in range(begin, end):
                start = columns[j] * wide
                for i in range(max(first, j - ahead), last):
                    cells[start + left[i]] = piece[i, j]


@kernel
def spread(gram, chosen, change, out):
    """out += change' gram of the chosen rows."""
    wide = gram.shape[2]
    for panel in range((len(out) + wide - 1) // wide):
        part = out[panel * wide : (panel + 1) * wide]
        for i in range(len(chosen)):
            if change[i] != 0.0:
                row = gram[panel, chosen[i]]
                for j in range(len(part)):
                    part[j] += change[i] * row[j]


@kernel
def move_pairs(gram, scale, group, groups, low, high, tolerance, most, v, g):
    """Move pairs of variables of one group against each other; return how many moves."""
    n = len(v)
    for taken in range(most):
        best, to, source, worst = 0.0, -1, -1, 0.0
        for k in range(groups):
            i, greatest, least = -1, -np.inf, np.inf
            for j in range(n):
                if group[j] == k:
                    if v[j] < high[j] and g[j] < least:
                        i, least = j, g[j]
                    if v[j] > low[j] and g[j] > greatest:
                        greatest = g[j]
            if i < 0:
                continue
            worst = max(worst, greatest - least)
            own = np.float64(gram[i, i])
            for j in range(n):
                if g[j] > least and v[j] > low[j] and group[j] == k:
                    rise = g[j] - least
                    curvature = scale * (own + gram[j, j] - 2.0 * gram[i, j])
                    gain = rise * (rise / max(curvature, 1e-300))
                    if gain > best:
                        best, to, source = gain, i, j
        if to < 0 or worst <= tolerance:
            return taken
        curvature = scale * (
            np.float64(gram[to, to]) + gram[source, source] - 2.0 * gram[to, source]
        )
        up, down = high[to] - v[to], v[source] - low[source]
        length = min(min(up, down), (g[source] - g[to]) / max(curvature, 1e-300))
        v[to] = high[to] if length == up else v[to] + length
        v[source] = low[source] if length == down else v[source] - length
        step = scale * length
        for j in range(n):
            g[j] += step * (np.float64(gram[to, j]) - gram[source, j])
    return most


@kernel
def move_singles(gram, scale, low, high, tolerance, most, v, g):
    """Move single variables; return how many moves."""
    n = len(v)
    for taken in range(most):
        best, at, worst = 0.0, -1, 0.0
        for j in range(n):
            if (g[j] < 0.0 and v[j] < high[j]) or (g[j] > 0.0 and v[j] > low[j]):
                worst = max(worst, abs(g[j]))
                gain = g[j] * (g[j] / max(scale * np.float64(gram[j, j]), 1e-300))
                if gain > best:
                    best, at = gain, j
        if at < 0 or worst <= tolerance:
            return taken
        goal = v[at] - g[at] / max(scale * np.float64(gram[at, at]), 1e-300)
        goal = min(max(goal, low[at]), high[at])
        step = scale * (goal - v[at])
        v[at] = goal
        for j in range(n):
            g[j] += step * gram[at, j]
    return most
