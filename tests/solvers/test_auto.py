"""The automatic solver reaches what is asked of it, whatever the loss and the regularizer."""

import numpy as np
import pytest

import reference
from problems import LOSSES, Quartic, make, make_data
from skimlearn.result import Budget, Status
from skimlearn.solvers import auto, choose, dual, newton, pegasos, pgs, sgd
from skimlearn.solvers._run import Start

KINDS = {
    "l2": {},
    "l1.5": {"p": 1.5},
    "l1.1": {"p": 1.1},
    "entropic": {"p": 1.0, "radius": 5.0},
}
GAP = Budget(gap=1e-4, epochs=1000)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", [*LOSSES])
def test_a_certified_gap_for_every_loss_and_regularizer(loss, kind):
    X, y = make_data(loss, 1200, 25)  # too large for Newton's method at once
    for alpha, bias in ((1e-2, "free"), (1e-3, "regularized")):
        problem = make(loss, X, y, bias=bias, alpha=alpha, **KINDS[kind])
        result = auto.solve(problem, GAP, seed=0)
        assert result.status is Status.CONVERGED
        assert 0 <= result.certificate.relative_gap <= 1e-4
        assert result.epochs < 400
        known = ("dual", "newton", "dual+newton") if kind == "l2" else ("pgs", "pgs+dual")
        assert result.solver in known


@pytest.mark.parametrize("loss", [*LOSSES])
def test_small_problems_are_solved_exactly(loss):
    X, y = make_data(loss, 100, 5)
    for bias in ("free", "regularized", "none"):
        result = auto.solve(make(loss, X, y, bias=bias, alpha=1e-3), GAP, seed=0)
        assert result.solver == "newton"
        assert result.certificate.relative_gap <= 1e-9


@pytest.mark.parametrize("bias", ["free", "regularized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "log", "squared", "absolute", "huber", "pinball"])
def test_features_of_very_different_scales(loss, bias):
    X, y = make_data(loss, 1500, 20)
    X = X * np.geomspace(1e-3, 1e4, 20)
    result = auto.solve(make(loss, X, y, bias=bias, alpha=1e-4), GAP, seed=0)
    assert result.status is Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-4
    assert result.solver == "newton"  # dual ascent would take too long: that is known beforehand


def test_a_loss_whose_slope_may_explode():
    """It has neither a bounded slope nor a known curvature: stochastic steps could explode."""
    X, y = make_data("squared", 1200, 25)
    problem = make(Quartic(), X, y, bias="free", alpha=0.01)
    for begin in (
        lambda: sgd.solve(problem, budget=Budget(epochs=1)),
        lambda: pegasos.solve(problem, budget=Budget(epochs=1)),
        lambda: pgs.solve(problem, budget=Budget(epochs=1)),
    ):
        with pytest.raises(ValueError, match=r"slope of loss=Quartic\(\) is unbounded.*curvature"):
            begin()
    for kind in ("l2", "l1.5"):
        problem = make(Quartic(), X, y, bias="free", alpha=0.01, **KINDS[kind])
        for solve in (auto.solve, lambda p, b, seed: dual.solve(p, None, b, seed=seed)):
            result = solve(problem, GAP, seed=0)
            assert result.status is Status.CONVERGED, (kind, solve)
            assert result.certificate.relative_gap <= 1e-4
    small = make(Quartic(), X[:100, :5], y[:100], alpha=0.01)
    assert auto.solve(small, GAP, seed=0).certificate.relative_gap <= 1e-9


def test_the_answer_is_that_of_the_general_solver():
    for loss, kind in (("hinge", "l1.5"), ("log", "entropic"), ("absolute", "l2")):
        X, y = make_data(loss, 30, 4)
        problem = make(loss, X, y, bias="free", alpha=0.05, **KINDS[kind])
        result = auto.solve(problem, Budget(gap=1e-9, epochs=50_000), seed=0)
        best = reference.optimum(X, y, 0.05, loss, bias="free", **KINDS[kind])
        assert result.certificate.primal == pytest.approx(best, rel=2e-9)


def test_a_loose_tolerance_needs_two_epochs():
    X, y = make_data("hinge", 20_000, 10)
    problem = make("hinge", X, y, bias="none", alpha=0.1)
    result = auto.solve(problem, Budget(gap=0.2, epochs=100), seed=0)
    assert result.solver == "dual"
    assert result.epochs <= 2
    assert result.status is Status.CONVERGED


def test_few_reads_are_left_to_a_stochastic_method():
    X, y = make_data("hinge", 2000, 10)
    problem = make("hinge", X, y, bias="none", alpha=0.01)
    for passes, solver in ((0.3, "asgd"), (4.0, "asgd"), (6.0, "dual")):
        result = auto.solve(problem, Budget(gap=1e-9, reads=int(passes * X.size)), seed=0)
        assert result.solver == solver
        assert result.reads.nnz <= passes * X.size


@pytest.mark.parametrize(("loss", "solver"), [("hinge", "dual"), ("log", "newton")])
def test_a_start_at_the_answer_needs_little(loss, solver):
    X, y = make_data(loss, 3000, 25)
    problem = make(loss, X, y, alpha=1e-3)
    first = auto.solve(problem, Budget(gap=1e-6, epochs=1000), seed=0)
    again = auto.solve(problem, GAP, seed=0, start=Start(first.x, first.bias, first.p))
    assert again.solver == solver
    assert again.epochs <= 2
    assert again.certificate.primal <= first.certificate.primal * (1 + 1e-12)


# ------------------------------------------------------------------------------------------ choice


def test_solvers_by_name():
    X, y = make_data("hinge", 50, 3)
    problem = make("hinge", X, y)
    names = {
        name: choose.solve(problem, name, budget=Budget(epochs=1), seed=0).solver
        for name in choose.SOLVERS
    }
    assert names == {name: name for name in choose.SOLVERS} | {"auto": "asgd"}
    with pytest.raises(ValueError, match=r"solver='adam' must be one of .*'auto', 'sgd'"):
        choose.solve(problem, "adam", budget=Budget(epochs=1))


@pytest.mark.parametrize("solver", ["auto", "sgd", "asgd", "casgd", "dual"])
def test_a_batch_size_where_it_has_no_meaning(solver):
    X, y = make_data("hinge", 50, 3)
    with pytest.raises(ValueError, match=f"batch_size=5 has no meaning for solver='{solver}'"):
        choose.solve(make("hinge", X, y), solver, budget=Budget(epochs=1), batch_size=5)


def test_averages_where_they_have_no_meaning():
    X, y = make_data("hinge", 50, 3)
    problem = make("hinge", X, y)
    for solver, average, message in (
        ("auto", "mean", "average='mean' has no meaning for solver='auto'"),
        ("dual", "last", "average='last' has no meaning for solver='dual'"),
        ("sgd", "tail", "use solver='asgd' for an average"),
        ("asgd", "last", "use solver='sgd' for the last iterate"),
        ("asgd", "random", "average='random' must be one of"),
        ("pgs", "first", "average='first' must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            choose.solve(problem, solver, budget=Budget(epochs=1), average=average)


def test_what_is_chosen_reaches_the_solver():
    X, y = make_data("hinge", 50, 3)
    problem = make("hinge", X, y, bias="none")
    budget = Budget(epochs=2)
    for solver, module in (("pegasos", pegasos), ("pgs", pgs)):
        settings = module.Settings(average="mean", batch_size=5)
        direct = module.solve(problem, settings, budget, seed=3)
        chosen = choose.solve(problem, solver, budget=budget, average="mean", batch_size=5, seed=3)
        np.testing.assert_array_equal(direct.x, chosen.x)
    chosen = choose.solve(problem, "asgd", budget=budget, average="mean", seed=3)
    direct = sgd.solve(problem, sgd.Settings(average="mean"), budget, seed=3)
    np.testing.assert_array_equal(direct.x, chosen.x)


@pytest.mark.pure_python
def test_without_the_jit():
    X, y = make_data("hinge", 30, 3)
    assert auto.solve(make("hinge", X, y), GAP, seed=0).status is Status.CONVERGED
    problem = make("hinge", X, y, p=1.5)
    assert auto.solve(problem, Budget(gap=0.01, epochs=100), seed=0).status is Status.CONVERGED


@pytest.mark.pure_python
def test_defaults_end():
    X, y = make_data("log", 30, 3)
    problem = make("log", X, y, bias="regularized")
    for solve in (auto.solve, newton.solve, dual.solve):
        assert solve(problem).certificate.relative_gap <= 1e-3
    for solve in (sgd.solve, pegasos.solve, pgs.solve):
        assert solve(problem).epochs == 10


@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_few_long_rows_do_not_make_all_steps_short(loss):
    X, y = make_data(loss, 3000, 300, density=0.05)
    X[:3] *= 30.0
    problem = make(loss, X, y, bias="none", alpha=1e-5)
    first = auto.solve(problem, Budget(epochs=1), seed=0)
    assert first.solver == "asgd"
    careful = sgd.solve(problem, budget=Budget(epochs=1), seed=0)
    assert first.certificate.primal < 0.8 * careful.certificate.primal
