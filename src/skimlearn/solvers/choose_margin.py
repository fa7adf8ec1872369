r"""Which algorithm finds a margin with the fewest reads, and the switch from one to another.

=================  ============================================================================
solver             what it is good for
=================  ============================================================================
"simba"            the paper's steps, unbiased: the only one for slack (nu) and for q < 2, and
                   the one whose promise needs no check (mode "monte-carlo")
"tracking"         the fewest reads of all while eps is large: exact responses of the heaviest
                   coordinates
"extragradient"    high accuracy without a working set, in memory O(n + d)
"working-set"      high accuracy in some ten passes
=================  ============================================================================

"auto" predicts the reads, with M stored entries, n rows of length at most R and d columns:

    steps:        (n + d) log n (R / eps)^2 / 2       (half of what the steps of simba need)
    working set:  6 M                                 (measured: 4 to 9 passes)

and takes the steps if they are cheaper, if there is an `Oracle`, or if no proof is wanted. Sparse
rows (fewer than 3 of 100 entries stored) go to the working set, or to simba where that can't be:
there a column costs many rows, and tracking reads more than it learns; the map that
`benchmarks/reads_to_error.py` draws shows it. Steps that have read 6 M entries without a proof hand
over to the working set, which begins with the rows that they drew.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skimlearn.data.columns import Matrix
from skimlearn.data.ledger import Reads
from skimlearn.result import Result, Status
from skimlearn.solvers._limits import Limits, check_promise
from skimlearn.solvers._margin_bounds import as_labels
from skimlearn.solvers._margin_skim import MarginSkim
from skimlearn.solvers._skim import Callback
from skimlearn.solvers._source import Source, longest_row
from skimlearn.solvers._threads import thread_count
from skimlearn.solvers._worst import Worst
from skimlearn.solvers.extragradient import extragradient
from skimlearn.solvers.simba import Simba
from skimlearn.solvers.tracking import Tracking
from skimlearn.solvers.working_set import working_set

__all__ = ["SOLVERS", "MarginRun"]

Vector = NDArray[np.float64]
SOLVERS = ("auto", "simba", "tracking", "extragradient", "working-set")
PASSES = 6.0  # that a working set takes
SPARSE = 0.03  # the part of the entries that is stored, below which columns cost too much


class MarginRun:
    """One margin problem, solved by a chosen algorithm; `run` may be called again to go on."""

    def __init__(
        self,
        source: Source,
        y: ArrayLike,
        rng: np.random.Generator,
        *,
        nu: float = 0.0,
        kappa: float | None = None,
        bias: bool = False,
        q: float = 2.0,
        solver: str = "auto",
        batch: int = 1,
        steps: int | None = None,
        eps: float,
        mode: str = "las-vegas",
        delta: float = 0.05,
        length: float = 0.0,  # a bound of the lengths of the rows, if it is known
        n_jobs: int | None = None,
    ) -> None:
        n = source.shape[0]
        if solver not in SOLVERS:
            raise ValueError(f"solver={solver!r} must be one of {', '.join(map(repr, SOLVERS))}")
        check_promise(mode, delta, batch=batch)
        if solver != "simba" and solver != "auto" and (nu > 0.0 or q != 2.0):
            raise ValueError(
                f"solver={solver!r} knows neither nu nor q: use solver='simba', or kappa"
            )
        self.source, self.y, self.rng = source, as_labels(y, n), rng
        self.eps, self.mode = eps, mode
        self.cap = 1.0 if kappa is None else min(1.0, 1.0 / (kappa * n))
        self.bias, self.p = bias, np.zeros(0)
        self.length = length
        self.counted = Reads()  # what was read beside the runs; the next result has it
        self.skim: MarginSkim | None = None
        self.automatic = solver == "auto"
        if self.automatic:
            solver = self._predict(nu > 0.0 or q != 2.0)
        self.solver = solver
        self.settings = (Tracking if solver == "tracking" else Simba)(
            width=1.0 + batch, nu=float(nu), cap=self.cap, bias=float(bias), q=float(q),
            horizon=float(steps or 0.0),
        )  # fmt: skip
        threads = thread_count(n_jobs, sum(source.shape))
        if solver in ("simba", "tracking"):
            self.skim = MarginSkim(
                source, rng, y=self.y, settings=self.settings, eps=eps, mode=mode, delta=delta,
                length=length, threads=threads,
            )  # fmt: skip
            self.skim.certified += self.counted.certificate
            self.counted = Reads()

    def _predict(self, only_simba: bool) -> str:
        """The algorithm that reads least, by the estimates at the head of this module."""
        if only_simba or self.mode == "monte-carlo":
            return "simba"
        if not isinstance(self.source, Matrix):
            return "tracking"
        n, d = self.source.shape
        sparse = self.source.entries < SPARSE * n * d
        if self.mode == "high-probability":
            return "simba" if sparse else "tracking"
        longest = self._know_length()
        if not 1e-60 < longest < 1e60:
            return "simba"  # squares of squares, which the others take, would vanish or overflow
        steps = 0.5 * math.log(max(n, 2)) * (longest / self.eps) ** 2
        line_pair = (n + d) * self.source.entries / (n * d)  # a row and a column, on average
        cheap = not sparse and steps * line_pair < PASSES * self.source.entries
        return "tracking" if cheap else "working-set"

    def _know_length(self) -> float:
        """The length of the longest row, which is read for if it is not known."""
        if self.length == 0.0:
            self.length, entries = longest_row(self.source, 2.0)
            self.count(entries)
        return self.length

    def count(self, entries: int) -> None:
        """Count entries that were read to certify."""
        if self.skim is not None:
            self.skim.certified += entries
        else:
            self.counted += Reads(certificate=entries)

    def with_counted(self, result: Result) -> Result:
        """The result, with what was counted since the last one."""
        counted, self.counted = self.counted, Reads()
        return replace(result, reads=result.reads + counted)

    def set_eps(self, eps: float) -> None:
        """Aim at another accuracy from here on."""
        self.eps = eps
        if self.skim is not None:
            self.skim.eps = eps

    @property
    def worst(self) -> Worst:
        """What the margin is measured by."""
        if self.skim is not None:
            return self.skim.worst
        return Worst(len(self.y), self._know_length(), cap=self.cap, bias=self.bias)

    def run(self, limits: Limits, callback: Callback | None = None) -> Result:
        """Go on until the bounds meet or a limit is reached."""
        return self.with_counted(self._run(limits, callback))

    def _run(self, limits: Limits, callback: Callback | None) -> Result:
        if self.skim is None:
            return self._finish(limits, callback)
        matrix = isinstance(self.source, Matrix)
        hands_over = self.automatic and self.solver == "tracking" and matrix
        if not (hands_over and self.mode == "las-vegas"):
            return self.skim.run(limits, callback)
        enough = PASSES * self.source.entries  # type: ignore[union-attr]
        most = math.inf if limits.max_reads is None else limits.max_reads
        first = self.skim.run(replace(limits, max_reads=min(most, enough)), callback)
        if first.status is not Status.READS or most <= enough:
            return first
        self.p = first.p
        left = None if limits.max_seconds is None else limits.max_seconds - first.seconds
        second = self._finish(
            replace(limits, max_reads=most - first.reads.nnz, max_seconds=left), callback
        )
        return replace(
            second, reads=first.reads + second.reads, seconds=first.seconds + second.seconds,
            history=first.history + second.history, solver=f"{first.solver}, {second.solver}",
        )  # fmt: skip

    def _finish(self, limits: Limits, callback: Callback | None) -> Result:
        """The solvers that make passes; a second call begins at the weights of the first."""
        start = self.p if len(self.p) else None
        if self.solver == "extragradient":
            pair = None if start is None else (np.zeros(self.source.shape[1]), start)
            result = extragradient(
                self.source, self.y, cap=self.cap, bias=self.bias, limits=limits, rng=self.rng,
                start=pair, callback=callback,
            )  # fmt: skip
        else:
            result = working_set(
                self.source, self.y, cap=self.cap, bias=self.bias, limits=limits, start=start,
                callback=callback,
            )  # fmt: skip
        self.p = result.p
        return result
