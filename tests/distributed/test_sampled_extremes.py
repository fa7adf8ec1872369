"""Sampled balls and games on partitions: against naive versions, and against exact answers."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import skimlearn
from skimlearn.distributed._parcel import added
from skimlearn.distributed._pieces import facts_of, piece_of, store_piece
from skimlearn.distributed._sampled import CHAIN
from skimlearn.distributed._team import Serial
from skimlearn.distributed.sampled_ball import SAMPLE, SampledBall
from skimlearn.distributed.sampled_game import SampledGame
from skimlearn.result import Status
from skimlearn.solvers._limits import Limits


def data(n=120, d=6, seed=0, shift=0.5, density=1.0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, d)) + shift) * (rng.random((n, d)) < density)


def run_of(kind, X, parts, draws=8, seed=3):
    cuts = np.array_split(np.arange(X.shape[0]), parts)
    pieces = [piece_of(k, X[cut], None, None, labels=None) for k, cut in enumerate(cuts)]
    return of_pieces(kind, pieces, draws, seed)


def of_pieces(kind, pieces, draws=8, seed=3):
    facts = [facts_of(piece) for piece in pieces]
    return kind(Serial(pieces), facts, draws=draws, rng=np.random.default_rng(seed))


def drawn(law, u):
    return int(np.argmax(np.cumsum(law) > u * law.sum()))


def naive_ball(X, rounds, draws, seed):
    """All rows in one place, and weights that are no logarithms: x, weights, rows."""
    rng = np.random.default_rng(seed)
    n, d = X.shape
    o = X[rng.choice(n, min(SAMPLE, n), replace=False)].mean(axis=0)
    B = X - o
    h = (B**2).sum(axis=1)
    unit, weights, s, xs, rows = h.max(), np.ones(n), np.zeros(d), [], []
    for t in range(1, rounds + 1):
        u_rows, u_columns = rng.random((2, draws))
        x = s / max(t - 1, 1)
        chosen = [drawn(weights, u) for u in u_rows]
        v = (h - unit) / unit
        for j in [drawn(x**2, u) for u in u_columns] if x.any() else []:
            v = v - 2.0 * B[:, j] * (x @ x) / x[j] / draws / unit
        z = np.clip(-min(0.5, math.sqrt(draws * math.log(n) / t)) * v, -1.0, 1.0)
        weights = weights * (1 - z + z * z)
        s = s + B[chosen].mean(axis=0)
        xs.append(x)
        rows.append(sorted(chosen))
    return xs, weights, rows


def naive_game(A, rounds, draws, seed):
    """The same for a game."""
    rng = np.random.default_rng(seed)
    n, d = A.shape
    unit, weights, s, xs, rows = np.abs(A).max(), np.ones(n), np.zeros(d), [], []
    for t in range(1, rounds + 1):
        u_rows, u_columns = rng.random((2, draws))
        x = np.exp(-min(0.5, math.sqrt(draws * math.log(d) / t)) * s / unit)
        x /= x.sum()
        chosen = [drawn(weights, u) for u in u_rows]
        v = np.mean([A[:, drawn(x, u)] for u in u_columns], axis=0) / unit
        z = -min(0.5, math.sqrt(draws * math.log(n) / t)) * v
        weights = weights * (1 - z + z * z)
        s = s + A[chosen].mean(axis=0)
        xs.append(x)
        rows.append(sorted(chosen))
    return xs, weights, rows


@pytest.mark.parametrize(("kind", "naive"), [(SampledBall, naive_ball), (SampledGame, naive_game)])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("parts", [1, 3, 7])
def test_rounds_are_those_of_the_naive_version(kind, naive, sparse, parts):
    X = data(density=0.4 if sparse else 1.0)
    rounds = CHAIN + 6
    xs, weights, rows = naive(X, rounds, 8, 3)
    run = run_of(kind, sp.csr_array(X) if sparse else X, parts)
    for _ in range(rounds):
        run.round()
    assert [sorted(part) for part in run.rows] == rows
    np.testing.assert_allclose(run.total, np.sum(xs, axis=0), rtol=1e-8, atol=1e-9)
    found = np.exp(np.concatenate(run.logs))
    np.testing.assert_allclose(found / found.sum(), weights / weights.sum(), rtol=1e-8)


@pytest.mark.parametrize("sparse", [False, True])
def test_reads_are_those_that_were_made(sparse):
    X = data(density=0.4 if sparse else 1.0)
    stored, (n, d) = int((X != 0.0).sum()), X.shape
    transposed = stored if sparse else 0
    rows = sp.csr_array(X) if sparse else X
    run = run_of(SampledGame, rows, 3)
    assert run.reads.nnz == stored + transposed  # for the largest entry
    run = run_of(SampledBall, rows, 3)
    few = np.random.default_rng(3).choice(n, SAMPLE, replace=False)
    assert run.reads.dense == SAMPLE * d + transposed
    assert run.reads.nnz == int((X[few] != 0.0).sum()) + transposed
    assert run.reads.certificate == stored  # the distances to the reference
    before = run.reads
    run.round()
    chosen = np.unique(run.rows[0])
    assert run.reads.nnz - before.nnz == int((X[chosen] != 0.0).sum())  # x = 0: no column
    run.check()
    assert run.reads.certificate == 2 * stored


def test_bounds_hold_the_exact_ball():
    for seed in range(12):
        X = data(200, 5, seed, shift=(0.0, 10.0, 1e7)[seed % 3]) * 10.0 ** (seed // 3 % 3 - 1)
        exact = skimlearn.enclosing_ball(X, eps=1e-7, random_state=0).certificate
        result = run_of(SampledBall, X, 1 + seed % 4, seed=seed).run(
            Limits(eps=0.1, max_steps=4096)
        )
        bounds = result.certificate
        assert result.status is Status.CONVERGED
        assert bounds.gap <= 0.1 * bounds.primal
        farthest = ((X - result.x) ** 2).sum(axis=1).max()
        assert bounds.primal == pytest.approx(farthest, rel=1e-9)
        mean = result.p @ X
        spread = result.p @ ((X - mean) ** 2).sum(axis=1)
        assert bounds.dual == pytest.approx(spread, rel=1e-9)
        assert result.p.sum() == pytest.approx(1.0)
        for record in result.history:
            assert record.dual <= exact.primal * (1 + 1e-9)
            assert record.primal >= exact.dual * (1 - 1e-9)


def test_ctrl_c_in_the_middle_of_a_round_leaves_true_bounds(monkeypatch):
    """What has come of the round must not count, or all of it must."""
    X, calls = data(200, 5, 0), []

    def interrupted(parcels):
        calls.append(1)
        if len(calls) == 8:
            raise KeyboardInterrupt
        return added(parcels)

    run = run_of(SampledBall, X, 3)
    monkeypatch.setattr("skimlearn.distributed._sampled.added", interrupted)
    result = run.run(Limits(eps=1e-6, max_steps=4096))
    assert result.status is Status.INTERRUPTED
    spread = result.p @ ((X - result.p @ X) ** 2).sum(axis=1)
    assert result.certificate.dual == pytest.approx(spread, rel=1e-9)


def test_bounds_hold_the_exact_value_of_a_game():
    for seed in range(12):
        A = data(60, 20, seed, shift=0.2) * 10.0 ** (seed % 3 - 1)
        unit = np.abs(A).max()
        exact = skimlearn.matrix_game(A, eps=1e-7 * unit, random_state=0).certificate
        result = run_of(SampledGame, A, 1 + seed % 4, seed=seed).run(
            Limits(eps=0.05 * unit, max_steps=4096)
        )
        bounds = result.certificate
        assert result.status is Status.CONVERGED
        assert bounds.primal == pytest.approx((A @ result.x).max(), rel=1e-9)
        assert bounds.dual == pytest.approx((result.p @ A).min(), rel=1e-9)
        assert result.x.min() >= 0.0
        assert result.x.sum() == pytest.approx(1.0)
        assert result.p.sum() == pytest.approx(1.0)
        for record in result.history:
            assert record.dual <= exact.primal + 1e-9 * unit
            assert record.primal >= exact.dual - 1e-9 * unit


@pytest.mark.parametrize("kind", [SampledBall, SampledGame])
@pytest.mark.parametrize("sparse", [False, True])
def test_ranges_of_a_store_are_as_good_as_blocks(tmp_path, sparse, kind):
    X = data(density=0.4)
    X[90, 3] = 9.0  # the largest entry is in the last range
    X = sp.csr_array(X) if sparse else X
    skimlearn.Store.create(tmp_path / "store", X)
    cuts = [(0, 40), (40, 80), (80, 120)]
    pieces = [
        store_piece(k, str(tmp_path / "store"), *cut, labels=None) for k, cut in enumerate(cuts)
    ]
    limits = Limits(eps=1e-9, max_steps=40)
    stored, result = of_pieces(kind, pieces).run(limits), run_of(kind, X, 3).run(limits)
    np.testing.assert_array_equal(stored.p, result.p)
    np.testing.assert_allclose(stored.x, result.x, rtol=1e-9)
    assert stored.reads == result.reads


def test_points_that_are_one_and_games_of_zeros():
    for rows in (np.full((5, 3), 2.0), np.zeros((5, 3))):
        ball = run_of(SampledBall, rows, 2).run(Limits(eps=0.1, max_steps=64))
        assert ball.status is Status.CONVERGED
        assert ball.certificate.primal == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(ball.x, rows[0])
    game = run_of(SampledGame, np.zeros((3, 2)), 2).run(Limits(eps=0.1, max_steps=64))
    assert game.status is Status.CONVERGED
    assert game.certificate.gap == 0.0
