"""Margins with a proof: bounds against exact optima, what each mode promises, reads and limits."""

import itertools
import math
import time
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize, nnls

from skimlearn import Matrix, Oracle, Status
from skimlearn import max_margin as any_margin
from skimlearn.data.oracle import OracleError
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_skim import MarginSkim
from skimlearn.solvers._source import as_source
from skimlearn.solvers.simba import Simba

max_margin = partial(any_margin, solver="simba")


def cloud(seed, n=None, d=None, shift=1.5):
    """Rows and labels, separable through the origin if the shift is large."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40)) if n is None else n
    d = int(rng.integers(1, 12)) if d is None else d
    y = rng.choice([-1.0, 1.0], size=n)
    direction = rng.normal(size=d)
    X = rng.normal(size=(n, d)) / math.sqrt(d)
    X += shift * np.outer(y, direction / np.linalg.norm(direction))
    return X / np.linalg.norm(X, axis=1).max(), y


def oracle_of(X, **options):
    return Oracle(X.shape, row=lambda i: X[i], column=lambda j: X[:, j], **options)


def exact_margin(A):
    """The least ||A'p|| over distributions, from non-negative least squares.

    The minimum of ||A'p||^2 + (sum p - 1)^2 over p >= 0 is a multiple of the wanted p.
    """
    target = np.r_[np.zeros(A.shape[1]), 1.0]
    p, _ = nnls(np.vstack([A.T, np.ones(len(A))]), target)
    x = A.T @ (p / p.sum())
    norm = float(np.linalg.norm(x))
    if norm > 1e-7:
        assert (A @ x).min() / norm == pytest.approx(norm, abs=1e-9)
    return norm


def exact_lq_margin(A, q):
    """Two numbers around the greatest least <a_i, x> over ||x||_q <= 1, from the dual."""
    n, dual = len(A), q / (q - 1.0)
    best = minimize(
        lambda p: (np.abs(A.T @ p) ** dual).sum(),
        np.full(n, 1.0 / n),
        jac=lambda p: A @ (dual * np.abs(A.T @ p) ** (dual - 1.0) * np.sign(A.T @ p)),
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0, "jac": lambda p: np.ones(n)},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    p = np.maximum(best.x, 0.0)
    s = A.T @ (p / p.sum())
    x = np.sign(s) * np.abs(s) ** (dual - 1.0)
    x /= max(np.linalg.norm(x, q), 1e-300)
    return max((A @ x).min(), 0.0), float(np.linalg.norm(s, dual))


# ---------------------------------------------------------------------------------- certificates


@pytest.mark.parametrize("seed", range(36))
def test_the_bounds_bracket_the_margin_and_close(seed):
    X, y = cloud(seed, shift=[1.5, 0.5, 3.0][seed % 3])
    eps = [0.05, 0.1][seed % 2]
    form = [X, sp.csr_array(X), oracle_of(X), np.asfortranarray(X)][seed % 4]
    result = max_margin(form, y, eps=eps, batch=1 + seed % 3, random_state=seed)
    certificate, margin = result.certificate, exact_margin(y[:, None] * X)
    assert result.status is Status.CONVERGED
    assert certificate.maximize
    assert (certificate.failure, certificate.gap <= eps) == (0.0, True)
    assert certificate.lower - 1e-10 <= margin <= certificate.upper + 1e-10
    # the answers are what the bounds say
    assert np.linalg.norm(result.x) <= 1.0 + 1e-12
    assert (y * (X @ result.x)).min() == pytest.approx(certificate.lower, abs=1e-12)
    assert result.p.min() >= 0.0
    assert result.p.sum() == pytest.approx(1.0)
    assert np.linalg.norm(X.T @ (result.p * y)) == pytest.approx(certificate.upper)
    assert result.bias == 0.0
    assert result.solver == "simba"


@pytest.mark.parametrize("seed", range(30))
def test_data_that_cannot_be_parted_has_a_margin_of_zero(seed):
    X, y = cloud(seed, n=40, d=3, shift=0.0)
    assert exact_margin(y[:, None] * X) < 1e-9
    result = max_margin(X, y, eps=0.1, random_state=seed)
    assert result.status is Status.CONVERGED
    assert result.certificate.lower == 0.0  # the weights 0 are always allowed
    assert not result.x.any()
    assert 0.0 <= result.certificate.upper <= 0.1


@pytest.mark.parametrize("seed", range(30))
def test_margins_in_other_norms(seed):
    q = [1.5, 1.2][seed % 2]
    X, y = cloud(seed, n=12, d=6, shift=[2.0, 0.7][seed % 3 == 0])
    low, high = exact_lq_margin(y[:, None] * X, q)
    assert high - low < 2e-4
    form = sp.csr_array(X) if seed % 2 else X
    result = max_margin(form, y, eps=0.05, q=q, batch=1 + 2 * (seed % 5 == 0), random_state=seed)
    certificate = result.certificate
    assert result.status is Status.CONVERGED
    assert certificate.gap <= 0.05
    assert certificate.lower <= high + 1e-10
    assert certificate.upper >= low - 1e-10
    assert np.linalg.norm(result.x, q) <= 1.0 + 1e-12
    assert (y * (X @ result.x)).min() == pytest.approx(certificate.lower, abs=1e-12)
    norm = np.linalg.norm(X.T @ (result.p * y), q / (q - 1.0))
    assert norm == pytest.approx(certificate.upper)


def test_the_gap_falls_with_the_root_of_the_steps():
    X, y = cloud(1, n=50, d=20)
    gaps = []
    for steps in (1000, 16_000):
        runs = [max_margin(X, y, eps=1e-9, max_steps=steps, random_state=s) for s in range(5)]
        gaps.append(np.mean([run.certificate.gap for run in runs]))
    assert -0.75 < math.log(gaps[1] / gaps[0]) / math.log(16.0) < -0.35


def test_duplicates_order_and_units_do_not_matter():
    X, y = cloud(2, n=20, d=6)
    margin = exact_margin(y[:, None] * X)
    order = np.random.default_rng(0).permutation(20)
    for rows, labels, scale in (
        (np.repeat(X, 3, axis=0), np.repeat(y, 3), 1.0),
        (X[order][:, ::-1], y[order], 1.0),
        (1000.0 * X, y, 1000.0),
    ):
        certificate = max_margin(rows, labels, eps=0.05 * scale, random_state=0).certificate
        assert certificate.lower / scale - 1e-12 <= margin <= certificate.upper / scale + 1e-12
        assert certificate.gap <= 0.05 * scale


# ----------------------------------------------------------------------------------------- modes


def test_monte_carlo_is_within_eps_in_half_of_all_runs():
    X, y = cloud(3, n=60, d=25)
    A, eps = y[:, None] * X, 0.1
    margin, good = exact_margin(A), 0
    for seed in range(40):
        result = max_margin(X, y, eps=eps, mode="monte-carlo", random_state=seed)
        assert result.status is Status.PLANNED
        assert result.certificate.lower == -math.inf  # nothing is known of the answer
        assert result.certificate.upper >= margin - 1e-12
        assert result.reads.certificate == 0
        good += (A @ result.x).min() >= margin - eps
    assert good >= 20


def test_monte_carlo_plans_by_eps_and_by_the_number_of_rows():
    X, y = cloud(4, n=30, d=10)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    steps = []
    for eps in (0.2, 0.1):
        result = max_margin(X, y, eps=eps, mode="monte-carlo", random_state=0)
        steps.append(result.history[-1].epoch)
    assert steps[1] == pytest.approx(4 * steps[0], rel=0.01)
    assert steps[0] == math.ceil(6.0 * math.log(30) / 0.04)


def thin(seed, n=6, d=3000):
    """Rows in so many dimensions that estimates from columns are cheaper than all of them."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=d)
    X = rng.normal(size=(n, d)) / math.sqrt(d) + direction / np.linalg.norm(direction)
    X[2] -= 1.6 * direction / np.linalg.norm(direction)  # one row that is easily overlooked
    return X / np.linalg.norm(X, axis=1).max()


def test_high_probability_fails_no_more_often_than_promised():
    X, y, eps, delta = thin(0), np.ones(6), 1.2, 0.2
    matrix, margin = as_source(X), exact_margin(X)
    wrong, estimated = 0, 0
    for seed in range(60):
        result = max_margin(
            matrix, y, eps=eps, delta=delta, mode="high-probability", random_state=seed
        )
        certificate = result.certificate
        assert result.status is Status.CONVERGED
        assert certificate.gap <= eps
        assert certificate.upper >= margin - 1e-12  # this side is proven
        if certificate.failure > 0.0:
            estimated += 1
            assert certificate.failure == delta
            assert result.reads.certificate < 1.9 * X.size  # the lengths, and a part of the columns
        wrong += certificate.lower > (X @ result.x).min() + 1e-12
    assert estimated >= 30
    assert wrong <= delta * 60


@pytest.mark.parametrize("seed", range(30))
def test_high_probability_is_exact_where_that_is_cheaper(seed):
    X, y = cloud(seed, shift=1.0)
    form = [X, sp.csr_array(X), oracle_of(X, rows_norm=1.0)][seed % 3]
    result = max_margin(form, y, eps=0.3, mode="high-probability", random_state=seed)
    certificate, margin = result.certificate, exact_margin(y[:, None] * X)
    assert result.status is Status.CONVERGED
    assert (certificate.failure, certificate.gap <= 0.3) == (0.0, True)
    assert certificate.lower - 1e-10 <= margin <= certificate.upper + 1e-10
    assert (y * (X @ result.x)).min() == pytest.approx(certificate.lower, abs=1e-12)


def test_estimates_from_columns_use_euclidean_lengths():
    """In the dual norm of q = 1.1 these rows are 20 times shorter."""
    X = np.ones((4, 500)) / math.sqrt(500)
    run = MarginSkim(
        as_source(X),
        np.random.default_rng(0),
        y=np.ones(4),
        settings=Simba(q=1.1),
        eps=0.1,
        mode="high-probability",
    )
    assert run.euclidean == pytest.approx(1.0)
    assert run.state.scalars[3] < 0.1


def test_las_vegas_reads_everything_only_now_and_then():
    X, y = cloud(5, n=30, d=10)
    result = max_margin(X, y, eps=0.02, random_state=0)
    proofs = result.reads.certificate / X.size
    assert proofs == int(proofs) >= 1
    assert result.reads.certificate <= result.reads.nnz + X.size


# --------------------------------------------------------------------------- reads, limits, ends


def test_an_oracle_is_asked_for_each_line_once():
    X, y = cloud(6, n=30, d=20)
    rows, columns = [], []

    def row(i):
        rows.append(i)
        return X[i]

    def column(j):
        columns.append(j)
        return X[:, j]

    oracle = Oracle(X.shape, row=row, column=column)
    result = max_margin(oracle, y, eps=0.05, random_state=0)
    assert len(rows) == len(set(rows)) < 30
    assert len(columns) == len(set(columns))
    asked = 20 * len(rows) + 30 * len(columns)
    assert oracle.reads == asked == result.reads.nnz + result.reads.certificate
    matrix = max_margin(X, y, eps=0.05, random_state=0)
    np.testing.assert_allclose(result.x, matrix.x, rtol=1e-9)
    assert result.certificate.upper == pytest.approx(matrix.certificate.upper)
    assert len(result.history) == len(matrix.history)


@pytest.mark.parametrize("limit", [0, 6, 7, 16, 17, 23, 24, 100, 1000])
def test_the_limit_of_reads_holds_to_the_entry(limit):
    X, y = cloud(7, n=10, d=7)
    for mode in ("monte-carlo", "las-vegas"):
        result = max_margin(X, y, eps=1e-3, mode=mode, max_reads=limit, random_state=0)
        assert result.status is Status.READS
        steps = result.history[-1].epoch
        assert result.reads.nnz == (17 * steps - 10 if steps else 0) <= limit
        assert limit - result.reads.nnz < 17
    given = []
    kept = oracle_of(X)
    unkept = Oracle(
        X.shape,
        row=lambda i: given.append(7) or X[i],
        column=lambda j: given.append(10) or X[:, j],
        cache_bytes=0,
    )
    options = {"eps": 1e-3, "mode": "monte-carlo", "max_reads": limit, "random_state": 0}
    result = max_margin(unkept, y, **options)
    assert result.status is Status.READS
    assert sum(given) == result.reads.nnz <= limit
    assert limit - sum(given) < 10
    result = max_margin(kept, y, max_steps=200, **options)
    assert result.reads.nnz == kept.reads <= limit
    assert result.status is (Status.READS if limit < 140 else Status.STEPS)
    assert kept.max_reads is unkept.max_reads is None


def test_an_oracle_with_its_own_limit_ends_the_run():
    X, y = cloud(8, n=20, d=15)
    oracle = oracle_of(X, max_reads=100)
    result = max_margin(oracle, y, eps=1e-3, random_state=0)
    assert result.status is Status.READS
    assert result.reads.nnz + result.reads.certificate == oracle.reads <= 100
    assert np.isfinite(result.x).all()
    assert result.certificate.lower == -math.inf  # a proof was beyond the limit
    assert result.certificate.upper < math.inf


def test_steps_and_seconds_end_a_run():
    X, y = cloud(9, n=30, d=30)
    result = max_margin(X, y, eps=1e-9, max_steps=77, random_state=0)
    assert result.status is Status.STEPS
    assert result.history[-1].epoch == 77
    assert result.certificate.gap < math.inf  # the last check is a proof
    assert result.epochs == pytest.approx((77 * 60 - 30) / 900)
    began = time.perf_counter()
    result = max_margin(X, y, eps=1e-9, max_seconds=0.05, random_state=0)
    assert result.status is Status.SECONDS
    assert 0.05 <= result.seconds <= time.perf_counter() - began < 2.0
    result = max_margin(X, y, max_steps=0)
    assert result.status is Status.STEPS
    assert (result.reads.nnz, result.x.any()) == (0, False)
    np.testing.assert_allclose(result.p, 1.0 / 30.0)


@pytest.mark.parametrize("mode", ["las-vegas", "monte-carlo"])
def test_ctrl_c_keeps_the_best_answer_and_asks_for_nothing_more(mode):
    X, y = cloud(10, n=60, d=60)
    asked = []

    def column(j):
        asked.append(j)
        if len(asked) == 25:
            raise KeyboardInterrupt
        return X[:, j]

    oracle = Oracle(X.shape, row=lambda i: asked.append(i) or X[i], column=column)
    result = max_margin(oracle, y, eps=1e-3, mode=mode, random_state=0)
    assert result.status is Status.INTERRUPTED
    assert len(asked) == 25
    assert result.x.any()
    assert result.certificate.upper >= exact_margin(y[:, None] * X) - 1e-12
    assert len(result.history) == 1


def test_ctrl_c_in_a_proof_keeps_the_best_answer():
    X, y = cloud(11, n=30, d=10)
    run = MarginSkim(
        as_source(X), np.random.default_rng(0), y=y, settings=Simba(), eps=1e-9, mode="las-vegas"
    )
    before = run.run(Limits(eps=1e-9, max_steps=2000))

    def interrupted(last):
        raise KeyboardInterrupt

    run.check = interrupted
    after = run.run(Limits(eps=1e-9, max_steps=4000))
    assert after.status is Status.INTERRUPTED
    assert after.certificate == before.certificate
    np.testing.assert_array_equal(after.x, before.x)


def test_a_failing_oracle_says_where_and_is_not_asked_again():
    X, y = cloud(12, n=25, d=15)
    asked, broken = [], True

    def column(j):
        if broken and len(asked) > 12:
            raise TimeoutError("busy")
        asked.append(("column", j))
        return X[:, j]

    oracle = Oracle(X.shape, row=lambda i: asked.append(("row", i)) or X[i], column=column)
    with pytest.raises(OracleError, match=r"column\(\d+\) failed: TimeoutError"):
        max_margin(oracle, y, eps=0.05, random_state=0)
    broken = False
    result = max_margin(oracle, y, eps=0.05, random_state=0)
    assert len(asked) == len(set(asked))
    np.testing.assert_allclose(result.x, max_margin(X, y, eps=0.05, random_state=0).x, rtol=1e-9)


@pytest.mark.parametrize("kind", ["matrix", "oracle"])
def test_a_run_may_be_continued(kind):
    X, y = cloud(13, n=25, d=15)
    source = as_source(X) if kind == "matrix" else oracle_of(X)

    def fresh():
        rng = np.random.default_rng(0)
        return MarginSkim(source, rng, y=y, settings=Simba(), eps=0.1, mode="monte-carlo")

    whole, parts = fresh(), fresh()
    expected = whole.run(Limits(eps=1e-9, max_steps=300))
    for steps in (0, 7, 100, 101, 300):
        result = parts.run(Limits(eps=1e-9, max_steps=steps))
        assert result.history[-1].epoch == steps
    np.testing.assert_array_equal(result.x, expected.x)
    assert result.certificate == expected.certificate
    assert result.seconds >= expected.history[0].seconds


def test_a_callback_sees_each_check_and_may_stop():
    X, y = cloud(14, n=25, d=15)
    run = MarginSkim(as_source(X), np.random.default_rng(0), y=y, settings=Simba(), eps=1e-9)
    seen = []

    def callback(record):
        seen.append(record)
        return len(seen) == 3

    result = run.run(Limits(eps=1e-9), callback)
    assert result.status is Status.STOPPED
    assert seen == result.history
    assert [record.epoch for record in seen] == [32, 64, 96]
    assert all(a.dual >= b.dual for a, b in itertools.pairwise(seen))


# ------------------------------------------------------------------------------------ edge cases


@pytest.mark.parametrize("q", [2.0, 1.5])
@pytest.mark.parametrize("mode", ["las-vegas", "high-probability", "monte-carlo"])
@pytest.mark.parametrize(
    ("X", "y", "margin"),
    [
        ([[0.5]], [1], 0.5),
        ([[0.5]], [-1], 0.5),
        ([[0.5], [0.3]], [1, 1], 0.3),
        ([[0.5], [0.3]], [1, -1], 0.0),
        ([[0.5, 0.0]], [-1], 0.5),
        (np.zeros((3, 2)), [1, -1, 1], 0.0),
        (np.full((4, 1), 0.25), [1, 1, 1, 1], 0.25),
        ([[0.5, 0.0], [0.5, 0.0], [0.0, 0.0]], [1, 1, -1], 0.0),
        ([[1, 0], [2, 0]], [1, 1], 1.0),
    ],
)
def test_the_smallest_problems(X, y, margin, mode, q):
    for form in (X, sp.csr_array(np.asarray(X, dtype=float))):
        result = max_margin(form, y, eps=0.1, mode=mode, q=q, random_state=0)
        assert result.status in (Status.CONVERGED, Status.PLANNED)
        assert result.certificate.lower <= margin + 1e-12
        assert result.certificate.upper >= margin - 1e-12
        if mode != "monte-carlo":
            assert result.certificate.gap <= 0.1


def test_floats_of_32_bits_and_arrays_that_cannot_be_written():
    X, y = cloud(15, n=20, d=8)
    expected = max_margin(X, y, eps=0.05, random_state=0)
    single = max_margin(X.astype(np.float32), y.astype(np.float32), eps=0.05, random_state=0)
    assert single.x.dtype == np.float64
    np.testing.assert_allclose(single.x, expected.x, atol=1e-4)
    frozen, labels = X.copy(), y.copy()
    frozen.flags.writeable = labels.flags.writeable = False
    np.testing.assert_array_equal(
        max_margin(frozen, labels, eps=0.05, random_state=0).x, expected.x
    )
    empty = sp.csr_array(np.r_[X, np.zeros((1, 8))])
    assert max_margin(empty, np.r_[y, 1.0], eps=0.05, random_state=0).certificate.lower == 0.0


def test_a_file_is_not_read_in_full(tmp_path):
    """Files of 4 GB with holes: only what is read needs time."""
    n, d = 20_000, 25_000
    by_row = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=(n, d))
    by_column = np.memmap(tmp_path / "columns", dtype=np.float64, mode="w+", shape=(d, n)).T
    for j in (0, 7):
        by_column[:, j] = 0.5
    for i in range(0, n, 1000):
        by_row[i, [0, 7]] = 0.5
    pair = Matrix.pair(by_row, by_column)
    began = time.perf_counter()
    result = max_margin(pair, np.ones(n), mode="monte-carlo", max_steps=20, random_state=0)
    assert time.perf_counter() - began < 5.0
    assert result.reads.nnz <= 20 * (n + d)
    assert result.certificate.upper < math.inf
    single = max_margin(by_row, np.ones(n), mode="monte-carlo", max_steps=2, random_state=0)
    assert single.reads.nnz <= 2 * (n + d)


@pytest.mark.parametrize("mode", ["las-vegas", "high-probability", "monte-carlo"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("only", ["rows", "columns", "both"])
def test_bad_entries_of_a_file_are_found_when_they_are_read(tmp_path, mode, value, only):
    X, y = cloud(16, n=20, d=8)
    by_row = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=X.shape)
    by_column = np.asfortranarray(X)
    by_row[:] = X
    bad = int(np.argmin(y * (X @ exact_direction(X, y))))  # it is drawn often
    if only != "columns":
        by_row[bad] = value
    if only != "rows":
        by_column[bad] = value
    with pytest.raises(ValueError, match=r"nan or infinite"):
        max_margin(Matrix.pair(by_row, by_column), y, eps=0.05, mode=mode, random_state=0)
    with pytest.raises(ValueError, match=r"nan or infinite|NaN|infinity"):
        max_margin(by_row if only != "columns" else by_column, y, eps=0.05, random_state=0)


def exact_direction(X, y):
    A = y[:, None] * X
    p, _ = nnls(np.vstack([A.T, np.ones(len(A))]), np.r_[np.zeros(A.shape[1]), 1.0])
    return A.T @ p


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e145])
def test_huge_and_tiny_values(scale):
    X, y = cloud(17, n=20, d=6)
    expected = max_margin(X, y, eps=0.05, random_state=0).certificate
    for form in (scale * X, sp.csr_array(scale * X)):
        certificate = max_margin(form, y, eps=0.05 * scale, random_state=0).certificate
        assert certificate.lower / scale == pytest.approx(expected.lower, rel=1e-6)
        assert certificate.upper / scale == pytest.approx(expected.upper, rel=1e-6)


def test_values_whose_squares_overflow_or_vanish():
    X, y = cloud(18, n=20, d=6)
    with pytest.raises(ValueError, match="sums overflow"):
        max_margin(1e200 * X, y, eps=1e198, max_steps=1000, random_state=0)
    certificate = max_margin(1e-200 * X, y, eps=1e-203, max_steps=1000, random_state=0).certificate
    margin = 1e-200 * exact_margin(y[:, None] * X)
    assert certificate.lower <= margin <= certificate.upper  # poor, but right


# --------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0.0}, r"eps=0\.0"),
        ({"eps": -1.0}, r"eps=-1\.0"),
        ({"eps": math.nan}, "eps=nan"),
        ({"eps": math.inf}, "eps=inf"),
        ({"mode": "fast"}, r"mode='fast' must be one of 'monte-carlo', 'high-probability'"),
        ({"delta": 0.0}, r"delta=0\.0"),
        ({"delta": 1.0}, r"delta=1\.0"),
        ({"q": 1.0}, r"q=1\.0"),
        ({"q": 2.5}, r"q=2\.5"),
        ({"batch": 0}, "batch=0"),
        ({"batch": 1.5}, r"batch=1\.5"),
        ({"max_reads": -1}, "max_reads=-1"),
        ({"max_steps": -1}, "max_steps=-1"),
        ({"max_seconds": math.nan}, "max_seconds=nan"),
        ({"y": [1, 0]}, r"the labels must be \+1 and -1; SublinearSVC"),
        ({"y": [1, math.nan]}, r"the labels must be"),
        ({"y": [1]}, r"y has shape \(1,\), but X has 2 rows"),
        ({"X": [1.0, 2.0]}, "two dimensions"),
        ({"X": [[1.0, math.nan], [0.0, 1.0]]}, r"NaN \(row 0, column 1\)"),
        ({"X": np.zeros((0, 2)), "y": []}, r"shape \(0, 2\): at least one row"),
        ({"X": np.zeros((2, 0))}, r"shape \(2, 0\): at least one row and one column"),
    ],
)
def test_bad_parameters_are_named(options, message):
    good = {"X": [[1.0, 2.0], [3.0, 4.0]], "y": [1, 1]}
    with pytest.raises(ValueError, match=message):
        max_margin(**good | options)


@pytest.mark.pure_python
@pytest.mark.parametrize("mode", ["las-vegas", "high-probability", "monte-carlo"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_margins_in_plain_python(mode, kind):
    X, y = cloud(19, n=8, d=4, shift=3.0)
    for q in (2.0, 1.5):
        result = max_margin(kind(X), y, eps=0.5, q=q, mode=mode, max_steps=100, random_state=0)
        assert result.certificate.lower <= result.certificate.upper
