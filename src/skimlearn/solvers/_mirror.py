"""Weights as the link of a dual vector, kept up to date at the cost of the coordinates that change.

``w = scale * phi`` with ``phi_j = tilt(inner * theta_j)``: a row added to theta changes phi at the
row's entries only, and the scale through one number, the mass (see `formulas.regularizers`, and
section III of the PGS paper, whose own step costs O(d) for p < 2).

The mass is a running sum, so it is computed afresh (`refresh`) before rounding can hurt: after
every ``period`` rows, when it falls far below its peak, and when an entry outgrows the common unit.

The lazy average of the iterates adds up ``c_t phi_t`` over the steps t, with ``total`` the sum of
the c_t: an entry is brought up to date (`settle`) just before it changes. The total begins anew
when all entries are (`settle_all`): with another unit, the c_t have another order of magnitude.
"""

from __future__ import annotations

import numpy as np

from skimlearn._jit import kernel
from skimlearn.data.rows import entry, size

MASS, PEAK, UNIT, CEILING, AGE, PERIOD = range(6)  # positions in the state of a mirror


def mirror_state(period):
    """A fresh state; `refresh` fills it."""
    state = np.zeros(6)
    state[PERIOD] = period
    return state


@kernel
def refresh(regularizer, inner, theta, phi, state):
    """Compute phi, the mass and the unit afresh from theta, in O(d)."""
    largest = 0.0
    for j in range(len(theta)):
        largest = max(largest, abs(inner * theta[j]))
    unit = regularizer.unit(largest)
    mass = 0.0
    for j in range(len(theta)):
        phi[j] = regularizer.tilt(inner * theta[j], unit)
        mass += regularizer.mass(inner * theta[j], phi[j], unit)
    state[MASS] = state[PEAK] = mass
    state[UNIT], state[AGE] = unit, 0.0
    state[CEILING] = regularizer.ceiling(unit) if largest > 0.0 else 0.0  # zero has no unit yet


@kernel
def push(rows, i, c, regularizer, inner, theta, phi, state):
    """theta += c * row i, with phi and the mass; True if a refresh is due."""
    unit, mass, largest = state[UNIT], state[MASS], 0.0
    for k in range(size(rows, i)):
        j, x = entry(rows, i, k)
        old = inner * theta[j]
        theta[j] += c * x
        new = inner * theta[j]
        mass -= regularizer.mass(old, phi[j], unit)
        phi[j] = regularizer.tilt(new, unit)
        mass += regularizer.mass(new, phi[j], unit)
        largest = max(largest, abs(new))
    state[MASS] = mass
    state[PEAK] = max(state[PEAK], mass)
    state[AGE] += 1.0
    return largest > state[CEILING] or state[AGE] >= state[PERIOD] or not mass > 1e-6 * state[PEAK]


@kernel
def settle(rows, i, total, phi, sums, since):
    """Bring the lazy average up to date at the entries of row i, before they change."""
    for k in range(size(rows, i)):
        j = entry(rows, i, k)[0]
        if since[j] < total:  # what has just changed may be infinite, until the refresh
            sums[j] += phi[j] * (total - since[j])
            since[j] = total


@kernel
def settle_all(total, phi, sums, since):
    """Bring the lazy average up to date everywhere; the total is zero after that."""
    for j in range(len(phi)):
        if since[j] < total:
            sums[j] += phi[j] * (total - since[j])
        since[j] = 0.0
