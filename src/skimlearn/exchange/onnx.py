"""Models as ONNX graphs: a product, a sum, and for classes a comparison and a look-up.

The graph is of the plain operators that every runtime has, none of ``ai.onnx.ml``:

    scores = X W + b;   label = classes[scores > 0]   or   classes[argmax(scores)]

With a kernel, W are the coefficients of the support rows, and X the kernel's values with them.
Those of "rbf" come from rows less the mean of the support rows: distances are the same, and the
digits that data at a distance from the origin would cost are kept.

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
from skimlearn.estimators.ball import ROUNDING, EnclosingBall
from skimlearn.estimators.kernel import KernelClassifier
from skimlearn.estimators.sublinear import SublinearSVC
from skimlearn.formulas.kernels import Gaussian, Linear, Polynomial
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

    With a kernel, the graph holds the support rows, and a run of it takes n times n_support
    numbers: give many rows in batches.

    Parameters
    ----------
    model : LinearClassifier, LinearRegressor, their CV versions, SublinearSVC, KernelClassifier \
or EnclosingBall
        A fitted model. A kernel must be "linear", "poly" or "rbf".
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
    ...     export_onnx(model, path)
    ...     os.path.getsize(path) > 100
    True
    """
    as_path(path)
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype={dtype!r} must be 'float32' or 'float64'")
    if not isinstance(model, LinearModel | SublinearSVC | KernelClassifier | EnclosingBall):
        raise TypeError(f"export_onnx takes a model of skimlearn, not {type(model).__name__}")
    check_is_fitted(model)
    if hasattr(model, "kernel_") and type(model.kernel_) not in (Linear, Polynomial, Gaussian):
        raise TypeError(
            f"export_onnx has no operators for kernel={model.kernel_!r}: use kernel='linear', "
            "'poly' or 'rbf', or pickle the model"
        )
    if _count(model) * np.dtype(dtype).itemsize > LARGEST:
        raise ModelError(
            f"{_count(model)} weights of {dtype} are more than the 2 GB that an ONNX file can "
            "hold: use model.save, or fewer features or support rows"
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
            self._ball(self._squared_distances() if hasattr(model, "kernel_") else None)
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
        kernel = hasattr(model, "kernel_")
        coef = model.dual_coef_ if kernel else model.coef_
        scores = self._scores(coef, model.intercept_, self._similarities() if kernel else "X")
        several = len(coef) > 1 or model.multilabel_
        if not several:
            scores = self._flat(scores)
        axes = 2 if several else 1
        if several and not model.multilabel_:
            chosen = self._node("ArgMax", scores, axis=1, keepdims=0)
        else:
            positive = self._node("Greater", scores, self._number(0.0))
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
        some = self._node("Greater", total, self._number(0.0))
        even = self._constant(np.array(1.0 / len(self.model.classes_), self.dtype))
        return self._node("Where", some, self._node("Div", likely, total), even)

    def _ball(self, squares: str | None) -> None:
        model = self.model
        if squares is None:
            away = self._node("Sub", "X", self._constant(self._rounded(model.center_)))
            distance = self._node("ReduceL2", away, axes=[1], keepdims=0)
        else:
            distance = self._node("Sqrt", squares)
        scores = self._node("Sub", self._number(-model.offset_), distance)
        if squares is not None:  # rows on the sphere stay on it, as in score_samples
            away = self._node("Abs", self._node("Sub", squares, self._number(model.offset_**2)))
            near = self._node("LessOrEqual", away, self._number(self._blur()))
            scores = self._node("Where", near, self._number(0.0), scores)
        inside = self._node("GreaterOrEqual", scores, self._number(0.0))
        one = np.ones((), np.int64)
        label = self._node("Where", inside, self._constant(one), self._constant(-one))
        self._output("label", label, one.dtype, 1)
        self._output("scores", scores, self.dtype, 1)

    # --------------------------------------------------------------------------------- kernels

    def _similarities(self) -> str:
        """k(x, z) of all rows x and support rows z, as (n, n_support)."""
        kernel, support = self.model.kernel_, _dense(self.model.support_vectors_)
        if isinstance(kernel, Gaussian):
            middle = self._rounded(support.mean(axis=0))  # the same for both kinds of rows
            rows = self._node("Sub", "X", self._constant(middle))
            support = support - middle.astype(np.float64)
            left = self._node("ReduceSumSquare", rows, axes=[1], keepdims=1)
            right = self._scores(-2.0 * support, (support**2).sum(axis=1), rows)
            squares = self._node("Max", self._node("Add", left, right), self._number(0.0))
            return self._node("Exp", self._node("Mul", squares, self._number(-kernel.gamma)))
        # A factor after a MatMul would be taken in float32 by onnxruntime: it is in the weights.
        if isinstance(kernel, Polynomial):
            return self._power(self._scores(kernel.gamma * support, kernel.coef0))
        return self._scores(support, 0.0)

    def _power(self, base: str) -> str:
        return self._node("Pow", base, self._number(self.model.kernel_.degree))

    def _squared_distances(self) -> str:
        """||F(x) - c||^2 of all rows x, with c the centre in the space of the kernel, as (n,)."""
        model, kernel = self.model, self.model.kernel_
        if isinstance(kernel, Linear):  # the centre can be written down
            center = self._rounded(model.dual_coef_[0] @ _dense(model.support_vectors_))
            away = self._node("Sub", "X", self._constant(center))
            return self._node("ReduceSumSquare", away, axes=[1], keepdims=0)
        sums = self._flat(
            self._scores(-2.0 * model.dual_coef_, [model._square], self._similarities())
        )
        own = self._number(1.0)
        if isinstance(kernel, Polynomial):
            norms = self._node("ReduceSumSquare", "X", axes=[1], keepdims=0)
            scaled = self._node("Mul", norms, self._number(kernel.gamma))
            own = self._power(self._node("Add", scaled, self._number(kernel.coef0)))
        return self._node("Max", self._node("Add", own, sums), self._number(0.0))

    def _blur(self) -> float:
        """What rounding may do to a squared distance, by the model or by the graph."""
        squares = (_dense(self.model.support_vectors_) ** 2).sum(axis=1)
        own = [self.model.kernel_.similarity(square, square, square) for square in squares.tolist()]
        return max(self.model._rounding, ROUNDING * float(np.finfo(self.dtype).eps) * max(own))

    # ---------------------------------------------------------------------------------- pieces

    def _scores(self, coef: Any, intercept: Any, rows: str = "X") -> str:
        weights = self._constant(np.ascontiguousarray(self._rounded(coef).T))
        product = self._node("MatMul", rows, weights)
        return self._node("Add", product, self._constant(self._rounded(intercept)))

    def _flat(self, column: str) -> str:
        return self._node("Squeeze", column, self._constant(np.array([1])))

    def _rounded(self, values: Any) -> Array:
        with np.errstate(over="ignore"):
            rounded = np.asarray(values).astype(self.dtype)
        if not np.isfinite(rounded).all():
            raise ModelError(f"a weight is not a finite {self.dtype} number: use dtype='float64'")
        return rounded

    def _number(self, value: float) -> str:
        return self._constant(self._rounded(value))

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


def _count(model: Any) -> int:
    """How many numbers the graph of a model holds, but for a few."""
    if hasattr(model, "kernel_"):
        return int(np.prod(model.support_vectors_.shape)) + int(model.dual_coef_.size)
    return int((model.center_ if isinstance(model, EnclosingBall) else model.coef_).size)


def _dense(rows: Any) -> Array:
    """Support rows as an array, in which sums are exact enough for any graph."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def _plain(classes: Array) -> Array:
    """Classes of a type that ONNX has: texts as objects, numbers as they are."""
    if classes.dtype.kind in "OU" and all(isinstance(text, str) for text in classes.tolist()):
        return classes.astype(object)
    if classes.dtype.kind in "biuf":
        return classes
    raise ModelError(f"classes_ of the dtype {classes.dtype} are neither numbers nor texts")
