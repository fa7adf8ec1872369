r"""Problems that are quadratic programs over the simplex in disguise.

=======================  =====================  ==================================================
problem                  rows of A              the answer, given p and s2 = ||A'p||^2
=======================  =====================  ==================================================
`shortest_vector`        a_i                    x = A'p; ||x||^2 = s2
`hard_margin`            y_i x_i                direction x / ||x||, margin sqrt(s2)
... with a bias          (y_i x_i, y_i beta)    the last coordinate, times beta
`l2_svm`                 (y_i x_i, y_i,         w = sum p_i y_i x_i / s2, b = p.y / s2,
                         e_i / sqrt(C))         xi_i = p_i / (C s2), objective 1 / (2 s2)
=======================  =====================  ==================================================

The columns y and e_i / sqrt(C) are known: they are used exactly, and neither stored nor sampled.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), III-C.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data.columns import Matrix, as_matrix
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import Oracle
from skimlearn.data.rows import scaled
from skimlearn.result import Certificate, Result
from skimlearn.solvers._margin_bounds import as_labels
from skimlearn.solvers._source import products
from skimlearn.solvers.simplex_qp import simplex_qp

__all__ = ["hard_margin", "l2_svm", "shortest_vector"]

Vector = NDArray[np.float64]


def shortest_vector(A: Any, *, eps: float = 0.01, **options: Any) -> Result:
    """The point of the convex hull of the rows that is nearest to the origin.

    Parameters
    ----------
    A : array, sparse matrix, Matrix or Oracle of shape (n, d)
        The rows.
    eps : float, default=0.01
        How far the squared length may be from the least one.
    **options
        Further parameters of `simplex_qp`: ``mode``, ``max_reads``, ``random_state``, ...

    Returns
    -------
    Result
        ``p`` has the weights of the rows and ``x`` is close to the point; the certificate is one of
        the squared length.

    Examples
    --------
    >>> result = shortest_vector([[3.0, 1.0], [1.0, 3.0], [5.0, 5.0]], eps=1e-6, random_state=0)
    >>> result.x.round(3)
    array([2., 2.])
    """
    return simplex_qp(A, eps=eps, **options)


def hard_margin(
    X: Any, y: ArrayLike, *, eps: float = 0.01, beta: float = 0.0, **options: Any
) -> Result:
    """The direction that parts two classes by the greatest margin.

    It maximises the least ``y_i (<w, x_i> + beta v)`` over ``||(w, v)|| <= 1``, where beta = 0
    means that there is no bias ``beta v``. `max_margin` has the same aim; this way reads fewer rows
    where the margin is wide.

    Parameters
    ----------
    X : array, sparse matrix, Store, Matrix or Oracle of shape (n, d)
        The rows.
    y : array of shape (n,)
        Labels, +1 and -1.
    eps : float, default=0.01
        How far the *squared* margin may be from the greatest one.
    beta : float, default=0.0
        The weight of the bias.
    **options
        Further parameters of `simplex_qp`: ``mode``, ``max_reads``, ``random_state``, ...

    Returns
    -------
    Result
        ``x`` is the direction and ``bias`` the bias that goes with it; ``p`` are the weights of the
        rows. The certificate is one of the margin, which is at least 0.

    Examples
    --------
    >>> X, y = [[2.0, 1.0], [3.0, -1.0], [-2.0, 0.0]], [1, 1, -1]
    >>> result = hard_margin(X, y, eps=1e-6, random_state=0)
    >>> round(result.certificate.primal, 3)
    2.0
    """
    if not 0.0 <= beta < np.inf:
        raise ValueError(f"beta={beta!r} must be finite and not negative")
    signed, signs = _with_signs(X, y)
    column = beta * signs if beta > 0.0 else None
    result = simplex_qp(signed, eps=eps, extra_column=column, **options)
    length = float(np.hypot(np.linalg.norm(result.x), result.bias))
    squares = result.certificate
    certificate = Certificate(
        float(np.sqrt(max(squares.dual, 0.0))), float(np.sqrt(max(squares.primal, 0.0))),
        maximize=True, failure=squares.failure,
    )  # fmt: skip
    scale = 1.0 / length if length > 0.0 else 0.0
    return replace(
        result, x=result.x * scale, bias=beta * scale * result.bias, certificate=certificate
    )


def l2_svm(
    X: Any,
    y: ArrayLike,
    *,
    C: float = 1.0,
    bias: bool = True,
    eps: float = 0.01,
    **options: Any,
) -> Result:
    """A support vector machine with squared slack, by way of a polytope.

    It minimises ``(||w||^2 + b^2) / 2 + C / 2 sum xi_i^2`` with ``y_i (<w, x_i> + b) >= 1 - xi_i``.
    `LinearClassifier` with the squared hinge does the same from whole rows, and is the better
    choice for data in memory.

    Parameters
    ----------
    X : array, sparse matrix, Store, Matrix or Oracle of shape (n, d)
        The rows.
    y : array of shape (n,)
        Labels, +1 and -1.
    C : float, default=1.0
        What slack costs; ``1 / (alpha n)`` in terms of the mean loss.
    bias : bool, default=True
        Whether there is a bias b; it is regularised.
    eps : float, default=0.01
        Stop when the squared length s2 is known to a part eps of ``1 / C / n``, its least
        possible value.
    **options
        Further parameters of `simplex_qp`: ``mode``, ``max_reads``, ``random_state``, ...

    Returns
    -------
    Result
        ``x`` are the weights, ``bias`` is b, ``p`` the multipliers alpha. The certificate is one of
        the objective; its value is read from all rows, but in mode "monte-carlo".

    Examples
    --------
    >>> X, y = [[2.0, 1.0], [3.0, -1.0], [-2.0, 0.0], [-1.0, 1.0]], [1, 1, -1, -1]
    >>> result = l2_svm(X, y, eps=1e-6, random_state=0)
    >>> result.x.round(2), round(result.bias, 2)
    (array([ 0.54, -0.11]), -0.11)
    """
    if not 0.0 < C < np.inf:
        raise ValueError(f"C={C!r} must be positive and finite")
    signed, signs = _with_signs(X, y)
    result = simplex_qp(
        signed, eps=eps / (C * len(signs)), ridge=1.0 / C, extra_column=signs if bias else None,
        **options,
    )  # fmt: skip
    s2 = result.certificate.primal
    w, b = result.x / s2, result.bias / s2
    objective, entries = np.inf, 0
    if options.get("mode") != "monte-carlo":
        margins, entries = _responses(signed, w)
        slack = np.maximum(0.0, 1.0 - margins - b * signs)
        objective = 0.5 * (float(w @ w) + b * b) + 0.5 * C * float(slack @ slack)
    return replace(
        result,
        x=w,
        bias=b,
        p=result.p / s2,
        certificate=Certificate(objective, 0.5 / s2, failure=result.certificate.failure),
        reads=result.reads + Reads(certificate=entries),
    )


class _Signed(Oracle):
    """The rows of an oracle times their labels; that oracle keeps, counts and limits."""

    def __init__(self, oracle: Oracle, signs: Vector) -> None:
        self.oracle, self.signs = oracle, signs
        self.shape, self.rows_norm = oracle.shape, oracle.rows_norm
        self.max_reads = oracle.max_reads

    @property
    def reads(self) -> int:  # type: ignore[override]
        return self.oracle.reads

    @contextmanager
    def within(self, more: float) -> Iterator[None]:
        with self.oracle.within(more):
            yield

    def row(self, i: int) -> Vector:
        return self.signs[i] * self.oracle.row(i)

    def column(self, j: int) -> Vector:
        return self.signs * self.oracle.column(j)


def _responses(A: Matrix | Oracle, w: Vector) -> tuple[Vector, int]:
    """A w, exactly, and how many entries it took."""
    counts: list[int] = []
    return products(A, w, counts.append), sum(counts)


def _with_signs(X: Any, y: ArrayLike) -> tuple[Matrix | Oracle, Vector]:
    """The rows times their labels: y_i x_i."""
    if isinstance(X, Oracle):
        signs = as_labels(y, X.shape[0])
        return _Signed(X, signs), signs
    matrix = as_matrix(X)
    signs = as_labels(y, matrix.shape[0])
    return Matrix(scaled(matrix.rows, signs), scaled(matrix.columns, signs, 1)), signs
