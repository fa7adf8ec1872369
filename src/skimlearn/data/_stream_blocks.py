"""One block of a stream: its rows, labels and weights, taken apart and checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._faults import LONGEST
from skimlearn.data.inspection import as_rows, too_long
from skimlearn.data.rows import Csr, Dense, Rows, norms
from skimlearn.data.triple import is_sparse

__all__ = ["Block", "checked", "is_batch", "is_frame", "is_matrix", "is_table", "names_of", "split"]


class Block(NamedTuple):
    """Some rows, checked, with what was given for them; labels and weights are not checked yet."""

    rows: Rows
    y: Any = None
    weights: Any = None
    names: NDArray[Any] | None = None
    number: int = 0  # of the block in its pass, those without rows included


def is_matrix(value: Any) -> bool:
    return (
        is_sparse(value) or isinstance(value, Dense | Csr) or len(getattr(value, "shape", ())) == 2
    )


def is_table(value: Any) -> bool:
    """Whether a list is a matrix, row by row, and not a list of blocks."""
    return (
        isinstance(value, list)
        and len(value) > 0
        and isinstance(value[0], list)
        and all(np.isscalar(entry) for entry in value[0])
    )


def is_frame(value: Any) -> bool:
    """Whether a value has columns with names, and is not an Arrow batch."""
    return hasattr(value, "columns") and not isinstance(value, Csr)


def is_batch(value: Any) -> bool:
    return all(hasattr(value, name) for name in ("schema", "num_rows", "column"))


def names_of(X: Any) -> NDArray[Any] | None:
    """The names of the columns of a frame, if all are texts."""
    columns = list(X.columns) if is_frame(X) else [None]
    return np.array(columns, object) if all(isinstance(c, str) for c in columns) else None


def split(given: Any, target: str | None, weight: str | None, k: int) -> Block:
    """The parts of a block, as they were given."""
    if isinstance(given, Block):
        return given
    y = weights = None
    if isinstance(given, tuple) and not isinstance(given, Dense | Csr):
        if len(given) not in (2, 3):
            raise TypeError(
                f"block {k} is a tuple of {len(given)}: it must be (X, y) or (X, y, weights)"
            )
        given, y, weights = (*given, None)[:3]
    if not is_batch(given) and not is_frame(given):
        if target is not None or weight is not None:
            raise ValueError(
                f"block {k} is a {type(given).__name__}, whose columns have no names: target and "
                "weight are for Arrow batches and frames; give (X, y) or (X, y, weights)"
            )
        return Block(given, y, weights)
    columns = list(given.schema.names if is_batch(given) else given.columns)
    for name in (target, weight):
        if name is not None and name not in columns:
            raise ValueError(f"block {k} has no column {name!r}, but {columns}")
    kept = [name for name in columns if name not in (target, weight)]
    if is_batch(given):
        parts = [_column(given, name) for name in kept]
        X: Any = np.column_stack(parts) if parts else np.empty((given.num_rows, 0))
    else:
        X = given[kept] if len(kept) < len(columns) else given
    names = np.array(kept, object) if all(isinstance(name, str) for name in kept) else None
    return Block(
        X,
        y if target is None else _column(given, target),
        weights if weight is None else _column(given, weight),
        names,
    )


def _column(frame: Any, name: str) -> NDArray[Any]:
    if is_batch(frame):
        return np.asarray(frame.column(name).to_numpy(zero_copy_only=False))
    return np.asarray(frame[name])


def checked(block: Block, width: int | None, k: int) -> Block:
    """A block whose rows are checked and as wide as the others; an error names the block."""
    try:
        rows = as_rows(block.rows, bounded=True)
        if rows is block.rows and norms(rows).max(initial=0.0) > LONGEST:  # checked, but for that
            raise too_long(int(np.argmax(norms(rows))))
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"block {k}: {error}") from error
    n, d = rows.shape
    if isinstance(rows, Csr) and width is not None and d < width:
        rows, d = rows._replace(width=width), width
    if d == 0 and n > 0:
        raise ValueError(f"block {k} has no columns: at least one is needed")
    if width is not None and d != width and n > 0:
        raise ValueError(
            f"block {k} has {d} columns, but {width} are expected: give all blocks the same "
            "number, or sparse blocks a RowStream with n_features, the largest"
        )
    for name, values in (("y", block.y), ("weights", block.weights)):
        if values is not None and np.shape(values)[:1] != (n,):
            raise ValueError(
                f"block {k}: {name} has shape {np.shape(values)}, but there are {n} rows"
            )
    return Block(rows, block.y, block.weights, block.names, k)
