"""Dual ascent on several problems at once: the steps of each, its certificate, limits, reads."""

import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from problems import LOSSES, close, make, make_data, make_weights
from skimlearn import certificates
from skimlearn.problem import BIASES
from skimlearn.result import Budget, Status
from skimlearn.solvers import auto, choose, dual, newton, side_by_side
from skimlearn.solvers._run import Run, Start

N, D, K, ALPHA = 24, 5, 3, 0.05
FORMS = {"dense": np.asarray, "sparse": sp.csr_array}
FOREVER = Budget(gap=0.0, epochs=1000)


def make_problems(loss, n=N, d=D, count=K, *, form=np.asarray, weighted=False, seed=0, **options):
    """Problems with rows and weights in common, and targets of their own."""
    X, _ = make_data(loss, n, d, seed, density=0.7)
    m = make_weights(n) if weighted else np.ones(n)
    targets = [make_data(loss, n, d, seed + k)[1] for k in range(count)]
    options = {"alpha": ALPHA, "bias": "none", "sample_weight": m} | options
    problems = [make(loss, form(X), y, **options) for y in targets]
    one = problems[0]
    return X, targets, [replace(p, rows=one.rows, weights=one.weights) for p in problems]


def begin(problems, starts=None, seconds=None, budget=FOREVER, **options):
    runs = [Run(problem, budget, seed=0, **options) for problem in problems]
    starts = starts or [None] * len(problems)
    return side_by_side._Together(runs, starts, seconds)


def together(problems, budget=FOREVER, starts=None, solver="dual", **options):
    """Solve them so, whether it pays or not."""
    count = len(problems)
    with pytest.MonkeyPatch.context() as always:
        always.setattr(side_by_side, "WORTH", math.inf)
        always.setattr(choose, "SETTLED", math.inf)
        always.setattr(auto.Costs, "dual_is_best", True)
        begun = choose.begin_together(
            problems, solver, budget=budget, seeds=range(count), starts=starts or [None] * count,
            **options,
        )  # fmt: skip
    return [begun.end(k, budget.seconds) for k in range(count)]


# ------------------------------------------------------------------------------------ step by step


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "squared", "log"])
def test_every_step_is_that_of_naive_sdca(loss, bias, weighted, form, monkeypatch):
    X, targets, problems = make_problems(loss, form=FORMS[form], bias=bias, weighted=weighted)
    state, orders = begin(problems), []
    monkeypatch.setattr(state, "_check", lambda: None)
    shuffled = state.orders.shuffled

    def remembered(*options):
        orders.append(shuffled(*options))
        return orders[-1]

    monkeypatch.setattr(state.orders, "shuffled", remembered)
    for _ in range(4):
        state.epoch()
    state._hand_back()
    m = problems[0].weights
    for lane, y in zip(state.lanes, targets, strict=True):
        a, w, b = reference.dual_ascent(X, y, orders, ALPHA, loss, bias=bias, m=m)
        assert np.abs(lane.a - a).max() <= 1e-10 * np.abs(a).max()
        assert close(lane.answer(), (w, b))
        assert np.abs(a).max() > 0.1


@pytest.mark.pure_python
@pytest.mark.parametrize("form", FORMS)
def test_steps_without_the_jit(form):
    _, _, problems = make_problems("hinge", 10, 3, form=FORMS[form], bias="free")
    for result in together(problems, Budget(gap=1e-4, epochs=100)):
        assert result.status is Status.CONVERGED


# ------------------------------------------------------------------------------------ certificates


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize(
    ("loss", "form"), [*((loss, "dense") for loss in LOSSES), ("hinge", "sparse")]
)
def test_certificates_hold_and_answers_are_optimal(loss, bias, form):
    for seed in range(3):
        _, _, problems = make_problems(
            LOSSES[loss], 40, bias=bias, form=FORMS[form], weighted=seed > 0, seed=10 * seed
        )
        results = together(problems, Budget(gap=1e-6, epochs=5000))
        for problem, result in zip(problems, results, strict=True):
            best = newton.solve(problem, Budget(gap=1e-11, epochs=2000)).certificate.primal
            primal, dual = result.certificate.primal, result.certificate.dual
            assert result.status is Status.CONVERGED
            assert dual <= best * (1.0 + 1e-9)
            assert primal >= best * (1.0 - 1e-9)
            assert -1e-12 <= result.certificate.relative_gap <= 1e-6
            again = certificates.primal(problem, result.x, result.bias).value
            assert again == pytest.approx(primal, rel=1e-9)
            bound = certificates.dual(problem, certificates.feasible(problem, result.p)).value
            assert bound == pytest.approx(dual, rel=1e-9)


@pytest.mark.parametrize("solver", ["dual", "auto"])
def test_problems_that_part_ways_go_on(solver):
    """With a small alpha few rows are left of each problem, others for each."""
    _, _, problems = make_problems("hinge", 400, 20, 8, alpha=1e-4)
    state = begin(problems, budget=Budget(gap=1e-6, epochs=2000))
    while state.runs and not state.are_better_alone():
        state.epoch()
    assert len(state.runs) > 1
    assert all(run.certificate.relative_gap > 1e-6 for run in state.runs)
    results = together(problems, Budget(gap=1e-6, epochs=2000), solver=solver)
    assert {result.status for result in results} == {Status.CONVERGED}
    assert all(0.0 <= result.certificate.relative_gap <= 1e-6 for result in results)


@pytest.mark.parametrize("patience", [1, 3])
def test_a_method_of_second_order_takes_over_where_dual_ascent_is_slow(patience, monkeypatch):
    monkeypatch.setattr(auto.Costs, "patience", patience)
    _, _, problems = make_problems("squared", 300, 10, alpha=0.01)
    results = together(problems, Budget(gap=1e-12, epochs=1000), solver="auto")
    assert {result.status for result in results} == {Status.CONVERGED}
    assert {result.solver for result in results} == {"dual+newton"}
    assert all(record.epoch <= patience for result in results for record in result.history[:1])


def test_it_goes_on_from_answers():
    _, _, problems = make_problems("log", 200, bias="free")
    first = together(problems, Budget(gap=1e-8, epochs=1000))
    starts = [Start(result.x, result.bias, result.p) for result in first]
    again = together(problems, Budget(gap=1e-7, epochs=1000), starts)
    assert max(result.epochs for result in again) <= 1.0
    assert min(result.epochs for result in first) > 2.0


# ------------------------------------------------------------------------------------ reads, limits


@pytest.fixture
def samples(monkeypatch):
    """The rows that the gaps were guessed from, as they are looked at."""
    guess, seen = side_by_side._Together._guess, []

    def kept(self):
        if self.lanes[0].samples is not None:
            seen.extend(self.lanes[0].samples[0])
        guess(self)

    monkeypatch.setattr(side_by_side._Together, "_guess", kept)
    return seen


@pytest.mark.parametrize("form", FORMS)
def test_what_is_read_for_all_is_counted_once(form, samples):
    X, _, problems = make_problems("squared", 50, form=FORMS[form])
    stored = X.size if form == "dense" else np.count_nonzero(X)
    results = together(problems, Budget(epochs=3))
    assert sum(result.reads.nnz for result in results) == 3 * stored
    assert sum(result.reads.dense for result in results) == 3 * X.size
    rows = np.full(50, X.shape[1]) if form == "dense" else np.count_nonzero(X, axis=1)
    looked_at = int(rows[samples].sum())
    assert looked_at > 0
    checks = len(results[0].history)
    assert sum(result.reads.certificate for result in results) == checks * stored + looked_at
    assert [result.epochs for result in results] == [3.0] * K
    assert {result.status for result in results} == {Status.EPOCHS}


def test_a_free_bias_takes_a_second_pass_for_its_proof(samples):
    X, _, problems = make_problems("squared", 50, bias="free")
    results = together(problems, Budget(epochs=3))
    checks = len(results[0].history)
    looked_at = len(samples) * X.shape[1]
    certified = sum(result.reads.certificate for result in results)
    assert certified == 2 * checks * X.size + looked_at


def test_a_part_of_an_epoch_is_an_answer_too():
    _, _, problems = make_problems("hinge", 100, alpha=1e-4)
    for result in together(problems, Budget(gap=1e-9, seconds=0.0)):
        assert result.status is Status.SECONDS
        assert result.epochs > 0.0
        assert result.certificate.gap >= 0.0


def test_the_time_is_shared_out():
    _, _, problems = make_problems("log", 2000, 50)
    results = together(problems, Budget(gap=1e-8, epochs=1000))  # compiled
    began = time.perf_counter()
    results = together(problems, Budget(gap=1e-8, epochs=1000))
    whole = time.perf_counter() - began
    assert 0.3 * whole <= sum(result.seconds for result in results) <= 1.01 * whole
    for result in results:
        times = [record.seconds for record in result.history]
        assert times == sorted(times)
        assert times[-1] <= result.seconds


def test_another_thread_may_stop_them():
    _, _, problems = make_problems("hinge", 100, alpha=1e-4)
    stop = threading.Event()
    stop.set()
    for result in together(problems, stop=stop):
        assert result.status is Status.INTERRUPTED
        assert np.isfinite(result.certificate.gap)


def test_an_interruption_keeps_the_best_answers(monkeypatch):
    _, _, problems = make_problems("squared", 100, 20)
    epoch, done = side_by_side._Together.epoch, []

    def interrupted(self):
        done.append(0)
        if len(done) == 3:
            raise KeyboardInterrupt
        epoch(self)

    monkeypatch.setattr(side_by_side._Together, "epoch", interrupted)
    stop = threading.Event()
    results = together(problems, stop=stop)
    assert {result.status for result in results} == {Status.INTERRUPTED}
    assert stop.is_set()
    for problem, result in zip(problems, results, strict=True):
        zero = certificates.at_zero(problem)[0].value
        assert result.certificate.primal < zero
        assert result.epochs == 2.0


def test_an_interruption_of_one_group_ends_the_others_soon(monkeypatch):
    """Even if all that is left of the group has just reached its gap."""
    _, _, problems = make_problems("squared", 100, 20, count=6, alpha=1e-3)
    monkeypatch.setattr(side_by_side, "LANES", 2)
    visit, done = side_by_side._Together._visit, []

    def interrupted(self, order):
        status = visit(self, order)
        done.append(0)
        if len(done) == 3:
            for run in self.runs:
                run.budget = Budget(gap=1e9)
            raise KeyboardInterrupt
        return status

    monkeypatch.setattr(side_by_side._Together, "_visit", interrupted)
    results = together(problems, stop=threading.Event())
    assert [result.status for result in results[:2]] == [Status.CONVERGED] * 2
    assert [result.status for result in results[2:]] == [Status.INTERRUPTED] * 4
    assert max(result.epochs for result in results[2:]) <= 1.0


def test_records_tell_the_time_of_their_own_problem():
    _, _, problems = make_problems("log", 500, 30)
    calls = []

    def keep(record):
        calls.append(record.seconds)

    results = together(problems, Budget(epochs=5), callback=keep)
    assert len(calls) == 5 * K  # all went on to the end together
    for k, result in enumerate(results):
        times = calls[k::K]
        assert times == sorted(times)
        assert times[-1] <= result.seconds


def test_rows_of_no_weight_are_not_counted_in_proofs(samples):
    _, _, problems = make_problems("squared", 24, bias="free", weighted=True)
    used = int(np.count_nonzero(problems[0].weights))
    assert used < 24
    starts = [Start(np.zeros(D), 0.0, 0.1 * np.sign(problem.y)) for problem in problems]
    results = together(problems, Budget(epochs=1), starts)
    checks = len(results[0].history)
    # responses are of all rows; each problem also looks at its start
    read = (checks * (24 + used) + K * 24 + len(samples)) * D
    assert sum(result.reads.certificate for result in results) == read


def test_a_callback_stops_the_problems_that_it_is_told_of():
    _, _, problems = make_problems("squared", 50)
    seen = []

    def stop_all(record):
        seen.append(record)
        return len(seen) > K  # in the second epoch

    results = together(problems, callback=stop_all)
    assert {result.status for result in results} == {Status.STOPPED}
    assert [result.epochs for result in results] == [2.0] * K
    for problem, result in zip(problems, results, strict=True):
        bound = certificates.dual(problem, result.p).value
        assert bound == pytest.approx(result.certificate.dual, rel=1e-12)


# ----------------------------------------------------------------------------------------- choices


def is_together(problems, solver="dual", budget=Budget(gap=1e-3, epochs=100)):  # noqa: B008
    count = len(problems)
    options = {"budget": budget, "seeds": range(count), "starts": [None] * count}
    return choose.begin_together(problems, solver, **options) is not None


def test_only_where_it_is_possible_and_pays():
    _, _, problems = make_problems("log", 200)
    assert is_together(problems)
    assert not is_together(problems, "asgd")
    assert not is_together(problems[:1])
    assert not is_together(problems, budget=Budget(gap=1e-3, reads=10**6))
    other = make("log", *make_data("log", 200), alpha=ALPHA, sample_weight=make_weights(200))
    assert not is_together([*problems, replace(other, rows=problems[0].rows)])
    _, _, slow = make_problems("hinge", 200, alpha=1e-5)
    assert not is_together(slow)
    _, _, curved = make_problems("log", 200, p=1.5)
    assert not is_together(curved)
    _, _, few = make_problems("log", 200, form=sp.csr_array)
    assert not is_together(few)  # the weights of three problems are not worth a loop over them
    _, _, many = make_problems("log", 200, count=10, form=sp.csr_array)
    assert is_together(many)


def test_few_epochs_are_made_together_where_features_are_rare():
    """A few epochs of dual ascent get as far as those of averaged SGD there, but not elsewhere."""
    few = Budget(gap=None, epochs=3)
    _, _, wide = make_problems("log", 100, 300, count=10, form=sp.csr_array, alpha=1e-5)
    assert is_together(wide, "auto", few)
    _, _, narrow = make_problems("log", 3000, 60, count=8, alpha=1e-5)
    assert not is_together(narrow, "auto", few)
    begun = choose.solve(narrow[0], "auto", budget=few, seed=0)
    assert begun.solver == "asgd"
    other = dual.solve(narrow[0], budget=few, seed=0)
    assert begun.certificate.primal < other.certificate.primal


def test_the_default_takes_newtons_method_where_it_is_quicker():
    _, _, problems = make_problems("squared", 3000, 10, alpha=1e-7)
    assert is_together(problems, "dual")
    assert not is_together(problems, "auto", Budget(gap=1e-3, epochs=1000))


def test_no_more_are_laid_side_by_side_than_memory_allows(monkeypatch):
    _, _, problems = make_problems("log", 200, count=7)
    budget = Budget(gap=1e-3)
    assert side_by_side.groups(problems, budget) == [slice(0, 7)]
    monkeypatch.setattr(side_by_side, "MOST", 4 * (200 + D))
    assert side_by_side.groups(problems, budget) == [slice(0, 3), slice(3, 7)]
    results = together(problems, Budget(gap=1e-6, epochs=1000))
    assert {result.status for result in results} == {Status.CONVERGED}
    monkeypatch.setattr(side_by_side, "MOST", 10)
    assert side_by_side.groups(problems, budget) == []
