"""Linear classification on a Dask cluster: the parameters and attributes of the plain estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if

from skimlearn.distributed._model import (
    PARAMETERS,
    DaskModel,
    shared_parameters,
    with_answer_of,
)
from skimlearn.distributed._pieces import Facts, Spec
from skimlearn.distributed._sources import is_collection
from skimlearn.distributed._team import Cluster
from skimlearn.estimators._classifies import Classifies, has_probabilities
from skimlearn.estimators._parameters import documented
from skimlearn.estimators.classifier import LinearClassifier
from skimlearn.formulas.losses import Loss

__all__ = ["DaskLinearClassifier"]


@documented(parameters=PARAMETERS)
class DaskLinearClassifier(Classifies, ClassifierMixin, DaskModel):
    """`LinearClassifier` on a Dask cluster: the data stay on the workers.

    It minimises the same objective, and certifies the answer in the same way; only vectors travel.
    More than two classes are learned one against the rest, a matrix of zeros and ones as y label by
    label, all at the same time. A worker that is lost or joins changes nothing but the time.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "log", "squared", "huber", ...} or Loss, default="hinge"
        What a prediction costs, or an instance of one's own.
    {parameters}
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the rows.

    Attributes
    ----------
    classes_, coef_, intercept_, result_, results_, n_iter_, n_features_in_, feature_names_in_
        As for `LinearClassifier`. The history of the result has a line for each round, with the
        bytes moved so far; its dual variables are in the order of the partitions.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from skimlearn.datasets import load_spam
    >>> from skimlearn.distributed import DaskLinearClassifier
    >>> X, y = load_spam()
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> blocks = da.from_array(X[:, :50].toarray(), chunks=(2000, -1))
    >>> model = DaskLinearClassifier(alpha=1e-2, random_state=0).fit(blocks, y)
    >>> bool(model.result_.certificate.relative_gap <= 1e-3)
    True
    >>> model.predict(blocks)[:2].compute().shape
    (2,)
    >>> client.close()
    """

    _labels = True

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        alpha: float = 1e-4,
        p: float = 2.0,
        radius: float | None = None,
        bias: str = "free",
        solver: str = "auto",
        tol: float | None = 1e-3,
        max_epochs: int | None = 1000,
        max_reads: int | None = None,
        max_seconds: float | None = None,
        local_epochs: int = 2,
        partitions: int | None = None,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        client: Any = None,
        callback: Any = None,
        verbose: bool | None = None,
    ) -> None:
        super().__init__(
            loss,
            alpha=alpha,
            p=p,
            radius=radius,
            bias=bias,
            solver=solver,
            tol=tol,
            max_epochs=max_epochs,
            max_reads=max_reads,
            max_seconds=max_seconds,
            local_epochs=local_epochs,
            partitions=partitions,
            warm_start=warm_start,
            random_state=random_state,
            client=client,
            callback=callback,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _fit(
        self, team: Cluster, facts: list[Facts], checkpoint: Any = None, resume: bool = False
    ) -> None:
        if any(fact.fractions for fact in facts):
            raise ValueError(
                "y holds numbers with fractions, which are no classes: use DaskLinearRegressor"
            )
        columns = {None if fact.labels is None else len(fact.labels) for fact in facts}
        if len(columns) > 1:
            kinds = sorted("classes" if c is None else f"{c} labels" for c in columns)
            raise ValueError(f"the partitions of y have {kinds}: all must have the same")
        (count,) = columns
        if count is None:
            classes, specs = self._one_against_rest(facts)
        else:
            classes = np.arange(count)
            specs = [self._label(facts, c) for c in range(count)]
        self._keep(self._solve_all(team, facts, specs, checkpoint, resume))
        self.classes_, self.multilabel_ = classes, count is not None
        self.coef_ = np.stack([result.x for result in self.results_])
        self.intercept_ = np.array([result.bias for result in self.results_])

    def _one_against_rest(self, facts: list[Facts]) -> tuple[NDArray[Any], list[Spec]]:
        """The classes, and a problem for each, or for the second of two."""
        rows: dict[Any, int] = {}
        weight: dict[Any, float] = {}
        for fact in facts:
            for label, (count, amount) in fact.classes.items():
                rows[label] = rows.get(label, 0) + count
                weight[label] = weight.get(label, 0.0) + amount
        classes = np.unique(np.array(list(rows)))
        names = classes.tolist()
        if len(names) < 2:
            raise ValueError(
                f"y holds only one class, {names[0]!r}: a classifier needs rows of at least two"
            )
        more = self._weighed(names, rows, weight)
        positives = names[1:] if len(names) == 2 else names
        return classes, [self._spec(facts, positive=c, **more) for c in positives]

    def _label(self, facts: list[Facts], column: int) -> Spec:
        """The problem of one label of a matrix: whether a row has it."""
        having = [fact.labels[column] for fact in facts if fact.labels is not None]
        n, total = sum(fact.n for fact in facts), sum(fact.weight for fact in facts)
        count, amount = sum(pair[0] for pair in having), sum(pair[1] for pair in having)
        more = self._weighed([0, 1], {0: n - count, 1: count}, {0: total - amount, 1: amount})
        constant = {0: -1.0, n: 1.0}.get(count)
        return self._spec(facts, positive=1, column=column, constant=constant, **more)

    def _weighed(
        self, classes: list[Any], rows: dict[Any, int], weight: dict[Any, float]
    ) -> dict[str, Any]:
        """The factors of the classes, and the mean weight of a row after them."""
        factors = self._factors(classes, rows)
        mean = sum(weight[c] * factors.get(c, 1.0) for c in classes) / sum(rows.values())
        if not mean > 0.0:
            raise ValueError("the weights of all rows are zero: at least one must be positive")
        return {"mean_weight": mean, "factors": tuple(factors.items())}

    def _factors(self, classes: list[Any], rows: dict[Any, int]) -> dict[Any, float]:
        wanted = self.class_weight
        if wanted is None:
            return {}
        present = [c for c in classes if rows[c] > 0]  # all rows may have a label, or none
        if wanted == "balanced":
            total = sum(rows.values())
            return {c: total / (len(present) * rows[c]) for c in present}
        unknown = set(wanted) - set(classes) if isinstance(wanted, dict) else set()
        if unknown:
            raise ValueError(
                f"class_weight has the keys {sorted(map(str, unknown))}, which are not among the "
                f"classes {classes}"
            )
        try:
            factors = compute_class_weight(wanted, classes=np.array(classes), y=np.array(classes))
        except ValueError as error:
            raise ValueError(
                f"class_weight={wanted!r} must be a dict of numbers, 'balanced' or None"
            ) from error
        if not (np.isfinite(factors) & (factors >= 0.0)).all():
            raise ValueError(f"class_weight={wanted!r} must hold finite numbers >= 0")
        return dict(zip(classes, factors.tolist(), strict=True))

    def decision_function(self, X: Any) -> Any:
        """How sure the model is of each class; lazy for a collection of Dask.

        Parameters
        ----------
        X : dask array or dataframe, array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n,) for two classes, else (n, n_classes)
        """
        return (
            self._lazily("decision_function", X)
            if is_collection(X)
            else super().decision_function(X)
        )

    def predict(self, X: Any) -> Any:
        """The class of each row; lazy for a collection of Dask.

        Parameters
        ----------
        X : dask array or dataframe, array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n,), or (n, n_labels) if the model was fitted with a matrix
        """
        return self._lazily("predict", X) if is_collection(X) else super().predict(X)

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, for the log loss; lazy for a collection of Dask.

        Parameters
        ----------
        X : dask array or dataframe, array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n, n_classes)
        """
        return self._lazily("predict_proba", X) if is_collection(X) else super().predict_proba(X)

    def _plain(self) -> LinearClassifier:
        model = LinearClassifier(**shared_parameters(self), class_weight=self.class_weight)
        model.classes_, model.multilabel_ = self.classes_, self.multilabel_
        return with_answer_of(self, model)
