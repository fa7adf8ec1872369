"""Zero-sum games: bounds that bracket the exact value, strategies behind them, exact reads."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from skimlearn import Oracle, Status, matrix_game
from skimlearn.data.columns import Matrix, as_matrix
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.game import Game, Reading


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


def circle(n):
    """Hide and seek on a circle: how far off is the seeker? The value is a half."""

    def distance(i, j):
        return np.minimum(abs(i - j), n - abs(i - j)) * (2.0 / n)

    every = np.arange(n)
    return Oracle((n, n), row=lambda i: distance(i, every), column=lambda j: distance(every, j))


def test_a_game_with_few_good_strategies_needs_few_lines():
    n = 20_000
    for seed in range(5):
        result = matrix_game(circle(n), eps=0.1, random_state=seed)
        assert result.status is Status.CONVERGED
        assert result.certificate.dual <= 0.5 <= result.certificate.primal
        assert result.reads.nnz < 0.002 * n**2


def test_a_random_game_needs_hardly_more_lines_than_any_proof():
    n, eps = 1200, 0.3
    A = np.sign(np.random.default_rng(0).normal(size=(n, n)))
    result = matrix_game(A, eps=eps, random_state=0)
    assert result.status is Status.CONVERGED
    lines = result.reads.dense / (2 * n)
    few = int(0.8 * lines)  # the best mixes of so many lines prove less
    assert exact_value(A[:, :few]) - exact_value(A[:few]) > eps


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


@pytest.mark.parametrize("limit", [0, 7, 25, 26, 27, 200])
def test_the_limit_of_reads_holds_to_the_entry(limit):
    A = np.random.default_rng(2).normal(size=(15, 11))
    result = matrix_game(A, eps=1e-6, max_reads=limit, random_state=0)
    assert result.status is Status.READS
    assert limit - 26 < result.reads.nnz <= limit
    assert (result.reads.nnz == 0) == (limit < 26) == np.isinf(result.certificate.gap)
    for options in ({"max_reads": limit}, {}):
        oracle = Oracle(A.shape, row=lambda i: A[i], column=lambda j: A[:, j], **options)
        given = {} if options else {"max_reads": limit}
        result = matrix_game(oracle, eps=1e-6, random_state=0, **given)
        assert result.reads.nnz == oracle.reads <= limit
        assert result.status is Status.READS


def test_each_line_is_read_once_and_counts_its_stored_entries():
    A = sp.random_array((50, 40), density=0.1, rng=np.random.default_rng(0), format="csr")
    game = Game(as_matrix(A), np.random.default_rng(0))
    result = game.run(Limits(eps=1e-9, max_steps=20))
    known = game.state.known
    rows, columns = game.state.row_order[: known[0]], game.state.column_order[: known[1]]
    assert len(set(rows)) == len(rows) > 0
    assert len(set(columns)) == len(columns) > 0
    stored = np.diff(A.indptr)[rows].sum() + np.diff(A.tocsc().indptr)[columns].sum()
    assert result.reads.nnz == stored
    assert result.reads.dense == 40 * len(rows) + 50 * len(columns)
    assert result.reads.certificate == 0
    assert set(np.flatnonzero(result.p)) <= set(rows)
    assert set(np.flatnonzero(result.x)) <= set(columns)


def naive_draw(row_weights, column_weights, u):
    """What a step reads, by searching in cumulative sums."""
    both = (row_weights, column_weights)
    most = max(np.maximum(weights, 0.0).sum() for weights in both)
    picks = []
    for weights, number in zip(both, u, strict=True):
        unknown = weights >= 0.0
        chances = np.maximum(weights, 0.0) / most if most > 0.0 else unknown / unknown.sum()
        place = int(np.searchsorted(np.cumsum(chances), number, side="right"))
        picks.append(place if place < len(weights) else -1)
    return picks


@pytest.mark.pure_python
def test_draws_are_by_weight_among_the_unknown_lines():
    rng = np.random.default_rng(3)
    game = Game(as_matrix(np.zeros((6, 9))), rng)
    picks = np.empty(2, dtype=np.int64)
    for trial in range(60):
        for weights in (game.state.row_weights, game.state.column_weights):
            weights[:] = rng.exponential(size=len(weights)) * (trial % 3 > 0)
            weights[rng.random(len(weights)) < 0.5] = 0.0
            weights[rng.random(len(weights)) < 0.3] = -1.0
            weights[0] = abs(weights[0])
        u = rng.random(2)
        Reading().draw(game.state, u, picks)
        assert picks.tolist() == naive_draw(game.state.row_weights, game.state.column_weights, u)


def test_what_is_known_is_not_read_again_when_more_is_asked():
    A = np.random.default_rng(4).normal(size=(40, 40))
    oracle = Oracle(A.shape, row=lambda i: A[i], column=lambda j: A[:, j], cache_bytes=0)
    game = Game(oracle, np.random.default_rng(0))
    first = game.run(Limits(eps=2.0))
    second = game.run(Limits(eps=0.2))
    assert first.status is second.status is Status.CONVERGED
    assert first.reads.nnz < second.reads.nnz == oracle.reads <= 2 * A.size
    assert second.certificate.gap <= 0.2
    assert (A @ second.x).max() == pytest.approx(second.certificate.primal)


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


@pytest.mark.parametrize("shape", [(1, 7), (7, 1), (2, 50), (50, 2)])
def test_thin_games_are_solved_to_many_digits(shape):
    A = np.random.default_rng(6).normal(size=shape)
    result = matrix_game(A, eps=1e-10, random_state=0)
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(exact_value(A), abs=1e-8)


def test_many_digits_come_from_a_linear_program():
    A = np.random.default_rng(7).normal(size=(60, 50))
    result = matrix_game(A, eps=1e-9, random_state=0)
    assert result.status is Status.CONVERGED
    assert result.solver == "game, highs"
    assert result.certificate.primal == pytest.approx(exact_value(A), abs=1e-8)
    assert matrix_game(A, eps=0.1, random_state=0).solver == "game"


def test_more_digits_than_there_are_end_a_game():
    A = np.random.default_rng(8).normal(size=(20, 20))
    result = matrix_game(A, eps=1e-300, random_state=0)
    assert result.certificate.gap < 1e-12
    assert result.status in (Status.STALLED, Status.CONVERGED)


def test_equal_lines_do_no_harm():
    A = np.repeat(np.random.default_rng(9).normal(size=(5, 30)), 6, axis=0)
    result = matrix_game(A, eps=1e-7, random_state=0)
    assert result.status is Status.CONVERGED
    assert result.certificate.primal == pytest.approx(exact_value(A), abs=1e-6)


def test_single_precision_read_only_and_files_make_the_same_game(tmp_path):
    A = np.random.default_rng(10).normal(size=(30, 20)).astype(np.float32)
    np.save(tmp_path / "payoffs.npy", A)
    on_disk = np.load(tmp_path / "payoffs.npy", mmap_mode="r")  # its columns are read in strides
    frozen = A.copy()
    frozen.flags.writeable = False
    expected = matrix_game(A.astype(np.float64), eps=0.3, random_state=0)
    for form in (A, frozen, on_disk, Matrix.pair(A, np.asfortranarray(A))):
        result = matrix_game(form, eps=0.3, random_state=0)
        np.testing.assert_allclose(result.x, expected.x, atol=1e-12)
        np.testing.assert_allclose(result.p, expected.p, atol=1e-12)


def test_payoffs_that_are_not_finite_are_named():
    A = np.zeros((4, 3))
    A[2, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        matrix_game(A)
    with pytest.raises(ValueError, match=r"row 2|column 1"):
        matrix_game(Matrix.pair(A, A), eps=1e-9, random_state=0)


def test_seconds_and_steps_end_a_game():
    A = np.random.default_rng(5).normal(size=(30, 30))
    seconds = matrix_game(A, eps=1e-9, max_seconds=0.0, random_state=0)
    assert seconds.status is Status.SECONDS
    assert seconds.certificate.dual <= exact_value(A) <= seconds.certificate.primal
    steps = matrix_game(A, eps=1e-9, max_steps=7, random_state=0)
    assert steps.status is Status.STEPS
    assert 7 * 30 <= steps.reads.nnz <= 7 * 60
    assert steps.history[-1].epoch == 7
    gaps = [record.primal - record.dual for record in steps.history]
    assert gaps == sorted(gaps, reverse=True)
    nothing = matrix_game(A, eps=1e-9, max_steps=0, random_state=0)
    assert nothing.status is Status.STEPS
    np.testing.assert_array_equal(nothing.p, np.full(30, 1.0 / 30.0))


def test_ctrl_c_returns_what_is_known():
    A = np.random.default_rng(11).normal(size=(30, 30))
    asked = []

    def row(i):
        asked.append(i)
        if len(asked) == 12:
            raise KeyboardInterrupt
        return A[i]

    oracle = Oracle(A.shape, row=row, column=lambda j: A[:, j])
    result = matrix_game(oracle, eps=1e-6, random_state=0)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.dual <= exact_value(A) <= result.certificate.primal


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
    result = matrix_game(rock_paper_scissors, eps=1e-2, random_state=0)
    assert result.certificate.dual <= 0.0 <= result.certificate.primal
