"""Dual coordinate ascent: step by step against naive proximal SDCA, shrinking, starts."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from problems import LOSSES, close, make, make_data, make_weights
from skimlearn import certificates
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES
from skimlearn.result import Budget, Status
from skimlearn.solvers import dual
from skimlearn.solvers._run import Run, Start

N, D, ALPHA = 24, 4, 0.05
KINDS = {"l2": {"p": 2.0}, "l1.5": {"p": 1.5}, "entropic": {"p": 1.0, "radius": 3.0}}


def begin(problem, start=None, **settings):
    return dual.DualAscent(problem, Ledger(problem.rows), dual.Settings(**settings), start)


# ------------------------------------------------------------------------------------ step by step


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared", "absolute", "log"])
def test_every_step_is_that_of_naive_sdca(loss, kind, bias):
    X, y = make_data(loss, N, D, density=0.7)
    X[3, 0] += 0.1
    m = make_weights(N) if loss in ("hinge", "squared") else None
    problem = make(loss, X, y, bias=bias, alpha=ALPHA, sample_weight=m, **KINDS[kind])
    method = begin(problem, shrinking=False)
    rng = np.random.default_rng(0)
    visited = np.flatnonzero(problem.weights > 0)
    orders = []
    for _ in range(5):
        orders.append(method.order(rng))
        np.testing.assert_array_equal(np.sort(orders[-1]), visited)
        method.visit(orders[-1])
    a, w, b = reference.dual_ascent(X, y, orders, ALPHA, loss, bias=bias, m=m, **KINDS[kind])
    assert np.abs(method.a - a).max() <= 1e-10 * np.abs(a).max()
    assert close(method.answer(), (w, b))
    assert np.abs(a).max() > 0.1


@pytest.mark.pure_python
@pytest.mark.parametrize("kind", KINDS)
def test_steps_without_the_jit(kind):
    X, y = make_data("absolute", 10, 3)
    problem = make("absolute", sp.csr_array(X), y, bias="free", alpha=ALPHA, **KINDS[kind])
    method = begin(problem)
    orders = []
    for seed in range(3):
        orders.append(method.order(np.random.default_rng(seed)))
        method.visit(orders[-1])
    expected = reference.dual_ascent(X, y, orders, ALPHA, "absolute", bias="free", **KINDS[kind])
    assert close(method.answer(), expected[1:])
    result = dual.solve(problem, budget=Budget(gap=1e-3, epochs=500), seed=0)
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", ["none", "regularized"])
def test_a_visit_never_lowers_the_dual(bias, kind):
    X, y = make_data("hinge", N, D)
    problem = make("hinge", X, y, bias=bias, alpha=ALPHA, **KINDS[kind])
    method = begin(problem)
    rng = np.random.default_rng(0)
    before = 0.0
    for _ in range(4):
        for i in method.order(rng):
            method.visit(np.array([i]))
            value = certificates.dual(problem, method.a).value
            assert value >= before - 1e-14
            before = value
    assert before > 0.1


def test_a_visit_to_a_row_is_exact_for_l2():
    """No other value of the row's variable gives a better dual."""
    X, y = make_data("log", N, D)
    problem = make("log", X, y, bias="regularized", alpha=ALPHA)
    method = begin(problem)
    method.visit(np.arange(N))
    method.visit(np.array([7]))
    best = certificates.dual(problem, method.a).value
    for change in (-1e-3, -1e-5, 1e-5, 1e-3):
        a = method.a.copy()
        a[7] += change
        assert certificates.dual(problem, a).value < best


# ----------------------------------------------------------------------------------- convergence


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", [*LOSSES])
def test_any_gap_is_reached(loss, bias):
    X, y = make_data(loss, 80, 4)
    problem = make(loss, X, y, bias=bias, alpha=0.02)
    result = dual.solve(problem, budget=Budget(gap=1e-9, epochs=20_000), seed=0)
    assert result.status is Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-9
    if loss != "log_cosh":
        m = np.ones(80)
        value = reference.objective(X, y, result.x, result.bias, 0.02, loss, bias=bias, m=m)
        assert value == pytest.approx(result.certificate.primal, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_shrinking_changes_the_reads_but_not_the_answer(loss, kind):
    X, y = make_data(loss, 300, 5, length=5.0)
    results = {}
    for shrinking in (False, True):
        problem = make(loss, X, y, bias="regularized", alpha=0.01, **KINDS[kind])
        results[shrinking] = dual.solve(
            problem, dual.Settings(shrinking=shrinking), Budget(gap=1e-6, epochs=20_000), seed=0
        )
        assert results[shrinking].status is Status.CONVERGED
    assert results[True].reads.nnz < 0.8 * results[False].reads.nnz
    assert results[True].certificate.primal == pytest.approx(
        results[False].certificate.primal, rel=2e-6
    )


@pytest.mark.pure_python
def test_rows_put_aside_too_early_come_back(monkeypatch):
    """Put aside all that a visit would not move just now: the checks bring back what is needed."""
    monkeypatch.setattr(dual, "STAY", 0.0)
    monkeypatch.setattr(dual, "RETURN", 0.0)
    X, y = make_data("hinge", 30, 3)
    problem = make("hinge", X, y, bias="none", alpha=0.01)
    run = Run(problem, Budget(gap=1e-5, epochs=3000), seed=0)
    method = dual.DualAscent(problem, run.ledger, dual.Settings())
    method.rows_left = np.arange(3)  # and these few are not enough to begin with
    result = run.stage(method).result()
    assert result.status is Status.CONVERGED
    assert np.count_nonzero(method.a[3:]) > 3
    low = reference.optimum(X, y, 0.01, "hinge", bias="none")
    assert low - 1e-9 <= result.certificate.primal <= low * (1 + 1e-5)


# --------------------------------------------------------------------------------- sample weights


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_integer_weights_are_repeated_rows(loss, bias, kind):
    X, y = make_data(loss, N, D)
    counts = np.random.default_rng(1).integers(0, 4, N)
    budget = Budget(gap=1e-11, epochs=50_000)
    common = {"bias": bias, "alpha": ALPHA, **KINDS[kind]}
    one = dual.solve(make(loss, X, y, sample_weight=counts, **common), budget=budget, seed=0)
    two = dual.solve(
        make(loss, X.repeat(counts, 0), y.repeat(counts), **common), budget=budget, seed=1
    )
    assert one.certificate.primal == pytest.approx(two.certificate.primal, rel=1e-10)
    assert close((one.x, 0.0), (two.x, 0.0), 1e-4)
    if loss == "squared":  # the bias of the hinge need not be unique
        assert close((one.x, one.bias), (two.x, two.bias), 1e-4)


@pytest.mark.parametrize("bias", BIASES)
def test_rows_of_weight_zero_have_no_influence(bias):
    X, y = make_data("absolute", N, D)
    m = np.ones(N)
    m[::3] = 0.0
    wild_X, wild_y = X.copy(), y.copy()
    wild_X[::3], wild_y[::3] = 1e3, -1e6
    results = [
        dual.solve(make("absolute", A, t, sample_weight=weights, bias=bias, alpha=ALPHA),
                   budget=Budget(gap=1e-10, epochs=20_000), seed=0)
        for A, t, weights in ((wild_X, wild_y, m), (X[m > 0], y[m > 0], None))
    ]  # fmt: skip
    values = [result.certificate.primal for result in results]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    assert close((results[0].x, 0.0), (results[1].x, 0.0), 1e-4)


# -------------------------------------------------------------------------------------------- start


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bias", BIASES)
def test_a_start_at_the_optimum_ends_at_once(bias, kind):
    X, y = make_data("hinge", 60, 4)
    problem = make("hinge", X, y, bias=bias, alpha=0.002, **KINDS[kind])
    first = dual.solve(problem, budget=Budget(gap=1e-8, epochs=20_000), seed=0)
    assert first.status is Status.CONVERGED
    start = Start(first.x, first.bias, first.p)
    again = dual.solve(problem, budget=Budget(gap=1e-6, epochs=20_000), seed=1, start=start)
    assert again.status is Status.CONVERGED
    assert again.epochs <= 3 < first.epochs


def test_a_start_without_dual_variables_takes_the_slopes():
    X, y = make_data("squared", 60, 4)
    problem = make("squared", X, y, alpha=ALPHA)
    first = dual.solve(problem, budget=Budget(gap=1e-12, epochs=5000), seed=0)
    method = begin(problem, Start(first.x, first.bias))
    assert close(method.answer(), (first.x, first.bias), 1e-4)
    again = dual.solve(
        problem, budget=Budget(gap=1e-6, epochs=5000), seed=1, start=Start(first.x, first.bias)
    )
    assert again.epochs <= 3


def test_start_variables_outside_the_domain_are_moved_into_it():
    X, y = make_data("hinge", 20, 4)
    problem = make("hinge", X, y, bias="regularized", alpha=ALPHA)
    method = begin(problem, Start(np.zeros(4), 0.0, np.full(20, 7.0)))
    assert ((method.a * y >= 0) & (method.a * y <= 1)).all()
    w = X.T @ method.a / (ALPHA * 20)
    assert close(method.answer(), (w, method.a.sum() / (ALPHA * 20)))


# -------------------------------------------------------------------------------------------- entry


def test_step_sizes_on_paper():
    X, y = make_data("hinge", N, D)
    m = make_weights(N)
    for p, q in ((2.0, 2.0), (1.5, 3.0)):
        method = begin(make("hinge", X, y, bias="none", alpha=ALPHA, sample_weight=m, p=p))
        norms = np.linalg.norm(X, q, axis=1)
        np.testing.assert_allclose(method.h, m * norms**2 / (ALPHA * N), rtol=1e-12)
    method = begin(make("hinge", X, y, bias="regularized", alpha=ALPHA, p=1.0, radius=math.pi))
    expected = (np.abs(X).max(axis=1) ** 2 + 1) / (ALPHA * N)
    np.testing.assert_allclose(method.h, expected, rtol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "log", "squared"])
def test_a_strong_regularizer_is_checked_after_one_epoch(loss):
    """Where 1 / (alpha n) is below the tolerance, one epoch leaves about that gap."""
    X, y = make_data(loss, 2000, 4)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    problem = make(loss, X, y, bias="none", alpha=0.1)
    loose = dual.solve(problem, budget=Budget(gap=0.02, epochs=50), seed=0)
    assert loose.status is Status.CONVERGED
    assert loose.epochs == 1.0
    tight = dual.solve(problem, budget=Budget(gap=0.001, epochs=50), seed=0)
    assert tight.status is Status.CONVERGED
    assert tight.history[0].epoch > 1.0  # a check after the first would have been in vain


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("loss", ["squared", "log"])
def test_an_epoch_after_a_check_is_checked_in_time(loss, seed):
    """Where nothing is put aside, its visits tell as much as those of the epochs before."""
    X, y = make_data(loss, 2000, 20, seed=seed)
    problem = make(loss, X, y, bias="none", alpha=3e-3)
    gaps = [
        dual.solve(problem, budget=Budget(epochs=k), seed=0).certificate.relative_gap
        for k in range(1, 7)
    ]
    too_many = 0.0
    for tol in (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5):
        result = dual.solve(problem, budget=Budget(gap=tol, epochs=100), seed=0)
        too_many += result.epochs - (np.array(gaps) > tol).sum() - 1
    assert too_many <= 1
