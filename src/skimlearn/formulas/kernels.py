"""Kernels: how alike two rows x and z are, from <x, z>, ||x||^2 and ||z||^2 alone.

A kernel is an inner product of features that are never written down, which makes a linear method
one for curved boundaries. With ``product`` = <x, z>, ``left`` = ||x||^2 and ``right`` = ||z||^2,

=====================================  ====================================================
``similarity(product, left, right)``   k(x, z)
``fill(products, left, right)``        the same for a table of products, in place
=====================================  ====================================================

The first is all that a new kernel must bring. It must be symmetric and positive semi-definite; a
few points are tried before a solver sees it.

    >>> from dataclasses import dataclass
    >>> from skimlearn import kernels
    >>> @dataclass(frozen=True)
    ... class Cauchy(kernels.Kernel):
    ...     '''1 / (1 + ||x - z||^2 / width^2): a Gaussian with heavier tails.'''
    ...
    ...     width: float = 1.0
    ...
    ...     def similarity(self, product, left, right):
    ...         return 1.0 / (1.0 + max(left + right - 2.0 * product, 0.0) / self.width**2)
    >>> kernels.resolve(Cauchy(width=2.0)).similarity(0.0, 2.0, 2.0)
    0.5

See Scholkopf and Smola, "Learning with kernels" (2002).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from skimlearn._jit import Formula, kernel

__all__ = ["Gaussian", "Kernel", "Linear", "Polynomial", "resolve"]


@dataclass(frozen=True)
class Kernel(Formula):
    """The base class of kernels: `similarity` is all that a new one must define.

    Examples
    --------
    >>> from skimlearn import kernels
    >>> table = np.array([[1.0, 0.5]])  # <x, z> of x with two rows z
    >>> kernels.Polynomial(gamma=1.0, degree=2, coef0=1.0).fill(table, np.ones(1), np.ones(2))
    >>> table
    array([[4.  , 2.25]])
    """

    def similarity(self, product, left, right):
        """k(x, z) from <x, z>, ||x||^2 and ||z||^2."""
        raise TypeError("a kernel defines similarity(self, product, left, right)")

    def fill(self, products, left, right):
        """Replace a table of products <x_i, z_j> by k(x_i, z_j)."""
        _fill(self, products, left, right)


@dataclass(frozen=True)
class Linear(Kernel):
    """<x, z>.

    Examples
    --------
    >>> Linear().similarity(2.0, 1.0, 4.0)
    2.0
    """

    def similarity(self, product, left, right):
        return product

    def fill(self, products, left, right):
        """Leave the products as they are."""


@dataclass(frozen=True)
class Polynomial(Kernel):
    """(gamma <x, z> + coef0) ** degree, for a whole degree of at least 1.

    Examples
    --------
    >>> Polynomial(degree=2, coef0=1.0).similarity(2.0, 1.0, 4.0)
    9.0
    """

    degree: float = 3.0
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self):
        if not (self.degree >= 1.0 and self.degree == int(self.degree)):
            raise ValueError(f"degree={self.degree!r} must be a whole number, 1 or more")
        _check_gamma(self.gamma)
        if not 0.0 <= self.coef0 < math.inf:
            raise ValueError(
                f"coef0={self.coef0!r} must be finite and not negative, or the kernel would not "
                "be positive semi-definite"
            )

    def similarity(self, product, left, right):
        return (self.gamma * product + self.coef0) ** self.degree

    def fill(self, products, left, right):
        """Replace products by powers."""
        products *= self.gamma
        products += self.coef0
        if self.degree == 1.0:
            return
        base = products.copy()
        for _ in range(int(self.degree) - 1):
            products *= base


@dataclass(frozen=True)
class Gaussian(Kernel):
    """exp(-gamma ||x - z||^2).

    Examples
    --------
    >>> Gaussian(gamma=0.5).similarity(0.0, 0.0, 0.0)
    1.0
    """

    gamma: float = 1.0

    def __post_init__(self):
        _check_gamma(self.gamma)

    def similarity(self, product, left, right):
        return math.exp(-self.gamma * max(left + right - 2.0 * product, 0.0))

    def fill(self, products, left, right):
        """Replace products by the exponentials of the distances."""
        kind = products.dtype.type
        _lower(
            products, kind(2.0 * self.gamma), (self.gamma * left).astype(kind),
            (self.gamma * right).astype(kind),
        )  # fmt: skip
        np.exp(products, out=products)  # which NumPy does many at a time


NAMES: dict[str, type[Kernel]] = {"linear": Linear, "poly": Polynomial, "rbf": Gaussian}
USES: dict[str, tuple[str, ...]] = {
    "linear": (),
    "poly": ("gamma", "degree", "coef0"),
    "rbf": ("gamma",),
}
DEFAULTS: dict[str, Any] = {"gamma": "scale", "degree": 3, "coef0": 0.0}


def is_ours(kernel: Kernel) -> bool:
    """Whether its formulas are tested here; one that is derived from ours is a user's."""
    return type(kernel) in NAMES.values()


def resolve(
    kernel: str | Kernel = "rbf",
    *,
    gamma: float | str = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    columns: int = 1,
    variance: float = 1.0,
) -> Kernel:
    """Turn a name with its parameters, or an instance, into a kernel.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf"} or Kernel
        A name, or an instance, one's own included; an instance has its parameters already.
    gamma : float, "scale" or "auto"
        The scale of "poly" and "rbf"; "scale" is 1 / (columns * variance), "auto" 1 / columns.
    degree : int
        The degree of "poly".
    coef0 : float
        The constant of "poly".
    columns, variance : int and float
        What "scale" and "auto" are made of: the number of columns, the variance of all entries.

    Examples
    --------
    >>> resolve("rbf", columns=4, variance=0.5)
    Gaussian(gamma=0.5)
    """
    given: dict[str, Any] = {"gamma": gamma, "degree": degree, "coef0": coef0}
    uses = USES.get(kernel, ()) if isinstance(kernel, str) else ()
    if isinstance(kernel, str) and kernel not in NAMES:
        raise ValueError(
            f"kernel={kernel!r} is not known: use one of {sorted(NAMES)} or an instance of "
            "skimlearn.kernels.Kernel"
        )
    for name, value in given.items():
        if name not in uses and value != DEFAULTS[name]:
            raise ValueError(
                f"{name}={value!r} has no meaning for kernel={kernel!r}: leave it at "
                f"{DEFAULTS[name]!r}"
            )
    if isinstance(kernel, str):
        values: dict[str, Any] = {name: given[name] for name in uses}
        if "gamma" in values:
            values["gamma"] = _number(gamma, columns, variance)
        return NAMES[kernel](**{name: float(value) for name, value in values.items()})
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"kernel={kernel!r} must be a name or an instance of skimlearn.kernels.Kernel"
            + (": put parentheses after the class" if isinstance(kernel, type) else "")
        )
    if not is_ours(kernel):
        _try_out(kernel)
    return kernel


def _number(gamma, columns, variance):
    if isinstance(gamma, str):
        if gamma == "scale":
            return 1.0 / (columns * variance) if columns * variance > 0.0 else 1.0
        if gamma == "auto":
            return 1.0 / columns
        raise ValueError(f"gamma={gamma!r} must be a positive number, 'scale' or 'auto'")
    return gamma


def _check_gamma(gamma):
    if isinstance(gamma, bool) or not 0.0 < gamma < math.inf:
        raise ValueError(f"gamma={gamma!r} must be positive and finite; try gamma='scale'")


@kernel
def _fill(formula, products, left, right):
    for i in range(products.shape[0]):
        for j in range(products.shape[1]):
            products[i, j] = formula.similarity(np.float64(products[i, j]), left[i], right[j])


@kernel
def _lower(products, factor, left, right):
    """products <- min(factor products - left - right, 0), in one pass."""
    for i in range(products.shape[0]):
        line, mine = products[i], left[i]
        for j in range(len(line)):
            line[j] = min(factor * line[j] - (mine + right[j]), 0.0)


def _try_out(formula):
    """Raise an error if a kernel of a user does not compile, or is no inner product."""
    points = np.random.default_rng(0).normal(size=(24, 3)) * np.geomspace(0.1, 3.0, 24)[:, None]
    squares = np.sum(points * points, axis=1)
    table = points @ points.T
    try:
        formula.fill(table, squares, squares)
    except Exception as error:
        raise TypeError(
            f"kernel={formula!r} can't be compiled: a kernel is a frozen dataclass whose fields "
            "are floats, and similarity(self, product, left, right) is plain arithmetic on "
            f"floats. The reason: {error}"
        ) from error
    if not np.isfinite(table).all():
        raise ValueError(f"kernel={formula!r} is nan or infinite at some points")
    size = 1.0 + float(np.abs(table).max())
    if np.abs(table - table.T).max() > 1e-9 * size:
        raise ValueError(f"kernel={formula!r} is not symmetric: k(x, z) differs from k(z, x)")
    least = float(np.linalg.eigvalsh(0.5 * (table + table.T)).min())
    if least < -1e-8 * size * len(points):
        raise ValueError(
            f"kernel={formula!r} is not positive semi-definite (a table of 24 points has the "
            f"eigenvalue {least:.3g}): it is no inner product, and no certificate would hold"
        )
