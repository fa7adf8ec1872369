"""What a sublinear algorithm reads: a matrix by rows and columns, or an oracle; and all of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import Matrix, as_matrix
from skimlearn.data.disk import ask_for
from skimlearn.data.oracle import Oracle
from skimlearn.data.rows import combine, lengths, norms, responses, take

__all__ = ["Source", "as_source", "combination", "longest_row", "norm", "not_finite", "products"]

Vector = NDArray[np.float64]
Source = Matrix | Oracle


def as_source(X: Any) -> Source:
    """What a sublinear algorithm reads: a matrix by rows and columns, or an oracle."""
    source = X if isinstance(X, Oracle) else as_matrix(X)
    if 0 in source.shape:
        raise ValueError(f"X has shape {source.shape}: at least one row and one column are needed")
    return source


def products(source: Source, x: Vector, count: Callable[[int], None]) -> Vector:
    """A x, exactly; ``count`` is told what it reads, even if a function of the user fails."""
    out = np.zeros(source.shape[0])
    if isinstance(source, Matrix):
        responses(source.rows, x, out)
        count(source.entries)
        if not np.isfinite(out).all():
            raise not_finite()
        return out
    before = source.reads
    try:
        for j in np.flatnonzero(x).tolist():
            out += x[j] * source.column(j)
    finally:
        count(source.reads - before)
    return out


def combination(source: Source, v: Vector, count: Callable[[int], None]) -> Vector:
    """A'v, exactly; counted in the same way."""
    out = np.zeros(source.shape[1])
    if isinstance(source, Matrix):
        combine(source.rows, v, out)
        count(int(lengths(source.rows)[v != 0.0].sum()))
        return out
    before = source.reads
    try:
        for j in range(len(out)):  # by columns: those that `products` asked for are at hand
            out[j] = source.column(j) @ v
    finally:
        count(source.reads - before)
    return out


def not_finite() -> ValueError:
    """What is raised if entries that were not checked before turn out to be no numbers."""
    return ValueError(
        "the rows and columns read so far hold nan or infinite entries, or such large ones that "
        "sums overflow: impute, drop or scale them first"
    )


def longest_row(
    source: Source, exponent: float, some: NDArray[np.int64] | None = None
) -> tuple[float, int]:
    """The greatest length of all rows, or of some, and how many entries it took to know it."""
    if isinstance(source, Oracle):
        if source.rows_norm is not None:
            return float(source.rows_norm.max()), 0
        before = source.reads
        chosen = range(source.shape[0]) if some is None else some.tolist()
        length = max(norm(source.row(i), exponent) for i in chosen)
        return length, source.reads - before
    if some is None:
        length, read = float(norms(source.rows, exponent).max()), source.entries
    else:
        ask_for(source.ahead[0], some)
        read = int(lengths(source.rows)[some].sum())
        length = float(norms(take(source.rows, some), exponent).max())
    if not math.isfinite(length):
        raise not_finite()
    return length, read


def norm(v: Vector, exponent: float) -> float:
    """The norm; squares of tiny numbers, which would be lost, are not taken."""
    largest = float(np.abs(v).max())
    return largest * float(np.linalg.norm(v / largest, exponent)) if largest > 0.0 else 0.0
