"""Margin problems for tests, and their exact values from a general solver."""

import numpy as np
from scipy.optimize import minimize


def make_margin(seed, n=None, d=None):
    """Rows and labels, separable or not, of any length, some with duplicates and zeros."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 14)) if n is None else n
    d = int(rng.integers(1, 6)) if d is None else d
    y = np.where(rng.random(n) < rng.uniform(0.2, 0.8), 1.0, -1.0)
    X = rng.normal(size=(n, d)) + rng.uniform(0.0, 3.0) * y[:, None] * rng.normal(size=d)
    X *= 10.0 ** rng.integers(-2, 3)
    if seed % 4 == 0:
        X[-1], y[-1] = X[0], y[0]
    if seed % 5 == 0:
        X[1] = 0.0
    return X, y


def make_cap(seed, n):
    """Hard margins, soft ones with and without a fraction, and the mean of all."""
    return (1.0, 1.0 / (0.5 * n), 1.0 / (0.37 * n + 1.0), 1.0 / n)[seed % 4]


def exact_margin(X, y, cap, bias):
    """max g - cap * sum(slack): the margin problem as a smooth program, for SLSQP."""
    n, d = X.shape
    R = np.linalg.norm(X, axis=1).max()
    A = y[:, None] * X / R  # in units of R
    slack = slice(d + 2, None)

    def rows(z):
        return A @ z[:d] + bias * y * z[d] + z[slack] - z[d + 1]

    jacobian = np.hstack([A, bias * y[:, None], -np.ones((n, 1)), np.eye(n)])
    constraints = [
        {"type": "ineq", "fun": rows, "jac": lambda z: jacobian},
        {
            "type": "ineq",
            "fun": lambda z: 1.0 - z[:d] @ z[:d],
            "jac": lambda z: np.r_[-2.0 * z[:d], np.zeros(n + 2)],
        },
    ]
    gradient = np.r_[np.zeros(d + 1), -1.0, np.full(n, cap)]
    begin = A.mean(axis=0)
    z = np.r_[begin, 0.0, np.min(A @ begin), np.zeros(n)]
    bounds = [(None, None)] * d + [(-1.0, 1.0), (None, None)] + [(0.0, None)] * n
    found = minimize(
        lambda z: gradient @ z, z, jac=lambda z: gradient, bounds=bounds, method="SLSQP",
        constraints=constraints, options={"maxiter": 1000, "ftol": 1e-14},
    )  # fmt: skip
    return -found.fun * R, R


def holds(result, X, y, cap, bias):
    """Whether a margin result is what it says: feasible, with the values of its certificate."""
    R = np.linalg.norm(X, axis=1).max()
    A, p = y[:, None] * X, result.p
    c = np.sort(A @ result.x + result.bias * y)
    weights = np.clip(1.0 - cap * np.arange(len(c)), 0.0, cap)
    assert np.linalg.norm(result.x) <= 1.0 + 1e-12
    assert abs(result.bias) <= (R if bias else 0.0) * (1.0 + 1e-12)
    assert p.min() >= 0.0
    assert p.max() <= cap * (1.0 + 1e-9)
    assert abs(p.sum() - 1.0) <= 1e-9
    slack = 1e-9 * R
    assert abs(weights @ c - result.certificate.primal) <= slack
    upper = np.linalg.norm(A.T @ p) + (R * abs(p @ y) if bias else 0.0)
    assert abs(upper - result.certificate.dual) <= slack
