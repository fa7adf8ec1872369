"""What all estimators have in common: files, reports, and rows that may be sparse."""

from __future__ import annotations

from typing import Any

from skimlearn.estimators._contract import BaseEstimator
from skimlearn.estimators._reports import Reports
from skimlearn.estimators._saves import Saves

__all__ = ["Estimator"]


class Estimator(Saves, Reports, BaseEstimator):
    """An estimator of this library."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
