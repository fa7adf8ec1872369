r"""Quadratic programs over the simplex, from columns and a few rows, with a certificate.

Problem:  min over p in the simplex of  phi(p) = b.p + ||A'p||^2,
its dual: max over x of                 psi(x) = min_i (b_i + 2 <A_i, x>) - ||x||^2.

Any p and x bracket the optimum, and x = A'p joins the two sides there. The steps are those of
`_simplex`, the proofs and the finisher those of `_simplex_run`. `reductions` reads the answers of
other problems (shortest vectors, margins, support vector machines) from this one.

See Clarkson, Hazan and Woodruff, "Sublinear optimization for machine learning" (2010), III-C:
O(n / eps^2 + d / eps) entries are read, up to logarithms, for an answer within eps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data.columns import Matrix
from skimlearn.data.rows import norms
from skimlearn.result import Result
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._simplex import LONGEST
from skimlearn.solvers._simplex_run import SimplexRun
from skimlearn.solvers._source import Source, as_source, products

__all__ = ["simplex_qp"]

Vector = NDArray[np.float64]


def simplex_qp(
    A: Any,
    b: ArrayLike | None = None,
    *,
    eps: float = 0.01,
    mode: str = "las-vegas",
    delta: float = 0.05,
    extra_column: ArrayLike | None = None,
    ridge: float = 0.0,
    max_reads: int | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    random_state: int | np.random.Generator | None = None,
) -> Result:
    """Minimise ``b.p + ||A'p||^2`` over the simplex, reading a part of A.

    Parameters
    ----------
    A : array, sparse matrix, Matrix or Oracle of shape (n, d)
        The rows.
    b : array of shape (n,) or None
        The linear term; None for zero.
    eps : float, default=0.01
        How far from the minimum the answer may be.
    mode : {"las-vegas", "high-probability", "monte-carlo"}, default="las-vegas"
        A proof, bounds that fail with probability delta, or a promise that holds in half of all
        runs.
    delta : float, default=0.05
        The probability of failure in mode "high-probability".
    extra_column : array of shape (n,) or None
        One more column of A that is known: it is used exactly, and not counted as read.
    ridge : float, default=0.0
        Adds ``ridge * ||p||^2``, which is known exactly, too.
    max_reads, max_steps, max_seconds : int, int and float, or None
        Stop before more stored entries are read than that, or after so many steps or seconds.
    random_state : int, Generator or None
        Source of randomness.

    Returns
    -------
    Result
        ``p`` is the answer and ``certificate.primal`` its value; ``x`` is close to ``A'p``, with
        the coordinate of the extra column in ``bias``, and proves ``certificate.dual``.

    Examples
    --------
    >>> result = simplex_qp([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]], eps=1e-6, random_state=0)
    >>> result.p.round(3)
    array([0.8, 0.2, 0. ])
    >>> round(result.certificate.primal, 3)
    0.8
    """
    limits = Limits(eps=eps, max_reads=max_reads, max_steps=max_steps, max_seconds=max_seconds)
    source = as_source(A)
    n = source.shape[0]
    if not 0.0 <= ridge < np.inf:
        raise ValueError(f"ridge={ridge!r} must be finite and not negative")
    run = QpRun(
        source,
        np.random.default_rng(random_state),
        linear=np.zeros(n) if b is None else as_vector(b, n, "b"),
        extra=None if extra_column is None else as_vector(extra_column, n, "extra_column"),
        ridge=float(ridge),
        mode=mode,
        delta=delta,
    )
    if mode == "high-probability":
        run.know_longest()
    return run.run(limits)


@dataclass
class QpRun(SimplexRun):
    """One run of a quadratic program; x is used as it is."""

    name = "simplex_qp"

    def know_longest(self) -> None:
        """A promise from estimates needs a bound of the lengths of the rows."""
        length, entries = longest_row(self.source)
        self.certified += entries
        self.state.scalars[LONGEST] = length**2

    def gradient(self, x: Vector, z: float, q: Vector) -> Vector:
        return self._known(z, q) + 2.0 * products(self.source, x, self.certify)

    def found_p(self, phi: float, p: Vector) -> None:
        if phi < self.bounds.upper:
            self.bounds.upper, self.bounds.p = phi, p

    def found_x(self, psi: float, x: Vector, z: float) -> None:
        if psi > self.bounds.lower:
            self.bounds.lower, self.bounds.x, self.bounds.bias = psi, x, z

    def target(self, eps: float) -> float:
        return eps


def as_vector(values: ArrayLike, n: int, name: str) -> Vector:
    """Check one finite number for each row."""
    vector = np.array(values, dtype=np.float64)
    if vector.shape != (n,):
        raise ValueError(f"{name} has shape {vector.shape}, but A has {n} rows: one number each")
    if not np.isfinite(vector).all():
        raise ValueError(f"{name} holds nan or infinite numbers: {name}[{_first(vector)}]")
    return vector


def _first(vector: Vector) -> int:
    return int(np.argmin(np.isfinite(vector)))


def longest_row(source: Source) -> tuple[float, int]:
    """The greatest length of a row, and how many entries it took to know it."""
    if isinstance(source, Matrix):
        return float(norms(source.rows).max()), source.entries
    if source.rows_norm is not None:
        return float(source.rows_norm.max()), 0
    before = source.reads
    longest = max(float(np.linalg.norm(source.row(i))) for i in range(source.shape[0]))
    return longest, source.reads - before
