"""Novelty detection: what lies outside of the smallest ball around the data."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.inspection import as_rows
from skimlearn.data.kernel_blocks import squared_norms
from skimlearn.data.kernel_rows import KernelRows, own_values
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import stored
from skimlearn.estimators._checks import ABSENT, check_data, seeds
from skimlearn.estimators._contract import (
    ConvergenceWarning,
    OutlierMixin,
    assume_finite,
    check_is_fitted,
)
from skimlearn.estimators._estimator import Estimator
from skimlearn.estimators._support import keep_support, kernel_of, support_sums
from skimlearn.formulas.kernels import Kernel
from skimlearn.result import Status
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.ball import enclosing_ball, squared_distances
from skimlearn.solvers.kernel_ball import kernel_ball
from skimlearn.solvers.kernel_sampled_qp import kernel_sampled_ball
from skimlearn.solvers.soft_ball import soft_ball

__all__ = ["EnclosingBall"]

Vector = NDArray[np.float64]
SOLVERS = ("auto", "working-set", "sampled")  # with a kernel
ROUNDING = 16.0  # of a squared distance, in units of the last digit of the greatest k(x, x)


class EnclosingBall(OutlierMixin, Estimator):
    """The smallest ball around the data; what lies outside is new.

    With a contamination the ball may leave out that part of the rows, which count by how far they
    lie outside (support vector data description). With a kernel the ball is one in the kernel's
    space, and may have any shape in that of the rows.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear"} or Kernel or None, default=None
        None for a ball among the rows themselves; otherwise as in `KernelClassifier`.
    gamma, degree, coef0 : float or "scale" or "auto", int, and float
        The parameters of a kernel that is given by its name; as in `KernelClassifier`.
    contamination : float, default=0.1
        The part of the rows that are outliers, from 0 (the ball holds all rows) to 0.5.
    eps : float, default=0.02
        By which part the squared radius may exceed the least one.
    solver : {"auto", "working-set", "sampled"}, default="auto"
        The algorithm for a kernel. "working-set", which "auto" is, reaches any eps; "sampled" draws
        rows, and takes values of the kernel from a part of the entries, for an eps that is not
        small. ``result_.solver`` says what was done.
    mode : {"las-vegas", "high-probability", "monte-carlo"}, default="las-vegas"
        A proof, bounds that fail with probability delta, or a promise that holds in half of all
        runs. The last two need contamination=0.
    delta : float, default=0.05
        The probability of failure in mode "high-probability".
    max_reads : int or None, default=None
        Stop before more stored entries than that are read.
    max_seconds : float or None, default=None
        Stop after so many seconds.
    cache_bytes : int, default=2**30
        Memory for values of a kernel.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draws; without a kernel nothing is drawn with a contamination.
    callback : callable or None, default=None
        Called with a `Record` at every check; the fit stops when it returns something true.

    Attributes
    ----------
    center_ : ndarray of shape (d,)
        The centre of the ball, if there is no kernel.
    kernel_ : Kernel
        The kernel, with the numbers that "scale" and "auto" stood for.
    support_, support_vectors_, dual_coef_ : ndarrays
        With a kernel: the rows that the centre is made of, their numbers, and their weights, as
        (1, n_support).
    radius_ : float
        The radius of the ball.
    offset_ : float
        ``decision_function(X) = score_samples(X) - offset_``.
    result_ : Result
        The certificate of the squared radius (with a contamination: of the mean of the greatest
        squared distances), the reads, the history and more.
    n_iter_ : int
        Checks of the certificate.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (d,)
        The names of the columns, if X had names.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> ball = EnclosingBall(contamination=0.0, eps=1e-3, random_state=0).fit(X)
    >>> ball.predict([[0.0, 0.0, 0.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0, 0.0]])
    array([ 1, -1])
    >>> bool(ball.result_.certificate.relative_gap <= 1e-3)
    True
    """

    def __init__(
        self,
        *,
        kernel: str | Kernel | None = None,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        contamination: float = 0.1,
        eps: float = 0.02,
        solver: str = "auto",
        mode: str = "las-vegas",
        delta: float = 0.05,
        max_reads: int | None = None,
        max_seconds: float | None = None,
        cache_bytes: int = 2**30,
        random_state: Any = None,
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.contamination = contamination
        self.eps = eps
        self.solver = solver
        self.mode = mode
        self.delta = delta
        self.max_reads = max_reads
        self.max_seconds = max_seconds
        self.cache_bytes = cache_bytes
        self.random_state = random_state
        self.callback = callback

    def fit(self, X: Any, y: Any = None) -> EnclosingBall:
        """Find the ball of rows X.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.
        y : None
            Not used; present by convention.

        Returns
        -------
        self
        """
        X = check_data(self, X, ABSENT, reset=True)
        if not 0.0 <= self.contamination <= 0.5:
            raise ValueError(f"contamination={self.contamination!r} must lie between 0 and 0.5")
        if self.contamination > 0.0 and self.mode != "las-vegas":
            raise ValueError(
                f"mode={self.mode!r} is for contamination=0; with contamination="
                f"{self.contamination!r} the answer always has a proof: use mode='las-vegas'"
            )
        for name in ("center_", "kernel_", "support_", "support_vectors_", "dual_coef_"):
            if hasattr(self, name):
                delattr(self, name)  # of a former fit
        if self.kernel is not None:
            return self._fit_kernel(X)
        for name, value in (
            ("gamma", "scale"), ("degree", 3), ("coef0", 0.0), ("solver", "auto"),
        ):  # fmt: skip
            if getattr(self, name) != value:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} has no meaning without a kernel: leave it at "
                    f"{value!r}, or set kernel='rbf' or 'poly'"
                )
        if self.contamination > 0.0:
            self.result_ = soft_ball(
                X,
                contamination=self.contamination,
                eps=self.eps,
                max_reads=self.max_reads,
                max_seconds=self.max_seconds,
                callback=self.callback,
            )
        else:
            self.result_ = enclosing_ball(
                as_rows(X, bounded=True),
                eps=self.eps,
                mode=self.mode,
                delta=self.delta,
                max_reads=self.max_reads,
                max_seconds=self.max_seconds,
                random_state=int(seeds(self.random_state, 1)[0]),
                callback=self.callback,
            )
        self._warn()
        self.center_ = self.result_.x
        self.n_iter_ = max(1, len(self.result_.history))
        if self.contamination > 0.0:
            scores = self._own_scores(X)
            self.offset_ = float(np.percentile(scores, 100.0 * self.contamination))
        elif self.result_.certificate.failure == 0.0 and self.mode != "monte-carlo":
            self.offset_ = float(self._own_scores(X).min())  # as the rows themselves are scored
        else:
            self.offset_ = -math.sqrt(max(self.result_.bias, 0.0))
        self.radius_ = -self.offset_
        return self

    def _fit_kernel(self, X: Any) -> EnclosingBall:
        if self.mode != "las-vegas":
            raise ValueError(
                f"mode={self.mode!r} is for kernel=None: with a kernel the answer always has a "
                "proof; use mode='las-vegas'"
            )
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r} must be one of {SOLVERS}")
        solve = kernel_sampled_ball if self.solver == "sampled" else kernel_ball
        rows = as_rows(X, bounded=True)
        self.kernel_ = kernel_of(self, rows)
        table = KernelRows(rows, self.kernel_, self.cache_bytes)
        self.result_ = solve(
            table,
            contamination=self.contamination,
            limits=Limits(eps=self.eps, max_reads=self.max_reads, max_seconds=self.max_seconds),
            seed=int(seeds(self.random_state, 1)[0]),
            callback=self.callback,
        )
        self._warn()
        keep_support(self, rows, self.result_.x[None])
        self.n_iter_ = max(1, len(self.result_.history))
        table.limit = math.inf
        inside = table.among(self.support_, self.support_).astype(np.float64)
        self._square = float(self.dual_coef_[0] @ inside @ self.dual_coef_[0])
        scores = self._own_scores(X)
        self.offset_ = float(
            np.percentile(scores, 100.0 * self.contamination)
            if self.contamination > 0.0
            else scores.min()
        )
        self._rounding = ROUNDING * float(np.finfo(table.dtype).eps * table.diagonal.max())
        self.radius_ = -self.offset_
        return self

    def _warn(self) -> None:
        if self.result_.status is Status.INTERRUPTED:
            warnings.warn(
                "the fit was interrupted: the ball is the best one found so far",
                UserWarning,
                stacklevel=3,
            )
        elif self.result_.status is Status.STALLED:
            gap = self.result_.certificate.relative_gap
            warnings.warn(
                f"the squared radius is known to a part {gap:.2g}, not eps={self.eps:g}, which "
                "rounding does not allow: raise eps, or scale the features",
                ConvergenceWarning,
                stacklevel=3,
            )

    def score_samples(self, X: Any) -> Vector:
        """The distances to the centre, with a minus sign: greater is more normal.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        X = check_data(self, X, ABSENT, reset=False)
        if not assume_finite():
            as_rows(X)  # nan and inf are found
        scores = self._scores(X)
        if self.kernel is not None:  # rows on the sphere stay on it, whatever the order of sums
            scores[np.abs(scores**2 - self.offset_**2) <= self._rounding] = self.offset_
        return scores

    def _own_scores(self, X: Any) -> Vector:
        """The scores of the rows that the ball was made of; reading them is counted."""
        rows = as_rows(X, inspect=False)
        times = 1 if self.kernel is None else len(self.support_)
        more = Reads(certificate=times * stored(rows))
        self.result_ = replace(self.result_, reads=self.result_.reads + more)
        return self._scores(X)

    def _scores(self, X: Any) -> Vector:
        if self.kernel is not None:
            sums, rows = support_sums(self, X, 1)
            own = own_values(self.kernel_, squared_norms(rows))
            return -np.sqrt(np.maximum(own - 2.0 * sums[:, 0] + self._square, 0.0))
        return -np.sqrt(squared_distances(as_rows(X, inspect=False), self.center_))

    def decision_function(self, X: Any) -> Vector:
        """How far inside of the ball rows lie; negative outside.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """+1 for rows inside of the ball, -1 for rows outside.

        Parameters
        ----------
        X : array, sparse matrix or Store of shape (n, d)
            The rows.

        Returns
        -------
        ndarray of shape (n,)
        """
        return np.where(self.decision_function(X) >= 0.0, 1, -1)
