"""Projections and support functions against linear programs and against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from skimlearn.sampling.simplex import capped_softmax, softmax, top_mass, water_level

logs = arrays(np.float64, st.integers(1, 12), elements=st.floats(-800, 800))


@given(logs, st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=200)
def test_the_capped_softmax_is_the_projection(log_weights, share):
    n = len(log_weights)
    cap = 1 / n + share * (1 - 1 / n)
    p = capped_softmax(log_weights, cap)
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    assert p.min() >= 0.0
    assert p.max() <= cap * (1 + 1e-9)
    # below the cap the proportions are those of the weights; at the cap a weight is no smaller
    free = np.flatnonzero((p < cap * (1 - 1e-9)) & (p > 1e-12))
    for i in free:
        for j in free:
            assert np.log(p[i] / p[j]) == pytest.approx(log_weights[i] - log_weights[j], abs=1e-6)
    at_cap = p >= cap * (1 - 1e-9)
    if at_cap.any() and len(free):
        assert log_weights[at_cap].min() >= log_weights[free].max() - 1e-6


def test_a_cap_of_one_is_no_cap_and_a_small_one_is_refused():
    log_weights = np.array([0.3, -2.0, 5.0])
    np.testing.assert_allclose(capped_softmax(log_weights, 1.0), softmax(log_weights))
    np.testing.assert_allclose(capped_softmax(log_weights, 1 / 3), np.full(3, 1 / 3))
    with pytest.raises(ValueError, match=r"cap=0\.1 must be at least 1/n"):
        capped_softmax(log_weights, 0.1)


@pytest.mark.parametrize("budget", [0.0, 0.7, 2.0, 5.3, 100.0])
def test_the_top_mass_is_the_value_of_the_linear_program(budget):
    rng = np.random.default_rng(int(budget * 10))
    p = rng.dirichlet(np.ones(9))
    best = linprog(-p, A_ub=np.ones((1, 9)), b_ub=[budget], bounds=[(0, 2)] * 9)
    assert top_mass(p, budget, 2.0) == pytest.approx(-best.fun, abs=1e-9)


@pytest.mark.parametrize("budget", [0.0, 0.4, 3.0, 50.0])
@pytest.mark.parametrize("cap", [np.inf, 2.0, 0.1])
def test_the_water_level_is_the_value_of_the_linear_program(budget, cap):
    rng = np.random.default_rng(int(budget * 10))
    c = rng.normal(size=8)
    # maximise g subject to g - xi_i <= c_i, sum xi <= budget, 0 <= xi <= cap
    cost = np.r_[-1.0, np.zeros(8)]
    A = np.vstack([np.c_[np.ones(8), -np.eye(8)], np.r_[0.0, np.ones(8)]])
    bounds = [(None, None)] + [(0, None if cap == np.inf else cap)] * 8
    best = linprog(cost, A_ub=A, b_ub=np.r_[c, budget], bounds=bounds)
    assert water_level(c, budget, cap) == pytest.approx(-best.fun, abs=1e-8)
