"""Kill ``skim train`` again and again: the model that is there afterwards is whole.

    python tools/fault_train.py --trials 100

Each trial trains over a model that is there, and kills the process (SIGKILL): one in five is a
process of its own, killed at a random time from its start on; of the others every second one is
killed at a step that touches the disk, the rest at a random time. Afterwards the model must load,
and be the former one or the new one. Needs a system with fork.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import skimlearn

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from command_line import start, write_data
from model_faults import (
    FORMER,
    NEW,
    Steps,
    fault,
    fresh_killed_after,
    killed_after,
    killed_at_step,
    train,
)


def main():
    """Run the trials."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = write_data(Path(folder)) / "rows.svm"
        former, new = Path(folder) / "former", Path(folder) / "new"
        train(data, former, FORMER)  # compiles
        began = time.perf_counter()
        with Steps() as steps:
            train(data, new, NEW)
        seconds = time.perf_counter() - began
        weights = [skimlearn.load(path).coef_ for path in (former, new)]
        kills = faults = news = 0
        fresh_seconds = _time_of_a_process(data, Path(folder) / "fresh")
        for seed in range(options.first, options.first + options.trials):
            rng = np.random.default_rng(seed)
            with tempfile.TemporaryDirectory() as work:
                model = Path(work) / "model"
                shutil.copy(former, model)
                if seed % 5 == 0:
                    was = fresh_killed_after(data, model, fresh_seconds * rng.random())
                elif seed % 2:
                    was = killed_at_step(data, model, int(rng.integers(1, steps.count + 1)))
                else:
                    was = killed_after(data, model, 2.0 * seconds * rng.random())
                wrong = fault(model, *weights)
                kills += was
                if wrong:
                    faults += 1
                    print(f"seed {seed}: {wrong}")
                else:
                    news += np.array_equal(skimlearn.load(model).coef_, weights[1])
    print(
        f"{options.trials} trials, {kills} killed in time, {news} with the new model, "
        f"{faults} faults"
    )
    return 1 if faults else 0


def _time_of_a_process(data, model):
    began = time.perf_counter()
    start("train", data, "-o", model, *NEW).communicate()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
