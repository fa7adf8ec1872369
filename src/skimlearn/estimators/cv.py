"""Estimators that choose alpha, and p, by cross-validation."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, indexable

from skimlearn.data.inspection import as_rows
from skimlearn.estimators._base import LinearModel
from skimlearn.estimators._checks import check_numbers, labels_of, seeds, workers
from skimlearn.estimators._classifies import Classifies
from skimlearn.estimators._parameters import SEARCH_ATTRIBUTES, SEARCH_PARAMETERS, documented
from skimlearn.estimators.classifier import LinearClassifier
from skimlearn.estimators.path import alpha_grid
from skimlearn.estimators.regressor import LinearRegressor
from skimlearn.formulas.losses import Loss
from skimlearn.problem import check_weights
from skimlearn.result import Status

__all__ = ["LinearClassifierCV", "LinearRegressorCV"]


class _Search(LinearModel):
    """Choose alpha and p on folds; each fold follows the path from strong to weak."""

    def _template(self) -> LinearModel:
        """The estimator without CV, with the parameters that the two share."""
        raise TypeError("a search names its estimator")

    def _copy(self, cls: type[LinearModel]) -> LinearModel:
        shared = set(cls._get_param_names()) & set(self._get_param_names())
        return cls(**{name: getattr(self, name) for name in shared})

    def _search(self, X: Any, y: Any, sample_weight: Any) -> LinearModel:
        X, y = indexable(X, y)
        template = self._template()
        self.alphas_ = alpha_grid(self.alphas)
        ps = np.atleast_1d(self.ps).tolist()
        if not ps:
            raise ValueError("ps=() must hold at least one norm between 1 and 2")
        classifier = is_classifier(template)
        splits = list(check_cv(self.cv, y, classifier=classifier).split(X, y))
        scorer = check_scoring(template, scoring=self.scoring)
        if sample_weight is not None:
            check_weights(sample_weight, _num_samples(X))
            sample_weight = np.asarray(sample_weight, dtype=np.float64)
        seed = int(seeds(self.random_state, 1)[0])
        stop = threading.Event()

        def follow(fold: int) -> NDArray[np.float64]:
            train, test = splits[fold]
            X_train, y_train = _safe_indexing(X, train), _safe_indexing(y, train)
            X_test, y_test = _safe_indexing(X, test), _safe_indexing(y, test)
            fit, score = {}, {}
            if sample_weight is not None:
                fit = {"sample_weight": sample_weight[train]}
                score = {"sample_weight": sample_weight[test]}
            scores = np.empty((len(ps), len(self.alphas_)))
            for i, p in enumerate(ps):
                model = clone(template).set_params(p=p, warm_start=True, random_state=seed)
                model.set_params(callback=lambda record: stop.is_set())
                for j, alpha in enumerate(self.alphas_):
                    model.set_params(alpha=float(alpha)).fit(X_train, y_train, **fit)
                    if stop.is_set() or model.result_.status is Status.INTERRUPTED:
                        raise KeyboardInterrupt
                    scores[i, j] = scorer(model, X_test, y_test, **score)
            return scores

        threads = workers(self.n_jobs, len(splits))
        self.scores_ = np.stack(_each(follow, len(splits), threads, stop), axis=2)
        means = self.scores_.mean(axis=2)
        i, j = np.unravel_index(int(np.argmax(means)), means.shape)
        self.alpha_, self.p_ = float(self.alphas_[j]), ps[int(i)]
        self.best_score_ = float(means[i, j])
        best = clone(template).set_params(alpha=self.alpha_, p=self.p_, random_state=seed)
        best.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        return best

    def _take_over(self, best: LinearModel) -> None:
        """Make the fitted attributes of the best estimator one's own."""
        for name, value in vars(best).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)


def _each(work: Any, count: int, threads: int, stop: threading.Event) -> list[NDArray[np.float64]]:
    """Do pieces of work, on threads if there are several; an interruption ends them all."""
    if threads == 1:
        return [work(k) for k in range(count)]
    with ThreadPoolExecutor(threads) as pool:
        try:
            return list(pool.map(work, range(count)))
        except BaseException:
            stop.set()
            raise


@documented(shared=SEARCH_PARAMETERS, attributes=SEARCH_ATTRIBUTES)
class LinearClassifierCV(Classifies, ClassifierMixin, _Search):
    """A linear classifier that chooses alpha, and p, by cross-validation.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        As for `LinearClassifier`.
    {shared}
    class_weight : dict, "balanced" or None, default=None
        As for `LinearClassifier`.

    Attributes
    ----------
    {attributes}
    classes_ : ndarray of shape (n_classes,)
        The classes.

    Examples
    --------
    >>> from skimlearn import LinearClassifierCV
    >>> from skimlearn.datasets import load_spam
    >>> X, y = load_spam()
    >>> model = LinearClassifierCV(alphas=[1e-2, 1e-4], cv=3, random_state=0).fit(X, y)
    >>> model.alpha_
    0.0001
    """

    _labels = True

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        alphas: Any = 11,
        ps: Sequence[float] = (2.0,),
        cv: Any = None,
        scoring: Any = None,
        radius: float | None = None,
        bias: str = "free",
        solver: str = "auto",
        tol: float | None = 1e-3,
        max_epochs: int | None = 1000,
        max_seconds: float | None = None,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.loss = loss
        self.alphas = alphas
        self.ps = ps
        self.cv = cv
        self.scoring = scoring
        self.radius = radius
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _template(self) -> LinearModel:
        return self._copy(LinearClassifier).set_params(n_jobs=None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearClassifierCV:
        """Choose alpha and p on folds of X and y, then learn from all rows.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.
        y : array of shape (n,)
            The classes; None: those of the store.
        sample_weight : array of shape (n,) or None
            Non-negative weights of the rows, in the fits and in the scores.

        Returns
        -------
        self
        """
        y = labels_of(X, y)
        checked, classes, labels = LinearClassifier._check_labels(self, X, y)
        as_rows(checked, bounded=True)
        y = classes if labels is None else y
        self._take_over(self._search(X, y, sample_weight))
        return self


@documented(shared=SEARCH_PARAMETERS, attributes=SEARCH_ATTRIBUTES)
class LinearRegressorCV(RegressorMixin, _Search):
    """A linear regressor that chooses alpha, and p, by cross-validation.

    Parameters
    ----------
    loss : str or Loss, default="squared"
        As for `LinearRegressor`.
    {shared}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skimlearn import LinearRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearRegressorCV(alphas=[1e-1, 1e-3, 1e-5], random_state=0).fit(X, y)
    >>> bool(model.best_score_ > 0.45)
    True
    """

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        alphas: Any = 11,
        ps: Sequence[float] = (2.0,),
        cv: Any = None,
        scoring: Any = None,
        radius: float | None = None,
        bias: str = "free",
        solver: str = "auto",
        tol: float | None = 1e-3,
        max_epochs: int | None = 1000,
        max_seconds: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.loss = loss
        self.alphas = alphas
        self.ps = ps
        self.cv = cv
        self.scoring = scoring
        self.radius = radius
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _template(self) -> LinearModel:
        return self._copy(LinearRegressor)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearRegressorCV:
        """Choose alpha and p on folds of X and y, then learn from all rows.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.
        y : array of shape (n,)
            The targets; None: those of the store.
        sample_weight : array of shape (n,) or None
            Non-negative weights of the rows, in the fits and in the scores.

        Returns
        -------
        self
        """
        y = labels_of(X, y)
        check_numbers(y)
        as_rows(self._check_data(X, y, y_numeric=True)[0], bounded=True)
        self._take_over(self._search(X, y, sample_weight))
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
