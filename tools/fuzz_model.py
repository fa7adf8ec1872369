"""Broken model files for some minutes: each is refused, or is a model that predicts.

    python tools/fuzz_model.py --minutes 5

Models of every class are saved, their files changed in some bytes or in some values of their JSON,
and loaded. That must give a `ModelError` or a model that makes predictions, within the memory that
the file takes many times over. A file that fails is written to the folder of work, named after its
seed; ``--seed`` runs that one again.
"""

import argparse
import os
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

from skimlearn import ModelError, load

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from model_files import ROWS, make_models, mutate

MEMORY = 10**6  # bytes that any file may take
TIMES = 200  # and how much more for each byte of it: JSON is small as text


def check(seed, contents, path):
    """Nothing, or what is wrong, and the file."""
    rng = np.random.default_rng(seed)
    content = mutate(rng, contents[rng.integers(len(contents))])
    path.write_bytes(content)
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        model = load(path)
        if len(model.predict(ROWS[:2])) != 2:
            return "wrong number of predictions", content
    except ModelError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {error}", content
    taken = tracemalloc.get_traced_memory()[1] - before
    if taken > MEMORY + TIMES * len(content):
        return f"{taken} bytes of memory for a file of {len(content)}", content
    return None


def main():
    """Check files until the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--seed", type=int, help="this one only")
    options = parser.parse_args()
    seed = first = options.first if options.seed is None else options.seed
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.safetensors")
        contents = []
        for model in make_models().values():
            model.save(path)
            contents.append(path.read_bytes())
        tracemalloc.start()
        end = time.monotonic() + 60.0 * options.minutes
        while time.monotonic() < end and faults < 10:
            fault = check(seed, contents, path)
            if fault:
                faults += 1
                kept = f"fuzz_model_{seed}.safetensors"
                Path(kept).write_bytes(fault[1])
                print(f"seed {seed}: {fault[0]}\n  {os.path.abspath(kept)}")
            seed += 1
            if options.seed is not None:
                break
    print(f"{seed - first} files, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
