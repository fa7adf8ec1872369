"""A matrix as svmlight text, with numbers that are read back as the same."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import lean_kernel
from skimlearn.data._decimal_text import LONGEST, write_number, write_whole
from skimlearn.data._replacing import replacing
from skimlearn.data.inspection import as_rows
from skimlearn.data.rows import Csr, Dense, Rows

__all__ = ["write_svmlight"]

ENTRIES = 2**16  # written at once
LONGEST_WHOLE = 21  # bytes of a whole number and what follows it

BLANK, COLON, COMMA, NEWLINE = (np.uint8(ord(c)) for c in " :,\n")
QUERY = np.frombuffer(b" qid:", dtype=np.uint8)


def write_svmlight(
    X: Any,
    y: Any,
    path: Any,
    *,
    zero_based: bool = False,
    multilabel: bool = False,
    query_id: Any = None,
) -> None:
    r"""Write a matrix and its labels in the svmlight (LIBSVM) format.

    Numbers have as many digits as it takes to read them back as the same ones. A file appears under
    its name when it is complete; one that was there before stays until then.

    Parameters
    ----------
    X : array, sparse matrix or Store of shape (n, d)
        Zeros are left out, if they are not stored in a sparse matrix.
    y : array of shape (n,), or n sequences of numbers
        Labels.
    path : path or binary file object
        Where to write. A path that ends in .gz, .bz2, .xz or .zst is compressed.
    zero_based : bool
        Whether ids begin at 0 instead of 1, which is what most programs expect.
    multilabel : bool
        Whether y has any number of labels for each row.
    query_id : array of shape (n,) of whole numbers, or None
        What to write behind ``qid:``.

    Examples
    --------
    >>> import io
    >>> from skimlearn import write_svmlight
    >>> file = io.BytesIO()
    >>> write_svmlight([[0.5, 0.0], [0.0, 0.1]], [1, -1], file)
    >>> file.getvalue()
    b'1 1:0.5\n-1 2:0.1\n'
    """
    rows = as_rows(X)
    labels, label_starts = _as_labels(y, rows.shape[0], multilabel)
    queries = _as_queries(query_id, rows.shape[0])
    first = np.uint64(not zero_based)
    with _opened(path) as file:
        for start, stop, part in _parts(rows):
            cuts = label_starts[start : stop + 1]
            for text in _texts(part, labels, cuts, queries[start:stop], first):
                file.write(text)


def _as_labels(y: Any, n: int, multilabel: bool) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """All labels, and where those of each row begin."""
    if multilabel:
        sets = [np.asarray(labels, dtype=np.float64).ravel() for labels in y]
        counts = [len(labels) for labels in sets]
        flat = np.concatenate([np.empty(0), *sets])
    else:
        flat = np.asarray(y, dtype=np.float64)
        counts = [1] * len(flat) if flat.ndim == 1 else []
        if flat.ndim != 1:
            raise ValueError(
                f"y has shape {flat.shape}, but must have one label for each row; "
                "use multilabel=True for several"
            )
    if len(counts) != n:
        raise ValueError(f"X has {n} rows, but y has {len(counts)}: give one for each")
    if not np.isfinite(flat).all():
        raise ValueError(f"y holds {flat[~np.isfinite(flat)][0]}: labels must be finite numbers")
    return flat, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _as_queries(query_id: Any, n: int) -> NDArray[np.int64]:
    if query_id is None:
        return np.empty((0), dtype=np.int64)
    found = np.asarray(query_id)
    if found.shape != (n,):
        raise ValueError(f"query_id has shape {found.shape}, but X has {n} rows: give one for each")
    if found.dtype.kind not in "iu" or (n and int(found.max()) >= 2**63):
        raise ValueError(
            f"query_id has dtype {found.dtype}, but must hold whole numbers below 2^63"
        )
    return found.astype(np.int64)


def _parts(rows: Rows) -> Iterator[tuple[int, int, Csr]]:
    """The rows in parts of some entries each, sparse."""
    n, d = rows.shape
    start = 0
    while start < n:
        if isinstance(rows, Dense):
            stop = min(n, start + max(1, ENTRIES // max(1, d)))
            here = rows.values[start:stop]
            where = np.nonzero(here)
            starts = np.concatenate([[0], np.cumsum(np.count_nonzero(here, axis=1))])
            columns = where[1].astype(np.uint64)
            yield start, stop, Csr(here[where], columns, starts.astype(np.uint64), d)
        else:
            beyond = np.searchsorted(rows.starts, rows.starts[start] + np.uint64(ENTRIES))
            stop = min(n, max(start + 1, int(beyond) - 1), start + ENTRIES)
            yield start, stop, rows._replace(starts=rows.starts[start : stop + 1])
        start = stop


def _texts(
    part: Csr, labels: NDArray[Any], cuts: NDArray[np.int64], queries: NDArray[Any], first: Any
) -> Iterator[bytes]:
    """Lines of text; those with numbers that the kernel cannot write are written by Python."""
    n = len(part.starts) - 1
    begin, end = int(part.starts[0]), int(part.starts[n])
    values = part.values[begin:end]
    single = values.dtype == np.float32
    doubles = np.ascontiguousarray(values, dtype=np.float64)
    columns = np.ascontiguousarray(part.columns[begin:end])
    starts = part.starts - part.starts[0]
    size = (end - begin + int(cuts[n] - cuts[0])) * (LONGEST + LONGEST_WHOLE)
    text = np.empty(size + n * (LONGEST_WHOLE + 8) + 64, dtype=np.uint8)
    row = 0
    while row < n:
        with np.errstate(over="ignore"):  # words wrap around, which plain Python would warn of
            row, length = _write_rows(
                row, labels, labels.view(np.uint64), cuts, queries, starts, columns, doubles,
                doubles.view(np.uint64), single, first, text,
            )  # fmt: skip
        yield text[:length].tobytes()
        if row < n:
            entries = slice(int(starts[row]), int(starts[row + 1]))
            words = [",".join(map(_text_of, labels[cuts[row] : cuts[row + 1]].tolist()))]
            words += [f"qid:{query}" for query in queries[row : row + 1].tolist()]
            pairs = zip(columns[entries].tolist(), doubles[entries].tolist(), strict=True)
            words += [f"{column + int(first)}:{_text_of(value)}" for column, value in pairs]
            yield " ".join(words).encode() + b"\n"
            row += 1


def _text_of(number: float) -> str:
    return repr(number).removesuffix(".0")


@lean_kernel
def _write_rows(
    row, labels, label_bits, cuts, queries, starts, columns, values, bits, single, first, text
):  # fmt: skip
    """Write rows from one on, until one has a number that Python must write; its index."""
    p = np.int64(0)
    for i in range(row, len(starts) - 1):
        begin = p
        hard = False
        for k in range(cuts[i], cuts[i + 1]):
            if k > cuts[i]:
                text[p] = COMMA
                p += 1
            end = write_number(labels[k], label_bits[k], False, text, p)
            hard |= end < 0
            p = max(p, end)
        if len(queries) > 0:
            for k in range(len(QUERY)):
                text[p + k] = QUERY[k]
            p += len(QUERY)
            if queries[i] < 0:
                text[p] = np.uint8(ord("-"))
                p += 1
            p = write_whole(np.uint64(abs(queries[i])), text, p)
        for k in range(starts[i], starts[i + 1]):
            text[p] = BLANK
            p = write_whole(np.uint64(columns[k]) + first, text, p + 1)
            text[p] = COLON
            p += 1
            end = write_number(values[k], bits[k], single, text, p)
            hard |= end < 0
            p = max(p, end)
        if hard:
            return i, begin
        text[p] = NEWLINE
        p += 1
    return len(starts) - 1, p


@contextlib.contextmanager
def _opened(path: Any) -> Iterator[Any]:
    """A file to write to, which gets its name when all is written."""
    if hasattr(path, "write"):
        yield path
        return
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path={path!r} must be a path or a binary file object, not {type(path).__name__}"
        )
    with replacing(path) as file, _compressing(os.fsdecode(path), file) as target:
        yield target


def _compressing(name: str, file: Any) -> Any:
    """A file that compresses what is written to it, as the end of the name says."""
    end = os.path.splitext(name)[1].lower()
    if end == ".gz":
        import gzip

        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0, compresslevel=6)
    if end == ".bz2":
        import bz2

        return bz2.BZ2File(file, "wb")
    if end == ".xz":
        import lzma

        return lzma.LZMAFile(file, "wb")
    if end == ".zst":
        try:
            from compression import zstd  # type: ignore[import-not-found,unused-ignore]

            return zstd.ZstdFile(file, "wb", options={zstd.CompressionParameter.checksum_flag: 1})
        except ImportError:
            pass
        try:
            import zstandard  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ImportError(
                f"{name} is to be compressed with zstd, and no module for that is installed: "
                "pip install zstandard (Python 3.14 needs none)"
            ) from None
        return zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False)
    return contextlib.nullcontext(file)
