"""Margins, balls and games whose rows are on a cluster.

All three are of the form  min over x of max over the rows i of g_i(x), g_i convex:

==================  ===========================  ===========================================
`max_margin`        g_i(x) = -y_i <x_i, x>       x in the unit ball
`enclosing_ball`    g_i(x) = ||x_i - x||^2
`matrix_game`       g_i(x) = <a_i, x>            x a distribution
==================  ===========================  ===========================================

Core sets find them all (`_core_set`): every round reads all rows once, and few are needed. There
are also rounds that read some rows and columns only (`sampled_margin`, `sampled_ball`,
`sampled_game`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.distributed._core_set import core_set_rounds
from skimlearn.distributed._pieces import Piece
from skimlearn.distributed._sources import make_team
from skimlearn.distributed._team import client_of
from skimlearn.distributed.sampled_ball import SampledBall
from skimlearn.distributed.sampled_game import SampledGame
from skimlearn.distributed.sampled_margin import SampledMargin
from skimlearn.result import Certificate, Result
from skimlearn.solvers import ball, game, reductions
from skimlearn.solvers._limits import Limits, as_count
from skimlearn.solvers._margin_bounds import as_labels

__all__ = ["enclosing_ball", "matrix_game", "max_margin"]

Vector = NDArray[np.float64]

SOLVERS = ("core-set", "sampled")
DRAWS = 16  # rows of a round, or of a partition in it


def max_margin(
    X: Any,
    y: Any = None,
    *,
    eps: float = 0.05,
    solver: str = "core-set",
    draws: int = DRAWS,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    partitions: int | None = None,
    random_state: int | np.random.Generator | None = None,
    client: Any = None,
) -> Result:
    """The direction that parts two classes by the greatest margin, on a Dask cluster.

    It maximises the least ``y_i <x_i, x>`` over ``||x|| <= 1``; see `skimlearn.max_margin`.

    Parameters
    ----------
    X : dask array or dataframe, list of delayed blocks, path of a store or a folder of stores
        The rows; also arrays and sparse matrices.
    y : dask array or series, list of delayed blocks, array, or None
        Labels, +1 and -1; None for stores, and for blocks that are pairs (X, y).
    eps : float, default=0.05
        How far from the greatest margin the answer may be, in units of the data.
    solver : {"core-set", "sampled"}, default="core-set"
        "core-set": the partitions send their worst rows; few rounds, each of which reads all rows.
        "sampled": the sublinear perceptron; many rounds, each of which reads `draws` rows and
        columns, and a pass over all rows after 16, 32, 64, ... of them.
    draws : int, default=16
        "core-set": rows that each partition sends in a round, at most. "sampled": rows and columns
        of a round.
    max_steps, max_seconds : int and float, or None
        Stop after so many rounds or seconds.
    partitions : int or None, default=None
        Put neighbouring blocks together until there are no more than that.
    random_state : int, Generator or None
        Seed of "sampled"; with the same partitions it gives the same answer, on any number of
        workers.
    client : dask.distributed.Client or None, default=None
        The cluster; None: the client that was made last.

    Returns
    -------
    Result
        ``x`` is the direction, ``p`` the distribution over rows behind the upper bound.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from skimlearn.distributed import max_margin
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> X = [[1.0, 0.1], [0.9, -0.2], [-1.0, 0.3], [-0.8, -0.1]]
    >>> max_margin(X, [1, 1, -1, -1], eps=0.01).certificate.gap <= 0.01
    True
    >>> client.close()
    """
    _check_solver(solver, random_state)
    limits = Limits(eps=eps, max_steps=max_steps, max_seconds=max_seconds)
    draws = as_count(draws, "draws")
    team, facts = make_team(client_of(client), X, y, None, labels=False, partitions=partitions)
    team.fetch(team.each("labels", _check_labels))
    if solver == "sampled":
        rng = np.random.default_rng(random_state)
        return SampledMargin(team, facts, draws=draws, rng=rng).run(limits)

    def solve(rows: Any) -> tuple[Vector, Vector, float]:
        ones = np.ones(rows.shape[0])
        found = reductions.hard_margin(rows, ones, eps=(eps / 4.0) ** 2, random_state=0)
        return found.x, found.p, -found.certificate.upper

    result = core_set_rounds(team, facts, "margin", np.zeros(facts[0].d), solve, limits, draws)
    certificate = result.certificate
    return _replace(result, Certificate(-certificate.primal, -certificate.dual, maximize=True))


def enclosing_ball(
    X: Any,
    *,
    eps: float = 0.02,
    solver: str = "core-set",
    draws: int = DRAWS,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    partitions: int | None = None,
    random_state: int | np.random.Generator | None = None,
    client: Any = None,
) -> Result:
    """The smallest ball that holds all rows, on a Dask cluster; see `skimlearn.enclosing_ball`.

    Parameters
    ----------
    X : dask array or dataframe, list of delayed blocks, path of a store or a folder of stores
        The points; also arrays and sparse matrices.
    eps : float, default=0.02
        By which part the squared radius of the answer may exceed the least one.
    solver : {"core-set", "sampled"}, default="core-set"
        As for `max_margin`; "sampled" is the sublinear algorithm for balls, which begins with a
        pass over all rows.
    draws, max_steps, max_seconds, partitions, random_state, client
        As for `max_margin`.

    Returns
    -------
    Result
        ``x`` is the centre, ``bias`` the squared radius around it, and ``p`` has the weights of
        the rows behind the lower bound.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from skimlearn.distributed import enclosing_ball
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> corners = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 1.5]]
    >>> round(enclosing_ball(corners, eps=1e-4).certificate.primal, 3)
    2.0
    >>> client.close()
    """
    _check_solver(solver, random_state)
    limits = Limits(eps=eps, max_steps=max_steps, max_seconds=max_seconds)
    draws = as_count(draws, "draws")
    team, facts = make_team(client_of(client), X, None, None, labels=None, partitions=partitions)
    if solver == "sampled":
        rng = np.random.default_rng(random_state)
        result = SampledBall(team, facts, draws=draws, rng=rng).run(limits)
        return _replace(result, result.certificate, bias=result.certificate.primal)

    def solve(rows: Any) -> tuple[Vector, Vector, float]:
        found = ball.enclosing_ball(rows, eps=eps / 4.0, random_state=0)
        return found.x, found.p, found.certificate.lower

    result = core_set_rounds(team, facts, "ball", np.zeros(facts[0].d), solve, limits, draws)
    return _replace(result, result.certificate, bias=result.certificate.primal)


def matrix_game(
    A: Any,
    *,
    eps: float = 0.01,
    solver: str = "core-set",
    draws: int = DRAWS,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    partitions: int | None = None,
    random_state: int | np.random.Generator | None = None,
    client: Any = None,
) -> Result:
    """The value of a zero-sum game, its rows on a Dask cluster; see `skimlearn.matrix_game`.

    Parameters
    ----------
    A : dask array or dataframe, list of delayed blocks, path of a store or a folder of stores
        What the column player pays to the row player; also arrays and sparse matrices.
    eps : float, default=0.01
        Stop when the bounds of the value differ by no more.
    solver : {"core-set", "sampled"}, default="core-set"
        As for `max_margin`; "sampled" is the algorithm of Grigoriadis and Khachiyan, which begins
        with a pass over all rows.
    draws, max_steps, max_seconds, partitions, random_state, client
        As for `max_margin`.

    Returns
    -------
    Result
        ``x`` is the column player's mixed strategy, ``p`` the row player's.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from skimlearn.distributed import matrix_game
    >>> client = Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    >>> result = matrix_game([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], eps=0.05)
    >>> result.certificate.dual <= 0.0 <= result.certificate.primal
    True
    >>> client.close()
    """
    _check_solver(solver, random_state)
    limits = Limits(eps=eps, max_steps=max_steps, max_seconds=max_seconds)
    draws = as_count(draws, "draws")
    team, facts = make_team(client_of(client), A, None, None, labels=None, partitions=partitions)
    d = facts[0].d
    if solver == "sampled":
        rng = np.random.default_rng(random_state)
        return SampledGame(team, facts, draws=draws, rng=rng).run(limits)

    def solve(rows: Any) -> tuple[Vector, Vector, float]:
        found = game.matrix_game(rows, eps=eps / 4.0, random_state=0)
        return found.x, found.p, found.certificate.lower

    return core_set_rounds(team, facts, "game", np.full(d, 1.0 / d), solve, limits, draws)


def _replace(result: Result, certificate: Certificate, bias: float = 0.0) -> Result:
    return replace(result, certificate=certificate, bias=bias)


def _check_solver(solver: str, random_state: Any) -> None:
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} must be one of {SOLVERS}")
    if solver == "core-set" and random_state is not None:
        raise ValueError(
            f"random_state={random_state!r} means nothing to solver='core-set', which draws no "
            "numbers: leave it out, or take solver='sampled'"
        )


def _check_labels(piece: Piece) -> None:
    assert piece.y is not None
    try:
        as_labels(piece.y, piece.n)
    except ValueError as error:
        raise ValueError(f"partition {piece.number}: {error}") from error
