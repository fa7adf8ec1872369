"""Worst cases by core sets, the rows on a cluster: the rounds behind margins, balls and games.

Problem: min over x of max over the rows i of g_i(x), g_i convex (see `extremes`).

A round: the client sends x; every partition answers with its winning rows, those of the largest
g_i(x), several at once, since a round costs more than a row. The worst of all join the core set,
which the client keeps, and for which it solves the same problem (by `hard_margin`,
`enclosing_ball`, `matrix_game`). The optimum of a part of the rows is a lower bound of that of all,
and the largest g_i(x) an upper bound: they meet after few rounds, since few rows decide. See Badoiu
and Clarkson, "Smaller core-sets for balls" (2003), and Clarkson, Hazan and Woodruff, "Sublinear
optimization for machine learning" (2010), whose dual player's oracle this is, answered exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.ledger import Reads
from skimlearn.data.rows import plain, responses, take
from skimlearn.data.triple import one_matrix
from skimlearn.distributed._pieces import Facts, Piece
from skimlearn.distributed._rounds import Round
from skimlearn.distributed._team import Cluster
from skimlearn.result import Certificate, Result, Status
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.ball import squared_distances

__all__ = ["Solve", "core_set_rounds", "values_at"]

Vector = NDArray[np.float64]
Solve = Callable[[Any], tuple[Vector, Vector, float]]  # the core set: x, p, lower bound


class Winners(NamedTuple):
    """The rows of a partition with the largest g_i(x)."""

    values: Vector
    places: NDArray[np.int64]
    rows: Any


def winners(piece: Piece, *, kind: str, x: Vector, draws: int) -> Winners:
    """Find them."""
    g = values_at(piece, kind, x)
    count = min(draws, piece.n)
    places = np.argpartition(-g, count - 1)[:count]
    places = places[np.lexsort((places, -g[places]))].astype(np.int64)
    rows: Any = plain(take(piece.rows, places))
    if kind == "margin" and piece.y is not None:
        signs = piece.y[places]
        rows = (
            signs[:, None] * rows if isinstance(rows, np.ndarray) else rows.multiply(signs[:, None])
        )
    return Winners(g[places], places, rows)


def values_at(piece: Piece, kind: str, x: Vector) -> Vector:
    """g_i(x) of all rows of a partition."""
    if kind == "ball":
        return squared_distances(piece.rows, x)
    z = np.empty(piece.n)
    responses(piece.rows, x, z)
    if kind == "margin":
        assert piece.y is not None
        return -piece.y * z
    return z


def core_set_rounds(
    team: Cluster, facts: list[Facts], kind: str, x: Vector, solve: Solve, limits: Limits,
    draws: int,
) -> Result:  # fmt: skip
    """Go round until the bounds are as near as wanted."""
    most = math.inf if limits.max_steps is None else limits.max_steps
    latest = math.inf if limits.max_seconds is None else limits.max_seconds
    began, entries = time.perf_counter(), sum(fact.entries for fact in facts)
    firsts = np.concatenate([[0], np.cumsum([fact.n for fact in facts])])
    n, d = int(firsts[-1]), facts[0].d
    core: Any = None
    known: list[int] = []
    best: tuple[Vector, float] = (x, math.inf)
    bound: tuple[Vector, float, int] = (np.zeros(0), -math.inf, 0)
    history: list[Any] = []
    moved, status = 0, None
    while status is None:
        try:
            shared = team.share("centre", x)
            each = team.each("winners", winners, kind=kind, x=shared, draws=draws)
            found = team.fetch(each)
        except KeyboardInterrupt:
            if not history:
                raise
            status = Status.INTERRUPTED
            break
        upper = max(float(part.values[0]) for part in found)
        if upper < best[1]:
            best = (x, upper)
        numbers = np.concatenate([firsts[k] + part.places for k, part in enumerate(found)])
        values = np.concatenate([part.values for part in found])
        rows = one_matrix([part.rows for part in found])
        moved += rows.shape[0] * 16 + _bytes(rows) + x.nbytes * team.workers
        fresh = np.flatnonzero(~np.isin(numbers, known))
        fresh = fresh[np.argsort(-values[fresh], kind="stable")][:draws]
        certificate = Certificate(best[1], bound[1])
        history.append(
            Round(
                epoch=float(len(history) + 1), seconds=time.perf_counter() - began,
                reads=(len(history) + 1) * entries, primal=best[1], dual=bound[1],
                rounds=len(history) + 1, moved=moved,
            )
        )  # fmt: skip
        if certificate.gap <= limits.eps * (best[1] if kind == "ball" else 1.0):
            status = Status.CONVERGED
        elif len(history) >= most:
            status = Status.STEPS
        elif time.perf_counter() - began >= latest:
            status = Status.SECONDS
        elif len(fresh) == 0:
            status = Status.STALLED
        else:
            core = rows[fresh] if core is None else one_matrix([core, rows[fresh]])
            known += numbers[fresh].tolist()
            x, p, lower = solve(core)
            if lower > bound[1]:
                bound = (p, lower, len(known))
    weights = np.zeros(n)
    weights[known[: bound[2]]] = bound[0]
    rounds = len(history)
    return Result(
        x=best[0], bias=0.0, p=weights, certificate=Certificate(best[1], bound[1]),
        reads=Reads(rounds * n * d, rounds * entries), seconds=time.perf_counter() - began,
        epochs=float(rounds), status=status, history=history, solver="core set",
    )  # fmt: skip


def _bytes(rows: Any) -> int:
    return int(rows.nbytes if isinstance(rows, np.ndarray) else 12 * rows.nnz)
