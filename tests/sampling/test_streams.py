"""Draws in one pass, and sketches: their laws, by chi-squared and moment tests with fixed seeds."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from skimlearn._jit import kernel
from skimlearn.data.inspection import as_rows
from skimlearn.sampling.reservoir import offer, uniform_at
from skimlearn.sampling.sketches import CountSketch, L2Sampler

X = np.array([0.0, 1.0, -2.0, 0.5, 0.0, 3.0, -0.25, 1.5])


@kernel
def uniforms(seed, out):
    for k in range(len(out)):
        out[k] = uniform_at(seed, k % 7, k % 3, k)


@kernel
def draw_all(levels, seed, step, best, places):
    for i in range(len(levels)):
        offer(levels[i], seed, step, i, i, best, places)


def test_uniform_numbers_that_belong_to_integers():
    out, again, other = np.empty(100_000), np.empty(100_000), np.empty(100_000)
    uniforms(5, out)
    uniforms(5, again)
    uniforms(6, other)
    np.testing.assert_array_equal(out, again)
    assert ((out > 0) & (out < 1)).all()
    assert stats.kstest(out, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(out, other)[0, 1]) < 0.02
    assert abs(np.corrcoef(out[1:], out[:-1])[0, 1]) < 0.02


def test_the_reservoir_draws_in_proportion():
    weights = np.array([1.0, 5.0, 0.25, 3.0, 2.0])
    draws = []
    for step in range(100):
        best, places = np.full(200, -np.inf), np.full(200, -1)
        draw_all(np.log(weights) + 700.0, 9, step, best, places)  # of any size
        draws.append(places)
    counts = np.bincount(np.concatenate(draws), minlength=5)
    expected = weights / weights.sum() * counts.sum()
    assert stats.chisquare(counts, expected).pvalue > 1e-3
    assert stats.chisquare(counts, counts.sum() / 5).pvalue < 1e-6  # the test would notice


@pytest.mark.pure_python
def test_one_row_wins_all_draws():
    best, places = np.full(3, -np.inf), np.full(3, -1)
    with np.errstate(over="ignore"):
        draw_all(np.array([-5.0]), 1, 2, best, places)
    assert places.tolist() == [0, 0, 0]


def test_norms_have_the_moments_of_the_theory():
    width, square = 16, X @ X
    sums = []
    for seed in range(300):
        sketch = CountSketch(5, width, np.random.default_rng(seed))
        sketch.add(as_rows(X[None]), np.ones(1))
        sums.append((sketch.table**2).sum(axis=1))
    sums = np.ravel(sums)
    error = sums.std() / np.sqrt(len(sums))
    assert abs(sums.mean() - square) < 4.0 * error  # no bias
    assert sums.var() <= 1.1 * 2.0 / width * square**2
    assert sums.var() >= 0.2 * 2.0 / width * (square**2 - (X**4).sum())


def test_the_bound_of_the_norm_fails_as_rarely_as_it_says():
    fails, x = 0, np.random.default_rng(0).normal(size=200)
    for seed in range(300):
        sketch = CountSketch(15, 64, np.random.default_rng(seed))
        sketch.add(as_rows(x[None]), np.ones(1))
        more, failure = sketch.margin()
        fails += np.linalg.norm(x) > sketch.norm() * (1.0 + more)
    assert failure < 0.02
    assert fails <= 300 * failure


def test_sketches_are_linear_and_the_same_for_all_rows():
    rows = np.random.default_rng(1).normal(size=(6, 40)) * (
        np.random.default_rng(2).random((6, 40)) < 0.3
    )
    weights = np.arange(6.0) - 2.0
    whole, parts = (CountSketch(4, 32, np.random.default_rng(3)) for _ in range(2))
    whole.add(as_rows(rows), weights)
    for k in (4, 1, 0, 5, 3, 2):
        parts.add(as_rows(sp.csr_matrix(rows[k : k + 1])), weights[k : k + 1])
    np.testing.assert_allclose(parts.table, whole.table, atol=1e-12)
    x = weights @ rows
    estimates = [whole.estimate(j) for j in range(40)]
    assert np.abs(estimates - x).max() < 2.0 * np.linalg.norm(x) / np.sqrt(8)


def test_the_sampler_draws_by_squares():
    count, draws = 4000, []
    for seed in range(count):
        sampler = L2Sampler(5, 64, np.random.default_rng(seed))
        sampler.add(as_rows(X[None]), np.ones(1))
        j, value = sampler.draw(len(X))
        draws.append(j)
        assert value == pytest.approx(X[j], rel=0.5)
    counts, squares = np.bincount(draws, minlength=len(X)), X**2
    assert not counts[squares == 0].any()
    expected = squares[squares > 0] / squares.sum() * count
    assert stats.chisquare(counts[squares > 0], expected).pvalue > 1e-3


def test_the_sampler_of_a_long_vector():
    x = np.random.default_rng(0).normal(size=3000)
    x[7] = 60.0  # about half of the mass
    hits, errors = 0, []
    for seed in range(60):
        sampler = L2Sampler(5, 1024, np.random.default_rng(seed))
        sampler.add(as_rows(sp.csr_matrix(x[None])), np.ones(1))
        j, value = sampler.draw(3000)
        hits += j == 7
        errors.append(abs(value - x[j]) / abs(x[j]))
    share = 3600.0 / (x @ x)
    assert stats.binomtest(hits, 60, share).pvalue > 1e-3
    assert np.median(errors) < 0.1


@pytest.mark.pure_python
def test_nothing_to_draw_from():
    sampler = L2Sampler(3, 8, np.random.default_rng(0))
    sampler.add(as_rows(np.zeros((1, 4))), np.ones(1))
    assert sampler.draw(4) == (-1, 0.0)
    assert sampler.norm() == 0.0
    sampler.add(as_rows([[0.0, 0.0, 5.0, 0.0]]), np.ones(1))
    assert sampler.draw(4) == (2, pytest.approx(5.0))
    wide = sp.csr_matrix(([1.0], [0], [0, 1]), shape=(1, 2**31 - 1))
    with pytest.raises(ValueError, match="a sketch has at most 2147483646 columns"):
        sampler.add(as_rows(wide), np.ones(1))
