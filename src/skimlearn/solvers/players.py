r"""The two players of `primal_dual`: what to derive one's own from.

A `LowRegret` player moves x, a `Sampler` estimates the functions. Ready-made ones are in
`skimlearn.solvers.low_regret` and `skimlearn.solvers.samplers`:

======================  =====================================================  =================
moves x (`LowRegret`)   problem                                                `Sampler`
======================  =====================================================  =================
`Ball`                  max over ||x||_q <= 1 of min_i <a_i, x>: a margin      `InnerProducts`
`Simplex`               max over distributions of min_i <a_i, x>: a game       `InnerProducts`
`Mean`                  max over x of min_i -||x - a_i||^2: an enclosing ball  `SquaredDistances`
======================  =====================================================  =================

"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.columns import Matrix
from skimlearn.data.ledger import Reads
from skimlearn.data.oracle import ReadLimit
from skimlearn.data.rows import size
from skimlearn.solvers._source import as_source, products

__all__ = ["LowRegret", "Reader", "Sampler"]

Vector = NDArray[np.float64]


class _Player:
    """Counts what it reads, and is told how much it may read."""

    reads = Reads()
    left = math.inf

    def spend(self, entries: int, *, dense: int | None = None) -> None:
        """Count entries before they are read; `ReadLimit` if they are beyond the budget.

        ``dense`` also counts the entries that are not stored because they are zero.
        """
        if entries > self.left:
            raise ReadLimit(f"{entries} more entries are beyond max_reads: {self.left:.0f} left")
        self.left -= entries
        self.reads += Reads(entries if dense is None else dense, entries)


class LowRegret(_Player, ABC):
    """A player that moves x in K so as to gain nearly as much as the best fixed x.

    Subclasses define `start` and `update`, call ``self.spend(entries)`` before they read data that
    is to be counted, and may define `dual`.

    Examples
    --------
    A point of the interval [0, 1], moved along the slopes of the functions -|x - a_i|:

    >>> class Interval(LowRegret):
    ...     def __init__(self, a):
    ...         self.a = a
    ...
    ...     def start(self, rng):
    ...         self.x, self.t = np.zeros(1), 0
    ...         return self.x
    ...
    ...     def update(self, i):
    ...         self.spend(1)
    ...         self.t += 1
    ...         self.x = np.clip(self.x + np.sign(self.a[i] - self.x) / self.t**0.5, 0, 1)
    ...         return self.x
    >>> player = Interval([0.3, 0.6])
    >>> player.start(np.random.default_rng(0)), player.update(1)
    (array([0.]), array([1.]))
    >>> player.reads.nnz
    1
    """

    @abstractmethod
    def start(self, rng: np.random.Generator) -> Vector:
        """The first x, all that was before forgotten; ``rng`` is for random decisions later."""

    @abstractmethod
    def update(self, i: int) -> Vector:
        """The next x, after a step on function i; the array may be the one returned before."""

    def dual(self) -> tuple[float, Vector] | None:
        """A bound of the optimum and the weights p behind it, if they cost nothing.

        The bound is max over x in K of sum_i p_i c_i(x), for instance with p the frequencies of the
        functions of all updates so far.
        """
        return None


class Sampler(_Player, ABC):
    """A player that estimates the values of all functions at once.

    Subclasses define `sample`, and ``scale`` if it is not 1: a bound of all |c_i(x)| and of the
    root of the second moments of the estimates.

    Examples
    --------
    The functions -|x - a_i|, exactly:

    >>> class Distances(Sampler):
    ...     def __init__(self, a):
    ...         self.a = np.asarray(a)
    ...
    ...     def sample(self, x, rng):
    ...         self.spend(len(self.a))
    ...         return -np.abs(x - self.a)
    >>> sampler = Distances([0.25, 0.75])
    >>> sampler.sample(np.zeros(1), np.random.default_rng(0)), sampler.reads.nnz
    (array([-0.25, -0.75]), 2)
    """

    scale: float = 1.0

    @abstractmethod
    def sample(self, x: Vector, rng: np.random.Generator) -> Vector:
        """Unbiased estimates of c_1(x) .. c_n(x); they may share their randomness."""


class Reader(_Player):
    """A player that reads rows and columns of a matrix or an oracle, and counts them.

    Examples
    --------
    >>> reader = Reader([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> reader.column(2), reader.reads.nnz
    (array([3., 6.]), 2)
    """

    def __init__(self, source: Any) -> None:
        self.source = as_source(source)

    def row(self, i: int) -> Vector:
        """Row i, paid for."""
        return self._line(0, i)

    def column(self, j: int) -> Vector:
        """Column j, paid for."""
        return self._line(1, j)

    def products(self, x: Vector) -> Vector:
        """A x, exactly; what it reads is counted as reads of a certificate."""
        return products(self.source, x, self.certify)

    def certify(self, entries: int) -> None:
        """Count entries that were read to certify."""
        self.reads += Reads(certificate=entries)

    def _line(self, axis: int, index: int) -> Vector:
        source = self.source
        if isinstance(source, Matrix):
            lines = source.columns if axis else source.rows
            self.spend(int(size(lines, index)), dense=lines.shape[1])
            return source.column(index) if axis else source.row(index)
        before = source.reads
        try:
            with source.within(self.left):
                return source.column(index) if axis else source.row(index)
        finally:
            self.spend(source.reads - before)
