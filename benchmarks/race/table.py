"""From runs to medians, from medians to times to targets, from these to Markdown."""

import json
from collections import defaultdict
from pathlib import Path
from statistics import median

from race.measure import TARGETS, Cell
from race.peers import NO_LOSS, is_ours

NOISY = 0.2  # wall and CPU time that differ by more are marked


def load(path):
    """The cells of a file of results; of two with the same key the later one."""
    cells = {}
    for line in Path(path).read_text().splitlines():
        cell = cell_of(json.loads(line))
        cells[cell.problem, cell.loss, cell.alpha, cell.threads] = cell
    return list(cells.values())


def cell_of(record):
    """The cell of a line of results, or of medians that were kept."""
    names = ("problem", "loss", "alpha", "threads", "reference", "absent")
    cell = Cell(**{name: record[name] for name in names})
    cell.measured = record.get("machine", {})
    cell.runs = record["runs"] if "runs" in record else list(_runs(record["medians"]))
    return cell


def _runs(medians):
    for peer, entries in medians.items():
        for setting, repeated, wall, cpu, error, objective in entries:
            run = {"peer": peer, "setting": setting, "turn": int(repeated > 0)}
            yield run | {"wall": wall, "cpu": cpu, "error": error, "objective": objective}


def settings(cell, clock="wall"):
    """One entry for each peer and setting: medians over its turns (the first was to explore).

    Times are those of the clock, but wall times of several threads, whose CPU times add up.
    """
    groups = defaultdict(list)
    for run in cell.runs:
        groups[run["peer"], json.dumps(run["setting"], sort_keys=True)].append(run)
    found = []
    for (peer, setting), runs in groups.items():
        repeated = [r for r in runs if r["turn"] > 0]
        runs = repeated or runs
        entry = {key: median(r[key] for r in runs) for key in ("wall", "cpu", "error")}
        entry |= {"peer": peer, "setting": json.loads(setting), "repeated": len(repeated)}
        entry["seconds"] = entry[clock if cell.threads == 1 else "wall"]
        entry["distance"] = median(cell.distance(r) for r in runs)
        found.append(entry)
    return found


def times(cell, clock="wall"):
    """Target -> peer -> the entry with the least median time that meets it.

    A setting that was tried only once counts where none of the repeated ones meets the target: one
    run may be lucky.
    """
    entries = sorted(settings(cell, clock), key=lambda e: (not e["repeated"], e["seconds"]))
    best = {target: {} for target in TARGETS}
    for target in TARGETS:
        for entry in entries:
            if cell.meets(target, entry["distance"], entry["error"]):
                best[target].setdefault(entry["peer"], entry)
    return best


def ratio(by_peer, name="skimlearn"):
    """Our time over that of the best peer, and who that is; None where one of them is not there."""
    others = {peer: e for peer, e in by_peer.items() if not is_ours(peer)}
    if name not in by_peer or not others:
        return None, None
    best = min(others, key=lambda peer: others[peer]["seconds"])
    return by_peer[name]["seconds"] / others[best]["seconds"], best


def is_noisy(entry):
    return abs(entry["wall"] - entry["cpu"]) > NOISY * entry["wall"]


def _cell_text(by_peer):
    value, best = ratio(by_peer)
    ours = by_peer.get("skimlearn")
    if value is None:
        others = [e for peer, e in by_peer.items() if not is_ours(peer)]
        if ours is not None:
            return f"{ours['seconds']:.3g} s; no peer"
        return "not reached" + (f"; {min(e['seconds'] for e in others):.3g} s" if others else "")
    star = "**" if value > 1 / 3 else ""
    theirs = by_peer[best]["seconds"]
    return f"{star}{value:.2f}{star} ({ours['seconds']:.3g} s; {best} {theirs:.3g} s)"


def _noise(found, threads):
    if threads > 1:
        return ""
    noisy = {
        peer
        for by_peer in found.values()
        for peer, entry in by_peer.items()
        if is_noisy(entry) and (peer == "skimlearn" or peer == ratio(by_peer)[1])
    }
    return ", ".join(sorted(noisy))


def ratios(cells, clock="wall"):
    """The table of ratios: a line per problem, loss and alpha."""
    heads = ["problem", "loss", "alpha", "threads", *TARGETS, "wall and CPU differ"]
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for cell in cells:
        found = times(cell, clock)
        texts = [_cell_text(found[target]) for target in TARGETS]
        first = [cell.problem, cell.loss, f"{cell.alpha:g}", str(cell.threads)]
        yield "| " + " | ".join([*first, *texts, _noise(found, cell.threads)]) + " |"


def peers(cell, clock="wall"):
    """The table of one cell: seconds of each peer to each target, and how near it came."""
    found = times(cell, clock)
    nearest = defaultdict(lambda: float("inf"))
    for entry in settings(cell, clock):
        nearest[entry["peer"]] = min(nearest[entry["peer"]], entry["distance"])
    gap = cell.reference["gap"]
    yield f"### {cell.problem}, {cell.loss}, alpha = {cell.alpha:g}, threads = {cell.threads}"
    yield ""
    yield (
        f"Optimum {cell.reference['objective']:.8g}, certified to {gap:.1e} (relative); "
        f"test error {cell.reference['error']:.4f}.{_measured(cell)}"
    )
    yield ""
    heads = ["peer", *TARGETS, "nearest", "setting for the last target reached"]
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)

    def order(peer):
        return [found[t][peer]["seconds"] if peer in found[t] else 1e9 for t in reversed(TARGETS)]

    for peer in sorted(nearest, key=order):
        texts, last = [], None
        for target in TARGETS:
            entry = found[target].get(peer)
            texts.append("-" if entry is None else f"{entry['seconds']:.3g}{_mark(entry, cell)}")
            last = entry or last
        how = "" if last is None else ", ".join(f"{k}={v}" for k, v in last["setting"].items())
        yield "| " + " | ".join([peer, *texts, f"{nearest[peer]:.1e}", how]) + " |"
    others = {peer: why for peer, why in cell.absent.items() if NO_LOSS not in why}
    for peer, why in others.items():
        yield f"| {peer} | " + " | ".join(["-"] * len(TARGETS)) + f" |  | {why} |"
    yield ""
    lacking = [peer for peer in cell.absent if peer not in others]
    if lacking:
        yield f"Without this loss: {', '.join(lacking)}."
        yield ""


def _measured(cell):
    """Which state of our code it was, and how busy the machine."""
    commit, load = cell.measured.get("commit"), cell.measured.get("load")
    return f" Commit {commit}, load {load[0]:.1f}." if commit and load else ""


def _mark(entry, cell):
    return "~" if cell.threads == 1 and is_noisy(entry) else ""


def markdown(cells, clock="wall"):
    """The whole report."""
    yield "# Time to a target"
    yield ""
    yield (
        f"Seconds ({clock} time, of several threads wall time; median) of our default solver over "
        "those of the best peer, to a "
        "test error within 0.1 % of the optimum's, and to relative sub-optimalities of 1e-2, 1e-3 "
        "and 1e-4. Below 1 we are quicker; bold: not three times as quick. A `~` says that wall "
        "and CPU time differ by more than 20 %: the machine was busy, or waited."
    )
    yield ""
    yield from ratios(cells, clock)
    yield ""
    for cell in cells:
        yield from peers(cell, clock)
