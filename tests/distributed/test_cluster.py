"""On a cluster of processes: the same answer, however many there are and whatever happens."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask.array as da  # noqa: E402
from dask import delayed  # noqa: E402

import skimlearn  # noqa: E402
from skimlearn import LinearClassifier, LinearRegressor, ModelError  # noqa: E402
from skimlearn.data.tensors import read_tensors, write_tensors  # noqa: E402
from skimlearn.distributed import (  # noqa: E402
    ClusterError,
    DaskLinearClassifier,
    DaskLinearRegressor,
    alpha_grid,
    enclosing_ball,
    matrix_game,
    max_margin,
)
from skimlearn.distributed._parcel import Parcel  # noqa: E402
from skimlearn.distributed._pieces import facts_of, piece_of  # noqa: E402
from skimlearn.distributed._sources import make_team  # noqa: E402
from skimlearn.distributed._team import Cluster, Serial, summed  # noqa: E402
from skimlearn.distributed.sampled_ball import SampledBall  # noqa: E402
from skimlearn.distributed.sampled_game import SampledGame  # noqa: E402
from skimlearn.distributed.sampled_margin import SampledMargin  # noqa: E402
from skimlearn.distributed.splitting import write_partitions  # noqa: E402
from skimlearn.result import Status  # noqa: E402
from skimlearn.solvers._limits import Limits  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*:UserWarning:distributed"),
]
QUIET = {"dashboard_address": ":0", "silence_logs": 50, "worker_dashboard_address": None}


def data(n=600, d=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X @ rng.standard_normal(d) + rng.standard_normal(n) > 0.3, "yes", "no")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **QUIET) as made:
        yield made


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as made:
        yield made


def blocks(X, y, size=150):
    return da.from_array(X, chunks=(size, -1)), da.from_array(y, chunks=size)


def fitted(X, y, **options):
    options = {"loss": "log", "alpha": 1e-2, "random_state": 0} | options
    return DaskLinearClassifier(**options).fit(X, y)


def test_all_kinds_of_data_give_the_same_model(client, tmp_path):
    X, y = data(200)
    Xb, yb = blocks(X, y, 50)
    model = fitted(Xb, yb)
    exact = LinearClassifier("log", alpha=1e-2, tol=1e-6, random_state=0).fit(X, y)
    best = exact.result_.certificate
    found = model.result_.certificate
    assert model.result_.status is Status.CONVERGED
    assert best.dual * (1 - 1e-9) <= found.primal <= best.primal * (1 + 1.1e-3)
    assert found.dual <= best.primal * (1 + 1e-9)
    cuts = [slice(k, k + 50) for k in range(0, 200, 50)]
    others = {
        "delayed": ([delayed(X[c]) for c in cuts], [delayed(y[c]) for c in cuts]),
        "pairs": ([delayed((X[c], y[c])) for c in cuts], None),
        "targets in memory": (Xb, y),
        "two blocks of columns": (da.from_array(X, chunks=(50, 5)), yb),
    }
    for name, (rows, targets) in others.items():
        np.testing.assert_array_equal(fitted(rows, targets).coef_, model.coef_, err_msg=name)
    sparse = [delayed(sp.csr_matrix(X[c])) for c in cuts]
    np.testing.assert_allclose(fitted(sparse, y_of(y, cuts)).coef_, model.coef_, rtol=1e-9)
    skimlearn.Store.create(tmp_path / "one", X, y)
    stored = fitted(str(tmp_path / "one"), None, partitions=4)
    np.testing.assert_allclose(stored.coef_, model.coef_, rtol=1e-9)
    dealt = fitted(X, y, partitions=4)
    write_partitions(tmp_path / "many", X, y, partitions=4)
    np.testing.assert_allclose(fitted(tmp_path / "many", None).coef_, dealt.coef_, rtol=1e-9)


def y_of(y, cuts):
    return [delayed(y[c]) for c in cuts]


def test_frames_and_predictions(client, tmp_path):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y = data(200, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    lazy = dd.from_pandas(frame, npartitions=2)
    targets = dd.from_pandas(pd.Series(y), npartitions=2)
    model = fitted(lazy, targets, loss="log")
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    expected = model.predict(frame)
    np.testing.assert_array_equal(model.predict(lazy).compute(), expected)
    Xb = da.from_array(X, chunks=(70, 2))
    model = fitted(Xb, y, loss="log")
    assert hasattr(model.predict(Xb), "dask")
    np.testing.assert_array_equal(model.predict(Xb).compute(), model.predict(X))
    proba = model.predict_proba(Xb)
    assert proba.shape == (200, 2)
    np.testing.assert_allclose(proba.compute(), model.predict_proba(X))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(skimlearn.load(tmp_path / "model").predict(X), model.predict(X))


def test_weights_and_classes_mean_what_they_do_elsewhere(client):
    X, y = data(200, 5)
    weights = np.random.default_rng(1).random(200)
    y = np.where(X[:, 0] > 1.0, "third", y)
    options = {"loss": "log", "alpha": 1e-2, "class_weight": "balanced", "tol": 1e-5}
    model = DaskLinearClassifier(random_state=0, partitions=3, **options)
    model.fit(X, y, sample_weight=weights)
    plain = LinearClassifier(random_state=0, **options).fit(X, y, sample_weight=weights)
    assert model.classes_.tolist() == ["no", "third", "yes"]
    assert len(model.results_) == 3
    for mine, other in zip(model.results_, plain.results_, strict=True):
        assert mine.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-5)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=0.02)


def test_a_matrix_of_labels_is_learned_label_by_label(client):
    X, y = data(200, 5)
    labels = np.column_stack([y == "yes", X[:, 0] > 0.5, np.zeros(200), np.ones(200)]).astype(int)
    weights = np.random.default_rng(1).random(200)
    options = {"loss": "log", "alpha": 1e-2, "class_weight": "balanced", "tol": 1e-5}
    model = DaskLinearClassifier(random_state=0, partitions=3, **options)
    plain = LinearClassifier(random_state=0, **options).fit(X, labels, sample_weight=weights)
    model.fit(X, labels, sample_weight=weights)
    assert model.multilabel_
    assert model.classes_.tolist() == [0, 1, 2, 3]
    for mine, other in zip(model.results_, plain.results_, strict=True):
        assert mine.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-5)
    np.testing.assert_array_equal(model.predict(X)[:, 2:], labels[:, 2:])
    Xb = da.from_array(X, chunks=(70, -1))
    lazy = DaskLinearClassifier("log", alpha=1e-2, random_state=0)
    lazy.fit(Xb, da.from_array(labels, chunks=(70, 2)))
    np.testing.assert_array_equal(lazy.predict(Xb).compute(), lazy.predict(X))
    cuts = [slice(0, 70), slice(70, 140), slice(140, 200)]
    sparse = DaskLinearClassifier("log", alpha=1e-2, random_state=0)
    sparse.fit([delayed(X[c]) for c in cuts], [delayed(sp.csr_matrix(labels[c])) for c in cuts])
    np.testing.assert_array_equal(sparse.coef_, lazy.coef_)
    with pytest.raises(ValueError, match=r"partition \d: y has 4 columns.*zeros and ones"):
        lazy.fit(Xb, labels + 1)
    with pytest.raises(ValueError, match=r"\['3 labels', '4 labels'\]"):
        lazy.fit([delayed(X[:9]), delayed(X[9:])], [delayed(labels[:9, 1:]), delayed(labels[9:])])
    with pytest.raises(ValueError, match="shape"):
        DaskLinearRegressor().fit(X, labels)


def test_sums_are_the_same_whichever_way_they_travel(client):
    rng = np.random.default_rng(0)
    parcels = [Parcel.of(rng.standard_normal(7), [k]) for k in range(20)]
    pieces = client.scatter(list(range(20)))
    team = Cluster(client, pieces)
    pairs = team.each("pair", lambda piece, parcel: (piece, parcel), parcels)
    alone = summed(parcels)
    for light in (True, False):
        found = team.total(pairs, light=light)
        np.testing.assert_array_equal(found.vector, alone.vector)
        assert found.numbers.tolist() == [sum(range(20))]


def test_regression_and_a_grid_of_strengths(client):
    X, _ = data(300, 5)
    y = X @ np.arange(5.0) + 3.0
    model = DaskLinearRegressor("huber", random_state=0, partitions=3, alpha=1e-2, tol=1e-5)
    models = alpha_grid(model, X, y, alphas=[1.0, 1e-2])
    for one, alpha in zip(models, [1.0, 1e-2], strict=True):
        plain = LinearRegressor("huber", alpha=alpha, tol=1e-6, random_state=0).fit(X, y)
        assert one.result_.certificate.primal == pytest.approx(
            plain.result_.certificate.primal, rel=2e-5
        )
        assert one.intercept_ == pytest.approx(plain.intercept_, abs=0.05)


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "epsilon_insensitive"])
def test_targets_that_are_all_alike_need_no_round(client, loss):
    X, _ = data(90, 3)
    for target in (-12345.678, 0.0):
        y = np.full(90, target)
        plain = LinearRegressor(loss, random_state=0).fit(X, y)
        model = DaskLinearRegressor(loss, random_state=0, partitions=3).fit(X, y)
        assert model.result_.status is Status.CONVERGED
        assert model.result_.history[-1].rounds == 0
        assert model.result_.reads.nnz == 0
        assert not model.coef_.any()
        assert model.intercept_ == pytest.approx(plain.intercept_, rel=1e-12)
    zero = DaskLinearRegressor(loss, bias="none", partitions=3, random_state=0).fit(X, y)
    assert zero.result_.status is Status.CONVERGED
    assert zero.result_.history[-1].rounds == 0
    assert not zero.coef_.any()
    other = DaskLinearRegressor(loss, bias="none", alpha=1.0, partitions=3, random_state=0)
    other.fit(X, y + 1.0)
    assert other.result_.history[-1].rounds > 0  # all alike, but the optimum is not zero


def fitted_by(workers, X, y):
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": False} | QUIET
    with distributed.LocalCluster(**options) as made, distributed.Client(made) as other:
        return fitted(*blocks(X, y), client=other)


def test_the_number_of_workers_changes_nothing(client):
    X, y = data()
    first, second, third = fitted_by(1, X, y), fitted(*blocks(X, y)), fitted_by(3, X, y)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.coef_, third.coef_)
    assert [r.primal for r in first.result_.history] == [r.primal for r in second.result_.history]


def test_a_worker_that_is_killed_and_one_that_joins(cluster, client):
    X, y = data()
    options = {"loss": "log", "alpha": 1e-2, "tol": 1e-6}
    whole = fitted(*blocks(X, y), **options)
    pids = list(client.run(os.getpid).values())
    rounds = []

    def disturb(record):
        rounds.append(record.rounds)
        if len(rounds) == 3:
            os.kill(pids[0], signal.SIGKILL)
        if len(rounds) == 6:
            cluster.scale(3)

    model = fitted(*blocks(X, y), **options, callback=disturb)
    assert model.result_.status is Status.CONVERGED
    assert len(rounds) > 6
    np.testing.assert_array_equal(model.coef_, whole.coef_)  # to the bit
    np.testing.assert_array_equal(model.result_.p, whole.result_.p)
    cluster.scale(2)


def test_a_slow_worker_changes_nothing_but_the_time(client):
    # these two are sent by value: workers need not find this file
    def slow_down(dask_worker):
        """Every task of this worker waits before it begins."""
        executor = dask_worker.executors["default"]
        submit, executor.waits = executor.submit, 0

        def late(function, *items):
            time.sleep(0.02)
            return function(*items)

        def submit_late(function, *items):
            executor.waits += 1
            return submit(late, function, *items)

        executor.submit = submit_late

    def recover(dask_worker):
        """Undo it; how many tasks have waited."""
        executor = dask_worker.executors["default"]
        del executor.submit
        return executor.waits

    X, y = data(200, 4)
    signs = np.where(y == "yes", 1, -1)
    limits = {"eps": 1e-9, "max_steps": 10, "solver": "sampled", "random_state": 0}
    whole = fitted(*blocks(X, y, 50))
    margin = max_margin(da.from_array(X, chunks=(50, -1)), signs, **limits)
    slow = sorted(client.run(os.getpid))[:1]
    client.run(slow_down, workers=slow)
    try:
        model = fitted(*blocks(X, y, 50))
        other = max_margin(da.from_array(X, chunks=(50, -1)), signs, **limits)
    finally:
        waits = client.run(recover, workers=slow)
    assert min(waits.values()) > 20
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model.result_.p, whole.result_.p)
    np.testing.assert_array_equal(other.p, margin.p)
    assert other.certificate == margin.certificate


def test_core_sets_draw_no_numbers(client):
    X, _ = data(300, 6)
    y = np.where(X @ np.ones(6) > 0, 1, -1)
    first, again = (max_margin(X, y, eps=1e-3, partitions=3) for _ in range(2))
    assert len(again.history) == len(first.history)
    np.testing.assert_allclose(again.x, first.x, rtol=1e-12)
    np.testing.assert_allclose(again.p, first.p, rtol=1e-9, atol=1e-12)


def test_the_sampled_margin_on_workers_is_that_of_one_process(client):
    X, _ = data(300, 6)
    y = np.where(X @ np.ones(6) > 0, 1, -1)
    X += 0.5 * y[:, None]
    cuts = [slice(k, k + 100) for k in range(0, 300, 100)]
    dense, sparse = [delayed(X[c]) for c in cuts], [delayed(sp.csr_matrix(X[c])) for c in cuts]
    options = {"eps": 0.4, "solver": "sampled", "random_state": 0}
    mine = max_margin(dense, y_of(y, cuts), **options)
    assert mine.status is Status.CONVERGED
    assert mine.certificate.lower == pytest.approx((y * (X @ mine.x)).min(), rel=1e-9)
    pieces = [piece_of(k, X[c], y[c], None, labels=False) for k, c in enumerate(cuts)]
    alone = SampledMargin(
        Serial(pieces), [facts_of(p) for p in pieces], draws=16, rng=np.random.default_rng(0)
    ).run(Limits(eps=0.4))
    np.testing.assert_array_equal(mine.x, alone.x)
    np.testing.assert_array_equal(mine.p, alone.p)
    assert mine.reads == alone.reads
    other = max_margin(sparse, y_of(y, cuts), **options)
    np.testing.assert_allclose(other.x, mine.x, rtol=1e-9)
    assert other.reads.nnz == mine.reads.nnz + X.size  # the transposes
    with pytest.raises(ValueError, match=r"partition \d: .*\+1 and -1"):
        max_margin(dense, y_of(np.maximum(y, 0), cuts))
    with pytest.raises(ValueError, match="core-set"):
        max_margin(dense, y_of(y, cuts), solver="simplex")
    with pytest.raises(ValueError, match=r"random_state=0 means nothing to solver='core-set'"):
        max_margin(dense, y_of(y, cuts), random_state=0)


@pytest.mark.parametrize("solver", ["auto", "asgd"])
def test_a_warm_start_goes_on_from_the_former_answer(client, solver):
    X, y = data()
    options = {"loss": "log", "alpha": 1e-2, "solver": solver, "random_state": 0}
    options |= {"tol": None, "max_epochs": 12}
    model = DaskLinearClassifier(warm_start=True, **options).fit(*blocks(X, y))
    first, gap = model.result_.history[0], model.result_.certificate.relative_gap
    model.fit(*blocks(X, y))
    again = model.result_.history[0]
    assert again.primal - again.dual <= 1.1 * gap * again.primal
    model.fit(*blocks(X, y, 200))  # other partitions: from the weights
    again = model.result_.history[0]
    assert again.primal - again.dual < 0.2 * (first.primal - first.dual)
    model.fit(X[:, :5], y)  # other columns: from the beginning
    assert model.result_.history[0].dual <= 1e-9
    cold = DaskLinearClassifier(**options).fit(*blocks(X, y))
    cold.fit(*blocks(X, y))
    assert cold.result_.history[0].primal == first.primal


def test_workers_have_as_many_pieces_as_others(client):
    X, y = data(400, 4)
    first = min(client.scheduler_info()["workers"])
    parts = [client.submit(np.array, X[k::4], workers=[first]) for k in range(4)]
    targets = [client.submit(np.array, y[k::4], workers=[first]) for k in range(4)]
    distributed.wait(parts + targets)  # all of them on one of two workers
    team, _ = make_team(client, parts, targets, None, labels=True, partitions=None)
    distributed.wait(team.pieces)
    homes = [set(held) for held in client.who_has(team.pieces).values()]
    assert sorted(sum(address in home for home in homes) for address in set.union(*homes)) == [2, 2]
    mine = fitted(parts, targets)
    np.testing.assert_array_equal(mine.coef_, fitted(X, y, partitions=4).coef_)


def test_a_late_worker_gets_its_share_of_the_pieces():
    X, y = data()
    held = []
    with (
        distributed.LocalCluster(n_workers=1, processes=False, **QUIET) as small,
        distributed.Client(small) as other,
    ):

        def join(record):
            if record.rounds == 2:
                small.scale(2)
                other.wait_for_workers(2, timeout=20)
                time.sleep(3.0)  # until the client has heard of it
            if record.rounds == 6:
                held.extend(
                    sum(key.startswith(("skim-piece", "skim-move")) for key in keys)
                    for keys in other.has_what().values()
                )
            return record.rounds >= 7

        fitted(*blocks(X, y), client=other, callback=join, tol=1e-9)
    assert len(held) == 2
    assert min(held) >= 2  # of four


def test_an_interruption_keeps_the_best_answer(client):
    X, y = data()
    main = threading.get_ident()

    def interrupt(record):
        if record.rounds == 4:
            threading.Timer(0.0, signal.pthread_kill, (main, signal.SIGINT)).start()
            time.sleep(1.0)

    with pytest.warns(UserWarning, match="interrupted"):
        model = fitted(*blocks(X, y), callback=interrupt, tol=1e-12)
    assert model.result_.status is Status.INTERRUPTED
    certificate = model.result_.certificate
    assert 0.0 < certificate.dual <= certificate.primal
    deadline = time.monotonic() + 10.0
    while client.processing() and any(client.processing().values()):
        assert time.monotonic() < deadline, "tasks are left over"
        time.sleep(0.1)


def test_a_checkpoint_goes_on_to_the_same_bits(client, tmp_path):
    X, y = data(300)
    path = tmp_path / "state"
    options = {"loss": "log", "alpha": 1e-2, "tol": 1e-6, "random_state": 0}
    whole = DaskLinearClassifier(**options).fit(*blocks(X, y))
    with pytest.warns(skimlearn_convergence()):
        DaskLinearClassifier(**options | {"max_epochs": 8}).fit(*blocks(X, y), checkpoint=path)
    model = DaskLinearClassifier(**options).fit(*blocks(X, y), checkpoint=path, resume=True)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model.intercept_, whole.intercept_)
    assert model.result_.certificate == whole.result_.certificate
    assert len(model.result_.history) < len(whole.result_.history)
    with pytest.raises(ModelError, match="alpha"):
        DaskLinearClassifier(**options | {"alpha": 1.0}).fit(
            *blocks(X, y), checkpoint=path, resume=True
        )
    with pytest.raises(ModelError, match="partitions"):
        DaskLinearClassifier(**options).fit(*blocks(X, y, 100), checkpoint=path, resume=True)


def test_a_checkpoint_before_the_first_round(client, tmp_path):
    """An optimum of zero is seen at once, when there is no value of the dual yet."""
    X, _ = data(300)
    X, y = blocks(X, np.zeros(300))
    path = tmp_path / "state"
    for resume in (False, True):
        model = DaskLinearRegressor(bias="none").fit(X, y, checkpoint=path, resume=resume)
        assert model.result_.status is Status.CONVERGED
        assert not model.coef_.any()
    arrays, metadata = read_tensors(path)
    with path.open("wb") as file:
        write_tensors(file, arrays | {"numbers": arrays["numbers"][1:]}, metadata)
    with pytest.raises(ModelError, match="not those of this fit"):
        DaskLinearRegressor(bias="none").fit(X, y, checkpoint=path, resume=True)


def skimlearn_convergence():
    from sklearn.exceptions import ConvergenceWarning

    return ConvergenceWarning


@pytest.mark.filterwarnings("ignore")
def test_the_loss_of_the_scheduler_is_told():
    X, y = data()
    with distributed.LocalCluster(n_workers=1, processes=False, **QUIET) as lost:
        other = distributed.Client(lost)

        def close(record):
            if record.rounds == 3:
                lost.close(timeout=5)

        with pytest.raises(ClusterError, match="resume=True"):
            fitted(*blocks(X, y), client=other, callback=close, tol=1e-12)
        other.close(timeout=1)


def test_bad_data_are_told_with_their_partition(client):
    X, y = data(300, 4)
    X[160, 2] = np.nan
    with pytest.raises(ValueError, match=r"partition 1: .*NaN"):
        fitted(*blocks(X, y))
    with pytest.raises(ValueError, match="only one class"):
        fitted(np.eye(4), ["a"] * 4)
    with pytest.raises(ValueError, match="DaskLinearRegressor"):
        fitted(np.eye(4), [0.5, 1.5, 2.5, 3.5])
    with pytest.raises(ValueError, match="rows"):
        fitted(da.ones((10, 2), chunks=(5, 2)), da.ones(9, chunks=5))
    with pytest.raises(ValueError, match="columns"):
        fitted(
            [delayed(np.eye(3)), delayed(np.eye(4))], [delayed([0, 1, 0]), delayed([0, 1, 1, 0])]
        )
    with pytest.raises(ValueError, match="local_epochs"):
        fitted(X, y, local_epochs=0)
    with pytest.raises(ValueError, match="partitions"):
        fitted(X, y, partitions=0)
    with pytest.raises(ValueError, match="solver"):
        fitted(X, y, solver="newton")


def test_no_cluster_is_told():
    with pytest.raises(ClusterError, match="Client"):
        DaskLinearClassifier().fit(np.eye(2), [0, 1])


def test_sampled_balls_and_games_on_workers_are_those_of_one_process(client):
    X, _ = data(300, 6)
    cuts = [slice(k, k + 100) for k in range(0, 300, 100)]
    pieces = [piece_of(k, X[c], None, None, labels=None) for k, c in enumerate(cuts)]
    facts = [facts_of(piece) for piece in pieces]
    for find, kind, eps in ((enclosing_ball, SampledBall, 0.1), (matrix_game, SampledGame, 0.4)):
        options = {"eps": eps, "solver": "sampled", "draws": 8, "random_state": 0}
        mine = find([delayed(X[c]) for c in cuts], **options)
        rng = np.random.default_rng(0)
        alone = kind(Serial(pieces), facts, draws=8, rng=rng).run(Limits(eps=eps))
        np.testing.assert_array_equal(mine.x, alone.x)
        np.testing.assert_array_equal(mine.p, alone.p)
        assert mine.certificate == alone.certificate
        assert mine.reads == alone.reads
        assert mine.status is Status.CONVERGED
        assert mine.solver == "sampled"
        again = find([delayed(X[c]) for c in cuts], **options | {"random_state": 1})
        assert (again.p != mine.p).any()
        with pytest.raises(ValueError, match="random_state=0 means nothing"):
            find(X, random_state=0)
        with pytest.raises(ValueError, match="solver='exact' must be one of"):
            find(X, solver="exact")
    ball = enclosing_ball(X, solver="sampled", eps=0.1, partitions=3, random_state=0)
    assert ball.bias == ball.certificate.primal


def test_margins_balls_and_games(client):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = np.where(X @ np.ones(5) > 0, 1, -1)
    X += 0.3 * y[:, None]
    rows = da.from_array(X, chunks=(50, -1))
    mine = max_margin(rows, y, eps=2e-2)
    exact = skimlearn.hard_margin(X, y, eps=1e-8, random_state=0).certificate
    assert mine.status is Status.CONVERGED
    assert mine.certificate.lower <= exact.upper + 1e-9
    assert mine.certificate.upper >= exact.lower - 1e-9
    assert mine.certificate.primal == pytest.approx((y * (X @ mine.x)).min(), abs=1e-9)
    assert mine.p.sum() == pytest.approx(1.0)
    assert np.linalg.norm((mine.p * y) @ X) == pytest.approx(mine.certificate.upper, abs=2e-2)

    ball = enclosing_ball(rows, eps=5e-3)
    exact = skimlearn.enclosing_ball(X, eps=1e-6, random_state=0).certificate
    assert ball.status is Status.CONVERGED
    assert exact.dual * (1 - 1e-9) <= ball.certificate.primal <= exact.primal * (1 + 5.5e-3)
    assert ball.certificate.dual <= exact.primal * (1 + 1e-9)
    farthest = ((X - ball.x) ** 2).sum(axis=1).max()
    assert ball.certificate.primal == pytest.approx(farthest, rel=1e-9)

    game = matrix_game([delayed(sp.csr_matrix(X[:100])), delayed(sp.csr_matrix(X[100:]))], eps=5e-3)
    exact = skimlearn.matrix_game(X, eps=1e-6, random_state=0).certificate
    assert game.status is Status.CONVERGED
    assert game.certificate.dual <= exact.primal + 1e-9
    assert game.certificate.primal >= exact.dual - 1e-9
    assert game.certificate.gap <= 5e-3
    assert game.x.sum() == pytest.approx(1.0)
