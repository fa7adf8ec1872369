"""Small problems that several tests share, and losses as a user would write them."""

import math
from dataclasses import dataclass

import numpy as np

from skimlearn.formulas.losses import Loss
from skimlearn.problem import make_problem

NAMES = (
    "hinge",
    "squared_hinge",
    "log",
    "squared",
    "absolute",
    "huber",
    "epsilon_insensitive",
)
ON_LABELS = ("hinge", "squared_hinge", "log")


@dataclass(frozen=True)
class Pinball(Loss):
    """The loss of quantiles: a user's, with kinks and a bounded slope."""

    tau: float = 0.7

    def value(self, z, y):
        return max(self.tau * (y - z), (1.0 - self.tau) * (z - y))

    def slope(self, z, y):
        return 1.0 - self.tau if z > y else -self.tau


@dataclass(frozen=True)
class LogCosh(Loss):
    """A user's loss, smooth, that does not say how smooth."""

    def value(self, z, y):
        r = abs(z - y)
        return r + math.log1p(math.exp(-2.0 * r)) - math.log(2.0)

    def slope(self, z, y):
        return math.tanh(z - y)


@dataclass(frozen=True)
class Quartic(Loss):
    """A user's loss whose slope is unbounded, and who knows how fast it grows."""

    def value(self, z, y):
        return 0.25 * (z - y) ** 4

    def slope(self, z, y):
        return (z - y) ** 3


LOSSES = {name: name for name in NAMES} | {"pinball": Pinball(), "log_cosh": LogCosh()}


def make_data(loss, n=40, d=5, seed=0, *, density=1.0, offset=0.0, length=1.0):
    """Rows of length at most ``length``, and labels or numbers as the loss wants them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    X *= length / max(np.linalg.norm(X, axis=1).max(), 1e-300)
    y = 2.0 * X @ rng.normal(size=d) / length + 0.5 * rng.normal(size=n) + offset
    if loss in ON_LABELS:
        y = np.where(y > 0.0, 1.0, -1.0)
    return X, y


def make_weights(n, seed=0):
    """Weights of mean 1, a fifth of them zero."""
    rng = np.random.default_rng(seed)
    m = rng.random(n) * (rng.random(n) < 0.8) * 3.0
    m[0] = 1.0
    return m / m.mean()


def make(loss, X, y, **parameters):
    """The problem of a loss by its name, one of `LOSSES`."""
    parameters.setdefault("alpha", 0.1)
    return make_problem(X, y, loss=LOSSES.get(loss, loss), **parameters)


def close(found, expected, tolerance=1e-10):
    """Whether two answers (w, b) agree, relative to the largest number in them."""
    found, expected = (np.append(w, b) for w, b in (found, expected))
    return np.abs(found - expected).max() <= tolerance * np.abs(expected).max()
