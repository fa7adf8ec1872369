"""Speed against peers: our default solver beside other libraries, on the same objective.

    python experiments/peers.py --race FILE [--clock cpu] [--out FOLDER]
    python experiments/peers.py [--quick] [--out FOLDER]

The first makes data, page and picture from what is kept of races, data/race.jsonl beside the pages;
benchmarks/race --show RESULTS --out docs does the same beside docs/race.md, so that both have one
source. Without a race, the summary of the last one, which is in the documentation, is
drawn again. --quick holds a tiny race, with the peers that are installed.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from _common import PAGES, ROOT, main, number, table
from race.measure import TARGETS
from race.peers import is_ours
from race.table import load, ratio, times

LABELS = {"error": "test error", "1e-02": "1 %", "1e-03": "0.1 %", "1e-04": "0.01 %"}
MOST_PEERS = 9  # in the picture


def more(parser):
    parser.add_argument(
        "--race", type=Path, metavar="FILE", help="medians or results of races held before"
    )
    parser.add_argument("--clock", choices=("wall", "cpu"), default="cpu", help="default: cpu")


def measure(options):
    if options.race is not None:
        return summary(options.race, options.clock)
    if options.quick:
        with tempfile.TemporaryDirectory() as folder:
            hold(Path(folder))
            return summary(Path(folder) / "results.jsonl", options.clock)
    print("no --race: the summary of the last one is drawn again", flush=True)
    found = json.loads((PAGES / "data" / "peers.json").read_text())
    return {key: found[key] for key in ("clock", "versions", "cells")}


def hold(out):
    """A tiny race, as a process of its own."""
    command = [
        sys.executable, ROOT / "benchmarks" / "race", "--out", out, "--problem", "tiny", "--loss",
        "hinge", "--alpha", "1e-4", "--repeat", "1", "--budget", "5", "--patience", "3",
        "--peer", "skimlearn", "sklearn-linearsvc", "--cache", out / "cache", "--clock", "cpu",
    ]  # fmt: skip
    subprocess.run([str(part) for part in command], check=True)


def summary(results, clock):
    """Seconds of each peer to each target; a peer without any has taken part, and failed."""
    cells = []
    for cell in load(results):
        by_target = times(cell, clock)
        cells.append({
            "problem": cell.problem, "loss": cell.loss, "alpha": cell.alpha,
            "threads": cell.threads, "gap": cell.reference["gap"],
            "peers": sorted({run["peer"] for run in cell.runs}),
            "seconds": {
                target: {peer: entry["seconds"] for peer, entry in by_target[target].items()}
                for target in TARGETS
            },
        })  # fmt: skip
    found = {}
    for line in results.read_text().splitlines():
        for name, version in json.loads(line)["versions"].items():
            found |= version if isinstance(version, dict) else {name: version}
    return {"clock": clock, "versions": found, "cells": cells}


# ---------------------------------------------------------------------------------------- results


def compared(cell, target):
    """Our time over that of the best peer, and who that is; None where one of them is missing."""
    return ratio({peer: {"seconds": s} for peer, s in cell["seconds"][target].items()})


def ratios(found, target, chosen=lambda cell: True):
    known = [compared(cell, target)[0] for cell in found["cells"] if chosen(cell)]
    return np.array([value for value in known if value is not None])


def texts(found):
    cells, rows = found["cells"], []
    losses = sorted({cell["loss"] for cell in cells})
    for loss in [*losses, "all"]:
        line = [loss, sum(loss in ("all", cell["loss"]) for cell in cells)]
        for target in TARGETS:
            values = ratios(found, target, lambda cell: loss in ("all", cell["loss"]))  # noqa: B023
            line.append(spread(values))
        rows.append(line)
    every = np.concatenate([ratios(found, target) for target in TARGETS])
    alone = sum(
        compared(cell, target)[0] is None and "skimlearn" in cell["seconds"][target]
        for cell in cells for target in TARGETS
    )  # fmt: skip
    lost = sum("skimlearn" not in cell["seconds"][target] for cell in cells for target in TARGETS)
    slow = max(
        (value, cell["problem"], cell["loss"], f"{cell['alpha']:g}", LABELS[target], best)
        for cell in cells for target in TARGETS
        for value, best in [compared(cell, target)] if value is not None
    )  # fmt: skip
    verdict = (
        f"{len(cells)} cases (problem, loss, alpha, threads), four targets each. Of {len(every)} "
        f"comparisons with the best peer we are quicker in {sum(every < 1.0)}, three times as "
        f"quick in {sum(every <= 1 / 3)}, and more than twice as slow in {sum(every > 2.0)}; the "
        f"median ratio is {number(np.median(every), 2)}. The worst is {number(slow[0], 2)} "
        f"({slow[1]}, {slow[2]}, alpha = {slow[3]}, {slow[4]}; {slow[5]}). No peer reached "
        f"{alone} of the targets that we reached; we missed {lost}."
    )
    return {
        "ratios": table(["loss", "cases", *(LABELS[t] for t in TARGETS)], rows),
        "verdict": verdict + "\n\n" + about(found),
    }


def spread(values):
    """Median, least and greatest."""
    if not len(values):
        return "-"
    low, middle, high = (number(f(values), 2) for f in (np.min, np.median, np.max))
    return f"{middle} ({low} to {high})"


def about(found):
    shown = ("skimlearn", "numpy", "numba", "scikit-learn", "liblinear-official", "snapml")
    names = [f"{name} {found['versions'][name]}" for name in shown if name in found["versions"]]
    several = any(cell["threads"] > 1 for cell in found["cells"])
    clock = found["clock"].upper() + " time" + ", with several threads wall time" * several
    return f"*{clock}; " + ", ".join(names) + ".*"


def draw(found):
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
    dots(left, found)
    profiles(right, found)
    return figure


def dots(axis, found):
    """A dot for each case: our time over that of the best peer, by target."""
    rng = np.random.default_rng(0)
    for at, target in enumerate(TARGETS):
        values = ratios(found, target)
        where = at + rng.uniform(-0.22, 0.22, len(values))
        colours = np.where(values < 1.0, "C0", "C3")
        axis.scatter(where, values, s=14, c=colours, alpha=0.7, lw=0)
        if len(values):
            axis.hlines(np.median(values), at - 0.3, at + 0.3, color="black", lw=2)
    axis.axhline(1.0, color="0.4", lw=1)
    axis.set(yscale="log", ylabel="our time / time of the best peer")
    ticks = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_xticks(range(len(TARGETS)), [LABELS[target] for target in TARGETS])
    axis.set_title("below 1 we are quicker (line: median)")


def profiles(axis, found):
    """How many of its cases a peer solves within so many times the time of the quickest of all."""
    behind = {}
    for cell in found["cells"]:
        for target in TARGETS:
            by_peer = {p: s for p, s in cell["seconds"][target].items() if shown(p)}
            least = min(by_peer.values(), default=np.nan)
            for peer in filter(shown, cell["peers"]):
                behind.setdefault(peer, []).append(by_peer.get(peer, np.inf) / least)
    often = sorted(behind, key=lambda peer: -len(behind[peer]))[:MOST_PEERS]
    x = np.geomspace(1.0, 30.0, 200)
    for at, peer in enumerate(sorted(often, key=lambda peer: peer != "skimlearn")):
        share = (np.array(behind[peer])[:, None] <= x + 1e-9).mean(axis=0)
        axis.plot(x, 100 * share, color=f"C{at}", lw=2.4 if at == 0 else 1.2,
                  label=f"{peer} ({len(behind[peer])})")  # fmt: skip
    axis.set(xscale="log", xlabel="times the time of the quickest", ylim=(0, 101), xlim=(1, 30))
    axis.set_xticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    axis.minorticks_off()
    axis.set_ylabel("per cent of its targets reached")
    axis.set_title("of the targets that each has tried (in brackets)")
    axis.legend(fontsize=7.5, loc="lower right")


def shown(peer):
    """Ours is the default solver; its parts are not."""
    return peer == "skimlearn" or not is_ours(peer)


if __name__ == "__main__":
    main(Path(__file__).stem, measure, texts, draw, __doc__, more)
