"""Fitted models in files: safetensors with a JSON description, versioned, without code.

The file has the arrays of the model and, as the text "skimlearn" of its metadata, a JSON object:

====================  ======================================================================
``format``            the version of this layout; a greater one is refused
``version``           of the skimlearn that wrote the file
``class``             one of those that can be saved
``parameters``        those of the constructor
``attributes``        fitted numbers, the kernel, and the kinds of the arrays of texts
``results``           for each weight vector: certificate, reads, status and more
====================  ======================================================================

A file has exactly what its class and its version ask for: anything missing, left over or of another
shape is an error. Only parameters may be missing, those that came later; they have their default.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._replacing import as_path, replacing
from skimlearn.data.tensors import (
    ModelError,
    read_open_tensors,
    read_tensors,
    version,
    write_tensors,
)
from skimlearn.estimators._contract import check_is_fitted
from skimlearn.estimators._packing import Tensors, pack, pack_classes, pack_texts
from skimlearn.estimators._packing_results import pack_result
from skimlearn.estimators._packing_support import pack_support
from skimlearn.estimators._restoring import (
    COMMAND,
    FORMAT,
    KEY,
    LAYOUTS,
    NAMES,
    build,
    layout_of,
)

__all__ = ["load", "save"]

Array = NDArray[Any]


def load(path: Any) -> Any:
    """Read a model that ``save`` wrote.

    Everything in the file is checked, and nothing in it is executed: a file from a stranger can be
    wrong, but not harmful.

    Parameters
    ----------
    path : str or PathLike
        The file.

    Returns
    -------
    model
        A fitted estimator of the class that was saved, with the same parameters, attributes and
        predictions.

    Raises
    ------
    ModelError
        If the file is damaged, is no model, or was written by a newer skimlearn.

    Examples
    --------
    >>> import os, tempfile, skimlearn
    >>> from skimlearn.datasets import load_spam
    >>> X, y = load_spam()
    >>> model = skimlearn.LinearClassifier(random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "spam.safetensors")
    ...     model.save(path)
    ...     again = skimlearn.load(path)
    >>> again
    LinearClassifier(random_state=0)
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    tensors, metadata = read_tensors(path)
    try:
        return build(tensors, metadata)
    except ModelError as error:
        raise ModelError(f"{as_path(path)}: {error}") from None


def save(model: Any, path: Any) -> None:
    """Write a fitted model; what is written is read again before it takes its name."""
    as_path(path)
    tensors, description = _describe(model)
    texts = {KEY: json.dumps(description, allow_nan=False)}
    if model.result_.command:
        texts[COMMAND] = model.result_.command
    with replacing(path) as file:
        write_tensors(file, tensors, texts)
        build(*read_open_tensors(file))


def _describe(model: Any) -> tuple[Tensors, dict[str, Any]]:
    cls, parameters = type(model), model.get_params(deep=False)
    layout = layout_of(cls.__name__, parameters)
    if layout is None or layout.cls is not cls:
        raise ModelError(
            f"a model of the class {cls.__qualname__} can't be saved: the classes are "
            f"{sorted(LAYOUTS)}"
        )
    check_is_fitted(model)
    tensors: Tensors = {}
    attributes: dict[str, Any] = {}
    for name in (*layout.counts, *layout.flags, *layout.numbers):
        attributes[name] = pack(getattr(model, name), name)
    if layout.support:
        pack_support(model, tensors, attributes)
    weights = _floats(model, layout.weights, tensors)
    for name in layout.tables:
        _floats(model, name, tensors)
    if layout.name != "EnclosingBall":
        tensors["intercept_"] = np.atleast_1d(_floats(model, "intercept_", tensors))
    if layout.classifies:
        pack_classes(np.asarray(model.classes_), tensors, attributes)
    if hasattr(model, NAMES):
        attributes[NAMES] = pack_texts(np.asarray(model.feature_names_in_, object), NAMES, tensors)
    keep_dual = bool(parameters.get("warm_start", False))
    results = getattr(model, "results_", None) or [model.result_]
    vectors = np.atleast_2d(weights)
    return tensors, {
        "format": FORMAT,
        "version": version(),
        "class": cls.__name__,
        "parameters": {name: pack(value, name) for name, value in parameters.items()},
        "attributes": attributes,
        "results": [
            pack_result(result, f"results.{k}", tensors, weights=w, keep_dual=keep_dual)
            for k, (result, w) in enumerate(zip(results, vectors, strict=True))
        ],
    }


def _floats(model: Any, name: str, tensors: Tensors) -> Array:
    values = np.asarray(getattr(model, name))
    if values.dtype not in (np.float32, np.float64):
        raise ModelError(f"{name} must be an array of float32 or float64, not {values.dtype}")
    tensors[name] = values
    return values
