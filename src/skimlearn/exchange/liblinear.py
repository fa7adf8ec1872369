"""liblinear's model files: a few lines of text, then a line of weights for each feature.

    solver_type L2R_LR
    nr_class 2
    label 1 -1
    nr_feature 3
    bias 1
    w
    0.5
    ...

Feature 1 is column 0. With two classes there is one weight vector, of the label that comes first. A
``bias`` that is not negative is the value of one more feature, the last, so the intercept is its
weight times its value. For a regression there are no labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skimlearn.data._replacing import as_path, replacing
from skimlearn.data.tensors import ModelError
from skimlearn.estimators.classifier import LinearClassifier
from skimlearn.estimators.regressor import LinearRegressor
from skimlearn.estimators.weights import classifier_of, regressor_of
from skimlearn.exchange._common import check_linear, loss_name

__all__ = ["read_liblinear", "write_liblinear"]

CROSS = "MCSVM_CS"  # Crammer and Singer's: a weight vector for each class, also for two
CLASSIFIERS = {
    "L2R_LR": "log",
    "L2R_LR_DUAL": "log",
    "L1R_LR": "log",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L1R_L2LOSS_SVC": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    CROSS: "hinge",
}
REGRESSORS = {
    "L2R_L2LOSS_SVR": "squared",
    "L2R_L2LOSS_SVR_DUAL": "squared",
    "L2R_L1LOSS_SVR_DUAL": "epsilon_insensitive",
}
WRITTEN = {
    "log": "L2R_LR",
    "hinge": "L2R_L1LOSS_SVC_DUAL",
    "absolute": "L2R_L1LOSS_SVR_DUAL",
    "epsilon_insensitive": "L2R_L1LOSS_SVR_DUAL",
}
NEEDED = {"solver_type", "nr_class", "nr_feature", "bias"}
KEYS = NEEDED | {"label", "rho"}  # the last of a solver that is refused, by its name
LARGEST_LABEL = 2**31  # liblinear's labels are of C's type int
LINES = 4096  # of weights that are written at once


# ----------------------------------------------------------------------------------------- reading


def read_liblinear(path: Any) -> LinearClassifier | LinearRegressor:
    r"""Read a model file of liblinear.

    Parameters
    ----------
    path : str or PathLike
        A file that liblinear's ``train`` or ``save_model`` wrote.

    Returns
    -------
    LinearClassifier or LinearRegressor
        A fitted model with the same predictions. Its ``loss`` is that of the solver, or the nearest
        one; the strength of the regularizer is not in the file, so ``alpha`` has its default.

    Raises
    ------
    ModelError
        If the file is no such model.

    Examples
    --------
    >>> import os, tempfile
    >>> lines = ["solver_type L2R_LR", "nr_class 2", "label 1 -1", "nr_feature 2", "bias -1", "w"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "old.model")
    ...     with open(path, "w") as file:
    ...         print(*lines, 0.5, -2, sep="\n", file=file)
    ...     model = read_liblinear(path)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array([ 1, -1])
    """
    name = as_path(path)
    with open(name, "rb") as file:
        text = file.read()
    try:
        return _parse(text)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None


def _parse(text: bytes) -> LinearClassifier | LinearRegressor:
    head, separator, body = text.partition(b"\nw")
    if not separator or body[:1].strip():
        raise ModelError("there is no line 'w' before the weights: not a model of liblinear")
    fields = _fields(head)
    solver = fields["solver_type"][0]
    if solver not in CLASSIFIERS and solver not in REGRESSORS:
        raise ModelError(
            f"solver_type {solver[:40]} is not one of {sorted([*CLASSIFIERS, *REGRESSORS])}"
        )
    count, width = _whole(fields, "nr_class"), _whole(fields, "nr_feature")
    labels = [_integer(word, "label") for word in fields.get("label", [])]
    bias = _numbers(fields["bias"][:1], "bias")[0]
    classifies = solver in CLASSIFIERS
    if classifies and (len(labels) != count or len(set(labels)) != count or count < 2):
        raise ModelError(f"there must be nr_class={count} different labels, two or more")
    vectors = count if classifies and (count > 2 or solver == CROSS) else 1
    lines = width + (bias >= 0.0)
    words = body.split()
    if len(words) != lines * vectors or width < 1:
        raise ModelError(
            f"there are {len(words)} weights, but {lines} x {vectors} are needed: the file is "
            + ("cut off" if len(words) < lines * vectors else "longer than it should be")
        )
    weights = _numbers(words, "the weights").reshape(lines, vectors).T
    biases = weights[:, width] * bias if bias >= 0.0 else np.zeros(vectors)
    weights = weights[:, :width]
    if not np.isfinite(biases).all():
        raise ModelError("the weight of the bias times its value is not finite")
    if not classifies:
        return regressor_of(weights, biases[0], loss=REGRESSORS[solver])
    if count == 2:
        if solver == CROSS:
            weights, biases = weights[:1] - weights[1:], biases[:1] - biases[1:]
        labels = labels[::-1]
    return classifier_of(weights, biases, labels, loss=CLASSIFIERS[solver])


def _fields(head: bytes) -> dict[str, list[str]]:
    """The words behind each key."""
    fields: dict[str, list[str]] = {}
    for line in head.decode("latin-1").splitlines():
        key, *words = line.split() or [""]
        if key not in KEYS or key in fields or (key != "label" and len(words) != 1):
            raise ModelError(f"the line {line[:80]!r} is not understood")
        fields[key] = words
    missing = NEEDED - set(fields)
    if missing:
        raise ModelError(f"the lines {sorted(missing)} are missing")
    return fields


def _integer(word: str, key: str) -> int:
    if not word.removeprefix("-").isdecimal() or len(word) > 11:
        raise ModelError(f"{key} must be an integer, not {word[:40]!r}")
    return int(word)


def _whole(fields: dict[str, list[str]], key: str) -> int:
    number = _integer(fields[key][0], key)
    if number < 0:
        raise ModelError(f"{key} must not be negative, but is {number}")
    return number


def _numbers(words: list[Any], what: str) -> NDArray[np.float64]:
    try:
        numbers = np.array(words, dtype=np.float64)
    except ValueError as error:
        raise ModelError(f"{what} must be numbers: {str(error)[:80]}") from None
    if not np.isfinite(numbers).all():
        raise ModelError(f"{what} must be finite")
    return numbers


# ----------------------------------------------------------------------------------------- writing


def write_liblinear(model: Any, path: Any) -> None:
    """Write a model file that liblinear reads.

    Parameters
    ----------
    model : LinearClassifier, LinearRegressor, their CV versions or SublinearSVC
        A fitted model. Its classes must be whole numbers, since those of liblinear are.
    path : str or PathLike
        Where to. A former file is replaced when the new one is complete.

    Notes
    -----
    ``solver_type`` is that of the loss, or of the nearest one that liblinear has: predictions do
    not depend on it. Weights have 17 digits, so that they are read back to the bit.

    Examples
    --------
    >>> import os, tempfile
    >>> from skimlearn import LinearRegressor
    >>> model = LinearRegressor(bias="none").fit([[1.0], [2.0]], [1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "line.model")
    ...     write_liblinear(model, path)
    ...     with open(path) as file:
    ...         lines = file.read().splitlines()
    >>> lines[0]
    'solver_type L2R_L2LOSS_SVR'
    >>> lines[3:5]
    ['bias -1', 'w']
    """
    check_linear(model, "write_liblinear")
    check_is_fitted(model)
    loss = loss_name(model)
    weights, biases = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if hasattr(model, "classes_"):
        solver = WRITTEN.get(loss, "") if loss in ("log", "hinge") else "L2R_L2LOSS_SVC"
        labels = _labels(model.classes_)
        if len(labels) == 2:
            labels = labels[::-1]  # the one of positive scores comes first
    else:
        solver, labels = WRITTEN.get(loss, "L2R_L2LOSS_SVR"), []
    constant = bool(biases.any()) or model.bias != "none"
    head = [f"solver_type {solver}", f"nr_class {max(2, len(labels))}"]
    if labels:
        head.append(" ".join(["label", *map(str, labels)]))
    head += [f"nr_feature {weights.shape[1]}", f"bias {1 if constant else -1}", "w", ""]
    lines = np.vstack([weights.T, biases]) if constant else weights.T
    with replacing(path) as file:
        file.write("\n".join(head).encode("ascii"))
        for start in range(0, len(lines), LINES):
            rows = lines[start : start + LINES].tolist()
            file.write("".join(_line(row) for row in rows).encode("ascii"))


def _line(row: list[float]) -> str:
    return "".join(f"{weight:.17g} " for weight in row) + "\n"


def _labels(classes: NDArray[Any]) -> list[int]:
    whole = classes.dtype.kind in "iub" or (
        classes.dtype.kind == "f" and bool((classes == np.floor(classes)).all())
    )
    if not whole or not all(-LARGEST_LABEL <= c < LARGEST_LABEL for c in classes.tolist()):
        raise ModelError(
            f"classes_={classes.tolist()!r}: liblinear's labels are whole numbers of 32 bits; "
            "learn from such numbers, for example with scikit-learn's LabelEncoder"
        )
    return [int(c) for c in classes.tolist()]
