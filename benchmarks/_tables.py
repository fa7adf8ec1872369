"""What benchmarks share that measure exponents: intervals, a table with limits, plots."""

import json
import math
from dataclasses import asdict, dataclass, field

import numpy as np

HEAD = ("topic", "measured", "value", "95 % interval", "expected", "seen")


@dataclass(frozen=True)
class Line:
    """One line of the table: what was measured, and between which limits it should lie."""

    topic: str
    what: str
    value: float
    low: float  # of the 95 % interval
    high: float
    least: float
    most: float

    @property
    def seen(self):
        return bool(self.least <= self.value <= self.most)

    @property
    def interval(self):
        return f"{self.low:.3g} .. {self.high:.3g}"

    @property
    def expected(self):
        if self.least == self.most:
            return f"{self.least:g}"
        if math.isinf(self.most):
            return f"at least {self.least:g}"
        if math.isinf(self.least):
            return f"at most {self.most:g}"
        return f"{self.least:g} to {self.most:g}"

    @property
    def cells(self):
        mark = "yes" if self.seen else "NO"
        return self.topic, self.what, f"{self.value:.3g}", self.interval, self.expected, mark


@dataclass(frozen=True)
class Plot:
    """Curves with a band of quartiles, by name, and dashed lines of the slopes expected."""

    title: str
    x_label: str
    y_label: str
    curves: dict  # name: (x, values of shape (seeds, points))
    slopes: dict = field(default_factory=dict)  # name of a curve: slope of the line through its end
    scales: tuple = ("log", "log")


def mean_interval(values, seed=0):
    """The mean and a 95 % interval for it, by the bootstrap."""
    values = np.asarray(values, dtype=float)
    picks = np.random.default_rng(seed).integers(len(values), size=(4000, len(values)))
    low, high = np.percentile(values[picks].mean(axis=1), (2.5, 97.5))
    return float(values.mean()), float(low), float(high)


def exponents(x, values):
    """The slope of log(values) over log(x) for each seed."""
    return np.polyfit(np.log(x), np.log(np.asarray(values, dtype=float).T), 1)[0]


def first_below(gaps, amounts, eps):
    """The amount at which the gap of each seed is first below each eps; nan if never."""
    below = gaps[:, :, None] <= eps
    amounts = np.broadcast_to(amounts, gaps.shape)
    at = np.take_along_axis(amounts, below.argmax(axis=1), axis=1).astype(float)
    return np.where(below.any(axis=1), at, np.nan)


def half_way(x, success):
    """Where a rising frequency first passes 1/2, on a scale of logarithms; nan if it never does."""
    at = int(np.argmax(success >= 0.5))
    if success[at] < 0.5:
        return math.nan
    if at == 0:
        return float(x[0])
    part = (0.5 - success[at - 1]) / (success[at] - success[at - 1])
    return float(x[at - 1] * (x[at] / x[at - 1]) ** part)


def grid(first, last, ratio):
    return np.unique(np.round(first * ratio ** np.arange(math.log(last / first, ratio) + 1)))


def show(lines):
    """Print the table."""
    cells = [HEAD, *(line.cells for line in lines)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(HEAD))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))


def store(folder, lines, plots, seconds):
    """Write table.json, table.md and, with matplotlib, plots.png."""
    folder.mkdir(parents=True, exist_ok=True)
    table = [{**asdict(line), "expected": line.expected, "seen": line.seen} for line in lines]
    text = json.dumps({"seconds": seconds, "lines": table}, default=float)
    finite = json.loads(text, parse_constant=lambda _: None)  # no limit: null
    (folder / "table.json").write_text(json.dumps(finite, indent=1) + "\n")
    rows = [HEAD, ("---",) * len(HEAD), *(line.cells for line in lines)]
    (folder / "table.md").write_text("".join(f"| {' | '.join(row)} |\n" for row in rows))
    try:
        import matplotlib
    except ImportError:
        print("no plots: they need matplotlib, as in `pip install skimlearn[bench]`")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 4, figsize=(20, 9), layout="constrained")
    for axis, plot in zip(axes.flat, plots, strict=False):
        draw(axis, plot)
    figure.savefig(folder / "plots.png", dpi=80)


def curves_of(plot):
    """The lines of a plot, and what is around them: x, line and, if it has any, low and high.

    Means of frequencies; else medians, with quartiles around them.
    """
    found = {}
    for name, (x, values) in plot.curves.items():
        values = np.asarray(values, dtype=float)
        known = ~np.isnan(values).any(axis=0)
        x, values = np.asarray(x)[known], values[:, known]
        if plot.y_label.startswith("part of"):
            found[name] = {"x": x, "line": values.mean(axis=0)}
        else:
            low, line, high = np.percentile(values, (25, 50, 75), axis=0)
            found[name] = {"x": x, "line": line, "low": low, "high": high}
    return found


def draw(axis, plot, curves=None):
    """The curves of a plot, or those that `curves_of` found before."""
    for name, curve in (curves or curves_of(plot)).items():
        x, line = np.asarray(curve["x"]), np.asarray(curve["line"])
        (drawn,) = axis.plot(x, line, marker="o", markersize=3, label=name)
        if "low" in curve:
            low, high = curve["low"], curve["high"]
            axis.fill_between(x, low, high, color=drawn.get_color(), alpha=0.2, linewidth=0)
        if name in plot.slopes:
            reference = line[-1] * (x / x[-1]) ** plot.slopes[name]
            axis.plot(x, reference, "k--", linewidth=1, label=f"slope {plot.slopes[name]:g}")
    axis.set(title=plot.title, xlabel=plot.x_label, ylabel=plot.y_label)
    axis.set(xscale=plot.scales[0], yscale=plot.scales[1])
    axis.grid(alpha=0.3)
    axis.tick_params(which="minor", labelsize=6)
    axis.legend(fontsize=8)
