"""A soft-margin classifier that reads a part of the rows and columns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import Matrix
from skimlearn.data.oracle import Oracle
from skimlearn.estimators._base import linear_scores, summary
from skimlearn.estimators._checks import check_data, labels_of, one_class_each
from skimlearn.estimators._classes import one_against_rest, two_or_more
from skimlearn.estimators._classifies import Classifies
from skimlearn.estimators._contract import ClassifierMixin, ConvergenceWarning
from skimlearn.estimators._estimator import Estimator
from skimlearn.estimators._margin_runs import MarginRuns
from skimlearn.result import Result, Status
from skimlearn.solvers._limits import Limits, check_promise
from skimlearn.solvers._source import as_source
from skimlearn.solvers.choose_margin import SOLVERS
from skimlearn.solvers.soft_margin import SoftMargin, check_slack

__all__ = ["SublinearSVC"]

Vector = NDArray[np.float64]
BIASES = ("free", "none")
KAPPA = 0.2  # where neither nu nor kappa is given


class SublinearSVC(Classifies, ClassifierMixin, Estimator):
    """A support vector machine learned from single rows and columns, with a certificate.

    Where few rows decide the answer (rare classes, edge cases, fraud), or where features cost time
    or money to compute, it needs a small part of the entries. On ordinary data, where all rows tell
    much the same, and on sparse text, `LinearClassifier` reaches the same test error with fewer
    reads. Its parameter is the slack ``nu`` or
    the fraction ``kappa`` of rows that may lie inside of the margin, which is easier to guess than
    the ``alpha`` of `LinearClassifier`; ``result_.alpha`` says which alpha it corresponds to. More
    than two classes are learned one against the rest.

    Parameters
    ----------
    nu : float or None, default=None
        The mean slack, 0 or more, in units of the longest row. 0 is the hard margin.
    kappa : float or None, default=None
        The fraction of rows, in (0, 1], whose mean response is maximised. If neither is given,
        kappa is 0.2.
    bias : {"free", "none"}, default="free"
        Whether to learn an intercept; it is no greater than the longest row is long.
    eps : float, default=0.02
        How far from the best margin the answer may be, in units of the longest row.
    mode : {"las-vegas", "high-probability", "monte-carlo"}, default="las-vegas"
        What is promised: a proof, a promise that fails with probability delta, or one that holds
        in half of all runs; the last reads all rows only once, for their lengths, and with
        bias="none" and no nu, or from an `Oracle` with ``rows_norm``, not even that.
    delta : float, default=0.05
        The probability of failure in mode "high-probability".
    solver : {"auto", "simba", "tracking", "extragradient", "working-set"}, default="auto"
        The algorithm; ``result_.solver`` says which one "auto" took. "simba" is the paper's, and
        the one for nu; "tracking" needs the fewest reads where a few rows decide.
    batch_size : int, default=1
        Columns read in a step of "simba" and "tracking".
    max_steps : int or None, default=1_000_000
        Stop after so many steps.
    max_reads : int or None, default=None
        Stop before more stored entries than that are read.
    max_seconds : float or None, default=None
        Stop after so many seconds.
    warm_start : bool, default=False
        Whether a fit with the same `Oracle`, `Matrix` or `Store` goes on where the last one
        stopped, be it at a limit or at an error of the oracle's functions.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.
    n_jobs : int or None, default=None
        Threads, for more than two classes one for each class; those that are left over share the
        steps of a class where the data is dense and large. -1 for all cores.
    callback : callable or None, default=None
        Called with a `Record` at each check; a true answer stops the fit.
    verbose : bool or None, default=None
        True: a line for each check; None: a progress line on a terminal; False: nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    coef_ : ndarray of shape (1, d) or (n_classes, d)
        The weights, scaled to a margin of 1 where the margin is known and positive.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The biases.
    result_ : SoftMargin or Result
        The certificate, the reads, the equivalent alpha and C; sums for more than two classes.
    results_ : list of SoftMargin
        One for each weight vector.
    n_iter_ : int
        Steps.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if X had names.

    Examples
    --------
    >>> from skimlearn import SublinearSVC
    >>> from skimlearn.datasets import load_spam
    >>> X, y = load_spam()
    >>> model = SublinearSVC(kappa=0.2, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    >>> model.result_.status
    <Status.CONVERGED: 'the target gap was reached'>
    """

    multilabel_ = False
    loss = "hinge"

    def __init__(
        self,
        *,
        nu: float | None = None,
        kappa: float | None = None,
        bias: str = "free",
        eps: float = 0.02,
        mode: str = "las-vegas",
        delta: float = 0.05,
        solver: str = "auto",
        batch_size: int = 1,
        max_steps: int | None = 1_000_000,
        max_reads: int | None = None,
        max_seconds: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.nu = nu
        self.kappa = kappa
        self.bias = bias
        self.eps = eps
        self.mode = mode
        self.delta = delta
        self.solver = solver
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.max_reads = max_reads
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> SublinearSVC:
        """Learn from rows X and their classes y.

        Parameters
        ----------
        X : array, sparse matrix, Store, Matrix or Oracle of shape (n, d)
            The rows.
        y : array of shape (n,)
            The classes; None: those of the store.

        Returns
        -------
        self
        """
        self._check_parameters()
        y = one_class_each(labels_of(X, y))
        given = X
        if isinstance(X, Oracle | Matrix):
            if len(y) != X.shape[0]:
                raise ValueError(f"y has {len(y)} labels, but X has {X.shape[0]} rows")
            self.n_features_in_ = X.shape[1]
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        else:
            X, y = check_data(self, X, y, reset=True)
        classes = two_or_more(np.unique(y))
        targets = one_against_rest(y, classes)
        runs = getattr(self, "_runs", None)
        if not (self.warm_start and runs is not None and runs.is_of(self, given, targets)):
            self._runs = MarginRuns(self, given, as_source(X), targets)
        results = self._runs.run(self)
        self._warn(results)
        self.classes_ = classes
        self.results_ = results
        self.result_: Result = results[0] if len(results) == 1 else summary(results)
        models = self._runs.models(results)
        self.coef_ = np.stack([w for w, _ in models])
        self.intercept_ = np.array([b for _, b in models])
        self.n_iter_ = max(1, max(int(result.history[-1].epoch) for result in results))
        if not self.warm_start:
            del self._runs
        return self

    def __getstate__(self) -> dict[str, Any]:
        """All but the run: it holds the data, and an oracle's functions can't be written."""
        state = super().__getstate__().items()
        return {name: value for name, value in state if name != "_runs"}

    def _check_parameters(self) -> None:
        """Refuse bad parameters before anything is read, as the user wrote them."""
        if self.bias not in BIASES:
            raise ValueError(f"bias={self.bias!r} must be one of {BIASES}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r} must be one of {SOLVERS}")
        check_promise(self.mode, self.delta, batch_size=self.batch_size)
        check_slack(self.nu, self._kappa())
        self._limits(1.0, 1)

    def _limits(self, length: float, count: int) -> Limits:
        return Limits(
            eps=self.eps * length,
            max_reads=None if self.max_reads is None else self.max_reads // count,
            max_steps=self.max_steps,
            max_seconds=None if self.max_seconds is None else self.max_seconds / count,
        )

    def _kappa(self) -> float | None:
        return KAPPA if self.nu is None and self.kappa is None else self.kappa

    def _warn(self, results: list[SoftMargin]) -> None:
        statuses = {result.status for result in results}
        if Status.INTERRUPTED in statuses:
            text = "the fit was interrupted: the model is the best one found so far"
            warnings.warn(text, UserWarning, stacklevel=3)
        elif self.nu is None and any(
            result.status is Status.CONVERGED and not result.x.any() for result in results
        ):
            text = (
                f"no weights have a margin above eps={self.eps:g} at kappa={self._kappa()}: "
                "the classes overlap more than that; raise kappa, or give nu instead"
            )
            warnings.warn(text, UserWarning, stacklevel=3)
        elif Status.STEPS in statuses:
            gap = max(result.certificate.gap for result in results) / self._runs.length
            text = (
                f"the gap is {gap:.2g}, above eps={self.eps:g}, after max_steps={self.max_steps} "
                "steps: raise max_steps, eps or kappa"
            )
            warnings.warn(text, ConvergenceWarning, stacklevel=3)

    def _scores(self, X: Any) -> NDArray[Any]:
        return linear_scores(self, X)
