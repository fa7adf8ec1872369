"""The ledger: how many entries of the data were looked at.

A row costs its width in the dense count, the model of the theorems, and its stored entries in the
other, which is what is really touched. What a certificate reads is counted apart. A line that is
used again while it is at hand is read once; one that is asked for again later is read again, unless
the algorithm keeps it. Copies and checks of a whole matrix before an algorithm begins (its
transpose, a search for nan) are not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.rows import Csr, Rows, lengths, stored

__all__ = ["Ledger", "Reads"]


@dataclass(frozen=True)
class Reads:
    """Entries of the data that were read.

    Attributes
    ----------
    dense : int
        A row costs the number of columns (of those that are left, where columns of single rows
        were merged).
    nnz : int
        A row costs the number of its stored entries.
    certificate : int
        Stored entries read to certify the answer, not to find it.

    Examples
    --------
    >>> Reads(dense=20, nnz=7, certificate=0) + Reads(dense=10, nnz=3, certificate=5)
    Reads(dense=30, nnz=10, certificate=5)
    """

    dense: int = 0
    nnz: int = 0
    certificate: int = 0

    @classmethod
    def of_values(cls, rows: Rows, asked: int, found: int) -> Reads:
        """Entries that were asked for by their columns; sparse rows hold what was found only."""
        return cls(asked, found if isinstance(rows, Csr) else asked)

    def __add__(self, other: Reads) -> Reads:
        return Reads(
            self.dense + other.dense, self.nnz + other.nnz, self.certificate + other.certificate
        )


class Ledger:
    """Counts the rows that a solver visits.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> ledger = Ledger(as_rows([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    >>> ledger.visit(np.array([0, 0, 1]))
    >>> ledger.reads
    Reads(dense=9, nnz=9, certificate=0)
    """

    def __init__(self, rows: Rows, limit: float = math.inf) -> None:
        self.limit = limit  # of stored entries read to learn
        self.width = rows.shape[1]
        self.rows = rows
        self.total = stored(rows)
        self.reads = Reads()

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of stored entries of every row."""
        return lengths(self.rows)

    def visit(self, order: NDArray[Any]) -> None:
        """Count visits to the rows of ``order``, or to those of a mask."""
        count = np.count_nonzero(order) if order.dtype == np.bool_ else len(order)
        self.reads += Reads(int(count) * self.width, stored(self.rows, order))

    @property
    def left(self) -> float:
        """How many more entries may be read."""
        return self.limit - self.reads.nnz

    def pass_over(self) -> None:
        """Count one reading of all rows."""
        if self.total > self.left:
            raise ValueError(
                f"max_reads={self.limit:.0f} is too small for this solver, which reads all "
                f"{self.total} entries once before it begins: use solver='auto' or 'asgd', or "
                "raise max_reads"
            )
        self.reads += Reads(self.rows.shape[0] * self.width, self.total)

    def certify(self, entries: int) -> None:
        """Count entries read for a certificate."""
        self.reads += Reads(certificate=int(entries))

    def certify_rows(self, mask: NDArray[np.bool_]) -> None:
        """Count the rows of a mask as read for a certificate."""
        self.certify(stored(self.rows, mask))

    def affordable(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """The longest beginning of ``order`` that stays within the limit."""
        if self.limit == math.inf:
            return order
        costs = np.cumsum(self.lengths[order])
        return order[: int(np.searchsorted(costs, self.left, side="right"))]
