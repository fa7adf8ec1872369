"""What the linear estimators on a Dask cluster share: parameters, fitting and lazy predictions."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np

from skimlearn.distributed._checkpoint import Checkpoint
from skimlearn.distributed._pieces import Facts, Former, Spec
from skimlearn.distributed._rounds import settled, solve
from skimlearn.distributed._sources import make_team
from skimlearn.distributed._team import Cluster, client_of
from skimlearn.distributed.cocoa import Ascent
from skimlearn.distributed.mixing import Mixing
from skimlearn.estimators._base import LinearModel
from skimlearn.estimators._checks import budget_of, seeds
from skimlearn.estimators._progress import Progress
from skimlearn.formulas import losses, regularizers
from skimlearn.formulas.losses import Loss
from skimlearn.problem import BIASES, check_alpha
from skimlearn.result import Result
from skimlearn.solvers._limits import as_count

__all__ = ["MOST_AT_ONCE", "PARAMETERS", "DaskModel", "shared_parameters", "with_answer_of"]

SOLVERS = {"auto": Ascent, "dual": Ascent, "asgd": Mixing, "pgs": Mixing}
MOST_AT_ONCE = 16  # problems that are solved side by side

PARAMETERS = """alpha, p, radius, bias, tol, max_epochs, max_reads, max_seconds
        As for the plain estimator. An epoch is a visit to every row by the worker that has it.
    solver : {"auto", "dual", "asgd", "pgs"}, default="auto"
        "auto" and "dual": accelerated CoCoA+, to any gap. "asgd" and "pgs": the means of what the
        partitions learn for themselves, for a rough answer in few rounds.
    local_epochs : int, default=2
        Epochs on each partition between two exchanges.
    partitions : int or None, default=None
        Put neighbouring blocks together until there are no more than that; None: each block is a
        partition. Fewer partitions need fewer rounds; each should fit into a worker's memory.
    warm_start : bool, default=False
        Begin the next fit at the answer of the last one: at its dual variables if the partitions
        have as many rows, else at its weights.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the visits; with the same partitions it gives the same answer, on any number of
        workers.
    client : dask.distributed.Client or None, default=None
        The cluster; None: the client that was made last.
    callback : callable or None, default=None
        Called with a record after every round; the fit stops when it returns something true.
    verbose : bool or None, default=None
        None shows a progress line on a terminal, True writes a line per round, False nothing."""


class DaskModel(LinearModel, ABC):
    """Parameters, fitting and lazy predictions; a subclass says what the targets are."""

    def __init__(
        self,
        loss: str | Loss = "squared",
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
        warm_start: bool = False,
        random_state: Any = None,
        client: Any = None,
        callback: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.p = p
        self.radius = radius
        self.bias = bias
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.max_reads = max_reads
        self.max_seconds = max_seconds
        self.local_epochs = local_epochs
        self.partitions = partitions
        self.warm_start = warm_start
        self.random_state = random_state
        self.client = client
        self.callback = callback
        self.verbose = verbose

    # -------------------------------------------------------------------------------- fitting

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None,
        resume: bool = False,
    ) -> Self:  # fmt: skip
        """Learn from the rows of all partitions.

        Parameters
        ----------
        X : dask array or dataframe, list of delayed blocks, path of a store or a folder of stores
            The rows; also arrays and sparse matrices.
        y : dask array or series, list of delayed blocks, array, or None
            What is to be predicted, cut as X is: numbers, classes, or for a classifier a matrix of
            zeros and ones, a column for each label. None for stores, and for blocks that are pairs
            (X, y).
        sample_weight : dask array, list of delayed blocks, array, or None
            Non-negative weights of the rows.
        checkpoint : path or None
            A file that holds the state of the fit every few rounds (one for each class or label, if
            there are several problems).
        resume : bool, default=False
            Go on from the checkpoint, if there is one; the partitions must be the same.

        Returns
        -------
        self
        """
        team, facts = self._team(X, y, sample_weight)
        self._fit(team, facts, checkpoint, resume)
        return self

    @abstractmethod
    def _fit(
        self, team: Cluster, facts: list[Facts], checkpoint: Any = None, resume: bool = False
    ) -> None:
        """Learn from pieces that are there."""

    def _spec(self, facts: list[Facts], *, mean_weight: float, **more: Any) -> Spec:
        if self.bias not in BIASES:
            raise ValueError(f"bias={self.bias!r} must be one of {BIASES}")
        n = sum(fact.n for fact in facts)
        total = sum(fact.weight for fact in facts)
        square = sum(fact.square for fact in facts) / total
        constant = {"none": 0.0, "regularized": 1.0, "free": (square or 1.0) / len(facts)}
        return Spec(
            loss=losses.resolve(self.loss, labels=self._labels),
            regularizer=regularizers.resolve(self.p, self.radius),
            alpha=check_alpha(self.alpha),
            bias=self.bias,
            n=n,
            d=facts[0].d,
            mean_weight=mean_weight,
            bias_square=constant[self.bias],
            **more,
        )

    def _check_parameters(self) -> None:
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r} must be one of {sorted(SOLVERS)}")
        as_count(self.local_epochs, "local_epochs")
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback={self.callback!r} must be a function of a Record, or None")
        budget_of(self)
        check_alpha(self.alpha)
        losses.resolve(self.loss, labels=self._labels)

    def _team(self, X: Any, y: Any, sample_weight: Any) -> tuple[Cluster, list[Facts]]:
        self._check_parameters()
        client = client_of(self.client)
        team, facts = make_team(
            client, X, y, sample_weight, labels=self._labels, partitions=self.partitions
        )
        if sum(fact.weight for fact in facts) <= 0.0:
            raise ValueError("sample_weight is zero for all rows: at least one must be positive")
        self.n_features_in_ = facts[0].d
        names = {fact.names for fact in facts}
        if len(names) > 1:
            raise ValueError("the partitions of X have columns of different names")
        if facts[0].names is not None:
            self.feature_names_in_ = np.array(facts[0].names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return team, facts

    def _solve_all(
        self, team: Cluster, facts: list[Facts], specs: list[Spec], checkpoint: Any, resume: bool
    ) -> list[Result]:
        """Solve the problems side by side, each on all pieces."""
        began, budget, count = time.perf_counter(), budget_of(self), len(specs)
        seed = seeds(self.random_state, count)
        progress = Progress(self.verbose, budget.gap, self.callback)
        entries, sizes = sum(fact.entries for fact in facts), [fact.n for fact in facts]
        starts = self._former_answers(sizes, facts[0].d, count)
        kept = None
        if checkpoint is not None:
            settings = {"solver": self.solver, "local_epochs": str(self.local_epochs)}
            kept = Checkpoint(checkpoint, resume=resume, settings=settings)

        def one(k: int) -> Result:
            if specs[k].constant is not None and specs[k].bias == "free":
                return settled(specs[k])
            mine = team.fork() if count > 1 else team
            mixes = SOLVERS[self.solver] is Mixing
            options = {"kind": self.solver} if mixes else {"tol": budget.gap}
            method = SOLVERS[self.solver](
                mine, specs[k], int(seed[k]), epochs=int(self.local_epochs), start=starts[k],
                **options,
            )  # fmt: skip
            return solve(
                mine, method, budget.share(time.perf_counter() - began, count, 1.0),
                entries=entries,
                callback=progress,
                checkpoint=kept.part(k) if kept is not None and count > 1 else kept,
            )  # fmt: skip

        try:
            if count == 1:
                results = [one(0)]
            else:
                results = _side_by_side(one, count, team)
        finally:
            progress.close()
        self._warn(results)
        self._sizes = sizes
        return results

    def _former_answers(self, sizes: list[int], d: int, count: int) -> list[Former | None]:
        """Where to begin; dual variables are in the order of the partitions they were found on."""
        same, edges = getattr(self, "_sizes", None) == sizes, np.cumsum(sizes)[:-1]
        formers: list[Former | None] = []
        for start in self._starts(count, (sum(sizes), d)):
            if start is None:
                formers.append(None)
            else:
                parts = np.split(start.a, edges) if same and start.a is not None else None
                formers.append(Former(start.w, start.b, parts))
        return formers

    # ----------------------------------------------------------------------------- predicting

    def _lazily(self, name: str, X: Any) -> Any:
        """A method of this model on the blocks of a collection of Dask."""
        plain = self._plain()
        if hasattr(plain, "feature_names_in_"):  # blocks are arrays, without names
            del plain.feature_names_in_
        sample = getattr(plain, name)(np.zeros((1, self.n_features_in_)))
        if not hasattr(X, "chunks"):  # a dataframe
            X = X.to_dask_array()
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        shape = (
            {"drop_axis": 1} if sample.ndim == 1 else {"chunks": (X.chunks[0], (sample.shape[1],))}
        )
        return X.map_blocks(_call, plain, name, dtype=sample.dtype, meta=sample[:0], **shape)

    @abstractmethod
    def _plain(self) -> Any:
        """The same model without a cluster: what a worker needs to predict."""

    def save(self, path: Any) -> None:
        """Write the fitted model to a file that `skimlearn.load` reads, as a plain estimator.

        Parameters
        ----------
        path : str or PathLike
            Where to.
        """
        self._plain().save(path)


def _call(block: Any, model: Any, name: str) -> Any:
    return getattr(model, name)(block)


def _side_by_side(one: Any, count: int, team: Cluster) -> list[Result]:
    def guarded(k: int) -> Any:
        try:
            return one(k)
        except BaseException:
            team.stop.set()  # an error in one: the others need not go on
            raise

    with ThreadPoolExecutor(min(count, MOST_AT_ONCE)) as pool:
        futures = [pool.submit(guarded, k) for k in range(count)]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            team.stop.set()
            return [future.result() for future in futures]


def shared_parameters(model: Any) -> dict[str, Any]:
    names = (
        "loss",
        "alpha",
        "p",
        "radius",
        "bias",
        "tol",
        "max_epochs",
        "max_reads",
        "max_seconds",
        "warm_start",
    )
    return {name: getattr(model, name) for name in names}


def with_answer_of(model: Any, plain: Any) -> Any:
    for name in ("coef_", "intercept_", "n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(plain, name, getattr(model, name))
    plain._keep(model.results_)
    return plain
