"""Figure 1 of "Sublinear optimization for machine learning": exponents of theory, measured.

    python experiments/chw_scaling.py [--quick] [--out FOLDER]

All of it is measured by benchmarks/sublinear_scaling.py, which says how; here it is put beside the
table of the paper. Needs no data. About five minutes.
"""

from dataclasses import asdict
from pathlib import Path

import numpy as np
from _common import main, number, source, table
from _tables import HEAD, Line, Plot, curves_of
from _tables import draw as draw_plot
from sublinear_scaling import TOPICS

QUICK = ("ball", "lower_bound", "las_vegas")
TITLES = {
    "perceptron": "classification: reads by 1/eps", "sizes": "classification: reads by size",
    "ball": "enclosing ball: reads by 1/eps", "skipping": "enclosing ball: rows skipped or not",
    "games": "games: gap by steps", "success": "classification: how often it is",
    "lower_bound": "lower bound: tell two matrices apart", "las_vegas": "Las Vegas: reads by 1/eps",
}  # fmt: skip
# problem; what the paper says; lower bound; what was measured: label, topic and line of the table
PAPER = (
    ("classification", "eps^-2 (n + d)", "eps^-2 (n + d)", (
        ("of 1/eps", "perceptron", "reads of answer, anytime: of 1/eps"),
        ("of 1/eps, steps planned", "perceptron", "reads of answer, planned: of 1/eps"),
        ("reads / (n + d), of n", "sizes", "reads / (n + d): of n"),
        ("reads / (n + d), of d", "sizes", "reads / (n + d): of d"),
    )),
    ("enclosing ball, QP", "eps^-2 n + eps^-1 d", "eps^-1 (n + d)", (
        ("columns (n), of 1/eps", "ball", "entries of columns: of 1/eps"),
        ("rows (d), of 1/eps", "ball", "entries of rows: of 1/eps"),
        ("rows / log(steps), of 1/eps", "ball", "the same / log(steps)"),
    )),
    ("Las Vegas", "O(M) more", "M", (
        ("reads / (M + those of the steps)", "Las Vegas", "reads / (M + those of the steps)"),
        ("wrong answers", "Las Vegas", "wrong answers, of all runs"),
        ("lower bound: reads / (n d)", "lower bound", "Las Vegas: least reads / (n d)"),
    )),
    ("games (Grigoriadis, Khachiyan)", "eps^-2 (n + d)", "", (
        ("gap, of steps", "game", "gap of primal_dual: of steps"),
        ("gap of matrix_game, of steps", "game", "gap of matrix_game: of steps"),
    )),
)  # fmt: skip


def measure(options):
    lines, plots = [], []
    for topic in TOPICS:
        if options.quick and topic.__name__ not in QUICK:
            continue
        new, plot = topic(options.quick)
        print(f"{topic.__name__}: done", flush=True)
        lines += [asdict(line) for line in new]
        plots.append({"topic": topic.__name__, **asdict(plot), "curves": curves_of(plot)})
    return {"lines": lines, "plots": plots}


def line_of(entry):
    """A line of the table; JSON has no infinity."""
    limits = {"least": -np.inf, "most": np.inf}
    return Line(**{k: limits[k] if v is None and k in limits else v for k, v in entry.items()})


def texts(found):
    lines = [line_of(entry) for entry in found["lines"]]
    by_name = {(line.topic, line.what): line for line in lines}
    rows = []
    for problem, here, lower, measured in PAPER:
        for label, *key in measured:
            if tuple(key) in by_name:
                line = by_name[tuple(key)]
                rows.append([problem, here, lower, label, number(line.value), line.interval])
                problem = here = lower = ""
    missed = [f"{line.topic}: {line.what}" for line in lines if not line.seen]
    verdict = (
        f"{len(lines) - len(missed)} of {len(lines)} numbers lie within the limits that the "
        "benchmark sets beforehand" + (f"; not so {', '.join(missed)}." if missed else ".")
    )
    return {
        "figure": table(["problem", "paper", "lower bound", "measured", "value",
                         "95 % interval"], rows),
        "all": table(HEAD, [line.cells for line in lines]),
        "verdict": verdict + "\n\n" + source(found),
    }  # fmt: skip


def draw(found):
    import matplotlib.pyplot as plt

    plots = found["plots"]
    wide = min(4, len(plots))
    high = -(-len(plots) // wide)
    figure, axes = plt.subplots(
        high, wide, figsize=(3.6 * wide, 3.5 * high), layout="constrained", squeeze=False
    )
    for axis, entry in zip(axes.flat, plots, strict=False):
        parts = {key: value for key, value in entry.items() if key != "topic"}
        draw_plot(axis, Plot(**parts), entry["curves"])
        axis.set_title(f"{TITLES[entry['topic']]}\n{entry['title']}")
        axis.tick_params(which="minor", labelleft=False, labelbottom=False)
        axis.legend(fontsize=7)
    return figure


if __name__ == "__main__":
    main(Path(__file__).stem, measure, texts, draw, __doc__)
