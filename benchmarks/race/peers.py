"""The table of peers, and what a peer is.

A peer has ladders: lists of settings from fast and rough to slow and precise. A ladder is climbed
until the tightest target is reached or time is up; what counts is the least time of any setting
that meets a target.

All minimise  alpha / 2 ||w||^2 + mean loss,  without a bias:

    liblinear, LinearSVC, LinearSVR, LogisticRegression, ReHLine   C = 1 / (alpha n)
    squared hinge, squared (L2-loss SVR) of liblinear              C = 1 / (2 alpha n)
    Ridge, snapml                                                  alpha n
    SGDClassifier, SGDRegressor, cyanure, skglm, river             alpha
    Vowpal Wabbit                                                  alpha, times n with BFGS, times
                                                                   2 for its squared loss
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

CLASSIFY = ("hinge", "log", "squared_hinge")
NO_LOSS = "does not have the loss"
ALL = ("hinge", "log", "squared_hinge", "squared", "absolute", "huber")


@dataclass(frozen=True)
class Task:
    """What a peer is told, besides the data."""

    loss: str
    alpha: float
    n: int
    d: int
    stored: int
    sparse: bool
    classes: int
    norm2: float  # the mean squared length of a row
    threads: int = 1

    @classmethod
    def of(cls, meta, loss, alpha, threads):
        """The task of a prepared problem (its meta.json)."""
        n, d = meta["shapes"][0]
        more = {key: meta[key] for key in ("stored", "sparse", "classes", "norm2")}
        return cls(loss=loss, alpha=alpha, n=n, d=d, threads=threads, **more)

    @property
    def C(self):
        return 1.0 / (self.alpha * self.n)


def _anything(task):
    return None


@dataclass(frozen=True)
class Peer:
    """A solver of another library, or one of ours."""

    name: str
    package: str  # what pip calls it
    module: str  # what Python calls it
    losses: tuple
    ladders: Callable  # task -> lists of settings (dicts)
    fit: Callable  # X, y, task, setting, seed -> w, or (classes, d) if ``many``
    environment: str = "main"
    many: bool = False  # learns many classes, one against the rest, by itself
    refuses: Callable = _anything  # task -> why it cannot, or None
    warm_up: Callable | None = None  # X, y, task -> None; default: the first setting

    def why_not(self, task):
        """Why the peer has no answer for a task; None if it has one."""
        if task.loss not in self.losses:
            return f"{NO_LOSS} ({task.loss}) with an l2 penalty"
        return self.refuses(task)


def tolerances(start, stop):
    """0.3, 0.1, 0.03, ...: from start down to stop."""
    grid = (float(f"{lead}e{power}") for power in range(2, -10, -1) for lead in (3, 1))
    return [tol for tol in grid if stop <= tol <= start]


def doublings(most, least=1):
    """least, 2 least, 4 least, ... up to most."""
    return [least << k for k in range(int(np.log2(most / least)) + 1)]


def dense_up_to(entries):
    """For peers that take dense rows only."""

    def refuses(task):
        if task.sparse and task.n * task.d > entries:
            return f"takes dense rows only: {task.n} x {task.d} are too many"
        return None

    return refuses


def table():
    """All peers by name; ours first."""
    from race import fits_liblinear, fits_others, fits_skim, fits_sklearn, fits_wabbit

    modules = (fits_skim, fits_sklearn, fits_liblinear, fits_wabbit, fits_others)
    return {peer.name: peer for module in modules for peer in module.PEERS}


def is_ours(name):
    return name.startswith("skimlearn")
