"""The game of a few known lines: each step, both bounds, the linear program, what is kept."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from skimlearn.data.inspection import as_rows
from skimlearn.solvers._restricted import Restricted


def exact_value(L):
    """max over p of min of L' p."""
    k, m = L.shape
    program = linprog(
        np.r_[np.zeros(k), -1.0],
        A_ub=np.c_[-L.T, np.ones(m)],
        b_ub=np.zeros(m),
        A_eq=np.r_[np.ones(k), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * k + [(None, None)],
    )
    return -program.fun


def naive_matching(L, steps):
    """Predictive regret matching+ in turns, as the paper writes it; means with weights t^2."""
    k, m = L.shape
    R, r, S, s = np.zeros(k), np.zeros(k), np.zeros(m), np.zeros(m)
    y = np.full(m, 1.0 / m)
    ps, ys = [], []

    def mix(scores):
        scores = np.maximum(scores, 0.0)
        return (
            scores / scores.sum() if scores.sum() > 0.0 else np.full(len(scores), 1 / len(scores))
        )

    for _ in range(steps):
        p = mix(R + r)
        s = p @ L @ y - p @ L
        S = np.maximum(S + s, 0.0)
        y = mix(S + s)
        r = L @ y - p @ L @ y
        R = np.maximum(R + r, 0.0)
        ps.append(p)
        ys.append(y)
    weights = np.arange(1, steps + 1) ** 2.0
    return np.average(ps, axis=0, weights=weights), np.average(ys, axis=0, weights=weights)


def game_of(L, sign=1.0):
    game = Restricted(None, L.shape[1], sign)
    assert game.learn(np.arange(len(L)), L) == -1
    return game


@pytest.mark.pure_python
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (5, 9)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_steps_are_those_of_the_paper(shape, sign):
    L = np.random.default_rng(0).normal(size=shape)
    game = game_of(L, sign)
    for steps in (1, 3, 6):  # goes on where it stopped
        game.improve(steps)
    p, y = naive_matching(sign * L, 10)
    assert game.steps == 10
    np.testing.assert_allclose(game.lines.mean, p, atol=1e-12)
    np.testing.assert_allclose(game.others.mean, y, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_the_bounds_bracket_the_value_and_close(seed):
    rng = np.random.default_rng(seed)
    L = rng.normal(size=rng.integers(1, 30, size=2)) * 10.0 ** rng.integers(-6, 7) + rng.normal()
    scale, value = np.ptp(L) + abs(L).max(), exact_value(L)
    game = game_of(L)
    for steps in (5, 50, 500):
        game.improve(steps)
        assert game.floor <= value + 1e-9 * scale
        assert game.ceiling >= value - 1e-9 * scale
        assert (game.p @ L).min() == pytest.approx(game.floor, abs=1e-12 * scale)
        assert (L @ game.y).max() == pytest.approx(game.ceiling, abs=1e-12 * scale)
    assert game.slack <= 0.02 * scale
    game.solve()
    assert game.slack <= 1e-9 * scale
    assert game.p.sum() == pytest.approx(1.0)
    assert game.y.sum() == pytest.approx(1.0)


def test_lines_in_place_and_copies_make_the_same_game():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(12, 20)).astype(np.float32)
    A[rng.random(A.shape) < 0.5] = 0.0
    order = np.array([7, 2, 9, 4])
    games = [Restricted(as_rows(form), 20, -1.0) for form in (A, sp.csr_array(A))]
    games.append(Restricted(None, 20, -1.0))
    for count in (3, 4):
        for game in games:
            known = len(game.order)
            copies = A[order[known:count]].astype(np.float64) if game.keeps else np.empty((0, 20))
            assert game.learn(order[:count], copies) == -1
            game.improve(20)
            assert game.steps == 20  # a new line begins a new game
            assert game.entries == 20 * count
            np.testing.assert_allclose(game.p, games[0].p, atol=1e-12)
            np.testing.assert_allclose(game.y, games[0].y, atol=1e-12)
    assert games[0].floor == pytest.approx((-games[0].p @ A[order]).min())


def test_copies_take_half_of_the_memory_if_that_is_exact():
    signs = np.sign(np.random.default_rng(2).normal(size=(3, 5)))
    tenths = np.full((1, 5), 0.1)
    game = game_of(signs)
    assert game.rows.values.dtype == np.float32
    game.learn(np.arange(4), tenths)
    assert game.rows.values.dtype == np.float64
    game.learn(np.arange(7), signs)
    np.testing.assert_array_equal(game.rows.values, np.r_[signs, tenths, signs])
    assert game_of(np.full((1, 5), 1e300)).rows.values[0, 0] == 1e300


def test_lines_in_strides_are_copied():
    A = np.arange(12.0).reshape(3, 4)
    assert Restricted(as_rows(A.T), 3, 1.0).keeps
    assert not Restricted(as_rows(A), 4, 1.0).keeps


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_line_that_is_not_finite_is_found(bad):
    A = np.zeros((6, 3))
    A[4, 1] = bad
    game = Restricted(as_rows(A, inspect=False), 3, 1.0)
    assert game.learn(np.array([0, 5]), np.empty((0, 3))) == -1
    assert game.learn(np.array([0, 5, 2, 4, 1]), np.empty((0, 3))) == 4
    assert Restricted(None, 3, 1.0).learn(np.array([2, 4]), A[[2, 4]]) == 4
