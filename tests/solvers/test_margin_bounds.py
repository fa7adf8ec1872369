"""The dual set of margins, its bounds and the exact bias, against linear programs."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize_scalar

from margins import make_cap, make_margin
from skimlearn.sampling.simplex import capped_softmax
from skimlearn.solvers._entropy import LEAST, exponential, logarithms, nearest, project
from skimlearn.solvers._margin_bounds import best_scale_and_bias, dual_value, soft_value, split


@pytest.mark.parametrize("seed", range(30))
def test_the_soft_value_is_that_of_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    c = rng.normal(size=n).round(1)  # with ties
    cap = rng.uniform(1.0 / n, 1.1)
    exact = linprog(c, A_eq=np.ones((1, n)), b_eq=[1.0], bounds=[(0, cap)] * n).fun
    assert soft_value(c, cap) == pytest.approx(exact, abs=1e-12)
    assert soft_value(c, 1.0 / n) == pytest.approx(c.mean(), abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_the_bias_and_the_scale_are_the_best_ones(seed):
    X, y = make_margin(seed)
    cap = make_cap(seed, len(y))
    R = np.linalg.norm(X, axis=1).max()
    x = np.random.default_rng(seed).normal(size=X.shape[1])
    c = y * (X @ x)
    sides = split(y, cap, bias=True)
    value, scale, bias = best_scale_and_bias(c, float(np.linalg.norm(x)), y, sides, R)
    assert abs(bias) <= R
    for s in np.linspace(0.0, 1.0 / np.linalg.norm(x), 21):  # concave in b for each scale
        found = minimize_scalar(
            lambda b, s=s: -soft_value(s * c + b * y, cap), bounds=(-R, R), method="bounded",
            options={"xatol": 1e-12 * R},
        )  # fmt: skip
        assert value >= -found.fun - 1e-9 * R
    assert value == pytest.approx(soft_value(scale * c + bias * y, cap), abs=1e-12 * R)


@pytest.mark.parametrize("seed", range(20))
def test_masses_of_the_sides_lose_nothing(seed):
    """The least p.c + R |p.y| over all weights is attained with the masses of `split`."""
    X, y = make_margin(seed)
    n, cap = len(y), make_cap(seed, len(y))
    R = np.linalg.norm(X, axis=1).max()
    x = np.random.default_rng(seed).normal(size=X.shape[1])
    c = y * (X @ (x / np.linalg.norm(x)))
    exact = linprog(
        np.r_[c, R],
        A_ub=np.array([np.r_[y, -1.0], np.r_[-y, -1.0]]),
        b_ub=[0.0, 0.0],
        A_eq=np.r_[np.ones(n), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, cap)] * n + [(0, None)],
    ).fun
    sides = split(y, cap, bias=True)
    p = sides.lightest(c)
    assert p.sum() == pytest.approx(1.0)
    assert p.max() <= cap * (1 + 1e-12)
    assert p @ y == pytest.approx(sides.tilt, abs=1e-12)
    assert p @ c + R * abs(p @ y) == pytest.approx(exact, abs=1e-9 * R)


def test_the_dual_value_bounds_every_margin():
    X, y = make_margin(3)
    A, R = y[:, None] * X, np.linalg.norm(X, axis=1).max()
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = rng.dirichlet(np.ones(len(y)))
        x, b = rng.normal(size=X.shape[1]), rng.uniform(-R, R)
        x /= np.linalg.norm(x)
        assert soft_value(A @ x + b * y, p.max()) <= dual_value(A.T @ p, p, y, R) + 1e-12


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bias", [False, True])
def test_repaired_weights_are_in_the_set(seed, bias):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 20))
    y = np.where(rng.random(n) < 0.3, 1.0, -1.0)
    sides = split(y, rng.uniform(1.0 / n, 1.0), bias=bias)
    given = [rng.random(n) * (rng.random(n) < 0.5), np.zeros(n), np.eye(n)[0]]
    for p in [*(sides.repaired(g) for g in given), nearest(given[0], sides), sides.uniform()]:
        assert p.min() >= 0.0
        assert p.max() <= sides.cap * (1 + 1e-9)
        masses = np.bincount(sides.side, p, minlength=len(sides.masses))
        np.testing.assert_allclose(masses, sides.masses, atol=1e-9)
    np.testing.assert_allclose(sides.repaired(p), p, atol=1e-12)


# ------------------------------------------------------------------------------------- projection


@pytest.mark.pure_python
def test_the_exponential():
    x = np.r_[np.linspace(LEAST, -LEAST, 500), np.linspace(-1, 1, 101), 0.0]
    found = np.array([exponential(v) for v in x])
    np.testing.assert_allclose(found, np.exp(x), rtol=2e-13)
    assert exponential(0.0) == 1.0


@pytest.mark.pure_python
@pytest.mark.parametrize("seed", range(15))
def test_projections_are_those_that_sort(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    side = rng.integers(0, 2, size=n) if seed % 2 else np.zeros(n, dtype=np.int64)
    factors, shifts, p = np.ones(2), np.zeros(2), np.empty(n)
    factors[:] = 10.0 ** rng.integers(-9, 9)  # the start must not matter
    for _ in range(3):
        logs = rng.normal(size=n) * rng.choice([0.1, 3.0, 40.0])
        counts = np.bincount(side, minlength=2)
        masses = counts / n if seed % 3 else np.where(counts > 0, 1.0, 0.0)
        cap = min(1.0, rng.uniform(1.0, 3.0) * (masses / np.maximum(counts, 1)).max())
        before = logs.copy()
        project(logs, side, masses, cap, p, factors)
        for k in range(2):
            if masses[k] > 0.0:
                part = capped_softmax(before[side == k], cap / masses[k]) * masses[k]
                np.testing.assert_allclose(p[side == k], part, rtol=1e-9, atol=1e-300)
        logarithms(logs, side, cap, factors, shifts)
        np.testing.assert_allclose(np.exp(logs), p, rtol=1e-9, atol=1e-250)


def test_a_side_whose_rows_are_all_at_the_cap():
    p, factors = np.empty(3), np.ones(1)
    project(
        np.array([0.0, 5.0, -500.0]), np.zeros(3, dtype=np.int64), np.ones(1), 1 / 3, p, factors
    )
    np.testing.assert_allclose(p, 1 / 3)


def test_bad_caps_are_named():
    with pytest.raises(ValueError, match=r"cap=0\.1 must be at least 1/n = 0\.333"):
        split(np.ones(3), 0.1, bias=False)
