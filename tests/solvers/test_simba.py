"""The steps of SIMBA, one by one, against the algorithm written out with plain dense vectors."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import Oracle
from skimlearn.data.columns import Matrix
from skimlearn.sampling.capped import set_capped
from skimlearn.sampling.cuts import heaviest, select, water
from skimlearn.sampling.simplex import capped_softmax
from skimlearn.solvers import lazy_simba
from skimlearn.solvers._margin_skim import MarginSkim
from skimlearn.solvers._margin_state import LENGTH, TOP, T, settle
from skimlearn.solvers._source import as_source
from skimlearn.solvers.lazy_simba import LazySimba, lazily
from skimlearn.solvers.simba import Simba
from skimlearn.solvers.tracking import Tracking

N, D = 11, 5

# the settings of a run, and those of the naive algorithm
FORMS = {
    "hard": (Simba(), {}),
    "slower": (Simba(rate=0.3), {"rate": 0.3}),
    "batch": (Simba(width=4.0), {"batch": 3}),
    "lq": (Simba(q=1.5), {"q": 1.5}),
    "lq batch": (Simba(q=1.2, width=3.0), {"q": 1.2, "batch": 2}),
    "planned": (Simba(horizon=150.0), {"horizon": 150}),
    "nu": (Simba(nu=0.37), {"nu": 0.37}),
    "nu bias": (Simba(nu=0.5, bias=1.0), {"nu": 0.5, "bias": True}),
    "much nu": (Simba(nu=100.0), {"nu": 100.0}),
    "bias": (Simba(bias=1.0), {"bias": True}),
    "kappa": (Simba(cap=1 / (0.4 * N)), {"kappa": 0.4}),
    "kappa bias batch": (
        Simba(cap=1 / (0.25 * N), bias=1.0, width=3.0),
        {"kappa": 0.25, "bias": True, "batch": 2},
    ),
    "kappa planned": (
        Simba(cap=1 / (0.5 * N), horizon=150.0),
        {"kappa": 0.5, "horizon": 150},
    ),
}
LAZY = [form for form in FORMS if any(word in form for word in ("batch", "kappa", "bias"))]
LAZY.remove("nu bias")


@pytest.fixture
def few(monkeypatch):
    """Any number of entries of a column is few: sparse rows that are not read are left alone."""
    monkeypatch.setattr(lazy_simba, "FEW", math.inf)


def data(seed=0, density=1.0):
    """Rows of different lengths, the last two alike: their weights are tied at all times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < density)
    X[-2:] = [2.0, 0.5, 0.0, -1.0, 0.3]
    y = rng.choice([-1.0, 1.0], size=N)
    y[-2:] = 1.0
    return X, y


def skim(X, y, settings, seed=0, **options):
    rng = np.random.default_rng(seed)
    return MarginSkim(as_source(X), rng, y=y, settings=settings, eps=0.1, **options)


def draw(law, u):
    """The index that u falls on."""
    return int(np.searchsorted(np.cumsum(law), u * law.sum(), side="right"))


def slack_of(logs, budget):
    """Slack of at most 2 for the heaviest rows, ties sharing alike what is left."""
    slack = np.zeros(len(logs))
    for level in sorted(set(logs), reverse=True):
        tied = np.flatnonzero(logs == level)
        share = min(2.0, budget / len(tied))
        slack[tied] = share
        budget -= share * len(tied)
    return slack


class Naive:
    """The algorithm with all vectors written out; it keeps every x, every p and all draws."""

    def __init__(
        self, X, y, seed=0, *, batch=1, nu=0.0, bias=False, kappa=None, q=2.0, horizon=None, rate=1
    ):
        self.A, self.y, self.rng = y[:, None] * X, y, np.random.default_rng(seed)
        self.batch, self.nu, self.bias, self.q = batch, nu, bias, q
        self.cap = 1.0 if kappa is None else 1.0 / (kappa * len(y))
        self.horizon, self.rate = horizon, rate
        self.entropy = math.log(len(y)) if kappa is None else math.log(max(2.0, 1.0 / kappa))
        self.limit = 1 / 8 if bias else 1 / 6 if nu else 1 / 2  # 1 / (2 C), where |E v| <= C
        self.lengths = np.linalg.norm(X, q / (q - 1.0), axis=1)
        self.known = self.lengths.max() if nu or bias else 0.0  # else learned from the rows drawn
        self.logs, self.s = np.zeros(len(y)), np.zeros(X.shape[1])
        self.x, self.p, self.b, self.rows, self.columns = [], [], [], [], []

    @property
    def law(self):
        return capped_softmax(self.logs, self.cap)

    def answer(self, steps):
        """The maximiser of <s, x> - R sqrt(2 t) ||x||_q^2 / (2 sqrt(q - 1)) in the unit ball."""
        if not self.s.any():
            return np.zeros_like(self.s)
        dual = self.q / (self.q - 1.0)
        size = np.linalg.norm(self.s, dual)
        x = np.sign(self.s) * np.abs(self.s) ** (dual - 1.0)
        length = min(1.0, size * math.sqrt((self.q - 1.0) / (2.0 * steps)) / self.R)
        return length * x / np.linalg.norm(x, self.q)

    def step(self, order=None):
        """A step; rows are drawn in an order of their own where they are kept by weight."""
        t = len(self.rows) + 1
        self.R = max([self.known, *self.lengths[self.rows]])
        x, p, u = self.answer(self.horizon or t), self.law, self.rng.random(1 + self.batch)
        eta = self.rate * math.sqrt(self.entropy * self.batch / (self.horizon or t))
        eta = min(self.limit, eta)
        i = draw(p, u[0]) if order is None else order[draw(p[order], u[0])]
        v = np.zeros(len(p))
        columns = []
        if x.any():
            law = np.abs(x) ** self.q
            columns = [draw(law, number) for number in u[1:]]
            for j in columns:
                estimate = self.A[:, j] * law.sum() / (np.sign(x[j]) * np.abs(x[j]) ** (self.q - 1))
                v += estimate / self.R / self.batch
        b = 0.0
        if self.nu:
            v += slack_of(self.logs, self.nu * len(p) / self.R)
        if self.bias:
            b = float(np.sign(p @ self.y)) if abs(p @ self.y) > 1e-12 else 0.0
            v += b * self.y
        z = np.clip(eta * v, -1.0, 1.0)
        self.logs = self.logs + np.log1p(z * z - z)
        self.s = self.s + self.A[i]
        for kept, value in zip(
            (self.x, self.p, self.b, self.rows, self.columns),
            (x, p, b * self.R, i, columns),
            strict=True,
        ):
            kept.append(value)


def law_of(state):
    settle(state)
    weights = np.minimum(state.weights, state.scalars[TOP])
    return weights / weights.sum()


def order_of(state):
    """The order that rows are drawn in, if they are kept on shelves."""
    if state.law is None:
        return None
    shelves, order = state.law.shelves, []
    for side in range(2):
        for k in range(shelves.length[side]):
            order += shelves.rows[shelves.shelf[side, k], : shelves.held[side, k]].tolist()
    return np.array(order)


def follow(run, naive, X, sparse, steps=60):
    """Take steps together, and compare all there is."""
    stored = 0
    for t in range(1, steps + 1):
        naive.step(order_of(run.state))
        run.advance(t, None)
        state, close = run.state, {"rtol": 1e-10, "atol": 1e-10}
        np.testing.assert_allclose(law_of(state), naive.law, **close)
        np.testing.assert_allclose(state.s, naive.s, **close)
        np.testing.assert_array_equal(state.counts, np.bincount(naive.rows, minlength=N))
        x, bias, p = run.fallback()  # the means: x is kept lazily
        np.testing.assert_allclose(x, np.mean(naive.x, axis=0), **close)
        assert bias == pytest.approx(np.mean(naive.b), abs=1e-10)
        np.testing.assert_allclose(p, state.counts / t)
        if len(state.mass):
            np.testing.assert_allclose(state.mass, np.sum(naive.p, axis=0), **close)
        assert state.scalars[T] == run.steps == t
        # what was read: a row and columns, each by its stored entries
        reads = [np.count_nonzero(X[naive.rows[-1]])] if sparse else [D]
        for j in naive.columns[-1]:
            reads.append(np.count_nonzero(X[:, j]) if sparse else N)
        stored += sum(reads)
        assert run.reads.nnz == stored
        assert run.reads.dense == t * D + sum(map(len, naive.columns)) * N
    assert len(set(naive.rows)) > 2  # it was no trivial run


@pytest.mark.pure_python
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_every_step_is_that_of_the_plain_algorithm(form, kind):
    settings, options = FORMS[form]
    X, y = data(len(form), density=0.6 if kind == "csr" else 1.0)
    run = skim(sp.csr_array(X) if kind == "csr" else X, y, settings, seed=7)
    assert not run.method.lazy
    follow(run, Naive(X, y, seed=7, **options), X, kind == "csr")


@pytest.mark.pure_python
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("form", LAZY)
@pytest.mark.parametrize("labels", ["two classes", "one class", "a class of one row"])
def test_every_step_is_the_same_where_rows_are_left_alone(form, labels):
    settings, options = FORMS[form]
    X, y = data(len(form), density=0.4)
    if labels != "two classes":
        y[:] = 1.0
        y[3] = 1.0 if labels == "one class" else -1.0
    run = skim(sp.csr_array(X), y, settings, seed=7)
    assert run.method.lazy
    follow(run, Naive(X, y, seed=7, **options), X, sparse=True)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("form", LAZY)
def test_rows_that_are_left_alone_for_long(form):
    """Far more rows than a step reads, many of them alike: across many shelves and rescalings."""
    settings, options = FORMS[form]
    rng = np.random.default_rng(0)
    n, d = 300, 120
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.03)
    X[n // 2 :] = X[: n - n // 2]
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    if settings.cap < 1.0:
        settings = Simba(cap=settings.cap * N / n, bias=settings.bias, width=settings.width)
    options = {key: value for key, value in options.items() if key != "horizon"}
    run, naive = skim(sp.csr_array(X), y, settings, seed=1), Naive(X, y, seed=1, **options)
    for t in range(1, 1201):
        naive.step(order_of(run.state))
        run.advance(t, None)
        if t % 100 == 0:
            assert run.state.counts[naive.rows[-1]] > 0.0
            np.testing.assert_allclose(law_of(run.state), naive.law, rtol=1e-8)
            np.testing.assert_allclose(run.state.mass, np.sum(naive.p, axis=0), rtol=1e-9)
    np.testing.assert_array_equal(run.state.counts, np.bincount(naive.rows, minlength=n))


@pytest.mark.parametrize("form", FORMS)
def test_all_kinds_of_data_take_the_same_steps(form):
    settings, _ = FORMS[form]
    X, y = data(3, density=0.7)
    forms = [
        X,
        np.asfortranarray(X),
        sp.csr_array(X),
        sp.csc_matrix(X),
        Matrix.pair(X, np.asfortranarray(X)),
        Oracle(X.shape, row=lambda i: X[i], column=lambda j: X[:, j]),
        Oracle(X.shape, entry=lambda i, j: X[i, j], cache_bytes=0),
    ]
    runs = [skim(source, y, settings, seed=5) for source in forms]
    for run in runs:
        run.advance(400, None)
        for name in ("s", "counts", "mass"):
            expected = getattr(runs[0].state, name)
            np.testing.assert_allclose(getattr(run.state, name), expected, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(law_of(run.state), law_of(runs[0].state), rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(run.fallback()[0], runs[0].fallback()[0], rtol=1e-9)
    assert runs[0].reads == runs[1].reads == runs[4].reads


@pytest.mark.parametrize("form", ["hard", "nu bias", "kappa bias batch"])
@pytest.mark.parametrize("limit", [0, 4, 5, 8, 30, 77, 400])
def test_a_run_that_a_limit_of_reads_cut_goes_on_as_if_it_had_not(form, limit):
    settings, options = FORMS[form]
    X, y = data(4, density=0.7)
    naive = Naive(X, y, seed=2, **options)
    spent, steps = 0, 0
    while True:
        naive.step()
        columns = sum(np.count_nonzero(X[:, j]) for j in naive.columns[-1])
        cost = np.count_nonzero(X[naive.rows[-1]]) + columns
        if spent + cost > limit:
            break
        spent, steps = spent + cost, steps + 1
    whole, cut = (skim(sp.csr_array(X), y, settings, seed=2) for _ in range(2))
    assert cut.advance(300, limit)  # it says that the limit ended it
    assert (cut.reads.nnz, cut.steps) == (spent, steps)
    for run in (whole, cut):
        assert not run.advance(300, None)
    np.testing.assert_array_equal(cut.state.s, whole.state.s)
    np.testing.assert_array_equal(cut.state.weights, whole.state.weights)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("limit", [0, 8, 77, 400])
def test_the_same_where_rows_are_left_alone(limit):
    X, y = data(4, density=0.7)
    settings = FORMS["kappa bias batch"][0]
    whole, cut = (skim(sp.csr_array(X), y, settings, seed=2) for _ in range(2))
    assert cut.advance(300, limit)
    assert cut.reads.nnz <= limit
    for run in (whole, cut):
        assert not run.advance(300, None)
    np.testing.assert_array_equal(cut.state.s, whole.state.s)
    np.testing.assert_array_equal(law_of(cut.state), law_of(whole.state))


@pytest.mark.parametrize("form", ["hard", "kappa"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, "few"])
def test_weights_never_vanish(form, kind, request):
    """Large steps for ever in one direction: without a common factor all weights would be zero."""
    if kind == "few":
        request.getfixturevalue("few")
        kind = sp.csr_array
    settings, options = FORMS[form]
    settings = Simba(cap=settings.cap, rate=1e3)
    rng = np.random.default_rng(0)
    X = 0.02 * rng.normal(size=(N, D))
    X[:, 0] = np.linspace(0.8, 1.0, N)
    y = np.ones(N)
    run, naive = skim(kind(X), y, settings), Naive(X, y, rate=1e3, **options)
    for t in range(1, 3001):
        naive.step(order_of(run.state))
        run.advance(t, None)
        if t % 50 == 0 or t < 10:
            np.testing.assert_allclose(law_of(run.state), naive.law, rtol=1e-7)
    assert naive.logs.max() < -745.0  # the exponential of this is 0
    assert run.state.weights.min() > 1e-100
    np.testing.assert_allclose(run.fallback()[0], np.mean(naive.x, axis=0), rtol=1e-9)


def test_more_columns_in_a_step_give_a_better_answer():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30)) + 2.5 * rng.normal(size=30) / math.sqrt(30)
    least = []
    for batch in (1, 4, 16, 64):
        values = []
        for seed in range(5):
            run = skim(X, np.ones(60), Simba(width=1.0 + batch), seed=seed)
            run.advance(300, None)
            x = run.fallback()[0]
            values.append((X @ x).min() / np.linalg.norm(x))
        least.append(np.mean(values))
    assert least == sorted(least)


@pytest.mark.parametrize("form", ["hard", "kappa", "nu"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, "few"])
def test_a_weight_that_is_almost_nothing_is_kept_above_zero(form, kind, request):
    if kind == "few":
        request.getfixturevalue("few")
        kind = sp.csr_array
    X, y = data(8)
    run = skim(kind(X), y, FORMS[form][0])
    run.advance(255, None)
    run.state.weights[:] = np.geomspace(1e-320, 1.0, N)
    if run.state.law is not None:
        set_capped(run.state.law, run.state.weights, run.state.mass)
    run.advance(256, None)
    settle(run.state)
    assert run.state.weights.max() == 1.0
    assert run.state.weights.min() == 1e-250


@pytest.mark.usefixtures("few")
def test_a_restart_keeps_a_part_of_what_was_found():
    X, y = data(5, density=0.5)
    before, after = Simba(cap=1 / (0.4 * N), bias=1.0), Simba(cap=1 / (0.6 * N), bias=1.0)
    run = skim(sp.csr_array(X), y, before, seed=3)
    run.advance(100, None)
    settle(run.state)
    weights, s = run.state.weights / run.state.weights.max(), run.state.s.copy()
    run.restart(after)
    expected = capped_softmax(0.25 * np.log(weights), after.cap)
    np.testing.assert_allclose(law_of(run.state), expected, rtol=1e-9)
    np.testing.assert_allclose(run.state.s, 0.25 * s)
    assert not run.state.mass.any()
    run.advance(200, None)
    settle(run.state)
    assert run.state.mass.sum() == pytest.approx(200.0)
    assert run.state.mass.max() <= 200.0 * after.cap * (1.0 + 1e-9)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_no_number_is_found(value):
    """Entries of matrices in memory are checked before; those of others show only here."""
    X, y = data(5, density=0.5)
    run = skim(sp.csr_array(X), y, FORMS["kappa"][0])
    run.advance(20, None)
    state = run.state
    state.values[2], state.spare[2], state.touched[:2] = value, 1.0, [1, 2]
    run.advance(21, None)
    with pytest.raises(ValueError, match="nan or infinite"):
        run.check(last=False)


def test_rows_are_left_alone_if_columns_have_few_entries():
    rng = np.random.default_rng(0)
    few = as_source(sp.random_array((2000, 50), density=0.004, rng=rng, format="csr"))
    many = as_source(sp.random_array((2000, 50), density=0.1, rng=rng, format="csr"))
    # one column that is nearly full is drawn most of the time
    uneven = sp.random_array((2000, 50), density=0.002, rng=rng, format="lil")
    uneven[:1500, 7] = 1.0
    kappa = Simba(cap=0.01)
    assert lazily(kappa, few).lazy
    assert lazily(Simba(bias=1.0, width=3.0), few) == LazySimba(bias=1.0, width=3.0)
    for settings in (Simba(), Simba(nu=0.1), Simba(cap=0.01, width=9.0), Tracking(cap=0.01)):
        assert lazily(settings, few) is settings
    for source in (many, as_source(uneven.tocsr()), as_source(np.ones((2000, 3)))):
        assert lazily(kappa, source) is kappa


# ---------------------------------------------------------------------------------------- pieces


@pytest.mark.pure_python
@pytest.mark.parametrize("seed", range(40))
def test_the_water_level_gives_the_capped_law(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    weights = np.exp(rng.normal(size=n) * [0.1, 1.0, 5.0, 40.0][seed % 4])
    if seed % 5 == 0:
        weights[rng.random(n) < 0.5] = weights.max()  # ties at the top
    for kappa in (1 / n, rng.uniform(1 / n, 1.0), 2 / n if n > 1 else 1.0, 1.0):
        cap = 1.0 / (kappa * n)
        expected = capped_softmax(np.log(weights), max(cap, 1.0 / n))
        right = water(weights, cap, np.inf)
        for guess in (np.inf, right, 0.9 * right, 1.1 * right, 1e-300, 2.0 * weights.max()):
            capped = np.minimum(weights, water(weights, cap, guess))
            np.testing.assert_allclose(capped / capped.sum(), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.pure_python
def test_the_water_level_where_nothing_is_above_it():
    weights = np.array([1.0, 2.0, 3.0, 2.0])
    assert water(weights, 0.5, np.inf) == np.inf
    assert water(weights, 0.4, 2.5) == np.inf  # 3 / 8 is below the cap
    assert np.minimum(np.ones(7), water(np.ones(7), 0.3, np.inf)).tolist() == [1.0] * 7
    assert water(np.array([4.0]), 1.0, np.inf) >= 4.0


@pytest.mark.pure_python
@pytest.mark.parametrize("n", [1, 2, 10, 49, 98, 103])  # 1 / (1 / 49) is more than 49 in floats
def test_a_cap_that_all_rows_reach_leaves_the_uniform_law(n):
    weights = 0.1 + np.random.default_rng(n).random(n)
    for guess in (np.inf, weights.min(), weights.max()):
        top = water(weights, 1.0 / n, guess)
        assert top > 0.0
        np.testing.assert_allclose(np.minimum(weights, top), weights.min(), rtol=1e-9)


@pytest.mark.pure_python
@pytest.mark.parametrize("seed", range(20))
def test_selection_is_that_of_a_sort(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, [3, 1000][seed % 2], size=int(rng.integers(1, 40))).astype(float)
    for k in range(len(values)):
        assert select(values.copy(), k) == np.sort(values)[k]


@pytest.mark.pure_python
@pytest.mark.parametrize("seed", range(20))
def test_slack_goes_to_the_heaviest_rows(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    weights = rng.integers(1, [4, 1000][seed % 2], size=n).astype(float)
    for rows in (0.0, 0.3, 1.0, rng.uniform(0, n), n - 0.5, float(n), n + 3.0):
        cut, share = heaviest(weights, np.empty(n), rows)
        slack = np.where(weights > cut, 2.0, np.where(weights == cut, share, 0.0))
        np.testing.assert_allclose(slack, slack_of(np.log(weights), 2.0 * rows), atol=1e-12)


def test_the_length_is_known_or_learned():
    X, y = data(6)
    learned, told = skim(X, y, Simba()), skim(X, y, Simba(), length=9.0)
    assert learned.state.scalars[LENGTH] == 0.0
    assert told.state.scalars[LENGTH] == 9.0
    learned.advance(200, None)
    drawn = np.flatnonzero(learned.state.counts)
    assert learned.state.scalars[LENGTH] == pytest.approx(np.linalg.norm(X[drawn], axis=1).max())
    assert learned.reads.certificate == 0
    soft = skim(X, y, Simba(bias=1.0))
    assert soft.state.scalars[LENGTH] == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert soft.reads.certificate == X.size
