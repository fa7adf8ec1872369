"""Draws by blocks: their laws by chi-squared tests with fixed seeds, and their corner cases."""

import numpy as np
import pytest
from scipy import stats

from skimlearn._jit import kernel
from skimlearn.sampling.blocks import (
    BLOCK,
    block_room,
    cut_draw,
    cut_sums,
    power_draw,
    power_sums,
)

DRAWS = 40_000
LAST = np.nextafter(1.0, 0.0)  # the greatest uniform number there is


@kernel
def cut_draws(x, top, sums, u, out):
    total = cut_sums(x, top, sums)
    for k in range(len(u)):
        out[k] = cut_draw(x, top, sums, total, u[k])
    return total


@kernel
def power_draws(x, power, sums, u, out):
    total = power_sums(x, power, sums)
    for k in range(len(u)):
        out[k] = power_draw(x, power, sums, total, u[k])
    return total


def cut(x, top, u):
    """The total and the draws of a law min(x_i, top)."""
    x, u = np.asarray(x, dtype=float), np.atleast_1d(u)
    out = np.empty(len(u), dtype=np.int64)
    return cut_draws(x, top, block_room(len(x)), u, out), out


def power(x, exponent, u):
    """The total and the draws of a law |x_j|**exponent."""
    x, u = np.asarray(x, dtype=float), np.atleast_1d(u)
    out = np.empty(len(u), dtype=np.int64)
    return power_draws(x, exponent, block_room(len(x)), u, out), out


def fits(draws, weights, level=1e-4):
    """Whether draws follow weights: never a zero weight, and no surprise in the frequencies."""
    counts = np.bincount(draws, minlength=len(weights))
    support = weights > 0
    assert not counts[~support].any()
    expected = weights[support] / weights.sum() * len(draws)
    return stats.chisquare(counts[support], expected).pvalue > level


def weights(n, seed):
    """Positive weights of very different sizes, with zeros in between and at both ends."""
    rng = np.random.default_rng(seed)
    x = 0.05 + rng.random(n) ** 3
    x[rng.random(n) < 0.3] = 0.0
    x[[0, -1]] = 0.0
    x[n // 2] = 1.0
    return x


@pytest.mark.parametrize("n", [5, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
@pytest.mark.parametrize("top", [np.inf, 0.3])
def test_cut_draws_are_in_proportion(n, top):
    x = weights(n, n)
    total, draws = cut(x, top, np.random.default_rng(0).random(DRAWS))
    law = np.minimum(x, top)
    assert total == pytest.approx(law.sum())
    assert fits(draws, law)
    if top < 1.0:
        assert not fits(draws, x)  # the test would notice a cut that is left out


@pytest.mark.parametrize("n", [5, BLOCK, 2 * BLOCK + 3])
@pytest.mark.parametrize("exponent", [2.0, 3.0, 1.7])
def test_power_draws_are_in_proportion(n, exponent):
    x = weights(n, n) * np.random.default_rng(1).choice([-1.0, 1.0], size=n)
    total, draws = power(x, exponent, np.random.default_rng(2).random(DRAWS))
    law = np.abs(x) ** exponent
    assert total == pytest.approx(law.sum())
    assert fits(draws, law)
    assert not fits(draws, np.abs(x) ** (exponent + 0.5))


@pytest.mark.pure_python
def test_draws_invert_the_distribution_function():
    x = weights(2 * BLOCK + 9, 3)
    u = np.random.default_rng(4).random(50)
    expected = np.searchsorted(np.cumsum(x), u * x.sum(), side="right")
    np.testing.assert_array_equal(cut(x, np.inf, u)[1], expected)
    np.testing.assert_array_equal(power(np.sqrt(x), 2.0, u)[1], expected)


@pytest.mark.pure_python
@pytest.mark.parametrize("n", [1, 3, BLOCK, BLOCK + 1])
def test_zeros_are_never_drawn(n):
    for draw in (lambda x, u: cut(x, np.inf, u), lambda x, u: power(x, 2.0, u)):
        total, draws = draw(np.zeros(n), [0.0, 0.5, LAST])
        assert total == 0.0
        assert (draws == -1).all()
        for place in {0, n // 2, n - 1}:
            x = np.zeros(n)
            x[place] = 1e-120
            assert (draw(x, [0.0, 1e-17, 0.5, LAST])[1] == place).all()


@pytest.mark.pure_python
def test_a_top_of_zero_leaves_nothing_to_draw():
    total, draws = cut([1.0, 2.0], 0.0, 0.5)
    assert (total, draws.tolist()) == (0.0, [-1])


@pytest.mark.pure_python
def test_a_total_that_is_rounded_up_falls_on_the_last_weight():
    """Sums in another order may exceed the sum of what is subtracted on the way."""
    x = np.r_[np.full(2 * BLOCK, 0.1), np.zeros(BLOCK)]
    sums = block_room(len(x))
    total = cut_sums(x, np.inf, sums)
    assert cut_draw(x, np.inf, sums, total * (1.0 + 1e-12), LAST) == 2 * BLOCK - 1
    total = power_sums(x, 2.0, sums)
    assert power_draw(x, 2.0, sums, total * (1.0 + 1e-12), LAST) == 2 * BLOCK - 1


@pytest.mark.pure_python
def test_room_has_one_number_for_each_block_begun():
    assert [len(block_room(n)) for n in (1, BLOCK, BLOCK + 1, 10 * BLOCK)] == [1, 1, 2, 10]
