"""Coordinate descent over columns: pass by pass, to the optimum, and where it ends."""

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from problems import LogCosh, make, make_data, make_weights
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES
from skimlearn.result import Budget, Status
from skimlearn.solvers import auto, column_descent, newton
from skimlearn.solvers._run import Start

SMOOTH = ["squared", "squared_hinge", "log", "huber"]
SCALES = np.geomspace(0.3, 3.0, 8)


def problem_of(loss, bias, *, n=60, seed=0, alpha=0.01, weighted=True, form=np.asarray):
    X, y = make_data(loss, n, 8, seed=seed, offset=0.2, density=0.6)
    m = make_weights(n, seed) if weighted else np.ones(n)
    X = X * SCALES
    return make(loss, form(X), y, bias=bias, alpha=alpha, sample_weight=m), X, y, m


def begun(problem, start=None):
    return column_descent.ColumnDescent(problem, Ledger(problem.rows), start)


@pytest.mark.pure_python
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", SMOOTH)
def test_a_block_is_that_of_a_textbook(loss, bias):
    problem, X, y, m = problem_of(loss, bias)
    rng = np.random.default_rng(0)
    start = Start(rng.normal(size=8), 0.0 if bias == "none" else 0.3)
    method = begun(problem, start)
    part = rng.permutation(8)
    method.sequence, method.blocks = part, 1
    method.gains.append(np.inf)  # the first pass, in more blocks, is over
    method.visit(np.arange(problem.n))
    w, b = reference.column_pass(
        X, y, start, problem.alpha, loss, bias, m, part, method.reach, problem.loss.curvature()
    )
    step = w - start.w  # that of the whole block may be made shorter or longer
    length = float((method.w - start.w) @ step / (step @ step))
    assert 0.1 <= length <= 2.0
    assert method.w == pytest.approx(start.w + length * (w - start.w), rel=1e-9)
    assert method.b == pytest.approx(start.b + length * (b - start.b), rel=1e-9)
    assert method.z == pytest.approx(X @ method.w, rel=1e-9, abs=1e-9)
    slopes = m * reference.SLOPES[loss](method.z + method.b, y) / len(y)
    assert method.slopes == pytest.approx(slopes, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", SMOOTH)
def test_passes_without_end_lead_to_the_optimum(loss, bias, weighted):
    problem, *_ = problem_of(loss, bias, weighted=weighted)
    exact = newton.solve(problem, Budget(gap=1e-12, epochs=2000))
    method, rng = begun(problem), np.random.default_rng(0)
    for _ in range(400):
        method.visit(method.order(rng))
    assert method.w == pytest.approx(exact.x, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", SMOOTH)
def test_every_block_goes_down(loss, bias):
    problem, X, y, m = problem_of(loss, bias, alpha=1e-4)
    method, rng = begun(problem), np.random.default_rng(1)
    values = []
    for _ in range(12):
        method.visit(method.order(rng))
        w, b = method.answer()
        values.append(reference.objective(X, y, w, b, problem.alpha, loss, bias=bias, m=m))
    assert (np.diff(values) <= 1e-12 * values[0]).all()


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", SMOOTH)
def test_certificates_hold_wherever_the_run_ends(loss, bias):
    for seed in range(8):
        problem, *_ = problem_of(loss, bias, seed=seed, alpha=10.0 ** -(1 + seed % 5))
        best = newton.solve(problem, Budget(gap=1e-12, epochs=2000)).certificate.primal
        for budget in (Budget(epochs=1), Budget(epochs=4), Budget(gap=0.3), Budget(gap=1e-3)):
            certificate = column_descent.solve(problem, budget, seed=0).certificate
            assert certificate.dual <= best * (1 + 1e-11)
            assert certificate.primal >= best * (1 - 1e-11)


@pytest.mark.parametrize("loss", SMOOTH)
def test_dense_and_sparse_rows_give_the_same_numbers(loss):
    dense, *_ = problem_of(loss, "free")
    sparse, *_ = problem_of(loss, "free", form=sp.csr_matrix)
    budget = Budget(epochs=5)
    first, second = (column_descent.solve(p, budget, seed=0) for p in (dense, sparse))
    assert first.x == pytest.approx(second.x, rel=1e-9)
    assert first.certificate.dual == pytest.approx(second.certificate.dual, rel=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_pass_reads_every_entry_once(form):
    problem, X, *_ = problem_of("log", "none", form=form)
    stored = X.size if form is np.asarray else np.count_nonzero(X)
    reads = column_descent.solve(problem, Budget(epochs=3), seed=0).reads
    assert (reads.dense, reads.nnz) == (3 * X.size, 3 * stored)
    start = Start(np.ones(8))  # its responses are read
    reads = column_descent.solve(problem, Budget(epochs=3), seed=0, start=start).reads
    assert reads.nnz == 4 * stored


def test_a_row_that_is_far_off_does_not_go_farther_on_the_other_side():
    """Where the log loss is straight, a Newton step would be exp(20) long."""
    problem = make("log", [[1.0], [-1.0]], [1.0, -1.0], alpha=1e-9, bias="none")
    method = begun(problem, Start(np.array([-20.0])))
    method.visit(method.order(np.random.default_rng(0)))
    assert -20.0 < method.w[0] < -20.0 + 2.0 * column_descent.REACH + 1e-3


def test_it_ends_where_columns_are_alike_and_goes_on_where_they_are_not():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 6))
    y = np.where(Z @ rng.normal(size=6) + rng.normal(size=500) > 0.0, 1.0, -1.0)
    alike = Z[:, [0]] + 0.03 * Z
    for X, ends in ((Z, False), (alike, True)):
        problem = make("log", X, y, alpha=1e-6, bias="none")
        result = column_descent.solve(problem, Budget(gap=1e-4, epochs=60), seed=0)
        assert (result.status is Status.CONVERGED) != ends
        assert (result.status is Status.STALLED) == ends
        assert result.epochs < 60


def test_what_it_cannot_do_is_refused():
    X, y = make_data("hinge", 30, 3)
    with pytest.raises(ValueError, match=r"has kinks.*use solver='dual' or 'auto'"):
        column_descent.solve(make("hinge", X, y))
    with pytest.raises(ValueError, match="has kinks, or does not say"):
        column_descent.solve(make(LogCosh(), X, y))
    with pytest.raises(ValueError, match=r"p=2 and no radius"):
        column_descent.solve(make("log", X, y, p=1.5))


# -------------------------------------------------------------------------------- in the default


def sparse_problem(loss, alpha, n=4000, d=2500, density=0.008, form=sp.csr_matrix):
    rng = np.random.default_rng(0)
    X = sp.random(n, d, density=density, random_state=rng, format="csr")
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return make(loss, form(X.toarray()), y, bias="none", alpha=alpha)


@pytest.mark.parametrize(
    ("loss", "alpha", "d", "solver"),
    [
        ("log", 1e-6, 2500, "columns+newton-cg"),
        ("log", 1e-6, 300, "columns+newton"),
        ("squared", 1e-6, 2500, "newton-cg"),  # conjugate gradients need no new model there
        ("log", 1e-1, 2500, "dual"),
        ("hinge", 1e-6, 2500, "dual"),
    ],
)
def test_the_default_begins_with_it(loss, alpha, d, solver):
    problem = sparse_problem(loss, alpha, n=20_000 if d == 300 else 4000, d=d, density=20 / d)
    result = auto.solve(problem, Budget(gap=1e-5, epochs=1000), seed=0)
    assert result.solver == solver
    assert result.status is Status.CONVERGED


def test_the_default_with_few_epochs():
    problem = sparse_problem("log", 1e-6)
    found = {k: auto.solve(problem, Budget(epochs=k), seed=0) for k in (1, 2, 4)}
    assert [result.solver for result in found.values()] == ["asgd", "asgd", "columns"]
    assert found[4].certificate.primal < 0.5 * found[2].certificate.primal


def test_the_default_gives_the_same_answer_for_dense_rows():
    budget = Budget(gap=1e-4, epochs=1000)
    first, second = (
        auto.solve(sparse_problem("log", 1e-6, form=form), budget, seed=0)
        for form in (sp.csr_matrix, np.asarray)
    )
    assert first.solver == second.solver
    assert first.x == pytest.approx(second.x, rel=1e-6, abs=1e-8)


def test_no_more_than_some_entries_are_copied(monkeypatch):
    monkeypatch.setattr(auto, "COPIED", 1e4)
    problem = sparse_problem("log", 1e-6)
    assert auto.solve(problem, Budget(gap=0.1, epochs=1000), seed=0).solver == "newton-cg"
