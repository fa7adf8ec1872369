"""Broken stores for some minutes: each is refused, or can be used.

    python tools/fuzz_store.py --minutes 5

The manifests and arrays of some stores are changed, mostly so that sizes and digests agree again,
as in a store that was made to do harm. Opening, verifying and learning from it must give a
`StoreError` or work. All of it is done in another process, so that a crash is seen: it is a fault
of the seed at hand, and the next process goes on behind it. ``--seed`` runs one again. Needs a
system with fork.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import in_other_processes
from store_files import check, make_stores, mutate


def main():
    """Check stores until the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--seed", type=int, help="this one only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        stores = make_stores(Path(name))
        folder = Path(name, "broken")
        folder.mkdir()

        def check_seed(seed):
            rng = np.random.default_rng(seed)
            return check(folder, mutate(rng, stores[rng.integers(len(stores))]))

        end = time.monotonic() + 60.0 * options.minutes
        return in_other_processes(check_seed, end, options.first, options.seed, "stores")


if __name__ == "__main__":
    sys.exit(main())
