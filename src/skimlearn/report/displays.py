"""Pictures after scikit-learn's pattern."""

from __future__ import annotations

__all__ = ["ConvergenceDisplay", "MarginDisplay", "PathDisplay"]


class ConvergenceDisplay:
    """..."""


class MarginDisplay:
    """..."""


class PathDisplay:
    """..."""
