"""What kernel estimators share: the kernel of their parameters, and the rows that they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_blocks import weighted
from skimlearn.data.kernel_rows import kernel_of_rows
from skimlearn.data.rows import Rows, plain, take
from skimlearn.estimators._checks import ABSENT, check_data
from skimlearn.estimators._contract import assume_finite, check_is_fitted
from skimlearn.formulas.kernels import Kernel

__all__ = ["keep_support", "kept_rows", "kernel_of", "support_sums"]

Vector = NDArray[np.float64]


def kernel_of(model: Any, rows: Rows, weights: Vector | None = None) -> Kernel:
    """The kernel that an estimator's parameters name, with numbers for words."""
    return kernel_of_rows(
        rows, model.kernel, gamma=model.gamma, degree=model.degree, coef0=model.coef0,
        weights=weights,
    )  # fmt: skip


def kept_rows(rows: Rows, chosen: NDArray[np.int64]) -> Any:
    """Some rows as a matrix of their own, dense or CSR as they were."""
    return plain(take(rows, chosen)).copy()  # which can be written to


def keep_support(model: Any, rows: Rows, coefficients: Vector) -> None:
    """Set the fitted attributes for the rows that have a coefficient (m, n) that is not zero."""
    chosen = np.flatnonzero(coefficients.any(axis=0))
    if len(chosen) == 0:  # constant predictions still need a row to be made from
        chosen = np.zeros(1, dtype=np.int64)
    model.support_ = chosen
    model.support_vectors_ = kept_rows(rows, chosen)
    # in the order of a file's: BLAS has other last digits in another
    model.dual_coef_ = np.ascontiguousarray(coefficients[:, chosen])


def support_sums(model: Any, X: Any, threads: int) -> tuple[Vector, Rows]:
    """sum_s coefficient_ks k(support row s, x_j) as (j, k), and the rows x_j, checked."""
    check_is_fitted(model)
    X = check_data(model, X, ABSENT, reset=False)
    rows = as_rows(X, inspect=not assume_finite())
    support = as_rows(model.support_vectors_, inspect=False)
    return weighted(model.kernel_, model.dual_coef_, support, rows, threads=threads).T, rows
