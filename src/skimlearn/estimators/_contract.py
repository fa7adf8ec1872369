"""What makes a class one of scikit-learn's estimators, or only looks so in a process of ``skim``.

The import of scikit-learn takes longer than to read and to learn from a file of 100 MB. A command
that learns or predicts needs nothing of it but `get_params`, so there the base classes are those
below (`skimlearn.cli` sets ``CONTRACT`` before it loads an estimator). What is learned, checked and
saved is the same code in both cases.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skimlearn import estimators

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "ConvergenceWarning",
    "OutlierMixin",
    "RegressorMixin",
    "assume_finite",
    "available_if",
    "check_is_fitted",
]

if TYPE_CHECKING or estimators.CONTRACT:
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.metaestimators import available_if
else:

    class BaseEstimator:
        """Parameters by name, as scikit-learn has them."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return sorted(inspect.signature(cls).parameters)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **parameters: Any) -> BaseEstimator:
            for name, value in parameters.items():
                setattr(self, name, value)
            return self

    class ClassifierMixin:
        """Nothing: the command line has scores of its own."""

    class RegressorMixin:
        """As for classifiers."""

    class OutlierMixin:
        """As for classifiers."""

    class ConvergenceWarning(UserWarning):
        """A target was not reached."""

    class available_if:
        """A method that an object has if a condition holds, which may raise an AttributeError."""

        def __init__(self, condition: Callable[[Any], bool]) -> None:
            self.condition = condition

        def __call__(self, method: Callable[..., Any]) -> available_if:
            self.method = method
            return self

        def __get__(self, owner: Any, kind: Any = None) -> Any:
            if owner is None:
                return self.method
            if not self.condition(owner):
                raise AttributeError(f"there is no {self.method.__name__}")
            return self.method.__get__(owner, kind)


def check_is_fitted(model: Any) -> None:
    """Raise scikit-learn's error if a model was not fitted."""
    if not hasattr(model, "n_features_in_"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)


def assume_finite() -> bool:
    """Whether scikit-learn is told not to look for nan and inf."""
    return "sklearn" in sys.modules and sys.modules["sklearn"].get_config()["assume_finite"]
