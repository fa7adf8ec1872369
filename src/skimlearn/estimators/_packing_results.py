"""Results and their histories as plain JSON and arrays, and back; each piece is checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from skimlearn.data.ledger import Reads
from skimlearn.data.tensors import ModelError
from skimlearn.estimators._packing import Array, Tensors, pack, unpack_float
from skimlearn.result import Certificate, Progressive, Record, Result, Status

__all__ = ["pack_history", "pack_result", "unpack_history", "unpack_result"]

NUMBERS = ("bias", "seconds", "epochs")
MORE = ("margin", "nu", "kappa", "alpha", "C")  # of a soft margin
KINDS = ("Result", "SoftMargin")


def _class_of(kind: str) -> type[Result]:
    if kind == "Result":
        return Result
    from skimlearn.solvers.soft_margin import SoftMargin  # and all that solves it

    return SoftMargin


def pack_result(
    result: Result, name: str, tensors: Tensors, *, weights: Array, keep_dual: bool
) -> dict[str, Any]:
    """A result as JSON, with its history, and its vectors where the model does not hold them."""
    pack_history(result.history, name, tensors)
    if not np.array_equal(result.x, weights):
        tensors[f"{name}.x"] = np.asarray(result.x, dtype=np.float64)
    if keep_dual:
        tensors[f"{name}.p"] = np.asarray(result.p, dtype=np.float64)
    kind = type(result).__name__
    if kind not in KINDS or _class_of(kind) is not type(result):
        raise ModelError(f"{name} is of the class {kind}, not one of {sorted(KINDS)}")
    certificate = result.certificate
    numbers = NUMBERS + (MORE if kind == "SoftMargin" else ())
    return {
        "kind": kind,
        **{n: pack(getattr(result, n), n) for n in numbers},
        "certificate": [
            pack(certificate.primal, "primal"), pack(certificate.dual, "dual"),
            bool(certificate.maximize), pack(certificate.failure, "failure"),
        ],
        "reads": [int(result.reads.dense), int(result.reads.nnz), int(result.reads.certificate)],
        "status": result.status.name,
        "solver": result.solver,
    }  # fmt: skip


def unpack_result(packed: Any, name: str, tensors: Tensors, weights: Array) -> Result:
    """The result that `pack_result` was given."""
    if not isinstance(packed, dict) or packed.get("kind") not in KINDS:
        raise ModelError(f"{name} must be an object of one of the kinds {sorted(KINDS)}")
    numbers = NUMBERS + (MORE if packed["kind"] == "SoftMargin" else ())
    if set(packed) != {"kind", "certificate", "reads", "status", "solver", *numbers}:
        raise ModelError(f"{name} has the keys {str(sorted(packed))[:200]}")
    certificate, reads, status = packed["certificate"], packed["reads"], packed["status"]
    if (
        not isinstance(certificate, list)
        or len(certificate) != 4
        or type(certificate[2]) is not bool
    ):
        raise ModelError(f"the certificate of {name} must have four values")
    if not isinstance(reads, list) or len(reads) != 3 or any(type(n) is not int for n in reads):
        raise ModelError(f"the reads of {name} must be three integers")
    if not isinstance(status, str) or status not in Status.__members__:
        raise ModelError(f"the status of {name} is {str(status)[:80]!r}, which is not known")
    if not isinstance(packed["solver"], str):
        raise ModelError(f"the solver of {name} must be a text")
    vectors: dict[str, Any] = {"x": weights, "p": np.zeros(0)}
    for key in vectors:
        vectors[key] = vector = tensors.pop(f"{name}.{key}", vectors[key])
        if vector.ndim != 1 or vector.dtype.kind != "f" or not np.isfinite(vector).all():
            raise ModelError(f"the array {name}.{key} must be a vector of finite numbers")
    primal, dual, maximize, failure = certificate
    scalars: dict[str, Any] = {n: unpack_float(packed[n], f"{n} of {name}") for n in numbers}
    return _class_of(packed["kind"])(
        **vectors,
        **scalars,
        certificate=Certificate(
            unpack_float(primal, f"the primal value of {name}"),
            unpack_float(dual, f"the dual value of {name}"),
            maximize,
            unpack_float(failure, f"the probability of failure of {name}"),
        ),
        reads=Reads(*reads),
        status=Status[status],
        solver=packed["solver"],
        history=unpack_history(name, tensors),
    )


STREAMED = ("rows", "loss", "error", "mean_loss", "mean_error")  # of a record of a stream


def pack_history(history: list[Record], name: str, tensors: Tensors) -> None:
    """The records as arrays."""
    records = [[r.epoch, r.seconds, r.primal, r.dual] for r in history]
    tensors[f"{name}.history"] = np.array(records, dtype=np.float64).reshape(-1, 4)
    tensors[f"{name}.history_reads"] = np.array([r.reads for r in history], dtype=np.int64)
    if any(isinstance(r, Progressive) for r in history):
        more = [[getattr(r, field) for field in STREAMED] for r in history]
        tensors[f"{name}.history_stream"] = np.array(more, dtype=np.float64)


def unpack_history(name: str, tensors: Tensors) -> list[Record]:
    """The records that `pack_history` was given."""
    table, reads = tensors.pop(f"{name}.history", None), tensors.pop(f"{name}.history_reads", None)
    if table is None or table.ndim != 2 or table.shape[1] != 4 or table.dtype != np.float64:
        raise ModelError(f"the array {name}.history must have four columns of float64")
    if reads is None or reads.shape != table.shape[:1] or reads.dtype != np.int64:
        raise ModelError(f"the array {name}.history_reads must have an integer for each record")
    records = [
        Record(epoch, seconds, count, primal, dual)
        for (epoch, seconds, primal, dual), count in zip(
            table.tolist(), reads.tolist(), strict=True
        )
    ]
    more = tensors.pop(f"{name}.history_stream", None)
    if more is None:
        return records
    shape = (len(records), len(STREAMED))
    if more.shape != shape or more.dtype != np.float64 or not np.isfinite(more[:, 0]).all():
        raise ModelError(f"the array {name}.history_stream must have the shape {shape}")
    return [
        Progressive(**vars(record), rows=int(rows), **dict(zip(STREAMED[1:], means, strict=True)))
        for record, (rows, *means) in zip(records, more.tolist(), strict=True)
    ]
