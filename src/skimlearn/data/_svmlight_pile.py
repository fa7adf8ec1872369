"""Parts of a matrix put together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._svmlight_parts import NARROW, Part
from skimlearn.data.triple import Triple

__all__ = ["Pile", "some_rows"]


def some_rows(part: Part, first: int, stop: int) -> Part:
    """Some rows of a part, as views."""
    entries = slice(part.starts[first], part.starts[stop])
    labels = slice(part.label_starts[first], part.label_starts[stop])
    return part._replace(
        labels=part.labels[labels],
        label_starts=part.label_starts[first : stop + 1] - part.label_starts[first],
        queries=part.queries[first:stop],
        starts=part.starts[first : stop + 1] - part.starts[first],
        columns=part.columns[entries],
        values=part.values[entries],
    )


class Pile:
    """Parts that will be one matrix.

    A part is copied to its place at once, and can be forgotten: its memory is that of a later one.
    Memory that is touched for the first time costs more than to parse what goes there.

    Parameters
    ----------
    dtype : dtype
        Of the values.
    multilabel, query_id : bool
        Whether rows have any number of labels, and queries.
    first : int
        The id of the first column, as far as it is known; else 0.
    """

    def __init__(
        self, dtype: np.dtype[Any], multilabel: bool, query_id: bool, first: int = 0
    ) -> None:
        self.dtype, self.multilabel, self.query_id = dtype, multilabel, query_id
        self.first = first
        self.rows = 0
        self.labels, self.values = _Growing(np.float64), _Growing(dtype)
        self.label_starts, self.starts = _Growing(np.int64), _Growing(np.int64)
        self.queries, self.columns = _Growing(np.int64), _Growing(np.int32)

    def add(self, part: Part, growth: float = 2.0) -> None:
        """Put a part behind the others.

        ``growth`` is how many times as long the pile will become, as far as is known.
        """
        self.rows += len(part.starts) - 1
        self.starts.add(part.starts[1:], growth, self.values.length)
        self.label_starts.add(part.label_starts[1:], growth, self.labels.length)
        self.labels.add(part.labels, growth)
        self.queries.add(part.queries, growth)
        self.columns.add(part.columns, growth, -self.first)
        self.values.add(part.values, growth)

    def take(self, first: int, width: int) -> tuple[Any, ...]:
        """The matrix, its labels and queries; the pile is empty then."""
        from scipy.sparse import csr_matrix

        triple, *rest = self.take_triple(first, width)
        X = csr_matrix((triple.data, triple.indices, triple.indptr), shape=triple.shape)
        X.has_sorted_indices = X.has_canonical_format = True
        return X, *rest

    def take_triple(self, first: int, width: int) -> tuple[Any, ...]:
        """The same without scipy."""
        narrow = max(self.values.length, width) <= NARROW
        index = np.int32 if narrow else np.int64
        columns: NDArray[Any] = self.columns.take().astype(index, copy=False)
        if first != self.first:
            columns -= index(first - self.first)
        starts = _from_zero(self.starts.take()).astype(index, copy=False)
        X = Triple(self.values.take(), columns, starts, (self.rows, width))
        y: Any = self.labels.take()
        ends = self.label_starts.take()
        if self.multilabel:
            flat = y.tolist()
            y = [tuple(sorted(flat[a:b])) for a, b in pairwise(_from_zero(ends).tolist())]
        queries = self.queries.take()
        self.rows = 0
        return (X, y, queries) if self.query_id else (X, y)


class _Growing:
    """An array that pieces are put to the end of."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.room: NDArray[Any] = np.empty(0, self.dtype)
        self.length = 0

    def add(self, piece: NDArray[Any], growth: float, plus: int = 0) -> None:
        """Put numbers to the end, each with something added."""
        begin, self.length = self.length, self.length + len(piece)
        dtype = np.promote_types(self.room.dtype, piece.dtype)
        if self.length > len(self.room) or dtype != self.room.dtype:
            longer = np.empty(int(growth * self.length), dtype)
            longer[:begin] = self.room[:begin]
            self.room = longer
        end = self.room[begin : self.length]
        if plus:
            np.add(piece, plus, out=end)
        else:
            end[:] = piece

    def take(self) -> NDArray[Any]:
        """The numbers; none are left, but room for as many others."""
        whole, length = self.room, self.length
        whole.resize(length, refcheck=False)  # nobody else has it; the rest was never touched
        self.room, self.length = np.empty(length + length // 16, self.dtype), 0
        return whole


def _from_zero(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), ends])
