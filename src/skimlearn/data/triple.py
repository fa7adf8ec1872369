"""Matrices as callers have them, arrays or sparse ones, also where scipy is not to be loaded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.rows import Csr, take

__all__ = ["Triple", "is_sparse", "one_matrix"]


@dataclass(frozen=True)
class Triple:
    """A CSR matrix as scipy has it, unchecked, for those who can do without scipy.

    Its import takes longer than to read and learn from most files.
    """

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]

    @property
    def ndim(self) -> int:
        """Two: rows and columns."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the values."""
        return self.data.dtype

    def tocsr(self) -> Triple:
        """Itself."""
        return self

    def of_width(self, width: int) -> Triple:
        """The same with so many columns: filled up with zeros, or without what is beyond them."""
        inside = self.indices < width
        if inside.all():
            return replace(self, shape=(self.shape[0], width))
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(inside)])
        kept = (self.data[inside], self.indices[inside], before[self.indptr])
        return Triple(*kept, (self.shape[0], width))

    def __getitem__(self, chosen: NDArray[Any]) -> Triple:
        """Some rows."""
        n, d = self.shape
        whole = Csr(self.data, self.indices, self.indptr.astype(np.uint64), d)
        some = take(whole, np.arange(n)[chosen])
        assert isinstance(some, Csr)
        starts = some.starts.view(np.int64)
        return Triple(some.values, some.columns, starts, (len(starts) - 1, d))


def is_sparse(X: Any) -> bool:
    """Whether a matrix is one of scipy's sparse ones, or a `Triple`."""
    sparse = sys.modules.get("scipy.sparse")  # where it was never loaded, nothing is of it
    return isinstance(X, Triple) or (sparse is not None and bool(sparse.issparse(X)))


def one_matrix(blocks: Sequence[Any]) -> Any:
    """Blocks of rows, arrays or matrices of scipy, one below the other: CSR if one is sparse."""
    if not any(is_sparse(block) for block in blocks):
        return np.concatenate(blocks)
    from scipy.sparse import vstack

    return vstack(blocks, format="csr")
