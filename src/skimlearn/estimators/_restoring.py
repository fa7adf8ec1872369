"""Models from the arrays and the description of a file, each of them checked; see `saving`."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.tensors import ModelError, parse_json, version
from skimlearn.estimators._base import summary
from skimlearn.estimators._packing import (
    Tensors,
    unpack,
    unpack_classes,
    unpack_float,
    unpack_texts,
)
from skimlearn.estimators._packing_results import unpack_result
from skimlearn.estimators._packing_support import unpack_support

__all__ = ["COMMAND", "FORMAT", "KEY", "LAYOUTS", "build", "layout_of"]

Array = NDArray[Any]

FORMAT = 1
KEY = "skimlearn"  # of the description in the metadata
COMMAND = "command"  # of the command line that made the model, if there was one
PARTS = {"format", "version", "class", "parameters", "attributes", "results"}
NAMES = "feature_names_in_"


@dataclass(frozen=True)
class Layout:
    """What a file of a class holds.

    The class is loaded when it is asked for: a process that saves one model need not wait for the
    modules of all others.
    """

    name: str
    module: str
    classifies: bool = False
    counts: tuple[str, ...] = ("n_features_in_", "n_iter_")
    flags: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    tables: dict[str, int] = field(default_factory=dict)  # name and number of axes
    weights: str = "coef_"
    support: bool = False  # whether there are support rows, which the weights are those of

    @property
    def cls(self) -> type:
        return getattr(importlib.import_module(f"skimlearn.estimators.{self.module}"), self.name)


ROWS = ("n_features_in_", "n_iter_", "n_rows_seen_")
CHOSEN = ("alpha_", "p_", "best_score_")
TRIED = {"alphas_": 1, "scores_": 3}
LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("LinearClassifier", "classifier", True, ROWS, flags=("multilabel_",)),
        Layout("LinearRegressor", "regressor", False, ROWS),
        Layout("LinearClassifierCV", "cv", True, ROWS, ("multilabel_",), CHOSEN, TRIED),
        Layout("LinearRegressorCV", "cv", False, ROWS, (), CHOSEN, TRIED),
        Layout("SublinearSVC", "sublinear", True),
        Layout("EnclosingBall", "ball", numbers=("offset_", "radius_"), weights="center_"),
        Layout("KernelClassifier", "kernel", True, weights="dual_coef_", support=True),
    )
}
KERNEL_BALL = Layout(
    "EnclosingBall", "ball", numbers=("offset_", "radius_", "_square", "_rounding"),
    weights="dual_coef_", support=True,
)  # fmt: skip


def layout_of(name: str, parameters: Any) -> Layout | None:
    """The layout of a class; a ball in the space of a kernel has one of its own."""
    if name == "EnclosingBall" and isinstance(parameters, dict):
        return LAYOUTS[name] if parameters.get("kernel") is None else KERNEL_BALL
    return LAYOUTS.get(name)


def build(tensors: Tensors, metadata: dict[str, str]) -> Any:
    """The model of the arrays and the texts of a file; a `ModelError` if anything is wrong."""
    description, layout = _check_description(metadata)
    model = layout.cls(**_parameters(description, layout))
    attributes = description["attributes"]
    if not isinstance(attributes, dict):
        raise ModelError("the attributes must be an object")
    for name in layout.counts:
        setattr(model, name, _typed(attributes, name, int))
    for name in layout.flags:
        setattr(model, name, _typed(attributes, name, bool))
    for name in layout.numbers:
        setattr(model, name, unpack_float(attributes.pop(name, None), name))
        if layout.name == "EnclosingBall" and not math.isfinite(getattr(model, name)):
            raise ModelError(f"{name} is not finite: no prediction could be made")
    if layout.classifies:
        model.classes_ = unpack_classes(tensors, attributes)
    if layout.support:
        unpack_support(model, tensors, attributes)
    vectors = _set_weights(model, layout, tensors)
    for name, axes in layout.tables.items():
        setattr(model, name, _array(tensors, name, axes, finite=False))
    if NAMES in attributes:
        names = unpack_texts(attributes.pop(NAMES), NAMES, tensors)
        if len(names) != model.n_features_in_ or names.dtype != object:
            raise ModelError(f"{NAMES} has {len(names)} names for {model.n_features_in_} columns")
        setattr(model, NAMES, names)
    _set_results(model, layout, description["results"], tensors, vectors)
    if metadata.get(COMMAND):
        model.result_ = replace(model.result_, command=metadata[COMMAND])
    for what, left in (("attributes", attributes), ("arrays", tensors)):
        if left:
            raise ModelError(f"the {what} {str(sorted(left))[:200]} do not belong to this class")
    return model


def _check_description(metadata: dict[str, str]) -> tuple[dict[str, Any], Layout]:
    if KEY not in metadata:
        raise ModelError(f"the file has arrays, but was not written by {KEY}: no model")
    description = parse_json(metadata[KEY], "the description")
    if not isinstance(description, dict):
        raise ModelError("the description must be a JSON object")
    number = description.get("format")
    if type(number) is not int or number < 1:
        raise ModelError(f"the format is {_text(number)}, which is no version")
    if number > FORMAT:
        raise ModelError(
            f"the format is {number}, and this skimlearn ({version()}) reads up to "
            f"{FORMAT}: the file is from skimlearn {_text(description.get('version'))}; upgrade"
        )
    if set(description) != PARTS:
        raise ModelError(f"the description has the parts {str(sorted(description))[:200]}")
    name = description["class"]
    layout = layout_of(name, description["parameters"]) if isinstance(name, str) else None
    if layout is None:
        raise ModelError(f"the class {_text(name)} is not one of {sorted(LAYOUTS)}")
    return description, layout


def _parameters(description: dict[str, Any], layout: Layout) -> dict[str, Any]:
    parameters = description["parameters"]
    if not isinstance(parameters, dict):
        raise ModelError("the parameters must be an object")
    unknown = set(parameters) - set(layout.cls._get_param_names())  # type: ignore[attr-defined]
    if unknown:
        raise ModelError(
            f"the parameters {str(sorted(unknown))[:200]} are not known to this skimlearn "
            f"({version()}); the file is from {_text(description['version'])}"
        )
    found = {name: unpack(value, name) for name, value in parameters.items()}
    threads = found.get("n_jobs")  # the one parameter that predictions depend on
    if threads is not None and (type(threads) is not int or threads == 0):
        raise ModelError(f"n_jobs is {_text(threads)}, but must be a whole number or null")
    return found


def _typed(attributes: dict[str, Any], name: str, kind: type[int]) -> Any:
    value: Any = attributes.pop(name, None)
    if type(value) is not kind or not 0 <= value < 2**63:
        raise ModelError(f"{name} is {_text(value)}, but must be of the type {kind.__name__}")
    return value


def _array(tensors: Tensors, name: str, axes: int, *, finite: bool = True) -> Array:
    values = tensors.pop(name, None)
    if values is None:
        raise ModelError(f"the array {name} is missing")
    if values.dtype not in (np.float32, np.float64) or values.ndim != axes:
        raise ModelError(
            f"{name} is of {values.dtype} with {values.ndim} axes, but must be of float64 with "
            f"{axes}"
        )
    if finite and not np.isfinite(values).all():
        raise ModelError(f"{name} holds nan or inf: no prediction could be made")
    return values


def _set_weights(model: Any, layout: Layout, tensors: Tensors) -> Array:
    """Set the weights and biases; return the weight vectors as a matrix."""
    weights = _array(tensors, layout.weights, 2 if layout.classifies or layout.support else 1)
    vectors = np.atleast_2d(weights)
    what = "the number of support rows" if layout.support else "n_features_in_"
    columns = len(model.support_) if layout.support else model.n_features_in_
    if vectors.shape[1] != columns:
        raise ModelError(
            f"{layout.weights} has {vectors.shape[1]} columns, but {what} is {columns}"
        )
    setattr(model, layout.weights, weights)
    count = 1
    if layout.classifies:
        count = len(model.classes_)
        if not model.multilabel_:
            if count < 2:
                raise ModelError("classes_ has one class, but a classifier needs two")
            count = 1 if count == 2 else count
    if len(vectors) != count:
        raise ModelError(f"{layout.weights} has {len(vectors)} rows, but {count} are needed")
    if layout.name != "EnclosingBall":
        biases = _array(tensors, "intercept_", 1)
        if len(biases) != count:
            raise ModelError(f"intercept_ has {len(biases)} values, but {count} are needed")
        model.intercept_ = biases if layout.classifies else float(biases[0])
    return vectors


def _set_results(model: Any, layout: Layout, packed: Any, tensors: Tensors, vectors: Array) -> None:
    if not isinstance(packed, list) or len(packed) != len(vectors):
        raise ModelError(f"the results must be a list of {len(vectors)}")
    results = [
        unpack_result(item, f"results.{k}", tensors, w)
        for k, (item, w) in enumerate(zip(packed, vectors, strict=True))
    ]
    first = results[0]
    if any(r.x.shape != first.x.shape or r.p.shape != first.p.shape for r in results) or (
        first.x.shape != vectors[0].shape and not layout.support
    ):
        raise ModelError("the vectors of the results differ in length")
    if layout.name != "EnclosingBall":
        model.results_ = results
    model.result_ = results[0] if len(results) == 1 else summary(results)
    if hasattr(model, "partial_fit"):
        model._streams = None


def _text(value: Any) -> str:
    return repr(value)[:80]
