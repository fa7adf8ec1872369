"""The laws of the draws, by chi-squared tests with fixed seeds, and their exact corner cases."""

import numpy as np
import pytest
from scipy import stats

from skimlearn._jit import kernel
from skimlearn.sampling.alias import AliasTable
from skimlearn.sampling.laws import (
    draw_power,
    gumbel_draw,
    median_of_means,
    plan_median_of_means,
)
from skimlearn.sampling.tree import SumTree, tree_draw, tree_set

DRAWS = 40_000
WEIGHTS = np.array([0.0, 1.0, 5.0, 0.25, 0.0, 3.0, 2.0, 0.75, 0.0])


@kernel
def tree_draws(nodes, u, out):
    for k in range(len(u)):
        out[k] = tree_draw(nodes, u[k])


@kernel
def power_draws(x, q, u, out, factors):
    for k in range(len(u)):
        out[k], factors[k] = draw_power(x, q, u[k])


def fits(draws, weights, level=1e-4):
    """Whether draws follow weights: never a zero weight, and no surprise in the frequencies."""
    counts = np.bincount(draws, minlength=len(weights))
    support = weights > 0
    assert not counts[~support].any()
    expected = weights[support] / weights.sum() * len(draws)
    return stats.chisquare(counts[support], expected).pvalue > level


def test_the_tree_draws_in_proportion():
    u = np.random.default_rng(0).random(DRAWS)
    out = np.empty(DRAWS, dtype=np.int64)
    tree_draws(SumTree(WEIGHTS).nodes, u, out)
    assert fits(out, WEIGHTS)
    assert not fits(out, WEIGHTS + 0.1 * (WEIGHTS > 0))  # the test would notice


def test_the_tree_after_many_changes_has_no_drift():
    rng = np.random.default_rng(1)
    weights = rng.random(37)
    tree = SumTree(weights)
    for _ in range(20_000):
        i = int(rng.integers(37))
        weights[i] = rng.choice([0.0, 1e-12, 1e12]) * rng.random()
        tree_set(tree.nodes, i, weights[i])
    np.testing.assert_array_equal(tree.nodes, SumTree(weights).nodes)


@pytest.mark.pure_python
def test_the_tree_never_draws_a_zero_weight():
    for weights in ([0.0, 2.0], [2.0, 0.0], [0.0, 0.0, 1e-300], [5.0], [1.0, 0.0, 0.0, 0.0, 1.0]):
        tree = SumTree(np.array(weights))
        for u in (0.0, 1e-17, 0.5, np.nextafter(1.0, 0.0)):
            assert tree[tree.draw(u)] > 0.0
    assert SumTree(np.zeros(3)).draw(0.5) == -1


@pytest.mark.pure_python
def test_the_tree_behaves_like_a_sequence():
    tree = SumTree(np.array([1.0, 2.0, 3.0]))
    tree[1] = 7.0
    assert (len(tree), tree[1], tree.total) == (3, 7.0, 11.0)
    with pytest.raises(IndexError, match="index 3 is out of range for 3 weights"):
        tree[3]
    with pytest.raises(IndexError):
        tree[-1] = 1.0
    with pytest.raises(ValueError, match=r"weight=-1\.0 must be finite and not negative"):
        tree[0] = -1.0


@pytest.mark.parametrize("structure", [SumTree, AliasTable])
@pytest.mark.parametrize("weights", [[], [[1.0]], [-1.0, 2.0], [np.nan], [np.inf]])
def test_bad_weights_are_refused(structure, weights):
    with pytest.raises(ValueError, match="weights"):
        structure(np.array(weights))


def test_the_alias_table_draws_in_proportion():
    out = AliasTable(WEIGHTS).draw(np.random.default_rng(2).random(DRAWS))
    assert fits(out, WEIGHTS)


@pytest.mark.pure_python
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_the_alias_table_holds_the_exact_law(n, scale):
    weights = np.random.default_rng(n).random(n) ** 8
    weights[::3] = 0.0
    weights[-1] = 1.0
    table = AliasTable(weights * scale)
    law = np.zeros(n)
    np.add.at(law, np.arange(n), table.keep / n)
    np.add.at(law, table.other, (1.0 - table.keep) / n)
    np.testing.assert_allclose(law, weights / weights.sum(), rtol=1e-12, atol=1e-15)
    assert (law[weights == 0.0] <= 0.0).all()


@pytest.mark.parametrize("q", [2.0, 1.3])
def test_power_sampling_estimates_inner_products(q):
    rng = np.random.default_rng(3)
    x, A = rng.normal(size=12), rng.normal(size=(5, 12))
    x[4] = 0.0
    out, factors = np.empty(DRAWS, dtype=np.int64), np.empty(DRAWS)
    power_draws(x, q, rng.random(DRAWS), out, factors)
    assert fits(out, np.abs(x) ** q)
    estimates = A[:, out] * factors
    deviation = (estimates.mean(axis=1) - A @ x) / (estimates.std(axis=1) / np.sqrt(DRAWS))
    assert np.abs(deviation).max() < 4.5
    p = q / (q - 1)
    bound = (np.abs(A) ** p).sum(axis=1) ** (2 / p) * (np.abs(x) ** q).sum() ** (2 / q)
    assert ((estimates**2).mean(axis=1) <= 1.05 * bound).all()


@pytest.mark.pure_python
def test_power_sampling_at_the_edges():
    assert draw_power(np.zeros(3), 2.0, 0.5) == (-1, 0.0)
    for size in (1e-300, 1e300):
        j, factor = draw_power(np.array([0.0, -size, 0.0]), 2.0, 0.999999)
        assert j == 1
        assert factor == pytest.approx(-size)


def test_gumbel_draws_in_proportion():
    rng = np.random.default_rng(4)
    log_weights = np.array([-700.0, 1.0, 0.0, -2.0]) + 5000.0
    draws = np.array([gumbel_draw(log_weights, rng.random(4)) for _ in range(DRAWS // 4)])
    assert (draws != 0).all()
    assert fits(draws - 1, np.exp(log_weights[1:] - 5000.0))


def test_the_median_of_means_keeps_its_promise():
    rng = np.random.default_rng(5)
    size, groups = plan_median_of_means(0.2, 0.05)
    # second moment 1, heavy-tailed: a plain mean of as many draws errs more often
    values = rng.choice([0.0, 10.0], p=[0.99, 0.01], size=(400, size * groups))
    errors = np.abs(median_of_means(values, groups) - 0.1)
    assert (errors > 0.2).mean() <= 0.05


@pytest.mark.parametrize(("eps", "delta"), [(0.0, 0.1), (-1.0, 0.1), (0.1, 0.0), (0.1, 1.0)])
def test_a_plan_needs_sensible_numbers(eps, delta):
    with pytest.raises(ValueError, match=r"eps|delta"):
        plan_median_of_means(eps, delta)
