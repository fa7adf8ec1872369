"""Parameters and names as plain JSON and arrays, and back; each piece is checked.

An object of JSON is always ``{"type": ..., "value": ...}``: what JSON itself has no word for. Which
types there are is fixed here. Nothing is looked up by a name that a file holds but in these tables.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.tensors import ModelError
from skimlearn.formulas import kernels, losses

__all__ = [
    "Tensors",
    "pack",
    "pack_classes",
    "pack_texts",
    "unpack",
    "unpack_classes",
    "unpack_float",
    "unpack_texts",
]

Array = NDArray[Any]
Tensors = dict[str, Array]

TABLES: dict[str, dict[str, Any]] = {"loss": losses.NAMES, "kernel": kernels.NAMES}
FORMULAS = {cls: (kind, name) for kind, table in TABLES.items() for name, cls in table.items()}
DTYPES = ("bool", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
          "uint32", "uint64")  # fmt: skip
REMEDIES = {
    "callback": "set callback=None",
    "cv": "set cv to an integer or None",
    "kernel": "use pickle, or a kernel of skimlearn; a new name does not change the fitted model",
    "loss": "set loss to the name of a loss of skimlearn, which leaves the predictions as they are",
    "random_state": "set random_state to an integer or None",
    "scoring": "set scoring to the name of a score or None",
}
WIDEST_SPARE = 64  # characters by which texts may be wider than the longest one

# -------------------------------------------------------------------------------------- parameters


def pack(value: Any, name: str) -> Any:
    """A parameter as JSON; a `ModelError` that says what to do if it holds code or state."""
    try:
        return _pack(value)
    except (_UnknownError, RecursionError):
        remedy = REMEDIES.get(name, f"set {name} to a number, a text, None, or a list of such")
        raise ModelError(
            f"{name}={value!r} can't be stored, since a model file holds numbers and texts only: "
            f"{remedy} (model.set_params) before you save"
        ) from None


class _UnknownError(Exception):
    pass


def _pack(value: Any) -> Any:
    if isinstance(value, np.bool_ | np.integer | np.float16 | np.float32 | np.float64):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else _typed("float", repr(value))
    if type(value) is list:
        return [_pack(item) for item in value]
    if type(value) is tuple:
        return _typed("tuple", [_pack(item) for item in value])
    if type(value) is dict:
        return _typed("dict", [[_pack(key), _pack(item)] for key, item in value.items()])
    if type(value) is np.ndarray and value.dtype.name in DTYPES:
        return _typed("array", [value.dtype.name, _pack(value.tolist())])
    if type(value) in FORMULAS:
        kind, name = FORMULAS[type(value)]
        fields = {
            field.name: _pack(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
        return _typed(kind, [name, fields])
    raise _UnknownError


def _typed(kind: str, value: Any) -> dict[str, Any]:
    return {"type": kind, "value": value}


def unpack(value: Any, name: str) -> Any:
    """What `pack` was given."""
    try:
        return _unpack(value)
    except (_UnknownError, AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise ModelError(f"{name} can't be read: {str(value)[:80]}") from None


def _unpack(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) != {"type", "value"}:
        raise _UnknownError
    kind, value = value["type"], value["value"]
    if kind == "float":
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value]
    if kind == "tuple" and isinstance(value, list):
        return tuple(_unpack(item) for item in value)
    if kind == "dict":
        return {_unpack(key): _unpack(item) for key, item in value}
    if kind == "array":
        dtype, items = value
        if dtype in DTYPES:
            return np.array(_unpack(items), dtype=dtype)
    if kind in TABLES:
        formula, fields = value
        numbers = {name: _unpack(field) for name, field in fields.items()}
        if all(type(number) in (int, float) for number in numbers.values()):
            return TABLES[kind][formula](**numbers)
    raise _UnknownError


# ------------------------------------------------------------------------------------------- texts


def unpack_float(value: Any, name: str) -> float:
    """A number, nan and inf included, as a float."""
    number = unpack(value, name)
    if type(number) not in (int, float):
        raise ModelError(f"{name} must be a number, not {str(value)[:80]!r}")
    try:
        return float(number)
    except OverflowError:
        raise ModelError(f"{name} is too large") from None


def pack_texts(texts: Array, name: str, tensors: Tensors) -> dict[str, Any]:
    """Texts as UTF-8, one after the other, and where each ends; the kind of array as JSON."""
    if not all(isinstance(text, str) for text in texts.tolist()):
        raise ModelError(
            f"{name} holds {texts.dtype} objects that are not all texts: numbers, truth values and "
            "texts can be stored"
        )
    parts = [text.encode("utf-8", "surrogatepass") for text in texts.tolist()]
    tensors[f"{name}.text"] = np.frombuffer(b"".join(parts), dtype=np.uint8)
    tensors[f"{name}.ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return {"width": None if texts.dtype.kind == "O" else texts.dtype.itemsize // 4}


def unpack_texts(kind: Any, name: str, tensors: Tensors) -> Array:
    """The array of texts that `pack_texts` was given."""
    text, ends = tensors.pop(f"{name}.text", None), tensors.pop(f"{name}.ends", None)
    if text is None or text.ndim != 1 or text.dtype != np.uint8:
        raise ModelError(f"the array {name}.text must hold bytes")
    if ends is None or ends.ndim != 1 or ends.dtype != np.int64:
        raise ModelError(f"the array {name}.ends must hold integers")
    starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    if (starts > ends).any() or (ends[-1] if len(ends) else 0) != len(text):
        raise ModelError(f"the array {name}.ends does not fit to the length of {name}.text")
    joined = text.tobytes()
    try:
        texts = [
            joined[start:end].decode("utf-8", "surrogatepass")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]
    except UnicodeDecodeError as error:
        raise ModelError(f"{name} is not UTF-8: {error.reason}") from None
    if not isinstance(kind, dict) or set(kind) != {"width"}:
        raise ModelError(f"{name} must have a width")
    width, longest = kind["width"], max(map(len, texts), default=0)
    if width is None:
        return np.array(texts, dtype=object)
    if type(width) is not int or width < longest:
        raise ModelError(f"{name} has the width {width!r}, but a text of {longest} characters")
    # a wide array of short texts would take more memory than its file
    return np.array(texts, dtype=f"U{min(width, longest + WIDEST_SPARE)}")


def pack_classes(classes: Array, tensors: Tensors, attributes: dict[str, Any]) -> None:
    """Classes as an array, or as texts."""
    if classes.dtype.kind in "biu" or classes.dtype in (np.float16, np.float32, np.float64):
        tensors["classes_"] = classes
    elif classes.dtype.kind in "OU":
        attributes["classes_"] = pack_texts(classes, "classes_", tensors)
    else:
        raise ModelError(
            f"classes_ of the dtype {classes.dtype} can't be stored: learn from classes that are "
            "numbers, truth values or texts"
        )


def unpack_classes(tensors: Tensors, attributes: dict[str, Any]) -> Array:
    """The classes that `pack_classes` was given."""
    if "classes_" in attributes:
        classes = unpack_texts(attributes.pop("classes_"), "classes_", tensors)
    else:
        classes = tensors.pop("classes_", np.zeros(0))
    if classes.ndim != 1 or len(classes) < 1:
        raise ModelError("classes_ is missing, or not a list of classes")
    if not (classes[:-1] < classes[1:]).all() or (
        classes.dtype.kind == "f" and np.isnan(classes).any()
    ):
        raise ModelError("classes_ must be in ascending order, each class once")
    return classes
