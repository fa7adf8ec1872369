"""Rows that pass by in blocks: files, arrays, generators, Arrow batches, behind one interface.

A block is a matrix (array, CSR, frame, `Dense` or `Csr` rows), a pair (X, y), a triple (X, y,
weights), or an Arrow record batch. A source of blocks is

=====================================  ==========================================================
a path, or bytes                       svmlight text, .npy, .npz; read anew in each pass
a `Store`, a matrix, (X, y), (X, y, w)  cut into pieces; any number of passes
a list of blocks, any other iterable   one pass for each ``iter(source)``
a function without parameters          called for each pass; returns an iterable of blocks
something with ``to_batches``          an Arrow table or data set: called for each pass
an iterator, a generator               one pass, and no more
=====================================  ==========================================================

Blocks are checked as they come by, as `as_rows` does it; those without rows are left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from typing import Any

import numpy as np

from skimlearn.data._store_sources import blocks_of, is_table_file
from skimlearn.data._stream_blocks import (
    Block,
    checked,
    is_batch,
    is_frame,
    is_matrix,
    is_table,
    names_of,
    split,
)
from skimlearn.data.inspection import Indexed
from skimlearn.data.svmlight import iter_svmlight

__all__ = ["Block", "RowStream", "as_stream"]

MOST = 2**20  # entries of a piece of larger data
AGAIN = "a list of blocks, a file, a Store, or a function that makes a new iterator"


class RowStream:
    """A source of blocks of rows that can be passed over once, or again and again.

    Whatever takes a stream takes a plain source too; this class is there for its options.

    Parameters
    ----------
    source : path, bytes, array, sparse matrix, Store, tuple, iterable, iterator or callable
        Where the blocks come from; see `skimlearn.data.stream`.
    n_features : int or None
        The number of columns; None: that of the first block. Sparse blocks may have fewer.
    zero_based : bool
        Whether the ids of svmlight text begin at 0.
    target, weight : str or None
        The columns of Arrow batches, or of frames that come without y, that hold the labels and
        the weights of the rows.

    Attributes
    ----------
    again : bool
        Whether more than one pass is possible.
    passes : int
        How many were begun.

    Examples
    --------
    >>> from skimlearn import RowStream
    >>> blocks = [([[1.0, 0.0], [0.0, 2.0]], [1, -1]), ([[3.0, 1.0]], [1])]
    >>> stream = RowStream(blocks)
    >>> [block.rows.shape for block in stream], stream.again
    ([(2, 2), (1, 2)], True)
    >>> RowStream(iter(blocks)).again
    False
    """

    def __init__(
        self,
        source: Any,
        *,
        n_features: int | None = None,
        zero_based: bool = False,
        target: str | None = None,
        weight: str | None = None,
    ) -> None:
        if n_features is not None and (
            isinstance(n_features, bool)
            or not isinstance(n_features, int | np.integer)
            or n_features < 1
        ):
            raise ValueError(
                f"n_features={n_features!r} must be a whole number, 1 or more, or None to take it "
                "from the first block"
            )
        self.n_features, self.zero_based = n_features, bool(zero_based)
        self.target, self.weight = target, weight
        self.again, self._begin = _opened(source, n_features, self.zero_based)
        self.passes = 0
        self.rows: int | None = None  # of a whole pass, once there was one

    def __iter__(self) -> Iterator[Block]:
        return self.blocks()

    def require_again(self, who: str) -> None:
        """Refuse a source that passes by once, before anything is read."""
        if not self.again:
            raise ValueError(
                f"{who} passes over the rows more than once, but the source is an iterator, which "
                f"passes by once: give {AGAIN}"
            )

    def blocks(self, skip: int = 0) -> Generator[Block, None, None]:
        """The blocks of a new pass, checked; the first ones may be passed over unchecked."""
        if self.passes and not self.again:
            raise ValueError(
                "the source is an iterator, which passes by once, and this was done: for another "
                f"pass, give {AGAIN}"
            )
        self.passes += 1
        return self._pass(skip)

    def _pass(self, skip: int) -> Generator[Block, None, None]:
        width, rows = self.n_features, 0
        names: Any = None
        begun = self._begin()
        with closing(begun) if self.again and isinstance(begun, Generator) else nullcontext():
            for k, given in enumerate(begun):
                block = split(given, self.target, self.weight, k)
                if k < skip:
                    continue
                block = checked(block, width, k)
                n, d = block.rows.shape
                if n == 0:
                    continue
                if rows == 0:
                    width, names = d, block.names
                elif block.names is not None and not np.array_equal(block.names, names):
                    raise ValueError(
                        f"block {k} has columns of other names than the first: {list(block.names)}"
                    )
                rows += n
                yield block
        if skip == 0:
            self._compare(rows)

    def _compare(self, rows: int) -> None:
        """Notice a source that gives something else than before."""
        if rows == 0 and not self.rows:
            raise ValueError(
                "the source has no rows: at least one is needed"
                + ("" if self.again else "; it is an iterator, which may have been used up before")
            )
        if self.rows not in (None, rows):
            raise ValueError(
                f"pass {self.passes} over the source gave {rows} rows, the one before "
                f"{self.rows}: each must give the same rows; give {AGAIN}"
            )
        self.rows = rows


def as_stream(source: Any) -> RowStream:
    """The source itself if it is a stream, else a stream of it."""
    return source if isinstance(source, RowStream) else RowStream(source)


# ------------------------------------------------------------------------------------------ sources


def _opened(
    source: Any, n_features: int | None, zero_based: bool
) -> tuple[bool, Callable[[], Iterable[Any]]]:
    """Whether there can be several passes, and how to begin one."""

    def pieces(X: Any, y: Any = None) -> Any:
        y = X.y if isinstance(X, Indexed) and y is None else y
        return blocks_of(X, y, MOST, n_features, zero_based, None)

    if isinstance(source, bytes) or hasattr(source, "readinto"):
        options: Any = {"rows": None, "n_features": n_features, "zero_based": zero_based}
        return isinstance(source, bytes), lambda: iter_svmlight(source, **options)
    if isinstance(source, str | os.PathLike) and is_table_file(source):
        raise ValueError(
            f"source={str(source)!r} is a table: give skimlearn.Table({str(source)!r}, target=...)"
        )
    if isinstance(source, str | os.PathLike | Indexed):
        return True, lambda: (tuple(block) for block in pieces(source))
    if hasattr(source, "to_batches"):
        return True, source.to_batches
    if is_batch(source) or is_frame(source):
        return True, lambda: [source]
    if isinstance(source, tuple) or is_matrix(source) or is_table(source):
        return True, lambda: _cut(source, pieces)
    if callable(source):
        return True, lambda: _made(source)
    if not isinstance(source, Iterable):
        raise TypeError(
            f"source={source!r} must be a path, a matrix, a pair (X, y), an iterable of blocks or "
            f"a function that makes one, not {type(source).__name__}"
        )
    return not isinstance(source, Iterator), lambda: source


def _made(source: Callable[[], Any]) -> Iterable[Any]:
    made = source()
    if not isinstance(made, Iterable):
        raise TypeError(
            f"the source {source!r} must return an iterable of blocks, not {type(made).__name__}"
        )
    return made


def _cut(source: Any, pieces: Callable[..., Any]) -> Iterator[Any]:
    """Data that are all at hand, in pieces; frames keep the names of their columns."""
    X, y, weights = (*source, None, None)[:3] if isinstance(source, tuple) else (source, None, None)
    names, done = names_of(X), 0
    for block in pieces(X if hasattr(X, "shape") else np.asarray(X), None):
        stop = done + block.rows.shape[0]
        some = slice(done, stop)
        yield Block(block.rows, _part(y, some), _part(weights, some), names)
        done = stop
    for name, values in (("y", y), ("the weights", weights)):
        if values is not None and len(values) != done:
            raise ValueError(f"{name} of the source: {len(values)} for {done} rows")


def _part(values: Any, some: slice) -> Any:
    return None if values is None else np.asarray(values)[some]
