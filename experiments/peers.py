"""Speed against peers: our default solver beside other libraries, on the same objective.

    python experiments/peers.py [--quick] [--data FOLDER] [--out FOLDER] [--race RESULTS]

Reads the results of a race (benchmarks/race --out RESULTS). Without any it holds a small one: the
mail corpus and, with --data, package descriptions, hinge and log loss, with the peers that are
installed, or those of --environments FOLDER. Seconds of CPU time.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _common import ROOT, main, number, source, table
from race.measure import TARGETS
from race.peers import is_ours
from race.table import load, ratio, times

LABELS = {"error": "test error", "1e-02": "1 %", "1e-03": "0.1 %", "1e-04": "0.01 %"}


def more(parser):
    parser.add_argument("--race", type=Path, metavar="RESULTS", help="folder of a race held before")
    parser.add_argument("--environments", type=Path, help="folder made by benchmarks/race --setup")


def measure(options):
    if options.race is not None:
        return {"held": "before", **summary(options.race)}
    with tempfile.TemporaryDirectory() as folder:
        hold(options, Path(folder))
        return {"held": "now", **summary(Path(folder))}


def hold(options, out):
    """A race, as a process of its own."""
    names = ["tiny"] if options.quick else ["spam"]
    if options.data is not None and not options.quick:
        names += ["debian"]
    command = [
        sys.executable, ROOT / "benchmarks" / "race", "--out", out, "--problem", *names,
        "--loss", "hinge", *([] if options.quick else ["log"]), "--alpha", "1e-4", "--repeat",
        "1" if options.quick else "2", "--budget", "5", "--patience", "3", "--clock", "cpu",
    ]  # fmt: skip
    if options.quick:
        command += ["--peer", "skimlearn", "sklearn-linearsvc", "--cache", out / "cache"]
    if options.data is not None:
        command += ["--data", options.data]
    if options.environments is not None:
        command += ["--environments", options.environments]
    subprocess.run([str(part) for part in command], check=True)


def summary(folder):
    """Seconds of each peer to each target."""
    found = []
    for cell in load(folder / "results.jsonl"):
        by_target = times(cell, "cpu")
        found.append({
            "problem": cell.problem, "loss": cell.loss, "alpha": cell.alpha,
            "threads": cell.threads, "absent": sorted(cell.absent),
            "gap": cell.reference["gap"],
            "seconds": {
                target: {peer: entry["seconds"] for peer, entry in by_target[target].items()}
                for target in TARGETS
            },
        })  # fmt: skip
    return {"cells": found}


# ---------------------------------------------------------------------------------------- results


def compared(cell, target):
    """Our time over that of the best peer, our time, the best peer and its time."""
    by_peer = {peer: {"seconds": s} for peer, s in cell["seconds"][target].items()}
    value, best = ratio(by_peer)
    ours = cell["seconds"][target].get("skimlearn")
    return value, ours, best, cell["seconds"][target].get(best)


def texts(found):
    rows, ratios = [], []
    for cell in found["cells"]:
        line = [cell["problem"], cell["loss"], f"{cell['alpha']:g}"]
        for target in TARGETS:
            value, ours, best, theirs = compared(cell, target)
            if value is None:
                line.append(f"{number(ours, 2)} s; no peer" if ours else "not reached")
                continue
            ratios.append(value)
            line.append(f"{number(value, 2)} ({number(ours, 2)} s; {best} {number(theirs, 2)} s)")
        rows.append(line)
    took_part = sorted({
        peer for cell in found["cells"] for by_peer in cell["seconds"].values() for peer in by_peer
        if not is_ours(peer)
    })  # fmt: skip
    absent = sorted({
        peer for cell in found["cells"] for peer in cell["absent"] if peer not in took_part
    })  # fmt: skip
    verdict = (
        f"Of {len(ratios)} comparisons with the best peer we are quicker in "
        f"{sum(r < 1.0 for r in ratios)} and three times as quick in "
        f"{sum(r <= 1 / 3 for r in ratios)}; the median ratio is {number(np.median(ratios), 2)}, "
        f"the worst {number(max(ratios), 2)}. Peers that reached a target: {', '.join(took_part)}. "
        f"Absent, or without the loss, or beyond their time: {', '.join(absent) or 'none'}."
    )
    return {
        "ratios": table(["problem", "loss", "alpha", *(LABELS[t] for t in TARGETS)], rows),
        "verdict": verdict + "\n\n" + about(found),
    }


def about(found):
    if found["held"] == "now":
        return source(found)
    return f"*Written from a race held before, with skimlearn {found['about']['skimlearn']}.*"


def draw(found):
    import matplotlib.pyplot as plt

    cells = found["cells"]
    wide = min(2 if len(cells) <= 4 else 3, len(cells))
    high = -(-len(cells) // wide)
    figure, axes = plt.subplots(
        high, wide, figsize=(4.6 * wide, 3.7 * high), layout="constrained", squeeze=False
    )
    at = np.arange(len(TARGETS))
    for axis, cell in zip(axes.flat, cells, strict=False):
        names = []
        for peer in sorted({p for by in cell["seconds"].values() for p in by}):
            if is_ours(peer) and peer != "skimlearn":
                continue
            ours = peer == "skimlearn"
            seconds = np.array([cell["seconds"][t].get(peer, np.nan) for t in TARGETS])
            axis.semilogy(at, seconds, "-o", color="C0" if ours else "0.65", lw=2.2 if ours else 1,
                          ms=5 if ours else 3, zorder=3 if ours else 2)  # fmt: skip
            known = np.flatnonzero(np.isfinite(seconds))
            names.append((at[known[-1]], seconds[known[-1]], peer))
        axis.set_xticks(at, ["test\nerror", *(LABELS[t] for t in TARGETS[1:])], fontsize=8)
        axis.set_xlim(-0.2, len(TARGETS) + 1.3)
        axis.set_title(f"{cell['problem']}, {cell['loss']} loss")
        low, high = axis.get_ylim()
        axis.set_ylim(low, 2.0 * high)
        axis.yaxis.set_minor_formatter("")
        label(axis, names)
    for axis in axes.flat[len(cells) :]:
        axis.set_visible(False)
    for line in axes:
        line[0].set_ylabel("seconds (CPU) to the target")
    return figure


def label(axis, names):
    """Write the names beside the ends of the lines, pushed apart where they would overlap."""
    low, high = np.log10(axis.get_ylim())
    least, last = 0.045 * (high - low), {}
    for x, y, name in sorted(names, key=lambda item: (item[0], item[1])):
        place = max(np.log10(y), last.get(x, -np.inf) + least)
        last[x] = place
        ours = name == "skimlearn"
        colour = "C0" if ours else "0.3"
        axis.text(x + 0.12, 10**place, name, fontsize=6.5, va="center", color=colour,
                  weight="bold" if ours else "normal")  # fmt: skip


if __name__ == "__main__":
    main(Path(__file__).stem, measure, texts, draw, __doc__, more)
