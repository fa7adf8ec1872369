"""Lines of a file, asked for before they are used: the right bytes, and no others."""

import mmap

import numpy as np
import pytest

from skimlearn import Matrix, SublinearSVC
from skimlearn.data.disk import PIECE, Ahead, ahead_of

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
