"""Draws from rows that pass by, in one pass and O(1) memory, whatever their number.

Row i of weight exp(level_i) has the key ``level_i + g_i`` with g_i from Gumbel's law; the row with
the greatest key is a draw in proportion to the weights, which need not be normalised. The g_i are
not stored: they are a function of a seed, a step, the number of the draw and the number of the row,
so that it does not matter in which blocks rows come by, nor how often a pass is repeated.
"""

from __future__ import annotations

import math

import numpy as np

from skimlearn._jit import kernel

__all__ = ["gumbel_at", "offer", "uniform_at"]

UNIT = 1.0 / 2.0**53


@kernel
def mixed(x):
    """A bijection of 64 bits after which neighbours have nothing in common (splitmix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def uniform_at(seed, step, draw, i):
    """A uniform number in (0, 1) that belongs to these four integers."""
    x = mixed(np.uint64(seed) + mixed(np.uint64(step)))
    x = mixed(x + mixed(np.uint64(draw)))
    x = mixed(x + np.uint64(i))
    return (np.float64(x >> np.uint64(11)) + 0.5) * UNIT


@kernel
def gumbel_at(seed, step, draw, i):
    """A number of Gumbel's law that belongs to these four integers."""
    return -math.log(-math.log(uniform_at(seed, step, draw, i)))


@kernel
def offer(level, seed, step, i, local, best, places):
    """Let row i take part in all draws; note its place in the block where it leads."""
    for k in range(len(best)):
        key = level + gumbel_at(seed, step, k, i)
        if key > best[k]:
            best[k] = key
            places[k] = local
