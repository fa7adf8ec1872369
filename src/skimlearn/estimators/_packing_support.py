"""The kernel and the support rows of a model as JSON and arrays, and back, each piece checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_blocks import squared_norms
from skimlearn.data.kernel_rows import own_values
from skimlearn.data.tensors import ModelError
from skimlearn.data.triple import is_sparse
from skimlearn.estimators._packing import Tensors, pack, unpack
from skimlearn.estimators._support import kept_rows
from skimlearn.formulas import kernels

__all__ = ["pack_support", "unpack_support"]

Array = NDArray[Any]
ROWS = "support_vectors_"
PARTS = ("data", "indices", "indptr")  # of CSR rows


def pack_support(model: Any, tensors: Tensors, attributes: dict[str, Any]) -> None:
    """The kernel, the numbers of the support rows, and these rows, dense or CSR."""
    if not kernels.is_ours(model.kernel_):
        raise ModelError(
            f"kernel={model.kernel_!r} is a class of your own, and a model file holds no code: use "
            "pickle, or a kernel of skimlearn"
        )
    attributes["kernel_"] = pack(model.kernel_, "kernel_")
    tensors["support_"] = np.asarray(model.support_, dtype=np.int64)
    rows = model.support_vectors_
    if not is_sparse(rows):
        tensors[ROWS] = np.asarray(rows)
        return
    for part in PARTS:
        values = getattr(rows, part)
        tensors[f"{ROWS}.{part}"] = values if part == "data" else values.astype(np.int64)


def unpack_support(model: Any, tensors: Tensors, attributes: dict[str, Any]) -> None:
    """Set what `pack_support` was given."""
    model.kernel_ = unpack(attributes.pop("kernel_", None), "kernel_")
    if not kernels.is_ours(model.kernel_):
        raise ModelError(f"kernel_ is {model.kernel_!r:.80}, which is no kernel")
    support = _numbers(tensors, "support_")
    if len(support) == 0 or support[0] < 0 or (support[:-1] >= support[1:]).any():
        raise ModelError("support_ must hold numbers of rows in ascending order, each once")
    shape = (len(support), model.n_features_in_)
    matrix = _sparse(tensors, shape) if f"{ROWS}.data" in tensors else tensors.pop(ROWS, None)
    if matrix is None or matrix.dtype not in (np.float32, np.float64) or matrix.shape != shape:
        raise ModelError(f"{ROWS} must be an array of float64 of the shape {shape}")
    try:
        rows = as_rows(matrix, bounded=True)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{ROWS} can't be used: {error}") from None
    if not np.isfinite(own_values(model.kernel_, squared_norms(rows))).all():
        raise ModelError(f"{model.kernel_!r} is not finite for the rows of {ROWS}")
    model.support_ = support
    model.support_vectors_ = kept_rows(rows, np.arange(len(support)))


def _numbers(tensors: Tensors, name: str) -> Array:
    values = tensors.pop(name, None)
    if values is None or values.dtype != np.int64 or values.ndim != 1:
        raise ModelError(f"the array {name} must be a list of integers")
    return values


def _sparse(tensors: Tensors, shape: tuple[int, int]) -> Any:
    data = tensors.pop(f"{ROWS}.data")
    indices, starts = (_numbers(tensors, f"{ROWS}.{part}") for part in PARTS[1:])
    inside = len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1])
    fits = len(starts) == shape[0] + 1 and starts[0] == 0 and starts[-1] == len(indices)
    if (
        data.ndim != 1 or data.shape != indices.shape or not inside or not fits
        or (starts[:-1] > starts[1:]).any()
    ):  # fmt: skip
        raise ModelError(f"the arrays of {ROWS} do not make a matrix of the shape {shape}")
    from scipy.sparse import csr_array

    return csr_array((data, indices, starts), shape=shape)
