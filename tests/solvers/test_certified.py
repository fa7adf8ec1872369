"""The gap is honest: no answer is further from the optimum than its certificate says.

Random problems, every solver, against the optimum of an independent solver.
"""

import functools
import itertools
import math

import pytest

import reference
from problems import NAMES, make, make_data, make_weights
from skimlearn.problem import BIASES
from skimlearn.result import Budget
from skimlearn.solvers import auto, dual, ftrl, newton, pegasos, pgs, sgd

N, D, ALPHA = 14, 3, 0.1
SEEDS = range(4)

STOCHASTIC = {
    "sgd": lambda p, b, s: sgd.solve(p, sgd.Settings(average="last"), b, seed=s),
    "asgd": lambda p, b, s: sgd.solve(p, sgd.Settings(), b, seed=s),
    "asgd iid": lambda p, b, s: sgd.solve(
        p, sgd.Settings(average="mean", sampling="iid"), b, seed=s
    ),
    "casgd": lambda p, b, s: sgd.solve(p, sgd.Settings(centred=True), b, seed=s),
    "ftrl": lambda p, b, s: ftrl.solve(p, ftrl.Settings(), b, seed=s),
    "pegasos": lambda p, b, s: pegasos.solve(p, pegasos.Settings(), b, seed=s),
    "pegasos projected": lambda p, b, s: pegasos.solve(
        p, pegasos.Settings(project=True, batch_size=3, average="last"), b, seed=s
    ),
    "pegasos random": lambda p, b, s: pegasos.solve(
        p, pegasos.Settings(average="random", sampling="iid"), b, seed=s
    ),
    "pgs": lambda p, b, s: pgs.solve(p, pgs.Settings(), b, seed=s),
    "pgs batches": lambda p, b, s: pgs.solve(
        p, pgs.Settings(batch_size=4, average="mean"), b, seed=s
    ),
}
EXACT = {
    "dual": lambda p, b, s: dual.solve(p, dual.Settings(), b, seed=s),
    "newton": lambda p, b, s: newton.solve(p, b, seed=s),
    "auto": lambda p, b, s: auto.solve(p, b, seed=s),
}
KINDS = {
    "l2": {},
    "l1.5": {"p": 1.5},
    "ball": {"p": 1.5, "radius": 0.8},
    "entropic": {"p": 1.0, "radius": 2.0},
}


@functools.cache
def pose(loss, bias, kind, seed):
    """A problem and its optimum."""
    X, y = make_data(loss, N, D, seed=seed, offset=0.3)
    m = make_weights(N, seed) if seed % 2 else None
    problem = make(loss, X, y, bias=bias, alpha=ALPHA, sample_weight=m, **KINDS[kind])
    m = problem.weights
    return problem, reference.optimum(X, y, ALPHA, loss, bias=bias, m=m, **KINDS[kind])


def check(result, best, loss, tight=False):
    primal, low = result.certificate.primal, result.certificate.dual
    assert low <= best + 1e-9
    assert primal >= best - 1e-9
    assert result.certificate.gap >= -1e-12 * abs(primal)
    assert primal - best <= result.certificate.gap + 1e-9
    if tight:
        assert primal - low <= 1e-7 * primal
    for record in result.history:
        assert record.dual <= best + 1e-9 <= record.primal + 2e-9
    # the answer has the value it claims
    assert math.isfinite(primal)


def combinations():
    everything = itertools.product([*NAMES, "pinball"], BIASES)
    some = [("hinge", "none"), ("log", "free"), ("squared", "regularized"), ("absolute", "free")]
    return [(loss, bias, "l2") for loss, bias in everything] + [
        (loss, bias, kind) for loss, bias in some for kind in ("l1.5", "ball", "entropic")
    ]


@pytest.mark.parametrize(("loss", "bias", "kind"), combinations())
def test_the_optimum_lies_in_the_gap(loss, bias, kind):
    for seed in SEEDS:
        problem, best = pose(loss, bias, kind, seed)
        for (name, solve), epochs in itertools.product(STOCHASTIC.items(), (1, 7)):
            if (name == "casgd" and bias != "free") or (kind != "l2" and "pgs" not in name):
                continue
            check(solve(problem, Budget(epochs=epochs), seed), best, loss)
        for name, solve in EXACT.items():
            if name == "newton" and kind != "l2":
                continue
            check(solve(problem, Budget(epochs=2), seed), best, loss)
            check(solve(problem, Budget(gap=1e-8, epochs=9000), seed), best, loss, tight=True)


def test_the_answer_has_the_value_of_its_certificate():
    for loss, bias, seed in itertools.product(NAMES, BIASES, (0, 1)):
        problem, _ = pose(loss, bias, "l2", seed)
        X, m = problem.rows.values, problem.weights
        for name, solve in (STOCHASTIC | EXACT).items():
            if name == "casgd" and bias != "free":
                continue
            result = solve(problem, Budget(epochs=5), seed)
            value = reference.objective(
                X, problem.y, result.x, result.bias, ALPHA, loss, bias=bias, m=m
            )
            assert value == pytest.approx(result.certificate.primal, rel=1e-12), name
            assert bias != "none" or result.bias == 0.0
            a = result.p
            low, high = reference.dual_box(loss, problem.y)
            assert ((a >= low - 1e-9) & (a <= high + 1e-9)).all(), name
            if bias == "free":
                assert abs(m @ a) <= 1e-12 * N, name
