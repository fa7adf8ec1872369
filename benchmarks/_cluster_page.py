"""What `cluster.py` and `rounds.py` have measured, as the marked parts of docs/scale.md.

All numbers are in scale.json beside the page, a part for each of the things that were measured; a
run brings its own parts, or the lines of its own data sets, up to date, and the page is written
from all of them.
"""

import json
import math
import os
import re
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

from _cluster_data import ALPHA

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "experiments"))
from _common import filled, number, plain, table  # noqa: E402
from race import machine  # noqa: E402

PAGE = ROOT / "docs" / "scale.md"
WORKERS, ROWS, LONG, FEATURES, EPOCHS, FAN_IN = (10, 100, 1000), 1e9, 100, 1e7, 2, 16
PACKAGES = ("skimlearn", "numpy", "numba", "dask", "distributed")


def about(quick, loads):
    """What a part was measured with; ``loads`` are the machine's, before each measurement."""
    here = machine.describe()
    return {
        "cpu": here["cpu"], "cores": here["cores"], "memory": here["memory"], "quick": quick,
        "load": [min(loads), max(loads)], "versions": {name: version(name) for name in PACKAGES},
    }  # fmt: skip


def load_now():
    return os.getloadavg()[0]


def write(part, found, out):
    """Put a part into scale.json of a folder, and all of them into the page there."""
    out.mkdir(parents=True, exist_ok=True)
    path, page = out / "scale.json", out / PAGE.name
    if not page.exists():
        shutil.copy(PAGE, page)
    if not path.exists():
        shutil.copy(PAGE.with_name("scale.json"), path)
    before = json.loads(path.read_text())
    everything = before | {part: merged(before[part], plain(found))}
    text = re.sub(r"\n {3,}", " ", json.dumps(everything, indent=1))
    path.write_text(text + "\n")
    page.write_text(filled(page.read_text(encoding="utf-8"), texts(everything)), encoding="utf-8")
    print(f"wrote {part} into {path} and {page}")


def merged(before, found):
    """What was found, and of the data sets that were left out what was there before.

    "sets" has what the lines of a data set were measured with.
    """
    names = {run["data"] for run in found.get("runs", ()) if "data" in run}
    if not names:
        return found
    sets, kept = {}, []
    if before["about"]["quick"] == found["about"]["quick"]:
        kept = [run for run in before["runs"] if run["data"] not in names]
        known = before.get("sets", {})
        sets = {run["data"]: known.get(run["data"], before["about"]) for run in kept}
    sets |= dict.fromkeys(names, found["about"])
    order = list(ALPHA)
    runs = sorted(kept + found["runs"], key=lambda run: order.index(run["data"]))
    return found | {"sets": {name: sets[name] for name in order if name in sets}, "runs": runs}


def texts(found):
    """The parts of the page that have numbers."""
    return {
        "times": _times(found["times"]), "peers": _peers(found["peers"], found["times"]),
        "constants": _constants(found["constants"]), "rounds": _rounds(found["rounds"]),
        "model": _model(found["constants"], found["rounds"]), "margins": _margins(found["margins"]),
    }  # fmt: skip


def _source(part, more=""):
    """The line below a table; one for each thing that its sets were measured with."""
    sets = part.get("sets", {"": part["about"]})
    groups = {}
    for name, known in sets.items():
        words = {key: value for key, value in known.items() if key != "load"}
        groups.setdefault(json.dumps(words), []).append((name, known))
    lines = []
    for group in groups.values():
        known = group[0][1]
        names = ", ".join(name for name, _ in group) + ": " if len(groups) > 1 else ""
        kind = "A quick run, to try the command out. " if known["quick"] else ""
        versions = ", ".join(f"{name} {what}" for name, what in known["versions"].items())
        loads = [load for _, about in group for load in about["load"]]
        lines.append(
            f"*{names}{kind}{known['cpu']}, {known['cores']} cores, {known['memory']}; load "
            f"{min(loads):.1f} to {max(loads):.1f} processes before each measurement. "
            f"{versions}{more}.*"
        )
    return "\n\n".join(lines)


def _times(part):
    lines, seconds = [], {}
    for run in part["runs"]:
        key = run["data"], run["loss"]
        first = seconds.setdefault(key, run["seconds"])
        lines.append(
            [
                run["data"], run["loss"], run["workers"], number(run["seconds"]),
                f"{first / run['seconds']:.2f}", number(run["total"]), run["rounds"],
                number(run["bytes"] / run["rounds"] / 1e6), f"{run['gap']:.1e}",
            ]
        )  # fmt: skip
    head = ("data", "loss", "workers", "seconds", "speed-up", "with loading", "rounds")
    return f"{table((*head, 'MB a round', 'gap'), lines)}\n\n{_source(part)}"


def _peers(part, times):
    lines = []
    for run in part["runs"]:
        lines.append(
            [
                run["data"], run["who"], run["loss"], run.get("iterations", ""),
                number(run["seconds"]) if "seconds" in run else run["why"],
                f"{run['above']:+.1e}" if "above" in run else "", run.get("note", ""),
            ]
        )  # fmt: skip
    head = ("data", "who", "loss", "iterations", "seconds", "objective above ours", "")
    versions = ", ".join(f"{name} {what}" for name, what in part["peers"].items())
    return f"{table(head, lines)}\n\n{_source(part, f'; {versions}')}"


def _constants(part):
    lines = [
        ["a: an epoch on a partition, per stored entry", f"{part['epoch'] * 1e9:.1f} ns"],
        ["c: a check, per stored entry", f"{part['check'] * 1e9:.1f} ns"],
        [
            f"t: a task ({part['tasks']} tasks that do nothing, in {part['empty'] * 1e3:.0f} ms)",
            f"{part['task'] * 1e3:.1f} ms",
        ],
        [
            f"B: bytes between processes, serialised ({part['bytes'] / 1e6:.0f} MB in "
            f"{part['carry'] * 1e3:.0f} ms)",
            f"{part['rate'] / 1e9:.2f} GB/s",
        ],
    ]
    return f"{table(('constant', 'value'), lines)}\n\n{_source(part)}"


def _rounds(part):
    losses = list(part["rounds"])
    sizes = list(part["rounds"][losses[0]])
    lines = [[f"{int(k):,}", *(part["rounds"][loss][k] for loss in losses)] for k in sizes]
    factor = int(sizes[-1]) / int(sizes[0])
    grown = [part["rounds"][loss][sizes[-1]] / part["rounds"][loss][sizes[0]] for loss in losses]
    words = " and ".join(f"{x:.0f} times ({k})" for x, k in zip(grown, losses, strict=True))
    last = part["alpha"] * part["rows"] / int(sizes[-1])
    return (
        f"{table(('partitions', *losses), lines)}\n\n{part['rows']:,} sparse rows, alpha = "
        f"{part['alpha']:g}. {factor:.0f} times the partitions take {words} the rounds; in the "
        f"last line alpha times the rows of a partition is {last:.2g}."
    )


def cost(workers, constants):
    """Seconds of the four parts of a round; see the page."""
    work = (EPOCHS * constants["epoch"] + constants["check"]) * ROWS * LONG / workers
    vector = 8.0 * FEATURES / constants["rate"]
    down = vector * math.log2(workers)
    up = vector * FAN_IN * math.log(workers, FAN_IN)
    tasks = 2.0 * workers + workers / (FAN_IN - 1.0) + 1.0
    return work, down, up, tasks * constants["task"]


def _model(constants, rounds):
    found = rounds["rounds"]
    counted = {k: found.get(f"{k}, apart", v) for k, v in found.items() if "," not in k}
    lines, totals = [], {loss: {} for loss in counted}
    for workers in WORKERS:
        parts = cost(workers, constants)
        for loss, counts in counted.items():
            enough = [count for k, count in counts.items() if int(k) >= workers]
            totals[loss][workers] = (enough or list(counts.values())[-1:])[0] * sum(parts)
        lines.append(
            [f"{workers:,}", *(f"{number(s)} s" for s in (*parts, sum(parts)))]
            + [f"{number(totals[loss][workers] / 60.0, 2)} min" for loss in totals]
        )
    head = ("workers", "arithmetic", "down", "up", "latency", "a round")
    best = ", ".join(f"{min(by, key=by.get):,} for {loss}" for loss, by in totals.items())
    ends = (*head, *(f"in all, {loss}" for loss in totals))
    return f"{table(ends, lines)}\n\nThe quickest of these numbers of workers: {best}."


def _margins(part):
    lines = []
    for run in part["runs"]:
        count, seconds = run["rounds"], run["seconds"]
        lines.append(
            [
                run["solver"], count, number(run["reads"]), number(seconds),
                f"{1e3 * seconds / count:.0f} ms", number(run["bytes"] / count / 1e3),
                f"{run['gap']:.3f}",
            ]
        )  # fmt: skip
    head = ("solver", "rounds", "entries read", "seconds", "a round", "kB a round", "gap")
    core, sampled = part["runs"]
    saved, longer = core["reads"] - sampled["reads"], sampled["seconds"] - core["seconds"]
    if saved <= 0:
        words = "The core set reads less: sampling does not pay for this problem at any price."
    elif longer <= 0:
        words = "Sampling reads less, and is quicker."
    else:
        words = (
            f"Sampling reads {core['reads'] / sampled['reads']:.1f} times less and takes "
            f"{longer:.1f} s longer: it pays where an entry costs more than "
            f"{longer / saved * 1e9:,.0f} ns to read, on top of what it costs here."
        )
    rows, columns = part["shape"]
    return (
        f"{rows:,} dense rows of {columns:,} columns in {part['partitions']} partitions, a gap of "
        f"{part['eps']:g} of the longest row:\n\n{table(head, lines)}\n\n{words}\n\n{_source(part)}"
    )
