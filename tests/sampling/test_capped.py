"""A capped law under change, against the same law with all weights written out."""

import numpy as np
import pytest
from scipy import stats

from skimlearn._jit import kernel
from skimlearn.sampling.capped import (
    TOP,
    add_to_mass,
    capped_draw,
    make_capped,
    multiply,
    read_capped,
    rescale,
    set_capped,
)
from skimlearn.sampling.shelves import STALE
from skimlearn.sampling.simplex import capped_softmax

# rows, their classes, and the cap as the fraction of rows that it leaves
CASES = {
    "two classes": (60, lambda i: i % 3 == 0, 0.3),
    "one class": (40, lambda i: False, 0.4),
    "the other class": (40, lambda i: True, 0.4),
    "a class of one row": (33, lambda i: i == 7, 0.2),
    "one row": (1, lambda i: False, 1.0),
    "two rows": (2, lambda i: i == 0, 0.7),
    "barely a cap": (25, lambda i: i < 9, 1.2 / 25),
    "barely more than the cap": (25, lambda i: i < 9, 24.999 / 25),
    "all at the cap": (25, lambda i: i < 9, 1.0),
    "no cap": (50, lambda i: i % 2 == 0, None),
    "many shelves": (400, lambda i: i % 5 == 0, 0.25),
}


class Naive:
    """All weights, by their logarithms, and the sum of all laws so far."""

    def __init__(self, sides, cap):
        self.sides, self.cap = sides, cap
        self.logs, self.mass = np.zeros(len(sides)), np.zeros(len(sides))

    @property
    def p(self):
        return capped_softmax(self.logs, max(self.cap, 1.0 / len(self.logs)))

    def step(self, common, rows, factors):
        self.mass += self.p
        change = np.log(common)[self.sides]
        change[rows] = np.log(factors[rows])
        self.logs += change


def make(case):
    n, side, kappa = CASES[case]
    sides = np.array([side(i) for i in range(n)], dtype=np.int64)
    cap = 1.0 if kappa is None else 1.0 / (kappa * n)
    return make_capped(sides, cap), Naive(sides, cap)


def read(law):
    n = len(law.shelves.where)
    weights, mass = np.empty(n), np.empty(n)
    read_capped(law, weights, mass)
    return weights, mass


def law_of(law):
    capped = np.minimum(read(law)[0], law.scalars[TOP])
    return capped / capped.sum()


def random_step(rng, law, naive, k):
    """Some rows, none at times, by factors of their own; ties are made and broken."""
    n = len(naive.sides)
    rows = rng.permutation(n)[: int(rng.integers(0, max(2, n // 3)))].astype(np.int64)
    factors = np.full(n, 1.5) if k % 4 == 0 else np.exp(rng.normal(size=n))
    if k % 5 == 0:
        factors[:] = 0.6  # all of them sink
    common = np.ones(2) if k % 3 == 0 else np.exp(0.3 * rng.normal(size=2))
    add_to_mass(law)
    naive.step(common, rows, factors)
    assert multiply(law, common, rows, factors)


def shelves_hold(law):
    """Whether the rows are where they are said to be, in order, and the sums are right."""
    shelves, size = law.shelves, law.shelves.weights.shape[1]
    seen = []
    for side in range(2):
        rank, before = 0, 0.0
        for k in range(shelves.length[side]):
            b, count = shelves.shelf[side, k], shelves.held[side, k]
            rows, weights = shelves.rows[b, :count], shelves.weights[b, :count]
            assert (shelves.at[b], shelves.rank[side, k]) == (k, rank)
            assert count < size
            assert shelves.where[rows].tolist() == (b * size + np.arange(count)).tolist()
            assert (shelves.sides[rows] == side).all()
            assert shelves.total[side, k] == pytest.approx(weights.sum(), rel=1e-13)
            assert shelves.before[side, k] == pytest.approx(before, rel=1e-13)
            if law.scalars[0] < 1.0:
                later = k + 1 < shelves.length[side]
                assert (weights >= shelves.floor[side, k]).all()
                assert (weights <= (shelves.floor[side, k + 1] if later else np.inf)).all()
            rank, before = rank + count, before + weights.sum()
            seen += rows.tolist()
    assert sorted(seen) == list(range(len(shelves.where)))


def falls_right(law, p, grid):
    """Whether each row has an interval of as many numbers in [0, 1) as its probability says."""
    rows = np.array([capped_draw(law, (k + 0.5) / grid) for k in range(grid)])
    counts = np.bincount(rows, minlength=len(p))
    assert np.abs(counts - grid * p).max() <= 1.0 + 1e-6
    assert np.count_nonzero(np.diff(rows)) == len(set(rows.tolist())) - 1  # one interval each
    for u in (0.0, np.nextafter(1.0, 0.0)):
        assert p[capped_draw(law, u)] > 0.0


@pytest.mark.pure_python
@pytest.mark.parametrize("case", CASES)
def test_the_law_is_that_of_all_weights_written_out(case):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        law, naive = make(case)
        for k in range(60):
            if k % 10 == 0:
                falls_right(law, naive.p, 300)
            random_step(rng, law, naive, k)
            if k % 16 == 15:
                rescale(law, 1e-250)
                assert read(law)[0].max() == pytest.approx(1.0, rel=1e-14)
            np.testing.assert_allclose(law_of(law), naive.p, rtol=1e-9, atol=1e-15)
            np.testing.assert_allclose(read(law)[1], naive.mass, rtol=1e-9, atol=1e-12)
            totals = np.array([naive.p[naive.sides == side].sum() for side in range(2)])
            found = law.totals / law.totals.sum()
            np.testing.assert_allclose(found, totals, rtol=1e-9, atol=1e-15)
        shelves_hold(law)


@pytest.mark.parametrize("case", ["many shelves", "no cap", "a class of one row"])
def test_long_runs_do_not_drift(case):
    """Through new shelves and rows shelved anew, while all weights sink by hundreds of decades."""
    rng = np.random.default_rng(3)
    law, naive = make(case)
    n = len(naive.sides)
    for k in range(1, 4001):
        rows = rng.permutation(n)[: n // 8].astype(np.int64)
        factors = 0.7 * np.exp(rng.normal(size=n) - 0.3 * (naive.logs - naive.logs.mean()))
        common = 0.7 * np.exp(0.1 * rng.normal(size=2))
        add_to_mass(law)
        naive.step(common, rows, factors)
        assert multiply(law, common, rows, factors)
        if k % 100 == 0:
            rescale(law, 1e-250)
            np.testing.assert_allclose(law_of(law), naive.p, rtol=1e-8, atol=1e-14)
            np.testing.assert_allclose(read(law)[1], naive.mass, rtol=1e-9)
    assert naive.logs.max() < -745.0  # the exponential of this is 0
    shelves_hold(law)


@pytest.mark.pure_python
def test_a_shelf_that_is_full_is_parted_and_then_all_rows_are_shelved_anew():
    law, naive = make("many shelves")
    rng = np.random.default_rng(0)
    first, lengths = int(law.shelves.length.sum()), []
    for k in range(150):
        rows = rng.permutation(400)[:40].astype(np.int64)
        factors = np.exp(rng.normal(size=400) + 0.2 * np.sin(k))
        add_to_mass(law)
        naive.step(np.ones(2), rows, factors)
        assert multiply(law, np.ones(2), rows, factors)
        lengths.append(int(law.shelves.length.sum()))
        assert not (law.shelves.total[0, : law.shelves.length[0]] == STALE).any()
    shelves_hold(law)
    assert max(lengths) > first
    assert min(np.diff(lengths)) < 0  # anew
    np.testing.assert_allclose(law_of(law), naive.p, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(read(law)[1], naive.mass, rtol=1e-9, atol=1e-12)


@kernel
def draws(law, u, out):
    for k in range(len(u)):
        out[k] = capped_draw(law, u[k])


@pytest.mark.parametrize("case", ["two classes", "a class of one row", "no cap", "many shelves"])
def test_draws_follow_the_law(case):
    rng = np.random.default_rng(1)
    law, naive = make(case)
    for k in range(10):
        random_step(rng, law, naive, k)
    out = np.empty(40_000, dtype=np.int64)
    draws(law, rng.random(len(out)), out)
    counts, expected = np.bincount(out, minlength=len(naive.p)), naive.p * len(out)
    usual = expected > 5.0
    counts = np.r_[counts[usual], counts[~usual].sum()]
    expected = np.r_[expected[usual], expected[~usual].sum()]
    kept = expected > 0.0
    assert stats.chisquare(counts[kept], expected[kept]).pvalue > 1e-4


@pytest.mark.pure_python
@pytest.mark.parametrize("case", ["two classes", "no cap"])
def test_no_weight_vanishes_and_none_is_lost_to_nan(case):
    law, _ = make(case)
    n = len(law.shelves.where)
    set_capped(law, np.geomspace(1e-320, 1e9, n), np.zeros(n))
    rescale(law, 1e-250)
    weights, _ = read(law)
    assert weights.max() == 1.0
    assert weights.min() == 1e-250
    one = np.array([3], dtype=np.int64)
    for bad in (np.nan, np.inf):
        assert not multiply(law, np.ones(2), one, np.full(n, bad))
    assert np.isfinite(read(law)[0]).all()
    for _ in range(400):  # a class that sinks for ever, while no row is touched
        assert multiply(law, np.array([0.8, 1.1]), one[:0], np.ones(n))
        rescale(law, 1e-250)
    weights, _ = read(law)
    assert weights.max() == pytest.approx(1.0)
    assert weights.min() > 0.0
    shelves_hold(law)
