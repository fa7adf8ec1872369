"""Linear regression with any loss of numbers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.estimators._checks import check_numbers, labels_of
from skimlearn.estimators._contract import RegressorMixin
from skimlearn.estimators._parameters import PARAMETERS, documented
from skimlearn.estimators._streams import EVERY, Learned, Streams
from skimlearn.problem import check_weights

__all__ = ["LinearRegressor"]


@documented(parameters=PARAMETERS)
class LinearRegressor(RegressorMixin, Streams):
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
        began = time.perf_counter()
        self._learn_batch(X, y, None, sample_weight)
        self._settle(began)
        return self

    def fit_stream(
        self, source: Any, *, checkpoint: Any = None, every: int = EVERY, resume: bool = False
    ) -> LinearRegressor:
        """Learn from a stream of blocks of rows in one pass and constant memory.

        Rows are visited in random order within a block, so they should be well mixed over the
        stream. Each is predicted before it is learned: ``result_.history`` has the errors of these
        predictions (`Progressive`). ``max_seconds``, ``max_reads`` and the callback, which is
        called after every block, end the pass early. With ``warm_start`` the stream goes on from
        the former answer.

        Parameters
        ----------
        source : RowStream, path, iterable of (X, y), generator, callable, Store, ...
            Where the blocks of rows come from; see `RowStream`.
        checkpoint : path or None
            A file that holds the state after every so many rows, and at the end.
        every : int, default=1_000_000
            Rows between two checkpoints.
        resume : bool, default=False
            Go on from the checkpoint, if the file is there: with the same source and parameters
            the answer is, to the last bit, that of a run that was never interrupted.

        Returns
        -------
        self
        """
        options = {"checkpoint": checkpoint, "every": every, "resume": resume}
        self._fit_stream(source, None, options)
        return self

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Learned:
        check_numbers(y)
        fresh = self._is_fresh()
        X, y = self._check_data(X, y, y_numeric=True, reset=fresh)
        weights = check_weights(sample_weight, X.shape[0])
        targets = np.ascontiguousarray(y, dtype=np.float64)
        problems = self._problems(X, [targets], [weights])
        if fresh or self._streams is None:
            self._begin_streams(1)
        return self._learn(problems)

    def _errors(self, learned: Learned, y: Any) -> NDArray[np.float64]:
        (problem,), (scores,) = learned
        return (scores - problem.y) ** 2

    def _set_weights(self, coef: NDArray[np.float64], bias: NDArray[np.float64]) -> None:
        self.coef_, self.intercept_ = coef[0], float(bias[0])

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
