"""Read and write the svmlight (LIBSVM) text format, fast and with exact numbers.

One line for each row, ``label id:value id:value ... # comment``, perhaps with ``qid:number`` after
the label. Blank lines, tabs, line ends of any system and ids in any order are fine; compressed data
(gzip, bz2, xz, zstd) are known by their first bytes. Every number is the double nearest to its
decimals, as with ``float``. Text is taken in blocks: memory beyond the result is bounded by some
blocks of a megabyte, or a few times the longest line.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike

from skimlearn.data._svmlight_faults import SvmlightError, as_error
from skimlearn.data._svmlight_parts import Part, Parts, worker_count
from skimlearn.data._svmlight_pile import Pile, some_rows
from skimlearn.data._svmlight_room import Rules
from skimlearn.data._svmlight_write import write_svmlight
from skimlearn.data._text_blocks import Source, open_source

__all__ = ["SvmlightError", "iter_svmlight", "read_svmlight", "write_svmlight"]

LARGEST = 2**63 - 1


def read_svmlight(
    path: Any,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool | Literal["auto"] = "auto",
    multilabel: bool = False,
    query_id: bool = False,
    finite: bool = True,
    n_jobs: int | None = None,
) -> tuple[Any, ...]:
    r"""Read a file in the svmlight (LIBSVM) format.

    Parameters
    ----------
    path : path, binary file object or bytes
        What to read, compressed or not. A file object is read from where it stands to its end,
        and left open.
    n_features : int or None
        The number of columns; None: as many as the largest id asks for.
    dtype : float32 or float64
        Of the values. Single precision is rounded from double precision.
    zero_based : bool or "auto"
        Whether ids begin at 0 instead of 1; "auto": if there is a 0. A file that has none by chance
        is then taken for one whose ids begin at 1.
    multilabel : bool
        Whether a row has any number of labels, separated by commas.
    query_id : bool
        Whether to return the numbers behind ``qid:`` too; every row must have one then.
    finite : bool
        Whether nan, infinities and numbers beyond all doubles are errors.
    n_jobs : int or None
        Threads that parse: None is 1, -1 all cores. The result does not depend on it.

    Returns
    -------
    X : scipy.sparse.csr_matrix of shape (n, n_features)
        Sorted rows; an explicit zero is kept. Indices have 32 bits where that is enough. A file
        without rows gives a matrix without rows.
    y : ndarray of shape (n,), or a list of n sorted tuples
        Labels, in double precision; tuples if ``multilabel``.
    query : ndarray of shape (n,), int64
        Only if ``query_id``.

    Raises
    ------
    SvmlightError
        If a line is not as it should be, with the place; if compressed data are damaged.

    Examples
    --------
    >>> from skimlearn import read_svmlight
    >>> X, y = read_svmlight(b"+1 1:0.5 3:2 # a comment\n-1 2:1e-3\n")
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.001, 0.0]], [1.0, -1.0])
    """
    rules = _rules(n_features, zero_based, multilabel, query_id, finite)
    pile = Pile(_as_dtype(dtype), multilabel, query_id, int(rules.least))
    workers = worker_count(n_jobs)
    return pile.take(*_filled(pile, path, rules, n_features, zero_based, workers))


def read_triple(path: Any, *, zero_based: bool, n_jobs: int) -> tuple[Any, ...]:
    """The same without scipy: X is a `Triple`."""
    rules = _rules(None, zero_based, False, False, True)
    pile = Pile(np.dtype(np.float64), False, False, int(rules.least))
    workers = worker_count(n_jobs)
    return pile.take_triple(*_filled(pile, path, rules, None, zero_based, workers))


def _filled(
    pile: Pile, path: Any, rules: Rules, n_features: int | None, zero_based: Any, workers: int
) -> tuple[int, int]:
    """Fill the pile with all of a file; its least id and its number of columns."""
    widest = (-1, 0)  # the largest id, and the first line it is in, negative
    least, done = LARGEST, 0
    source = open_source(path)
    with closing(_sound_parts(source, rules, pile.dtype, workers)) as parts:
        for before, part in parts:
            least = min(least, part.least)
            widest = max(widest, (part.most, -(before + part.most_line + 1)))
            done += part.size
            pile.add(part, _growth(done, source.size))
    first = 1 - bool(zero_based) if zero_based != "auto" else int(least > 0)
    width = widest[0] + 1 - first if widest[0] >= 0 else 0
    if n_features is not None and width > n_features:
        raise SvmlightError(
            f"the id {widest[0]} is beyond {n_features - 1}, the last of n_features={n_features} "
            "columns if ids begin at 0, as one in this file does: make it larger, or None to take "
            "it from the file",
            source.name,
            -widest[1],
            None,
        )
    return first, width if n_features is None else n_features


def _growth(done: int, total: int | None) -> float:
    """How many times as long as now a matrix may become, when so many bytes are read.

    What little of the text says is not trusted: its lines may differ from the others.
    """
    return 2.0 if total is None or 16 * done < total else max(1.0, 1.03 * total / done)


def iter_svmlight(
    path: Any,
    *,
    rows: int | None = 10_000,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    zero_based: bool = False,
    multilabel: bool = False,
    query_id: bool = False,
    finite: bool = True,
    n_jobs: int | None = None,
) -> Iterator[tuple[Any, ...]]:
    r"""Read a file in the svmlight (LIBSVM) format, some rows at a time, in bounded memory.

    Parameters
    ----------
    path : path, binary file object or bytes
        What to read, compressed or not.
    rows : int or None
        Rows of a block; the last may have fewer. None: those of about a megabyte of text, so that
        memory is bounded also where rows are long.
    n_features : int or None
        The number of columns; None: a block has as many as its own and all earlier ids ask for.
    dtype, multilabel, query_id, finite, n_jobs
        As in `read_svmlight`.
    zero_based : bool
        Whether ids begin at 0 instead of 1. If not, an id 0 is an error.

    Yields
    ------
    X, y[, query]
        As `read_svmlight` returns them, for the next rows.

    Examples
    --------
    >>> from skimlearn import iter_svmlight
    >>> text = b"+1 1:0.5\n-1 2:1\n+1 1:3\n"
    >>> [X.toarray().tolist() for X, y in iter_svmlight(text, rows=2, n_features=2)]
    [[[0.5, 0.0], [0.0, 1.0]], [[3.0, 0.0]]]
    """
    if rows is not None and (
        isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1
    ):
        raise ValueError(f"rows={rows!r} must be a whole number, 1 or more, or None")
    if zero_based not in (True, False):
        raise ValueError(
            f"zero_based={zero_based!r} must be True or False: where ids begin cannot be seen "
            "before the end"
        )
    rules = _rules(n_features, zero_based, multilabel, query_id, finite)
    pile = Pile(_as_dtype(dtype), multilabel, query_id, int(rules.least))
    count = None if rows is None else int(rows)
    return _blocks(path, rules, pile, count, n_features, worker_count(n_jobs), pile.take)


def iter_triples(
    path: Any, *, rows: int | None, zero_based: bool, n_jobs: int
) -> Iterator[tuple[Any, ...]]:
    """The same without scipy: X are `Triple`."""
    rules = _rules(None, zero_based, False, False, True)
    pile = Pile(np.dtype(np.float64), False, False, int(rules.least))
    return _blocks(path, rules, pile, rows, None, worker_count(n_jobs), pile.take_triple)


def _blocks(
    path: Any,
    rules: Rules,
    pile: Pile,
    rows: int | None,
    n_features: int | None,
    workers: int,
    take: Callable[[int, int], tuple[Any, ...]],
) -> Iterator[tuple[Any, ...]]:
    first, width = int(rules.least), n_features or 0
    with closing(_sound_parts(open_source(path), rules, pile.dtype, workers)) as parts:
        for _, part in parts:
            if n_features is None:
                width = max(width, part.most + 1 - first)
            here, count = 0, len(part.starts) - 1
            if rows is None:
                if count:
                    pile.add(part)
                    yield take(first, width)
                continue
            while count - here >= rows - pile.rows:
                stop = here + rows - pile.rows
                pile.add(some_rows(part, here, stop))
                yield take(first, width)
                here = stop
            if here < count:
                pile.add(some_rows(part, here, count))
    if pile.rows:
        yield take(first, width)


def _sound_parts(
    source: Source, rules: Rules, dtype: np.dtype[Any], workers: int
) -> Generator[tuple[int, Part], None, None]:
    """Parts, each with the number of lines before it; an error at the first fault."""
    before = 0
    try:
        parts = iter(Parts(source, rules, dtype=dtype, workers=workers))
        with closing(parts):
            for part in parts:
                if part.fault is not None:
                    raise as_error(part.fault, source.name, before)
                yield before, part
                before += part.lines
    finally:
        source.close()


def _rules(
    n_features: int | None, zero_based: Any, multilabel: bool, query_id: bool, finite: bool
) -> Rules:
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based={zero_based!r} must be True, False or 'auto'")
    if n_features is not None and (
        isinstance(n_features, bool)
        or not isinstance(n_features, int | np.integer)
        or not 1 <= n_features <= LARGEST
    ):
        raise ValueError(
            f"n_features={n_features!r} must be a whole number, 1 or more, or None to take it from "
            "the file"
        )
    largest = LARGEST - 1 if n_features is None else int(n_features) - 1
    if zero_based == "auto" and n_features is not None:
        largest += 1  # the last column, if ids begin at 1; seen at the end
    least = int(zero_based is False)
    return Rules(
        np.uint64(least), np.uint64(largest + least), bool(finite), bool(multilabel), bool(query_id)
    )


def _as_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    found = np.dtype(dtype)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype={dtype!r} must be float32 or float64")
    return found
