"""A page for the documentation from results: the table, the pictures, the machine, the versions."""

import json

from race import table

PACKAGES = (
    "python", "numpy", "scipy", "numba", "scikit-learn", "scikit-learn-intelex", "snapml",
    "liblinear-official", "liblinear-multicore", "vowpalwabbit", "cyanure", "skglm", "celer",
    "rehline", "river",
)  # fmt: skip
MACHINE = ("cpu", "cores", "cache", "memory")


def write(results, folder, clock):
    """Write ``race.md`` into a folder, and its pictures into ``images`` there."""
    lines = (results / "results.jsonl").read_text().splitlines()
    records, cells = [json.loads(line) for line in lines], table.load(results / "results.jsonl")
    (folder / "images").mkdir(parents=True, exist_ok=True)
    text = "\n".join(_page(records, cells, clock)) + "\n"
    (folder / "race.md").write_text(text)
    from race import picture

    picture.heat_map(cells, folder / "images" / "race_ratios.png", clock)
    picture.curves(cells, folder / "images" / "race_curves.png", clock)


def _page(records, cells, clock):
    body = list(table.markdown(cells, clock))
    at = body.index("", 2) + 1
    yield from body[:at]
    yield (
        f"Made by `python benchmarks/race --show RESULTS --clock {clock} --out docs` from what "
        "`python benchmarks/race` has measured; "
        "[the benchmarks](../benchmarks/README.md#the-race) say how. "
        "Who is not in a table did not take part in it."
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
        yield f"Its load was {min(loads):.1f} to {max(loads):.1f} processes."
    found = {}
    for record in records:
        for versions in record["versions"].values():
            found |= {name: versions[name] for name in PACKAGES if name in versions}
    yield "Versions: " + ", ".join(f"{name} {version}" for name, version in found.items()) + "."
