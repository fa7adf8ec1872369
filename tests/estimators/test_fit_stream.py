"""Whole streams: the steps of the references, the same to the bit after a kill, odd sources."""

import contextlib
import copy
import io
import os
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import reference
from problems import close
from skimlearn import LinearClassifier, LinearRegressor, ModelError, RowStream, Status, Store, load
from skimlearn.data.ledger import Ledger
from skimlearn.problem import make_problem
from skimlearn.solvers import choose
from stream_faults import blocks, killed, learn, make, state

N, D, SIZE = 600, 6, 100
rng = np.random.default_rng(7)
X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7) + 0.2
X /= np.linalg.norm(X, axis=1).max()
X[0] *= 1.5 / np.linalg.norm(X[0])  # the longest row is in the first block: steps keep their size
NUMBERS = 3.0 * X @ rng.normal(size=D) + 0.3 + 0.1 * rng.normal(size=N)
LABELS = np.where(NUMBERS > 0.0, 1, -1)
BLOCKS = [(X[a : a + SIZE], LABELS[a : a + SIZE]) for a in range(0, N, SIZE)]
PAIRS = [(X[a : a + SIZE], NUMBERS[a : a + SIZE]) for a in range(0, N, SIZE)]


def classifier(**parameters):
    return LinearClassifier(**{"alpha": 1e-2, "random_state": 0, **parameters})


def regressor(**parameters):
    return LinearRegressor(**{"alpha": 1e-2, "random_state": 0, **parameters})


def visits(model):
    """The order in which a model of this seed visits the rows of the blocks."""
    seeds = np.random.default_rng(
        np.random.RandomState(model.random_state).randint(2**31 - 1, size=1)
    )
    parts = []
    for begin in range(0, N, SIZE):
        order = np.random.default_rng(seeds.integers(2**63)).permutation(SIZE)
        parts.append(begin + order)
    return np.concatenate(parts)


# ---------------------------------------------------------------------------- the same as elsewhere


@pytest.mark.parametrize("average", ["last", "mean", "tail"])
@pytest.mark.parametrize("solver", ["sgd", "casgd", "pegasos", "pgs"])
def test_the_steps_are_those_of_the_references(solver, average):
    options = {"solver": "asgd" if solver == "sgd" and average != "last" else solver}
    model = classifier(loss="log", average=average, **options)
    model.fit_stream(iter(BLOCKS))
    order, alpha = visits(model), model.alpha
    rows, middle = X, np.zeros(D)
    if solver == "casgd":
        middle = BLOCKS[0][0].mean(axis=0)
        rows = X - middle
    if solver in ("sgd", "casgd"):
        t0 = 0.25 * (np.linalg.norm(rows, axis=1).max() ** 2 + 1.0) / alpha
        iterates = reference.sgd(rows, LABELS, order, alpha, "log", t0=t0)
    else:
        naive = getattr(reference, solver)
        iterates = naive(rows, LABELS, order, alpha, "log", bias="free")
    found = (model.coef_[0], model.intercept_[0])
    if solver in ("pegasos", "pgs") and average != "last":
        iterates = iterates[:-1]  # the means are of those that a step was made from
    pick = {
        "last": lambda i: i[-1],
        "mean": reference.mean,
        "tail": lambda i: reference.tail(i, SIZE),
    }
    w, b = pick[average](iterates)
    assert close(found, (w, b - w @ middle), 1e-9)


@pytest.mark.parametrize("solver", ["sgd", "asgd", "casgd", "ftrl", "pegasos", "pgs"])
@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_a_stream_equals_its_batches(solver, loss):
    grown = [(k * block, y) for k, (block, y) in enumerate(PAIRS, 1)]  # steps get smaller
    model = regressor(solver=solver, loss=loss).fit_stream(grown)
    batches = regressor(solver=solver, loss=loss)
    for block, y in grown:
        batches.partial_fit(block, y)
    np.testing.assert_allclose(model.coef_, batches.coef_, rtol=1e-9)
    assert model.intercept_ == pytest.approx(batches.intercept_, rel=1e-9)
    assert model.n_rows_seen_ == batches.n_rows_seen_ == N
    assert model.result_.reads == batches.result_.reads


def test_all_sources_give_the_same_model(tmp_path):
    sparse = sp.csr_matrix(X)
    store = Store.create(tmp_path / "store", X, LABELS)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=LABELS)
    whole = [
        (X, LABELS), store, [(X, LABELS)], lambda: iter([(X, LABELS)]),
        iter([(X, LABELS)]), RowStream([frame], target="y"),
    ]  # fmt: skip
    found = [classifier().fit_stream(source) for source in whole]
    for model in found[1:]:
        np.testing.assert_array_equal(model.coef_, found[0].coef_)
    assert found[-1].feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_allclose(
        classifier().fit_stream((sparse, LABELS)).coef_, found[0].coef_, rtol=1e-10
    )


def test_towards_the_optimum():
    many = [BLOCKS[k % 6] for k in range(120)]
    for solver, p in (("auto", 2.0), ("casgd", 2.0), ("ftrl", 2.0), ("pegasos", 2.0), ("pgs", 1.5)):
        model = classifier(solver=solver, loss="log", p=p).fit_stream(many)
        best = classifier(loss="log", p=p, tol=1e-6).fit(X, LABELS)
        z, n = X @ model.coef_[0] + model.intercept_[0], np.linalg.norm(model.coef_[0], p)
        value = model.alpha * n**2 / (2 * (p - 1)) + np.log1p(np.exp(-LABELS * z)).mean()
        assert value < best.result_.certificate.dual * 1.03


# ------------------------------------------------------------------------- predict, then learn


def test_progressive_validation_is_held_out():
    model = classifier(loss="log").fit_stream(BLOCKS)
    naive, wrong, losses = classifier(loss="log", solver="sgd"), [], []
    order, seen = visits(model), 0
    t0 = 0.25 * (np.linalg.norm(X, axis=1).max() ** 2 + 1.0) / model.alpha
    iterates = reference.sgd(X, LABELS, order, naive.alpha, "log", t0=t0)
    for (w, b), i in zip([(np.zeros(D), 0.0), *iterates], order, strict=False):
        z = X[i] @ w + b
        wrong.append((1 if z > 0 else -1) != LABELS[i])
        losses.append(np.log1p(np.exp(-LABELS[i] * z)))
    for record in model.result_.history:
        assert record.error == pytest.approx(np.mean(wrong[seen : record.rows]))
        assert record.loss == pytest.approx(np.mean(losses[seen : record.rows]))
        assert record.mean_error == pytest.approx(np.mean(wrong[: record.rows]))
        seen = record.rows
    assert seen == N
    assert model.result_.status is Status.STREAMED
    assert [record.rows for record in model.result_.history] == list(range(SIZE, N + 1, SIZE))


def test_progressive_errors_of_numbers_and_of_several_classes():
    history = regressor().fit_stream(PAIRS).result_.history
    assert history[-1].error < 0.5 * history[0].error
    three = np.digitize(NUMBERS, [-0.5, 0.5])
    source = [(X[a : a + 50], three[a : a + 50]) for a in range(0, N, 50)] * 4
    model = classifier().fit_stream(source, classes=[0, 1, 2])
    assert len(model.result_.history) == len(model.results_[0].history) > 20
    assert model.result_.history[-1].error < 0.3


def test_the_history_is_kept_in_model_files(tmp_path):
    model = classifier().fit_stream(BLOCKS)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert str(again.result_.history) == str(model.result_.history)
    again.partial_fit(*BLOCKS[0])


def test_progress_is_shown(monkeypatch, capsys):
    classifier(verbose=True).fit_stream(BLOCKS)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert lines[-1].startswith("600 rows")
    assert "error" in lines[-1]
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("skimlearn.estimators._progress.PATIENCE", 0.0)
    monkeypatch.setattr("skimlearn.estimators._progress.PAUSE", 0.0)
    classifier().fit_stream(BLOCKS)
    assert "600 rows" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[K")


# ---------------------------------------------------------------------------------- checkpoints

KINDS = [
    ({"solver": "asgd"}, 2),
    ({"solver": "sgd", "loss": "log"}, 3),
    ({"solver": "casgd"}, 2),
    ({"solver": "pegasos", "batch_size": 3, "average": "random"}, 2),
    ({"solver": "ftrl"}, 3),
    ({"solver": "pgs", "p": 1.3, "average": "mean"}, 2),
    ({"solver": "pgs", "p": 1.0, "radius": 5.0, "loss": "squared"}, 0),
    ({"solver": "asgd", "loss": "squared"}, 0),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system with fork")
@pytest.mark.parametrize(("parameters", "classes"), KINDS)
def test_kill_and_resume(parameters, classes, tmp_path):
    path = tmp_path / "state"
    whole = learn(make(parameters, classes), blocks(1, 12, classes=classes), classes)
    for at in (0, 1, 5, 11):  # killed again and again, before the first checkpoint too
        assert killed(parameters, 1, 12, classes, path, at, every=60)
    model = make(parameters, classes)
    learn(model, blocks(1, 12, classes=classes), classes, checkpoint=path, every=60, resume=True)
    np.testing.assert_array_equal(state(model), state(whole))
    # the file holds the end: another run finds nothing to do, and more rows go on from there
    again = make(parameters, classes)
    learn(again, blocks(1, 12, classes=classes), classes, checkpoint=path, resume=True)
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    for one in (again, whole):
        X, y = next(blocks(9, 1, classes=classes))
        one.partial_fit(X, y)
    np.testing.assert_allclose(again.coef_, whole.coef_, rtol=1e-12)
    assert os.listdir(tmp_path) == ["state"]


def test_a_failing_source_leaves_a_checkpoint(tmp_path):
    def broken():
        yield from BLOCKS[:3]
        raise OSError("the line is down")

    path = tmp_path / "state"
    model = classifier()
    with pytest.raises(OSError, match="the line is down"):
        model.fit_stream(broken(), checkpoint=path)
    assert model.n_rows_seen_ == 300  # the model has what it learned
    assert model.score(X, LABELS) > 0.7
    model.fit_stream(BLOCKS, checkpoint=path, resume=True)
    np.testing.assert_array_equal(state(model), state(classifier().fit_stream(BLOCKS)))


def test_without_resume_it_begins_anew(tmp_path):
    path = tmp_path / "state"
    classifier().fit_stream(BLOCKS[:2], checkpoint=path)
    model = classifier().fit_stream(BLOCKS, checkpoint=path)
    np.testing.assert_array_equal(state(model), state(classifier().fit_stream(BLOCKS)))


def test_names_and_texts_are_in_checkpoints(tmp_path):
    frames = [pd.DataFrame(b, columns=list("abcdef")).assign(y=np.where(t > 0, "up", "down"))
              for b, t in BLOCKS]  # fmt: skip
    classifier().fit_stream(RowStream(frames[:4], target="y"), checkpoint=tmp_path / "state")
    model = classifier()
    model.fit_stream(RowStream(frames, target="y"), checkpoint=tmp_path / "state", resume=True)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.classes_.tolist() == ["down", "up"]
    np.testing.assert_array_equal(model.coef_, classifier().fit_stream(BLOCKS).coef_)


def test_checkpoints_that_do_not_fit(tmp_path):
    path = tmp_path / "state"
    classifier().fit_stream(BLOCKS[:3], checkpoint=path)

    def resume(model, source=BLOCKS):
        return model.fit_stream(source, checkpoint=path, resume=True)

    with pytest.raises(ModelError, match=r"made with alpha=0.01, not alpha=0.1: resume with the s"):
        resume(classifier(alpha=0.1))
    with pytest.raises(ModelError, match=r"of a LinearClassifier, not of a LinearRegressor"):
        resume(regressor())
    swapped = [BLOCKS[0], BLOCKS[1], BLOCKS[3], BLOCKS[2]]
    with pytest.raises(ValueError, match=r"made from another source: block 2 is not the same"):
        resume(classifier(), swapped)
    with pytest.raises(ValueError, match=r"made after 3 blocks, but the source has fewer"):
        resume(classifier(), BLOCKS[:2])
    model = classifier().fit(X, LABELS)
    model.save(path)
    with pytest.raises(ModelError, match="no checkpoint of a stream"):
        resume(classifier())
    for broken in (b"", b"nonsense", path.read_bytes()[:-9]):
        path.write_bytes(broken)
        before = copy.deepcopy(vars(model))
        with pytest.raises(ModelError):
            resume(model)
        assert vars(model).keys() == before.keys()  # as it was
    for options in ({"resume": True}, {"every": 0}, {"every": 2.5}):
        with pytest.raises(ValueError, match=r"resume=True needs|every="):
            classifier().fit_stream(BLOCKS, **options)
    with pytest.raises(TypeError, match="checkpoint=3 must be a path or None"):
        classifier().fit_stream(BLOCKS, checkpoint=3)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_checkpoints_are_refused_or_finite(seed, tmp_path):
    path = tmp_path / "state"
    classifier().fit_stream(BLOCKS[:3], checkpoint=path)
    damage, text = np.random.default_rng(seed), bytearray(path.read_bytes())
    header = 8 + int.from_bytes(text[:8], "little")
    text[int(damage.integers(header))] ^= 1 << int(damage.integers(8))
    path.write_bytes(text)
    with contextlib.suppress(ValueError):  # and no other error
        classifier().fit_stream(BLOCKS, checkpoint=path, resume=True)


# --------------------------------------------------------------------------------- limits, ends


def test_limits_and_callbacks():
    seen = []
    model = classifier(callback=lambda record: seen.append(record.rows) or record.rows >= 300)
    model.fit_stream(BLOCKS)
    assert seen == [100, 200, 300]
    assert model.result_.status is Status.STOPPED
    reads = classifier(max_reads=150 * D).fit_stream(BLOCKS)
    assert reads.result_.status is Status.READS
    assert reads.n_rows_seen_ == 200
    quick = classifier(max_seconds=1e-9).fit_stream(BLOCKS)
    assert quick.result_.status is Status.SECONDS
    assert quick.n_rows_seen_ == SIZE


def test_an_interrupt_keeps_what_was_learned():
    def source():
        yield from BLOCKS[:4]
        raise KeyboardInterrupt

    model = classifier()
    with pytest.warns(UserWarning, match="the stream was interrupted"):
        model.fit_stream(source())
    assert model.result_.status is Status.INTERRUPTED
    np.testing.assert_array_equal(model.coef_, classifier().fit_stream(BLOCKS[:4]).coef_)


def test_it_begins_anew_unless_it_is_a_warm_start():
    model = classifier().fit(X, LABELS)
    np.testing.assert_array_equal(
        model.fit_stream(BLOCKS).coef_, classifier().fit_stream(BLOCKS).coef_
    )
    for solver in ("asgd", "casgd", "ftrl", "pegasos", "pgs"):
        warm = classifier(solver=solver, warm_start=True, tol=1e-6, max_epochs=50, average=None)
        warm.set_params(solver="auto").fit(X, LABELS)
        before = warm.coef_.copy()
        warm.set_params(solver=solver).fit_stream(BLOCKS[:1])
        assert warm.n_rows_seen_ == N + SIZE
        assert np.linalg.norm(warm.coef_ - before) < 0.3 * np.linalg.norm(before)


# ------------------------------------------------------------------------------------ odd streams


def test_odd_blocks():
    odd = [
        (sp.csr_matrix(X[:100]), LABELS[:100]),
        (np.empty((0, D)), []),
        (X[100:200].astype(np.float32), LABELS[100:200]),
        (X[200:300][LABELS[200:300] == 1], LABELS[200:300][LABELS[200:300] == 1]),  # one class
        (X[300:301], LABELS[300:301]),
        (np.asfortranarray(X[301:]), LABELS[301:], np.ones(299)),
    ]
    model = classifier().fit_stream(odd)
    assert model.n_rows_seen_ == sum(len(block[1]) for block in odd)
    assert model.score(X, LABELS) > 0.8


def test_classes_of_the_first_block():
    ones = LABELS == 1
    first = (X[ones][:50], LABELS[ones][:50])
    with pytest.raises(ValueError, match=r"block 0: y holds only one class, 1: name the others in"):
        classifier().fit_stream([first, *BLOCKS])
    assert classifier().fit_stream([first, *BLOCKS], classes=[-1, 1]).score(X, LABELS) > 0.8
    late = [*BLOCKS, (X[:50], np.full(50, 7))]
    for solver in ("asgd", "casgd", "ftrl", "pegasos", "pgs"):
        model = classifier(solver=solver).fit_stream(late)
        assert model.classes_.tolist() == [-1, 1, 7]
        assert model.coef_.shape == (3, D)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((np.full((5, D), np.nan), LABELS[:5]), "block 2: .*NaN"),
        ((X[:5, :3], LABELS[:5]), "block 2 has 3 columns, but 6 are expected"),
        ((X[:5], LABELS[:4]), "block 2: y has shape"),
        ((X[:5], [0.5, 1.5, 2.5, 1.0, 1.0]), "block 2: Unknown label type"),
        ((X[:5], LABELS[:5], -np.ones(5)), "block 2: sample_weight"),
        (X[:5], "block 2 has no labels: give pairs"),
    ],
)
def test_a_bad_block_leaves_what_was_learned_before(bad, message):
    model = classifier()
    with pytest.raises(ValueError, match=message):
        model.fit_stream([*BLOCKS[:2], bad, *BLOCKS[2:]])
    np.testing.assert_array_equal(model.coef_, classifier().fit_stream(BLOCKS[:2]).coef_)


def test_a_bad_first_block_leaves_the_model_as_it_was():
    model = classifier().fit(X, LABELS)
    before = vars(model).copy()
    for source in ([], [(np.full((5, D), np.nan), LABELS[:5])], [(X, NUMBERS)]):
        with pytest.raises(ValueError, match=r"no rows|block 0"):
            model.fit_stream(source)
        assert vars(model) == before
    fresh = classifier()
    with pytest.raises(ValueError, match="no rows"):
        fresh.fit_stream([])
    assert not hasattr(fresh, "coef_")
    with pytest.raises(ValueError, match="solver='dual' can't learn from a stream"):
        classifier(solver="dual").fit_stream(BLOCKS)
    used = iter(BLOCKS)
    classifier().fit_stream(used)
    with pytest.raises(ValueError, match="used up"):
        classifier().fit_stream(used)


# ------------------------------------------------------------------------------------- the methods


@pytest.mark.pure_python
@pytest.mark.parametrize(
    ("solver", "p", "radius"),
    [("asgd", 2.0, None), ("casgd", 2.0, None), ("pegasos", 2.0, None), ("pgs", 2.0, None),
     ("pgs", 1.5, None), ("pgs", 1.2, 0.5), ("pgs", 1.0, 2.0)],
)  # fmt: skip
def test_smaller_steps_leave_the_iterates_as_they_are(solver, p, radius):
    problem = make_problem(X[:60], NUMBERS[:60], loss="squared", alpha=0.05, p=p, radius=radius)
    kind, settings = choose.stream_method(solver, "tail", None)
    method = kind(problem, Ledger(problem.rows), settings, np.random.default_rng(0))
    method.visit(np.arange(30))
    before = [*method.last(), *method.total()]
    method.slow_down(7.0 * method.t0)
    for now, then in zip([*method.last(), *method.total()], before, strict=True):
        np.testing.assert_allclose(now, then, rtol=1e-9, atol=1e-12)
    other = kind(problem, Ledger(problem.rows), settings, np.random.default_rng(0))
    other.restore({name: array.copy() for name, array in method.dump().items()})
    for one in (method, other):
        one.visit(np.arange(30, 60))
    for now, then in zip(method.answer(), other.answer(), strict=True):
        np.testing.assert_array_equal(now, then)
    broken = method.dump() | {"state": np.zeros(1)}
    with pytest.raises(ValueError, match="state has the shape"):
        other.restore(broken)
