"""Linear regression on a Dask cluster: the parameters and attributes of the plain estimator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn.base import RegressorMixin

from skimlearn.distributed._model import (
    PARAMETERS,
    DaskModel,
    shared_parameters,
    with_answer_of,
)
from skimlearn.distributed._pieces import Facts
from skimlearn.distributed._sources import is_collection
from skimlearn.distributed._team import Cluster
from skimlearn.estimators._parameters import documented
from skimlearn.estimators.regressor import LinearRegressor
from skimlearn.solvers._run import rounding

__all__ = ["DaskLinearRegressor"]


@documented(parameters=PARAMETERS)
class DaskLinearRegressor(RegressorMixin, DaskModel):
    """`LinearRegressor` on a Dask cluster: the data stay on the workers.

    Parameters
    ----------
    loss : {"squared", "absolute", "huber", "epsilon_insensitive"} or Loss, default="squared"
        What a prediction costs, or an instance of one's own.
    {parameters}

    Attributes
    ----------
    coef_, intercept_, result_, n_iter_, n_features_in_, feature_names_in_
        As for `LinearRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from skimlearn.distributed import DaskLinearRegressor
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> model = DaskLinearRegressor(random_state=0, tol=1e-6).fit(X, X @ [1.0, 2.0, 3.0] + 4.0)
    >>> model.coef_.round(1), round(model.intercept_, 1)
    (array([1., 2., 3.]), 4.0)
    >>> client.close()
    """

    _labels = False

    def _fit(
        self, team: Cluster, facts: list[Facts], checkpoint: Any = None, resume: bool = False
    ) -> None:
        mean = sum(fact.weight for fact in facts) / sum(fact.n for fact in facts)
        lows, highs, sums = zip(*(fact.targets for fact in facts if fact.targets), strict=True)
        constant = lows[0] if min(lows) == max(highs) else None
        spec = self._spec(facts, mean_weight=mean, constant=constant)
        far = sum(sums) / sum(fact.weight for fact in facts)
        spec = replace(spec, rounding=rounding(spec.loss, far))
        self._keep(self._solve_all(team, facts, [spec], checkpoint, resume))
        self.coef_, self.intercept_ = self.result_.x, self.result_.bias

    def predict(self, X: Any) -> Any:
        """The predicted targets; lazy for a collection of Dask.

        Parameters
        ----------
        X : dask array or dataframe, array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n,)
        """
        return self._lazily("predict", X) if is_collection(X) else self._scores(X)[:, 0]

    def _plain(self) -> LinearRegressor:
        return with_answer_of(self, LinearRegressor(**shared_parameters(self)))
