"""The certificate of an answer on many partitions: each adds its part of the primal and dual value.

The primal value of (w, b) is valid for any b, the dual value for any balanced variables (see
`skimlearn.certificates`). A free bias is therefore searched for in parallel: every check looks at
some biases around the last best one, at once, and the next looks closer.

Balancing shrinks the side of the dual variables with the larger sum, which the client knows. That
changes theta by sum c_k, c_k the part of partition k; to send these vectors would double what a
round sends. Partition k knows theta and sends a number instead, its term of the right side of

    r*(theta + sum c_k)  <=  sum s_k r*(theta + c_k / s_k),     s_k = n_k / n,

which is Jensen's inequality, for any convex r*. It is an equality if all c_k / s_k are the same,
and loses a term of the second order in them otherwise: partitions are alike, the c_k go to zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.rows import combine, responses
from skimlearn.distributed._parcel import Parcel
from skimlearn.distributed._pieces import Piece, Spec

__all__ = ["Answer", "Biases", "Query", "asked", "certify", "judged", "shares", "slopes"]

Vector = NDArray[np.float64]

LOOKS = 9  # biases that a check looks at


@dataclass(frozen=True)
class Query:
    """What a check asks of all pieces."""

    biases: Vector
    up: float  # positive dual variables are to be multiplied by this
    down: float
    afresh: bool  # whether theta is to be computed afresh, and sent

    @property
    def balances(self) -> bool:
        """Whether any variable changes."""
        return self.up != 1.0 or self.down != 1.0


class Answer(NamedTuple):
    """An answer with its two values, and the factors that balance the variables behind the dual."""

    w: Vector
    b: float
    primal: float
    dual: float
    up: float
    down: float


def certify(
    piece: Piece, a: Vector, *, spec: Spec, query: Query, w: Vector, theta: Vector | None
) -> Parcel:
    """Sums of losses, one for each bias, of conjugates, variables and r*; theta, if asked for.

    ``a`` are the dual variables of the piece, and ``theta`` what those of all pieces amount to, if
    that is not asked for.
    """
    problem = piece.problem(spec)
    z = np.empty(problem.n)
    responses(problem.rows, w, z)
    losses = [problem.n * certificates.mean_loss(problem, z, float(b)) for b in query.biases]
    balanced = a * np.where(a > 0.0, query.up, query.down) if query.balances else a
    conjugates = problem.n * certificates.mean_conjugate(problem, balanced)
    vector, bound = None, 0.0
    if query.afresh:
        vector = np.zeros(spec.d)
        combine(problem.rows, balanced * problem.weights / (spec.alpha * spec.n), vector)
    elif query.balances:
        assert theta is not None
        moved, share = theta.copy(), piece.n / spec.n
        scale = problem.weights / (share * spec.alpha * spec.n)
        combine(problem.rows, (balanced - a) * scale, moved)
        bound = share * spec.regularizer.penalty_dual(moved)
    numbers = [*losses, conjugates, float(balanced @ problem.weights), bound]
    return Parcel.of(vector, numbers)


def slopes(piece: Piece, *, spec: Spec, w: Vector, b: float) -> Vector:
    """Minus the slopes at an answer."""
    problem = replace(piece.problem(spec), bias="none")  # what is balanced, is over all pieces
    z = np.empty(piece.n)
    responses(problem.rows, w, z)
    return certificates.slopes(problem, certificates.Primal(w, b, 0.0, z))


def shares(up: float, total: float) -> tuple[float, float]:
    """Factors of the positive and the negative variables after which they add up to zero.

    ``up`` is the sum of the positive ones, ``total`` that of all.
    """
    down = up - total
    return (down / up if up > down else 1.0), (up / down if down > up else 1.0)


def primal_value(spec: Spec, w: Vector, b: float, losses: float) -> float:
    """alpha r(w) + bias term + mean loss."""
    value = spec.alpha * spec.regularizer.penalty(w) + losses / spec.n
    if spec.bias == "regularized":
        value += 0.5 * spec.alpha * b * b
    return value if math.isfinite(value) else math.inf


def dual_value(spec: Spec, penalty: float, total: float, conjugates: float) -> float:
    """The lower bound of balanced variables with r* <= penalty; ``total`` is their weighted sum."""
    value = -spec.alpha * penalty - conjugates / spec.n
    if spec.bias == "regularized":
        e = total / (spec.alpha * spec.n)
        value -= 0.5 * spec.alpha * e * e
    return value if math.isfinite(value) else -math.inf


class Biases:
    """The search for a free bias, over the checks."""

    def __init__(self, kind: str) -> None:
        self.kind, self.width = kind, 0.0

    def around(self, b: float) -> Vector:
        """Biases to look at."""
        if self.kind != "free":
            return np.array([b if self.kind == "regularized" else 0.0])
        if self.width == 0.0:
            self.width = 1.0 + abs(b)
        return b + self.width * np.linspace(-1.0, 1.0, LOOKS)

    def best(self, biases: Vector, losses: Vector) -> int:
        """Which of them is the best; the next look is wider or closer."""
        at = int(np.argmin(losses))
        if self.kind == "free":
            self.width *= 4.0 if at in (0, len(biases) - 1) else 0.5
        return at


def asked(spec: Spec, b: float, sums: tuple[float, float], biases: Biases, afresh: bool) -> Query:
    """The query about an answer of bias b, and variables of these sums (positive ones, and all)."""
    up, down = shares(*sums) if spec.bias == "free" else (1.0, 1.0)
    return Query(biases.around(b), up, down, afresh)


def judged(
    spec: Spec, w: Vector, theta: Vector, query: Query, parcel: Parcel, biases: Biases
) -> Answer:
    """What all pieces have said about an answer."""
    losses, (conjugates, total, bound) = parcel.numbers[:-3], parcel.numbers[-3:].tolist()
    at = biases.best(query.biases, losses)
    b = float(query.biases[at])
    primal = primal_value(spec, w, b, float(losses[at]))
    if query.afresh or not query.balances:
        bound = spec.regularizer.penalty_dual(parcel.vector if query.afresh else theta)
    dual = dual_value(spec, bound, total, conjugates)
    return Answer(w, b, primal, dual, query.up, query.down)
