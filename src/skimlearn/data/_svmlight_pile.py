"""Parts of a matrix put together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
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
    """Parts that will be one matrix."""

    def __init__(
        self, dtype: np.dtype[Any], multilabel: bool, query_id: bool, workers: int
    ) -> None:
        self.dtype, self.multilabel, self.query_id = dtype, multilabel, query_id
        self.workers = workers
        self._clear()

    def _clear(self) -> None:
        self.rows = 0
        self.labels: list[NDArray[Any]] = [np.empty(0)]
        self.label_starts: list[NDArray[Any]] = []
        self.queries: list[NDArray[Any]] = [np.empty(0, np.int64)]
        self.starts: list[NDArray[Any]] = []
        self.columns: list[NDArray[Any]] = [np.empty(0, np.int32)]
        self.values: list[NDArray[Any]] = [np.empty(0, self.dtype)]

    def add(self, part: Part) -> None:
        self.rows += len(part.starts) - 1
        self.labels.append(part.labels)
        self.label_starts.append(part.label_starts)
        self.queries.append(part.queries)
        self.starts.append(part.starts)
        self.columns.append(part.columns)
        self.values.append(part.values)

    def take(self, first: int, width: int) -> tuple[Any, ...]:
        """The matrix, its labels and queries; the pile is empty then."""
        from scipy.sparse import csr_matrix

        triple, *rest = self.take_triple(first, width)
        X = csr_matrix((triple.data, triple.indices, triple.indptr), shape=triple.shape)
        X.has_sorted_indices = X.has_canonical_format = True
        return X, *rest

    def take_triple(self, first: int, width: int) -> tuple[Any, ...]:
        """The same without scipy."""
        starts = _joined_starts(self.starts)
        narrow = max(int(starts[-1]), width) <= NARROW
        index = np.int32 if narrow else np.int64
        if self.workers > 1:
            with ThreadPoolExecutor(1) as pool:
                job = pool.submit(_joined_columns, self.columns, first, index)
                values = _joined(self.values)
                columns = job.result()
        else:
            values = _joined(self.values)
            columns = _joined_columns(self.columns, first, index)
        X = Triple(values, columns, starts.astype(index, copy=False), (self.rows, width))
        y: Any = _joined(self.labels)
        if self.multilabel:
            flat, cuts = y.tolist(), _joined_starts(self.label_starts).tolist()
            y = [tuple(sorted(flat[a:b])) for a, b in pairwise(cuts)]
        queries = _joined(self.queries)
        self._clear()
        return (X, y, queries) if self.query_id else (X, y)


def _joined(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """All pieces as one; they are forgotten, so that little is in memory twice."""
    whole = np.concatenate(pieces)
    pieces.clear()
    return whole


def _joined_columns(pieces: list[NDArray[Any]], first: int, index: Any) -> NDArray[Any]:
    columns = _joined(pieces).astype(index, copy=False)
    if first:
        columns -= first
    return columns


def _joined_starts(pieces: list[NDArray[Any]]) -> NDArray[np.int64]:
    """Offsets of parts that follow each other, each beginning at 0, as those of the whole."""
    ends = np.cumsum([0, *(piece[-1] for piece in pieces)])
    shifted = (piece[1:] + end for piece, end in zip(pieces, ends, strict=False))
    return np.concatenate([np.zeros(1, np.int64), *shifted])
