"""Classification with a kernel: curved boundaries, one against the rest."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_rows import KernelRows
from skimlearn.estimators._base import summary
from skimlearn.estimators._checks import check_data, labels_of, one_class_each, seeds, workers
from skimlearn.estimators._classes import one_against_rest, two_or_more, weigh
from skimlearn.estimators._classifies import Classifies
from skimlearn.estimators._contract import ClassifierMixin, ConvergenceWarning
from skimlearn.estimators._estimator import Estimator
from skimlearn.estimators._progress import Progress
from skimlearn.estimators._support import keep_support, kernel_of, support_sums
from skimlearn.formulas.kernels import Kernel
from skimlearn.formulas.losses import Loss
from skimlearn.problem import check_weights
from skimlearn.result import Status
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.choose_kernel import Machines

__all__ = ["KernelClassifier"]

Vector = NDArray[np.float64]


class KernelClassifier(Classifies, ClassifierMixin, Estimator):
    """A support vector machine, or another classifier with a kernel, that says how good it is.

    It minimises ``alpha / 2 ||h||^2 + mean loss`` over the functions h of the kernel's space, and
    reports, in ``result_.certificate``, by how much the answer can differ from the optimum at
    most. More than two classes are learned one against the rest; for the hinge all at once: a
    value of the kernel is computed for all of them.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"} or Kernel, default="rbf"
        The Gaussian ``exp(-gamma ||x - z||^2)``, the polynomial ``(gamma <x, z> + coef0) **
        degree``, the inner product, or an instance of one's own (see `skimlearn.kernels`).
    loss : str or Loss, default="hinge"
        "hinge", "log" (with `predict_proba`), "squared_hinge", "squared", any other name of
        `skimlearn.losses`, or an instance of one's own.
    gamma : float, "scale" or "auto", default="scale"
        The scale of "rbf" and "poly"; "scale" is ``1 / (d * variance of X)``, "auto" ``1 / d``.
    degree : int, default=3
        The degree of "poly".
    coef0 : float, default=0.0
        The constant of "poly".
    alpha : float, default=1e-4
        Strength of the regularizer; ``C = 1 / (alpha * n)`` in LIBSVM's terms.
    kappa : float or None, default=None
        If given, it takes the place of alpha: the mean response of this part of the rows, the
        worst ones, is maximised by a unit vector (the ``nu`` of scikit-learn's NuSVC). Weighted
        rows count by their weights; solver "perceptron" knows no weights. For the hinge only.
    bias : {"free", "none"}, default="free"
        The intercept: solved for exactly, or absent.
    solver : {"auto", "working-set", "dual", "pgs", "pegasos", "perceptron"}, default="auto"
        The algorithm; "auto" is "working-set" for the hinge and "dual" for other losses. "dual",
        "pgs" and "pegasos", which is PGS for the hinge, are for alpha, and "perceptron", which
        reads a part of the entries, for kappa. ``result_.solver`` says what was done.
    tol : float, default=1e-2
        Stop when the duality gap is at most ``tol`` times the objective; with kappa, at most
        ``tol`` times the greatest length of a row in the space of the kernel.
    max_steps : int or None, default=None
        Stop after so many rounds of "working-set", steps of "perceptron", visits of a class by
        the others.
    max_reads : int or None, default=None
        Stop before more stored entries than that are read; a value of the kernel reads a row.
    max_seconds : float or None, default=None
        Stop at the first look at all rows after so many seconds.
    cache_bytes : int, default=2**30
        Memory for values of the kernel.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied with those of the rows.
    random_state : int, Generator, RandomState or None, default=None
        Source of the rows that are looked at first.
    n_jobs : int or None, default=None
        Threads that compute values of the kernel; -1 for all cores.
    callback : callable or None, default=None
        Called with a `Record` at each check of each class; a true answer stops the fit.
    verbose : bool or None, default=None
        True: a line for each check; None: a progress line on a terminal; False: nothing.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    kernel_ : Kernel
        The kernel, with the numbers that "scale" and "auto" stood for.
    support_ : ndarray of shape (n_support,)
        The rows that the answer is made of.
    support_vectors_ : ndarray or CSR array of shape (n_support, d)
        These rows.
    dual_coef_ : ndarray of shape (1, n_support) or (n_classes, n_support)
        Their coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The biases.
    result_ : Result
        The certificate, the reads, the history and more; sums for more than two classes.
    results_ : list of Result
        One for each class.
    n_iter_ : int
        Rounds.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if X had names.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = (X**2).sum(axis=1) < 1.0  # a disk: no line parts it from the rest
    >>> model = KernelClassifier(alpha=1e-3, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    >>> bool(model.result_.certificate.relative_gap <= 1e-2)
    True
    """

    multilabel_ = False

    def __init__(
        self,
        kernel: str | Kernel = "rbf",
        *,
        loss: str | Loss = "hinge",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        alpha: float = 1e-4,
        kappa: float | None = None,
        bias: str = "free",
        solver: str = "auto",
        tol: float = 1e-2,
        max_steps: int | None = None,
        max_reads: int | None = None,
        max_seconds: float | None = None,
        cache_bytes: int = 2**30,
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        callback: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.kappa = kappa
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_steps = max_steps
        self.max_reads = max_reads
        self.max_seconds = max_seconds
        self.cache_bytes = cache_bytes
        self.class_weight = class_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelClassifier:
        """Learn from rows X and their classes y.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.
        y : array of shape (n,)
            The classes; None: those of the store.
        sample_weight : array of shape (n,) or None
            Non-negative weights of the rows.

        Returns
        -------
        self
        """
        machines, limits = self._asked()
        y = one_class_each(labels_of(X, y))
        X, y = check_data(self, X, y, reset=True)
        rows = as_rows(X, bounded=True)
        classes = two_or_more(np.unique(y))
        weights = check_weights(sample_weight, rows.shape[0])
        self.kernel_ = kernel_of(self, rows, weights)
        targets = np.stack(one_against_rest(y, classes))
        weights = weigh(self.class_weight, weights, y, classes)
        table = KernelRows(
            rows, self.kernel_, self.cache_bytes, workers(self.n_jobs, rows.shape[0])
        )
        progress = Progress(self.verbose, self.tol, self.callback)
        seed = int(seeds(self.random_state, 1)[0])
        try:
            self.results_ = machines.solve(
                table, targets, weights, limits=limits, seed=seed, callback=progress
            )
        finally:
            progress.close()
        self._warn()
        self.classes_ = classes
        self.result_ = self.results_[0] if len(self.results_) == 1 else summary(self.results_)
        keep_support(self, rows, np.stack([result.x for result in self.results_]))
        self.intercept_ = np.array([result.bias for result in self.results_])
        self.n_iter_ = max(1, max(int(r.history[-1].epoch) for r in self.results_))
        return self

    def _asked(self) -> tuple[Machines, Limits]:
        """What is to be trained, and the limits; bad parameters are refused before data is read."""
        machines = Machines(
            loss=self.loss, alpha=self.alpha, kappa=self.kappa, bias=self.bias, solver=self.solver
        )
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback={self.callback!r} must be a function of a Record, or None")
        if not (isinstance(self.tol, int | float | np.number) and 0.0 < self.tol < math.inf):
            raise ValueError(f"tol={self.tol!r} must be a positive number; 1e-2 is a common choice")
        return machines, Limits(
            eps=self.tol,
            max_reads=self.max_reads,
            max_steps=self.max_steps,
            max_seconds=self.max_seconds,
        )

    def _warn(self) -> None:
        statuses = {result.status for result in self.results_}
        if Status.INTERRUPTED in statuses:
            text = "the fit was interrupted: the model is the best one found so far"
            warnings.warn(text, UserWarning, stacklevel=3)
        elif statuses & {Status.STEPS, Status.STALLED}:
            gap = max(result.certificate.relative_gap for result in self.results_)
            text = (
                f"the relative duality gap is {gap:.2g}, above tol={self.tol:g}: raise max_steps "
                "or alpha, loosen tol, or scale the features"
            )
            warnings.warn(text, ConvergenceWarning, stacklevel=3)

    def _scores(self, X: Any) -> NDArray[Any]:
        sums, _ = support_sums(self, X, workers(self.n_jobs, 1 << 20))
        return sums + self.intercept_
