"""Who is first? Time to a target, side by side with other libraries on the same objective.

    python benchmarks/race                                   # bundled problems, installed peers
    python benchmarks/race --setup ENVIRONMENTS              # makes environments with all peers
    python benchmarks/race --environments ENVIRONMENTS --data FOLDER --out RESULTS
    python benchmarks/race --show RESULTS                    # table and pictures again, no runs
    python benchmarks/race --show RESULTS --out docs         # the same as pages of documentation

All minimise  alpha / 2 ||w||^2 + mean loss  without a bias. Measured is the least time at which a
solver reaches

error    a test error (regression: the variance not explained) within 0.1 % of the optimum's
1e-02, 1e-03, 1e-04    a relative sub-optimality (P(w) - P*) / P*

A solver that stops where its settings say is run over these settings, from rough to precise; the
quickest are repeated, all peers in turns, each time with another seed, and medians are compared.
A fit begins with the arrays, so that conversions count; compilation and imports do not. P* comes
from our solver with its certificate (to 1e-8), and is kept on disk.

A peer has a process of its own for each problem, held to as many cores as there are threads, with
a time limit. Who needs more than --patience times the time of the best is not pursued.
"""

import argparse
import fnmatch
import json
import os
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from race import environments, machine, measure, peers, problems, table


def cache_folder():
    root = os.environ.get("XDG_CACHE_HOME") or Path(tempfile.gettempdir())
    return Path(root) / "skimlearn-race"


def parse(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python benchmarks/race",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, help="folder with a module loaders.py and the data sets")
    add("--problem", nargs="+", choices=problems.NAMES, help="default: all that are there")
    add("--loss", nargs="+", choices=peers.ALL, help="default: those of the problem")
    add("--alpha", nargs="+", type=float, default=[1e-3, 1e-4, 1e-5, 1e-6])
    add("--peer", nargs="+", help="names or patterns, as sklearn-*; default: all")
    add("--threads", type=int, default=1)
    add("--clock", choices=("wall", "cpu"), default="wall", help="cpu: for a busy machine")
    add("--repeat", type=int, default=3, help="turns after the exploration")
    add("--budget", type=float, default=20.0, help="seconds of a fit")
    add("--patience", type=float, default=10.0, help="times the best time, to the last target")
    add("--quick", action="store_true", help="spam, sparse, dense and line; alpha 1e-4; one turn")
    add("--out", type=Path, help="folder for the results; default: race-results")
    add("--resume", action="store_true", help="leave out what the results have already")
    add("--cache", type=Path, default=cache_folder(), help="folder for problems and optima")
    add("--environments", type=Path, help="folder made by --setup")
    add("--setup", type=Path, metavar="FOLDER", help="make the environments of the peers, and end")
    add("--show", type=Path, metavar="FOLDER", help="draw the results of a folder again, and end")
    add("--list", action="store_true", help="name the peers and the problems, and end")
    options = parser.parse_args(arguments)
    if options.quick:
        options.problem = options.problem or [n for n in problems.MADE if n in problems.STANDARD]
        options.alpha, options.repeat = [1e-4], 1
        options.budget, options.patience = min(options.budget, 1.0), 3.0
    return options


def chosen_peers(patterns):
    """The peers whose names match one of the patterns; all without patterns."""
    everyone = peers.table()
    for pattern in patterns or []:
        if not fnmatch.filter(everyone, pattern):
            raise SystemExit(f"--peer: {pattern!r} is none of {', '.join(everyone)}")
    names = {name for pattern in patterns or ["*"] for name in fnmatch.filter(everyone, pattern)}
    return [peer for peer in everyone.values() if peer.name in names]


def write(folder, clock):
    """The table and the pictures of a folder's results."""
    cells = table.load(folder / "results.jsonl")
    if not cells:
        return
    text = "\n".join(table.markdown(cells, clock)) + "\n"
    (folder / "table.md").write_text(text)
    try:
        from race import picture
    except ImportError as error:
        print(f"no pictures: {error}")
        return
    picture.heat_map(cells, folder / "ratios.png", clock)
    picture.curves(cells, folder / "curves.png", clock)


def race(options):
    names = options.problem or problems.STANDARD
    entrants = chosen_peers(options.peer)
    ours = peers.table()["skimlearn"]
    options.out.mkdir(parents=True, exist_ok=True)
    settings = measure.Options(
        cache=options.cache, environments=options.environments, data=options.data,
        threads=options.threads, repeat=options.repeat, budget=options.budget,
        patience=options.patience, clock=options.clock,
    )  # fmt: skip
    done = known(options) if options.resume else set()
    for name in names:
        try:
            meta = problems.meta_of(problems.prepare(name, options.data, options.cache))
        except FileNotFoundError as error:
            print(f"{name}: left out, {error}")
            continue
        for loss in [x for x in options.loss or meta["losses"] if fits(x, meta)]:
            alphas = [a for a in options.alpha if (name, loss, a, options.threads) not in done]
            run = measure.Race(name, loss, entrants, settings)
            try:
                for alpha in alphas:
                    start = time.perf_counter()
                    print(f"{name}, {loss}, alpha = {alpha:g}", flush=True)
                    try:
                        save(run, run.run(alpha, ours), options)
                    except measure.PeerFailed as error:
                        print(f"  no optimum: {error}", flush=True)
                        continue
                    print(f"  {time.perf_counter() - start:.0f} s", flush=True)
                    write(options.out, options.clock)
            finally:
                run.close()


def known(options):
    """The cases that there are results of."""
    path = options.out / "results.jsonl"
    cells = table.load(path) if path.exists() else []
    return {(cell.problem, cell.loss, cell.alpha, cell.threads) for cell in cells}


def fits(loss, meta):
    """Whether a loss is for the problem's kind of target: a loss of numbers takes labels too."""
    return bool(meta["classes"]) or loss not in peers.CLASSIFY


def save(run, cell, options):
    """A line of JSON, with all that is needed to understand it."""
    record = {**asdict(cell), "machine": machine.describe(), "versions": run.versions()}
    del record["measured"]
    with open(options.out / "results.jsonl", "a") as file:
        file.write(json.dumps(record) + "\n")
    print(
        "\n".join("  " + line for line in list(table.ratios([cell], options.clock))[2:]), flush=True
    )


def main():
    options = parse()
    if options.list:
        print("peers:", *peers.table(), "\nproblems:", *problems.NAMES)
    elif options.setup:
        missing = environments.set_up(options.setup)
        print("not installed: " + (", ".join(missing) or "none"))
    elif options.show and options.out:
        from race import page

        page.write(options.show, options.out, options.clock)
    elif options.show:
        write(options.show, options.clock)
        print((options.show / "table.md").read_text())
    else:
        options.out = options.out or Path("race-results")
        race(options)
