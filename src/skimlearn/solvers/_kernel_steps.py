"""The innermost loops of `_kernel_qp`: steps of one or two variables on a table in memory."""

from __future__ import annotations

import numpy as np

from skimlearn._jit import kernel

__all__ = ["gather", "insert", "move_pairs", "move_singles", "spread"]


@kernel
def gather(gram, chosen, signs, out):
    for i in range(len(chosen)):
        for j in range(len(chosen)):
            out[i, j] = gram[chosen[i], chosen[j]]
        if signs[chosen[i]] < 0.0:
            out[i] *= -1.0
    for j in range(len(chosen)):
        if signs[chosen[j]] < 0.0:
            out[:, j] *= -1.0


@kernel
def insert(part, places, gram):
    """Write rows of a symmetric table, and their columns, a block at a time."""
    high, wide = part.shape
    for first in range(0, high, 64):
        last = min(first + 64, high)
        for begin in range(0, wide, 64):
            end = min(begin + 64, wide)
            for i in range(first, last):
                for j in range(begin, end):
                    gram[places[i], j] = part[i, j]
            for j in range(begin, end):
                for i in range(first, last):
                    gram[j, places[i]] = part[i, j]


@kernel
def spread(gram, chosen, change, out):
    """out += change' gram of the chosen rows."""
    for i in range(len(chosen)):
        if change[i] != 0.0:
            row = gram[chosen[i]]
            for j in range(len(out)):
                out[j] += change[i] * row[j]


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
