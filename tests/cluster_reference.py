"""Accelerated CoCoA+, naively: dense algebra, one variable at a time, from the formulas."""

from dataclasses import dataclass, field, replace

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
    visits: int = 0
    is_few: bool = False  # whether the rows that are open are few


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
        y = _targets(piece, spec)
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
    state = _after(pieces, spec, state, new, centre, momentum)
    return replace(state, visits=state.visits + epochs * n)


def naive_joint(pieces, spec, seed, epochs, state):
    """The state after a round that visits the open rows of all pieces, until they are settled."""
    n, alpha, s = spec.n, spec.alpha, spec.bias_square
    rows = np.concatenate([np.asarray(piece.rows.values, dtype=float) for piece in pieces])
    y = np.concatenate([_targets(piece, spec) for piece in pieces])
    a = np.concatenate(state.a)
    centre = state.centre + (s * state.total / (alpha * n) if spec.bias == "free" else 0.0)
    chosen = np.flatnonzero(_open(spec, a, y))
    rng = np.random.default_rng([seed, state.rounds, 0, 1])
    gaps, most = [], int(min(epochs * n / len(chosen), 100))
    while len(gaps) < most and not (gaps and gaps[-1] <= 0.03 * max(gaps)):
        gap = 0.0
        for at, i in enumerate(chosen[rng.permutation(len(chosen))]):
            z = rows[i] @ (rows.T @ a) / (alpha * n) + s * a.sum() / (alpha * n) + centre
            if at % 8 == 0:
                gap += spec.loss.value(z, y[i]) + spec.loss.conjugate(-a[i], y[i]) + a[i] * z
            h = (rows[i] @ rows[i] + s) / (alpha * n)
            a[i] = spec.loss.dual_step(a[i], z, h, y[i])
        gaps.append(gap)
    new = np.split(a, np.cumsum([piece.n for piece in pieces])[:-1])
    state = _after(pieces, spec, state, new, centre, 1.0)
    visits = state.visits + (len(gaps) + 1) * len(chosen)
    return replace(state, before=new, total_before=state.total, momentum=1.0, visits=visits)


def _targets(piece, spec):
    return np.where(piece.y == spec.positive, 1.0, -1.0) if spec.positive is not None else piece.y


def _open(spec, a, y):
    low, high = np.transpose([spec.loss.dual_bounds(t) for t in y])
    return (a != 0.0) & (low < a) & (a < high)


def _after(pieces, spec, state, new, centre, momentum):
    """The state with new variables."""
    n, alpha, s = spec.n, spec.alpha, spec.bias_square
    rows = [np.asarray(piece.rows.values, dtype=float) for piece in pieces]
    total = float(sum(a.sum() for a in new))
    theta = sum(X.T @ a for X, a in zip(rows, new, strict=True)) / (alpha * n)
    offset = s * total / (alpha * n)
    conjugates, is_open = 0.0, 0
    for piece, a in zip(pieces, new, strict=True):
        y = _targets(piece, spec)
        conjugates += sum(spec.loss.conjugate(-v, t) for v, t in zip(a, y, strict=True))
        is_open += _open(spec, a, y).sum()
    value = -0.5 * alpha * theta @ theta - conjugates / n
    if s > 0.0:
        value -= 0.5 * alpha * offset**2 / s + centre * total / n
    momentum = 1.0 if value < state.value else momentum
    return Naive(
        new, state.a, centre, total, state.total, momentum, value, state.rounds + 1, theta,
        centre + offset, state.visits, 0 < is_open <= n / 3,
    )  # fmt: skip
