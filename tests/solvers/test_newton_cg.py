"""Newton's method with conjugate gradients: step by step, to the optimum, and what it proves."""

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from problems import LogCosh, Pinball, close, make, make_data, make_weights
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES
from skimlearn.result import Budget, Status
from skimlearn.solvers import auto, dual, newton, newton_cg, sgd
from skimlearn.solvers._run import Start

SMOOTH = ["squared", "squared_hinge", "log", "huber"]
KINKED = ["hinge", "absolute", "epsilon_insensitive", LogCosh()]  # or it does not say how it bends
SCALES = np.geomspace(0.05, 3.0, 8)


def problem_of(loss, bias, *, n=60, seed=0, alpha=0.01, weighted=True, form=np.asarray):
    X, y = make_data(loss, n, 8, seed=seed, offset=0.2, density=0.6)
    m = make_weights(n, seed) if weighted else np.ones(n)
    X = X * SCALES
    return make(loss, form(X), y, bias=bias, alpha=alpha, sample_weight=m), X, y, m


@pytest.mark.pure_python
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", SMOOTH)
def test_the_inner_iterations_are_those_of_a_textbook(loss, bias):
    problem, X, y, m = problem_of(loss, bias)
    start = Start(np.random.default_rng(0).normal(size=8), 0.0 if bias == "none" else 0.3)
    method = newton_cg.NewtonCg(problem, Ledger(problem.rows), start)
    method.visit(np.arange(problem.n))  # the model
    x = start.w if bias == "none" else np.append(start.w, start.b)
    g, H = reference.model(X, y, x, problem.alpha, loss, bias, m)
    k = len(x)
    assert method.residual[:k] == pytest.approx(-g, rel=1e-10)
    assert method.diagonal[:k] == pytest.approx(np.diag(H), rel=1e-10)
    for point in reference.conjugate_gradients(H, g, 3):
        if method.fresh:  # the inner iterations have ended
            break
        method.visit(np.arange(problem.n))
        step = method.x[:k] - x if method.exact else method.step[:k]
        assert step == pytest.approx(point, rel=1e-8, abs=1e-10)
        assert method.gained == pytest.approx(-0.5 * (g @ point), rel=1e-9)


@pytest.mark.pure_python
def test_a_free_bias_is_damped_in_the_model_alone_that_needs_it():
    """Far from all targets no row bends; the models after that one are those of the problem."""
    X, y = make_data("absolute", 60, 8, offset=0.2)
    problem = make("absolute", X, y + 100.0, bias="free", alpha=0.01)
    method = newton_cg.NewtonCg(problem, Ledger(problem.rows), Start(np.zeros(8), 0.0))
    flat = bent = 0
    for _ in range(40):
        method.visit(np.arange(problem.n))
        if method.fresh or method.iterations > 0:
            continue  # there is no new model
        bends = method.term.bend.sum()
        flat, bent = flat + (bends == 0.0), bent + (bends > 0.0)
        w, b = method.x[:-1], method.x[-1]
        assert method.residual[-1] == pytest.approx(method.term.new_a.mean(), rel=1e-10, abs=1e-14)
        assert method.diagonal[-1] == pytest.approx(bends, rel=1e-10) or bends == 0.0
        primal = np.abs(X @ w + b - problem.y).mean() + 0.5 * problem.alpha * (w @ w)
        assert method.value == pytest.approx(primal, rel=1e-10)
    assert flat
    assert bent > 1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", [*SMOOTH, *KINKED])
def test_the_optimum_is_that_of_the_exact_method(loss, bias, weighted):
    problem, *_ = problem_of(loss, bias, weighted=weighted)
    found = newton_cg.solve(problem, Budget(gap=1e-9, epochs=2000))
    exact = newton.solve(problem, Budget(gap=1e-12, epochs=2000))
    assert found.status is Status.CONVERGED
    assert 0.0 <= found.certificate.gap <= 1e-9 * found.certificate.primal
    assert found.certificate.primal == pytest.approx(exact.certificate.primal, rel=1e-9)
    assert close((found.x, found.bias), (exact.x, exact.bias), 1e-3)


@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive"])
def test_steps_do_not_go_back_and_forth_between_two_pieces(loss):
    """Directions that are as rough in every step take more than 2,000 passes in some of these."""
    for seed in range(10):
        for bias in ("free", "regularized"):
            problem, *_ = problem_of(loss, bias, seed=seed)
            found = newton_cg.solve(problem, Budget(gap=1e-9, epochs=600))
            assert found.status is Status.CONVERGED


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", [*SMOOTH, *KINKED])
def test_certificates_hold_wherever_the_run_ends(loss, bias):
    for seed in range(8):
        problem, *_ = problem_of(loss, bias, seed=seed, alpha=10.0 ** -(1 + seed % 5))
        best = newton.solve(problem, Budget(gap=1e-12, epochs=2000)).certificate.primal
        for budget in (Budget(epochs=1), Budget(epochs=4), Budget(gap=0.3), Budget(gap=1e-3)):
            certificate = newton_cg.solve(problem, budget).certificate
            assert certificate.dual <= best * (1 + 1e-11)
            assert certificate.primal >= best * (1 - 1e-11)


@pytest.mark.parametrize("loss", [*SMOOTH, *KINKED])
def test_dense_and_sparse_rows_give_the_same_numbers(loss):
    dense, *_ = problem_of(loss, "free")
    sparse, *_ = problem_of(loss, "free", form=sp.csr_matrix)
    budget = Budget(epochs=9)
    first, second = newton_cg.solve(dense, budget), newton_cg.solve(sparse, budget)
    assert first.x == pytest.approx(second.x, rel=1e-9)
    assert first.certificate.dual == pytest.approx(second.certificate.dual, rel=1e-9)


def test_squared_losses_end_after_as_many_passes_as_there_are_features():
    problem, *_ = problem_of("squared", "none", weighted=False)
    result = newton_cg.solve(problem, Budget(gap=1e-10, epochs=100))
    assert result.epochs <= 8 + 1
    assert result.reads.nnz == round(result.epochs) * problem.n * 8


def test_far_fewer_passes_than_dual_ascent_where_alpha_is_small():
    X, y = make_data("squared", 400, 40, density=0.5)
    problem = make("squared", X, y, bias="none", alpha=1e-5)
    budget = Budget(gap=1e-3, epochs=5000)
    passes = newton_cg.solve(problem, budget).epochs
    assert passes < 0.2 * dual.solve(problem, budget=budget, seed=0).epochs


def test_a_start_at_the_answer_is_certified_at_once():
    problem, *_ = problem_of("log", "free")
    first = newton_cg.solve(problem, Budget(gap=1e-8, epochs=1000))
    again = newton_cg.solve(problem, Budget(gap=1e-6), start=Start(first.x, first.bias))
    assert again.status is Status.CONVERGED
    assert again.epochs <= 2


@pytest.mark.parametrize("loss", ["absolute", "epsilon_insensitive"])
def test_a_start_far_from_all_targets_does_not_stall(loss):
    X, y = make_data(loss, 300, 20, offset=0.2)
    problem = make(loss, X, y + 100.0, bias="free", alpha=0.1)
    budget = Budget(gap=1e-4, epochs=3000)
    result = newton_cg.solve(problem, budget, start=Start(np.zeros(20), 0.0))
    assert result.status is Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-4


def test_what_it_cannot_do_is_refused():
    X, y = make_data("log", 30, 3)
    with pytest.raises(ValueError, match=r"p=2 and no radius"):
        newton_cg.solve(make("log", X, y, p=1.5))


@pytest.mark.parametrize(
    ("loss", "alpha", "solver"),
    [
        ("squared", 1e-1, "dual"),
        ("squared", 1e-5, "newton-cg"),
        ("log", 1e-6, "columns+newton-cg"),
        ("hinge", 1e-5, "dual"),
        ("absolute", 1e-2, "dual"),
        ("absolute", 1e-6, "newton-cg"),
    ],
)
def test_the_default_takes_it_where_dual_ascent_would_be_slow(loss, alpha, solver):
    rng = np.random.default_rng(0)
    n = 4000 if loss != "absolute" else 20_000
    X = sp.random(n, 2500, density=0.008, random_state=rng, format="csr")
    y = np.where(X @ rng.normal(size=2500) > 0.0, 1.0, -1.0)
    problem = make(loss, X, y, bias="none", alpha=alpha)
    result = auto.solve(problem, Budget(gap=1e-3, epochs=1000), seed=0)
    assert result.solver == solver
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize("bias", ["none", "regularized"])
def test_bends_are_taken_over_the_last_step(bias):
    """A kink that is nearer than a response went counts, and one that is farther does not."""
    X, y = make_data("absolute", 60, 8, offset=0.2)
    problem = make("absolute", X, y, bias=bias, alpha=0.01)
    method = newton_cg.NewtonCg(problem, Ledger(problem.rows))
    seen, before = 0, method.z + method.x[-1]
    for _ in range(60):
        method.visit(np.arange(problem.n))
        if method.fresh or method.iterations > 0:
            continue
        a, h, z = method.term.a, method.term.h, method.z + method.x[-1]
        side = np.maximum(np.abs(z - before), np.minimum(1e-6 * (1.0 + np.abs(z)), 1e-4 * h))
        seen, before = seen + np.any(z != before), z
        # the slopes of |z - y| with a term: steps of a, and no more than 1 on either side
        low, high = (np.clip(a - (z + s - problem.y) / h, -1.0, 1.0) for s in (side, -side))
        bends = problem.weights / problem.n * (high - low) / (2.0 * side)
        assert method.term.bend == pytest.approx(bends, rel=1e-5, abs=1e-7)
    assert seen > 3


def test_rough_directions_are_enough_where_few_rows_bend():
    """Exact ones took 2,598 passes: hundreds in each step of the last rounds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 500)) * np.logspace(0, -2, 500)
    y = X @ rng.normal(size=500) + rng.standard_t(2.0, size=2000)
    problem = make("absolute", X, y / y.std(), bias="none", alpha=1e-6)
    result = newton_cg.solve(problem, Budget(gap=1e-3, epochs=1600), seed=0)
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize("epochs", [None, 100, 1000])
def test_a_slow_regression_with_a_loss_of_ones_own(epochs):
    """Its dual steps are searches, but it has kinks: no columns, which need a smooth loss."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 300))
    y = X @ rng.normal(size=300) + rng.standard_t(3.0, size=2000)
    problem = make(Pinball(), X, y, bias="free", alpha=1e-4)
    result = auto.solve(problem, Budget(gap=1e-2, epochs=epochs), seed=0)
    assert "columns" not in result.solver
    best = newton.solve(problem, Budget(gap=1e-9, epochs=2000)).certificate.primal
    assert result.certificate.dual <= best * (1 + 1e-9)
    assert result.certificate.primal >= best * (1 - 1e-9)


def test_few_epochs_of_a_slow_regression_are_left_to_a_stochastic_method():
    """Dual ascent is far from the optimum for a hundred epochs there; SGD is not."""
    rng = np.random.default_rng(0)
    X = sp.random(4000, 50, density=0.2, random_state=rng, format="csr")
    y = X @ rng.normal(size=50) + 0.1 * rng.standard_t(3.0, size=4000)
    problem = make("absolute", X, y, bias="none", alpha=1e-7)
    best = newton.solve(problem, Budget(gap=1e-6, epochs=2000)).certificate.primal
    few = auto.solve(problem, Budget(epochs=20), seed=0)
    assert few.solver == "asgd"
    assert few.certificate.primal < 1.05 * best
    assert dual.solve(problem, budget=Budget(epochs=20), seed=0).certificate.primal > 1.2 * best


def test_some_epochs_of_a_squared_loss_are_enough_for_conjugate_gradients():
    rng = np.random.default_rng(0)
    X = sp.random(4000, 2500, density=0.008, random_state=rng, format="csr")
    y = X @ rng.normal(size=2500) + 0.1 * rng.normal(size=4000)
    problem = make("squared", X, y, bias="none", alpha=1e-5)
    found = {k: auto.solve(problem, Budget(epochs=k), seed=0) for k in (5, 6)}
    assert {k: result.solver for k, result in found.items()} == {5: "asgd", 6: "newton-cg"}
    alone = sgd.solve(problem, sgd.Settings(), Budget(epochs=6), seed=0)
    assert found[6].certificate.primal < alone.certificate.primal


@pytest.mark.parametrize("loss", ["squared", "log"])
def test_rows_with_directions_of_their_own_are_left_to_dual_ascent(loss):
    """Many features for a row, each in few rows: what lengths say of dual ascent is wrong."""
    rng = np.random.default_rng(0)
    X = sp.random(600, 6000, density=0.02, random_state=rng, format="csr")
    y = np.where(X @ rng.normal(size=6000) > 0.0, 1.0, -1.0)
    problem = make(loss, X, y, bias="none", alpha=1e-4)
    result = auto.solve(problem, Budget(gap=1e-3, epochs=1000), seed=0)
    assert result.solver == "dual"
    passes = newton_cg.solve(problem, Budget(gap=1e-3, epochs=1000), seed=0).epochs
    assert result.epochs < 0.7 * passes
    dense = make(loss, X.toarray() + 0.01, y, bias="none", alpha=1e-4)  # all features in all rows
    assert auto.solve(dense, Budget(gap=1e-3, epochs=1000), seed=0).solver != "dual"
