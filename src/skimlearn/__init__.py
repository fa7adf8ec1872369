"""Linear models in time that does not grow with the data, each answer with a certificate.

Names are loaded when they are first used, so that the import itself is light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from skimlearn import datasets
    from skimlearn.data.oracle import Oracle
    from skimlearn.estimators.classifier import LinearClassifier
    from skimlearn.estimators.cv import LinearClassifierCV, LinearRegressorCV
    from skimlearn.estimators.path import regularization_path
    from skimlearn.estimators.regressor import LinearRegressor
    from skimlearn.formulas import losses, regularizers
    from skimlearn.result import Budget, Certificate, Result, Status
    from skimlearn.solvers.game import matrix_game

_HOMES = {
    "Budget": "skimlearn.result",
    "Certificate": "skimlearn.result",
    "LinearClassifier": "skimlearn.estimators.classifier",
    "LinearClassifierCV": "skimlearn.estimators.cv",
    "LinearRegressor": "skimlearn.estimators.regressor",
    "LinearRegressorCV": "skimlearn.estimators.cv",
    "Oracle": "skimlearn.data.oracle",
    "Result": "skimlearn.result",
    "Status": "skimlearn.result",
    "matrix_game": "skimlearn.solvers.game",
    "regularization_path": "skimlearn.estimators.path",
}
_MODULES = {
    "datasets": "skimlearn.datasets",
    "losses": "skimlearn.formulas.losses",
    "regularizers": "skimlearn.formulas.regularizers",
}

__all__ = [
    "Budget",
    "Certificate",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearRegressor",
    "LinearRegressorCV",
    "Oracle",
    "Result",
    "Status",
    "datasets",
    "losses",
    "matrix_game",
    "regularization_path",
    "regularizers",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    else:
        raise AttributeError(f"module 'skimlearn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
