"""Orders of visits: every row once, at random, independent of who else is visited."""

import numpy as np
import pytest

from skimlearn.solvers import _orders
from skimlearn.solvers._orders import LARGE, POOL, RUN, Orders, permutation

pure = pytest.mark.pure_python


def rng(seed=0):
    return np.random.default_rng(seed)


@pure
@pytest.mark.parametrize("n", [1, 2, 3, 100, 1000])
def test_every_row_is_there_once(n):
    orders = Orders(n, rng())
    for seed in range(3):
        order = orders.shuffled(np.arange(n), rng(seed))
        np.testing.assert_array_equal(np.sort(order), np.arange(n))


@pytest.mark.parametrize("n", [LARGE - 1, LARGE, LARGE + 1, 300_000])
def test_every_one_of_many_rows_is_there_once(n):
    np.testing.assert_array_equal(np.sort(permutation(n, rng())), np.arange(n))
    assert not np.array_equal(permutation(n, rng(1)), permutation(n, rng(2)))


def test_few_rows_are_permuted_as_numpy_does():
    np.testing.assert_array_equal(permutation(1000, rng()), rng().permutation(1000))


@pure
@pytest.mark.parametrize("large", [LARGE, 1])
def test_the_place_of_a_row_does_not_depend_on_the_others(large, monkeypatch):
    monkeypatch.setattr(_orders, "LARGE", large)
    monkeypatch.setattr(_orders, "POOL", 32)
    n = 5000
    orders = Orders(n, rng())
    assert (orders.pool_bits > 0) == (large == 1)
    everything = orders.shuffled(np.arange(n, dtype=np.uint32), rng(1))
    some = np.flatnonzero(rng(2).random(n) < 0.3).astype(np.uint32)
    chosen = orders.shuffled(some, rng(1))
    assert chosen.dtype == np.uint32
    # rows whose places have the same bits keep their order; all others must be alike
    np.testing.assert_array_equal(chosen, everything[np.isin(everything, some)])


@pure
@pytest.mark.parametrize("large", [LARGE, 1])
def test_few_rows_are_sorted_into_the_order_in_which_many_are_counted(large, monkeypatch):
    monkeypatch.setattr(_orders, "LARGE", large)
    orders = Orders(5000, rng())
    orders.keys[100:200] = orders.keys[0]  # rows of one place stay in their order
    chosen = np.sort(rng(1).choice(5000, 300, replace=False)).astype(np.uint32)
    found = []
    for few in (0, 2**32):
        monkeypatch.setattr(_orders, "FEW", few)
        found.append(orders.shuffled(chosen, rng(2)))
    assert found[0].dtype == found[1].dtype == chosen.dtype
    assert found[0].tolist() == found[1].tolist()
    assert sorted(found[0].tolist()) == chosen.tolist() != found[0].tolist()


def test_rows_of_a_run_are_visited_in_one_pool():
    n = 200_000
    order = Orders(n, rng()).shuffled(np.arange(n), rng(1))
    when = np.empty(n, np.int64)
    when[order] = np.arange(n)
    spread = when.reshape(-1, RUN).max(axis=1) - when.reshape(-1, RUN).min(axis=1)
    assert spread.max() < 4 * POOL
    assert np.median(spread) > POOL / 2  # well mixed inside of the pool
    first = order[:POOL]
    assert len(np.unique(first // RUN)) > POOL / RUN  # ... with runs from everywhere
    assert np.abs(first.mean() / n - 0.5) < 0.15


def test_pools_are_drawn_anew():
    n = 200_000
    orders = Orders(n, rng())
    one, two = (orders.shuffled(np.arange(n), rng(seed)) for seed in (1, 2))
    shared = np.intersect1d(one[:POOL] // RUN, two[:POOL] // RUN)
    assert len(shared) < 10


def test_so_many_rows_that_places_are_few():
    """A pool keeps bits to be shuffled by, and pools grow instead: read from the numbers alone."""
    for n in (2**16, 2**24, 2**30, 2**40):
        huge = Orders(n, Nothing())
        assert 11 <= huge.bits - huge.pool_bits <= huge.bits


class Nothing:
    """A source of numbers that makes none."""

    def integers(self, high, *, size, dtype):
        return np.empty(0, dtype)
