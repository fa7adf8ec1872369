"""Broken model files for some minutes: each is refused, or is a model that predicts.

    python tools/fuzz_model.py --minutes 5

Models of every class are saved, their files changed in some bytes or in some values of their JSON,
and loaded. That must give a `ModelError` or a model that makes predictions, within the memory that
the file takes many times over. A file that fails is written to the folder of work, named after its
seed; ``--seed`` runs that one again.
"""

import sys
import tracemalloc
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from skimlearn import ModelError, load

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import main
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
        rows, width = ROWS[:2], model.n_features_in_
        if width != rows.shape[1]:  # sparse support rows say how wide they are
            rows = csr_array((2, width))
        if len(model.predict(rows)) != 2:
            return "wrong number of predictions", content
    except ModelError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {error}", content
    taken = tracemalloc.get_traced_memory()[1] - before
    if taken > MEMORY + TIMES * len(content):
        return f"{taken} bytes of memory for a file of {len(content)}", content
    return None


def prepare(folder):
    """Save a model of every class; the check of a broken file."""
    path = folder / "m.safetensors"
    contents = []
    for model in make_models().values():
        model.save(path)
        contents.append(path.read_bytes())

    def check_seed(seed):
        tracemalloc.start()
        found = check(seed, contents, path)
        if found is None:
            return None
        kept = Path(f"fuzz_model_{seed}.safetensors")
        kept.write_bytes(found[1])
        return f"{found[0]}\n  {kept.absolute()}"

    return check_seed


if __name__ == "__main__":
    main(__doc__, "files", prepare)
