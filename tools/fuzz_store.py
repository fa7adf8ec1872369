"""Broken stores for some minutes: each is refused, or can be used.

    python tools/fuzz_store.py --minutes 5

The manifests and arrays of some stores are changed, mostly so that sizes and digests agree again,
as in a store that was made to do harm. Opening, verifying and learning from it must give a
`StoreError` or work. All of it is done in another process, so that a crash is seen: it is a fault
of the seed at hand, and the next process goes on behind it. ``--seed`` runs one again. Needs a
system with fork.
"""

import argparse
import mmap
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from store_files import check, make_stores, mutate


def work(stores, folder, end, seeds, at, faults):
    """Check one seed after the other until the time is over; ``at`` has the one at hand."""
    for seed in seeds:
        if time.monotonic() > end or faults[0] >= 10:
            return
        at[0] = seed
        rng = np.random.default_rng(seed)
        fault = check(folder, mutate(rng, stores[rng.integers(len(stores))]))
        if fault:
            faults[0] += 1
            print(f"seed {seed}: {fault}", flush=True)


def main():
    """Check stores until the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--seed", type=int, help="this one only")
    options = parser.parse_args()
    first = options.first if options.seed is None else options.seed
    last = 2**62 if options.seed is None else options.seed + 1
    shared = np.frombuffer(mmap.mmap(-1, 16), np.int64)
    at, faults = shared[:1], shared[1:]
    with tempfile.TemporaryDirectory() as name:
        stores = make_stores(Path(name))
        folder = Path(name, "broken")
        folder.mkdir()
        end = time.monotonic() + 60.0 * options.minutes
        at[0] = first
        crashed = True
        while crashed and faults[0] < 10:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    work(stores, folder, end, range(first, last), at, faults)
                    status = 0
                finally:
                    os._exit(status)
            status = os.waitpid(child, 0)[1]
            crashed = status != 0
            if crashed:
                faults[0] += 1
                print(f"seed {at[0]}: the process ended with status {status}", flush=True)
                first = int(at[0]) + 1
    begin = options.first if options.seed is None else options.seed
    print(f"{at[0] - begin + 1} stores, {faults[0]} faults")
    return 1 if faults[0] else 0


if __name__ == "__main__":
    sys.exit(main())
