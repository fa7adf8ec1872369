"""Problems at the edge: tiny, empty, one-sided, duplicated, huge. All end, with honest gaps."""

import math
import time

import numpy as np
import pytest
import scipy.sparse as sp

from problems import NAMES, ON_LABELS, make, make_data
from skimlearn.problem import BIASES
from skimlearn.result import Budget
from skimlearn.solvers import choose, newton

SOLVERS = choose.SOLVERS
EXACT = ("auto", "dual")
BUDGET = Budget(gap=1e-6, epochs=400)


def solve(solver, problem, budget=BUDGET):
    """Solve, unless the solver does not take the problem; check what must always hold."""
    if solver == "casgd" and problem.bias != "free":
        return None
    began = time.perf_counter()
    result = choose.solve(problem, solver, budget=budget, seed=0)
    assert time.perf_counter() - began < 30
    certificate = result.certificate
    assert np.isfinite(result.x).all()
    assert math.isfinite(result.bias)
    assert math.isfinite(certificate.primal)
    assert certificate.gap >= -1e-11 * abs(certificate.primal) - 1e-300
    return result


def check(problem, target=1e-6):
    """Solve with all solvers: the exact ones reach the target, the others agree with them."""
    results = {solver: solve(solver, problem) for solver in SOLVERS}
    for solver in EXACT:
        certificate = results[solver].certificate
        assert certificate.relative_gap <= target or certificate.gap <= 1e-12, solver
    best = results["auto"].certificate
    for solver, result in results.items():
        if result is not None:
            assert result.certificate.primal >= best.dual - 1e-12 * abs(best.dual), solver
            assert result.certificate.dual <= best.primal + 1e-12 * abs(best.primal), solver
    return results


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "log", "squared", "absolute"])
def test_one_row(loss, bias):
    y = np.array([1.0 if loss in ON_LABELS else 2.5])
    results = check(make(loss, np.array([[1.0, -2.0, 0.5]]), y, bias=bias, alpha=0.01))
    if bias == "free":  # the bias alone fits
        assert results["auto"].certificate.primal <= 1e-9


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "log", "squared", "absolute"])
def test_one_column(loss, bias):
    X, y = make_data(loss, 50, 1)
    check(make(loss, X, y, bias=bias, alpha=0.01))


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", NAMES)
def test_a_matrix_of_zeros(loss, bias):
    _, y = make_data(loss, 30, 4)
    X = np.zeros((30, 4))
    if loss in ("hinge", "log"):
        check(make(loss, sp.csr_array(X), y, bias=bias, alpha=0.01))
    results = check(make(loss, X, y, bias=bias, alpha=0.01))
    np.testing.assert_array_equal(results["auto"].x, 0.0)
    if loss == "squared" and bias == "free":
        assert results["auto"].bias == pytest.approx(y.mean(), rel=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_empty_rows_among_others(loss):
    X, y = make_data(loss, 40, 4, density=0.3)
    X[::3] = 0.0
    check(make(loss, sp.csr_array(X), y, bias="free", alpha=0.01))


@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ON_LABELS)
def test_one_label_only(loss, bias, label):
    X, _ = make_data(loss, 30, 4)
    results = check(make(loss, X, np.full(30, label), bias=bias, alpha=0.01))
    if bias == "free":  # the optimum is zero: a bias alone separates, as far as one likes
        for result in results.values():
            assert result.certificate.primal <= 1e-9
            assert math.copysign(1.0, result.bias) == label


@pytest.mark.parametrize("loss", ["hinge", "log", "absolute"])
def test_duplicated_rows(loss):
    """Also such as contradict each other: the optimum is that of the distinct ones."""
    X, y = make_data(loss, 20, 3)
    once = check(make(loss, X, y, bias="free", alpha=0.05))["auto"]
    many = check(make(loss, np.repeat(X, 20, axis=0), np.repeat(y, 20), bias="free", alpha=0.05))
    assert many["auto"].certificate.primal == pytest.approx(once.certificate.primal, rel=2e-6)
    both = make(loss, np.repeat(X, 2, axis=0), np.tile([1.0, -1.0], 20), bias="free", alpha=0.05)
    check(both)


@pytest.mark.parametrize("loss", ["hinge", "log", "squared"])
def test_a_constant_column_beside_a_free_bias(loss):
    X, y = make_data(loss, 60, 3)
    X = np.c_[X, np.full(60, 3.0)]
    result = check(make(loss, X, y, bias="free", alpha=0.01), 1e-4)["auto"]
    # whatever the column could do, the bias does for nothing
    assert abs(result.x[3]) <= 1e-2 * np.abs(result.x).max()


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "epsilon_insensitive"])
@pytest.mark.parametrize("bias", BIASES)
def test_huge_targets(loss, bias):
    X, y = make_data(loss, 60, 3)
    problem = make(loss, X, 1e8 * (y + 3.0), bias=bias, alpha=0.01)
    for solver in SOLVERS:
        result = solve(solver, problem)
        if solver == "auto":
            assert result.certificate.relative_gap <= 1e-6
    unit = newton.solve(make("squared", X, y + 3.0, bias=bias, alpha=0.01))
    if loss == "squared":
        huge = newton.solve(problem)
        np.testing.assert_allclose(huge.x, 1e8 * unit.x, rtol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "log", "squared", "absolute"])
@pytest.mark.parametrize("bias", ["free", "regularized"])
def test_a_tiny_alpha_ends(loss, bias):
    X, y = make_data(loss, 60, 3)
    problem = make(loss, X, y, bias=bias, alpha=1e-12)
    for solver in SOLVERS:
        result = solve(solver, problem)
        assert result is None or result.certificate.primal <= 1e3
        if solver == "auto":  # which has Newton's method for it
            assert result.certificate.relative_gap <= 1e-4


def test_a_huge_alpha_gives_zero_weights():
    X, y = make_data("log", 60, 3)
    for result in check(make("log", X, y, bias="free", alpha=1e12)).values():
        assert np.abs(result.x).max() <= 1e-10
        assert result.certificate.primal <= math.log(2) + 1e-9


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "log", "absolute"])
def test_all_weights_but_one_are_zero(loss, bias):
    X, y = make_data(loss, 20, 3)
    m = np.zeros(20)
    m[7] = 5.0
    problem = make(loss, X, y, sample_weight=m, bias=bias, alpha=0.01)
    alone = make(loss, X[7:8], y[7:8], bias=bias, alpha=0.01)
    results = check(problem)
    value = newton.solve(alone, BUDGET).certificate.primal
    assert results["auto"].certificate.primal == pytest.approx(value, rel=1e-5, abs=1e-12)


def test_separable_data_with_a_free_bias_and_little_regularisation():
    X, _ = make_data("hinge", 80, 3)
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    for loss in ON_LABELS:
        problem = make(loss, X, y, bias="free", alpha=1e-6)
        for solver in SOLVERS:
            result = solve(solver, problem)
            assert result.certificate.primal <= 1.0
            if solver == "auto":
                assert result.certificate.relative_gap <= 1e-4


@pytest.mark.parametrize("solver", SOLVERS)
def test_features_that_are_all_tiny(solver):
    X, y = make_data("squared", 60, 3)
    tiny = make("squared", 1e-9 * X, y, bias="free", alpha=1e-18 * 0.01)
    unit = make("squared", X, y, bias="free", alpha=0.01)
    one, other = solve(solver, tiny), solve(solver, unit)
    assert one.certificate.primal <= 0.5 * y.var() * (1 + 1e-12)
    if solver in EXACT:
        assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-5)
