"""Systems with a symmetric matrix, of which the lower triangle is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.blas import linalg

__all__ = ["factor_of", "solve_factored", "solve_symmetric", "symmetric_product"]

Vector = NDArray[np.float64]


def symmetric_product(matrix: Vector, x: Vector) -> Vector:
    """The matrix times a vector.

    Examples
    --------
    >>> symmetric_product(np.array([[2.0, 0.0], [1.0, 3.0]], order="F"), np.array([1.0, 1.0]))
    array([3., 4.])
    """
    return np.asarray(linalg().blas.dsymv(1.0, matrix, x, lower=1))


def solve_symmetric(matrix: Vector, right: Vector) -> Vector:
    """The solution of a positive semidefinite system, of least norm if it is singular.

    Examples
    --------
    >>> solve_symmetric(np.array([[2.0, 0.0], [1.0, 3.0]], order="F"), np.array([3.0, 4.0]))
    array([1., 1.])
    """
    return solve_factored(factor_of(matrix), matrix, right)


def factor_of(matrix: Vector) -> Vector | None:
    """The factor of Cholesky; None if there is none."""
    factor, fault = linalg().lapack.dpotrf(matrix, lower=1, clean=0)
    return factor if fault == 0 else None


def solve_factored(factor: Vector | None, matrix: Vector, right: Vector) -> Vector:
    """The solution of a system whose matrix has this factor, if it has one."""
    if factor is not None:
        solution = linalg().lapack.dpotrs(factor, right, lower=1)[0]
        if np.isfinite(solution).all():
            return np.asarray(solution)
    full = matrix + np.tril(matrix, -1).T
    return np.asarray(linalg().lstsq(full, right)[0])
