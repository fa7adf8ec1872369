"""The picture of reads_to_error.py: where the sublinear solvers win, and where they do not."""

import numpy as np


def draw(found, path):
    """Two maps of made problems, and the ratios on data sets; blue is for wins, red for losses."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, 3, figsize=(15, 4.8), layout="constrained", width_ratios=(1, 1, 1.1)
    )
    for axis, (name, cells) in zip(axes, found.get("map", {}).items(), strict=False):
        _map(figure, axis, name, *cells)
    bars = {**(found.get("rare") or {}), **(found.get("real") or {})}
    if bars:
        _bars(axes[2], bars)
    figure.suptitle(
        "Entries read to the same test error: best of Pegasos and ASGD over sublinear\n"
        "above 1 (blue): sublinear reads less (few rows decide, entries are dense); "
        "below 1 (red): SGD reads less (all rows tell the same; sparse rows)"
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _map(figure, axis, name, rares, values, table):
    logs = np.log10(table)
    image = axis.imshow(logs, cmap="RdBu", vmin=-2, vmax=2, aspect="auto", origin="lower")
    if min(table.shape) > 1:
        axis.contour(logs, levels=[0.0], colors="black", linewidths=2)
    for (r, v), ratio in np.ndenumerate(table):
        colour = "white" if abs(logs[r, v]) > 1.2 else "black"
        text = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"
        axis.text(v, r, text, ha="center", va="center", color=colour)
    axis.set_xticks(range(len(values)), [f"{value:g}" for value in values])
    axis.set_yticks(range(len(rares)), [f"1 in {rare:,}" for rare in rares])
    axis.set(xlabel=name, ylabel="rows that decide the second direction")
    axis.set_title(f"rare rows, by {name} (black line: equal)", fontsize=11)
    bar = figure.colorbar(image, ax=axis, ticks=[-2, -1, 0, 1, 2])
    bar.ax.set_yticklabels(["1/100", "1/10", "1", "10", "100"])


def _bars(axis, bars):
    names = list(bars)[::-1]
    at = np.arange(len(names))
    for shift, count, label in (
        (0.2, "nnz", "stored entries"), (-0.2, "dense", "dense count"),
    ):  # fmt: skip
        ratios = np.array([bars[name][count] for name in names])
        colours = np.where(ratios >= 1.0, "C0", "C3")
        hatch = None if count == "nnz" else "//"
        axis.barh(
            at + shift, ratios - 1.0, 0.36, left=1.0, color=colours, hatch=hatch, label=label,
            edgecolor="white",
        )  # fmt: skip
        for y, ratio in zip(at + shift, ratios, strict=True):
            if np.isfinite(ratio):
                side = "left" if ratio >= 1.0 else "right"
                below = "< " if bars[names[round(y)]]["open"] else ""
                axis.text(ratio, y, f" {below}{ratio:.2g} ", ha=side, va="center", fontsize=8)
    axis.axvline(1.0, color="black", lw=1)
    axis.set_xscale("log")
    axis.set_xlim(0.01, 300)
    axis.set_yticks(at, names)
    axis.set_xlabel("plain: stored entries, hatched: dense count")
    axis.set_title("made problems, then data sets", fontsize=11)
