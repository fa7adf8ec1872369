"""Steps of one or two variables on members in panels: against plain loops over the whole matrix."""

from itertools import pairwise

import numpy as np
import pytest

from skimlearn.solvers._kernel_panels import fetch, insert, own, places_of, spread
from skimlearn.solvers._kernel_steps import _ends, _greatest, move_pairs, move_singles

pytestmark = pytest.mark.pure_python


def panels(K, wide):
    """A symmetric matrix as `KernelPrograms` holds it."""
    n = len(K)
    gram = np.full((-(-n // wide), n, wide), np.nan, K.dtype)
    insert(K, np.arange(n), np.arange(n), 0, gram)
    return gram


def problem(seed, n=40, members=60, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(members, 3))
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2)).astype(dtype)
    chosen = rng.permutation(members)[:n]
    signs = rng.choice([-1.0, 1.0], size=n)
    low, high = -rng.random(n), rng.random(n)
    low[::5], high[1::5] = 0.0, 0.0
    v = np.clip(rng.choice([-1.0, 0.0, 1.0], size=n), low, high)
    b = rng.normal(size=n)
    whole = K[np.ix_(chosen, chosen)].astype(np.float64) * np.outer(signs, signs)
    return K, chosen, signs, low, high, v, whole @ v + b, whole


def naive_pairs(Q, scale, groups, low, high, tolerance, most, v, g):
    for taken in range(most):
        worst, best = 0.0, (0.0, None, None)
        for group in groups:
            up = [j for j in group if v[j] < high[j]]
            down = [j for j in group if v[j] > low[j]]
            if not up or not down:
                continue
            i = min(up, key=lambda j: g[j])
            worst = max(worst, max(g[j] for j in down) - g[i])
            for j in down:
                if g[j] > g[i]:
                    curvature = max(scale * (Q[i, i] + Q[j, j] - 2.0 * Q[i, j]), 1e-300)
                    gain = (g[j] - g[i]) * ((g[j] - g[i]) / curvature)
                    if gain > best[0]:
                        best = gain, i, j
        _, i, j = best
        if i is None or worst <= tolerance:
            return taken
        curvature = max(scale * (Q[i, i] + Q[j, j] - 2.0 * Q[i, j]), 1e-300)
        length = min(high[i] - v[i], v[j] - low[j], (g[j] - g[i]) / curvature)
        v[i] = high[i] if length == high[i] - v[i] else v[i] + length
        v[j] = low[j] if length == v[j] - low[j] else v[j] - length
        g += scale * length * (Q[i] - Q[j])
    return most


def naive_singles(Q, scale, low, high, tolerance, most, v, g):
    for taken in range(most):
        free = np.where(g < 0.0, v < high, (v > low) & (g > 0.0))
        gains = np.where(free, g * g / (scale * np.diag(Q)), 0.0)
        at = int(gains.argmax())
        if gains[at] <= 0.0 or np.abs(g[free]).max() <= tolerance:
            return taken
        goal = min(max(v[at] - g[at] / (scale * Q[at, at]), low[at]), high[at])
        g += scale * (goal - v[at]) * Q[at]
        v[at] = goal
    return most


def violation(v, g, low, high, groups):
    worst = 0.0
    for group in groups:
        up, down = g[group][v[group] < high[group]], g[group][v[group] > low[group]]
        if len(up) and len(down):
            worst = max(worst, down.max() - up.min())
    return worst


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ends", [[0, 40], [0, 17, 40], [0, 0, 40], [0, 25, 25, 40]])
def test_steps_of_two_variables(ends, dtype):
    """One step from many places: after a step two slopes are alike but for their rounding."""
    groups = [np.arange(a, b) for a, b in pairwise(ends)]
    for seed in range(20):
        K, chosen, signs, low, high, v, g, Q = problem(seed, dtype=dtype)
        matrix, lines = panels(K, 16), np.full((40, 40), np.nan, dtype)
        mine, naive = (v.copy(), g.copy()), (v.copy(), g.copy())
        shared = (matrix, chosen, signs, 2.0, np.array(ends), low, high)
        assert move_pairs(*shared, 1e-3, 1, *mine, lines) == 1
        assert naive_pairs(Q, 2.0, groups, low, high, 1e-3, 1, *naive) == 1
        np.testing.assert_allclose(mine[0], naive[0], atol=1e-14)
        np.testing.assert_allclose(mine[1], naive[1], atol=1e-13)
        assert 1 < move_pairs(*shared, 1e-3, 1000, *mine, lines) < 1000
        assert violation(*mine, low, high, groups) <= 1e-3
        assert move_pairs(*shared, 1e-3, 1000, *mine, lines) == 0
        np.testing.assert_allclose(mine[1], g + 2.0 * Q @ (mine[0] - v), atol=1e-12)
        assert ((low <= mine[0]) & (mine[0] <= high)).all()
        for group in groups:
            assert mine[0][group].sum() == pytest.approx(v[group].sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_steps_of_one_variable(dtype):
    for seed in range(20):
        K, chosen, signs, low, high, v, g, Q = problem(seed, dtype=dtype)
        lines = np.full((40, 40), np.nan, dtype)
        mine, naive = (v.copy(), g.copy()), (v.copy(), g.copy())
        shared = (panels(K, 16), chosen, signs, 2.0, low, high, 1e-3)
        assert move_singles(*shared, 1, *mine, lines) == 1
        assert naive_singles(Q, 2.0, low, high, 1e-3, 1, *naive) == 1
        np.testing.assert_allclose(mine[0], naive[0], atol=1e-14)
        np.testing.assert_allclose(mine[1], naive[1], atol=1e-13)
        assert 1 < move_singles(*shared, 1000, *mine, lines) < 1000
        slopes = np.where(mine[1] < 0.0, mine[0] < high, mine[0] > low) * np.abs(mine[1])
        assert slopes.max() <= 1e-3
        np.testing.assert_allclose(mine[1], g + 2.0 * Q @ (mine[0] - v), atol=1e-12)
        assert ((low <= mine[0]) & (mine[0] <= high)).all()


@pytest.mark.parametrize("count", [1, 5, 512, 1300])
def test_ends_are_those_of_the_numbers(count):
    rng = np.random.default_rng(count)
    for _ in range(5):
        g = rng.normal(size=count) * 10.0 ** rng.integers(-300, 300, size=count)
        g[rng.random(count) < 0.2] = 0.0
        g[rng.random(count) < 0.1] = -0.0
        v, low = rng.random(count), np.zeros(count)
        high = np.where(rng.random(count) < 0.7, 1.0, v)
        v[rng.random(count) < 0.3] = 0.0
        least, greatest = _ends(g.view(np.int64), v, low, high)
        grow, fall = v < high, v > low
        assert (least < 0) == (not grow.any())
        assert (greatest < 0) == (not fall.any())
        if grow.any():
            assert grow[least]
            assert g[least] == g[grow].min()
        if fall.any():
            assert fall[greatest]
            assert g[greatest] == g[fall].max()
        assert _greatest(np.abs(g).view(np.int64)) == np.abs(g).argmax()


def test_members_in_panels():
    K, chosen, signs, *_ = problem(0)
    gram, line, diagonal = panels(K, 16), np.empty(40), np.empty(40)
    fetch(gram, chosen[3], places_of(gram, chosen), signs, signs[3], line)
    np.testing.assert_array_equal(line, K[chosen[3], chosen] * signs * signs[3])
    own(gram, chosen, diagonal)
    np.testing.assert_array_equal(diagonal, np.diag(K)[chosen])
    change, out = np.random.default_rng(1).normal(size=40), np.ones(60)
    spread(gram, chosen, change, out)
    np.testing.assert_allclose(out, 1.0 + change @ K[chosen])
