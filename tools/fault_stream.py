"""Kill the learning from a stream again and again: taken up, it ends where it would have ended.

    python tools/fault_stream.py --trials 100

A trial chooses a solver, a kind of targets, a stream and the rows between two checkpoints; it kills
the process (SIGKILL) up to three times, half of them when a block is asked for, the others at a
random time, which may be in the middle of writing a checkpoint. Then the run is taken up once more
and must give, to the last bit, the coefficients, errors and counts of a run that was never killed,
and leave nothing but the checkpoint. Needs a system with fork.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from store_faults import in_child
from stream_faults import blocks, killed, learn, make, state

KINDS = [
    {"solver": "asgd"},
    {"solver": "asgd", "average": "mean"},
    {"solver": "sgd"},
    {"solver": "casgd"},
    {"solver": "pegasos", "batch_size": 3},
    {"solver": "pegasos", "average": "random"},
    {"solver": "pgs"},
    {"solver": "pgs", "p": 1.5},
    {"solver": "pgs", "p": 1.0, "radius": 5.0},
]


def trial(seed, seconds):
    """How often the process was killed in time, and what is wrong then, if anything."""
    rng = np.random.default_rng(seed)
    parameters = KINDS[int(rng.integers(len(KINDS)))]
    classes, count = int(rng.choice([0, 2, 3])), int(rng.integers(1, 30))
    every, kills = int(rng.integers(1, 400)), 0

    def source():
        return blocks(seed, count, classes=classes)

    whole = learn(make(parameters, classes), source(), classes)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "state")
        options = {"checkpoint": path, "every": every, "resume": True}
        for _ in range(int(rng.integers(1, 4))):
            if rng.integers(2):
                at = int(rng.integers(count))
                kills += killed(parameters, seed, count, classes, path, at, every)
                continue
            child = in_child(lambda: learn(make(parameters, classes), source(), classes, **options))
            time.sleep(seconds * rng.random())
            os.kill(child, signal.SIGKILL)
            kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        model = learn(make(parameters, classes), source(), classes, **options)
        if not np.array_equal(state(model), state(whole)):
            return kills, f"{parameters}, {classes} classes: not the same as without a kill"
        left = [name for name in os.listdir(folder) if name != "state" and ".part" not in name]
        return kills, f"left behind: {left}" if left else None


def main():
    """Run the trials."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    options = parser.parse_args()
    for parameters in KINDS:  # compiles
        for classes in (0, 2):
            began = time.perf_counter()
            learn(make(parameters, classes), blocks(0, 30, classes=classes), classes)
            seconds = time.perf_counter() - began
    kills = faults = 0
    for seed in range(options.first, options.first + options.trials):
        killed_now, fault = trial(seed, 3.0 * seconds)
        kills += killed_now
        if fault:
            faults += 1
            print(f"seed {seed}: {fault}")
    print(f"{options.trials} trials, {kills} kills in time, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
