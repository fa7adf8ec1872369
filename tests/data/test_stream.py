"""Sources of rows that pass by: what they are, how often, and what is wrong with them."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from skimlearn import RowStream, Store, write_svmlight
from skimlearn.data.rows import Csr, Dense
from skimlearn.data.stream import as_stream

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.6)
X[-1] = 1.0  # the last column is there
y = rng.choice([-1.0, 1.0], size=50)
BLOCKS = [(X[a : a + 20], y[a : a + 20]) for a in range(0, 50, 20)]


def dense(rows):
    if isinstance(rows, Dense):
        return np.asarray(rows.values)
    starts = rows.starts.astype(np.int64)
    stop = starts[-1]
    columns = rows.columns[:stop].astype(np.int64)
    return sp.csr_array((rows.values[:stop], columns, starts), shape=rows.shape).toarray()


def whole(stream):
    blocks = list(stream)
    labels = [block.y for block in blocks]
    joined = None if labels[0] is None else np.concatenate(labels)
    return np.vstack([dense(block.rows) for block in blocks]), joined


def sources(folder):
    write_svmlight(X, y, folder / "rows.svm")
    np.save(folder / "rows.npy", X)
    batches = [pa.record_batch({"a": b[:, 0], "b": b[:, 1], "c": b[:, 2], "d": b[:, 3], "y": t})
               for b, t in BLOCKS]  # fmt: skip
    frames = [pd.DataFrame(b, columns=list("abcd")).assign(y=t) for b, t in BLOCKS]
    target = {"target": "y"}
    return {
        "path": (folder / "rows.svm", {}, True),
        "npy": (folder / "rows.npy", {}, True),
        "bytes": ((folder / "rows.svm").read_bytes(), {}, True),
        "file": (io.BytesIO((folder / "rows.svm").read_bytes()), {}, False),
        "matrix": (X, {}, True),
        "csr": (sp.csr_matrix(X), {}, True),
        "lists": (X.tolist(), {}, True),
        "pair": ((X, y), {}, True),
        "lists of a pair": ((X.tolist(), y.tolist()), {}, True),
        "store": (Store.create(folder / "store", X, y), {}, True),
        "blocks": (BLOCKS, {}, True),
        "sparse blocks": ([(sp.csr_matrix(b), t) for b, t in BLOCKS], {}, True),
        "generator": ((block for block in BLOCKS), {}, False),
        "function": (lambda: iter(BLOCKS), {}, True),
        "batches": (batches, target, True),
        "table": (pa.Table.from_batches(batches), target, True),
        "reader": (pa.RecordBatchReader.from_batches(batches[0].schema, batches), target, False),
        "batch": (pa.record_batch({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "d": X[:, 3]}), {}, 1),
        "frames": (frames, target, True),
        "polars": ([pl.from_pandas(frame) for frame in frames], target, True),
        "frame": (pd.DataFrame(X, columns=list("abcd")), {}, True),
    }


def test_all_kinds_of_sources_give_the_same_rows(tmp_path):
    for name, (source, options, again) in sources(tmp_path).items():
        stream = RowStream(source, **options)
        assert stream.again == again, name
        rows, labels = whole(stream)
        np.testing.assert_array_equal(rows, X, err_msg=name)
        if labels is not None:
            np.testing.assert_array_equal(labels, y, err_msg=name)
        if again:
            np.testing.assert_array_equal(whole(stream)[0], X, err_msg=name)
            assert stream.passes == 2
            continue
        with pytest.raises(ValueError, match=r"passes by once, and this was done.*a function that"):
            stream.blocks()
        with pytest.raises(ValueError, match=r"^fit passes over the rows more than once.*iterator"):
            RowStream(source, **options).require_again("fit")


def test_what_comes_with_the_rows(tmp_path):
    triples = [(b, t, np.full(len(t), k + 1.0)) for k, (b, t) in enumerate(BLOCKS)]
    assert [block.weights.mean() for block in RowStream(triples)] == [1.0, 2.0, 3.0]
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, m=2.0)
    for given in (frame, pl.from_pandas(frame), pa.RecordBatch.from_pandas(frame)):
        (block,) = RowStream([given], target="y", weight="m")
        assert block.names.tolist() == list("abcd")
        assert block.weights.tolist() == [2.0] * 50
        assert block.rows.shape == (50, 4)
    assert next(iter(RowStream(BLOCKS))).names is None
    stream = RowStream(BLOCKS)
    assert as_stream(stream) is stream


def test_some_blocks_can_be_passed_over():
    stream = RowStream(BLOCKS)
    np.testing.assert_array_equal(whole(stream.blocks(skip=2))[0], X[40:])
    broken = [(np.full((2, 4), np.nan), [1, 1]), *BLOCKS]
    np.testing.assert_array_equal(whole(RowStream(broken).blocks(skip=1))[0], X)


def test_large_data_at_hand_is_cut_into_pieces(monkeypatch):
    monkeypatch.setattr("skimlearn.data.stream.MOST", 40)
    blocks = list(RowStream((X, y, np.arange(50.0))))
    assert len(blocks) == 5
    assert np.concatenate([block.weights for block in blocks]).tolist() == list(range(50))


# ------------------------------------------------------------------------------------ odd blocks


def test_empty_blocks_are_left_out():
    empty = [(np.empty((0, 4)), []), (sp.csr_matrix((0, 2)), []), *BLOCKS, (np.empty((0, 9)), [])]
    rows, _ = whole(RowStream(empty))
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("source", [[], [(np.empty((0, 3)), [])], lambda: []])
def test_an_empty_stream(source):
    with pytest.raises(ValueError, match=r"the source has no rows: at least one is needed$"):
        list(RowStream(source))


def test_an_iterator_that_is_used_up():
    used = iter(BLOCKS)
    list(used)
    with pytest.raises(ValueError, match=r"no rows.*an iterator, which may have been used up"):
        list(RowStream(used))


def test_blocks_of_other_kinds_and_types():
    mixed = [sp.csr_matrix(X[:10]), X[10:20].astype(np.float32), X[20:30].tolist(), X[30:] > 0]
    blocks = list(RowStream(mixed))
    assert [type(block.rows) for block in blocks] == [Csr, Dense, Dense, Dense]
    assert [block.rows.values.dtype for block in blocks] == [float, np.float32, float, float]


def test_sparse_blocks_may_be_narrower():
    narrow = [sp.csr_matrix(X[:, :4]), sp.csr_matrix(X[:, :3])]
    assert [block.rows.shape[1] for block in RowStream(narrow)] == [4, 4]
    wide = RowStream(narrow[::-1], n_features=6)
    assert [block.rows.shape[1] for block in wide] == [6, 6]
    with pytest.raises(ValueError, match=r"block 1 has 4 columns, but 3 are expected.*n_features"):
        list(RowStream(narrow[::-1]))
    with pytest.raises(ValueError, match="block 1 has 3 columns, but 4 are expected"):
        list(RowStream([X, X[:, :3]]))


def test_text_whose_later_ids_are_larger():
    text = b"1 1:1\n" * 200_000 + b"-1 7:1\n"
    with pytest.raises(ValueError, match=r"has 7 columns, but 1 are expected.*n_features"):
        list(RowStream(text))
    assert {block.rows.shape[1] for block in RowStream(text, n_features=7)} == {7}


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ([X, np.where(X > 2, np.nan, X) * np.nan], ValueError, r"block 1: .*NaN \(row 0, column 0"),
        ([X, 1e200 * X[-2:]], ValueError, "block 1: rows of X are too long"),
        ([(X, y[:3])], ValueError, r"block 0: y has shape \(3,\), but there are 50 rows"),
        ([(X, y, y[:3])], ValueError, r"block 0: weights has shape \(3,\)"),
        ([(X, y, y, y)], TypeError, "block 0 is a tuple of 4"),
        ([np.empty((3, 0))], ValueError, "block 0 has no columns"),
        (["ab"], ValueError, "block 0"),
        ((X, y[:3]), ValueError, r"block 0: y has shape \(3,\)"),
        ((X, np.r_[y, y]), ValueError, "y of the source: 100 for 50 rows"),
        ([pd.DataFrame(X, columns=list("abcd")), pd.DataFrame(X, columns=list("abce"))],
         ValueError, "block 1 has columns of other names"),
        ((X,), ValueError, None),
        (lambda: 3, TypeError, "must return an iterable of blocks, not int"),
    ],
)  # fmt: skip
def test_bad_blocks(source, error, message):
    if message is None:
        assert whole(RowStream(source))[1] is None
        return
    with pytest.raises(error, match=message):
        list(RowStream(source))


def test_bad_sources_and_options():
    with pytest.raises(TypeError, match=r"source=3 must be a path, a matrix"):
        RowStream(3)
    for n_features in (0, True, 2.5):
        with pytest.raises(ValueError, match=rf"n_features={n_features} must be a whole number"):
            RowStream(BLOCKS, n_features=n_features)
    with pytest.raises(ValueError, match=r"block 0 is a ndarray, whose columns have no names"):
        list(RowStream([X], target="y"))
    with pytest.raises(ValueError, match=r"block 0 has no column 'z', but \['a', 'b'\]"):
        list(RowStream([pd.DataFrame(X[:, :2], columns=["a", "b"])], target="z"))
    with pytest.raises(FileNotFoundError):
        list(RowStream("/no/such/file"))


def test_a_source_that_changes_between_passes():
    class Once:
        """It says it can be iterated again, and lies."""

        def __init__(self):
            self.blocks = iter(BLOCKS)

        def __iter__(self):
            return self.blocks

    stream = RowStream(Once())
    assert stream.again
    list(stream)
    with pytest.raises(ValueError, match="pass 2 over the source gave 0 rows, the one before 50"):
        list(stream)


def test_an_error_in_a_generator_comes_through():
    def broken():
        yield BLOCKS[0]
        raise RuntimeError("the disk is gone")

    blocks = iter(RowStream(broken()))
    next(blocks)
    with pytest.raises(RuntimeError, match="the disk is gone"):
        next(blocks)
