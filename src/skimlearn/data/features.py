r"""Random features of kernels, computed when they are read: linear methods for kernels.

`fourier_features`
    pairs sqrt(2 / D) (cos <w, x>, sin <w, x>) with w normal of variance 2 gamma: the product of two
    rows has the mean exp(-gamma ||x - z||^2), and all rows have the length 1 (Rahimi and Recht,
    "Random features for large-scale kernel machines", 2007);
`sketch_features`
    TensorSketch: the circular convolution of ``degree`` independent count sketches, in which the
    product of two rows has the mean (gamma <x, z> + coef0)^degree (Pham and Pagh, "Fast and
    scalable polynomial kernels via explicit feature maps", 2013).

Both are an `Oracle`: nothing is computed before a solver asks for a row or a column, and the
memory does not grow with the number of features but for what the oracle keeps. Frequencies and
hashes depend on the seed alone.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data.oracle import Oracle
from skimlearn.formulas.kernels import Gaussian, Polynomial

__all__ = ["fourier_features", "sketch_features"]

Vector = NDArray[np.float64]
BLOCK = 256  # frequencies that are drawn together
MOST = 10**6  # tuples of columns that a sketch may look through


def fourier_features(
    X: ArrayLike, count: int, *, gamma: float, seed: int = 0, **options: Any
) -> Oracle:
    """Features whose products estimate the Gaussian kernel, computed on demand.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    count : int
        The number of features, even.
    gamma : float
        Of the kernel exp(-gamma ||x - z||^2).
    seed : int, default=0
        Of the frequencies.
    **options
        ``max_reads`` and ``cache_bytes`` of the `Oracle`.

    Returns
    -------
    Oracle
        Of shape (n, count), with rows of length 1.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> features = fourier_features(X, 20_000, gamma=0.5)
    >>> round(float(features.row(0) @ features.row(1)), 1)  # exp(-0.5) = 0.607
    0.6
    """
    rows, count = _rows(X), _count(count)
    if count % 2:
        raise ValueError(f"count={count} must be even: features come in pairs")
    deviation, size = math.sqrt(2.0 * Gaussian(gamma=gamma).gamma), math.sqrt(2.0 / count)

    def frequencies(block: int) -> Vector:
        return np.random.default_rng([seed, block]).normal(0.0, deviation, (BLOCK, rows.shape[1]))

    def row(i: int) -> Vector:
        blocks = -(-count // (2 * BLOCK))
        angles = np.concatenate([frequencies(block) @ rows[i] for block in range(blocks)])
        return size * np.stack([np.cos(angles), np.sin(angles)], axis=1).ravel()[:count]

    def column(j: int) -> Vector:
        angles = rows @ frequencies(j // (2 * BLOCK))[j // 2 % BLOCK]
        return size * (np.sin(angles) if j % 2 else np.cos(angles))

    return Oracle((len(rows), count), row=row, column=column, rows_norm=1.0, **options)


def sketch_features(
    X: ArrayLike,
    count: int,
    *,
    degree: int,
    gamma: float = 1.0,
    coef0: float = 0.0,
    seed: int = 0,
    **options: Any,
) -> Oracle:
    """Features whose products estimate a polynomial kernel, computed on demand.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    count : int
        The number of features.
    degree, gamma, coef0 : int, float and float
        Of the kernel (gamma <x, z> + coef0) ** degree.
    seed : int, default=0
        Of the hashes.
    **options
        ``max_reads`` and ``cache_bytes`` of the `Oracle`.

    Returns
    -------
    Oracle
        Of shape (n, count).

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [1.0, -1.0]])
    >>> features = sketch_features(X, 4096, degree=2)
    >>> round(float(features.row(0) @ features.row(1)), 6)  # (1 - 2) ** 2
    1.0
    """
    count = _count(count)
    kernel = Polynomial(degree=float(degree), gamma=gamma, coef0=coef0)
    rows = math.sqrt(kernel.gamma) * _rows(X)
    if kernel.coef0 > 0.0:
        rows = np.hstack([rows, np.full((len(rows), 1), math.sqrt(kernel.coef0))])
    d, parts = rows.shape[1], int(kernel.degree)
    if d ** (parts - 1) > MOST:
        raise ValueError(
            f"degree={degree} and {d} columns make {float(d) ** (parts - 1):.0e} tuples, more than "
            f"a column of the sketch can look through: lower the degree"
        )
    rng = np.random.default_rng(seed)
    places = rng.integers(count, size=(parts, d))
    signs = rng.choice([-1.0, 1.0], size=(parts, d))
    order = np.argsort(places[-1], kind="stable")  # the last sketch, by its places
    tuples = np.array(list(itertools.product(range(d), repeat=parts - 1)), dtype=np.int64)
    sums = np.zeros(len(tuples), dtype=np.int64)
    for part in range(parts - 1):
        sums += places[part, tuples[:, part]]

    def row(i: int) -> Vector:
        product = np.ones(count // 2 + 1, dtype=np.complex128)
        for part in range(parts):
            sketch = np.bincount(places[part], signs[part] * rows[i], minlength=count)
            product *= np.fft.rfft(sketch)
        return np.fft.irfft(product, n=count)

    def column(j: int) -> Vector:
        wanted = (j - sums) % count
        ordered = places[-1, order]
        first, last = np.searchsorted(ordered, wanted), np.searchsorted(ordered, wanted, "right")
        out = np.zeros(len(rows))
        for at in np.flatnonzero(last > first).tolist():
            for q in order[first[at] : last[at]].tolist():
                term = signs[-1, q] * rows[:, q]
                for part, p in enumerate(tuples[at].tolist()):
                    term = term * (signs[part, p] * rows[:, p])
                out += term
        return out

    return Oracle((len(rows), count), row=row, column=column, **options)


def _rows(X: ArrayLike) -> Vector:
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or 0 in rows.shape or not np.isfinite(rows).all():
        raise ValueError(
            f"X of shape {rows.shape} must have two dimensions, rows and columns, and finite "
            "entries"
        )
    return rows


def _count(count: int) -> int:
    if operator.index(count) < 1:
        raise ValueError(f"count={count} must be positive: it is the number of features")
    return operator.index(count)
