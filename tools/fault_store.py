"""Kill the making of a store again and again: what is there afterwards is whole, or nothing is.

    python tools/fault_store.py --trials 100

Every other trial kills the process (SIGKILL) at a step that touches the disk, the others at a
random time. Half of the trials replace a store that is there, which must then still be there,
whole, unless the new one is. What opens must verify, and the next `Store.create` must succeed and
leave nothing but the store. Needs a system with fork.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from store_faults import FORMER, Steps, check_after_kill, killed_after, killed_at_step, make


def trial(seed, steps, seconds):
    """Whether the process was killed in time, and what is wrong then, if anything."""
    rng = np.random.default_rng(seed)
    former = bool(rng.integers(2))
    rows = int(rng.integers(20, 400))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "data")
        if former:
            make(path, FORMER)
        if seed % 2:
            step = int(rng.integers(1, steps + 1))
            killed = killed_at_step(path, step, rows=rows, overwrite=former)
        else:
            killed = killed_after(path, seconds * rng.random(), rows=rows, overwrite=former)
        return killed, check_after_kill(path, former)


def main():
    """Run the trials."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Steps(None) as steps:
        make(str(Path(folder) / "warm"))  # compiles
        steps.count, began = 0, time.perf_counter()
        make(str(Path(folder) / "data"))
        seconds = time.perf_counter() - began
    kills = faults = 0
    for seed in range(options.first, options.first + options.trials):
        killed, fault = trial(seed, steps.count, 3.0 * seconds)
        kills += killed
        if fault:
            faults += 1
            print(f"seed {seed}: {fault}")
    print(f"{options.trials} trials, {kills} killed in time, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
