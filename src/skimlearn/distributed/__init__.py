"""Training on a cluster, by Dask: the data stay on the workers, and only vectors travel.

Names are loaded when they are first used, and Dask when a model is fitted.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skimlearn.distributed._team import ClusterError
    from skimlearn.distributed.classifier import DaskLinearClassifier
    from skimlearn.distributed.extremes import enclosing_ball, matrix_game, max_margin
    from skimlearn.distributed.grid import alpha_grid
    from skimlearn.distributed.regressor import DaskLinearRegressor

_HOMES = {
    "ClusterError": "_team",
    "DaskLinearClassifier": "classifier",
    "DaskLinearRegressor": "regressor",
    "alpha_grid": "grid",
    "enclosing_ball": "extremes",
    "matrix_game": "extremes",
    "max_margin": "extremes",
}

__all__ = [
    "ClusterError",
    "DaskLinearClassifier",
    "DaskLinearRegressor",
    "alpha_grid",
    "enclosing_ball",
    "matrix_game",
    "max_margin",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'skimlearn.distributed' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
