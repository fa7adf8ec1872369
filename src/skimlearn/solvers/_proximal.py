r"""Losses with kinks made smooth, and exact nevertheless: Rockafellar's method of multipliers.

A proximal term of weight h around dual variables a makes the loss of a row smooth: its slope is
then -a', with a' = dual_step(a, z, h, y), and Newton's methods apply. When one has converged, a'
takes the place of a, and h shrinks: every round is exact for the term it has, so that h need not go
to zero, and for losses made of straight pieces the end is reached in finitely many rounds. A smooth
loss has h = 0 and one round.

At the end of a round the dual vector of a' is w, so that a' proves a gap which the term alone
makes; it falls with h^2. A round is solved no further than that, and the next h follows from the
gap that is wanted. See Li, Sun and Toh, "A highly efficient semismooth Newton augmented Lagrangian
method" (2018).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skimlearn import certificates
from skimlearn._jit import kernel
from skimlearn.problem import Problem
from skimlearn.solvers._bends import LEAST, bend_at_least, typical_response

__all__ = ["Proximal"]

Vector = NDArray[np.float64]

NOTHING = np.zeros(0)
ROUNDS = 60
BEGIN = 0.6  # the first weight of the term, relative to a typical response,
FALLS = 0.2, 0.6  # and the parts of it that are left in the next round, at least and at most
PART = 0.3  # of that gap which the term makes: a round is solved so far


class Proximal:
    """The term, and what the losses are with it.

    Attributes
    ----------
    a, h : where the term is, and its weight
    new_a, bend : minus the slopes at the responses seen last, and how fast they fall, at least
    typical, scale : a typical response, and the largest target
    kinks : the part of the gap that the term makes
    """

    def __init__(self, problem: Problem, b: float, a: Vector | None = None) -> None:
        self.problem = problem
        self.smooth = math.isfinite(problem.loss.curvature())
        self.scale = 1.0 if problem.loss.labels else float(np.abs(problem.y).max(initial=1e-12))
        self.typical = typical_response(problem, b)
        self.h = 0.0 if self.smooth else BEGIN * self.typical
        self.new_a, self.bend = np.zeros(problem.n), np.zeros(problem.n)
        self.a = self.new_a  # a smooth loss has no term
        if not self.smooth:
            self.a = np.zeros(problem.n) if a is None else certificates.feasible(problem, a)
        self.kinks = self.moved = math.inf
        self.rounds = 0

    def look(self, z: Vector, b: float, reach: float = math.inf, sides: Vector = NOTHING) -> None:
        """Take slopes and bends at responses; without a term a row bends as `_bends` says.

        With one, the bend of a row is taken over responses so far on both sides.
        """
        problem = self.problem
        _slopes(
            problem.loss, self.a, z, b, self.h, problem.y,
            reach, problem.loss.curvature(), sides, self.new_a, self.bend,
        )  # fmt: skip

    def shares(self) -> tuple[Vector, Vector]:
        """Slopes and bends of the losses, as parts of the mean."""
        pulls, bends = np.empty_like(self.new_a), np.empty_like(self.bend)
        _shares(self.problem.weights, self.new_a, self.bend, pulls, bends)
        return pulls, bends

    def at_end(self, along: Vector, bias: float) -> Vector:
        """Minus the slopes that the bends tell at the end of a step."""
        out = np.empty_like(self.new_a)
        _at_end(self.new_a, self.bend, along, bias, out)
        return out

    def is_solved(self, z: Vector, b: float, gradient: Vector, goal: float | None) -> bool:
        """Whether the round is exact enough: what remains of the gap is the term's.

        With theta the dual vector of new_a, the gap is the sum of those of the losses, which the
        term makes, and alpha/2 ||w - theta||^2, and alpha (w - theta) is the gradient; that of the
        bias is behind it.
        """
        problem = self.problem
        error = 0.5 * float(gradient[:-1] @ gradient[:-1]) / problem.alpha
        if problem.bias == "regularized":
            error += 0.5 * float(gradient[-1]) ** 2 / problem.alpha
        elif problem.bias == "free":
            error += abs(float(gradient[-1])) * self.scale
        losses = (problem.loss, self.new_a, z, b, problem.y, problem.weights)
        self.kinks = float(_kink_gap(*losses))
        if goal is not None and error + self.kinks <= 0.5 * goal:
            return True
        return error <= PART * self.kinks

    def advance(self, goal: float | None) -> bool:
        """Move the term to where the variables went; return whether that was the last round."""
        moved, former = float(np.abs(self.new_a - self.a).max(initial=0.0)), self.moved
        self.a, self.moved = self.new_a.copy(), moved
        self.rounds += 1
        noise = 1e-14 * float(np.abs(self.a).max(initial=0.0))
        if not self.smooth:
            noise = max(noise, 1e-15 * self.scale / self.h)
        last = self.smooth or moved <= noise or self.rounds >= ROUNDS
        if not self.smooth and moved > 0.01 * former:
            fall = 0.1
            if goal is not None and self.kinks > 0.0:  # the gap falls with h^2
                fall = min(max(math.sqrt(0.3 * goal / self.kinks), FALLS[0]), FALLS[1])
            self.h = max(fall * self.h, LEAST * self.scale)
        return last


@kernel
def _slopes(loss, a, z, b, h, y, reach, most, sides, new, bend):
    """Dual variables of the smoothed loss, and how fast they fall with the response, at least."""
    if h == 0.0:
        for i in range(len(z)):
            at = z[i] + b
            slope = loss.slope(at, y[i])
            new[i], bend[i] = -slope, bend_at_least(loss, at, y[i], slope, reach, most)
        return
    for i in range(len(z)):
        at = z[i] + b
        side = min(1e-6 * (1.0 + abs(at)), 1e-4 * h)
        if len(sides) > 0:
            side = max(side, abs(sides[i]))
        new[i] = loss.dual_step(a[i], at, h, y[i])
        rise = loss.dual_step(a[i], at - side, h, y[i]) - loss.dual_step(a[i], at + side, h, y[i])
        bend[i] = max(rise / (2.0 * side), 0.0)


@kernel
def _shares(m, a, bend, pulls, bends):
    n = len(m)
    for i in range(n):
        pulls[i] = -m[i] * a[i] / n
        bends[i] = m[i] * bend[i] / n


@kernel
def _at_end(a, bend, along, bias, out):
    for i in range(len(out)):
        out[i] = a[i] - bend[i] * (along[i] + bias)


@kernel
def _kink_gap(loss, a, z, b, y, m):
    """The mean gap between losses and dual variables."""
    total = 0.0
    for i in range(len(z)):
        if m[i] > 0.0:
            at = z[i] + b
            total += m[i] * (loss.value(at, y[i]) + loss.conjugate(-a[i], y[i]) + a[i] * at)
    return total / len(z)
