"""Broken stores for some minutes: each is refused, or can be used.

    python tools/fuzz_store.py --minutes 5

The manifests and arrays of some stores are changed, mostly so that sizes and digests agree again,
as in a store that was made to do harm. Opening, verifying and learning from it must give a
`StoreError` or work. All of it is done in another process, so that a crash is seen: it is a fault
of the seed at hand, and the next process goes on behind it. ``--seed`` runs one again. Needs a
system with fork.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import main
from store_files import check, make_stores, mutate


def prepare(folder):
    """Make some stores; the check of a broken one."""
    stores = make_stores(folder)
    broken = folder / "broken"
    broken.mkdir()

    def check_seed(seed):
        rng = np.random.default_rng(seed)
        return check(broken, mutate(rng, stores[rng.integers(len(stores))]))

    return check_seed


if __name__ == "__main__":
    main(__doc__, "stores", prepare)
