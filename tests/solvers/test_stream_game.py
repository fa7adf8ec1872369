"""Margins and balls of streams: against naive steps, exact answers, and the other ways to run."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from margins import exact_margin, make_margin
from simplex_reference import exact_radius
from skimlearn import RowStream, Status, one_pass_ball, stream_ball, stream_margin
from skimlearn.sampling.alias import AliasTable
from skimlearn.sampling.reservoir import uniform_at
from skimlearn.solvers.stream_ball import _Ball
from skimlearn.solvers.stream_margin import _Margin

N, D, DRAWS, WIDTH, STEPS = 40, 6, 3, 4, 12
rng = np.random.default_rng(4)
LABELS = rng.choice([-1.0, 1.0], size=N)
X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7) + 1.5 * LABELS[:, None] * np.eye(D)[0]
BLOCKS = [(X[a : a + 15], LABELS[a : a + 15]) for a in range(0, N, 15)]


def game(kind, blocks=BLOCKS, draws=DRAWS, width=WIDTH, **options):
    given = {"keep_weights": False, "sketch": None, "certify": True, **options}
    return kind(
        RowStream(blocks), np.random.default_rng(0), maximize=kind is _Margin,
        rows_per_pass=draws, columns_per_pass=width, **given,
    )  # fmt: skip


def gumbels(seed, step, n):
    with np.errstate(over="ignore"):
        u = [[uniform_at(seed, step, k, i) for k in range(DRAWS)] for i in range(n)]
    return -np.log(-np.log(u))


def naive_margin(X, y, steps, seeds):
    """The steps with everything at hand: the sums of gains, s, the sum of x_t, the rows drawn."""
    seed = int(seeds.integers(2**62))
    A, n = y[:, None] * X, len(y)
    R = np.linalg.norm(X, axis=1).max()
    S, s, total, chosen = np.zeros(n), np.zeros(X.shape[1]), np.zeros(X.shape[1]), []
    for t in range(1, steps + 1):
        eta = 2.0 * np.sqrt(np.log(n) * WIDTH / t)
        winners = (eta * S[:, None] + gumbels(seed, t - 1, n)).argmax(axis=0)
        x = s / max(np.sqrt(2 * t) * R, np.linalg.norm(s))
        total += x
        if x.any():
            j = AliasTable((s / np.linalg.norm(s)) ** 2).draw(seeds.random(WIDTH))
            responses = (A[:, j] * (x @ x) / x[j]).mean(axis=1) / R
            clip = max(0.5 / np.sqrt(np.log(n) * WIDTH / (t + 1)), 1.0)
            S += np.clip(-responses, -clip, clip)
        s = s + A[winners].mean(axis=0)
        chosen.append(winners)
    return S, s, total, np.array(chosen)


def naive_ball(X, steps, seeds):
    """The same for the ball: the centre, the lower bound, the rows drawn."""
    seed, n = int(seeds.integers(2**62)), len(X)
    spread = ((X - X[0]) ** 2).sum(axis=1).max()
    S, chosen, o, centres = np.zeros(n), [], None, []
    for t in range(1, steps + 1):
        eta = 32.0 * np.sqrt(np.log(n) / t) if t > 1 else 0.0
        winners = (eta * S[:, None] + gumbels(seed, t - 1, n)).argmax(axis=0)
        if t > 1:
            shares = np.arange(1, t) / np.arange(1, t).sum()
            z = shares @ [X[w].mean(axis=0) - o for w in chosen]
            products = np.zeros(n)
            if z @ z > 0:
                j = AliasTable(z * z / (z @ z)).draw(seeds.random(WIDTH))
                products = ((X - o)[:, j] * (z @ z) / z[j]).mean(axis=1)
            gains = (((X - o) ** 2).sum(axis=1) - 2.0 * products + z @ z) / (4.0 * spread)
            S += np.clip(gains, -2.0, 2.0)
        else:
            o = X[winners].mean(axis=0)
        chosen.append(winners)
    shares = np.repeat(np.arange(1, steps + 1), DRAWS) / DRAWS
    means = np.array([X[w].mean(axis=0) for w in chosen])
    for t in range(1, steps + 1):
        centres.append(np.average(means[:t], axis=0, weights=np.arange(1, t + 1)))
    answer = np.average(centres, axis=0, weights=np.arange(1, steps + 1))
    p = np.bincount(np.ravel(chosen), shares, n)
    p /= p.sum()
    return answer, p @ ((X - p @ X) ** 2).sum(axis=1), np.array(chosen)


@pytest.mark.pure_python
def test_the_margin_makes_the_steps_of_the_reference():
    found = game(_Margin, keep_weights=True)
    for _ in range(STEPS + 1):
        found.step()
    _, s, total, chosen = naive_margin(X, LABELS, STEPS + 1, np.random.default_rng(0))
    np.testing.assert_array_equal(found.chosen, chosen)
    np.testing.assert_allclose(found.s, s, atol=1e-12)
    np.testing.assert_allclose(found.total, total, atol=1e-12)
    before = naive_margin(X, LABELS, STEPS, np.random.default_rng(0))[0]
    # the last gains come in a next pass
    np.testing.assert_allclose(found.past.sums, before, atol=1e-12)


@pytest.mark.pure_python
def test_the_ball_makes_the_steps_of_the_reference():
    found = game(_Ball, keep_weights=True)
    for _ in range(STEPS):
        found.step()
        found.bound()
    centre, lower, chosen = naive_ball(X, STEPS, np.random.default_rng(0))
    np.testing.assert_array_equal(found.chosen, chosen)
    np.testing.assert_allclose(found.answer(), centre, atol=1e-12)
    assert found.bounds.lower >= lower - 1e-12
    z = found.y / found.weight(STEPS)
    assert found.moment / found.weight(STEPS) - z @ z == pytest.approx(lower, abs=1e-10)


def rebuilt(found):
    """The weights that the next pass would use, computed from the history alone."""
    sums, past = [], found.past
    for first, block in found.blocks():
        labels, squares = found.gains(block, first)
        part = np.zeros(len(labels))
        for t in range(len(past.columns)):
            gain = past.constants[t] + past.base * squares if past.base else np.zeros(len(labels))
            if past.columns[t, 0] >= 0:
                entries = np.asarray(block.rows.values)[:, past.columns[t]]
                gain = gain + labels * (entries @ past.factors[t])
            part += np.clip(gain, -past.clips[t], past.clips[t])
        sums.append(part)
    return np.concatenate(sums)


@pytest.mark.parametrize("kind", [_Margin, _Ball])
def test_rebuilt_weights_are_the_stored_ones(kind):
    stored, short = game(kind, keep_weights=True), game(kind)
    for _ in range(STEPS):
        before = rebuilt(stored) if stored.steps else None
        stored.step()
        short.step()
        if before is not None:
            np.testing.assert_allclose(stored.past.sums, before, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(short.chosen, stored.chosen)
    np.testing.assert_array_equal(short.past.columns, stored.past.columns)
    np.testing.assert_allclose(short.answer(), stored.answer(), rtol=1e-12)
    assert short.memory < stored.memory


@pytest.mark.parametrize("solve", [stream_margin, stream_ball])
@pytest.mark.parametrize("keep", [False, True])
def test_blocks_and_kinds_of_rows_do_not_matter(solve, keep):
    options = {"max_passes": 8, "rows_per_pass": 4, "columns_per_pass": 4, "random_state": 1}
    sources = [(X, LABELS), BLOCKS, (sp.csr_matrix(X), LABELS), lambda: iter(BLOCKS)]
    results = [solve(source, eps=1e-9, keep_weights=keep, **options) for source in sources]
    for result in results:
        np.testing.assert_array_equal(result.rows, results[0].rows)
        np.testing.assert_allclose(result.x, results[0].x, atol=1e-12)
        assert result.passes == 8
        assert result.status is Status.EPOCHS
    sparse, dense = results[2].reads, results[0].reads
    assert sparse.dense == dense.dense == dense.nnz
    assert sparse.nnz < dense.nnz
    rebuilding = solve(sources[0], eps=1e-9, keep_weights=False, **options)
    assert keep is False or rebuilding.reads.dense > dense.dense


# ------------------------------------------------------------------------------------ certificates


@pytest.mark.parametrize("seed", range(12))
def test_margins_lie_between_the_bounds(seed):
    X, y = make_margin(seed)
    exact, R = exact_margin(X, y, 1.0, False)
    sketch = 256 if seed % 3 == 2 else None
    source = [(X[:3], y[:3]), (sp.csr_matrix(X[3:]), y[3:])]
    passes = 12 if sketch else 60
    result = stream_margin(source, eps=0.05 * R, max_passes=passes, sketch=sketch,
                           columns_per_pass=8, random_state=seed)  # fmt: skip
    certificate, slack = result.certificate, 1e-7 * R
    assert certificate.lower - slack <= max(exact, 0.0) <= certificate.upper + slack
    assert certificate.failure == 0.0
    A = y[:, None] * X
    assert np.linalg.norm(result.x) <= 1.0 + 1e-12
    assert (A @ result.x).min() >= certificate.lower - slack
    assert result.p.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(
        np.linalg.norm(result.p @ A[result.rows]), certificate.upper, rtol=0.2, atol=0.1 * R
    )
    if sketch is None:
        assert certificate.gap <= 0.12 * R
    if certificate.gap <= 0.05 * R:
        assert result.status is Status.CONVERGED


@pytest.mark.parametrize("seed", range(9))
def test_balls_lie_between_the_bounds(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4)) * 10.0 ** (seed % 3 - 1) + (100.0 if seed % 2 else 0.0)
    low, high = exact_radius(X)
    sketch = 256 if seed == 4 else None
    passes = 20 if sketch else 200
    result = stream_ball([X[:10], X[10:]], eps=0.05, sketch=sketch, max_passes=passes,
                         columns_per_pass=16, random_state=seed)  # fmt: skip
    assert result.certificate.lower <= high * (1 + 1e-9)
    assert result.certificate.upper >= low * (1 - 1e-9)
    distances = ((X - result.x) ** 2).sum(axis=1)
    assert distances.max() == pytest.approx(result.bias, rel=1e-9)
    if sketch is None:
        assert result.status is Status.CONVERGED
        assert result.certificate.upper <= 1.05 * high


@pytest.mark.parametrize("seed", range(12))
def test_a_ball_in_one_pass(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3)) * (rng.random((50, 3)) < 0.5 if seed % 2 else 1.0)
    X = X[np.argsort(np.linalg.norm(X, axis=1))] if seed % 3 == 0 else X  # a bad order
    low, high = exact_radius(X)
    blocks = [X[:1], sp.csr_matrix(X[1:20]), X[20:]]
    result = one_pass_ball(iter(blocks))
    assert np.linalg.norm(X - result.x, axis=1).max() <= np.sqrt(result.bias) * (1 + 1e-12)
    assert np.sqrt(result.bias) <= 1.5 * np.sqrt(high) * (1 + 1e-12)
    assert result.certificate.lower <= high * (1 + 1e-9)
    assert result.certificate.upper <= 2.25 * result.certificate.lower * (1 + 1e-12)
    assert (result.passes, result.memory) == (1, 7 * 8)
    second = one_pass_ball(blocks, certify=True)
    assert second.passes == 2
    assert low * (1 - 1e-9) <= second.bias <= result.bias * (1 + 1e-12)
    assert second.bias == pytest.approx(((X - second.x) ** 2).sum(axis=1).max())


def naive_growth(X):
    c, r = X[0], 0.0
    for x in X[1:]:
        s = np.linalg.norm(x - c)
        if s > r:
            c, r = c + (s - r) / (2 * s) * (x - c), (s + r) / 2
    return c, r


@pytest.mark.pure_python
def test_one_pass_makes_the_steps_of_the_reference():
    c, r = naive_growth(X)
    for source in ([X[:7], X[7:]], sp.csr_matrix(X)):
        result = one_pass_ball(source)
        np.testing.assert_allclose(result.x, c, atol=1e-12)
        assert result.bias == pytest.approx(r * r, rel=1e-12)
    assert result.reads.dense == X.size


# ---------------------------------------------------------------------------------------- sketches


def test_memory_of_a_sketched_run_does_not_grow_with_the_columns():
    used = []
    for d in (D, 1000 * D):
        entries = sp.coo_matrix(X)
        places = (entries.row, entries.col * (d // D))
        wide = sp.csr_matrix((entries.data, places), shape=(N, d))
        for solve in (stream_margin, stream_ball):
            result = solve((wide, LABELS), sketch=64, certify=False, max_passes=4, rows_per_pass=2,
                           columns_per_pass=2, random_state=0)  # fmt: skip
            assert len(result.x) == 0
            assert result.passes == 4
            used.append(result.memory)
    assert used[:2] == used[2:]
    plain = stream_margin((wide, LABELS), max_passes=4, random_state=0)
    assert plain.memory > 6000 * 8


def test_a_sketched_margin_without_a_proof_says_so():
    result = stream_margin(BLOCKS, sketch=256, certify=False, max_passes=10, random_state=0)
    assert result.certificate.lower == -np.inf
    assert 0.0 < result.certificate.failure < 0.05
    exact, _ = exact_margin(X, LABELS, 1.0, False)
    assert result.certificate.upper >= exact
    assert result.status is Status.EPOCHS
    A = LABELS[:, None] * X
    assert result.certificate.upper < 2.0 * np.linalg.norm(result.p @ A[result.rows])


# -------------------------------------------------------------------------------------- odd input


@pytest.mark.parametrize("solve", [stream_margin, stream_ball])
def test_sources_and_parameters_that_are_refused(solve):
    with pytest.raises(ValueError, match=rf"^{solve.__name__} passes over the rows more than once"):
        solve(iter(BLOCKS))
    for name in ("rows_per_pass", "columns_per_pass", "max_passes", "sketch"):
        for bad in (0, 2.5, True):
            with pytest.raises(
                ValueError, match=rf"{name}={bad} must be a whole number, 1 or more"
            ):
                solve(BLOCKS, **{name: bad})
    with pytest.raises(ValueError, match=r"eps=0.0 must be positive"):
        solve(BLOCKS, eps=0.0)
    with pytest.raises(ValueError, match="the source has no rows"):
        solve([])
    with pytest.raises(ValueError, match=r"block 1: .*NaN"):
        solve([*BLOCKS[:1], (np.full((2, D), np.nan), [1, 1])])


def test_labels_of_a_margin():
    with pytest.raises(ValueError, match="block 0 has no labels"):
        stream_margin(X)
    with pytest.raises(ValueError, match=r"the labels must be \+1 and -1"):
        stream_margin((X, np.arange(N)))
    with pytest.raises(ValueError, match="one_pass_ball with certify=True passes over"):
        one_pass_ball(iter([X]), certify=True)


def test_small_and_empty_data():
    zero = stream_margin((np.zeros((3, 2)), [1, -1, 1]), max_passes=5, random_state=0)
    assert (zero.certificate.lower, zero.certificate.upper) == (0.0, 0.0)
    one = stream_margin(([[3.0, 4.0]], [1]), eps=0.1, random_state=0)
    assert one.certificate.upper == pytest.approx(5.0)
    assert one.certificate.lower > 4.9
    same = stream_ball([np.ones((4, 3))], random_state=0)
    assert same.certificate.upper == 0.0
    np.testing.assert_allclose(same.x, 1.0)
    assert one_pass_ball([[[2.0, 0.0]]]).bias == 0.0
    assert stream_ball([np.zeros((3, 2))], max_passes=3).certificate.upper == 0.0
    apart = stream_margin(([[1.0], [1.0]], [1, -1]), max_passes=6, random_state=0)
    assert apart.certificate.lower == 0.0
    single = stream_margin(BLOCKS, max_passes=1, random_state=0)
    assert single.passes == 1
    assert single.certificate.lower == -np.inf


def test_an_interrupt_gives_the_best_so_far():
    calls = []

    def source():
        calls.append(1)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return iter(BLOCKS)

    result = stream_margin(source, eps=1e-9, keep_weights=True, random_state=0)
    assert result.status is Status.INTERRUPTED
    assert 0.0 < result.certificate.lower < result.certificate.upper


@pytest.mark.parametrize("kind", ["margin", "ball"])
def test_other_rates_of_the_weights_are_not_clearly_better(kind):
    """Half and twice the rate: about the same gaps over a grid of problems; much more is bad."""
    path = Path(__file__).parents[2] / "benchmarks" / "stream_rates.py"
    spec = importlib.util.spec_from_file_location("stream_rates", path)
    rates = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(rates)
    chosen = [
        make for name, make in rates.PROBLEMS.items()
        if name.startswith(kind) and "many rows" not in name
    ]  # fmt: skip
    factors = (1 / 8, 1 / 2, 2, 8)
    table = rates.mean_of(np.array([rates.ratios(make, factors, 3, 20) for make in chosen]))
    least, half, twice, most = table
    assert half > 0.85
    assert twice > 0.85
    assert least > 1.3
    assert most > 1.3
