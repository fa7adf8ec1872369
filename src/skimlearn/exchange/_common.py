"""What all exporters ask of a model."""

from __future__ import annotations

from typing import Any

from skimlearn.estimators._base import LinearModel
from skimlearn.estimators.sublinear import SublinearSVC
from skimlearn.formulas import losses

__all__ = ["check_linear", "loss_name"]

LOSSES = {cls: name for name, cls in losses.NAMES.items()}


def check_linear(model: Any, function: str) -> None:
    """Raise an error if this is no linear model, or one of many labels a row."""
    if not isinstance(model, LinearModel | SublinearSVC):
        raise TypeError(
            f"{function} takes a LinearClassifier, a LinearRegressor, their CV versions or a "
            f"SublinearSVC, not {type(model).__name__}"
        )
    if getattr(model, "multilabel_", False):
        raise ValueError(
            f"{function} has no form for a model of many labels a row: fit one model for each label"
        )


def loss_name(model: Any) -> str:
    """The name of the loss of a model; empty for a user's own."""
    loss = model.loss
    return loss if isinstance(loss, str) else LOSSES.get(type(loss), "")
