"""Linear regression with any loss of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from skimlearn.estimators._base import LinearModel
from skimlearn.estimators._checks import check_numbers, labels_of
from skimlearn.estimators._parameters import PARAMETERS, documented
from skimlearn.problem import check_weights

__all__ = ["LinearRegressor"]


@documented(parameters=PARAMETERS)
class LinearRegressor(RegressorMixin, LinearModel):
    """A linear regressor that says how good it is.

    It minimises ``alpha * r(w) + mean loss`` and reports, in ``result_.certificate``, by how much
    the answer can differ from the optimum at most.

    Parameters
    ----------
    loss : {"squared", "absolute", "huber", "epsilon_insensitive"} or Loss, default="squared"
        What an error costs ("squared" is half the squared error), or an instance of one's own.
    {parameters}

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The weights.
    intercept_ : float
        The bias.
    result_ : Result
        The certificate, the reads, the history and more.
    n_iter_ : int
        Epochs, rounded up.
    n_rows_seen_ : int
        The number of rows learned from: those of `fit`, and of all batches since.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skimlearn import LinearRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressor(alpha=1e-4, tol=1e-6, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 3)
    0.515
    >>> bool(model.result_.certificate.relative_gap <= 1e-6)
    True
    """

    _labels = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearRegressor:
        """Learn from rows X and targets y.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.
        y : array of shape (n,)
            The targets; None: those of the store.
        sample_weight : array of shape (n,) or None
            Non-negative weights of the rows.

        Returns
        -------
        self
        """
        y = labels_of(X, y)
        check_numbers(y)
        X, y = self._check_data(X, y, y_numeric=True)
        weights = check_weights(sample_weight, X.shape[0])
        targets = np.ascontiguousarray(y, dtype=np.float64)
        self._keep(self._solve(X, [targets], [weights]))
        self.coef_, self.intercept_ = self.result_.x, self.result_.bias
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearRegressor:
        """Learn from a batch of rows by a step for each, on top of what was learned before.

        What was learned before may be the answer of `fit`; `fit` itself begins anew.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows of the batch.
        y : array of shape (n,)
            Their targets.
        sample_weight : array of shape (n,) or None
            Non-negative weights of the rows.

        Returns
        -------
        self
        """
        check_numbers(y)
        fresh = not hasattr(self, "coef_")
        X, y = self._check_data(X, y, y_numeric=True, reset=fresh)
        weights = check_weights(sample_weight, X.shape[0])
        targets = np.ascontiguousarray(y, dtype=np.float64)
        problems = self._problems(X, [targets], [weights])
        if fresh or self._streams is None:
            self._begin_streams(1)
        coef, bias = self._learn(problems)
        self.coef_, self.intercept_ = coef[0], float(bias[0])
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted targets of rows X.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._scores(X)[:, 0]
