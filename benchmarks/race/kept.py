"""What is kept of a race: medians of what counts, a line of JSON for each cell.

A race of everything takes longer than a day, so it is held in parts. A part takes the place of the
same cells of earlier ones; all others stay, each with the commit that it was measured on.
"""

import json
from collections import defaultdict
from pathlib import Path

from race import problems, table
from race.peers import ALL

PACKAGES = (
    "python", "numpy", "scipy", "numba", "scikit-learn", "scikit-learn-intelex", "snapml",
    "liblinear-official", "liblinear-multicore", "vowpalwabbit", "cyanure", "skglm", "celer",
    "rehline", "river",
)  # fmt: skip
MACHINE = ("cpu", "cores", "cache", "memory", "commit", "load")
NEARER = 0.5  # times the distance of what is kept already


def thinned(record, clock):
    """A line of results with medians in the place of runs: those that come noticeably nearer.

    ``best`` is the least objective of all runs, which distances are measured from.
    """
    cell = table.cell_of(record)
    best = min([cell.reference["objective"], *(run["objective"] for run in cell.runs)])
    by_peer = defaultdict(list)
    for entry in sorted(table.settings(cell, clock), key=lambda e: e["seconds"]):
        by_peer[entry["peer"]].append(entry)
    needed = {
        (peer, json.dumps(entry["setting"]))
        for found in table.times(cell, clock).values() for peer, entry in found.items()
    }  # fmt: skip
    found = {}
    for name, entries in by_peer.items():
        last, nearest = min(e["distance"] for e in entries), float("inf")
        found[name] = []
        for e in entries:
            nearer = e["distance"] < NEARER * nearest or e["distance"] == last
            if nearer or (name, json.dumps(e["setting"])) in needed:
                nearest = min(nearest, e["distance"])
                objective = best * (1.0 + e["distance"])
                found[name].append([e["setting"], e["repeated"], *_short(e), objective])
    versions = {}
    for some in record["versions"].values():
        versions |= {name: some[name] for name in PACKAGES if name in some}
    kept = {key: record[key] for key in ("problem", "loss", "alpha", "threads", "absent")}
    kept["reference"] = record["reference"] | {"objective": best}
    machine = {key: record["machine"].get(key) for key in MACHINE}
    return kept | {"medians": found, "machine": machine, "versions": versions}


def _short(entry):
    return [float(f"{entry[key]:.5g}") for key in ("wall", "cpu", "error")]


def add(results, path, clock):
    """Add a file of results to what is kept; the later of two cells with one key counts."""
    records = {}
    if path.exists():
        records = {_key(r): r for r in map(json.loads, path.read_text().splitlines())}
    for line in Path(results).read_text().splitlines():
        record = json.loads(line)
        records[_key(record)] = thinned(record, clock)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(records[key], separators=(",", ":")) for key in sorted(records, key=_place)]
    path.write_text("\n".join(lines) + "\n")


def _key(record):
    return record["problem"], record["loss"], record["alpha"], record["threads"]


def _place(key):
    problem, loss, alpha, threads = key
    return threads, problems.NAMES.index(problem), ALL.index(loss), -alpha
