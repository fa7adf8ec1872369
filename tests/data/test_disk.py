"""Lines of a file, asked for before they are used: the right bytes, and no others."""

import mmap

import numpy as np
import pytest
import scipy.sparse as sp

from skimlearn import LinearClassifier, Matrix, Store, SublinearSVC
from skimlearn.data import disk
from skimlearn.data.disk import PIECE, Ahead, Runs, ahead_of
from skimlearn.data.inspection import as_rows

needs_madvise = pytest.mark.skipif(
    not hasattr(mmap, "MADV_WILLNEED"), reason="this system has no madvise"
)


class Recorder:
    """Stands in for a file, and notes what it is asked for."""

    def __init__(self):
        self.asked = []

    def madvise(self, advice, start, length):
        assert advice == mmap.MADV_WILLNEED
        assert start % mmap.PAGESIZE == 0
        assert length > 0
        self.asked.append((start, start + length))


@needs_madvise
@pytest.mark.parametrize("length", [4, mmap.PAGESIZE, 3 * PIECE + 8])
@pytest.mark.parametrize("start", [0, 128])
def test_a_line_is_asked_for_as_a_whole(start, length):
    file = Recorder()
    for i in (0, 1, 7):
        file.asked.clear()
        Ahead(file, start, length)(i)
        first, last = start + i * length, start + (i + 1) * length
        assert file.asked[0][0] == first - first % mmap.PAGESIZE
        assert file.asked[-1][1] == last
        for (_, end), (begin, _) in zip(file.asked, file.asked[1:], strict=False):
            assert end == begin
        assert max(end - begin for begin, end in file.asked) <= PIECE


@needs_madvise
def test_files_are_found_behind_views(tmp_path):
    X = np.arange(35.0).reshape(5, 7)
    np.save(tmp_path / "X.npy", X)
    file = np.load(tmp_path / "X.npy", mmap_mode="r")
    ahead = ahead_of(np.asarray(file)[1:])
    assert ahead.length == 56
    raw = (tmp_path / "X.npy").read_bytes()
    line = raw[ahead.start + 2 * 56 : ahead.start + 3 * 56]
    np.testing.assert_array_equal(np.frombuffer(line), X[3])
    for i in range(4):
        ahead(i)


def test_nothing_is_asked_where_it_is_of_no_use(tmp_path):
    X = np.memmap(tmp_path / "X", np.float64, "w+", shape=(5, 7))
    assert ahead_of(np.zeros((5, 7))) is None
    assert ahead_of(X.T) is None  # its lines are all over the file
    assert ahead_of(X[:, ::2]) is None


def test_a_system_that_refuses_is_no_error():
    class Refuses:
        def madvise(self, *_):
            raise OSError("no")

    Ahead(Refuses(), 0, 8)(3)


def test_a_model_is_learned_from_a_part_of_a_file(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], size=1500)
    X = rng.normal(size=(1500, 1200)).astype(np.float32)
    X[:, 0] += 40.0 * y
    X.tofile(tmp_path / "rows")
    X.T.tofile(tmp_path / "columns")
    matrix = Matrix.pair(
        np.memmap(tmp_path / "rows", np.float32, "r", shape=X.shape),
        np.memmap(tmp_path / "columns", np.float32, "r", shape=X.shape, order="F"),
    )
    model = SublinearSVC(
        nu=0.0, bias="none", mode="monte-carlo", solver="tracking", eps=0.5, random_state=0
    ).fit(matrix, y)
    assert model.score(X, y) > 0.99
    reads = model.result_.reads
    assert reads.certificate == 64 * 1200
    assert reads.nnz + reads.certificate < 0.35 * X.size


# -------------------------------------------------------------------------------------------- runs


@pytest.fixture
def small_pools(monkeypatch):
    monkeypatch.setattr(disk, "RUN", 1000)
    monkeypatch.setattr(disk, "POOL", 8000)


def problem(n=500, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)


@needs_madvise
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_visits_keep_to_pools_of_runs(tmp_path, small_pools, kind):
    X, _ = problem()
    store = Store.create(tmp_path / "data", sp.csr_matrix(X) if kind == "sparse" else X)
    runs = Runs(as_rows(store))
    size = np.count_nonzero(X) * 12 if kind == "sparse" else X.nbytes
    assert runs.pools == -(-size // 8000)
    assert 900 < runs.length * size / 500 < 1100 or runs.length == 1000 * 500 // size
    rng = np.random.default_rng(0)
    orders = []
    for _ in range(5):
        given = rng.permutation(500)
        order = runs.arranged(given, rng)
        np.testing.assert_array_equal(np.sort(order), np.arange(500))
        visited = order // runs.length
        first, last = np.full(runs.count, 500), np.zeros(runs.count, dtype=int)
        np.minimum.at(first, visited, np.arange(500))
        np.maximum.at(last, visited, np.arange(500))
        spread = last - first + 1  # visits from the first to the last one to a run
        assert spread.max() <= 1.5 * 500 / runs.pools + runs.length
        assert np.median(spread) > 2 * runs.length  # runs of a pool are mixed
        where = np.argsort(given)[order]
        pool_ends = np.flatnonzero(np.diff(where) < 0)
        assert len(pool_ends) == runs.pools - 1  # in a pool, the given order is kept
        orders.append(visited)
    assert not np.array_equal(orders[0], orders[1])
    some = runs.arranged(np.array([3, 490, 4, 3]), rng)  # a part of the rows, one of them twice
    assert sorted(some) == [3, 3, 4, 490]


def test_what_is_in_memory_or_fits_into_a_pool_is_visited_in_any_order(tmp_path, monkeypatch):
    X, y = problem()
    store = Store.create(tmp_path / "data", X, y)
    order = np.random.default_rng(0).permutation(500)
    for rows in (as_rows(X), as_rows(store), as_rows(sp.csr_matrix(X))):
        runs = Runs(rows)
        assert runs.pools == 1
        assert runs.arranged(order, None) is order  # nothing is drawn for it
        runs.ask_for(order)


@needs_madvise
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_whole_runs_are_asked_for(tmp_path, small_pools, kind):
    X, _ = problem()
    store = Store.create(tmp_path / "data", sp.csr_matrix(X) if kind == "sparse" else X)
    rows = as_rows(store)
    runs = Runs(rows)
    files = [Recorder() for _ in runs.places]
    offsets = [start for _, start, _ in runs.places]
    runs.places = [
        (file, start, size) for file, (_, start, size) in zip(files, runs.places, strict=True)
    ]
    third = np.arange(2 * runs.length, 3 * runs.length)
    runs.ask_for(np.append(third, 7 * runs.length))  # of the seventh, only one row
    for file, offset, (_, _, size) in zip(files, offsets, runs.places, strict=True):
        if kind == "sparse":
            begin, end = int(rows.starts[third[0]]), int(rows.starts[third[-1] + 1])
        else:
            begin, end = 20 * third[0], 20 * (third[-1] + 1)
        assert file.asked[0][0] <= offset + begin * size
        assert file.asked[0][0] > offset + begin * size - mmap.PAGESIZE
        assert file.asked[-1][1] == offset + end * size
        assert len(file.asked) == 1


@needs_madvise
@pytest.mark.parametrize("solver", ["auto", "dual", "asgd", "pegasos"])
def test_models_learned_in_pools_are_as_good(tmp_path, small_pools, solver):
    X, y = problem(2000)
    order = np.argsort(y, kind="stable")  # the worst case: one class behind the other
    store = Store.create(tmp_path / "data", sp.csr_matrix(X[order]), y[order])
    model = LinearClassifier(alpha=1e-2, solver=solver, tol=1e-2, random_state=0).fit(store)
    assert model.result_.certificate.relative_gap <= 1e-2
    whole = LinearClassifier(alpha=1e-2, solver=solver, tol=1e-2, random_state=0).fit(X, y)
    assert model.result_.epochs <= 3 * whole.result_.epochs + 3
    if solver in ("auto", "asgd"):
        model.partial_fit(store, store.y)
        assert model.score(store, store.y) > 0.8
