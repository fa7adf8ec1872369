"""A table in all formats, and what may come of its file if that is broken."""

import bz2
import gzip
import lzma

import numpy as np
import pyarrow as pa
import zstandard
from pyarrow import csv, feather, ipc
from pyarrow import parquet as pq

from skimlearn import TableError, read_table

PACK = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: zstandard.compress(data),
}
BINARY = ["parquet", "feather", "file", "stream"]
KINDS = [*BINARY, "csv", *PACK]


def frame(seed=0, n=50):
    """Numbers, categories and words."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(-5, 5, size=n),
            "small": pa.array(rng.integers(0, 9, size=n), pa.uint8()),
            "open": rng.random(n) < 0.5,
            "city": rng.choice(["Rom", "Köln", "a=b", "Paris"], size=n),
            "kind": pa.array(rng.choice(["x", "y"], size=n)).dictionary_encode(),
            "body": [" ".join(rng.choice(["ham", "spam", "egg", "oil"], 5)) for _ in range(n)],
            "label": rng.choice(["no", "yes"], size=n),
        }
    )


def write(table, path, kind):
    """Write a table in one of the formats."""
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=17)
    elif kind == "feather":
        feather.write_feather(table, path, chunksize=13)
    elif kind in ("file", "stream"):
        make = ipc.new_file if kind == "file" else ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=19)
    else:
        csv.write_csv(table, path)
        if kind != "csv":
            path.write_bytes(PACK[kind](path.read_bytes()))
    return path


def make_tables(folder):
    """The bytes of files in all formats."""
    return [write(frame(n=20), folder / kind, kind).read_bytes() for kind in KINDS]


def check(path, data):
    """None if a file of these bytes is refused, or gives rows; else what is wrong."""
    path.write_bytes(data)
    try:
        X, _, names = read_table(path, target="label", encode={"body": "text"}, buckets=4)
        if X.shape[1] != len(names):
            return "names and columns differ in number"
    except (TableError, MemoryError):
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
