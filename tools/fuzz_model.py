"""Broken model files for some minutes: each is refused, or is a model that predicts.

    python tools/fuzz_model.py --minutes 5

Models of every class are saved, their files changed in some bytes or in some values of their JSON,
and loaded. That must give a `ModelError` or a model that makes predictions, within the memory that
the file takes many times over. A file that fails is written to the folder of work, named after its
seed; ``--seed`` runs that one again. The last line says how far the files came: refused by the
format, refused for what a model of their class must have, or loaded.
"""

import io
import mmap
import sys
import tracemalloc
from pathlib import Path

import numpy as np

from skimlearn import ModelError, load
from skimlearn.data.tensors import read_open_tensors

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import main
from model_files import make_models, mutate, two_predictions

MEMORY = 10**6  # bytes that any file may take
MUCH = "more memory than a file of this size may take"
TIMES = 200  # and how much more for each byte of it: JSON is small as text


class Check:
    """The check of a seed, and what became of the files so far, in memory that processes share."""

    kinds = ("refused by the format", "refused as models", "loaded")

    def __init__(self, contents, path):
        self.contents, self.path = contents, path
        self.counts = np.frombuffer(mmap.mmap(-1, 8 * len(self.kinds)), np.int64)
        tracemalloc.start()

    def __call__(self, seed):
        """Nothing, or what is wrong, and where the file is."""
        rng = np.random.default_rng(seed)
        content = mutate(rng, self.contents[rng.integers(len(self.contents))])
        fault = self.fault(content)
        if fault == MUCH:
            fault = self.fault(content)  # the first time may have compiled a kernel
        if fault is None:
            return None
        kept = Path(f"fuzz_model_{seed}.safetensors")
        kept.write_bytes(content)
        return f"{fault}\n  {kept.absolute()}"

    def fault(self, content):
        """What is wrong with the way in which a file is taken, or None."""
        self.path.write_bytes(content)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            if len(two_predictions(load(self.path))) != 2:
                return "wrong number of predictions"
            kind = 2
        except ModelError:
            kind = int(is_sound(content))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        if tracemalloc.get_traced_memory()[1] - before > MEMORY + TIMES * len(content):
            return MUCH
        self.counts[kind] += 1
        return None

    def summary(self):
        """How far the files came."""
        pairs = zip(self.counts, self.kinds, strict=True)
        return ", ".join(f"{count} {kind}" for count, kind in pairs)


def is_sound(content):
    """Whether a file is one of named arrays, whatever they are."""
    try:
        read_open_tensors(io.BytesIO(content))
    except ModelError:
        return False
    return True


def prepare(folder):
    """Save a model of every class; the check of a broken file."""
    path = folder / "m.safetensors"
    contents = []
    for model in make_models().values():
        model.save(path)
        contents.append(path.read_bytes())
    return Check(contents, path)


if __name__ == "__main__":
    main(__doc__, "files", prepare)
