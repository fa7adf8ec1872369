"""The sampled margin on partitions: against a naive version, and against exact answers."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import skimlearn
from skimlearn.distributed._pieces import facts_of, piece_of, store_piece
from skimlearn.distributed._team import Serial
from skimlearn.distributed.sampled_margin import CHAIN, SampledMargin
from skimlearn.result import Status
from skimlearn.solvers._limits import Limits


def data(n=120, d=6, seed=0, shift=0.5, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    y = np.where(X @ np.ones(d) > 0, 1.0, -1.0)
    return X + shift * y[:, None] * (X != 0.0), y


def run_of(X, y, parts, draws=8, seed=3):
    cuts = np.array_split(np.arange(len(y)), parts)
    pieces = [piece_of(k, X[cut], y[cut], None, labels=False) for k, cut in enumerate(cuts)]
    facts = [facts_of(piece) for piece in pieces]
    return SampledMargin(Serial(pieces), facts, draws=draws, rng=np.random.default_rng(seed))


def naive_rounds(X, y, rounds, draws, seed):
    """All rows in one place, and weights that are no logarithms: x, weights, rows, reads."""
    rng = np.random.default_rng(seed)
    A, (n, d) = y[:, None] * X, X.shape
    R = math.sqrt((X**2).sum(axis=1).max())
    weights, s, xs, rows, read = np.ones(n), np.zeros(d), [], [], np.zeros((n, d), dtype=int)
    for t in range(1, rounds + 1):
        u_rows, u_columns = rng.random((2, draws))
        x = s / max(math.sqrt(2 * t) * R, np.linalg.norm(s))
        chosen = [int(np.argmax(np.cumsum(weights) > u * weights.sum())) for u in u_rows]
        v, columns = np.zeros(n), set()
        for u in u_columns if x.any() else []:
            j = int(np.argmax(np.cumsum(x**2) > u * (x**2).sum()))
            v += A[:, j] * (x**2).sum() / x[j] / draws / R
            columns.add(j)
        z = np.clip(min(0.5, math.sqrt(draws * math.log(n) / t)) * v, -1.0, 1.0)
        weights = weights * (1 - z + z * z)
        s = s + A[chosen].mean(axis=0)
        xs.append(x)
        rows.append(sorted(chosen))
        for i in set(chosen):
            read[i] += 1
        for j in columns:
            read[:, j] += 1
    return xs, weights, rows, read


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("parts", [1, 3, 7])
def test_rounds_are_those_of_the_naive_version(parts, sparse):
    X, y = data(density=0.4 if sparse else 1.0)
    rounds = CHAIN + 6
    xs, weights, rows, read = naive_rounds(X, y, rounds, 8, 3)
    run = run_of(sp.csr_array(X) if sparse else X, y, parts)
    for _ in range(rounds):
        run.round()
    assert [sorted(part) for part in run.rows] == rows
    np.testing.assert_allclose(run.total, np.sum(xs, axis=0), rtol=1e-9)
    found = np.exp(np.concatenate(run.logs))
    np.testing.assert_allclose(found / found.sum(), weights / weights.sum(), rtol=1e-9)
    stored = int((X != 0.0).sum())
    transposed = stored if sparse else 0
    assert run.reads.dense == read.sum() + transposed
    assert run.reads.nnz == read[X != 0.0].sum() + transposed
    assert run.reads.certificate == 0
    run.check()
    assert run.reads.certificate == stored


def test_bounds_hold_the_exact_margin():
    for seed in range(12):
        X, y = data(200, 5, seed, shift=0.3)
        X *= 10.0 ** (seed % 3 - 1)  # steps do not depend on the unit
        unit = np.linalg.norm(X, axis=1).max()
        exact = skimlearn.hard_margin(X, y, eps=1e-10 * unit**2, random_state=0).certificate
        result = run_of(X, y, 1 + seed % 4, seed=seed).run(Limits(eps=0.04 * unit, max_steps=4096))
        bounds = result.certificate
        assert result.status is Status.CONVERGED
        assert bounds.lower <= exact.upper * (1 + 1e-9)
        assert bounds.upper >= exact.lower * (1 - 1e-9)
        assert bounds.lower == pytest.approx((y * (X @ result.x)).min(), rel=1e-9)
        assert np.linalg.norm(result.x) == pytest.approx(1.0)
        assert result.p.sum() == pytest.approx(1.0)
        assert bounds.upper == pytest.approx(np.linalg.norm((result.p * y) @ X), rel=1e-9)
        for record in result.history:
            assert record.primal <= exact.upper * (1 + 1e-9)
            assert record.dual >= exact.lower * (1 - 1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_ranges_of_a_store_are_as_good_as_blocks(tmp_path, sparse):
    X, y = data(density=0.4)
    X = sp.csr_array(X) if sparse else X
    skimlearn.Store.create(tmp_path / "store", X, y)
    cuts = [(0, 40), (40, 80), (80, 120)]
    pieces = [
        store_piece(k, str(tmp_path / "store"), *cut, labels=False) for k, cut in enumerate(cuts)
    ]
    stored = SampledMargin(
        Serial(pieces), [facts_of(p) for p in pieces], draws=8, rng=np.random.default_rng(3)
    ).run(Limits(eps=1e-9, max_steps=40))
    result = run_of(X, y, 3).run(Limits(eps=1e-9, max_steps=40))
    np.testing.assert_array_equal(stored.p, result.p)
    np.testing.assert_allclose(stored.x, result.x, rtol=1e-9)
    assert stored.reads == result.reads


def test_more_draws_need_fewer_rounds():
    X, y = data(300, 20, shift=1.0)
    rounds = [
        run_of(X, y, 3, draws=draws).run(Limits(eps=0.4, max_steps=4096)).history[-1].rounds
        for draws in (1, 16)
    ]
    assert rounds[1] <= rounds[0] / 4


def test_classes_that_can_not_be_parted_and_rows_of_zeros():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    result = run_of(X, np.ones(4), 2).run(Limits(eps=0.1, max_steps=4096))
    assert result.status is Status.CONVERGED
    assert result.certificate.lower == 0.0
    zeros = run_of(np.zeros((3, 2)), np.ones(3), 2).run(Limits(eps=0.1))
    assert zeros.status is Status.CONVERGED
    assert zeros.certificate.gap == 0.0
    assert not zeros.x.any()


def test_limits():
    X, y = data()
    run = run_of(X, y, 2)
    result = run.run(Limits(eps=1e-9, max_steps=5))
    assert result.status is Status.STEPS
    assert result.history[-1].rounds == 5
    assert run_of(X, y, 2).run(Limits(eps=1e-9, max_seconds=0.0)).status is Status.SECONDS


def test_an_interruption_keeps_what_is_proven(monkeypatch):
    X, y = data()
    run = run_of(X, y, 2)
    fetch, calls = run.team.fetch, []

    def interrupted(values):
        calls.append(1)
        if len(calls) == 21:  # sixteen rounds, a pass, four more rounds
            raise KeyboardInterrupt
        return fetch(values)

    monkeypatch.setattr(run.team, "fetch", interrupted)
    result = run.run(Limits(eps=1e-9))
    assert result.status is Status.INTERRUPTED
    assert run.rounds == 19
    assert 0.0 < result.certificate.lower < result.certificate.upper < math.inf
