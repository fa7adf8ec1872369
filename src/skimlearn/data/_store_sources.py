"""Blocks of checked rows and their labels, from files, arrays or whatever gives them one by one."""

from __future__ import annotations

import errno
import lzma
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._store_format import StoreError
from skimlearn.data._store_write import bytes_of
from skimlearn.data._table_files import has_magic, is_csv_name
from skimlearn.data.inspection import Indexed, as_rows
from skimlearn.data.rows import Csr, Dense, Rows, cuts, pieces
from skimlearn.data.svmlight import iter_svmlight
from skimlearn.data.tables import Table
from skimlearn.data.triple import is_sparse

__all__ = ["Block", "Given", "blocks_of", "given_by", "is_table_file"]


FLOATS = (np.float32, np.float64)


class Block(NamedTuple):
    """Some rows, checked, and their labels, not yet checked."""

    rows: Rows
    labels: Any  # None if there are none


class Given(NamedTuple):
    """What a store is made from."""

    blocks: Generator[Block, None, None]
    names: Any = None  # strings, if the source has them
    classes: NDArray[np.str_] | None = None  # if labels are their numbers
    book: Mapping[str, int] | None = None  # the same, filled while blocks are read


def given_by(
    source: Any,
    y: Any,
    *,
    memory: int,
    n_features: int | None,
    zero_based: bool,
    n_jobs: int | None,
) -> Given:
    """The rows of a source, some at a time; a block takes a small part of the memory."""
    most = max(1, memory // 64)  # entries of a block
    if isinstance(source, str | os.PathLike) and is_table_file(source):
        column = y if isinstance(y, str) else None
        source, y = Table(source, target=column), None if isinstance(y, str) else y
        source.rows = max(1, min(source.rows, most // source.entries_of_row))
    elif isinstance(y, str):
        raise ValueError(f"y={y!r} names a column, but the source is no table with names")
    if isinstance(source, Indexed) and y is None:
        y = source.y
    y, classes = _numbered(y)
    if isinstance(source, Table):
        return _of_table(source, y, classes)
    book: dict[str, int] = {}
    blocks = _by_number(blocks_of(source, y, most, n_features, zero_based, n_jobs), book)
    return Given(blocks, source.names if isinstance(source, Indexed) else None, classes, book)


def is_table_file(path: str | os.PathLike[str]) -> bool:
    return is_csv_name(path) or has_magic(path)


def _of_table(table: Table, y: Any, classes: Any) -> Given:
    if y is not None and table.target is not None:
        raise ValueError("y must be None for a table that has a target")
    found = (Block(as_rows(X), labels) for X, labels in table.numbered())
    if y is None:
        return Given(found, table.names, table.classes)
    return Given(_labelled((block.rows for block in found), y), table.names, classes)


def _by_number(
    blocks: Generator[Block, None, None], book: dict[str, int]
) -> Generator[Block, None, None]:
    """Blocks whose labels, if they are strings, are numbered in the order in which they come."""
    with closing(blocks):
        for k, block in enumerate(blocks):
            numbers, classes = _numbered(block.labels)
            if classes is None:
                if book and block.labels is not None:
                    raise ValueError(
                        "the labels of some blocks of the source are strings, of others numbers"
                    )
                yield block
                continue
            if k and not book:
                raise ValueError(
                    "the labels of some blocks of the source are numbers, of others strings"
                )
            places = [book.setdefault(name, len(book)) for name in classes.tolist()]
            yield Block(block.rows, np.array(places, dtype=np.int64)[numbers])


def _numbered(y: Any) -> tuple[Any, NDArray[np.str_] | None]:
    """Labels that are strings as numbers, with the classes they stand for."""
    if y is None:
        return None, None
    values = np.asarray(y)
    if values.dtype.kind == "O" and all(isinstance(value, str) for value in values.flat):
        values = values.astype(np.str_)
    if values.dtype.kind != "U" or values.ndim != 1:
        return y, None
    classes, numbers = np.unique(values, return_inverse=True)
    return numbers, classes


def blocks_of(
    source: Any,
    y: Any,
    most: int,
    n_features: int | None,
    zero_based: bool,
    n_jobs: int | None,
) -> Generator[Block, None, None]:
    """The rows of a source that is no table, some entries at a time, with labels as they are."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix == ".npy":
            return _pieces(_mapped(path), y, most)
        if path.suffix == ".npz":
            return _labelled(_npz_blocks(path, most), y)
        if y is not None:
            raise ValueError("y must be None for an svmlight file, which has labels of its own")
        given = iter_svmlight(
            path, rows=None, n_features=n_features, zero_based=zero_based, n_jobs=n_jobs
        )
        return (Block(as_rows(X), labels) for X, labels in given)
    if isinstance(source, Indexed):
        return _pieces(source, y, most)
    if is_sparse(source) or isinstance(source, Dense | Csr) or hasattr(source, "shape"):
        return _pieces(source, y, most)
    if isinstance(source, list | tuple) and not _is_pair(next(iter(source), None)):
        return _pieces(np.asarray(source), y, most)
    if not isinstance(source, Iterable):
        raise TypeError(
            f"source={source!r} must be a path, an array, a sparse matrix or an iterable of pairs "
            f"(X, y), not {type(source).__name__}"
        )
    if y is not None:
        raise ValueError("y must be None for an iterable of pairs (X, y), which hold the labels")
    return _given(source)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and hasattr(value[0], "shape")


def _given(source: Iterable[Any]) -> Generator[Block, None, None]:
    for k, pair in enumerate(source):
        if not _is_pair(pair):
            raise TypeError(f"block {k} of the source must be a pair (X, y), not {type(pair)}")
        rows = as_rows(pair[0])
        if rows.shape[0]:
            yield Block(rows, pair[1])


def _mapped(path: Path) -> NDArray[Any]:
    with _sound(path):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _pieces(source: Any, y: Any, most: int) -> Generator[Block, None, None]:
    """Blocks of rows that are all at hand, as views."""
    if isinstance(source, np.ndarray):  # perhaps on disk, so that each piece is checked for itself
        rows = as_rows(source, inspect=False) if source.dtype in FLOATS else Dense(source)
        if source.ndim != 2:
            as_rows(source)  # says what is wrong
    else:
        rows = as_rows(source)
    n = rows.shape[0]
    if y is not None and np.shape(y) != (n,):
        raise ValueError(f"y has shape {np.shape(y)}, but the source has {n} rows")
    for some, part in pieces(rows, most):
        if isinstance(source, np.ndarray):
            part = as_rows(np.ascontiguousarray(part.values))
        yield Block(part, None if y is None else y[some])


def _labelled(blocks: Iterator[Rows], y: Any) -> Generator[Block, None, None]:
    done = 0
    for rows in blocks:
        stop = done + rows.shape[0]
        if y is not None and len(y) < stop:
            raise ValueError(f"y has {len(y)} labels, but the source has {stop} rows or more")
        yield Block(rows, None if y is None else y[done:stop])
        done = stop
    if y is not None and len(y) != done:
        raise ValueError(f"y has {len(y)} labels, but the source has {done} rows")


# -------------------------------------------------------------------------------------------- npz


BROKEN = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, KeyError, ValueError, TypeError,
    IndexError, OverflowError, NotImplementedError, RuntimeError, tokenize.TokenError, SyntaxError,
)  # fmt: skip


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file of arrays, as one kind of error; the system's errors pass."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # an offset that leads out of the file
            raise
        raise StoreError(path, f"it is damaged: {error}") from error
    except BROKEN as error:
        raise StoreError(
            path, f"it is damaged, or no file of arrays of numbers: {error}"
        ) from error


def _npz_blocks(path: Path, most: int) -> Iterator[Rows]:
    """The rows of a file of `scipy.sparse.save_npz`; those of a CSR matrix are not all at hand."""
    from scipy.sparse import csr_array, load_npz

    with _sound(path):
        archive = zipfile.ZipFile(path)
    with archive:
        if not {"format.npy", "shape.npy", "data.npy"} <= set(archive.namelist()):
            raise StoreError(path, "it is not a file of scipy.sparse.save_npz")
        with _sound(path):
            kind = _array(path, archive, "format", ()).item()
            n, d = (int(k) for k in _array(path, archive, "shape", (2,)))
        if kind not in (b"csr", "csr"):
            with _sound(path):
                matrix: Any = load_npz(path)
            yield from (block.rows for block in _pieces(matrix, None, most))
            return
        with _sound(path):
            starts = _array(path, archive, "indptr", (n + 1,)).astype(np.int64)
        if starts[0] != 0 or (np.diff(starts) < 0).any():
            raise StoreError(path, "its row pointers (indptr) are broken")
        with ExitStack() as stack:
            with _sound(path):
                names = ("indices", "data")
                streams = [stack.enter_context(archive.open(f"{name}.npy")) for name in names]
                types = [_header(path, stream, (int(starts[-1]),)) for stream in streams]
            for first, stop in cuts(starts, most):
                count = int(starts[stop] - starts[first])
                with _sound(path):
                    pair = zip(streams, types, strict=True)
                    columns, values = (_read(path, stream, kind, count) for stream, kind in pair)
                    here = starts[first : stop + 1] - starts[first]
                    block = csr_array((values, columns, here), shape=(stop - first, d))
                yield as_rows(block)


def _array(path: Path, archive: zipfile.ZipFile, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of an archive, once its header has this shape."""
    with archive.open(f"{name}.npy") as stream:
        dtype = _header(path, stream, shape)
        return _read(path, stream, dtype, math.prod(shape)).reshape(shape)


def _header(path: Path, stream: Any, wanted: tuple[int, ...]) -> np.dtype[Any]:
    """The type of an array that has this shape, or a longer one if it has one axis."""
    version = np.lib.format.read_magic(stream)
    reader = getattr(np.lib.format, f"read_array_header_{version[0]}_0", None)
    if reader is None:
        raise StoreError(path, f"an array in it is of version {version}")
    shape, _, dtype = reader(stream)
    longer = len(shape) == 1 == len(wanted) and shape[0] >= wanted[0]
    if dtype.hasobject or not (shape == wanted or longer):
        raise StoreError(path, f"an array in it has dtype {dtype} and shape {shape}")
    return dtype


def _read(path: Path, stream: Any, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    array = np.empty(count, dtype)
    view = bytes_of(array)
    while len(view):
        more = stream.readinto(view)
        if not more:
            raise StoreError(path, "it ends early")
        view = view[more:]
    return array
