"""Models as ONNX graphs: a product, a sum, and for classes a comparison and a look-up.

The graph is of the plain operators that every runtime has, none of ``ai.onnx.ml``:

    scores = X W + b;   label = classes[scores > 0]   or   classes[argmax(scores)]

Sums are taken in the order that the runtime likes, so scores agree with `decision_function` up to
rounding, and labels but for scores that tie within it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skimlearn.data._replacing import as_path, replacing
from skimlearn.data.tensors import ModelError, version
from skimlearn.estimators._base import LinearModel
from skimlearn.estimators.ball import EnclosingBall
from skimlearn.estimators.sublinear import SublinearSVC
from skimlearn.formulas.losses import Log

__all__ = ["export_onnx"]

Array = NDArray[Any]

OPSET = 17  # onnxruntime 1.12 and later
IR_VERSION = 8
LARGEST = 2**31 - 2**20  # bytes; protobuf's limit, less some room for the rest


def export_onnx(model: Any, path: Any, *, dtype: str = "float32") -> None:
    """Write a model as an ONNX graph. This needs the package onnx: ``pip install skimlearn[onnx]``.

    The input ``X`` is of shape (n, d). The outputs are those of the model's methods:

    ====================  ==========================================================================
    regression            ``prediction`` (n,)
    classification        ``label`` (n,), ``scores`` as of `decision_function` and, for the log
                          loss, ``probabilities`` as of `predict_proba`
    many labels a row     the same, ``label`` of shape (n, n_labels)
    `EnclosingBall`       ``label`` (n,) of +1 and -1, ``scores`` (n,)
    ====================  ==========================================================================

    Parameters
    ----------
    model : LinearClassifier, LinearRegressor, their CV versions, SublinearSVC or EnclosingBall
        A fitted model.
    path : str or PathLike
        Where to; ``.onnx`` is the usual end of the name. A former file is replaced when the new one
        is complete.
    dtype : {"float32", "float64"}, default="float32"
        The type of the input, and what is computed in.

    Examples
    --------
    >>> import os, tempfile
    >>> from skimlearn import LinearRegressor, export_onnx
    >>> model = LinearRegressor().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.onnx")
    ...     export_onnx(model, path)  # doctest: +SKIP
    """
    as_path(path)
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype={dtype!r} must be 'float32' or 'float64'")
    if not isinstance(model, LinearModel | SublinearSVC | EnclosingBall):
        raise TypeError(f"export_onnx takes a model of skimlearn, not {type(model).__name__}")
    check_is_fitted(model)
    weights = model.center_ if isinstance(model, EnclosingBall) else model.coef_
    if weights.size * np.dtype(dtype).itemsize > LARGEST:
        raise ModelError(
            f"{weights.size} weights of {dtype} are more than the 2 GB that an ONNX file can hold: "
            "use model.save, or fewer features"
        )
    content = _Graph(model, np.dtype(dtype)).finish()
    with replacing(path) as file:
        file.write(content)


class _Graph:
    """A graph that is being built for one model."""

    def __init__(self, model: Any, dtype: np.dtype[Any]) -> None:
        try:
            import onnx
        except ImportError:
            raise ImportError(
                "export_onnx needs the package onnx: pip install 'skimlearn[onnx]'"
            ) from None
        self.onnx, self.model, self.dtype = onnx, model, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.outputs: list[Any] = []
        if isinstance(model, EnclosingBall):
            self._ball()
        elif hasattr(model, "classes_"):
            self._classifier()
        else:
            scores = self._scores(np.reshape(model.coef_, (1, -1)), [model.intercept_])
            self._output("prediction", self._flat(scores), self.dtype, 1)

    def finish(self) -> bytes:
        """The checked graph as bytes."""
        helper, model = self.onnx.helper, self.model
        graph = helper.make_graph(
            self.nodes,
            type(model).__name__,
            [
                helper.make_tensor_value_info(
                    "X", self._type(self.dtype), ["n", model.n_features_in_]
                )
            ],
            self.outputs,
            initializer=self.constants,
        )
        proto = helper.make_model(
            graph,
            producer_name="skimlearn",
            producer_version=version(),
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        self.onnx.checker.check_model(proto, full_check=True)
        return bytes(proto.SerializeToString())

    # ---------------------------------------------------------------------------------- models

    def _classifier(self) -> None:
        model = self.model
        scores = self._scores(model.coef_, model.intercept_)
        several = len(model.coef_) > 1 or model.multilabel_
        if not several:
            scores = self._flat(scores)
        axes = 2 if several else 1
        if several and not model.multilabel_:
            chosen = self._node("ArgMax", scores, axis=1, keepdims=0)
        else:
            positive = self._node("Greater", scores, self._constant(np.zeros((), self.dtype)))
            chosen = self._node("Cast", positive, to=self._type(np.dtype(np.int64)))
        if model.multilabel_:
            self._output("label", chosen, np.dtype(np.int64), 2)
        else:
            classes = _plain(model.classes_)
            label = self._node("Gather", self._constant(classes), chosen)
            self._output("label", label, classes.dtype, 1)
        if isinstance(model.loss, Log) or model.loss == "log":
            self._output("probabilities", self._probabilities(scores, axes), self.dtype, 2)
        self._output("scores", scores, self.dtype, axes)

    def _probabilities(self, scores: str, axes: int) -> str:
        """Those of two classes, of many labels, or of many classes scaled to a sum of 1."""
        if axes == 1:
            column = self._node("Unsqueeze", scores, self._constant(np.array([1])))
            both = self._node("Concat", self._node("Neg", column), column, axis=1)
            return self._node("Sigmoid", both)
        likely = self._node("Sigmoid", scores)
        if self.model.multilabel_:
            return likely
        total = self._node("ReduceSum", likely, self._constant(np.array([1])), keepdims=1)
        some = self._node("Greater", total, self._constant(np.zeros((), self.dtype)))
        even = self._constant(np.array(1.0 / len(self.model.classes_), self.dtype))
        return self._node("Where", some, self._node("Div", likely, total), even)

    def _ball(self) -> None:
        model = self.model
        away = self._node("Sub", "X", self._constant(self._rounded(model.center_)))
        distance = self._node("ReduceL2", away, axes=[1], keepdims=0)
        scores = self._node("Sub", self._constant(self._rounded(-model.offset_)), distance)
        inside = self._node("GreaterOrEqual", scores, self._constant(np.zeros((), self.dtype)))
        one = np.ones((), np.int64)
        label = self._node("Where", inside, self._constant(one), self._constant(-one))
        self._output("label", label, one.dtype, 1)
        self._output("scores", scores, self.dtype, 1)

    # ---------------------------------------------------------------------------------- pieces

    def _scores(self, coef: Any, intercept: Any) -> str:
        weights = self._constant(np.ascontiguousarray(self._rounded(coef).T))
        product = self._node("MatMul", "X", weights)
        return self._node("Add", product, self._constant(self._rounded(intercept)))

    def _flat(self, column: str) -> str:
        return self._node("Squeeze", column, self._constant(np.array([1])))

    def _rounded(self, values: Any) -> Array:
        with np.errstate(over="ignore"):
            rounded = np.asarray(values).astype(self.dtype)
        if not np.isfinite(rounded).all():
            raise ModelError(f"a weight is not a finite {self.dtype} number: use dtype='float64'")
        return rounded

    def _type(self, dtype: np.dtype[Any]) -> int:
        if dtype.kind == "O":
            return int(self.onnx.TensorProto.STRING)
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(dtype))

    def _constant(self, values: Array) -> str:
        name = f"constant_{len(self.constants)}"
        if values.dtype.kind == "O":
            texts = [text.encode("utf-8") for text in values.tolist()]
            tensor = self.onnx.helper.make_tensor(
                name, self.onnx.TensorProto.STRING, values.shape, texts
            )
        else:
            tensor = self.onnx.numpy_helper.from_array(np.asarray(values), name)
        self.constants.append(tensor)
        return name

    def _node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def _output(self, name: str, source: str, dtype: np.dtype[Any], axes: int) -> None:
        self.nodes.append(self.onnx.helper.make_node("Identity", [source], [name], f"{name}_out"))
        shape: list[Any] = ["n"] + [None] * (axes - 1)
        value = self.onnx.helper.make_tensor_value_info(name, self._type(dtype), shape)
        self.outputs.append(value)


def _plain(classes: Array) -> Array:
    """Classes of a type that ONNX has: texts as objects, numbers as they are."""
    if classes.dtype.kind in "OU" and all(isinstance(text, str) for text in classes.tolist()):
        return classes.astype(object)
    if classes.dtype.kind in "biuf":
        return classes
    raise ModelError(f"classes_ of the dtype {classes.dtype} are neither numbers nor texts")
