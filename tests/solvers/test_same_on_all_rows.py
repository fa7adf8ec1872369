"""Dense and sparse rows, in any order and with any index type, give the same answers."""

import numpy as np
import pytest
import scipy.sparse as sp

from problems import close, make, make_data, make_weights
from skimlearn.result import Budget
from skimlearn.solvers import auto, choose, dual, newton, pegasos, sgd

N, D = 90, 6
EPOCHS = Budget(epochs=7)

# every solver, every loss and every bias at least once; "mixed" also on the other kinds of rows
CASES = {
    "sgd": ("hinge", "free", {}, lambda p: choose.solve(p, "sgd", budget=EPOCHS, seed=1)),
    "sgd mixed": ("log", "none", {}, lambda p: choose.solve(p, "sgd", budget=EPOCHS, seed=1)),
    "asgd": (
        "squared_hinge",
        "regularized",
        {},
        lambda p: choose.solve(p, "asgd", budget=EPOCHS, seed=1),
    ),
    "asgd iid": (
        "epsilon_insensitive",
        "free",
        {},
        lambda p: sgd.solve(p, sgd.Settings(sampling="iid"), EPOCHS, seed=1),
    ),
    "casgd": ("huber", "free", {}, lambda p: choose.solve(p, "casgd", budget=EPOCHS, seed=1)),
    "ftrl": ("huber", "free", {}, lambda p: choose.solve(p, "ftrl", budget=EPOCHS, seed=1)),
    "pegasos mixed": (
        "hinge",
        "regularized",
        {},
        lambda p: pegasos.solve(p, pegasos.Settings(project=True, batch_size=4), EPOCHS, seed=1),
    ),
    "pegasos": (
        "absolute",
        "free",
        {},
        lambda p: pegasos.solve(p, pegasos.Settings(average="random"), EPOCHS, seed=1),
    ),
    "pgs l2": (
        "squared",
        "regularized",
        {},
        lambda p: choose.solve(p, "pgs", budget=EPOCHS, seed=1),
    ),
    "pgs lp mixed": (
        "log",
        "free",
        {"p": 1.3},
        lambda p: choose.solve(p, "pgs", budget=EPOCHS, batch_size=3, seed=1),
    ),
    "pgs entropic": (
        "absolute",
        "none",
        {"p": 1.0, "radius": 2.0},
        lambda p: choose.solve(p, "pgs", budget=EPOCHS, average="mean", seed=1),
    ),
    "dual mixed": (
        "hinge",
        "free",
        {},
        lambda p: dual.solve(p, None, Budget(gap=1e-5, epochs=40), seed=1),
    ),
    "dual": ("log", "regularized", {}, lambda p: dual.solve(p, None, EPOCHS, seed=1)),
    "dual lp": (
        "epsilon_insensitive",
        "regularized",
        {"p": 1.5},
        lambda p: dual.solve(p, None, Budget(gap=1e-5, epochs=40), seed=1),
    ),
    "dual entropic": (
        "squared",
        "free",
        {"p": 1.0, "radius": 2.0},
        lambda p: dual.solve(p, None, EPOCHS, seed=1),
    ),
    "newton mixed": ("log", "free", {}, lambda p: newton.solve(p, Budget(gap=1e-9, epochs=99))),
    "newton": ("absolute", "none", {}, lambda p: newton.solve(p, Budget(gap=1e-9, epochs=99))),
    "auto": (
        "hinge",
        "regularized",
        {},
        lambda p: auto.solve(p, Budget(gap=1e-3, epochs=99), seed=1),
    ),
}


def csr(X, index):
    matrix = sp.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def solve(case, rows, y, weights=None):
    loss, bias, parameters, run = CASES[case]
    problem = make(loss, rows, y, bias=bias, alpha=0.02, sample_weight=weights, **parameters)
    return run(problem)


@pytest.mark.parametrize("case", CASES)
def test_dense_and_sparse_agree(case):
    X, y = make_data(CASES[case][0], N, D, density=0.6, offset=0.1)
    X[5] = 0.0
    m = make_weights(N)
    expected = solve(case, X, y, m)
    kinds = {"csr": csr(X, np.int32)}
    if "mixed" in case:
        kinds |= {"fortran": np.asfortranarray(X), "int64": csr(X, np.int64)}
    for kind, rows in kinds.items():
        found = solve(case, rows, y, m)
        assert close((found.x, found.bias), (expected.x, expected.bias)), kind
        assert found.certificate.primal == pytest.approx(expected.certificate.primal, rel=1e-10)
        assert found.certificate.dual == pytest.approx(expected.certificate.dual, rel=1e-9)
        if "newton" not in case:  # which goes on to the last digits
            assert found.epochs == expected.epochs, kind
            assert found.reads.dense == expected.reads.dense, kind
    assert np.abs(expected.x).max() > 0.01


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("case", [case for case in CASES if "mixed" in case])
def test_single_precision_stays_single_and_comes_close(case, sparse):
    X, y = make_data(CASES[case][0], N, D, density=0.6, offset=0.1)
    X = X.astype(np.float32)
    rows = csr(X, np.int32) if sparse else X
    loss, bias, parameters, run = CASES[case]
    problem = make(loss, rows, y, bias=bias, alpha=0.02, **parameters)
    assert problem.rows.values.dtype == np.float32
    assert np.shares_memory(problem.rows.values, rows.data if sparse else rows)
    found = run(problem)
    assert found.x.dtype == np.float64
    exact = solve(case, X.astype(np.float64), y)
    assert close((found.x, found.bias), (exact.x, exact.bias), 1e-10)  # sums are in double
    X64, y = make_data(loss, N, D, density=0.6, offset=0.1)
    rounded = solve(case, X64, y)
    primal = rounded.certificate.primal
    assert found.certificate.primal == pytest.approx(primal, rel=1e-4)
    assert close((found.x, found.bias), (rounded.x, rounded.bias), 1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_rounding_does_not_decide_which_rows_are_visited(seed):
    """Nor when a check is made: shrinking and a free bias follow the same path for all rows."""
    X, y = make_data("hinge", 200, D, seed=seed, density=0.4)
    for case, bias in (("dual mixed", "free"), ("auto", "regularized")):
        dense, sparse = (
            CASES[case][3](make("hinge", rows, y, bias=bias, alpha=0.02))
            for rows in (X, csr(X, np.int32))
        )
        assert close((sparse.x, 0.0), (dense.x, 0.0)), case
        if bias != "free":  # else an interval of them may be best
            assert close((sparse.x, sparse.bias), (dense.x, dense.bias)), case
        assert sparse.epochs == dense.epochs
