"""Many strengths of the regularizer at once: fits that share their partitions."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from skimlearn.distributed._model import MOST_AT_ONCE, DaskModel

__all__ = ["alpha_grid"]


def alpha_grid(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, alphas: Sequence[float]
) -> list[Any]:
    """Fit a model for each alpha, all at the same time, on data that are loaded once.

    Parameters
    ----------
    model : DaskLinearClassifier or DaskLinearRegressor
        Its parameters but for alpha; it is not changed.
    X, y, sample_weight
        The data, as for its `fit`.
    alphas : sequence of float
        The strengths.

    Returns
    -------
    list
        A fitted model for each alpha, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from skimlearn.distributed import DaskLinearRegressor, alpha_grid
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> models = alpha_grid(DaskLinearRegressor(), X, X[:, 0], alphas=[1.0, 0.01])
    >>> [round(float(model.coef_[0]), 1) for model in models]
    [0.5, 1.0]
    >>> client.close()
    """
    if not isinstance(model, DaskModel):
        raise TypeError(f"model={model!r} must be a DaskLinearClassifier or DaskLinearRegressor")
    parameters = model.get_params(deep=False)
    models = [type(model)(**parameters | {"alpha": float(alpha)}) for alpha in alphas]
    if not models:
        return []
    team, facts = models[0]._team(X, y, sample_weight)
    for other in models[1:]:
        other._check_parameters()
        other.n_features_in_ = models[0].n_features_in_
        if hasattr(models[0], "feature_names_in_"):
            other.feature_names_in_ = models[0].feature_names_in_
    with ThreadPoolExecutor(min(len(models), MOST_AT_ONCE)) as pool:
        futures = [pool.submit(other._fit, team.fork(), facts) for other in models]
        try:
            for future in futures:
                future.result()
        except BaseException:
            team.stop.set()
            raise
    return models
