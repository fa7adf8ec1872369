"""What the displays share: where to draw, and labels."""

from __future__ import annotations

from typing import Any

__all__ = ["axes_of", "finish"]


def axes_of(ax: Any) -> tuple[Any, Any]:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(
            "a display needs the package matplotlib: pip install skimlearn[report]"
        ) from None
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    return ax, ax.figure


def finish(ax: Any, x: str, y: str) -> None:
    ax.set(xlabel=x, ylabel=y)
    ax.grid(alpha=0.3)
    if ax.get_legend_handles_labels()[1]:
        ax.legend()
