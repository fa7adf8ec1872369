"""The learning problem that the solvers for regularised losses minimise.

    P(w, b) = alpha * r(w) + bias term + (1 / n) sum over i of m_i loss(<w, x_i> + b, y_i)

with weights m_i of mean 1 and the bias term 0 (``bias="free"``), alpha b^2 / 2
(``"regularized"``), or no b at all (``"none"``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data.inspection import ends, measured
from skimlearn.data.rows import Rows
from skimlearn.formulas import losses, regularizers
from skimlearn.formulas._loss import FAR
from skimlearn.formulas._trial import try_out
from skimlearn.formulas.losses import Loss
from skimlearn.formulas.regularizers import Regularizer

__all__ = ["BIASES", "Problem", "make_problem"]

BIASES = ("free", "regularized", "none")

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Problem:
    """Data and formulas, checked and ready for kernels."""

    rows: Rows
    y: Vector
    weights: Vector  # m_i, of mean 1
    loss: Loss
    regularizer: Regularizer
    alpha: float
    bias: str
    squares: Vector | None = None  # the squared lengths of the rows, if they are known

    def __post_init__(self) -> None:
        low, high, _ = ends(self.y)
        if max(-low, high) > FAR:
            i = int(np.argmax(np.abs(self.y)))
            raise ValueError(
                f"y[{i}]={self.y[i]:.3g} is beyond {FAR:.0e}, where predictions lose their "
                "digits: scale the targets, e.g. with TransformedTargetRegressor"
            )
        if not losses.is_ours(self.loss):
            try_out(self.loss, (low, high))

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.rows.shape[0]

    @property
    def d(self) -> int:
        """The number of columns."""
        return self.rows.shape[1]

    def with_alpha(self, alpha: float) -> Problem:
        """The same problem with another strength of the regularizer."""
        return replace(self, alpha=check_alpha(alpha))


def make_problem(
    X: Any,
    y: ArrayLike,
    *,
    loss: str | Loss,
    alpha: float,
    p: float = 2.0,
    radius: float | None = None,
    bias: str = "free",
    sample_weight: ArrayLike | None = None,
) -> Problem:
    """Check the data and the parameters and put them together.

    Parameters
    ----------
    X : array, sparse matrix or Store of shape (n, d)
        The rows.
    y : array of shape (n,)
        Labels -1 and +1, or numbers, as the loss wants them.
    loss : str or Loss
        A name or an instance.
    alpha : float
        Strength of the regularizer, positive.
    p : float
        Norm of the regularizer: 2, between 1 and 2, or 1 for the entropic one.
    radius : float or None
        Bound on the norm of the weights.
    bias : {"free", "regularized", "none"}
        The intercept.
    sample_weight : array of shape (n,) or None
        Non-negative weights of the rows.

    Examples
    --------
    >>> problem = make_problem([[1.0], [2.0]], [-1.0, 1.0], loss="hinge", alpha=0.1)
    >>> problem.n, problem.d, problem.loss
    (2, 1, Hinge())
    """
    rows, squares = measured(X)
    n, d = rows.shape
    if n == 0 or d == 0:
        raise ValueError(f"X has shape ({n}, {d}): at least one row and one column are needed")
    target = np.asarray(y, dtype=np.float64, order="C")
    if target.shape != (n,):
        raise ValueError(
            f"y has shape {target.shape}, but X has {n} rows: y must have shape ({n},)"
        )
    check_finite(target, "y")
    formula = losses.resolve(loss, labels=True)
    if formula.labels and not np.isin(target, (-1.0, 1.0)).all():
        found = np.unique(target)
        raise ValueError(
            f"loss={loss!r} compares a prediction with a label, -1 or +1, but y has the values "
            f"{', '.join(map(str, found[:5].tolist()))}{', ...' if len(found) > 5 else ''}: recode "
            "them, or use 'squared', 'absolute', 'huber' or 'epsilon_insensitive' for numbers"
        )
    if bias not in BIASES:
        raise ValueError(f"bias={bias!r} must be one of {BIASES}")
    return Problem(
        rows=rows,
        y=target,
        weights=check_weights(sample_weight, n),
        loss=formula,
        regularizer=regularizers.resolve(p, radius),
        alpha=check_alpha(alpha),
        bias=bias,
        squares=squares,
    )


def check_alpha(alpha: Any) -> float:
    """A positive finite number, or a clear error."""
    if (
        isinstance(alpha, bool)
        or not isinstance(alpha, (int, float, np.number))
        or not 0.0 < alpha < np.inf
    ):
        raise ValueError(
            f"alpha={alpha!r} must be a positive number: it is the strength of the regularizer, "
            "which makes the answer unique; 1e-4 is a common choice"
        )
    return float(alpha)


def check_finite(values: NDArray[Any], name: str) -> None:
    """Raise an error that says where the first nan or infinite entry is."""
    bad = ~np.isfinite(values)
    if bad.any():
        place = tuple(np.argwhere(bad)[0])
        kind = "NaN" if np.isnan(values[place]) else "infinity"
        raise ValueError(f"{name} contains {kind} (row {place[0]}): drop or impute such rows")


def check_weights(sample_weight: ArrayLike | None, n: int) -> Vector:
    """Weights of mean 1 from non-negative weights of the rows."""
    if sample_weight is None:
        return np.ones(n)
    if np.asarray(sample_weight).dtype.kind == "c":
        raise ValueError("sample_weight must hold real numbers: complex data is not supported")
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}") from error
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but X has {n} rows: one weight for each row"
        )
    check_finite(weights, "sample_weight")
    if (weights < 0.0).any():
        i = int(np.argmax(weights < 0.0))
        raise ValueError(f"sample_weight[{i}]={weights[i]} is negative: weights must be >= 0")
    largest = weights.max()
    if largest == 0.0:
        raise ValueError("sample_weight is zero for all rows: at least one must be positive")
    weights = weights / largest  # so that the sum can't overflow
    return np.asarray(weights / weights.mean())
