"""The naive oracle of every algorithm: algorithms.md in plain dense numpy, as slow as it likes.

A stochastic method gets its visits as an explicit ``order`` and returns all its iterates, a list of
pairs (w, b), from which `mean` and `tail` are taken by their definitions. Nothing here is lazy,
scaled, sparse or shared with the package.

====================  =======================
`sgd`                 section 10
`pegasos`             section 9
`pgs`, `link`         section 11
`dual_ascent`         section 12.1
`optimum`             section 12.1, the dual by a general solver
====================  =======================
"""

import math

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit

DELTA, EPSILON, TAU = 1.0, 0.1, 0.7  # of Huber, the epsilon-insensitive loss and the pinball loss

# --------------------------------------------------------------------------------------- formulas

VALUES = {
    "hinge": lambda z, y: np.maximum(0, 1 - y * z),
    "squared_hinge": lambda z, y: np.maximum(0, 1 - y * z) ** 2 / 2,
    "log": lambda z, y: np.logaddexp(0, -y * z),
    "squared": lambda z, y: (z - y) ** 2 / 2,
    "absolute": lambda z, y: np.abs(z - y),
    "huber": lambda z, y: np.where(
        np.abs(z - y) <= DELTA, (z - y) ** 2 / 2, DELTA * (np.abs(z - y) - DELTA / 2)
    ),
    "epsilon_insensitive": lambda z, y: np.maximum(0, np.abs(z - y) - EPSILON),
    "pinball": lambda z, y: np.maximum(TAU * (y - z), (1 - TAU) * (z - y)),
    "log_cosh": lambda z, y: np.logaddexp(z - y, y - z) - math.log(2),
}

SLOPES = {
    "hinge": lambda z, y: np.where(y * z < 1, -y, 0.0),
    "squared_hinge": lambda z, y: -y * np.maximum(0, 1 - y * z),
    "log": lambda z, y: -y * expit(-y * z),
    "squared": lambda z, y: z - y,
    "absolute": lambda z, y: np.where(z > y, 1.0, -1.0),
    "huber": lambda z, y: np.clip(z - y, -DELTA, DELTA),
    "epsilon_insensitive": lambda z, y: np.sign(z - y) * (np.abs(z - y) > EPSILON),
    "pinball": lambda z, y: np.where(z > y, 1 - TAU, -TAU),
    "log_cosh": lambda z, y: np.tanh(z - y),
}


def penalty(w, p=2.0, radius=math.inf):
    """r(w), for p > 1."""
    norm = np.linalg.norm(w, p)
    return norm**2 / (2 * (p - 1)) if norm <= radius * (1 + 1e-12) else math.inf


def link(theta, p=2.0, radius=math.inf):
    """The gradient of r*; p = 1 is the entropy on the l1 ball."""
    if not theta.any():
        return np.zeros_like(theta)
    if p == 1:
        x = theta / radius
        top = np.abs(x).max()
        up, down = np.exp(x - top), np.exp(-x - top)
        return radius * (up - down) / (up + down).sum()
    q = p / (p - 1)
    top = np.abs(theta).max()  # so that no power overflows
    norm = top * np.linalg.norm(theta / top, q)
    w = (p - 1) * norm * (np.abs(theta) / norm) ** (q - 1) * np.sign(theta)
    return w * min(1.0, radius / ((p - 1) * norm))


def objective(X, y, w, b, alpha, loss, *, bias="free", m=None, p=2.0, radius=math.inf):
    """P(w, b), for p > 1."""
    m = np.ones(len(y)) if m is None else m
    value = alpha * penalty(w, p, radius) + m @ VALUES[loss](X @ w + b, y) / len(y)
    return value + (alpha * b * b / 2 if bias == "regularized" else 0.0)


# ------------------------------------------------------------------------------ stochastic methods


def sgd(X, y, order, alpha, loss, *, bias="free", centred=False, t0=0.0, m=None, start=None):
    """The iterates w_1, ..., w_T of (centred) SGD, with the bias of the uncentred rows."""
    n, d = X.shape
    m = np.ones(n) if m is None else m
    mean = m @ X / n if centred else np.zeros(d)
    w, b, centre = np.zeros(d), 0.0, 0.0
    if start is not None:
        w, b = start
        if bias == "free":  # regularised towards the bias of the start, in centred coordinates
            centre, b = b + w @ mean, 0.0
    iterates = []
    for t, i in enumerate(order, 1):
        x = X[i] - mean
        g = m[i] * SLOPES[loss](w @ x + b + centre, y[i])
        step = 1 / (alpha * (t + t0))
        w = (1 - alpha * step) * w - step * g * x
        if bias != "none":
            b = (1 - alpha * step) * b - step * g
        iterates.append((w, b + centre - w @ mean))
    return iterates


def pegasos(
    X, y, order, alpha, loss, *, k=1, radius=math.inf, bias="none", t0=0.0, m=None, centre=0.0
):
    """The iterates w_1 = 0, ..., w_{T+1} of Pegasos."""
    n, d = X.shape
    m = np.ones(n) if m is None else m
    w, b = np.zeros(d), 0.0
    iterates = [(w, b + centre)]
    for t, batch in enumerate(batches(order, k), 1):
        g = m[batch] * SLOPES[loss](X[batch] @ w + b + centre, y[batch]) / len(batch)
        step = 1 / (alpha * (t + t0))
        w = (1 - alpha * step) * w - step * (g @ X[batch])
        if bias != "none":
            b = (1 - alpha * step) * b - step * g.sum()
        norm = math.sqrt(w @ w + (b * b if bias == "regularized" else 0.0))
        if norm > radius:
            w = w * radius / norm
            if bias == "regularized":
                b = b * radius / norm
        iterates.append((w, b + centre))
    return iterates


def ftrl(X, y, order, alpha, loss, *, ratio, first, own=(1.0, 1.0), bias="none", m=None):
    """The iterates of FTRL-Proximal, and their regularizers: minima of all that was seen so far.

    The minimised function is, for each coordinate, the linear parts d w, the proximal terms
    sigma / 2 (w - iterate)^2, the first one around zero, and alpha / 2 w^2 for each step.
    """
    n, d = X.shape
    m = np.ones(n) if m is None else m
    X = np.hstack([X, np.ones((n, 1))])  # the bias is a column
    ratios = np.append(np.full(d, ratio), own[0])
    firsts = np.append(np.full(d, first), own[1])
    alphas = np.append(np.full(d, alpha), alpha if bias == "regularized" else 0.0)
    sigmas, centres, slopes = [ratios * np.sqrt(firsts)], [np.zeros(d + 1)], []
    iterates = []
    for t in range(len(order) + 1):
        pulled = sum(s * c for s, c in zip(sigmas, centres, strict=True)) - sum(
            slopes, np.zeros(d + 1)
        )
        w = pulled / (sum(sigmas) + t * alphas)
        iterates.append((w[:d], float(w[d])))
        if t == len(order):
            return iterates, (sigmas, centres, slopes)
        i = order[t]
        g = m[i] * SLOPES[loss](X[i] @ w, y[i]) * X[i]
        if bias == "none":
            g[d] = 0.0
        before = sum(s * s for s in slopes) + firsts if slopes else firsts
        sigmas.append(ratios * (np.sqrt(before + g * g) - np.sqrt(before)))
        centres.append(w)
        slopes.append(g)


def pgs(
    X, y, order, alpha, loss, *, p=2.0, radius=math.inf, k=1, bias="none", t0=0.0, m=None,
    centre=0.0,
):  # fmt: skip
    """The iterates w_0 = 0, ..., w_T of PGS; the entropy's divisor moves in steps of an eighth."""
    n, d = X.shape
    m = np.ones(n) if m is None else m
    lam, beta, w, b = np.zeros(d), 0.0, np.zeros(d), 0.0
    divisor = alpha * (1 + t0)
    iterates = [(w, b + centre)]
    for t, batch in enumerate(batches(order, k), 1):
        g = m[batch] * SLOPES[loss](X[batch] @ w + b + centre, y[batch]) / len(batch)
        lam = lam - g @ X[batch]
        now = alpha * (t + 1 + t0)
        if p != 1 or now >= 1.125 * divisor:
            divisor = now
        w = link(lam / divisor, p, radius)
        if bias != "none":
            beta -= g.sum()
            b = beta / now
        iterates.append((w, b + centre))
    return iterates


def batches(order, k):
    return [order[begin : begin + k] for begin in range(0, len(order), k)]


def mean(iterates):
    """The mean of all iterates."""
    return np.mean([w for w, _ in iterates], axis=0), float(np.mean([b for _, b in iterates]))


def tail(iterates, n, k=1):
    """The mean without the beginning: it ends at first * 2^j, at most half of the iterates."""
    first = max(1, n // (8 * k))
    marks = [first * 2**j for j in range(60) if first * 2**j <= len(iterates) / 2]
    begin = marks[-1] if marks else (first if len(iterates) > first else 0)
    return mean(iterates[begin:])


# -------------------------------------------------------------------------------------------- dual


def log_step(a, z, h, y):
    def slope(share):  # of the objective in share = y a'
        return math.log((1 - share) / share) - y * z - h * (share - y * a)

    return y * brentq(slope, 1e-300, 1 - 1e-16, xtol=1e-300, rtol=1e-15)


DUAL_STEPS = {
    "hinge": lambda a, z, h, y: y * min(max(y * a + (1 - y * z) / h, 0), 1),
    "squared_hinge": lambda a, z, h, y: y * max(0, y * a + (1 - y * z - y * a) / (1 + h)),
    "squared": lambda a, z, h, y: a + (y - z - a) / (1 + h),
    "absolute": lambda a, z, h, y: min(max(a + (y - z) / h, -1), 1),
    "log": log_step,
}


def dual_ascent(X, y, orders, alpha, loss, *, bias="none", m=None, p=2.0, radius=math.inf):
    """The dual variables, the weights and the bias after some epochs of proximal SDCA."""
    n = len(y)
    m = np.ones(n) if m is None else m
    q = math.inf if p == 1 else p / (p - 1)
    squares = np.linalg.norm(X, q, axis=1) ** 2
    square = {"none": 0.0, "regularized": 1.0, "free": m @ squares / n}[bias]
    h = m * (squares + square) / (alpha * n)
    a, centre, seen = np.zeros(n), 0.0, float(n)
    if p == 2 and radius == math.inf:  # as if the rows seen, and some more, were all there are
        curvature = 0.25 if loss == "log" else 1.0
        seen = min(n, 2.0 * curvature * (m @ squares) / n / alpha)

    def answer():
        stretch = n / seen
        b = centre + stretch * square * (m @ a) / (alpha * n)
        return stretch * link(X.T @ (m * a) / (alpha * n), p, radius), b

    for order in orders:
        if bias == "free":  # the method of multipliers
            centre += square * (m @ a) / (alpha * n)
        for i in order:
            seen = min(n, seen + 1.0)
            w, b = answer()
            a[i] = DUAL_STEPS[loss](a[i], X[i] @ w + b, n / seen * h[i], y[i])
    return a, *answer()


# ----------------------------------------------------------------------------------------- optimum


def dual_box(loss, y):
    """The domain of the dual variables, cut off far from any optimum where it has no end."""
    if loss in ("hinge", "log"):
        low, high = np.minimum(y, 0), np.maximum(y, 0)
        return (low + 1e-12, high - 1e-12) if loss == "log" else (low, high)
    if loss == "squared_hinge":
        return np.where(y > 0, 0, -50.0), np.where(y > 0, 50.0, 0)
    low, high = {
        "squared": (-50.0, 50.0),
        "absolute": (-1.0, 1.0),
        "huber": (-DELTA, DELTA),
        "epsilon_insensitive": (-1.0, 1.0),
        "pinball": (TAU - 1, TAU),
    }[loss]
    return np.full(len(y), low), np.full(len(y), high)


def gain(loss, a, y):
    """-loss*(-a) and its derivative."""
    if loss == "log":
        share = a * y
        value = -share * np.log(share) - (1 - share) * np.log1p(-share)
        return value, y * (np.log1p(-share) - np.log(share))
    if loss in ("squared", "squared_hinge", "huber"):
        return a * y - a * a / 2, y - a
    if loss == "epsilon_insensitive":
        return a * y - EPSILON * np.abs(a), y - EPSILON * np.sign(a)
    return a * y, y


def conjugate(theta, p, radius):
    """r*(theta)."""
    if p == 1:
        x = theta / radius
        return radius**2 * (np.logaddexp.reduce(np.r_[x, -x]) - math.log(2 * len(x)))
    length = (p - 1) * np.linalg.norm(theta, p / (p - 1))
    return (length**2 - max(0, length - radius) ** 2) / (2 * (p - 1))


def optimum(X, y, alpha, loss, *, bias="free", m=None, p=2.0, radius=math.inf):
    """The least value of the problem: the greatest of its dual, by sequential programming."""
    n = len(y)
    m = np.ones(n) if m is None else m
    # the two parts of a variable make |a| of the epsilon-insensitive loss smooth
    low, high = dual_box(loss, y)
    parts = 2 if loss == "epsilon_insensitive" else 1
    if parts == 2:
        low, high = np.r_[np.zeros(n), low], np.r_[high, np.zeros(n)]

    def minus_dual(a):
        whole = a.reshape(parts, n).sum(axis=0)
        theta, e = X.T @ (m * whole) / (alpha * n), m @ whole / (alpha * n)
        value, w = -alpha * conjugate(theta, p, radius), link(theta, p, radius)
        z = X @ w
        if bias == "regularized":
            value, z = value - alpha * e * e / 2, z + e
        gains, slopes = gain(loss, a, np.tile(y, parts))
        value += np.tile(m, parts) @ gains / n
        return -n * value, np.tile(m, parts) * (np.tile(z, parts) - slopes)

    def at_zero_sum(a):
        return np.tile(m, parts) @ a

    found = minimize(
        minus_dual,
        np.clip(0.0, low + 0.1 * (loss == "log"), high - 0.1 * (loss == "log")),
        jac=True,
        bounds=np.c_[low, high],
        constraints={"type": "eq", "fun": at_zero_sum, "jac": lambda a: np.tile(m, parts)}
        if bias == "free"
        else (),
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-16},
    )
    return -found.fun / n


# ------------------------------------------------------------- Newton's method, conjugate gradients


def conjugate_gradients(H, g, iterations):
    """All points on the way to H s = -g, with the diagonal as preconditioner (Shewchuk, B3)."""
    s, r = np.zeros(len(g)), -g
    p = r / np.diag(H)
    points = []
    for _ in range(iterations):
        z = r / np.diag(H)
        length = (r @ z) / (p @ H @ p)
        s = s + length * p
        r_new = r - length * (H @ p)
        p = r_new / np.diag(H) + (r_new @ (r_new / np.diag(H))) / (r @ z) * p
        r = r_new
        points.append(s)
    return points


BENDS = {
    "squared": lambda z, y: np.ones_like(z),
    "squared_hinge": lambda z, y: (y * z < 1).astype(float),
    "log": lambda z, y: 1 / (2 + 2 * np.cosh(z)),
    "huber": lambda z, y: (np.abs(z - y) <= 1).astype(float),
}


def model(X, y, x, alpha, loss, bias, m):
    """Gradient and Hessian at x: the weights and, behind them, the bias (if there is one)."""
    n = len(y)
    A = X if bias == "none" else np.c_[X, np.ones(n)]
    ridge = np.full(A.shape[1], alpha)
    if bias == "free":
        ridge[-1] = 0.0
    z = A @ x
    g = ridge * x + A.T @ (m * SLOPES[loss](z, y)) / n
    return g, np.diag(ridge) + (A.T * (m * BENDS[loss](z, y) / n)) @ A


def column_pass(X, y, start, alpha, loss, bias, m, order, reach, most):
    """Each column of a quadratic model in turn, the bias first: the new weights and bias."""
    n, w, b = len(y), start.w.copy(), start.b
    z = X @ w + b
    slopes = SLOPES[loss](z, y)
    bends = np.maximum(BENDS[loss](z, y), np.minimum(np.abs(slopes) / reach, most))
    moves = np.zeros(n)

    def step(column, weight, ridge):
        slope = m @ ((slopes + bends * moves) * column) / n + ridge * weight
        return -slope / (m @ (bends * column**2) / n + ridge)

    if bias != "none":
        change = step(np.ones(n), b, alpha if bias == "regularized" else 0.0)
        b, moves = b + change, moves + change
    for j in order:
        change = step(X[:, j], w[j], alpha)
        w[j] += change
        moves = moves + change * X[:, j]
    return w, b
