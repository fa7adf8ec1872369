"""Checks of one seed after the other in another process, so that even a crash is told."""

import argparse
import mmap
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MOST_FAULTS = 10


def main(description, what, prepare):
    """A tool that checks seeds for some minutes.

    ``prepare`` makes what it needs in a folder and returns the check: a function of a seed whose
    answer is what is wrong, or None. Where it has a ``summary``, that is told at the end.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--seed", type=int, help="this one only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check = prepare(Path(folder))
        end = time.monotonic() + 60.0 * options.minutes
        sys.exit(in_other_processes(check, end, options.first, options.seed, what))


def in_other_processes(check, end, first, only, what):
    """Check seeds from the first on until the time is over, or only one; 1 if there were faults."""
    shared = np.frombuffer(mmap.mmap(-1, 16), np.int64)
    at, faults = shared[:1], shared[1:]
    begin = seed = at[0] = first if only is None else only
    last = 2**62 if only is None else only + 1
    crashed = True
    while crashed and faults[0] < MOST_FAULTS:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _work(check, end, range(seed, last), at, faults)
                status = 0
            finally:
                os._exit(status)
        status = os.waitpid(child, 0)[1]
        crashed = status != 0
        if crashed:
            faults[0] += 1
            print(f"seed {at[0]}: the process ended with status {status}", flush=True)
            seed = int(at[0]) + 1
    print(f"{at[0] - begin + 1} {what}, {faults[0]} faults")
    if hasattr(check, "summary"):
        print(check.summary())
    return 1 if faults[0] else 0


def _work(check, end, seeds, at, faults):
    for seed in seeds:
        if time.monotonic() > end or faults[0] >= MOST_FAULTS:
            return
        at[0] = seed
        fault = check(seed)
        if fault:
            faults[0] += 1
            print(f"seed {seed}: {fault}", flush=True)
