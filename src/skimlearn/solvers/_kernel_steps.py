"""The innermost loops of `_kernel_qp`: steps of one or two variables, some members at a time.

Rows of the matrix are fetched from the panels when a step first needs them: most steps move few
variables again and again. The least or the greatest of many numbers is looked for among their bits,
read as whole numbers, which are in the same order: a processor compares many of these at a time,
but floats, which may be nan, one after the other.
"""

from __future__ import annotations

import numpy as np

from skimlearn._jit import kernel, lean_kernel
from skimlearn.solvers._kernel_panels import fetch, own, places_of

__all__ = ["move_pairs", "move_singles"]

TOP = np.int64(2**63 - 1)  # beyond all numbers, and a mask of all bits but the sign
BLOCK = 512  # numbers among which the least one is looked for at once


@lean_kernel
def _ends(bits, v, low, high):
    """Where the least g of variables that may grow is, and the greatest of those that may fall.

    ``bits`` are those of g; -1 stands for none.
    """
    least, greatest, at, to = TOP, -TOP, -1, -1
    for begin in range(0, len(bits), BLOCK):
        part = slice(begin, begin + BLOCK)
        little, much = _end_keys(bits[part], v[part], low[part], high[part])
        if little < least:
            least, at = little, begin
        if much > greatest:
            greatest, to = much, begin
    if at >= 0:
        while _key(bits[at]) != least or not v[at] < high[at]:
            at += 1
    if to >= 0:
        while _key(bits[to]) != greatest or not v[to] > low[to]:
            to += 1
    return at, to


@lean_kernel
def _key(word):
    """A whole number in the order of the float with these bits, also below zero."""
    return word ^ ((word >> 63) & TOP)


@lean_kernel
def _end_keys(bits, v, low, high):
    little, much = TOP, -TOP
    for j in range(len(bits)):
        key = _key(bits[j])
        little = min(little, key if v[j] < high[j] else TOP)
        much = max(much, key if v[j] > low[j] else -TOP)
    return little, much


@lean_kernel
def _greatest(bits):
    """Where the greatest of numbers that are not negative is."""
    greatest, at = np.int64(-1), 0
    for begin in range(0, len(bits), BLOCK):
        much = np.int64(-1)
        for word in bits[begin : begin + BLOCK]:
            much = max(much, word)
        if much > greatest:
            greatest, at = much, begin
    while bits[at] != greatest:
        at += 1
    return at


@lean_kernel
def _gains(g, v, low, diagonal, line, mine, least, scale, out):
    """What a step of each variable that may fall promises, against one with g = least."""
    for j in range(len(g)):
        rise = g[j] - least
        rise = max(rise if v[j] > low[j] else 0.0, 0.0)
        curvature = scale * (mine + diagonal[j] - 2.0 * np.float64(line[j]))
        out[j] = rise * (rise / max(curvature, 1e-300))


@kernel
def move_pairs(gram, chosen, signs, scale, ends, low, high, tolerance, most, v, g, lines):
    """Move pairs of variables of one group against each other; return how many moves.

    Group k is ``ends[k] .. ends[k + 1]`` of the chosen members; ``lines`` is room for their part of
    the matrix.
    """
    n = len(v)
    places, known = places_of(gram, chosen), np.zeros(n, dtype=np.bool_)
    diagonal, gains, bits = np.empty(n), np.empty(n), g.view(np.int64)
    own(gram, chosen, diagonal)
    gain_bits = gains.view(np.int64)
    for taken in range(most):
        best, to, source, worst = 0.0, -1, -1, 0.0
        for k in range(len(ends) - 1):
            part = slice(ends[k], ends[k + 1])
            i, j = _ends(bits[part], v[part], low[part], high[part])
            if i < 0 or j < 0 or not g[part][j] > g[part][i]:
                continue
            i, j = i + ends[k], j + ends[k]
            worst = max(worst, g[j] - g[i])
            if not known[i]:
                fetch(gram, chosen[i], places, signs, signs[i], lines[i])
                known[i] = True
            _gains(
                g[part], v[part], low[part], diagonal[part], lines[i][part], diagonal[i], g[i],
                scale, gains[part],
            )  # fmt: skip
            j = ends[k] + _greatest(gain_bits[part])
            if gains[j] > best:
                best, to, source = gains[j], i, j
        if to < 0 or worst <= tolerance:
            return taken
        if not known[source]:
            fetch(gram, chosen[source], places, signs, signs[source], lines[source])
            known[source] = True
        plus, minus = lines[to], lines[source]
        curvature = scale * (diagonal[to] + diagonal[source] - 2.0 * np.float64(plus[source]))
        up, down = high[to] - v[to], v[source] - low[source]
        length = min(min(up, down), (g[source] - g[to]) / max(curvature, 1e-300))
        v[to] = high[to] if length == up else v[to] + length
        v[source] = low[source] if length == down else v[source] - length
        step = scale * length
        for j in range(n):
            g[j] += step * (np.float64(plus[j]) - minus[j])
    return most


@kernel
def move_singles(gram, chosen, signs, scale, low, high, tolerance, most, v, g, lines):
    """Move single variables; return how many moves."""
    n = len(v)
    places, known = places_of(gram, chosen), np.zeros(n, dtype=np.bool_)
    diagonal, gains, bits = np.empty(n), np.empty(n), g.view(np.int64)
    own(gram, chosen, diagonal)
    gain_bits, enough = gains.view(np.int64), np.full(1, tolerance).view(np.int64)[0]
    for taken in range(most):
        worst = np.int64(0)
        for j in range(n):
            free = (g[j] < 0.0 and v[j] < high[j]) or (g[j] > 0.0 and v[j] > low[j])
            worst = max(worst, bits[j] & TOP if free else np.int64(0))  # the bits of |g|
        for j in range(n):
            free = (g[j] < 0.0 and v[j] < high[j]) or (g[j] > 0.0 and v[j] > low[j])
            gains[j] = g[j] * (g[j] / max(scale * diagonal[j], 1e-300)) if free else 0.0
        at = _greatest(gain_bits)
        if not gains[at] > 0.0 or worst <= enough:
            return taken
        goal = v[at] - g[at] / max(scale * diagonal[at], 1e-300)
        goal = min(max(goal, low[at]), high[at])
        step = scale * (goal - v[at])
        v[at] = goal
        if not known[at]:
            fetch(gram, chosen[at], places, signs, signs[at], lines[at])
            known[at] = True
        line = lines[at]
        for j in range(n):
            g[j] += step * line[j]
    return most
