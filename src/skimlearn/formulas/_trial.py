"""A trial of a user's loss before any solver runs: it must compile, and its methods must agree.

A wrong sign in a slope would make a solver diverge, a wrong conjugate would make a certificate lie.
Both show at a few points: for a convex loss and any two predictions z and u,

    l(u) >= l(z) + l'(z) (u - z),     l(z) + l*(l'(z)) = z l'(z),     |l'(u) - l'(z)| <= L |u - z|,

and the dual step from the dual variable -l'(z) stays where it is.
"""

from __future__ import annotations

import re
from dataclasses import fields

import numpy as np

from skimlearn._jit import Formula, kernel

__all__ = ["try_out"]

POINTS = (-3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0)
RULES = (
    "a loss is a frozen dataclass whose fields are floats, and its methods are plain arithmetic on "
    "floats: if, for, min, max, abs and the functions of math"
)


def try_out(loss: Formula, targets: tuple[float, ...]) -> None:
    """Raise an error that names the method if a loss does not compile or contradicts itself.

    Parameters
    ----------
    loss : Loss
        The loss.
    targets : tuple of float
        Values of y that it will meet.
    """
    for y in targets:
        try:
            table = np.array([_measure(loss, z, y) for z in POINTS])
        except Exception as error:
            method, cause = _culprit(loss)
            stray = set(vars(loss)) - {field.name for field in fields(loss)}  # type: ignore[arg-type]
            reason = f"{sorted(stray)} are no fields" if stray else _reason(cause or error)
            raise TypeError(
                f"loss={loss!r} can't be compiled, because of {method or 'its fields'}: {RULES}. "
                f"The reason: {reason}"
            ) from error
        fault = _fault(table, y)
        if fault:
            raise ValueError(f"loss={loss!r} is not consistent: {fault}")


@kernel
def _measure(loss, z, y):
    slope = 1.0 * loss.slope(z, y)
    low, high = loss.dual_bounds(y)
    return (
        1.0 * loss.value(z, y),
        slope,
        1.0 * loss.curvature(),
        1.0 * low,
        1.0 * high,
        1.0 * loss.conjugate(slope, y),
        1.0 * loss.dual_step(-slope, z, 1.0, y),
    )


@kernel
def _value(loss):
    return 1.0 * loss.value(0.5, 1.0)


@kernel
def _slope(loss):
    return 1.0 * loss.slope(0.5, 1.0)


@kernel
def _curvature(loss):
    return 1.0 * loss.curvature()


@kernel
def _dual_bounds(loss):
    low, high = loss.dual_bounds(1.0)
    return 1.0 * low + 1.0 * high


@kernel
def _conjugate(loss):
    return 1.0 * loss.conjugate(0.0, 1.0)


@kernel
def _dual_step(loss):
    return 1.0 * loss.dual_step(0.0, 0.5, 1.0, 1.0)


def _culprit(loss: Formula) -> tuple[str, Exception | None]:
    """The first method that does not compile by itself, and why."""
    for method in (_value, _slope, _curvature, _dual_bounds, _conjugate, _dual_step):
        try:
            method(loss)
        except Exception as error:
            return method.__name__[1:], error
    return "", None


def _reason(error: Exception) -> str:
    """The lines of a compiler's message that a user can act on: what, and where."""
    text = str(error)
    telling = (
        r"Untyped global name .*|NameError: .*|Unknown attribute .*|Use of unsupported .*",
        r"No implementation of function (?!Function\(<function _expose).*",
        r".+",
    )
    found = [match for pattern in telling if (match := re.search(pattern, text))]
    shown = found[0].group().strip() if found else type(error).__name__
    shown = re.sub(r".* Function\(<built-in function mul>.*", "its result is not a number", shown)
    shown = re.sub(r".* Function\(<(?:built-in )?function (\w+).*", r"\1 can't be used so", shown)
    where = re.findall(r'File "(?![^"]*_trial\.py)[^"]*", line \d+', text)
    return shown + (f" ({where[-1]})" if where else "")


def _fault(table, y):
    """What is wrong with the measured numbers, or nothing."""
    z = np.array(POINTS)
    value, slope, curvature, low, high, conjugate, step = table.T
    size = 1.0 + np.abs(value) + np.abs(slope)
    for name, numbers in (("value", value), ("slope", slope)):
        if not np.isfinite(numbers).all():
            i = int(np.argmin(np.isfinite(numbers)))
            return f"{name}(z={z[i]}, y={y}) is {numbers[i]}; it must be finite for every z"
    below = value[:, None] + slope[:, None] * (z[None, :] - z[:, None]) - value[None, :]
    i, j = np.unravel_index(int(np.argmax(below)), below.shape)
    if below[i, j] > 1e-7 * size[i]:
        return (
            f"slope(z={z[i]}, y={y}) = {slope[i]:.6g} is not the derivative of value, or value is "
            f"not convex, since value(z={z[j]}) lies below the tangent at z={z[i]}"
        )
    steepest = float(np.max(np.abs(np.diff(slope)) / np.diff(z)))
    if steepest > curvature[0] + 1e-6 * size.max():
        return f"slope changes faster than curvature() = {curvature[0]:.6g} allows (y={y})"
    checks = {
        "dual_bounds": (-slope >= low - 1e-7) & (-slope <= high + 1e-7),
        "conjugate": np.abs(value + conjugate - z * slope) <= 1e-6 * size,
        "dual_step": np.abs(step + slope) <= 1e-6 * size,
    }
    meanings = {
        "dual_bounds": "must contain minus the slope",
        "conjugate": "must satisfy value(z, y) + conjugate(slope, y) = z * slope",
        "dual_step": "must leave a = -slope(z, y) where it is",
    }
    for name, right in checks.items():
        if not right.all():
            i = int(np.argmin(right))
            return (
                f"{name} {meanings[name]}, but does not at z={z[i]}, y={y}; correct it, or leave "
                "it out and it is found numerically"
            )
    return ""
