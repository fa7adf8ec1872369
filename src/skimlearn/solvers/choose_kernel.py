"""Which algorithm trains machines with a kernel, and whether it can do what is asked for.

==============  ===============================================================================
solver          what it is good for
==============  ===============================================================================
"working-set"   the hinge, or a margin (kappa), to any accuracy: what "auto" is for them
"dual"          any loss, to any accuracy: what "auto" is for all but the hinge
"pgs"           any loss, roughly
"pegasos"       the same for the hinge, in the steps of its paper
"perceptron"    a margin, from a part of the values of the kernel
==============  ===============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.kernel_rows import KernelRows
from skimlearn.formulas import losses
from skimlearn.formulas.losses import Hinge, Loss
from skimlearn.problem import check_alpha
from skimlearn.result import Result
from skimlearn.solvers._kernel_run import Callback
from skimlearn.solvers._limits import Limits
from skimlearn.solvers.kernel_dual import kernel_dual
from skimlearn.solvers.kernel_margin import kernel_margin
from skimlearn.solvers.kernel_perceptron import kernel_perceptron
from skimlearn.solvers.kernel_pgs import kernel_pegasos, kernel_pgs
from skimlearn.solvers.kernel_svm import BIASES, kernel_svm

__all__ = ["SOLVERS", "Machines"]

Vector = NDArray[np.float64]
SOLVERS = ("auto", "working-set", "dual", "pgs", "pegasos", "perceptron")
ANY_LOSS = ("auto", "dual", "pgs")  # the others are for the hinge


@dataclass(frozen=True)
class Machines:
    """What machines are to minimise, and how; refused if no algorithm can do it.

    Attributes
    ----------
    loss : str or Loss
        A name or an instance.
    alpha : float
        The strength of the regularizer.
    kappa : float or None
        If given, a margin is maximised instead: the mean response of this part of the rows.
    bias : {"free", "none"}
        Whether to learn an intercept.
    solver : str
        One of `SOLVERS`.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> from skimlearn.formulas.kernels import Gaussian
    >>> table = KernelRows(as_rows([[0.0], [1.0], [2.0]]), Gaussian())
    >>> machines = Machines(loss="hinge", alpha=0.01, kappa=None, bias="free", solver="auto")
    >>> y = np.array([[1.0, -1.0, 1.0]])
    >>> machines.solve(table, y, np.ones(3), limits=Limits(eps=1e-6), seed=0)[0].status.name
    'CONVERGED'
    """

    loss: str | Loss
    alpha: float
    kappa: float | None
    bias: str
    solver: str

    def __post_init__(self) -> None:
        check_alpha(self.alpha)
        if self.bias not in BIASES:
            raise ValueError(f"bias={self.bias!r} must be one of {BIASES}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r} must be one of {SOLVERS}")
        if self.kappa is not None and not 0.0 < self.kappa <= 1.0:
            raise ValueError(f"kappa={self.kappa!r} must lie between 0 and 1, or be None")
        if not isinstance(losses.resolve(self.loss, labels=True), Hinge):
            if self.kappa is not None:
                raise ValueError(
                    f"kappa={self.kappa!r} is for loss='hinge', not for loss={self.loss!r}: give "
                    "alpha, and leave kappa None"
                )
            if self.solver not in ANY_LOSS:
                raise ValueError(
                    f"solver={self.solver!r} is for loss='hinge', not for loss={self.loss!r}: use "
                    f"one of {ANY_LOSS}"
                )
        wrong = ("perceptron",) if self.kappa is None else ("dual", "pgs", "pegasos")
        if self.solver in wrong:
            needed = "kappa" if self.kappa is None else "alpha, and kappa=None"
            raise ValueError(f"solver={self.solver!r} needs {needed}: use 'auto', or give it")

    def solve(
        self,
        table: KernelRows,
        targets: Vector,
        weights: Vector,
        *,
        limits: Limits,
        seed: int,
        callback: Callback | None = None,
    ) -> list[Result]:
        """Train a machine for each line of the targets, labels -1 and +1.

        The weights of the rows are of mean 1, and the same for all machines. ``limits.eps`` is
        relative to the primal value; with kappa, to the greatest length in the kernel's space.
        """
        shared: dict[str, Any] = {"limits": limits, "seed": seed, "callback": callback}
        if self.solver == "perceptron":
            return self._perceptrons(table, targets, weights, shared)
        if self.kappa is not None:
            free = self.bias == "free"
            return kernel_margin(
                table, targets, kappa=self.kappa, bias=free, weights=weights, **shared
            )
        every = np.ascontiguousarray(np.broadcast_to(weights, targets.shape))
        shared |= {"alpha": self.alpha, "bias": self.bias}
        loss = losses.resolve(self.loss, labels=True)
        if self.solver == "pgs":
            return kernel_pgs(table, targets, every, loss=loss, **shared)
        if self.solver == "dual" or not isinstance(loss, Hinge):
            return kernel_dual(table, targets, every, loss=loss, **shared)
        train = kernel_pegasos if self.solver == "pegasos" else kernel_svm
        return train(table, targets, every, **shared)

    def _perceptrons(
        self, table: KernelRows, targets: Vector, weights: Vector, shared: dict[str, Any]
    ) -> list[Result]:
        """One after the other, each with its part of what may be spent."""
        if not (weights == weights[0]).all():
            raise ValueError(
                "solver='perceptron' knows no weights of rows or classes: leave out "
                "sample_weight and class_weight, or use solver='working-set'"
            )
        limits, count = shared["limits"], len(targets)
        reads, seconds = limits.max_reads, limits.max_seconds
        part = replace(
            limits,
            max_reads=None if reads is None else reads // count,
            max_seconds=None if seconds is None else seconds / count,
        )
        options = {**shared, "limits": part, "kappa": self.kappa, "bias": self.bias == "free"}
        again = (table.given, table.kernel, table.cache_bytes, table.threads)
        return [kernel_perceptron(KernelRows(*again), y, **options) for y in targets]
