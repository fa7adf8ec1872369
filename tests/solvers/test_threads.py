"""Several threads take the steps that one would take, to the bit, and none is left behind."""

import _thread
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from skimlearn import Status, SublinearSVC, max_margin, soft_margin
from skimlearn.data.columns import Matrix, as_matrix
from skimlearn.sampling.blocks import BLOCK
from skimlearn.sampling.team import ALONE, make_teams, share
from skimlearn.solvers import _skim, _threads
from skimlearn.solvers._margin_skim import MarginSkim
from skimlearn.solvers._threads import take_together, thread_count
from skimlearn.solvers.simba import Simba
from skimlearn.solvers.tracking import Tracking

CAP = 0.01  # a tenth of 1000 rows share all of the weight
METHODS = {
    "simba": Simba(),
    "simba, q": Simba(q=1.5),
    "simba, batch": Simba(width=4.0),
    "simba, kappa": Simba(cap=CAP),
    "simba, kappa, bias": Simba(cap=CAP, bias=1.0),
    "tracking": Tracking(),
    "tracking, kappa": Tracking(cap=CAP),
    "tracking, kappa, bias": Tracking(cap=CAP, bias=1.0),
    "tracking, bias, batch": Tracking(width=4.0, bias=1.0),
    "tracking, sample": Tracking(sample=128.0, opening=4.0),
    "tracking, sample, kappa, bias": Tracking(sample=128.0, opening=4.0, cap=CAP, bias=1.0),
}
SCRATCH = {"parts", "team"}  # parts is used in ways that depend on the number of threads


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


@pytest.fixture
def any_size_pays(monkeypatch):
    monkeypatch.setattr(_threads, "WORTH", 100)


def make_data(n, d, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    X[:, 0] += 0.3 * y
    return X.astype(dtype), y


def begin(X, y, settings, threads, seed=1):
    rng = np.random.default_rng(seed)
    return MarginSkim(as_matrix(X), rng, y=y, settings=settings, eps=0.1, threads=threads)


def assert_same(one, other):
    assert one.tally.tolist() == other.tally.tolist()
    a, b = one.state._asdict(), other.state._asdict()
    for name in a.keys() - SCRATCH:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


# ------------------------------------------------------------------------------- the same results


@pytest.mark.parametrize("count", [1, BLOCK - 1, BLOCK, BLOCK + 1, 1000, 12_345])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_shares_are_whole_blocks_and_make_up_the_vector(count, size):
    shares = [share(team, count) for team in make_teams(size)]
    assert [int(first) for first, _ in shares] == [0, *(int(last) for _, last in shares[:-1])]
    assert shares[-1][1] == count
    assert all(first % BLOCK == 0 for first, last in shares if first < last)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("shape", [(1000, 700), (200, 3000), (3000, 60)])
@pytest.mark.parametrize("method", METHODS)
def test_the_steps_are_the_same_to_the_bit(method, shape, threads):
    X, y = make_data(*shape, dtype=np.float32)
    one, many = (begin(X, y, METHODS[method], count) for count in (1, threads))
    for steps in (1, 20, 300):  # weights are rescaled after 256
        for skim in (one, many):
            skim.advance(steps, None)
        assert_same(one, many)


def test_weights_far_from_the_level_of_the_step_before_are_the_same():
    X, y = make_data(1000, 300)
    X[0] *= -100.0  # a row that is far worse than all others
    one, many = (begin(X, y, Tracking(), count) for count in (1, 3))
    for skim in (one, many):
        skim.advance(100, None)
        assert skim.state.spare.any()  # used for that only
    assert_same(one, many)


def test_teams_at_the_same_time_do_not_disturb_each_other():
    X, y = make_data(2000, 900)
    expected = begin(X, y, Tracking(cap=CAP, bias=1.0), 1)
    expected.advance(100, None)
    skims = [begin(X, y, Tracking(cap=CAP, bias=1.0), 2) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda skim: skim.advance(100, None), skims))
    for skim in skims:
        assert_same(expected, skim)


def test_the_limit_of_reads_ends_them_at_the_same_step():
    X, y = make_data(600, 400)
    one, many = (begin(X, y, Simba(), count) for count in (1, 2))
    assert all(skim.advance(100, 400 + 7 * 1000 + 999) for skim in (one, many))
    assert one.steps == 8  # the first step reads no column
    assert_same(one, many)


@pytest.mark.parametrize("solver", ["simba", "tracking"])
def test_margins_are_the_same(solver, any_size_pays):
    X, y = make_data(800, 300)
    settings = {"eps": 0.2, "solver": solver, "max_steps": 3000, "random_state": 0}
    results = [max_margin(X, y, n_jobs=jobs, **settings) for jobs in (None, 2)]
    results += [soft_margin(X, y, kappa=0.1, bias=True, n_jobs=n, **settings) for n in (None, 2)]
    for one, two in (results[:2], results[2:]):
        np.testing.assert_array_equal(one.x, two.x)
        np.testing.assert_array_equal(one.p, two.p)
        assert one.certificate == two.certificate
        assert one.reads == two.reads


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_is_the_same(classes, any_size_pays):
    X, _ = make_data(600, 300)
    y = np.digitize(X[:, 0], np.linspace(-0.1, 0.1, classes - 1))
    settings = {"kappa": 0.3, "eps": 0.1, "solver": "tracking", "random_state": 0}
    one, four = (SublinearSVC(n_jobs=jobs, **settings).fit(X, y) for jobs in (None, 4))
    np.testing.assert_array_equal(one.coef_, four.coef_)
    np.testing.assert_array_equal(one.intercept_, four.intercept_)


def test_threads_take_part(any_size_pays, monkeypatch):
    sizes = []
    original = _threads.make_teams
    monkeypatch.setattr(_threads, "make_teams", lambda n: sizes.append(n) or original(n))
    X, y = make_data(500, 300)
    settings = {"eps": 0.2, "max_steps": 40, "random_state": 0}
    max_margin(X, y, solver="simba", n_jobs=2, **settings)
    assert set(sizes) == {2}
    sizes.clear()
    soft_margin(X, y, nu=0.1, n_jobs=2, **settings)  # the heaviest rows are found by one thread
    max_margin(X, y, solver="simba", **settings)
    assert not sizes


# -------------------------------------------------------------------------------- numbers of them


def test_how_many_threads():
    assert thread_count(None, 10**9) == 1
    assert thread_count(3, 10**9) == 3
    assert thread_count(3, 2 * _threads.WORTH) == 2
    assert thread_count(3, 10) == 1
    assert thread_count(-1, 10**9) == _threads._cores()
    assert thread_count(-1000, 10**9) == 1


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
@pytest.mark.parametrize("solver", ["simba", "working-set"])
def test_a_bad_number_is_named(n_jobs, solver):
    X, y = make_data(10, 3)
    with pytest.raises(ValueError, match="n_jobs="):
        max_margin(X, y, n_jobs=n_jobs, solver=solver)


# ------------------------------------------------------------------------------- when things fail


def test_without_threads_to_be_had_the_caller_does_it_alone(monkeypatch):
    X, y = make_data(600, 400)
    one, many = (begin(X, y, Simba(), count) for count in (1, 3))
    start, started = threading.Thread.start, []

    def only_one(thread):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", only_one)
    for skim in (one, many):
        skim.advance(50, None)
    assert len(started) == 1
    assert_same(one, many)


def failing(monkeypatch, rank, error):
    """Make one thread of every team fail before its first step."""
    original = _skim._take_steps

    def take(team, *arguments):
        if team.size > 1 and team.rank == rank:
            raise error
        return original(team, *arguments)

    monkeypatch.setattr(_skim, "_take_steps", take)


def test_an_interrupt_before_the_first_step_changes_nothing(monkeypatch):
    X, y = make_data(600, 400)
    skim, fresh = (begin(X, y, Simba(), 3) for _ in range(2))
    failing(monkeypatch, 0, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        skim.advance(50, None)
    assert_same(skim, fresh)


def test_an_error_of_a_helper_leaves_the_caller_to_do_it_alone(monkeypatch):
    errors = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    X, y = make_data(600, 400)
    one, many = (begin(X, y, Simba(), count) for count in (1, 3))
    failing(monkeypatch, 2, MemoryError())
    for skim in (one, many):
        skim.advance(50, None)
    assert errors
    assert_same(one, many)


def test_ctrl_c_ends_a_run_with_its_best_answer(any_size_pays):
    X, y = make_data(1000, 500)
    max_margin(X, y, solver="simba", eps=1e-9, max_steps=10, n_jobs=2)  # compiles
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    try:
        result = max_margin(X, y, solver="simba", eps=1e-9, max_seconds=20.0, n_jobs=2)
    finally:
        timer.join()
    assert result.status is Status.INTERRUPTED
    assert np.isfinite(result.x).all()
    assert result.history[-1].epoch > 0


def test_an_error_of_the_data_is_reported_as_by_one_thread(any_size_pays):
    X, y = make_data(1000, 500)
    X[:, 0] = np.nan
    matrix = Matrix.pair(X, np.asfortranarray(X))  # not checked before it is read
    with pytest.raises(ValueError, match="nan"):
        max_margin(matrix, y, solver="simba", eps=0.01, n_jobs=2, random_state=0)


def test_a_team_of_one_is_the_caller():
    seen = []
    state = begin(*make_data(10, 3), Simba(), 1).state

    def take(team, *arguments):
        seen.append((team, threading.current_thread()))
        return 5

    assert take_together(take, 1, state, ()) == 5
    assert seen == [(ALONE, threading.main_thread())]
