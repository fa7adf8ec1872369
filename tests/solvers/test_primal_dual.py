"""The generic scheme: its steps, its players, their bounds against exact optima, its limits."""

import math
import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize

from skimlearn import Oracle, Status
from skimlearn.data.columns import Matrix
from skimlearn.data.oracle import OracleError
from skimlearn.solvers.low_regret import Ball, Mean, Simplex
from skimlearn.solvers.primal_dual import LowRegret, Sampler, primal_dual
from skimlearn.solvers.samplers import InnerProducts, SquaredDistances

SHAPE = (9, 6)
PROBLEMS = ["margin", "lq margin", "game", "ball"]


def rows(seed, shape=SHAPE):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=shape)
    if seed % 3:
        A += 0.7 * rng.normal(size=shape[1])  # separable, more often than not
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def players(problem, A, steps=None):
    if problem == "margin":
        return Ball(A, steps=steps), InnerProducts(A)
    if problem == "lq margin":
        return Ball(A, q=1.4, steps=steps), InnerProducts(A, q=1.4)
    if problem == "game":
        return Simplex(A, steps=steps), InnerProducts(A, q=1.0)
    return Mean(A, steps=steps), SquaredDistances(A)


def solve(problem, A, steps=None, **options):
    lra, sampler = players(problem, A, steps)
    return primal_dual(
        lra, sampler, lra.source.shape[0], steps=steps, evaluate=sampler.evaluate, **options
    )


def over_distributions(value, gradient, n):
    """The minimum of a smooth convex function over distributions."""
    best = minimize(
        value,
        np.full(n, 1.0 / n),
        jac=gradient,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1.0, "jac": lambda p: np.ones(n)},
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return float(best.fun)


def exact(problem, A):
    n, d = A.shape
    if problem == "game":
        return -linprog(
            np.r_[np.zeros(d), -1.0],
            A_ub=np.c_[-A, np.ones(n)],
            b_ub=np.zeros(n),
            A_eq=np.r_[np.ones(d), 0.0][None],
            b_eq=[1.0],
            bounds=[(0, None)] * d + [(None, None)],
        ).fun
    if problem == "ball":
        squares = (A**2).sum(axis=1)
        return over_distributions(
            lambda p: (A.T @ p) @ (A.T @ p) - p @ squares,
            lambda p: 2.0 * A @ (A.T @ p) - squares,
            n,
        )
    power = 2.0 if problem == "margin" else 1.4 / 0.4  # min over p of ||A'p||, by its power
    value = over_distributions(
        lambda p: (np.abs(A.T @ p) ** power).sum(),
        lambda p: A @ (power * np.abs(A.T @ p) ** (power - 1.0) * np.sign(A.T @ p)),
        n,
    )
    return max(value, 0.0) ** (1.0 / power)


# ---------------------------------------------------------------------------------- certificates


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("seed", range(30))
def test_the_bounds_bracket_the_optimum_and_close(problem, seed):
    A, eps = rows(seed), 0.15
    form = [A, sp.csr_array(A), Oracle(A.shape, row=lambda i: A[i], column=lambda j: A[:, j])]
    result = solve(problem, form[seed % 3], eps=eps, max_steps=40_000, random_state=seed)
    certificate, optimum = result.certificate, exact(problem, A)
    assert result.status is Status.CONVERGED
    assert certificate.maximize
    assert certificate.gap <= eps
    slack = 1e-9 if problem in ("game", "ball") else 1e-4  # SLSQP knows the power of a norm
    assert certificate.lower - 1e-9 <= optimum + slack
    assert certificate.upper + 1e-9 >= optimum - slack
    # the answers are what the bounds say
    assert result.p.min() >= 0.0
    assert result.p.sum() == pytest.approx(1.0)
    if problem == "ball":
        assert -((A - result.x) ** 2).sum(axis=1).max() == pytest.approx(certificate.lower)
        value = (A.T @ result.p) @ (A.T @ result.p) - result.p @ (A**2).sum(axis=1)
        assert value == pytest.approx(certificate.upper)
        return
    assert (A @ result.x).min() == pytest.approx(certificate.lower)
    if problem == "game":
        assert result.x.min() >= 0.0
        assert result.x.sum() == pytest.approx(1.0)
        assert (A.T @ result.p).max() == pytest.approx(certificate.upper)
    else:
        q = 2.0 if problem == "margin" else 1.4
        assert np.linalg.norm(result.x, ord=q) <= 1.0 + 1e-12
        norm = np.linalg.norm(A.T @ result.p, ord=q / (q - 1.0))
        assert norm == pytest.approx(certificate.upper)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("weights", ["hedge", "product"])
def test_planned_steps_reach_the_optimum(problem, weights):
    A = rows(1)
    result = solve(problem, A, steps=6000, weights=weights, eps=1e-9, random_state=0)
    assert result.status is Status.PLANNED
    assert result.history[-1].epoch == 6000
    assert result.certificate.lower >= exact(problem, A) - 0.1


def test_the_gap_falls_with_the_root_of_the_steps():
    A = rows(2, (30, 20))
    gaps = [
        np.mean(
            [
                solve("margin", A, eps=1e-9, max_steps=steps, random_state=seed).certificate.gap
                for seed in range(4)
            ]
        )
        for steps in (400, 6400)
    ]
    assert -0.7 < math.log(gaps[1] / gaps[0]) / math.log(16.0) < -0.35


def test_units_do_not_matter():
    A = rows(4)
    one = primal_dual(Ball(A), InnerProducts(A), 9, max_steps=500, random_state=0)
    B = 1000.0 * A
    lra, sampler = Ball(B, rows_norm=1000.0), InnerProducts(B, rows_norm=1000.0)
    other = primal_dual(lra, sampler, 9, max_steps=500, random_state=0)
    np.testing.assert_allclose(other.x, one.x, rtol=1e-9)
    np.testing.assert_array_equal(other.p, one.p)
    assert other.certificate.upper == pytest.approx(1000.0 * one.certificate.upper)


# ------------------------------------------------------------------------- step by step, naively


def draw(weights, u):
    return min(
        int(np.searchsorted(np.cumsum(weights), u * weights.sum(), "right")), len(weights) - 1
    )


def link(theta, q):
    """The maximiser of <theta, x> - ||x||_q^2 / (2 (q - 1)) over ||x||_q <= 1."""
    dual = q / (q - 1.0)
    norm = (np.abs(theta) ** dual).sum() ** (1.0 / dual)
    if norm == 0.0:
        return theta
    x = np.sign(theta) * np.abs(theta) ** (dual - 1.0) * norm ** (2.0 - dual) * (q - 1.0)
    return x / max(1.0, (np.abs(x) ** q).sum() ** (1.0 / q))


def naive(problem, A, steps, planned, weights, seed):
    """The scheme with all vectors written out: the average and the frequencies of the draws."""
    rng = np.random.default_rng(seed)
    n, d = A.shape
    q = {"margin": 2.0, "lq margin": 1.4, "game": 1.0, "ball": 2.0}[problem]
    squares = (A**2).sum(axis=1)
    s, S, logs, average, draws = np.zeros(d), np.zeros(n), np.zeros(n), np.zeros(d), []
    x = np.full(d, 1.0 / d) if problem == "game" else np.zeros(d)
    used = 0.0
    for t in range(1, steps + 1):
        eta = min(0.5, math.sqrt(math.log(n) / (planned or t)))
        u = rng.random()
        v = np.zeros(n)
        if x.any():
            law = np.abs(x) ** q
            j = draw(law, u)
            v = A[:, j] * law.sum() / (np.abs(x[j]) ** (q - 1.0) * np.sign(x[j]))
        if problem == "ball":
            v = (2.0 * v - squares - x @ x) / (4.0 * squares.max())
        w = np.exp(-eta * S) if weights == "hedge" else np.exp(logs)
        i = draw(w, rng.random())
        draws.append(i)
        clipped = np.clip(v, -1.0 / eta, 1.0 / eta)
        S += clipped
        logs += np.log(1.0 - eta * clipped + (eta * clipped) ** 2)
        average += x / steps
        T = planned or t + 1
        if problem == "ball":
            T = planned or t
            alpha = min(1.0, math.log(T + 1.0) / math.sqrt(T * math.log(n)))
            if rng.random() < alpha:
                s, used = s + A[i] / alpha, used + 1.0 / alpha
                x = s / used
            continue
        s = s + A[i]
        if problem == "game":
            x = np.exp(math.sqrt(math.log(d) / T) * s)
            x /= x.sum()
        else:
            x = link(s / math.sqrt(2.0 * (q - 1.0) * T), q)
    return average, np.bincount(draws, minlength=n) / steps


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("planned", [None, 400])
@pytest.mark.parametrize("weights", ["hedge", "product"])
def test_every_step_is_that_of_the_plain_algorithm(problem, planned, weights):
    A = rows(5)
    lra, sampler = players(problem, A, planned)
    seen = []

    def dual(p):  # sees the frequencies of the draws
        seen.append(p)
        return math.inf

    result = primal_dual(
        lra, sampler, 9, steps=planned, weights=weights, dual=dual, max_steps=300, random_state=8
    )
    x, p = naive(problem, A, 300, planned, weights, 8)
    np.testing.assert_allclose(result.x, x, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(seen[-1], p)
    assert result.status is Status.STEPS


@pytest.mark.parametrize("problem", PROBLEMS)
def test_samplers_are_unbiased_with_the_promised_second_moment(problem):
    A = rows(6)
    lra, sampler = players(problem, A)
    rng = np.random.default_rng(0)
    x = lra.start(rng)
    for i in (0, 3, 3, 5, 1, 8):
        x = lra.update(i)
    draws = np.array([sampler.sample(x, rng) for _ in range(6000)])
    truth = -((A - x) ** 2).sum(axis=1) if problem == "ball" else A @ x
    error = np.abs(draws.mean(axis=0) - truth)
    assert (error <= 4.5 * draws.std(axis=0) / math.sqrt(len(draws)) + 1e-12).all()
    assert ((draws**2).mean(axis=0) <= 1.1 * sampler.scale**2).all()
    assert sampler.evaluate(x) == pytest.approx(truth.min())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("q", [2.0, 1.3])
def test_the_regret_of_the_ball_is_bounded(q, seed):
    """Against rows that oppose the present x, and against random ones."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(50, 10))
    dual = q / (q - 1.0)
    A /= np.linalg.norm(A, ord=dual, axis=1, keepdims=True)
    for steps in (None, 2000):
        ball = Ball(A, q=q, steps=steps)
        x, gain = ball.start(rng), 0.0
        for _ in range(2000):
            i = int(np.argmin(A @ x)) if seed % 2 else int(rng.integers(50))
            gain += A[i] @ x
            x = ball.update(i)
        bound = ball.dual()[0] * 2000
        assert bound - gain <= (1.0 if steps else 1.5) * math.sqrt(2 * 2000 / (q - 1.0))


# --------------------------------------------------------------------------- reads, limits, ends


@pytest.mark.parametrize("problem", PROBLEMS)
def test_all_kinds_of_data_give_the_same_run(problem):
    A = rows(7)
    A[np.abs(A) < 0.2] = 0.0
    asked = []

    def entry(i, j):
        asked.append((i, j))
        return A[i, j]

    forms = [
        A,
        np.asfortranarray(A),
        sp.csr_array(A),
        Matrix.pair(A, np.asfortranarray(A)),
        Oracle(A.shape, entry=entry),
        Oracle(A.shape, row=lambda i: A[i], column=lambda j: A[:, j], cache_bytes=0),
    ]
    runs = []
    for form in forms:
        lra, sampler = players(problem, form)
        runs.append(primal_dual(lra, sampler, 9, max_steps=200, random_state=3))
    for run in runs:
        np.testing.assert_allclose(run.x, runs[0].x, rtol=1e-9)
        np.testing.assert_allclose(run.p, runs[0].p)
    assert runs[0].reads == runs[1].reads == runs[5].reads
    assert runs[2].reads.dense == runs[0].reads.dense
    assert runs[2].reads.nnz < runs[0].reads.nnz
    assert runs[4].reads.nnz == len(asked) == len(set(asked))
    single = players(problem, A.astype(np.float32))
    run = primal_dual(*single, 9, max_steps=20, random_state=3)
    assert np.isfinite(run.x).all()


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("limit", [0, 5, 6, 9, 14, 15, 16, 100, 1000])
def test_the_limit_of_reads_holds_to_the_entry(problem, limit):
    A = rows(8)
    given = 0

    def row(i):
        nonlocal given
        given += A.shape[1]
        return A[i]

    def column(j):
        nonlocal given
        given += A.shape[0]
        return A[:, j]

    oracle = Oracle(A.shape, row=row, column=column, cache_bytes=0)
    for form in (A, oracle):
        lra, sampler = players(problem, form)
        result = primal_dual(lra, sampler, 9, max_reads=limit, max_steps=10**5, random_state=0)
        assert result.status is Status.READS
        assert result.reads.nnz <= limit
        assert result.reads.certificate == 0
        assert limit - result.reads.nnz < 9 or problem == "ball"
        if form is oracle:
            assert given == result.reads.nnz
    assert oracle.max_reads is None


def test_checks_are_counted_apart():
    A = rows(9)
    result = solve("margin", A, eps=1e-9, max_steps=1000, random_state=0)
    assert result.reads.nnz == 999 * 9 + 1000 * 6  # the first x is 0: no column is needed
    assert result.reads.certificate == len(result.history) * A.size
    assert [record.epoch for record in result.history] == [256, 512, 768, 1000]
    assert result.reads.dense == result.reads.nnz
    sparse = solve("margin", sp.csr_array(np.eye(5)), eps=1e-9, max_steps=1000, random_state=0)
    assert sparse.reads.certificate == 5 * len(sparse.history)
    assert sparse.reads.nnz == 1999
    assert sparse.reads.dense == 1999 * 5


def test_players_may_be_used_again():
    A = rows(10)
    lra, sampler = players("margin", A)
    first, second = (primal_dual(lra, sampler, 9, max_steps=50, random_state=1) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    assert first.reads == second.reads


def test_an_oracle_with_its_own_limit_ends_the_run():
    A = rows(11)
    oracle = Oracle(A.shape, row=lambda i: A[i], column=lambda j: A[:, j], max_reads=40)
    lra, sampler = players("margin", oracle)
    result = primal_dual(lra, sampler, 9, max_steps=10**5, random_state=0)
    assert result.status is Status.READS
    assert 30 <= oracle.reads == result.reads.nnz <= 40
    # the check finds nothing left to read either: the answer is kept
    lra, sampler = players("margin", oracle)
    result = primal_dual(lra, sampler, 9, evaluate=sampler.evaluate, random_state=0)
    assert result.status is Status.READS
    assert np.isfinite(result.x).all()
    assert result.certificate.lower == -math.inf


def test_seconds_end_a_run_at_once_even_if_a_step_is_slow():
    clock = Slow(0.02)
    result = primal_dual(Still(), clock, 2, max_seconds=0.05, random_state=0)
    assert result.status is Status.SECONDS
    assert 1 <= result.history[-1].epoch <= 4
    assert result.seconds >= 0.05


class Still(LowRegret):
    """Stays where it is, in the same array all the time."""

    def start(self, rng):
        self.x = np.zeros(2)
        return self.x

    def update(self, i):
        self.x += 1.0
        return self.x


class Slow(Sampler):
    def __init__(self, seconds):
        self.seconds = seconds

    def sample(self, x, rng):
        time.sleep(self.seconds)
        return np.zeros(2)


def test_an_iterate_may_be_overwritten_in_place():
    result = primal_dual(Still(), Slow(0.0), 2, max_steps=5, random_state=0)
    np.testing.assert_array_equal(result.x, [2.0, 2.0])  # the average of 0, 1, 2, 3, 4


@pytest.mark.parametrize("player", ["lra", "sampler", "evaluate"])
def test_an_interrupted_run_keeps_its_answer(player):
    A = rows(12)
    lra, sampler = players("margin", A)
    calls = 0

    def interrupt_at(at, function):
        def wrapped(*arguments):
            nonlocal calls
            calls += 1
            if calls == at:
                raise KeyboardInterrupt
            return function(*arguments)

        return wrapped

    evaluate = sampler.evaluate
    if player == "lra":
        lra.update = interrupt_at(300, lra.update)
    elif player == "sampler":
        sampler.sample = interrupt_at(300, sampler.sample)
    else:
        evaluate = interrupt_at(2, evaluate)
    result = primal_dual(lra, sampler, 9, eps=1e-9, evaluate=evaluate, random_state=0)
    assert result.status is Status.INTERRUPTED
    assert result.history[-1].epoch == {"lra": 300, "sampler": 299, "evaluate": 512}[player]
    assert (A @ result.x).min() == pytest.approx(result.certificate.lower)
    assert np.linalg.norm(result.x) <= 1.0 + 1e-12
    assert result.certificate.gap < math.inf


def test_a_failing_oracle_says_where():
    oracle = Oracle((3, 2), row=lambda i: 1 / 0, column=lambda j: np.ones(3))
    with pytest.raises(OracleError, match=r"row\(\d\) failed: ZeroDivisionError"):
        primal_dual(Ball(oracle), InnerProducts(oracle), 3, max_steps=5)


# ---------------------------------------------------------------------------- users' own players


class Box(LowRegret):
    """Gradient steps on [0, 1]^d for the utilities 1 - ||x - wish||^2 of groups."""

    def __init__(self, wishes):
        self.wishes = wishes

    def start(self, rng):
        self.x, self.t = np.zeros(self.wishes.shape[1]), 0
        return self.x

    def update(self, i):
        self.spend(self.wishes.shape[1])
        self.t += 1
        self.x = np.clip(self.x + (self.wishes[i] - self.x) / self.t, 0.0, 1.0)
        return self.x


class Utilities(Sampler):
    scale = 2.0

    def __init__(self, wishes):
        self.wishes = wishes

    def sample(self, x, rng):
        self.spend(self.wishes.size)
        noise = rng.normal(size=len(self.wishes))  # what a survey would add
        return 1.0 - ((x - self.wishes) ** 2).sum(axis=1) + noise


@pytest.mark.parametrize("seed", range(5))
def test_a_fair_choice_by_players_of_a_user(seed):
    wishes = np.random.default_rng(seed).random((6, 3))

    def worst(x):
        return 1.0 - ((x - wishes) ** 2).sum(axis=1).max()

    def best_for(p):  # of the weighted utilities: at the mean of the wishes
        mean = p @ wishes
        return 1.0 - p @ ((mean - wishes) ** 2).sum(axis=1)

    optimum = 1.0 + exact("ball", wishes)
    options = {"eps": 0.05, "evaluate": worst, "max_steps": 20_000, "random_state": seed}
    result = primal_dual(Box(wishes), Utilities(wishes), 6, dual=best_for, **options)
    assert result.status is Status.CONVERGED
    assert result.certificate.lower - 1e-7 <= optimum <= result.certificate.upper + 1e-7
    assert best_for(result.p) == pytest.approx(result.certificate.upper)
    steps = result.history[-1].epoch
    assert result.reads.nnz == steps * (18 + 3)
    # without a bound from above the certificate is open on that side
    half_open = primal_dual(Box(wishes), Utilities(wishes), 6, **options | {"max_steps": 300})
    assert half_open.certificate.upper == math.inf
    assert half_open.certificate.lower == pytest.approx(worst(half_open.x))
    open_ended = primal_dual(Box(wishes), Utilities(wishes), 6, max_steps=300, random_state=0)
    assert open_ended.certificate.gap == math.inf
    limited = primal_dual(Box(wishes), Utilities(wishes), 6, max_reads=41, random_state=0)
    assert limited.status is Status.READS
    assert limited.reads.nnz == 39  # 21 for a step, 18 for half of the next
    assert limited.history[-1].epoch == 2


class Says(Sampler):
    def __init__(self, answer):
        self.answer = answer

    def sample(self, x, rng):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros(3), r"sampler.sample gave an array of shape \(3,\) instead of \(2,\)"),
        (0.0, r"sampler.sample gave an array of shape \(\)"),
        (np.array([0.0, np.nan]), "sampler.sample gave nan at position 1"),
    ],
)
def test_bad_estimates_are_named(answer, message):
    with pytest.raises(ValueError, match=message):
        primal_dual(Still(), Says(answer), 2, max_steps=5)


def test_bad_moves_and_values_are_named():
    class Leaps(Still):
        def update(self, i):
            return np.array([np.inf, 0.0])

    class Shrinks(Still):
        def update(self, i):
            return np.zeros(1)

    estimates = Says(np.zeros(2))
    with pytest.raises(ValueError, match=r"lra\.update gave inf at position 0"):
        primal_dual(Leaps(), estimates, 2, max_steps=5)
    with pytest.raises(ValueError, match=r"lra.update gave an array of shape \(1,\)"):
        primal_dual(Shrinks(), estimates, 2, max_steps=5)
    with pytest.raises(ValueError, match=r"evaluate\(x\) gave nan"):
        primal_dual(Still(), estimates, 2, max_steps=5, evaluate=lambda x: math.nan)
    with pytest.raises(ValueError, match=r"dual\(p\) gave nan"):
        primal_dual(Still(), estimates, 2, max_steps=5, dual=lambda p: math.nan)


# ------------------------------------------------------------------------------------ edge cases


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(
    "A", [[[0.5]], [[0.5], [0.5]], [[0.3, 0.4]], np.zeros((3, 2)), np.full((4, 3), 0.5)]
)
def test_the_smallest_problems(problem, A):
    A = np.asarray(A)
    result = solve(problem, A, eps=0.1, max_steps=20_000, random_state=0)
    assert result.status is Status.CONVERGED
    duplicates = np.repeat(A, 2, axis=0)
    again = solve(problem, duplicates, eps=0.1, max_steps=20_000, random_state=0)
    assert abs(again.certificate.lower - result.certificate.lower) <= 0.2


def test_no_steps_at_all():
    result = solve("game", rows(0), max_steps=0)
    assert result.status is Status.STEPS
    np.testing.assert_allclose(result.x, 1.0 / 6.0)
    np.testing.assert_allclose(result.p, 1.0 / 9.0)
    assert result.reads.nnz == 0


def test_squares_that_are_known_are_not_read():
    A = rows(13)
    told = SquaredDistances(A, squares=(A**2).sum(axis=1))
    told.sample(np.ones(6), np.random.default_rng(0))
    assert told.reads.nnz == 9
    reading = SquaredDistances(A)
    for _ in range(2):
        reading.sample(np.ones(6), np.random.default_rng(0))
    assert reading.reads.nnz == A.size + 2 * 9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda A: Ball(A, q=1.0), "q=1.0"),
        (lambda A: Ball(A, q=3.0), "q=3.0"),
        (lambda A: Ball(A, rows_norm=0.0), "rows_norm=0.0"),
        (lambda A: Simplex(A, rows_norm=math.inf), "rows_norm=inf"),
        (lambda A: InnerProducts(A, q=0.5), "q=0.5"),
        (lambda A: InnerProducts(A, rows_norm=-1.0), "rows_norm=-1.0"),
        (lambda A: SquaredDistances(A, squares=[1.0]), r"squares has shape \(1,\)"),
        (lambda A: Ball([[1.0, math.nan]]), "NaN"),
        (lambda A: solve("margin", A, eps=0.0), "eps=0.0"),
        (lambda A: solve("margin", A, max_reads=-1), "max_reads=-1"),
        (lambda A: solve("margin", A, weights="none"), "weights='none'"),
        (lambda A: primal_dual(Ball(A), InnerProducts(A), 9, steps=0), "steps=0"),
        (lambda A: primal_dual(Ball(A), InnerProducts(A), 0, steps=1), "n=0"),
        (lambda A: primal_dual(Ball(A), InnerProducts(A), 9), "nothing would end this run"),
        (lambda A: primal_dual(Ball(A), InnerProducts(A), 8, steps=9), r"shape \(9,\) instead"),
    ],
)
def test_bad_parameters_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(rows(0))


@pytest.mark.pure_python
def test_the_scheme_in_plain_python():
    for problem in PROBLEMS:
        result = solve(problem, rows(1), eps=1e-9, max_steps=60, random_state=0)
        assert result.certificate.lower <= result.certificate.upper
