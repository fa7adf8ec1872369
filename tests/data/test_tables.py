"""Tables: every format gives the same rows; what can't be used is named; damage never crashes."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from pyarrow import csv, feather, ipc
from pyarrow import parquet as pq
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer

from skimlearn import LinearClassifier, Store, StoreError, Table, TableError, open_store, read_table
from skimlearn.data import _table_files, _table_plan
from table_files import BINARY, KINDS, check, frame, write

N = 50


def expected(table, buckets):
    """The rows and names, by pandas and scikit-learn."""
    df = table.to_pandas().astype({"kind": str})
    numbers = df[["size", "count", "small", "open"]].astype(float)
    parts, names = [sp.csr_matrix(numbers.to_numpy())], list(numbers)
    for name in ("city", "kind"):
        dummies = pd.get_dummies(df[name]).astype(float)
        parts.append(sp.csr_matrix(dummies.to_numpy()))
        names += [f"{name}={value}" for value in dummies]
    parts.append(HashingVectorizer(n_features=buckets).transform(df["body"]))
    names += [f"body~{k}" for k in range(buckets)]
    return sp.hstack(parts, "csr"), df["label"].to_numpy(str), names


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_gives_the_same_rows(tmp_path, kind):
    table = frame()
    path = write(table, tmp_path / "data", kind)
    X, y, names = expected(table, 32)
    options = {"target": "label", "encode": {"body": "text"}, "buckets": 32}
    found = read_table(path, **options)
    assert sp.isspmatrix_csr(found[0])
    assert found[0].has_sorted_indices
    assert_array_equal(found[0].toarray(), X.toarray())
    assert_array_equal(found[1], y)
    assert found[2] == names
    blocks = Table(path, rows=7, **options)
    assert (blocks.sparse, blocks.classes.tolist()) == (True, ["no", "yes"])
    for _ in range(2):  # again and again
        parts = list(blocks)
        assert max(part.shape[0] for part, _ in parts) == 7
        assert_array_equal(sp.vstack([part for part, _ in parts]).toarray(), X.toarray())
        assert_array_equal(np.concatenate([part for _, part in parts]), y)


@pytest.mark.parametrize("kind", ["parquet", "stream", "csv"])
def test_numbers_alone_are_dense(tmp_path, kind):
    table = frame().select(["size", "count", "open"])
    X, y, names = read_table(write(table, tmp_path / "data", kind), target="count")
    assert isinstance(X, np.ndarray)
    assert (X.dtype, y.dtype, names) == (np.float64, np.int64, ["size", "open"])
    assert_array_equal(X, table.select(["size", "open"]).to_pandas().astype(float))
    assert_array_equal(y, table["count"])
    assert read_table(tmp_path / "data")[1] is None
    labels = read_table(tmp_path / "data", target="open")[1]
    assert_array_equal(labels, table["open"])
    assert labels.dtype == np.bool_


def test_single_precision_stays(tmp_path):
    single = pa.array([1.5, 0.1], pa.float32())
    table = pa.table({"a": single, "b": pa.array([1, 2], pa.int8()), "c": [True, False]})
    path = write(table, tmp_path / "a", "parquet")
    assert read_table(path)[0].dtype == np.float32
    assert_array_equal(read_table(path)[0][:, 0], single)
    assert read_table(path, dtype=np.float64)[0].dtype == np.float64
    path = write(table.append_column("d", pa.array([1, 2])), tmp_path / "b", "parquet")
    assert read_table(path)[0].dtype == np.float64
    path = write(table.append_column("d", pa.array(["x", "y"])), tmp_path / "c", "file")
    X, _, names = read_table(path)
    assert (X.dtype, names[-2:]) == (np.float32, ["d=x", "d=y"])
    half = pa.table({"a": pa.array(np.array([0.5], np.float16)), "b": pa.array([None], pa.null())})
    X = read_table(write(half, tmp_path / "d", "file"), missing=7)[0]
    assert X.tolist() == [[0.5, 7.0]]
    assert X.dtype == np.float64


def test_columns_are_encoded_as_wanted(tmp_path):
    table = frame().append_column("number", pa.array([f" {k}.5"[1:] for k in range(N)]))
    path = write(table, tmp_path / "data", "parquet")
    encode = {"count": "one-hot", "city": "hash", "kind": "hash", "body": "drop", "label": "drop"}
    encode |= {"number": "number", "small": "drop"}
    X, _, names = read_table(path, encode=encode, buckets=8)
    counts = sorted({str(value.as_py()) for value in table["count"]})
    assert names[:3] == ["size", "open", "number"]
    assert names[3 : 3 + len(counts)] == [f"count={value}" for value in counts]
    assert names[3 + len(counts) :] == [
        f"{name}#{k}" for name in ("city", "kind") for k in range(8)
    ]
    assert_array_equal(X[:, 2].toarray().ravel(), np.arange(N) + 0.5)
    hashed = FeatureHasher(8, input_type="string").transform([[c.as_py()] for c in table["city"]])
    assert_array_equal(X[:, -16:-8].toarray(), hashed.toarray())


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_another_table_is_encoded_as_the_first(tmp_path, kind):
    first, second = frame(0, 40), frame(1, 30)
    encode = {"body": "text", "kind": "hash"}
    path = write(first, tmp_path / "a", kind)
    X, y, names = read_table(path, target="label", encode=encode, buckets=16)
    city = ["Rom"] * 28 + ["Wien", "Oslo"]
    order = ["extra", "label", "body", "kind", "city", "open", "small", "count", "size"]
    second = second.set_column(4, "city", [city]).append_column("extra", [city]).select(order)
    path = write(second, tmp_path / "b", kind)
    other, labels, same = read_table(path, names=names)
    assert (labels, same) == (None, names)
    assert other.shape == (30, len(names))
    cities = [name for name in names if name.startswith("city=")]
    at = [names.index(name) for name in cities]
    one_hot = other[:, at].toarray()
    assert one_hot[:, cities.index("city=Rom")].tolist() == [1.0] * 28 + [0.0, 0.0]
    assert one_hot.sum() == 28.0  # the others are new: they count for nothing
    model = LinearClassifier(random_state=0).fit(X, y)
    assert set(model.predict(other)) <= {"no", "yes"}
    assert read_table(path, names=names, target="label")[1].tolist() == second["label"].to_pylist()
    with pytest.raises(ValueError, match="all of them and in their order"):
        read_table(path, names=names[::-1])
    with pytest.raises(TableError, match=r"no column gives the feature 'age=3' that names asks"):
        read_table(path, names=[*names, "age=3"])
    with pytest.raises(ValueError, match="leave encode out"):
        read_table(path, names=names, encode=encode)


def test_missing_values_are_named_or_filled(tmp_path):
    table = pa.table(
        {
            "a": [1.0, None, float("nan")],
            "b": pa.array([1, 2, None]),
            "c": ["x", None, "y"],
            "d": pa.array(["x", "y", None]).dictionary_encode(),
            "e": ["ham", None, "spam"],
            "y": [1, None, 2],
        }
    )
    for kind in BINARY:
        path = write(table, tmp_path / "data", kind)
        for column, row in (("a", 1), ("b", 2), ("c", 1), ("d", 2), ("e", 1)):
            encode = {name: "drop" for name in table.column_names if name != column}
            if column == "e":
                encode[column] = "text"
            with pytest.raises(TableError, match=r"a value is missing: drop the row, or") as found:
                read_table(path, encode=encode)
            assert (found.value.column, found.value.row) == (column, row)
        encode = {"y": "drop", "c": "hash", "e": "text"}
        X, _, names = read_table(path, encode=encode, missing=-1, buckets=4)
        dense = X.toarray()
        assert dense[:, :2].tolist() == [[1.0, 1.0], [-1.0, 2.0], [-1.0, -1.0]]
        assert names[2:4] == ["d=x", "d=y"]
        assert dense[:, 2:4].tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
        assert np.abs(dense[:, 4:8]).sum(axis=1).tolist() == [1.0, 0.0, 1.0]
        assert np.abs(dense[:, 8:]).sum(axis=1).tolist() == [1.0, 0.0, 1.0]
        with pytest.raises(TableError, match=r"column 'y', row 1: a target is missing: drop"):
            read_table(path, target="y", encode={"c": "hash", "e": "text"}, missing=0.0)


def test_rows_of_errors_count_all_batches(tmp_path):
    values = np.arange(40.0)
    values[33] = np.inf
    path = write(pa.table({"a": values, "b": values[::-1].copy()}), tmp_path / "data", "parquet")
    with pytest.raises(TableError, match=r"data, column 'b', row 6: it holds inf"):
        list(Table(path, rows=4))
    with pytest.raises(TableError, match=r"column 'a', row 33: it holds inf: drop"):
        list(Table(path, rows=4, target="a", encode={"b": "one-hot"}))
    path = write(pa.table({"a": [1.0, 1e300]}), tmp_path / "data", "parquet")
    with pytest.raises(TableError, match=r"column 'a', row 1: it holds 1e\+300: scale"):
        read_table(path, dtype=np.float32)


@pytest.mark.parametrize(
    ("text", "options", "message", "column", "row"),
    [
        (b"", {}, "the file is empty", None, None),
        (b"a,b\n", {}, "no rows", None, None),
        (b"a,a\n1,2\n", {}, "two columns have this name", "a", None),
        (b"1,2,3\n4,5,6\n", {}, "the first line holds numbers", None, None),
        (b",a\n0,1\n", {}, "has no name, as the index of a pandas frame", "", None),
        (b"a,b\n1,2\n3\n", {}, "Expected 2 columns, got 1", None, 1),
        (b"a,b\n1,2\n3,4,5\n", {}, "Expected 2 columns, got 3", None, 1),
        (b"a,b\n1,2\n1,\n", {}, "a value is missing", "b", 1),
        (b"a,b\n1,2\n1,nan\n", {}, "a value is missing", "b", 1),
        (b"a,b\n1,2\n1,inf\n", {}, "it holds inf", "b", 1),
        (b"a,b\n1,x\n1,y\n", {"encode": {"b": "number"}}, "invalid value 'x'", "b", 0),
        (b"a,b\n1,x\n1,y\n", {"target": "c"}, "no such column; there are 'a', 'b'", "c", None),
        (b"a,b\n1,x\n1,y\n", {"encode": {"c": "drop"}}, "no such column", "c", None),
        (b"a\n1\n", {"target": "a"}, "its columns give 0 features", None, None),
        (b"a,b\n2020-01-01,2\n", {}, "it holds date32.*'one-hot' or 'hash'", "a", None),
        (b"a,b\n\xff,2\n", {}, "invalid UTF8", "a", 0),
        (b"a,b\n\0\0\0\0\n", {}, "Expected 2 columns", None, 0),
        (b"FEA1....", {}, "version 1 of Feather", None, None),
        (b"a,b=c,b\n1,1,c\n", {}, "the same name: rename a column", None, None),
    ],
)
def test_csv_text_that_is_wrong(tmp_path, text, options, message, column, row):
    path = tmp_path / "data.csv"
    path.write_bytes(text)
    with pytest.raises(TableError, match=message) as found:
        read_table(path, **options)
    assert (found.value.column, found.value.row) == (column, row)
    assert str(path) in str(found.value)


def test_csv_of_all_kinds(tmp_path):
    path = tmp_path / "data"
    for text in (
        b'a,b,y\r\n1,"x, \ny",0\r\n2.5,z,1\r\n',
        b'\xef\xbb\xbfa\tb\ty\n1\t"x, \ny"\t0\n2.5\tz\t1',
        b'a;b;y\n1;"x, \ny";0\n2.5;z;1\n',
        b'"a"|b|y\n1|"x, \ny"|0\n\n2.5|z|1\n',
    ):
        path.write_bytes(text)
        X, y, names = read_table(path, target="y")
        assert names[0] == "a"
        assert [name.split() for name in names[1:]] == [["b=x,", "y"], ["b=z"]]
        assert_array_equal(X.toarray(), [[1.0, 1.0, 0.0], [2.5, 0.0, 1.0]])
        assert (y.tolist(), y.dtype) == ([0, 1], np.int64)


def test_csv_types_come_from_the_first_block(tmp_path, monkeypatch):
    monkeypatch.setattr(_table_files, "BLOCK", 32)
    path = tmp_path / "data"
    path.write_text("a,b,y\n" + "1,2,0\n" * 10 + "1.5,3,1\n" + "1,x,0.5\n")
    with pytest.raises(TableError, match=r"row 11: error to double: invalid value 'x'.*'one-hot'"):
        read_table(path)
    with pytest.raises(TableError, match=r"column 'y', row 11: error to int64") as found:
        read_table(path, target="y", encode={"b": "one-hot"})
    assert found.value.column == "y"
    X, y, _ = read_table(path, target="y", encode={"b": "one-hot", "y": "number"})
    assert X[:, 0].toarray().ravel().tolist() == [1.0] * 10 + [1.5, 1.0]
    assert y.tolist() == [0.0] * 10 + [1.0, 0.5]
    path.write_text("a,b\n" + "1,2\n" * 10 + f"1,{'3' * 200}x\n")
    with pytest.raises(TableError):
        read_table(path)


def test_columns_that_can_not_be_used(tmp_path):
    table = pa.table(
        {"a": [[1, 2], [3]], "b": [b"x", b"\xff"], "c": [{"d": 1}, {"d": 2}], "e": [1, 2]}
    )
    for kind in ("parquet", "file", "stream"):
        path = write(table, tmp_path / "data", kind)
        for name in "abc":
            for what in (None, "one-hot", "hash", "number", "text"):
                encode = {other: "drop" for other in "abc" if other != name}
                encode |= {} if what is None else {name: what}
                with pytest.raises(TableError, match=r"leave it out, or turn it into") as found:
                    read_table(path, encode=encode)
                assert found.value.column == name
        encode = dict.fromkeys("abc", "drop")
        assert read_table(path, encode=encode)[2] == ["e"]
        with pytest.raises(TableError, match="targets are numbers or strings"):
            read_table(path, target="a", encode={"b": "drop", "c": "drop"})
    dates = pa.table(
        {"day": pa.array([0, 1], pa.date32()), "when": pa.array([0, 5], pa.timestamp("s"))}
    )
    path = write(dates, tmp_path / "data", "parquet")
    with pytest.raises(TableError, match=r"column 'day': it holds date32.*'one-hot' or 'hash'"):
        read_table(path)
    names = read_table(path, encode={"day": "one-hot", "when": "hash"}, buckets=2)[2]
    assert names == ["day=1970-01-01", "day=1970-01-02", "when#0", "when#1"]
    with pytest.raises(TableError, match="no number"):
        read_table(path, encode={"day": "drop", "when": "number"})


def test_too_many_and_too_long_categories(tmp_path, monkeypatch):
    monkeypatch.setattr(_table_plan, "MOST_CATEGORIES", 20)
    path = write(pa.table({"id": [f"id{k}" for k in range(21)]}), tmp_path / "data", "parquet")
    with pytest.raises(TableError, match=r"column 'id': it has more than 20 categories.*'hash'"):
        read_table(path)
    assert read_table(path, encode={"id": "hash"}, buckets=5)[0].shape == (21, 5)
    path = write(pa.table({"id": ["x" * 300]}), tmp_path / "data", "parquet")
    with pytest.raises(TableError, match=r"more than 256 characters.*'text'} for words"):
        read_table(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"encode": {"city": "onehot"}},
            "'city': 'onehot'}: a column is encoded as number, one-hot",
        ),
        ({"encode": {"label": "hash"}, "target": "label"}, "the target can be 'number' only"),
        ({"dtype": np.int32}, "float32 or float64"),
        ({"missing": np.nan}, "missing=nan must be a finite number"),
        ({"buckets": 0}, "buckets=0 must be"),
        ({"rows": 1.5}, r"rows=1\.5 must be"),
    ],
)
def test_parameters_that_are_wrong(tmp_path, options, message):
    path = write(frame(), tmp_path / "data", "parquet")
    with pytest.raises(ValueError, match=message):
        Table(path, **options)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "nothing.parquet")
    with pytest.raises(IsADirectoryError):
        read_table(tmp_path)


def test_the_index_of_a_pandas_frame_is_no_feature(tmp_path):
    df = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    df.to_parquet(tmp_path / "data")
    assert read_table(tmp_path / "data")[2] == ["a"]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_give_an_error_or_rows(tmp_path, kind):
    """Cut off anywhere, or changed in some bytes."""
    path = write(frame(n=20), tmp_path / "data", kind)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for k in range(60):
        if k % 3 == 0:
            data = whole[: rng.integers(len(whole))]
        else:
            data = bytearray(whole)
            for at in rng.integers(len(whole), size=rng.integers(1, 6)):
                data[at] = rng.integers(256)
        assert check(path, data) is None
    path.write_bytes(whole[: len(whole) // 2])
    if kind not in ("csv", "stream"):
        with pytest.raises(TableError):
            read_table(path)


def test_an_arrow_file_with_hostile_offsets(tmp_path):
    """The buffers are not looked at when a file is opened, so that they must be before use."""
    offsets = pa.py_buffer(np.array([0, 2**30, 5], np.int32).tobytes())
    array = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"hello")])
    index = pa.DictionaryArray.from_arrays(pa.array([0, 99]), pa.array(["a"]), safe=False)
    for name, evil in (("a", array), ("b", index)):
        batch = pa.RecordBatch.from_arrays([evil], names=[name])
        with ipc.new_file(tmp_path / "data", batch.schema) as writer:
            writer.write_batch(batch)
        with pytest.raises(TableError, match="the column is damaged") as found:
            read_table(tmp_path / "data")
        assert found.value.column == name


# ------------------------------------------------------------------------------------------- stores


@pytest.mark.parametrize("kind", ["parquet", "stream", "csv", "gzip"])
def test_stores_of_tables(tmp_path, kind):
    table = frame().drop_columns(["body"])
    suffix = {"csv": ".csv", "gzip": ".csv.gz"}.get(kind, "")
    path = write(table, tmp_path / f"data{suffix}", kind)
    X, y, names = read_table(path, target="label")
    store = Store.create(tmp_path / "store", path, "label")
    store.verify()
    for found in (store, open_store(tmp_path / "store")):
        assert_array_equal(found[:].toarray(), X.toarray())
        assert_array_equal(found.y, y)
        assert found.names.tolist() == names
    model = LinearClassifier(random_state=0).fit(store)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.feature_names_in_.tolist() == names
    again = read_table(path, names=model.feature_names_in_)[0]
    assert_array_equal(again.toarray(), X.toarray())
    made = Table(path, encode={"label": "drop", "city": "hash"}, buckets=4, rows=9)
    numbers = np.arange(float(N))
    store = Store.create(tmp_path / "store", made, numbers, overwrite=True, dtype="f4")
    assert (store.dtype, store.y.tolist()) == (np.float32, numbers.tolist())
    assert store.names.tolist() == made.names
    with pytest.raises(ValueError, match="y must be None for a table that has a target"):
        Store.create(tmp_path / "other", Table(path, target="label"), y)
    with pytest.raises(TableError, match="column 'lable': there is no such column"):
        Store.create(tmp_path / "other", path, "lable")
    assert not os.path.exists(tmp_path / "other")


def test_stores_of_dense_tables(tmp_path):
    table = frame().select(["size", "count"])
    store = Store.create(tmp_path / "store", write(table, tmp_path / "a", "parquet"), "count")
    assert not store.sparse
    assert (store.names.tolist(), store.y.dtype) == (["size"], np.int64)
    (tmp_path / "b.csv").write_text("a,b\n1,2\n")
    with pytest.raises(StoreError, match="exists already"):
        Store.create(tmp_path / "store", tmp_path / "b.csv")


@pytest.mark.parametrize("kind", ["parquet", "feather", "file", "csv"])
def test_a_table_is_never_read_whole(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(_table_files, "BLOCK", 2**14)
    n = 60_000
    table = pa.table({f"x{j}": np.arange(n) + j / 7 for j in range(8)})
    whole = table.nbytes
    path = tmp_path / "data"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=2000)
    elif kind == "feather":
        feather.write_feather(table, path, compression="lz4", chunksize=2000)
    elif kind == "file":
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=n)
    else:
        csv.write_csv(table, path)
    del table
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for X, _ in Table(path, rows=1000):
        most, rows = max(most, pa.total_allocated_bytes() - before), rows + len(X)
    assert rows == n
    assert most < whole / 2
