"""Accelerated CoCoA+, naively: dense algebra, one variable at a time, from the formulas."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Naive:
    a: list
    before: list
    centre: float = 0.0
    total: float = 0.0  # weighted sum of all variables
    total_before: float = 0.0
    momentum: float = 1.0
    value: float = -np.inf
    rounds: int = 0
    theta: np.ndarray = field(default_factory=lambda: np.zeros(0))
    bias: float = 0.0


def naive_round(pieces, spec, seed, epochs, state=None):
    """The state after one more round; p = 2."""
    K, n, alpha, s = len(pieces), spec.n, spec.alpha, spec.bias_square
    rows = [np.asarray(piece.rows.values, dtype=float) for piece in pieces]
    if state is None:
        zeros = [np.zeros(piece.n) for piece in pieces]
        state = Naive(zeros, zeros)
    momentum = (1.0 + np.sqrt(1.0 + 4.0 * state.momentum**2)) / 2.0
    beta = (state.momentum - 1.0) / momentum
    centre = state.centre + (s * state.total / (alpha * n) if spec.bias == "free" else 0.0)
    ahead = [a + beta * (a - b) for a, b in zip(state.a, state.before, strict=True)]
    theta = sum(X.T @ a for X, a in zip(rows, ahead, strict=True)) / (alpha * n)
    offset = s * (state.total + beta * (state.total - state.total_before)) / (alpha * n)
    new = []
    for k, (piece, X) in enumerate(zip(pieces, rows, strict=True)):
        y = np.where(piece.y == spec.positive, 1.0, -1.0) if spec.positive is not None else piece.y
        bounds = np.array([spec.loss.dual_bounds(t) for t in y])
        a = np.clip(ahead[k], bounds[:, 0], bounds[:, 1])
        rng = np.random.default_rng([seed, state.rounds, k])
        for _ in range(epochs):
            for i in rng.permutation(len(y)):
                moved = (a - ahead[k]) * K / (alpha * n)  # every change counts K-fold
                z = X[i] @ (theta + X.T @ moved) + offset + s * moved.sum() + centre
                h = K * (X[i] @ X[i] + s) / (alpha * n)
                a[i] = spec.loss.dual_step(a[i], z, h, y[i])
        new.append(a)
    total = float(sum(a.sum() for a in new))
    theta = sum(X.T @ a for X, a in zip(rows, new, strict=True)) / (alpha * n)
    offset = s * total / (alpha * n)
    conjugates = 0.0
    for piece, a in zip(pieces, new, strict=True):
        y = np.where(piece.y == spec.positive, 1.0, -1.0) if spec.positive is not None else piece.y
        conjugates += sum(spec.loss.conjugate(-v, t) for v, t in zip(a, y, strict=True))
    value = -0.5 * alpha * theta @ theta - conjugates / n
    if s > 0.0:
        value -= 0.5 * alpha * offset**2 / s + centre * total / n
    return Naive(
        new, state.a, centre, total, state.total, 1.0 if value < state.value else momentum, value,
        state.rounds + 1, theta, centre + offset,
    )  # fmt: skip
