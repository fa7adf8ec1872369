"""A partition of the data on its worker, and the problem that it is a part of.

The problem of all rows is  alpha r(w) + bias term + (1/n) sum m_i loss_i,  m_i of mean 1. A piece
has n_k of the n rows, so its own `Problem` with alpha n / n_k in the place of alpha has the same
dual variables: a row adds m_i a_i x_i / (alpha n) to theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.inspection import measured
from skimlearn.data.rows import Rows, between, frozen, stored
from skimlearn.data.store import open_store
from skimlearn.estimators._checks import check_classes, check_numbers
from skimlearn.formulas.losses import Loss
from skimlearn.formulas.regularizers import Regularizer
from skimlearn.problem import Problem

__all__ = ["Facts", "Former", "Piece", "Spec", "as_targets", "facts_of", "piece_of", "store_piece"]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Spec:
    """A problem without its rows."""

    loss: Loss
    regularizer: Regularizer
    alpha: float
    bias: str
    n: int  # rows of all pieces
    d: int
    mean_weight: float  # of all rows, after the factors of the classes
    bias_square: float  # the square of the constant feature that carries the bias
    positive: Any = None  # the class against the others; None: targets are numbers
    column: int | None = None  # of a matrix of labels
    constant: float | None = None  # the target, if all rows have the same one
    rounding: float = 0.0  # what the rounding of predictions costs, of a regression
    factors: tuple[tuple[Any, float], ...] = ()  # weights of the classes


class Former(NamedTuple):
    """The answer of a former fit, at which another begins."""

    w: Vector
    b: float
    parts: list[Vector] | None  # its dual variables, cut as the partitions are


@dataclass(frozen=True)
class Piece:
    """Checked rows with targets and weights.

    Rows of a store stay in its files: what is sent to another worker is where they are.
    """

    number: int
    y: NDArray[Any] | None
    sample_weight: Vector | None
    squares: Vector
    rows: Rows
    names: tuple[str, ...] | None = None
    place: tuple[str, int, int] | None = None  # a store, first and last row

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.rows.shape[0]

    def problem(self, spec: Spec) -> Problem:
        """The part of the problem that is here; see above for its alpha."""
        assert self.y is not None
        y = self.y if spec.column is None else self.y[:, spec.column]
        weights = np.ones(self.n) if self.sample_weight is None else self.sample_weight.copy()
        for label, factor in spec.factors:
            weights[y == label] *= factor
        weights /= spec.mean_weight
        if spec.positive is None:
            targets = np.ascontiguousarray(y, dtype=np.float64)
        else:
            targets = np.where(y == spec.positive, 1.0, -1.0)
        return Problem(
            rows=self.rows, y=targets, weights=weights, loss=spec.loss,
            regularizer=spec.regularizer, alpha=spec.alpha * spec.n / self.n, bias=spec.bias,
            squares=self.squares,
        )  # fmt: skip

    def __sizeof__(self) -> int:
        """What it costs to move, in Dask's eyes: work goes to the rows, not the reverse."""
        arrays = [self.squares, *(part for part in self.rows if isinstance(part, np.ndarray))]
        return 1000 + sum(array.nbytes for array in arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        others = (self.number, self.y, self.sample_weight, self.squares)
        if self.place is not None:
            return _reopened, (*others, self.names, self.place)
        return _rebuilt, (*others, type(self.rows), tuple(self.rows), self.names)


def _rebuilt(
    number: int, y: Any, weights: Any, squares: Any, kind: Any, parts: Any, names: Any
) -> Piece:
    arrays = [frozen(part) if isinstance(part, np.ndarray) else part for part in parts]
    return Piece(number, y, weights, squares, kind(*arrays), names)


def _reopened(number: int, y: Any, weights: Any, squares: Any, names: Any, place: Any) -> Piece:
    return Piece(number, y, weights, squares, _store_rows(*place)[0], names, place)


def piece_of(
    number: int, X: Any, y: Any, sample_weight: Any, names: Any = None, labels: bool | None = None
) -> Piece:
    """Check a block of rows; errors say which one it is. ``labels`` None: there are no targets."""
    if y is None and isinstance(X, tuple):
        X, y = X
    try:
        if names is None and hasattr(X, "columns"):
            names = tuple(map(str, X.columns))
        matrix = X.to_numpy() if hasattr(X, "to_numpy") else X
        rows, squares = measured(matrix)
        y = _targets(y, rows.shape[0], labels)
        weights = _weights(sample_weight, rows.shape[0])
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from error
    except TypeError as error:
        raise TypeError(f"partition {number}: {error}") from error
    return Piece(number, y, weights, squares, rows, names)


def store_piece(
    number: int, path: str, first: int, stop: int | None, labels: bool | None = None, y: Any = None
) -> Piece:
    """Rows of a store, where they are."""
    store = open_store(path)
    stop = store.shape[0] if stop is None else stop
    rows, squares = _store_rows(path, first, stop)
    if y is None and labels is not None:
        if store.y is None:
            raise ValueError(f"the store {path} has no labels")
        y = store.y[first:stop]
    names = None if store.names is None else tuple(map(str, store.names))
    targets = _targets(y, stop - first, labels)
    return Piece(number, targets, None, squares, rows, names, (str(path), first, stop))


def _store_rows(path: str, first: int, stop: int) -> tuple[Rows, Vector]:
    rows, squares = measured(open_store(path))
    return between(rows, first, stop), squares[first:stop]


def _targets(y: Any, n: int, labels: bool | None) -> NDArray[Any] | None:
    if labels is None:
        return None
    if y is None:
        raise ValueError("there are no targets: give y, or blocks that are pairs (X, y)")
    y = as_targets(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if labels and y.ndim == 2 and len(y) == n:
        return _matrix_of_labels(y)
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape}, but X has {n} rows: y must have shape ({n},)")
    if labels:
        return np.asarray(check_classes(y))
    check_numbers(y)
    return y.astype(np.float64)


def as_targets(y: Any) -> NDArray[Any]:
    """Targets as an array: those of a frame, a sparse matrix of labels, or an array."""
    if hasattr(y, "toarray"):
        return np.asarray(y.toarray())
    return np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)


def _matrix_of_labels(y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.dtype.kind not in "biuf" or not ((y == 0) | (y == 1)).all():
        raise ValueError(
            f"y has {y.shape[1]} columns, so it must be a matrix of labels, of zeros and ones: "
            "give one class for each row, or 1 where a row has a label"
        )
    return np.asarray(y, dtype=np.bool_)


def _weights(sample_weight: Any, n: int) -> Vector | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, but X has {n} rows")
    if not (np.isfinite(weights) & (weights >= 0.0)).all():
        raise ValueError("sample_weight must hold finite numbers, 0 or more")
    return weights


@dataclass(frozen=True)
class Facts:
    """What the client must know of a piece."""

    n: int
    d: int
    entries: int
    names: tuple[str, ...] | None
    weight: float  # of all rows
    square: float  # the weighted sum of the squared lengths
    classes: dict[Any, tuple[int, float]]  # rows and weight of each
    fractions: bool  # whether targets are numbers with fractions
    labels: tuple[tuple[int, float], ...] | None  # of a matrix: rows and weight that have each
    targets: tuple[float, float, float] | None  # numbers: least, greatest, weighted absolute sum


def facts_of(piece: Piece, labels: bool = False) -> Facts:
    """Look at a piece."""
    n, d = piece.rows.shape
    weights = np.ones(n) if piece.sample_weight is None else piece.sample_weight
    classes: dict[Any, tuple[int, float]] = {}
    fractions, columns, targets = False, None, None
    if labels and piece.y is not None and piece.y.ndim == 2:
        counted = zip(piece.y.sum(axis=0).tolist(), (weights @ piece.y).tolist(), strict=True)
        columns = tuple((int(count), float(weight)) for count, weight in counted)
    elif labels and piece.y is not None:
        fractions = piece.y.dtype.kind == "f" and bool((piece.y != np.round(piece.y)).any())
        if not fractions:
            found, codes, counts = np.unique(piece.y, return_inverse=True, return_counts=True)
            sums = np.bincount(codes, weights=weights, minlength=len(found))
            classes = {
                label: (int(count), float(weight))
                for label, count, weight in zip(found.tolist(), counts, sums, strict=True)
            }
    elif piece.y is not None:
        y = piece.y
        targets = (float(y.min()), float(y.max()), float(weights @ np.abs(y)))
    return Facts(
        n=n, d=d, entries=stored(piece.rows), names=piece.names,
        weight=float(weights.sum()), square=float(weights @ piece.squares), classes=classes,
        fractions=fractions, labels=columns, targets=targets,
    )  # fmt: skip
