"""The documentation of the parameters that the linear estimators share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

__all__ = ["PARAMETERS", "SEARCH_ATTRIBUTES", "SEARCH_PARAMETERS", "documented"]

Class = TypeVar("Class", bound=type)


def documented(**parts: str) -> Callable[[Class], Class]:
    """Fill the named parts into the docstring of a class, all without the indentation of source.

    Python takes that away itself from version 3.13 on.
    """

    def fill(cls: Class) -> Class:
        cls.__doc__ = inspect.cleandoc(cls.__doc__ or "")
        for name, text in parts.items():
            cls.__doc__ = cls.__doc__.replace("{" + name + "}", inspect.cleandoc(text))
        return cls

    return fill


PARAMETERS = """alpha : float, default=1e-4
        Strength of the regularizer; ``C = 1 / (alpha * n)`` in LIBSVM's terms.
    p : float, default=2
        Norm of the regularizer ``||w||_p^2 / (2 (p - 1))``, between 1 and 2. Smaller values favour
        few large weights. p=1 is the entropic regularizer and needs a radius.
    radius : float or None, default=None
        Bound on the p-norm of the weights.
    bias : {"free", "regularized", "none"}, default="free"
        The intercept: solved for exactly, regularised by ``alpha / 2 * b**2``, or absent.
    solver : {"auto", "sgd", "asgd", "casgd", "ftrl", "pegasos", "pgs", "dual"}, default="auto"
        "auto" is dual coordinate ascent, or Newton's method where that is quicker.
    tol : float or None, default=1e-3
        Stop when the duality gap is at most ``tol`` times the objective.
    max_epochs : int or None, default=1000
        Stop after so many passes over the rows.
    max_reads : int or None, default=None
        Stop before more entries than that are read (certificates are counted apart; with more
        than two classes, each has its share).
    max_seconds : float or None, default=None
        Stop after so many seconds (with more than two classes: each has its share).
    average : {"last", "mean", "tail", "random"} or None, default=None
        Which iterate of a stochastic solver is the answer; None leaves it to the solver.
    batch_size : int or None, default=None
        Rows per step of "pegasos" and "pgs"; None for 1.
    warm_start : bool, default=False
        Begin the next fit at the answer of the last one.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the visits; the same seed gives the same answer.
    callback : callable or None, default=None
        Called with a `Record` after every epoch; the fit stops when it returns something true
        (with more than two classes: the fit of the one at work).
    verbose : bool or None, default=None
        None shows a progress line on a terminal, True writes a line per epoch, False nothing."""

SEARCH_PARAMETERS = """alphas : int or sequence of float, default=11
        The strengths to try, or how many of them between 0.1 and 1e-6.
    ps : sequence of float, default=(2.0,)
        The norms to try.
    cv : int, splitter or iterable, default=None
        The folds, as everywhere in scikit-learn.
    scoring : str, callable or None, default=None
        What is maximised; None for the estimator's own score.
    radius, bias, solver, tol, max_epochs, max_seconds, random_state, verbose
        As for the estimator without CV; the limits hold for each fit.
    n_jobs : int or None, default=None
        Threads, one fold each."""

SEARCH_ATTRIBUTES = """alpha_ : float
        The best strength.
    p_ : float
        The best norm.
    alphas_ : ndarray of shape (n_alphas,)
        The strengths that were tried, from the largest to the smallest.
    scores_ : ndarray of shape (n_ps, n_alphas, n_folds)
        The scores on the folds.
    best_score_ : float
        The mean score of the best pair.
    coef_, intercept_, result_, n_iter_, n_features_in_, feature_names_in_
        Of the fit to all rows with the best pair, as for the estimator without CV."""
