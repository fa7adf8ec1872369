"""The loop that all solvers share: budgets to the entry, checks, callbacks, interruption, seeds."""

import math
import threading
import time
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from problems import close, make, make_data
from skimlearn import _jit, certificates
from skimlearn.data.ledger import Ledger
from skimlearn.problem import BIASES
from skimlearn.result import Budget, Record, Status
from skimlearn.solvers import _ascent, _run, auto, choose, dual, newton, pegasos, pgs, sgd
from skimlearn.solvers._run import Method, Run, Start

N, D = 60, 5
SOLVERS = choose.SOLVERS


def make_sparse(loss="hinge", n=N, **parameters):
    X, y = make_data(loss, n, D, density=0.5)
    parameters.setdefault("alpha", 0.01)
    return make(loss, sp.csr_array(X), y, **parameters)


def make_dense(loss, n=N, **parameters):
    X, y = make_data(loss, n, D)
    return make(loss, X, y, **parameters)


def method_of(solver, problem, run):
    if solver == "dual":
        return dual.DualAscent(problem, run.ledger, dual.Settings())
    if solver == "newton":
        return newton.Newton(problem, run.ledger)
    if solver in ("pegasos", "pgs"):
        module, cls = (pegasos, pegasos.Pegasos) if solver == "pegasos" else (pgs, pgs.Pgs)
        return cls(problem, run.ledger, module.Settings(), run.rng)
    settings = choose.sgd_settings(solver, None)
    return sgd.Sgd(problem, run.ledger, settings, run.rng)


def count_visits(monkeypatch, method):
    """All rows that a method visits, as they come."""
    visited = []
    visit = method.visit

    def counted(order):
        visited.extend(order.tolist())
        visit(order)

    monkeypatch.setattr(method, "visit", counted)
    return visited


# ------------------------------------------------------------------------------------------- reads


@pytest.mark.parametrize("solver", ["sgd", "asgd", "casgd", "ftrl", "pegasos", "pgs", "dual"])
def test_reads_are_those_of_the_visits_and_of_the_passes_before(solver, monkeypatch):
    problem = make_sparse(bias="free")
    lengths = np.diff(problem.rows.starts).astype(int)
    assert len(set(lengths.tolist())) > 3  # rows of several lengths
    run = Run(problem, Budget(epochs=4), seed=0)
    method = method_of(solver, problem, run)
    before = run.ledger.reads
    passes = 2 if solver == "casgd" else 0  # the mean, and lengths from there; others are known
    assert before.nnz == passes * lengths.sum()
    assert before.dense == passes * N * D
    visited = count_visits(monkeypatch, method)
    result = run.stage(method).result()
    assert result.reads.nnz - before.nnz == lengths[visited].sum()
    assert result.reads.dense - before.dense == len(visited) * D
    assert result.epochs == len(visited) / N
    # a check reads all rows for the primal value, and those of nonzero variables for the dual
    checks = len(result.history)
    looks = 4 if solver == "dual" else 0  # at a sample after each epoch: of so few rows, all
    least, most = checks + looks, 3 * checks + looks
    assert least * lengths.sum() <= result.reads.certificate <= most * lengths.sum()


@pytest.mark.pure_python
@pytest.mark.skipif(not _jit.numba.config.DISABLE_JIT, reason="counts calls inside of kernels")
@pytest.mark.parametrize("solver", ["sgd", "pegasos", "pgs", "dual"])
def test_reads_are_those_inside_the_kernels(solver, monkeypatch):
    problem = make_sparse(n=12)
    lengths = np.diff(problem.rows.starts).astype(int)
    run = Run(problem, Budget(epochs=2), seed=0)
    method = method_of(solver, problem, run)
    module = {"sgd": sgd, "pegasos": pegasos, "pgs": pgs, "dual": _ascent}[solver]
    touched = []
    dot = module.dot

    def counted(rows, i, w):
        touched.append(int(i))
        return dot(rows, i, w)

    monkeypatch.setattr(module, "dot", counted)
    before = run.ledger.reads.nnz
    run.stage(method)
    looks = 2 if solver == "dual" else 0  # at all of so few rows, for the certificate
    assert run.ledger.reads.nnz - before == lengths[touched].sum() - looks * lengths.sum()
    assert run.ledger.reads.certificate >= looks * lengths.sum()


PASSES_BEFORE = {("casgd", 0)}  # what they read before they begin


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_of_reads_is_kept_to_the_entry(solver):
    problem = make_sparse(bias="free")
    total = int(problem.rows.starts[-1])
    longest = int(np.diff(problem.rows.starts).max())
    for limit in (0, 1, total // 2, total, 2 * total, 3 * total + 7, 8 * total + 1):
        if (solver, limit // total) in PASSES_BEFORE:
            with pytest.raises(ValueError, match=f"max_reads={limit} is too small"):
                choose.solve(problem, solver, budget=Budget(reads=limit), seed=0)
            continue
        result = choose.solve(problem, solver, budget=Budget(reads=limit), seed=0)
        assert result.reads.nnz <= limit
        if result.status is Status.READS:
            assert result.reads.nnz > limit - longest
        else:
            assert result.status is Status.STALLED
        assert np.isfinite(result.x).all()
        assert result.certificate.primal <= 1.0
        assert result.certificate.gap >= -1e-15


def test_a_start_does_not_stand_in_the_way_of_few_reads():
    problem = make_sparse(n=400, bias="regularized")
    total = int(problem.rows.starts[-1])
    start = Start(np.ones(D), 0.1)
    result = auto.solve(problem, Budget(reads=total // 2), seed=0, start=start)
    assert 0 < result.reads.nnz <= total // 2
    assert result.status is Status.READS


def test_few_reads_still_learn_something():
    problem = make_dense("squared", n=2000, bias="none", alpha=0.01)
    total = 2000 * D
    for solver in ("auto", "sgd", "asgd", "pegasos", "pgs"):
        result = choose.solve(problem, solver, budget=Budget(reads=total // 2), seed=0)
        zero = float(problem.y @ problem.y) / 2 / problem.n
        assert result.certificate.primal < 0.9 * zero, solver


@pytest.mark.parametrize("solver", SOLVERS)
def test_rows_without_entries_end_under_a_limit_of_reads(solver):
    """Nothing is ever read, so the limit alone would never end the run."""
    y = np.where(np.arange(20) < 13, 1.0, -1.0)
    for loss, bias in (("hinge", "regularized"), ("log", "free")):
        problem = make(loss, sp.csr_array((20, 3)), y, bias=bias)
        if solver == "casgd" and bias != "free":
            continue
        result = choose.solve(problem, solver, budget=Budget(reads=10), seed=0)
        assert result.reads.nnz == 0


# ----------------------------------------------------------------------------------- other limits


@pytest.mark.parametrize("solver", ["sgd", "asgd", "casgd", "ftrl", "pegasos", "pgs"])
@pytest.mark.parametrize("epochs", [0, 1, 3, 2.5])
def test_epochs_are_exact(solver, epochs):
    result = choose.solve(make_sparse(), solver, budget=Budget(epochs=epochs), seed=0)
    assert result.epochs == epochs
    assert result.status is Status.EPOCHS


@pytest.mark.parametrize("solver", ["auto", "dual"])
@pytest.mark.parametrize("epochs", [0, 1, 3, 2.5])
def test_epochs_of_exact_solvers_are_a_limit(solver, epochs):
    problem = make_sparse(bias="regularized")
    result = choose.solve(problem, solver, budget=Budget(epochs=epochs), seed=0)
    assert result.epochs <= epochs
    assert result.status in (Status.EPOCHS, Status.STALLED)


@pytest.mark.parametrize("solver", SOLVERS)
def test_seconds_end_a_run_soon(solver):
    problem = make_dense("absolute", n=2000, bias="free", alpha=1e-6)
    for budget in (Budget(epochs=2), Budget(seconds=0.05, gap=1e-15)):  # all is compiled then
        choose.solve(problem, solver, budget=budget, seed=0)
    began = time.perf_counter()
    result = choose.solve(problem, solver, budget=Budget(seconds=0.05, gap=1e-15), seed=0)
    assert time.perf_counter() - began < 1.0
    assert result.status in (Status.SECONDS, Status.STALLED, Status.CONVERGED)
    if solver in ("sgd", "pegasos", "pgs"):
        assert result.status is Status.SECONDS
        assert result.seconds >= 0.05


def test_a_stage_lets_go_of_its_method():
    """The vectors of the next one take the room."""
    problem = make_sparse(bias="regularized")
    run = Run(problem, Budget(epochs=9), seed=0)
    method = dual.DualAscent(problem, run.ledger, dual.Settings())
    run.stage(method, epochs=2)
    kept = weakref.ref(method)
    del method
    assert kept() is None


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_target_gap_ends_a_run(solver):
    problem = make_sparse("log", bias="free", alpha=0.1)
    result = choose.solve(problem, solver, budget=Budget(gap=0.02, epochs=5000), seed=0)
    assert result.status is Status.CONVERGED
    assert result.certificate.relative_gap <= 0.02
    assert result.epochs < 2000


def test_no_progress_in_floating_point_ends_a_run():
    problem = make_dense("squared", bias="regularized", alpha=1.0)
    for solver in ("auto", "dual"):
        result = choose.solve(problem, solver, budget=Budget(gap=0.0, epochs=10**6), seed=0)
        assert result.status in (Status.STALLED, Status.CONVERGED)
        assert result.epochs < 10**4
        assert abs(result.certificate.relative_gap) <= 1e-12


# ----------------------------------------------------------------------------------------- history


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["hinge", "log"])
def test_history_never_gets_worse(solver, loss):
    problem = make_sparse(loss, bias="free", alpha=1e-3)
    result = choose.solve(problem, solver, budget=Budget(epochs=60, gap=1e-9), seed=0)
    history = result.history
    assert len(history) >= 2 or result.solver == "newton"
    for name, sign in (("primal", -1), ("dual", 1), ("reads", 1), ("epoch", 1), ("seconds", 1)):
        values = np.array([getattr(record, name) for record in history])
        assert (sign * np.diff(values) >= 0).all(), name
    assert history[-1].primal == result.certificate.primal
    assert history[-1].dual == result.certificate.dual
    assert history[-1].reads == result.reads.nnz
    assert history[-1].epoch == result.epochs


def test_checks_are_spaced_geometrically():
    problem = make_sparse(bias="none")
    result = choose.solve(problem, "pegasos", budget=Budget(epochs=300), seed=0)
    epochs = np.array([record.epoch for record in result.history[:-1]])
    assert (epochs[1:] >= 1.5 * epochs[:-1]).all()
    assert len(epochs) >= math.log(300) / math.log(1.5) / 2
    # all checks together cost less than the run
    assert result.reads.certificate < 0.2 * result.reads.nnz


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(5))
def test_never_worse_than_zero_weights(solver, seed):
    """Even where the method itself is far off: features in the thousands, one epoch."""
    for loss, bias in (("hinge", "free"), ("absolute", "free"), ("squared", "free")):
        X, y = make_data(loss, 30, 3, seed=seed, length=3e3)
        problem = make(loss, X, y, bias=bias, alpha=1e-5)
        zero = Run(problem, Budget(epochs=1)).answer.value
        result = choose.solve(problem, solver, budget=Budget(epochs=1), seed=seed)
        assert result.certificate.primal <= zero
        assert result.certificate.dual >= 0.0


# ------------------------------------------------------------------------- callbacks, interruption


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_callback_is_called_after_each_epoch(solver):
    records = []
    problem = make_sparse(bias="free")
    result = choose.solve(problem, solver, budget=Budget(epochs=6), seed=0, callback=records.append)
    assert all(isinstance(record, Record) for record in records)
    epochs = [record.epoch for record in records]
    assert epochs == sorted(epochs)
    if solver not in ("dual", "auto"):
        assert epochs == [1, 2, 3, 4, 5, 6]
        assert result.epochs == 6
    else:
        assert len(epochs) >= 5
    assert records[-1].reads <= result.reads.nnz


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_callback_can_stop_a_run(solver):
    calls = []

    def stop_at_third(record):
        calls.append(record)
        return len(calls) == 3

    problem = make_sparse("hinge", n=800, bias="free", alpha=1e-4)
    result = choose.solve(
        problem, solver, budget=Budget(epochs=1000), seed=0, callback=stop_at_third
    )
    assert len(calls) == 3
    assert result.status is Status.STOPPED
    assert result.epochs <= 3
    assert result.history[-1].reads == result.reads.nnz  # the last answer was considered


@pytest.mark.parametrize("solver", SOLVERS)
def test_ctrl_c_returns_the_best_answer(solver):
    def interrupt(record):
        if record.epoch >= 2:
            raise KeyboardInterrupt

    problem = make_sparse("log", n=300, bias="free", alpha=1e-3)
    result = choose.solve(problem, solver, budget=Budget(epochs=500), seed=0, callback=interrupt)
    assert result.status is Status.INTERRUPTED
    assert result.epochs <= 3
    assert result.certificate.primal < math.log(2)
    assert result.certificate.gap < math.inf
    if solver not in ("auto", "dual"):
        again = choose.solve(problem, solver, budget=Budget(epochs=2), seed=0)
        assert close((result.x, result.bias), (again.x, again.bias))


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_event_from_another_thread_stops_a_run(solver):
    problem = make_dense("absolute", n=500, bias="free", alpha=1e-7)
    choose.solve(problem, solver, budget=Budget(epochs=2), seed=0)  # compiled now
    stop = threading.Event()
    timer = threading.Timer(0.1, stop.set)
    timer.start()
    began = time.perf_counter()
    result = choose.solve(
        problem, solver, budget=Budget(seconds=60, epochs=10**8), seed=0, stop=stop
    )
    timer.cancel()
    timer.join()
    assert time.perf_counter() - began < 10
    assert result.status in (Status.INTERRUPTED, Status.STALLED)
    if solver in ("sgd", "pegasos", "pgs"):
        assert result.status is Status.INTERRUPTED
    stop.set()
    at_once = choose.solve(problem, solver, budget=Budget(epochs=10), seed=0, stop=stop)
    assert at_once.status is Status.INTERRUPTED
    assert at_once.epochs <= 1


def test_other_errors_of_a_callback_are_not_swallowed():
    def fail(record):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        choose.solve(make_sparse(), "sgd", budget=Budget(epochs=3), callback=fail)


# --------------------------------------------------------------------------------- seeds and starts


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_seed_decides_the_visits(solver):
    problem = make_sparse(n=300, bias="free")
    budget = Budget(epochs=2)
    one, two, other = (choose.solve(problem, solver, budget=budget, seed=s) for s in (7, 7, 8))
    np.testing.assert_array_equal(one.x, two.x)
    assert one.bias == two.bias
    assert one.certificate == two.certificate
    assert not np.array_equal(one.x, other.x)
    generator = choose.solve(problem, solver, budget=budget, seed=np.random.default_rng(7))
    np.testing.assert_array_equal(one.x, generator.x)


def test_chunks_do_not_matter(monkeypatch):
    """How often the clock is looked at changes nothing."""
    problem = make_sparse(n=300, bias="free")
    for solver in SOLVERS:
        whole = choose.solve(problem, solver, budget=Budget(epochs=3), seed=0)
        with monkeypatch.context() as patch:
            patch.setattr(_run, "CHUNK", 64)
            parts = choose.solve(problem, solver, budget=Budget(epochs=3), seed=0)
        assert close((parts.x, parts.bias), (whole.x, whole.bias)), solver


def test_batches_are_whole_in_every_chunk(monkeypatch):
    problem = make_sparse(n=300, bias="none")
    for solver in ("pegasos", "pgs"):
        budget = Budget(epochs=3)
        whole = choose.solve(problem, solver, budget=budget, seed=0, batch_size=7)
        with monkeypatch.context() as patch:
            patch.setattr(_run, "CHUNK", 100)
            parts = choose.solve(problem, solver, budget=budget, seed=0, batch_size=7)
        assert close((parts.x, 0.0), (whole.x, 0.0)), solver


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bias", BIASES)
def test_a_start_at_the_optimum_stays_there(solver, bias):
    if solver == "casgd" and bias != "free":
        return
    X, y = make_data("log", 300, 4)
    problem = make("log", X + 0.5, y, bias=bias, alpha=0.02)
    best = newton.solve(problem, Budget(gap=1e-12, epochs=100))
    start = Start(best.x, best.bias)
    budget = Budget(epochs=3, gap=1e-6)
    result = choose.solve(problem, solver, budget=budget, seed=0, start=start)
    assert result.certificate.primal <= best.certificate.primal * (1 + 1e-12)
    if solver in ("auto", "dual"):
        assert result.status is Status.CONVERGED
        assert result.epochs <= 2
    else:  # the method itself goes on from there, not from zero
        module = {"pegasos": pegasos, "pgs": pgs}.get(solver, sgd)
        cls = {"pegasos": pegasos.Pegasos, "pgs": pgs.Pgs}.get(solver, sgd.Sgd)
        settings = choose.sgd_settings(solver, None) if module is sgd else module.Settings()
        rng = np.random.default_rng(0)
        method = cls(problem, Ledger(problem.rows), settings, rng, start)
        method.visit(method.order(rng))
        value = certificates.primal(problem, *method.answer()).value
        assert value <= best.certificate.primal * (1.1 if solver == "sgd" else 1.005)


@pytest.mark.pure_python
def test_a_bad_start_is_not_kept():
    problem = make_sparse(n=20)
    start = Start(np.full(D, 1e6), -1e6)
    for solver in ("sgd", "pegasos", "pgs", "dual"):
        result = choose.solve(problem, solver, budget=Budget(epochs=1), seed=0, start=start)
        assert result.certificate.primal <= 1.0


# ------------------------------------------------------------------------------------------ methods


class Lazy(Method):
    """A method with nothing to do."""

    name = "lazy"

    def order(self, rng):
        return np.empty(0, dtype=np.int64)

    def visit(self, order):
        raise AssertionError("no rows to visit")

    def answer(self):
        return np.full(self.problem.d, np.nan), 0.0


@pytest.mark.pure_python
def test_a_method_without_visits_is_given_up():
    problem = make_sparse(n=12)
    run = Run(problem, Budget(seconds=1e9), seed=0)
    result = run.stage(Lazy(problem, run.ledger)).result()
    assert result.status is Status.STALLED
    np.testing.assert_array_equal(result.x, 0.0)  # nan is never an answer


@pytest.mark.pure_python
def test_stages_share_a_budget_and_the_best_answer():
    problem = make_sparse(n=20, bias="regularized")
    run = Run(problem, Budget(epochs=5), seed=0)
    run.stage(pegasos.Pegasos(problem, run.ledger, pegasos.Settings(), run.rng), epochs=2)
    assert run.status is None
    assert run.visits == 40
    first = run.certificate
    run.stage(dual.DualAscent(problem, run.ledger, dual.Settings()))
    result = run.result()
    assert result.solver == "pegasos+dual"
    assert result.epochs == 5
    assert result.certificate.primal <= first.primal
    assert result.certificate.dual >= first.dual


@pytest.mark.pure_python
def test_method_by_default_visits_a_permutation_and_takes_the_slopes():
    problem = make_sparse("log", n=12, bias="none")
    method = Lazy(problem, Ledger(problem.rows))
    order = Method.order(method, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(order), np.arange(12))
    answer = certificates.primal(problem, np.ones(D))
    bound = method.bound(answer)
    assert bound.value == certificates.regularized(problem, np.ones(D))[1].value
    nonzero = int(np.diff(problem.rows.starts)[bound.a != 0].sum())
    assert method.ledger.reads.certificate == nonzero
