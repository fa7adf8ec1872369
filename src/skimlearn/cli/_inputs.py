"""From a path to data: the one place that knows the kinds of files.

==================  ==========================================================================
a folder            a store
``-``               svmlight text on standard input, compressed or not
.npy                a dense array; labels come from another file
.npz                `scipy.sparse.save_npz`, or arrays ``X`` and perhaps ``y``
Parquet, Arrow      tables; ``--target`` names the column of labels
.csv, .tsv          the same, also compressed; the only kind that is told by its name
anything else       svmlight text, compressed or not
==================  ==========================================================================

Kinds are told by the first bytes of a file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from skimlearn.cli._reading import Reading

__all__ = [
    "Data",
    "Input",
    "as_classes",
    "blocks",
    "fitted",
    "kind_of",
    "open_table",
    "read",
    "read_labelled",
    "read_labels",
]

MAGIC = {b"\x93NUMPY": "npy", b"PK\x03\x04": "npz", b"PAR1": "table", b"ARROW1": "table"}
TABLE_NAMES = {".csv", ".tsv"}  # somewhere in the name, as in rows.csv.gz
ROWS = 10_000  # of a block
PLAIN = Reading()

Input = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A store, a file (svmlight, .npy, .npz, a table), or - for standard input.",
    ),
]


@dataclass(frozen=True)
class Data:
    """Rows with their labels, if there are any."""

    X: Any
    y: Any
    kind: str
    names: Any = None  # of the columns


def kind_of(path: str) -> str:
    """What a path leads to: "stdin", "store", "npy", "npz", "table" or "svmlight"."""
    if path == "-":
        return "stdin"
    if Path(path).is_dir():
        return "store"
    if TABLE_NAMES & set(Path(path).suffixes):
        return "table"
    with open(path, "rb") as file:
        start = file.read(8)
    return next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "svmlight")


def read(path: str, reading: Reading = PLAIN, *, names: Any = None, lean: bool = False) -> Data:
    """All rows of a file in memory, or a store, which stays on disk.

    ``names`` are those of the columns of other data, as which a table is to be encoded. ``lean``
    data are for our own estimators only: svmlight text is read without scipy.
    """
    kind = kind_of(path)
    X: Any
    y: Any = None
    if kind == "store":
        from skimlearn import open_store

        X = open_store(path)
        y = X.y
    elif kind == "table":
        from skimlearn import read_table

        X, y, names = read_table(path, **reading.table(names))
    elif kind == "npy":
        X = _load_npy(path)
    elif kind == "npz":
        X, y = _load_npz(path)
    elif lean:
        from skimlearn.data.svmlight import read_triple

        X, y = read_triple(_source(path), zero_based=reading.zero_based, n_jobs=-1)
    else:
        from skimlearn import read_svmlight

        X, y = read_svmlight(_source(path), zero_based=reading.zero_based, n_jobs=-1)
    if X.shape[0] == 0:
        raise ValueError(f"{path}: there are no rows in it")
    if reading.labels is not None:
        y = read_labels(reading.labels)
    return Data(X, y, kind, names if kind == "table" else getattr(X, "names", None))


def read_labelled(
    path: str, reading: Reading, test: str | None = None, *, lean: bool = False
) -> Data:
    """Rows to learn from; ``test`` is read with the same options later."""
    reading.check(*(kind_of(p) for p in (path, test) if p is not None))
    data = read(path, reading, lean=lean)
    if data.y is None:
        way = "--target COLUMN" if data.kind == "table" else "--labels FILE"
        raise ValueError(f"{path}: it has no labels; give them by {way}")
    return data


def blocks(path: str, model: Any, reading: Reading = PLAIN) -> Iterator[tuple[Any, Any]]:
    """Rows and labels of a file, some at a time, as many columns wide as a model is.

    Text and tables are read in bounded memory. Rows that are narrower are filled up; what is beyond
    the width was not there when the model learned, and has no weight. The columns of a table are
    taken by their names.
    """
    labels = reading.labels
    done, own = 0, None if labels is None else read_labels(labels)
    for X, y in _pieces(path, model, reading):
        stop = done + X.shape[0]
        yield fitted(X, model.n_features_in_), y if own is None else own[done:stop]
        done = stop
    if done == 0:
        raise ValueError(f"{path}: there are no rows in it")
    if own is not None and len(own) != done:
        raise ValueError(f"{labels}: there are {len(own)} labels, but {path} has {done} rows")


def _pieces(path: str, model: Any, reading: Reading) -> Iterator[tuple[Any, Any]]:
    kind = kind_of(path)
    if kind in ("stdin", "svmlight"):
        from skimlearn.data.svmlight import iter_triples

        base = reading.zero_based
        for block in iter_triples(_source(path), rows=ROWS, zero_based=base, n_jobs=-1):
            yield block[0], block[1]
        return
    if kind == "table":
        yield from open_table(path, reading, getattr(model, "feature_names_in_", None))
        return
    data = read(path)
    if kind == "store" and data.X.sparse and data.X.shape[1] != model.n_features_in_:
        yield from data.X.blocks(ROWS)
        return
    yield data.X, data.y


def open_table(path: str, reading: Reading, names: Any = None) -> Any:
    """A Parquet, Arrow or CSV file, to be read block by block."""
    from skimlearn import Table

    return Table(path, **reading.table(names))


def fitted(X: Any, width: int) -> Any:
    """Sparse rows with this number of columns; of others the model will say what is wrong."""
    if not hasattr(X, "indptr") or X.shape[1] == width:
        return X
    if hasattr(X, "of_width"):
        return X.of_width(width)
    if X.shape[1] > width:
        return X[:, :width]
    from scipy.sparse import csr_matrix

    return csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _source(path: str) -> Any:
    return getattr(sys.stdin, "buffer", sys.stdin) if path == "-" else path


def _load_npy(path: str) -> Any:
    import numpy as np

    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise ValueError(f"{path}: it is not a sound array of numbers: {error}") from None


def _load_npz(path: str) -> tuple[Any, Any]:
    import zipfile
    import zlib

    import numpy as np
    from scipy import sparse

    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            if "format" in arrays:
                return sparse.load_npz(path), None
            if "X" not in arrays:
                raise ValueError(
                    f"it holds {sorted(arrays)}, but must be a file of scipy.sparse.save_npz, or "
                    "have an array X and, with labels, y"
                )
            return arrays["X"], arrays.get("y")
    except (ValueError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path}: {error}") from None


def read_labels(path: str) -> Any:
    """Labels of a file: an array, or text with a label in each line."""
    import numpy as np

    if kind_of(path) == "npy":
        return np.asarray(_load_npy(path))
    texts = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    try:
        return np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts)


def as_classes(y: Any) -> Any:
    """Whole numbers as integers, which is what classes are written as."""
    import numpy as np

    values = np.asarray(y)
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == np.rint(values)).all():
        return values.astype(np.int64)
    return values
