"""Two pictures: a map of ratios (problem x target), and curves of distance against time."""

import math

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter

from race.measure import TARGETS
from race.peers import is_ours
from race.table import ratio, settings, times


def _name(cell):
    threads = f", {cell.threads} threads" if cell.threads > 1 else ""
    return f"{cell.problem}, {cell.loss}, {cell.alpha:g}{threads}"


def heat_map(cells, path, clock="wall"):
    """Our time over the best peer's: blue where we are quicker, red where they are."""
    values = np.full((len(cells), len(TARGETS)), np.nan)
    for i, cell in enumerate(cells):
        found = times(cell, clock)
        for j, target in enumerate(TARGETS):
            value, _ = ratio(found[target])
            values[i, j] = math.nan if value is None else value
    figure, axes = plt.subplots(figsize=(7, 1.2 + 0.28 * len(cells)), layout="constrained")
    image = axes.imshow(np.log10(values), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    axes.set_xticks(range(len(TARGETS)), TARGETS)
    axes.set_yticks(range(len(cells)), [_name(c) for c in cells], fontsize=8)
    for (i, j), value in np.ndenumerate(values):
        text = "-" if math.isnan(value) else f"{value:.2f}"
        dark = abs(math.log10(value)) > 0.6 if value > 0 else False
        colour = "white" if dark else "black"
        axes.text(j, i, text, ha="center", va="center", fontsize=7, color=colour)
    bar = figure.colorbar(image, ax=axes, shrink=min(1.0, 6 / max(len(cells), 6)))
    bar.set_ticks([-1, -0.5, 0, 0.5, 1], labels=["0.1", "0.3", "1", "3", "10"])
    axes.set_title("our time / time of the best peer")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def curves(cells, path, clock="wall", most=24):
    """For each cell the least distance that a peer reaches within a time."""
    cells = cells[:most]
    columns = min(3, len(cells))
    rows = math.ceil(len(cells) / columns)
    size = (5.5 * columns, 3.8 * rows + 1.5)
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for axes in grid.ravel()[len(cells) :]:
        axes.set_axis_off()
    names = list(dict.fromkeys(run["peer"] for cell in cells for run in cell.runs))
    styles = {name: _style(k, name) for k, name in enumerate(names)}
    for axes, cell in zip(grid.ravel(), cells, strict=False):
        by_peer = {}
        for entry in sorted(settings(cell, clock), key=lambda e: e["seconds"]):
            by_peer.setdefault(entry["peer"], []).append((entry["seconds"], entry["distance"]))
        for peer, points in by_peer.items():
            seconds, distance = np.array(points).T
            best = np.maximum(np.minimum.accumulate(distance), 1e-6)
            axes.step(seconds, best, where="post", **styles[peer])
        axes.set(xscale="log", yscale="log", ylim=(1e-6, 10), xlabel="seconds", ylabel="distance")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_title(_name(cell), fontsize=10)
    handles = [plt.Line2D([], [], label=name, **styles[name]) for name in names]
    figure.legend(handles=handles, loc="outside lower center", ncols=2 * columns, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _style(k, name):
    """The same colour and dashes for a peer in all panels; ours are thick."""
    look = {"color": f"C{k % 10}", "linestyle": ("-", "--", ":", "-.")[k // 10 % 4]}
    return look | {"linewidth": 2.5 if is_ours(name) else 1, "marker": ".", "markersize": 4}
