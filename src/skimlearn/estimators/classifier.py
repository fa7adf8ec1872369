"""Linear classification: two classes, many classes one against the rest, or many labels a row."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.estimators._checks import (
    check_classes,
    classes_of,
    kind_of_classes,
    labels_of,
    one_column,
)
from skimlearn.estimators._classes import one_against_rest, two_or_more, weigh
from skimlearn.estimators._classifies import Classifies
from skimlearn.estimators._contract import ClassifierMixin
from skimlearn.estimators._parameters import PARAMETERS, documented
from skimlearn.estimators._streams import EVERY, Learned, Streams
from skimlearn.formulas.losses import Loss
from skimlearn.problem import check_weights

__all__ = ["LinearClassifier"]

Vector = NDArray[np.float64]


@documented(parameters=PARAMETERS)
class LinearClassifier(Classifies, ClassifierMixin, Streams):
    """A linear classifier that says how good it is.

    It minimises ``alpha * r(w) + mean loss`` and reports, in ``result_.certificate``, by how much
    the answer can differ from the optimum at most. More than two classes are learned one against
    the rest, on threads; a matrix of zeros and ones as y is learned label by label.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "log", "squared", "huber", ...} or Loss, default="hinge"
        What a prediction costs, or an instance of one's own. The losses of numbers compare the
        prediction with -1 and +1.
    {parameters}
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the rows.
    n_jobs : int or None, default=None
        Threads for more than two classes, as long as these are not solved side by side; -1 for
        all cores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes (for a matrix y: the numbers of its columns).
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        The weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The biases.
    result_ : Result
        The certificate, the reads, the history and more; sums for more than two classes.
    results_ : list of Result
        One for each weight vector.
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
    >>> from skimlearn import LinearClassifier
    >>> from skimlearn.datasets import load_spam
    >>> X, y = load_spam()
    >>> model = LinearClassifier(alpha=1e-4, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.97)
    True
    >>> bool(model.result_.certificate.relative_gap <= 1e-3)
    True
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
        average: str | None = None,
        batch_size: int | None = None,
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
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
            average=average,
            batch_size=batch_size,
            warm_start=warm_start,
            random_state=random_state,
            callback=callback,
            verbose=verbose,
        )
        self.class_weight = class_weight
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    # -------------------------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearClassifier:
        """Learn from rows X and their classes y.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.
        y : array of shape (n,), or matrix of zeros and ones of shape (n, n_labels)
            The classes, or the labels that each row has; None: those of the store.
        sample_weight : array of shape (n,) or None
            Non-negative weights of the rows.

        Returns
        -------
        self
        """
        X, y, labels = self._check_labels(X, labels_of(X, y))
        weights = check_weights(sample_weight, X.shape[0])
        if labels is not None:
            classes, targets = np.arange(labels.shape[1]), list(labels.T)
            all_weights = [
                weigh(self.class_weight, weights, (t > 0).astype(int), np.arange(2))
                for t in targets
            ]
        else:
            classes = two_or_more(classes_of(y))
            targets = one_against_rest(y, classes)
            all_weights = [weigh(self.class_weight, weights, y, classes)] * len(targets)
        self._keep(self._solve(X, targets, all_weights, self.n_jobs))
        self.classes_, self.multilabel_ = classes, labels is not None
        self.coef_ = np.stack([result.x for result in self.results_])
        self.intercept_ = np.array([result.bias for result in self.results_])
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> LinearClassifier:
        """Learn from a batch of rows by a step for each, on top of what was learned before.

        What was learned before may be the answer of `fit`; `fit` itself begins anew. Classes that
        were not seen before are added; their weights begin as those of a class that none of the
        former rows had.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows of the batch.
        y : array of shape (n,)
            Their classes.
        classes : array or None
            Classes to expect; optional.
        sample_weight : array of shape (n,) or None
            Non-negative weights of the rows.

        Returns
        -------
        self
        """
        began = time.perf_counter()
        self._learn_batch(X, y, classes, sample_weight)
        self._settle(began)
        return self

    def fit_stream(
        self,
        source: Any,
        *,
        classes: Any = None,
        checkpoint: Any = None,
        every: int = EVERY,
        resume: bool = False,
    ) -> LinearClassifier:
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
        classes : array or None
            Classes to expect; optional. New ones may come at any time.
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
        self._fit_stream(source, classes, options)
        return self

    def _learn_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Learned:
        fresh = self._is_fresh()
        X, y, labels = self._check_labels(X, y, reset=fresh)
        if labels is not None or (not fresh and self.multilabel_):
            raise ValueError(
                "partial_fit and fit_stream learn classes, not a matrix of labels: use fit, or one "
                "model for each label"
            )
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at hand: give a stream a dict of weights, "
                "or sample_weight"
            )
        known = [] if fresh else [self.classes_]
        expected = [] if classes is None else [np.asarray(classes)]
        all_classes = np.unique(np.concatenate([*known, *expected, np.unique(y)]))
        if len(all_classes) < 2:
            raise ValueError(
                f"y holds only one class, {all_classes.tolist()[0]!r}: name the others in the "
                "parameter classes"
            )
        weights = check_weights(sample_weight, X.shape[0])
        weights = weigh(self.class_weight, weights, y, all_classes)
        targets = one_against_rest(y, all_classes)
        problems = self._problems(X, targets, [weights] * len(targets))
        if fresh or self._streams is None:
            self._begin_streams(len(targets))
        if not fresh and len(all_classes) > len(self.classes_):
            self._add_streams(all_classes)
        self.classes_, self.multilabel_ = all_classes, False
        return self._learn(problems)

    def _errors(self, learned: Learned, y: Any) -> Vector:
        _, scores = learned
        if len(scores) == 1:
            found = self.classes_[(scores[0] > 0).astype(np.intp)]
        else:
            found = self.classes_[np.argmax(scores, axis=0)]
        return (found != np.asarray(y).ravel()).astype(np.float64)

    def _add_streams(self, classes: NDArray[Any]) -> None:
        """Make a stream for each class that is new."""
        streams = list(self._streams or [])
        if len(self.classes_) == 2:  # so far one model told the two apart
            streams = [streams[0].opposite(), streams[0]]
        kept = dict(zip(self.classes_.tolist(), streams, strict=True))
        self._streams = [kept.get(c) or self._late_stream() for c in classes.tolist()]

    def _late_stream(self) -> Any:
        stream = self._new_stream()
        stream.bias = -1.0 if self.bias == "free" else 0.0
        return stream

    def _check_labels(
        self, X: Any, y: Any, reset: bool = True
    ) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None]:
        """Checked rows, and either classes or a matrix of labels -1 and +1."""
        y = check_classes(y)
        kind = kind_of_classes(y)
        if kind.startswith("continuous"):
            raise ValueError(
                f"Unknown label type: {kind}. y holds numbers with fractions, which are no "
                "classes: use LinearRegressor, or bin them"
            )
        if kind == "multilabel-indicator":
            from sklearn.utils.validation import check_array, check_consistent_length

            X = self._check_data(X, reset=reset)
            dense = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
            labels = np.where(check_array(dense) > 0, 1.0, -1.0)
            check_consistent_length(X, labels)
            return X, np.empty(0), np.asfortranarray(labels)
        y = one_column(y)
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"Unknown label type: {kind}. y must hold one class for each row")
        X, y = self._check_data(X, y, reset=reset)
        return X, np.asarray(y), None
