"""Tracking: every step against plain arrays, bounds against a general solver, small edge cases."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from margins import exact_margin, holds, make_cap, make_margin
from skimlearn import Matrix, Oracle, Status, max_margin, soft_margin
from skimlearn.data.columns import as_matrix
from skimlearn.sampling.blocks import BLOCK
from skimlearn.sampling.cuts import water
from skimlearn.solvers import _hedge
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._margin_bounds import split
from skimlearn.solvers._margin_skim import MarginSkim
from skimlearn.solvers._margin_state import BIASES, TOP
from skimlearn.solvers._tracking_state import (
    EARLY,
    LEADING,
    MEMBERS,
    PHASE,
    SIZE,
    SPREAD,
    STEADY,
    STRIDE,
    make_state,
)
from skimlearn.solvers.choose_margin import MarginRun
from skimlearn.solvers.tracking import Tracking


class Reference:
    """The algorithm in plain arrays: no sums are kept that can be formed anew."""

    def __init__(self, X, y, cap=1.0, bias=False, length=0.0, sparse=False, opening=None):
        self.X, self.y, self.cap, self.bias, self.sparse = X, y, cap, bias, sparse
        self.A = y[:, None] * X
        n, d = X.shape
        self.share = split(y, cap, bias=True).masses[0] if bias else 1.0
        self.p, self.counts, self.mass = np.full(n, 1.0 / n), np.zeros(n), np.zeros(n)
        self.s, self.z, self.seen, self.leaves, self.xs = np.zeros((5, d))
        self.losses, self.spread, self.t, self.length = np.zeros(n), 0.0, 0, length
        self.summed = 0
        self.middles, self.levels = {1.0: 0.0, -1.0: 0.0}, {True: 0.0, False: 0.0}
        self.scale = 0.0  # of s, when the law of the columns was formed
        self.phase, self.active, self.opened = "steady", np.ones(n, dtype=bool), []
        if opening is not None:
            self.phase, self.todo, self.stride = "lead", *opening

    def x(self):
        size = np.linalg.norm(self.s)
        return self.s / size if size > 0.0 else self.s

    def law(self):
        return ((self.scale * self.s - self.seen) ** 2 * len(self.s)) ** 16

    def step(self, u):
        if self.phase in ("open", "extend"):
            self.look(u)
            return
        i = drawn(self.p, u[0])
        columns = []
        weights = self.leaves if self.sparse else self.law()
        if self.s.any() and weights.any() and self.phase == "steady":
            columns = list(dict.fromkeys(drawn(weights, v) for v in u[1:]))
        x = self.x()
        for j in columns:
            self.z[j] = self.seen[j] = x[j]
        self.leaves[columns] = 0.0
        if self.bias and self.s.any():
            before = self.middles[self.y[i]]
            self.middles[self.y[i]] += 4.0 / (self.t + 4.0) * (self.X[i] @ x - before)
        self.length = max(self.length, float(np.linalg.norm(self.A[i])))
        before = self.s @ self.s
        self.s = self.s + self.A[i]
        now = self.s @ self.s
        self.scale = 1.0 / math.sqrt(now) if now > 0.0 else 0.0
        if 0.75 * now < before < 1.25 * now and not self.sparse:
            self.scale = 1.0 / math.sqrt(before)  # close enough, and known before
        touched = np.flatnonzero(self.A[i])
        self.leaves[touched] = self.law()[touched]
        self.counts[i] += 1.0
        self.t += 1
        if self.t * (math.sqrt(1.25) - 0.5) % 1.0 < 0.125:
            size = np.linalg.norm(self.s)
            self.xs += self.x() * min(1.0, size / (math.sqrt(2.0 * self.t) * self.length))
            self.mass += self.p
            self.summed += 1
        if self.phase == "steady":
            self.weigh()
        elif self.phase == "draw":
            self.stride //= 2
            self.phase, self.todo = "extend", len(self.opened)
        elif self.t == 3:
            self.begin(i)

    def begin(self, i):
        self.first = i // BLOCK
        self.active, self.phase = self.sample(), "open"
        sides = (self.y > 0, self.y < 0) if self.bias else (np.ones(len(self.y), dtype=bool),)
        for side, share in zip(sides, (self.share, 1.0 - self.share), strict=False):
            side = side & self.active
            self.p[side] = share / side.sum()
        self.p[~self.active] = 0.0

    def sample(self):
        return (np.arange(len(self.y)) // BLOCK - self.first) % self.stride == 0

    def look(self, u):
        if self.phase == "extend":
            columns = self.opened[-self.todo :][: len(u) - 1]
        else:
            columns = list(dict.fromkeys(drawn(self.law(), v) for v in u[1 : 1 + self.todo]))
            columns = [j for j in columns if self.seen[j] == 0.0]
            for j in columns:
                self.z[j] = self.t * (self.p @ self.A[:, j]) / np.linalg.norm(self.s)
                self.seen[j] = self.x()[j]
            self.opened += columns
        self.todo -= len(columns)
        if self.todo == 0 or not columns:
            self.active, self.phase = self.sample(), "draw" if self.stride > 1 else "steady"
            self.losses[:], self.spread, self.levels = 0.0, 0.0, {True: 0.0, False: 0.0}
            self.weigh()

    def weigh(self):
        if self.z.any():
            c = self.A[self.active] @ self.z / np.linalg.norm(self.z)
            self.losses[self.active] += c - c.mean()
            self.spread += c.var()
        self.p = self.weights()

    def weights(self):
        n, cap = len(self.y), min(1.0, self.cap * len(self.y) / self.active.sum())
        part = self.active.copy()
        if self.bias:
            plus = math.floor(self.t * self.share) > math.floor((self.t - 1) * self.share)
            part &= self.y == (1.0 if plus else -1.0)
            cap /= self.share if plus else 1.0 - self.share
        if cap * part.sum() <= 1.0 + 1e-9:
            return part / part.sum()
        entropy = math.log(max(2.0, min(n, n * self.cap)))
        rate = (0.2 + 0.8 / (1.0 + self.t / 32.0)) * (1.5 if self.phase == "draw" else 1.0)
        eta = rate * math.sqrt(entropy / max(self.spread, 1e-300))
        side = not self.bias or plus
        level, losses = self.levels[side], self.losses[part]
        w, size = exponentials(eta * (level - losses), cap)
        if not 1e-8 < size < 1e8:
            level = np.sort(losses)[min(math.ceil(1.0 / cap - 1e-9), len(losses)) - 1]
            w, size = exponentials(eta * (level - losses), cap)
        self.levels[side] = level - math.log(size) / eta
        p = np.zeros(n)
        p[part] = capped(w, cap)
        return p

    @property
    def b(self):
        tilt = 2.0 * self.share - 1.0
        if abs(tilt) > 1e-12:
            return math.copysign(self.length, tilt)
        return -0.5 * (self.middles[1.0] + self.middles[-1.0])


def drawn(weights, u):
    return int(np.searchsorted(np.cumsum(weights), u * weights.sum(), side="right"))


def exponentials(z, cap):
    """(1 + u + u^2 / 2)^64, and their cut, or where it would be if a weight were above the cap."""
    u = np.clip(z / 64.0, -1.0, 0.5)
    w = (1.0 + u + u * u / 2.0) ** 64
    heavy = w.max() > cap * w.sum() * (1.0 + 1e-12)
    return w, water(w, cap, np.inf) if heavy else cap * w.sum()


def capped(w, cap):
    """min(w / c, cap) of sum 1, where c is found by halving."""
    p = w / w.sum()
    if p.max() <= cap:
        return p
    low, high = -700.0, math.log(w.max())  # logarithms of the cut
    for _ in range(200):
        middle = 0.5 * (low + high)
        inside = np.minimum(w, math.exp(middle)).sum() * cap >= math.exp(middle)
        low, high = (middle, high) if inside else (low, middle)
    p = np.minimum(w / math.exp(low), 1.0) * cap
    return p / p.sum()


def make_skim(source, y, seed, *, cap=1.0, bias=False, batch=1, length=0.0, **opening):
    settings = Tracking(width=1.0 + batch, cap=cap, bias=float(bias), **opening)
    return MarginSkim(
        source, np.random.default_rng(seed), y=y, settings=settings, eps=1e-9, length=length
    )


def current(skim):
    weights = np.minimum(skim.state.weights, skim.state.scalars[TOP])
    return weights / weights.sum()


def follow(source, X, y, steps, seed, *, batch=1, sparse=False, opens=None, **options):
    """Take steps one by one, and compare all of the state with the reference after each."""
    skim = make_skim(source, y, seed, batch=batch, **options)
    length = float(skim.state.scalars[3])
    reference = Reference(
        X, y, options.get("cap", 1.0), options.get("bias", False), length, sparse, opens
    )
    rng = np.random.default_rng(seed)
    for k in range(1, steps + 1):
        skim.advance(k, None)
        reference.step(rng.random(1 + batch))
        state, scalars = skim.state, skim.state.scalars
        size = np.abs(X).max()
        np.testing.assert_array_equal(state.counts, reference.counts)
        np.testing.assert_allclose(state.s, reference.s, atol=1e-9 * size)
        np.testing.assert_allclose(state.tracked, reference.z, atol=1e-7)
        np.testing.assert_allclose(state.seen, reference.seen, atol=1e-7)
        if reference.phase != "open":  # one column of the opening after the other
            known = reference.active
            np.testing.assert_allclose(
                state.responses[known], (y * (X @ state.tracked))[known], rtol=1e-9,
                atol=1e-9 * size,
            )  # fmt: skip
        assert scalars[SIZE] == pytest.approx(state.tracked @ state.tracked, abs=1e-9)
        np.testing.assert_allclose(state.losses, reference.losses, atol=1e-5 * size * k)
        assert scalars[SPREAD] == pytest.approx(reference.spread, rel=1e-5, abs=1e-12)
        np.testing.assert_allclose(current(skim), reference.p, rtol=1e-3, atol=1e-7)
        np.testing.assert_allclose(state.mass, reference.mass, rtol=1e-3, atol=1e-6 * k)
        np.testing.assert_allclose(skim.sum_of_x(), reference.xs, atol=1e-6 * k)
        x, bias = skim._answer()
        mean = reference.x() if reference.t <= EARLY else reference.xs / reference.summed
        np.testing.assert_allclose(x, mean, atol=1e-6)
        if reference.bias:
            assert scalars[BIASES] == pytest.approx(reference.b, rel=1e-5, abs=1e-7)
            assert bias == pytest.approx(reference.b * np.linalg.norm(x), rel=1e-5, abs=1e-7)
        if sparse:
            leaves = state.column_tree[len(state.column_tree) // 2 :][: X.shape[1]]
            np.testing.assert_allclose(leaves, reference.leaves, rtol=1e-4, atol=1e-9)
    return skim


def make_rows(seed, n=30, d=9, density=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + 1.5 * y[:, None] * rng.normal(size=d)
    return X * (rng.random(X.shape) < density), y


FORMS = [
    {},
    {"batch": 2},
    {"cap": 1.0 / (0.3 * 30)},
    {"cap": 1.0 / (0.37 * 30 + 1.0), "batch": 2},
    {"bias": True},
    {"bias": True, "cap": 1.0 / (0.3 * 30), "batch": 2},
    {"bias": True, "cap": 1.0 / (0.9 * 30)},  # ten rows hold 10 / 27 at most: a tilt
    {"length": 50.0},
]


# ------------------------------------------------------------------------------------- the steps


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_steps_are_those_of_plain_arrays(form):
    X, y = make_rows(len(str(form)))
    follow(as_matrix(X), X, y, 100, 5, **form)


OPENINGS = [
    {},
    {"batch": 3},
    {"batch": 2, "bias": True},
    {"cap": 1.0 / (0.2 * 600), "batch": 4},
    {"cap": 1.0 / (0.4 * 600), "bias": True, "batch": 8},
    {"sample": 300.0, "batch": 5},
    {"sample": math.inf},
]


@pytest.mark.parametrize("form", OPENINGS, ids=str)
def test_an_opening_is_that_of_plain_arrays(form):
    """The rows are five blocks, of which it looks at every fourth, second, or all."""
    X, y = make_rows(len(form), n=600, d=300)
    form = {"sample": 128.0, "opening": 4.0} | form
    stride = {128.0: 4, 300.0: 2, math.inf: 1}[form["sample"]]
    columns = math.floor(4.0 * 300 / math.ceil(600 / stride))
    skim = follow(as_matrix(X), X, y, 70, 3, opens=(columns, stride), **form)
    assert reference_rows(skim) > 10  # it is over, and went on


def reference_rows(skim):
    """Steps that drew a row, after the opening is over."""
    return int(skim.state.counts.sum()) if skim.state.scalars[PHASE] == STEADY else 0


def test_an_opening_is_left_out_where_it_does_not_pay():
    X, y = make_rows(1, n=300, d=40)
    for source, options in (
        (as_matrix(X), {}),  # columns are longer than rows
        (as_matrix(sp.csr_array(X)), {"opening": 100.0}),
        (as_matrix(X), {"opening": 0.0}),
    ):
        assert make_skim(source, y, 0, **options).state.scalars[PHASE] == STEADY
    settings = Tracking(opening=100.0)
    rng = np.random.default_rng(0)
    options = {"y": y, "settings": settings, "eps": 0.1}
    skim = MarginSkim(as_matrix(X), rng, mode="high-probability", **options)
    assert skim.state.scalars[PHASE] == STEADY
    assert MarginSkim(as_matrix(X), rng, **options).state.scalars[PHASE] == LEADING


@pytest.mark.pure_python
@pytest.mark.parametrize("bias", [False, True])
def test_a_sample_has_rows_of_both_classes_where_the_bias_is_free(bias):
    """The only rows of one class are in the last block."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(520) < 516, -1.0, 1.0)
    X = rng.normal(size=(520, 12)) + y[:, None]
    X[:512] -= rng.normal(size=12)
    skim = make_skim(as_matrix(X), y, 0, bias=bias, sample=128.0, opening=40.0, batch=9)
    assert skim.state.scalars[STRIDE] == 4.0
    skim.advance(4, None)
    assert skim.state.scalars[MEMBERS + 1] > 0.0 or not bias
    skim.advance(12, None)
    assert (skim.state.counts[y > 0.0].sum() > 0.0) or not bias
    np.testing.assert_allclose(skim.state.responses, y * (X @ skim.state.tracked), atol=1e-9)


def test_zero_rows_end_an_opening():
    X, y = np.zeros((300, 900)), np.where(np.arange(300) % 2 == 0, 1.0, -1.0)
    result = max_margin(X, y, solver="tracking", eps=0.1, max_steps=50, random_state=0)
    assert result.certificate.gap <= 0.1


@pytest.mark.pure_python
def test_a_few_steps_in_plain_python():
    X, y = make_rows(1, n=30, d=4)
    follow(as_matrix(X), X, y, 25, 2, cap=1.0 / 9.0, bias=True, batch=2)
    follow(as_matrix(sp.csr_array(X)), X, y, 25, 2, sparse=True)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_sparse_steps_draw_columns_by_what_rows_changed_last(form):
    """|x_j - z_j|^32 of a coordinate is that of the last row that touched it; 0 once it is read."""
    X, y = make_rows(3, d=40, density=0.2)
    follow(as_matrix(sp.csr_array(X)), X, y, 100, 8, sparse=True, **form)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_an_oracle_and_single_precision_take_the_same_steps(form):
    X, y = make_rows(4)
    X = X.astype(np.float32).astype(np.float64)
    asked = []

    def ask(kind, line):
        asked.append((kind, len(line)))
        return line

    oracle = Oracle(
        X.shape,
        row=lambda i: ask("row", X[i]),
        column=lambda j: ask("column", X[:, j]),
        rows_norm=np.linalg.norm(X, axis=1),
    )
    sources = (as_matrix(X), as_matrix(X.astype(np.float32)), oracle)
    skims = [make_skim(source, y, 6, **form) for source in sources]
    for skim in skims:
        skim.advance(200, None)
    for skim in skims[1:]:
        np.testing.assert_array_equal(skim.state.counts, skims[0].state.counts)
        np.testing.assert_allclose(skim.state.s, skims[0].state.s, atol=1e-6)
        np.testing.assert_allclose(skim.state.losses, skims[0].state.losses, atol=1e-6)
    assert skims[2].reads.nnz == sum(size for _, size in asked)
    assert len(asked) <= sum(X.shape)  # nothing is asked for twice


def test_a_matrix_on_disk_takes_the_same_steps(tmp_path):
    X, y = make_rows(5, n=300, d=70)
    paths = [tmp_path / "rows.npy", tmp_path / "columns.npy"]
    for path, order in zip(paths, "CF", strict=True):
        np.save(path, np.asarray(X, order=order))
    files = [np.load(path, mmap_mode="r") for path in paths]
    skims = [make_skim(source, y, 1) for source in (as_matrix(X), Matrix.pair(*files))]
    for skim in skims:
        assert skim.advance(60, 50 * 370)  # it ends before the limit of reads on both
    assert skims[0].reads == skims[1].reads
    np.testing.assert_array_equal(skims[0].state.counts, skims[1].state.counts)
    np.testing.assert_array_equal(skims[0].state.s, skims[1].state.s)


@pytest.mark.parametrize("limit", [0, 8, 9, 47, 48, 49, 1000])
def test_the_limit_of_reads_holds_to_the_entry(limit):
    X, y = make_rows(6)  # a row has 9 entries, a column 30; the first step reads no column
    result = max_margin(
        X, y, solver="tracking", eps=1e-9, max_reads=limit, mode="monte-carlo", random_state=0
    )
    assert result.status is Status.READS
    assert limit - 39 < result.reads.nnz <= limit
    assert result.reads.nnz == (0 if limit < 9 else 9 + (limit - 9) // 39 * 39)


def test_where_a_bound_asks_for_the_mean_of_all_p_it_is_that():
    X, y = make_rows(7)
    settings = Tracking(bias=1.0)
    skim = MarginSkim(
        as_matrix(X), np.random.default_rng(0), y=y, settings=settings, eps=1e-9,
        mode="high-probability",
    )  # fmt: skip
    total = np.zeros(len(y))
    for k in range(1, 40):
        total += current(skim)
        skim.advance(k, None)
        np.testing.assert_allclose(skim.state.mass, total, atol=1e-9 * k)


# ----------------------------------------------------------------------------------- the weights


@pytest.mark.parametrize("worst", [0.0, 1e2, 1e4, 1e7])
@pytest.mark.parametrize("bias", [False, True])
def test_weights_where_few_rows_are_far_worse_than_all_others(worst, bias):
    """The others are still weighed by their own losses."""
    rng = np.random.default_rng(0)
    n, y = 200, np.where(np.arange(200) % 2 == 0, 1.0, -1.0)
    settings = Tracking(cap=1.0 / 40.0, bias=float(bias))
    state = make_state(settings, y, 3, sparse=False, length=1.0)
    state.losses[:] = rng.normal(size=n)
    state.losses[:6] -= worst
    eta = math.sqrt(math.log(n * settings.cap) / 3.0)
    turn = 1.0 if bias else 0.0
    cap = settings.cap * (2.0 if bias else 1.0)
    total, top, level = _hedge.weigh(state, eta, 0.0, 0.0, turn, cap, 0.0)
    w = np.minimum(state.weights, top)
    assert total == pytest.approx(w.sum(), rel=1e-9)
    p = w / w.sum()
    part = y == 1.0 if bias else np.ones(n, dtype=bool)
    assert (p[~part] == 0.0).all()
    assert p.max() <= cap * (1 + 1e-9)
    exact = np.zeros(n)  # with true exponentials, of losses measured from the others
    exact[part] = capped(np.exp(np.minimum(-eta * state.losses[part], 50.0)), cap)
    np.testing.assert_allclose(p, exact, rtol=0.05, atol=1e-6)
    again = _hedge.weigh(state, eta, 0.0, 0.0, turn, cap, level)  # from there, the cut is at 1
    assert again[1] == pytest.approx(1.0, rel=0.05)
    np.testing.assert_allclose(np.minimum(state.weights, again[1]) / again[0], p, rtol=0.05)


def test_the_exponential_is_nearly_one_and_bounded():
    z = np.array([8.0, 0.0, -0.1, -1.0, -5.0])
    found = [_hedge._exponential(v / 64.0) for v in z]
    np.testing.assert_allclose(found, np.exp(z), rtol=0.03)
    assert _hedge._exponential(-1.0) == _hedge._exponential(-1e300) < 1e-19
    assert _hedge._exponential(1e300) == _hedge._exponential(0.5) < 1e14


# ------------------------------------------------------------------------------------ the bounds


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_the_bounds_bracket_the_margin_and_close(seed, bias):
    X, y = make_margin(seed)
    cap = make_cap(seed, len(y))
    exact, R = exact_margin(X, y, cap, bias)
    eps = 0.1 * R
    source = as_matrix(sp.csr_array(X) if seed % 3 == 1 else X)
    run = MarginRun(
        source, y, np.random.default_rng(seed), kappa=1.0 / (cap * len(y)), bias=bias,
        solver="tracking", eps=eps,
    )  # fmt: skip
    result = run.run(Limits(eps=eps, max_steps=100_000))
    assert result.status is Status.CONVERGED
    certificate, slack = result.certificate, 1e-6 * R
    assert certificate.gap <= eps
    assert certificate.primal - slack <= exact <= certificate.dual + slack
    holds(result, X, y, run.cap, bias)


def test_the_free_bias_is_close_to_the_exact_one():
    rng = np.random.default_rng(7)
    y = np.where(rng.random(300) < 0.4, 1.0, -1.0)
    X = rng.normal(size=(300, 5)) * 0.3 + y[:, None] * np.array([1.0, 0, 0, 0, 0]) + 2.0
    options = {"kappa": 0.05, "bias": True, "random_state": 0}
    exact = soft_margin(X, y, solver="working-set", eps=1e-4, **options)
    found = soft_margin(X, y, solver="tracking", mode="monte-carlo", eps=0.3, **options)
    assert found.bias / np.linalg.norm(found.x) == pytest.approx(exact.bias, abs=0.25)
    right = np.mean(y * (X @ found.x + found.bias) > 0)
    assert right >= np.mean(y * (X @ exact.x + exact.bias) > 0) - 0.01


# ------------------------------------------------------------------------------------ edge cases


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kappa", [0.01, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("few", [0, 1, 2, 12])
def test_small_and_empty_classes(few, kappa, bias):
    """Rows of a class that is smaller than its part of the mass are all at the cap."""
    rng = np.random.default_rng(few)
    y = np.where(np.arange(24) < few, 1.0, -1.0)
    X = rng.normal(size=(24, 3)) + 2.0 * y[:, None] + 1.0
    cap = min(1.0, 1.0 / (kappa * 24))
    exact, R = exact_margin(X, y, cap, bias)
    result = soft_margin(
        X, y, kappa=kappa, bias=bias, eps=0.05 * R, solver="tracking", random_state=0,
        max_steps=50_000,
    )  # fmt: skip
    assert result.status is Status.CONVERGED
    assert result.certificate.primal - 1e-6 * R <= exact <= result.certificate.dual + 1e-6 * R
    for flipped in (y, -y):  # an answer without a proof is finite and is of use
        result = soft_margin(
            X, flipped, kappa=kappa, bias=bias, eps=0.1 * R, solver="tracking",
            mode="monte-carlo", random_state=0,
        )  # fmt: skip
        assert result.status is Status.PLANNED
        assert result.certificate.dual >= exact - 1e-6 * R
        c = np.sort(flipped * (X @ result.x + result.bias))
        weights = np.clip(1.0 - cap * np.arange(24), 0.0, cap)
        assert weights @ c >= exact * np.linalg.norm(result.x) - 0.25 * R


@pytest.mark.parametrize("mode", ["las-vegas", "high-probability", "monte-carlo"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("X", "y", "margin"),
    [
        ([[2.0]], [1], 2.0),
        ([[2.0]], [-1], 2.0),
        ([[3.0, 4.0]], [-1], 5.0),
        ([[1.0], [2.0]], [1, 1], 1.0),
        ([[1.0], [-2.0]], [1, -1], 1.0),
        ([[1.0], [1.0]], [1, -1], 0.0),
        ([[1.0, 0.0], [0.0, 1.0]], [1, 1], math.sqrt(0.5)),
        (np.zeros((5, 3)), [1, 1, -1, -1, 1], 0.0),
        (np.ones((6, 2)), [1] * 6, math.sqrt(2.0)),
    ],
)
def test_the_smallest_problems(X, y, margin, form, mode):
    X = form(np.asarray(X))
    result = max_margin(X, y, eps=0.1, mode=mode, solver="tracking", random_state=0)
    assert result.certificate.dual >= margin - 1e-9
    assert result.certificate.primal <= margin + 1e-9
    assert np.isfinite(result.x).all()
    if mode == "las-vegas":
        assert result.certificate.gap <= 0.1
    least = float((np.asarray(y) * (X @ result.x)).min())
    assert least >= margin * np.linalg.norm(result.x) - 0.25


@pytest.mark.parametrize("place", [(7, 0), (7, 3)])
@pytest.mark.parametrize("solver", ["tracking", "simba"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_found_when_it_is_read(place, solver, value):
    X, y = make_rows(9, n=12, d=4)
    X[place] = value
    matrix = Matrix.pair(X, np.asfortranarray(X))  # which is not read beforehand
    with pytest.raises(ValueError, match="nan or infinite"):
        max_margin(matrix, y, eps=0.3, mode="monte-carlo", solver=solver, random_state=0)


@pytest.mark.parametrize("option", [{"q": 1.5}, {"nu": 0.1}])
def test_what_tracking_does_not_know_is_refused(option):
    X, y = make_rows(0)
    with pytest.raises(ValueError, match="solver='tracking' knows neither nu nor q"):
        MarginRun(as_matrix(X), y, np.random.default_rng(0), solver="tracking", eps=0.1, **option)
