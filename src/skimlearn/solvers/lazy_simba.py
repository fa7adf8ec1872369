"""The steps of `simba` where columns have few entries: the other rows are left alone.

The cap and the bias change all of p at every step. But the rows that a step does not read have a
factor in common, one for each class: `Capped` keeps them, and the sums of p. A step then costs
about what it reads. The law of the draws is that of `simba`; for the same numbers the rows may be
others, since they are kept in another order.

The slack of the nu form goes to other rows at every step, so that it is not for this module.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from skimlearn.data.columns import Matrix
from skimlearn.data.rows import entry, lengths, size
from skimlearn.sampling.capped import add_to_mass, capped_draw, multiply, rescale
from skimlearn.sampling.tree import tree_draw
from skimlearn.solvers._margin_state import T
from skimlearn.solvers._source import Source
from skimlearn.solvers.simba import (
    FLOOR,
    RESCALE,
    Simba,
    bias_of,
    eta_of,
    growth,
    scale_of,
)

__all__ = ["LazySimba", "lazily"]

FEW = 1 / 64  # of the rows: to change one by itself takes as long as to pass over 64


def lazily(settings: Simba, source: Source) -> Simba:
    """The same settings with lazy steps, where there are such and they are faster."""
    if not isinstance(source, Matrix) or not source.sparse or settings.tracks:
        return settings
    if settings.nu > 0.0 or not settings.soft:
        return settings
    # columns are drawn by their weights in x, which are large where they have many entries
    entries = lengths(source.columns).astype(np.float64)
    usual = float(entries @ entries) / max(float(entries.sum()), 1.0)
    if (settings.width - 1.0) * usual > FEW * source.shape[0]:
        return settings
    return LazySimba(**asdict(settings))


@dataclass(frozen=True)
class LazySimba(Simba):
    """The settings of a run, and its step."""

    lean = False  # shelves make arrays

    @property
    def lazy(self) -> bool:
        """Whether rows that are not read are left alone."""
        return True

    def draw(self, state, u, picks):
        picks[0] = capped_draw(state.law, u[0])
        for b in range(1, len(picks)):
            picks[b] = tree_draw(state.column_tree, u[b])

    def column(self, state, columns, at, j):
        scale, count = scale_of(self, state, j), state.touched[0]
        for k in range(size(columns, at)):
            i, value = entry(columns, at, k)
            state.values[i] += scale * state.y[i] * value
            if state.spare[i] == 0.0:  # not yet listed, for another column of this step
                state.spare[i] = 1.0
                count += 1
                state.touched[count] = i
        state.touched[0] = count

    def finish(self, state):
        scalars, law, values = state.scalars, state.law, state.values
        add_to_mass(law)
        eta, bias = eta_of(self, state), 0.0
        if self.bias > 0.0:
            bias = bias_of(state, law.totals[0] - law.totals[1], law.totals[0] + law.totals[1])
        rows = state.touched[1 : state.touched[0] + 1]
        for i in rows:
            values[i] = growth(eta * (values[i] + bias * state.y[i]))
        if not multiply(law, (growth(eta * bias), growth(-eta * bias)), rows, values):
            state.weights[0] = np.nan  # so that a check finds it
        for i in rows:
            values[i], state.spare[i] = 0.0, 0.0
        state.touched[0] = 0
        scalars[T] += 1.0
        if scalars[T] % RESCALE == 0.0:
            rescale(law, FLOOR)
