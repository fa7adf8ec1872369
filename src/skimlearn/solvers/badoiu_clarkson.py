r"""The smallest enclosing ball by Badoiu and Clarkson's rule: go a little towards the farthest row.

Problem:  R^2 = min over c of max_i ||a_i - c||^2 = max over p in the simplex of
          sum_i p_i ||a_i - c(p)||^2,  c(p) = A'p.

Algorithm: from c = a_1, at step k = 1, 2, ... find the row a_i farthest from c and move towards it,
c += (a_i - c) / (k + 1). The centre is the mean of the rows that were used, so its weights prove a
lower bound at no cost. A step is a pass; the ball of step k has a squared radius of
(1 + O(1/k)) R^2.

See Badoiu and Clarkson, "Smaller core-sets for balls" (2003).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn._jit import kernel
from skimlearn.data.inspection import as_rows
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Rows, add, dot, lengths, norms
from skimlearn.result import Result, Status
from skimlearn.solvers._limits import Limits
from skimlearn.solvers._passes import Passes
from skimlearn.solvers._skim import Callback

__all__ = ["badoiu_clarkson"]

Vector = NDArray[np.float64]


def badoiu_clarkson(A: Any, *, limits: Limits, callback: Callback | None = None) -> Result:
    """Find the smallest ball around the rows of a matrix.

    Parameters
    ----------
    A : array, sparse matrix or Rows of shape (n, d)
        The points.
    limits : Limits
        When to stop; ``eps`` is relative to the squared radius.
    callback : callable or None
        Called with a `Record` after each step; the run stops if it returns something true.

    Returns
    -------
    Result
        The centre ``x`` and the weights ``p`` of the bound; the optimal squared radius lies between
        ``certificate.dual`` and ``certificate.primal``.

    Examples
    --------
    >>> result = badoiu_clarkson([[0.0, 0.0], [2.0, 0.0]], limits=Limits(eps=1e-3))
    >>> result.x, result.certificate.primal
    (array([1., 0.]), 1.0)
    """
    rows = as_rows(A)
    return _Ball(rows.shape, rows=rows).run(limits, callback)


@dataclass
class _Ball(Passes):
    name = "badoiu-clarkson"

    rows: Rows = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        n, d = self.shape
        self.lengths = lengths(self.rows)
        self.entries = int(self.lengths.sum())
        self.squares: Vector | None = None
        self.uses, self.total = np.zeros(n), np.zeros(d)  # of the rows: how often, and their sum
        self.distances = np.empty(n)
        self.next = 0  # the row that the centre moves to

    def fallback(self) -> tuple[Vector, float, Vector]:
        n, d = self.shape
        return np.zeros(d), 0.0, np.full(n, 1.0 / n)

    def unit(self) -> float:
        return self.bounds.upper if self.steps > 0 else 0.0

    def step(self, more_reads: float, more_steps: float) -> Status | None:
        n, d = self.shape
        if self.squares is None:
            if self.entries > more_reads:
                return Status.READS
            self.squares = norms(self.rows) ** 2
            self.reads += Reads(n * d, self.entries)
            more_reads -= self.entries
        if self.lengths[self.next] + self.entries > more_reads:
            return Status.READS
        self._use(self.next)
        self.reads += Reads(n * d, self.entries)
        self.steps += 1
        used = self.uses.sum()
        centre, p = self.total / used, self.uses / used
        _distances(self.rows, centre, self.squares, float(centre @ centre), self.distances)
        self.next = int(np.argmax(self.distances))
        self.bounds.primal(float(self.distances[self.next]), centre)
        self.bounds.dual(float(p @ self.distances), p)
        return None

    def _use(self, i: int) -> None:
        self.uses[i] += 1.0
        self.reads += Reads(self.shape[1], int(self.lengths[i]))
        _add(self.rows, i, self.total)


@kernel
def _distances(rows, centre, squares, square, out):
    for i in range(len(out)):
        out[i] = max(squares[i] - 2.0 * dot(rows, i, centre) + square, 0.0)


@kernel
def _add(rows, i, total):
    add(rows, i, 1.0, total)
