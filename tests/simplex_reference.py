"""Naive references for quadratics over the simplex: exact minima, and the steps on dense arrays."""

import numpy as np


def exact_qp(A, b, tolerance=1e-11, steps=200_000):
    """p that minimises b.p + ||A'p||^2, by pairwise Frank-Wolfe steps."""
    if A.shape[1] > len(b):  # the same inner products with fewer coordinates
        A = np.linalg.qr(A.T)[1].T
    p = np.zeros(len(b))
    p[np.argmin(b + (A * A).sum(axis=1))] = 1.0
    x = A.T @ p
    for k in range(steps):
        g = b + 2.0 * (A @ x)
        s, carrying = np.argmin(g), np.flatnonzero(p > 0.0)
        a = carrying[np.argmax(g[carrying])]
        if p @ g - g[s] < tolerance:
            break
        across = A[s] - A[a]
        curvature = 2.0 * (across @ across)
        step = min(p[a], (g[a] - g[s]) / curvature) if curvature > 0.0 else p[a]
        p[s] += step
        p[a] -= step
        x = A.T @ p if k % 100 == 0 else x + step * across
    return p


def exact_radius(X):
    """The squared radius of the smallest ball: a lower and an upper bound that nearly agree."""
    A = X - X.mean(axis=0)
    squares = (A * A).sum(axis=1)
    p = exact_qp(A, -squares, 1e-10 * (squares.max() + 1e-300))
    c = A.T @ p
    return p @ squares - c @ c, ((A - c) ** 2).sum(axis=1).max()


def share(t, n):
    return 1.0 if t == 1 else min(1.0, np.log(t + 1) / np.sqrt(t * np.log(max(n, 2))))


def draw(weights, u):
    """The index that u falls on."""
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, u * sums[-1], side="right"))


def naive_steps(A, b, steps, rng, *, extra=None, ridge=0.0, longest=None):
    """The steps with everything computed anew from its definition; A has its reference subtracted.

    ``longest`` is the greatest squared length of a row if it is known; else it is learned.
    """
    n, d = A.shape
    s = np.zeros(n) if extra is None else extra
    known = longest is not None
    longest = longest or 0.0
    counts, S = np.zeros(n), np.zeros(n)
    sums = {"x": np.zeros(d), "z": 0.0, "P": np.zeros(n)}
    moment = np.ptp(b) ** 2
    for t in range(1, steps + 1):
        u = rng.random(2)
        P = counts / counts.sum() if counts.any() else counts
        x, z = A.T @ P, s @ P
        rate = np.sqrt(np.log(max(n, 2)) / moment) if moment > 0.0 else 0.0
        i = -1
        if u[0] < share(t, n):
            i = draw(np.exp(-rate * (S - S.min())), u[0] / share(t, n))
        e = np.zeros(n)
        if x @ x > 0.0:
            j = draw(x * x, u[1])
            raw = A[:, j] * (x @ x) / x[j]
            e = np.clip(raw, -0.5 / rate, 0.5 / rate) if rate > 0.0 else raw
            second = (x @ x) * longest
            moment += 4.0 * (second if known else max(second, np.mean(raw**2)))
        S += b + 2.0 * (e + z * s + ridge * P)
        for name, value in (("x", x), ("z", z), ("P", P)):
            sums[name] = sums[name] + value
        if i >= 0:
            counts[i] += 1.0 / share(t, n)
            if not known:
                longest = max(longest, A[i] @ A[i])
    means = {name: value / steps for name, value in sums.items()}
    return counts, means, S, moment
