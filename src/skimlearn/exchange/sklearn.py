"""Fitted linear models of scikit-learn, made from ours and taken as ours.

Estimators are exchanged, not files: scikit-learn's files are pickles, and to read a pickle is to
run whatever code is in it. Who trusts a file loads it with joblib or skops, and hands over what
comes out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import linear_model, svm
from sklearn.utils.validation import check_is_fitted

from skimlearn.estimators.classifier import LinearClassifier
from skimlearn.estimators.regressor import LinearRegressor
from skimlearn.estimators.sublinear import SublinearSVC
from skimlearn.estimators.weights import classifier_of, regressor_of
from skimlearn.exchange._common import check_linear, loss_name
from skimlearn.formulas.losses import EpsilonInsensitive, Huber, Loss

__all__ = ["from_sklearn", "to_sklearn"]

CLASSIFIERS = (
    linear_model.LogisticRegression,  # and its CV version, a subclass
    linear_model.Perceptron,
    linear_model.RidgeClassifier,
    linear_model.RidgeClassifierCV,
    linear_model.SGDClassifier,
    svm.LinearSVC,
)
REGRESSORS = (
    linear_model.ElasticNet,  # and Lasso
    linear_model.HuberRegressor,
    linear_model.LinearRegression,
    linear_model.QuantileRegressor,
    linear_model.Ridge,
    linear_model.RidgeCV,
    linear_model.SGDRegressor,
    svm.LinearSVR,
)
SGD_LOSSES = {
    "hinge": "hinge",
    "log_loss": "log",
    "squared_hinge": "squared_hinge",
    "perceptron": "hinge",
    "squared_error": "squared",
}
CARRIED = ("n_features_in_", "feature_names_in_")

# ------------------------------------------------------------------------------- to scikit-learn


def to_sklearn(model: Any) -> Any:
    """A fitted estimator of scikit-learn with the same predictions.

    ==============================  ==========================================================
    model                           estimator
    ==============================  ==========================================================
    log loss, two classes           LogisticRegression
    hinge, squared hinge            LinearSVC
    other losses, more classes      SGDClassifier, whose classes are one against the rest too
    regression, squared loss        Ridge
    epsilon-insensitive, absolute   LinearSVR
    Huber                           SGDRegressor
    ==============================  ==========================================================

    Parameters
    ----------
    model : LinearClassifier, LinearRegressor, their CV versions or SublinearSVC
        A fitted model.

    Returns
    -------
    estimator
        With ``coef_``, ``intercept_``, ``classes_`` and so on as if it had been fitted, and the
        equivalent ``C`` or ``alpha``, where there is one.

    Examples
    --------
    >>> from skimlearn import LinearClassifier
    >>> model = LinearClassifier(loss="log", alpha=0.1).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    >>> twin = to_sklearn(model)
    >>> type(twin).__name__, twin.predict([[9.0]]).tolist()
    ('LogisticRegression', [1])
    """
    check_linear(model, "to_sklearn")
    check_is_fitted(model)
    loss = loss_name(model)
    if not loss:
        raise ValueError(
            f"loss={model.loss!r} has no counterpart in scikit-learn: set it to one of skimlearn's "
            "losses (model.set_params), which leaves the predictions as they are"
        )
    if hasattr(model, "classes_"):
        twin = _classifier(model, loss)
        twin.classes_ = model.classes_.copy()
        twin.intercept_ = np.array(model.intercept_, dtype=np.float64)
    else:
        twin = _regressor(model, loss)
        scalar = isinstance(twin, linear_model.Ridge)
        twin.intercept_ = float(model.intercept_) if scalar else np.atleast_1d(model.intercept_)
    twin.coef_ = np.array(model.coef_)
    for name in CARRIED:
        if hasattr(model, name):
            setattr(twin, name, getattr(model, name))
    steps = model.n_iter_
    twin.n_iter_ = np.array([steps]) if isinstance(twin, linear_model.LogisticRegression) else steps
    if isinstance(twin, linear_model.SGDClassifier | linear_model.SGDRegressor):
        twin.t_ = 1.0 + getattr(model, "n_rows_seen_", 0)
    return twin


def _classifier(model: Any, loss: str) -> Any:
    intercept: dict[str, Any] = {"fit_intercept": model.bias != "none"}
    if loss == "log" and len(model.classes_) == 2:
        return linear_model.LogisticRegression(**intercept, **_cost(model))
    if loss in ("hinge", "squared_hinge"):
        return svm.LinearSVC(loss=loss, **intercept, **_cost(model))
    if loss == "log":
        options: dict[str, Any] = {"loss": "log_loss"}
    else:
        options = _sgd_loss(model.loss, loss)
    return linear_model.SGDClassifier(**options, **intercept, **_strength(model))


def _regressor(model: Any, loss: str) -> Any:
    intercept: dict[str, Any] = {"fit_intercept": model.bias != "none"}
    if loss == "squared":
        n, alpha = model.n_rows_seen_, _alpha(model)
        strength = {"alpha": alpha * n} if n and alpha else {}
        return linear_model.Ridge(**intercept, **strength)
    if loss == "huber":
        options = _sgd_loss(model.loss, loss)
        return linear_model.SGDRegressor(**options, **intercept, **_strength(model))
    epsilon = _sgd_loss(model.loss, loss)["epsilon"]
    return svm.LinearSVR(epsilon=epsilon, **intercept, **_cost(model))


def _sgd_loss(loss: str | Loss, name: str) -> dict[str, Any]:
    """The parameters by which scikit-learn's SGD names a loss of numbers."""
    if name == "squared":
        return {"loss": "squared_error"}
    if name == "huber":
        return {"loss": "huber", "epsilon": loss.delta if isinstance(loss, Huber) else Huber.delta}
    if name == "absolute":
        return {"loss": "epsilon_insensitive", "epsilon": 0.0}
    given = loss if isinstance(loss, EpsilonInsensitive) else EpsilonInsensitive()
    return {"loss": "epsilon_insensitive", "epsilon": given.epsilon}


def _alpha(model: Any) -> float | None:
    """The weight of the squared l2 norm, if that is what was minimised."""
    if isinstance(model, SublinearSVC) or getattr(model, "radius", None) is not None:
        return None
    if getattr(model, "p_", getattr(model, "p", 2.0)) != 2.0:
        return None
    return float(getattr(model, "alpha_", getattr(model, "alpha", 0.0)))


def _cost(model: Any) -> dict[str, float]:
    n, alpha = getattr(model, "n_rows_seen_", 0), _alpha(model)
    return {"C": 1.0 / (alpha * n)} if n and alpha else {}


def _strength(model: Any) -> dict[str, float]:
    alpha = _alpha(model)
    return {"alpha": alpha} if alpha else {}


# ----------------------------------------------------------------------------- from scikit-learn


def from_sklearn(estimator: Any) -> LinearClassifier | LinearRegressor:
    """A model with the weights, and so the predictions, of a fitted estimator of scikit-learn.

    Parameters
    ----------
    estimator : LogisticRegression, LinearSVC, SGDClassifier, RidgeClassifier, Perceptron, Ridge, \
LinearRegression, Lasso, ElasticNet, SGDRegressor, HuberRegressor, QuantileRegressor, LinearSVR, ...
        A fitted linear estimator, the CV versions included. Files are not taken: to read a pickle
        runs the code in it.

    Returns
    -------
    LinearClassifier or LinearRegressor
        ``loss`` is the estimator's own, or a near one. Probabilities are there if they are the
        same: a logistic regression of more than two classes has those of a softmax, which one
        against the rest has not, and is taken with ``loss="hinge"``. There is no certificate;
        ``result_.status`` is ``Status.IMPORTED``. `partial_fit` begins with the steps of a new
        model: set ``n_rows_seen_`` to the number of rows learned from for smaller ones.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> model = from_sklearn(Ridge(alpha=1e-9).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]))
    >>> model.predict([[3.0]]).round(6)
    array([7.])
    """
    if not isinstance(estimator, CLASSIFIERS + REGRESSORS):
        known = sorted(cls.__name__ for cls in CLASSIFIERS + REGRESSORS)
        raise TypeError(
            f"estimator={type(estimator).__name__} is not one of {known}, a model whose prediction "
            "is linear, nor is it derived from one"
        )
    check_is_fitted(estimator)
    coef = estimator.coef_
    coef = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)
    if isinstance(estimator, CLASSIFIERS):
        labels = getattr(estimator, "_label_binarizer", None)  # of a ridge classifier
        if getattr(labels, "y_type_", "").startswith("multilabel"):
            raise ValueError("an estimator of many labels a row can't be taken: make one for each")
        rows = 1 if len(estimator.classes_) == 2 else len(estimator.classes_)
        biases = np.broadcast_to(np.ravel(estimator.intercept_), (rows,))
        model: Any = classifier_of(
            np.atleast_2d(coef), biases, estimator.classes_, loss=_classifier_loss(estimator)
        )
    else:
        if coef.ndim == 2 and len(coef) > 1:
            raise ValueError(f"coef_ of shape {coef.shape}: a regression of one target is needed")
        bias = float(np.ravel(estimator.intercept_)[0])
        model = regressor_of(coef, bias, loss=_regressor_loss(estimator))
    if isinstance(estimator, linear_model.SGDClassifier | linear_model.SGDRegressor):
        model.set_params(alpha=float(estimator.alpha))
        model.n_rows_seen_ = max(0, int(estimator.t_) - 1)
    if not getattr(estimator, "fit_intercept", True):
        model.set_params(bias="none")
    if hasattr(estimator, "feature_names_in_"):
        model.feature_names_in_ = estimator.feature_names_in_
    return model


def _classifier_loss(estimator: Any) -> str | Loss:
    if isinstance(estimator, linear_model.LogisticRegression):
        return "log" if len(estimator.classes_) == 2 else "hinge"
    if isinstance(estimator, linear_model.RidgeClassifier | linear_model.RidgeClassifierCV):
        return "squared"
    return _loss(estimator, "hinge")


def _regressor_loss(estimator: Any) -> str | Loss:
    if isinstance(estimator, linear_model.QuantileRegressor) and estimator.quantile == 0.5:
        return "absolute"
    if isinstance(estimator, linear_model.HuberRegressor):
        return Huber(delta=float(estimator.epsilon * estimator.scale_))
    return _loss(estimator, "squared")


def _loss(estimator: Any, default: str) -> str | Loss:
    """The loss by the parameter ``loss`` of LinearSVC, LinearSVR and SGD."""
    name = getattr(estimator, "loss", "")
    if name == "huber":
        return Huber(delta=float(estimator.epsilon))
    if name == "epsilon_insensitive":
        return EpsilonInsensitive(epsilon=float(estimator.epsilon))
    return SGD_LOSSES.get(name, default)
