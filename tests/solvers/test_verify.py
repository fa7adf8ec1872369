"""Verification by sampling: right with the promised probability, exact reads, all kinds of data."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import Oracle
from skimlearn.data.columns import Matrix, as_matrix
from skimlearn.sampling.alias import AliasTable
from skimlearn.solvers.verify import _Plan, verify

EPS, DELTA = 0.4, 0.2


def rows_with(margins, x, rng):
    """Unit rows of given inner products with the unit vector x, and of the largest variance."""
    A = np.empty((len(margins), len(x)))
    for i, margin in enumerate(margins):
        z = rng.normal(size=len(x))
        z -= x * (z @ x)
        A[i] = margin * x + math.sqrt(1.0 - margin**2) * z / np.linalg.norm(z)
    return A


def unit(rng, d, power=1.0):
    x = rng.normal(size=d)
    x = np.copysign(np.abs(x) ** power, x)
    return x / np.linalg.norm(x)


def naive(A, x, eps, delta, seed, rows_norm=1.0):
    """The estimates of all rows and the columns that were read, written out."""
    rng = np.random.default_rng(seed)
    n, d = A.shape
    groups = math.ceil(8 * math.log(n / delta))
    heavy = [j for j in range(d) if 4 * groups * (rows_norm * x[j]) ** 2 >= eps**2]
    rest = [j for j in range(d) if j not in heavy and x[j] != 0.0]
    squared = float(np.sum(x[rest] ** 2))
    size = math.ceil(4 / min(1.0, eps / (rows_norm * math.sqrt(squared))) ** 2 - 1e-9)
    if len(heavy) + size * groups >= len(heavy) + len(rest):
        return A @ x, set(heavy + rest)
    draws = AliasTable(x[rest] ** 2).draw(rng.random(size * groups))
    means = np.zeros((groups, n))
    for k, at in enumerate(draws):
        means[k // size] += A[:, rest[at]] * squared / x[rest[at]] / size
    exact = sum((A[:, j] * x[j] for j in heavy), np.zeros(n))
    return exact + np.median(means, axis=0), set(heavy) | {rest[at] for at in draws}


@pytest.mark.parametrize("seed", range(6))
def test_estimates_and_reads_are_those_of_the_plain_algorithm(seed):
    rng = np.random.default_rng(seed)
    x = unit(rng, 3000, power=[1.0, 3.0][seed % 2])
    A = rows_with(rng.uniform(-1, 1, size=7), x, rng)
    if seed >= 4:
        A[rng.random(A.shape) < 0.5] = 0.0
    estimates, columns = naive(A, x, EPS, DELTA, seed)
    check = verify(sp.csr_array(A), x, bound=0.5, eps=EPS, delta=DELTA, rng=seed)
    assert not check.exact
    assert (check.failure, check.error) == (DELTA, EPS)
    np.testing.assert_allclose(check.estimates, estimates, rtol=1e-9, atol=1e-12)
    assert check.estimates_min == check.estimates.min()
    assert check.reads == np.count_nonzero(A[:, sorted(columns)])
    assert check.accepted == (estimates.min() >= 0.5 - 2 * EPS)


@pytest.mark.parametrize("margin_of_one_row", ["good", "spoiled"])
def test_errors_are_no_more_frequent_than_promised(margin_of_one_row):
    """One planted row: eps below the bound must pass, 4 eps below it must not."""
    wrong, bound, trials = 0, 0.9, 300
    rng = np.random.default_rng(0)
    x = unit(rng, 3000)
    margins = np.full(8, bound)
    margins[3] -= EPS if margin_of_one_row == "good" else 4 * EPS
    A = as_matrix(rows_with(margins, x, rng))
    for seed in range(trials):
        check = verify(A, x, bound=bound, eps=EPS, delta=DELTA, rng=seed)
        assert not check.exact
        wrong += check.accepted != (margin_of_one_row == "good")
    assert wrong <= DELTA * trials


def test_all_estimates_are_within_eps():
    """Chebyshev and Hoeffding are generous: no failure in 200 trials, and no bias either."""
    rng = np.random.default_rng(1)
    x = unit(rng, 3000)
    row = rows_with([0.1], x, rng)
    least = [
        verify(row, x, bound=0.0, eps=EPS, delta=DELTA, rng=seed).estimates_min
        for seed in range(200)
    ]
    assert np.abs(np.array(least) - 0.1).max() < EPS
    assert np.std(least) > 0.01  # it is an estimate


def test_draws_are_unbiased_with_the_promised_variance():
    rng = np.random.default_rng(2)
    x = unit(rng, 2000, power=2.0)
    a = rows_with([0.3], x, rng)[0]
    means = []
    for seed in range(300):
        plan = _Plan.make(x, 1.0, EPS, DELTA, np.random.default_rng(seed))
        group = np.bincount(plan.group, weights=plan.factors * a[plan.drawn])
        means.extend(group + a[plan.heavy] @ x[plan.heavy])
    error = np.array(means) - 0.3
    assert abs(error.mean()) < 4 * error.std() / math.sqrt(len(error))
    assert error.var() <= EPS**2 / 4  # what Chebyshev's inequality needs for failures of 1/4


def test_heavy_coordinates_are_read_not_sampled():
    """Half of the weight on ten coordinates: less to sample, and less to read."""
    rng = np.random.default_rng(3)
    flat = unit(rng, 4000)
    x = flat * math.sqrt(0.5)
    x[:10] = math.sqrt(0.05)
    A = rng.normal(size=(5, 4000)) / 70.0
    spread, peaked = (verify(A, v, bound=0.0, eps=EPS, delta=DELTA, rng=0) for v in (flat, x))
    assert not peaked.exact
    assert peaked.reads < 0.7 * spread.reads
    plan = _Plan.make(x, 1.0, EPS, DELTA / 5, np.random.default_rng(0))
    assert set(range(10)) <= set(plan.heavy)
    assert not set(plan.heavy) & set(plan.drawn)


def test_dense_sparse_mapped_and_oracle_agree(tmp_path):
    rng = np.random.default_rng(4)
    x = unit(rng, 2500)
    A = rows_with(rng.uniform(-1, 1, size=6), x, rng)
    y = rng.choice([-1.0, 1.0], size=6)
    np.save(tmp_path / "A.npy", A)
    asked = []

    def column(j):
        asked.append(j)
        return A[:, j]

    oracle = Oracle(A.shape, row=lambda i: A[i], column=column, cache_bytes=0)
    forms = (
        A,
        np.asfortranarray(A),
        sp.csr_array(A),
        Matrix.pair(A, np.asfortranarray(A)),
        np.load(tmp_path / "A.npy", mmap_mode="r"),
        oracle,
    )
    checks = [verify(X, x, y=y, bound=0.1, eps=EPS, delta=DELTA, rng=7) for X in forms]
    for check in checks:
        assert check.estimates_min == pytest.approx(checks[0].estimates_min, rel=1e-12)
    assert {check.reads for i, check in enumerate(checks) if i != 2} == {oracle.reads}
    assert len(asked) == len(set(asked)) == oracle.reads // 6
    folded = verify(y[:, None] * A, x, bound=0.1, eps=EPS, delta=DELTA, rng=7)
    assert folded.estimates_min == pytest.approx(checks[0].estimates_min, rel=1e-12)
    single = verify(A.astype(np.float32), x, y=y, bound=0.1, eps=EPS, delta=DELTA, rng=7)
    assert single.estimates_min == pytest.approx(checks[0].estimates_min, rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_few_coordinates_are_read_once_each_and_exactly(seed):
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(20, 50)), rng.normal(size=50)
    x[rng.random(50) < 0.5] = 0.0
    least = (A @ x).min()
    for bound, accepted in ((least + 0.19, True), (least + 0.21, False)):
        check = verify(A, x, bound=bound, eps=0.1, delta=0.01, rng=0, rows_norm=10.0)
        assert (check.accepted, check.failure, check.exact) == (accepted, 0.0, True)
        assert check.error == 0.0
        np.testing.assert_allclose(check.estimates, A @ x, atol=1e-12)
        assert check.reads == 20 * np.count_nonzero(x)


@pytest.mark.parametrize(
    ("A", "x"),
    [
        ([[2.0]], [0.5]),
        ([[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0]),
        (np.zeros((3, 2)), [1.0, 1.0]),
        ([[1.0, 1e-200]], [1e-200, 1.0]),
    ],
)
def test_the_smallest_cases_are_exact(A, x):
    check = verify(A, x, bound=0.0, eps=0.1, delta=0.5, rng=0)
    assert check.exact
    assert check.estimates_min == pytest.approx((np.asarray(A) @ x).min())


def test_without_a_bound_nothing_is_accepted_or_refused():
    check = verify([[3.0, 4.0]], [0.6, 0.8], eps=0.1, delta=0.1, rng=0)
    assert check.accepted is None
    assert check.estimates_min == pytest.approx(5.0)
    zeros = verify(np.zeros((2, 3000)), np.ones(3000), eps=1.0, delta=0.5, rng=0, rows_norm=0.0)
    np.testing.assert_array_equal(zeros.estimates, 0.0)


def test_tiny_and_huge_weights_are_sampled_alike():
    rng = np.random.default_rng(5)
    x = unit(rng, 3000)
    A = rows_with([0.2, 0.4], x, rng)
    checks = [
        verify(A, x * scale, bound=0.0, eps=EPS * scale, delta=DELTA, rng=3)
        for scale in (1.0, 1e-180, 1e120)
    ]
    for check, scale in zip(checks, (1.0, 1e-180, 1e120), strict=True):
        assert check.estimates_min / scale == pytest.approx(checks[0].estimates_min)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0.0}, "eps=0.0"),
        ({"eps": float("nan")}, "eps=nan"),
        ({"delta": 0.0}, "delta=0.0"),
        ({"delta": 1.0}, "delta=1.0"),
        ({"rows_norm": -1.0}, "rows_norm=-1.0"),
        ({"bound": float("nan")}, "bound=nan"),
        ({"x": [1.0]}, r"x has shape \(1,\)"),
        ({"x": [1.0, np.inf]}, "x must be finite"),
        ({"y": [1.0, 0.0]}, "the labels must be \\+1 and -1"),
        ({"y": [1.0]}, r"y has shape \(1,\)"),
    ],
)
def test_bad_parameters_are_named(options, message):
    good = {"x": [1.0, 0.0], "bound": 0.0, "eps": 0.1, "delta": 0.1, "rng": 0}
    with pytest.raises(ValueError, match=message):
        verify([[1.0, 2.0], [3.0, 4.0]], **good | options)


def test_an_entry_that_was_not_checked_before_is_named():
    A = np.array([[1.0, np.nan], [1.0, 1.0]])
    with pytest.raises(ValueError, match="nan or infinite"):
        verify(Matrix.pair(A, A), [1.0, 1.0], bound=0.0, eps=0.1, delta=0.1, rng=0)


@pytest.mark.pure_python
def test_verification_in_plain_python():
    x = np.full(900, 1 / 30)
    check = verify(np.array([x, -x]), x, bound=1.0, eps=0.9, delta=0.5, rng=0)
    assert (check.accepted, check.exact) == (False, False)
