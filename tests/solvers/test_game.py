"""Zero-sum games: bounds that bracket the exact value, strategies behind them, exact reads."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from skimlearn import Oracle, Status, matrix_game


def exact_value(A):
    """The value by linear programming: least v with A x <= v over distributions x."""
    n, d = A.shape
    return linprog(
        np.r_[np.zeros(d), 1.0],
        A_ub=np.c_[A, -np.ones(n)],
        b_ub=np.zeros(n),
        A_eq=np.r_[np.ones(d), 0.0][None],
        b_eq=[1.0],
        bounds=[(0, None)] * d + [(None, None)],
    ).fun


@pytest.mark.parametrize("seed", range(30))
def test_the_bounds_bracket_the_value_and_close(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 40, size=2)
    A = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4) + rng.normal()
    if seed % 3 == 0:
        A[rng.random(A.shape) < 0.7] = 0.0
    eps = 0.1 * (A.max() - A.min())
    result = matrix_game(sp.csr_array(A) if seed % 2 else A, eps=eps, random_state=seed)
    certificate = result.certificate
    value = exact_value(A)
    slack = 1e-9 * (1 + abs(value))
    assert certificate.dual - slack <= value <= certificate.primal + slack
    assert result.status is Status.CONVERGED
    assert certificate.gap <= eps
    # the strategies are what the bounds say
    for strategy in (result.x, result.p):
        assert strategy.min() >= 0.0
        assert strategy.sum() == pytest.approx(1.0)
    assert (A @ result.x).max() == pytest.approx(certificate.primal, rel=1e-9, abs=slack)
    assert (A.T @ result.p).min() == pytest.approx(certificate.dual, rel=1e-9, abs=slack)


def test_the_gap_falls_with_the_root_of_the_steps():
    A = np.sign(np.random.default_rng(0).normal(size=(60, 80)))
    gaps = [
        np.mean(
            [
                matrix_game(A, eps=1e-9, max_steps=steps, random_state=s).certificate.gap
                for s in range(5)
            ]
        )
        for steps in (500, 8000)
    ]
    slope = np.log(gaps[1] / gaps[0]) / np.log(16)
    assert -0.65 < slope < -0.4


def test_dense_sparse_and_oracle_play_the_same_game():
    A = np.random.default_rng(1).normal(size=(15, 11))
    asked = []

    def entry(i, j):
        asked.append((i, j))
        return A[i, j]

    results = [
        matrix_game(form, eps=0.5, random_state=3)
        for form in (A, np.asfortranarray(A), sp.csr_array(A), Oracle(A.shape, entry=entry))
    ]
    for result in results:
        np.testing.assert_allclose(result.x, results[0].x)
        np.testing.assert_allclose(result.p, results[0].p)
    assert results[0].reads.nnz == results[0].reads.dense == results[2].reads.nnz
    assert results[3].reads.nnz == len(asked) == len(set(asked)) <= A.size


@pytest.mark.parametrize("limit", [0, 7, 25, 26, 27, 1000])
def test_the_limit_of_reads_holds_to_the_entry(limit):
    A = np.random.default_rng(2).normal(size=(15, 11))
    result = matrix_game(A, eps=1e-6, max_reads=limit, random_state=0)
    assert result.status is Status.READS
    assert result.reads.nnz == limit // 26 * 26
    oracle = Oracle(A.shape, row=lambda i: A[i], column=lambda j: A[:, j], max_reads=limit)
    result = matrix_game(oracle, eps=1e-6, max_steps=500, random_state=0)
    assert result.reads.nnz <= oracle.reads <= limit
    assert (result.status is Status.READS) == (limit < 330)  # all it can ask for is 330 entries


def test_sparse_reads_count_stored_entries():
    A = sp.random_array((50, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    result = matrix_game(A, eps=1e-6, max_steps=300, random_state=0)
    rows, columns = np.diff(A.indptr), np.diff(A.tocsc().indptr)
    plays = result.reads.dense // 90
    assert plays == 300
    # the last strategies need not be the best ones, so bound the count by the extremes
    assert 300 * (rows.min() + columns.min()) <= result.reads.nnz
    assert result.reads.nnz <= 300 * (rows.max() + columns.max())


def test_a_failing_oracle_says_where_and_goes_on_later():
    A = np.random.default_rng(4).normal(size=(6, 5))
    broken = True

    def row(i):
        if broken:
            raise TimeoutError("busy")
        return A[i]

    oracle = Oracle(A.shape, row=row, column=lambda j: A[:, j])
    with pytest.raises(RuntimeError, match=r"row\(\d\) failed: TimeoutError"):
        matrix_game(oracle, random_state=0)
    broken = False
    assert matrix_game(oracle, eps=0.5, random_state=0).status is Status.CONVERGED


@pytest.mark.parametrize("A", [[[3.0]], [[1.0, 2.0]], [[1.0], [2.0]], np.zeros((4, 3))])
def test_the_smallest_games(A):
    result = matrix_game(A, eps=1e-3, random_state=0)
    A = np.asarray(A)
    assert result.certificate.primal == pytest.approx(A.max(axis=0).min(), abs=2e-3)


def test_seconds_and_steps_end_a_game():
    A = np.random.default_rng(5).normal(size=(30, 30))
    assert matrix_game(A, eps=1e-9, max_seconds=0.05, random_state=0).status is Status.SECONDS
    steps = matrix_game(A, eps=1e-9, max_steps=77, random_state=0)
    assert steps.status is Status.EPOCHS
    assert steps.reads.nnz == 77 * 60


@pytest.mark.parametrize(
    ("options", "message"),
    [({"eps": 0.0}, "eps=0.0"), ({"max_reads": -1}, "max_reads=-1"), ({"max_steps": -5}, "-5")],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        matrix_game([[0.0, 1.0]], **options)


@pytest.mark.pure_python
def test_a_game_in_plain_python():
    rock_paper_scissors = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    result = matrix_game(rock_paper_scissors, eps=1e-9, max_steps=300, random_state=0)
    assert result.certificate.dual <= 0.0 <= result.certificate.primal
