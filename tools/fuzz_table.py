"""Broken tables for some minutes: each gives a `TableError`, or rows.

    python tools/fuzz_table.py --minutes 5

A table of numbers, categories and words is written as Parquet, Arrow (file, stream, Feather) and
CSV (plain and compressed), and changed in some bytes. Reading it must give a `TableError`, rows, or
run out of memory where a damaged header asks for too much, which is an error of Python too. All of
it is done in another process, so that a crash is seen: it is a fault of the seed at hand.
``--seed`` runs one again. Needs a system with fork.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import in_other_processes
from model_files import mutate_bytes
from table_files import check, make_tables


def main():
    """Check tables until the time is over."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--seed", type=int, help="this one only")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tables = make_tables(Path(name))
        path = Path(name, "broken")

        def check_seed(seed):
            rng = np.random.default_rng(seed)
            return check(path, mutate_bytes(rng, tables[rng.integers(len(tables))]))

        end = time.monotonic() + 60.0 * options.minutes
        return in_other_processes(check_seed, end, options.first, options.seed, "tables")


if __name__ == "__main__":
    sys.exit(main())
