"""What kernel estimators share: the kernel of their parameters, and the rows that they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_rows import variance, weighted
from skimlearn.data.rows import Dense, Rows, take
from skimlearn.estimators._checks import ABSENT, check_data
from skimlearn.formulas import kernels
from skimlearn.formulas.kernels import Kernel

__all__ = ["kept_rows", "kernel_of", "support_sums"]

Vector = NDArray[np.float64]


def kernel_of(model: Any, rows: Rows, weights: Vector | None = None) -> Kernel:
    """The kernel that an estimator's parameters name, with numbers for words."""
    spread = 1.0
    if isinstance(model.gamma, str) and model.gamma == "scale" and isinstance(model.kernel, str):
        spread = variance(rows, np.ones(rows.shape[0]) if weights is None else weights)
    return kernels.resolve(
        model.kernel, gamma=model.gamma, degree=model.degree, coef0=model.coef0,
        columns=rows.shape[1], variance=spread,
    )  # fmt: skip


def kept_rows(rows: Rows, chosen: NDArray[np.int64]) -> Any:
    """Some rows as a matrix of their own, dense or CSR as they were."""
    some = take(rows, chosen)
    if isinstance(some, Dense):
        return np.array(some.values)
    parts = (np.array(some.values), some.columns.astype(np.int64), some.starts.astype(np.int64))
    return sp.csr_array(parts, shape=some.shape)


def support_sums(model: Any, X: Any, threads: int) -> tuple[Vector, Rows]:
    """sum_s coefficient_ks k(support row s, x_j) as (j, k), and the rows x_j, checked."""
    check_is_fitted(model)
    X = check_data(model, X, ABSENT, reset=False)
    rows = as_rows(X, inspect=not get_config()["assume_finite"])
    support = as_rows(model.support_vectors_, inspect=False)
    return weighted(model.kernel_, model.dual_coef_, support, rows, threads=threads).T, rows
