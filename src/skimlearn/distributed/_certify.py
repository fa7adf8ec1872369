"""The certificate of an answer on many partitions: each adds its part of the primal and dual value.

The primal value of (w, b) is valid for any b, the dual value for any balanced variables (see
`skimlearn.certificates`). A free bias is therefore searched for in parallel: every check looks at
some biases around the last best one, at once, and the next looks closer. Balancing shrinks the side
of the dual variables with the larger sum, which the client knows; what that changes of theta is
added up with the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn.data.rows import combine, responses
from skimlearn.distributed._parcel import Parcel
from skimlearn.distributed._pieces import Piece, Spec

__all__ = ["Answer", "Biases", "Query", "certify", "checked", "shares"]

Vector = NDArray[np.float64]

LOOKS = 9  # biases that a check looks at


@dataclass(frozen=True)
class Query:
    """What a check asks of all pieces."""

    w: Vector
    biases: Vector
    up: float  # positive dual variables are to be multiplied by this
    down: float
    exact: bool  # whether theta is to be computed afresh


class Answer(NamedTuple):
    """An answer with its two values, and the factors that balance the variables behind the dual."""

    w: Vector
    b: float
    primal: float
    dual: float
    up: float
    down: float


def certify(piece: Piece, held: Any, *, spec: Spec, query: Query) -> Parcel:
    """Sums of losses, one for each bias, of conjugates and of variables; and what is new of theta.

    ``held`` are the dual variables, or a pair that begins with a state which has them.
    """
    a: Vector = held[0].a if isinstance(held, tuple) else held
    problem = piece.problem(spec)
    z = np.empty(problem.n)
    responses(problem.rows, query.w, z)
    losses = [problem.n * certificates.mean_loss(problem, z, float(b)) for b in query.biases]
    balanced = a * np.where(a > 0.0, query.up, query.down)
    change = balanced if query.exact else balanced - a
    vector = np.zeros(spec.d)
    combine(problem.rows, change * problem.weights / (spec.alpha * spec.n), vector)
    conjugates = problem.n * certificates.mean_conjugate(problem, balanced)
    numbers = [*losses, conjugates, float(balanced @ problem.weights)]
    return Parcel.of(vector, numbers)


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


def dual_value(spec: Spec, theta: Vector, total: float, conjugates: float) -> float:
    """The lower bound of balanced variables; ``total`` is the weighted sum of all of them."""
    value = -spec.alpha * spec.regularizer.penalty_dual(theta) - conjugates / spec.n
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


def checked(
    team: Any, spec: Spec, variables: list[Any], answer: tuple[Vector, float],
    sums: tuple[float, float], theta: Vector, biases: Biases, *, exact: bool,
) -> tuple[Answer, Parcel]:  # fmt: skip
    """Certify (w, b) and variables with these sums (of the positive ones, and of all)."""
    w, b = answer
    up, down = shares(*sums) if spec.bias == "free" else (1.0, 1.0)
    looks = biases.around(b)
    query = team.share("query", Query(w, looks, up, down, exact))
    parcels = team.each("certify", certify, variables, spec=spec, query=query)
    parcel = team.total(parcels, pairs=False)
    losses, (conjugates, total) = parcel.numbers[:-2], parcel.numbers[-2:]
    at = biases.best(looks, losses)
    whole = parcel.vector if exact else theta + parcel.vector
    primal = primal_value(spec, w, float(looks[at]), float(losses[at]))
    dual = dual_value(spec, whole, float(total), float(conjugates))
    return Answer(w, float(looks[at]), primal, dual, up, down), parcel
