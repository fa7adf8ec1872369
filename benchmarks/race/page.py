"""Pages for the documentation from results: all tables with their pictures, and a summary."""

import json
import subprocess
import sys
from pathlib import Path

from race import kept, table

SUMMARY = Path(__file__).resolve().parents[2] / "experiments" / "peers.py"

MACHINE = ("cpu", "cores", "cache", "memory")


def write(results, folder, clock):
    """Write ``race.md`` into a folder, its pictures into ``images`` there, and the summary of it:

    the experiment ``peers``, into ``experiments``. They are made of all that is kept there of races
    (``data/race.jsonl``), which these results are added to.
    """
    all_results = folder / "experiments" / "data" / "race.jsonl"
    kept.add(results / "results.jsonl", all_results, clock)
    records = [json.loads(line) for line in all_results.read_text().splitlines()]
    cells = table.load(all_results)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    text = "\n".join(_page(records, cells, clock)) + "\n"
    (folder / "race.md").write_text(text)
    from race import picture

    picture.heat_map(cells, folder / "images" / "race_ratios.png", clock)
    picture.curves(cells, folder / "images" / "race_curves.png", clock)
    command = [SUMMARY, "--race", all_results, "--clock", clock, "--out", folder / "experiments"]
    subprocess.run([sys.executable, *map(str, command)], check=True)


def _page(records, cells, clock):
    body = list(table.markdown(cells, clock))
    at = body.index("", 2) + 1
    yield from body[:at]
    yield (
        f"Made by `python benchmarks/race --show RESULTS --clock {clock} --out docs` from what "
        "`python benchmarks/race` has measured, in parts: "
        "[medians of all of them](experiments/data/race.jsonl) are kept; "
        "[the benchmarks](../benchmarks/README.md#the-race) say how, and "
        "[a summary](experiments/peers.md) is made with it. "
        "Who is not in a table did not take part in it; a peer that takes some times as long as "
        'the quickest (`--patience`) is not pursued: "no peer" says that none got there in that '
        "time."
    )
    yield ""
    yield from _surroundings(records)
    yield ""
    yield "![Our time over that of the best peer](images/race_ratios.png)"
    yield ""
    yield "![Distance from the optimum against time](images/race_curves.png)"
    yield ""
    yield from body[at:]


def _surroundings(records):
    """The machine and the versions, each once."""
    machines = {tuple(str(r["machine"].get(key)) for key in MACHINE) for r in records}
    for values in sorted(machines):
        pairs = zip(MACHINE, values, strict=True)
        yield "Machine: " + ", ".join(f"{k} {v}" for k, v in pairs if v != "None") + "."
    loads = [r["machine"]["load"][0] for r in records if r["machine"].get("load")]
    if loads:
        yield f"Its load was {min(loads):.1f} to {max(loads):.1f} processes when a case ended."
    commits = sorted({str(r["machine"]["commit"]) for r in records if r["machine"].get("commit")})
    if commits:
        yield f"Our code: commit {', '.join(commits)}."
    found = {}
    for record in records:
        for name, version in record["versions"].items():
            found.setdefault(name, {})[version] = None
    names = sorted(found, key=kept.PACKAGES.index)
    yield "Versions: " + ", ".join(f"{name} {' and '.join(found[name])}" for name in names) + "."
