"""Broken tables for some minutes: each gives a `TableError`, or rows.

    python tools/fuzz_table.py --minutes 5

A table of numbers, categories and words is written as Parquet, Arrow (file, stream, Feather) and
CSV (plain and compressed), and changed in some bytes. Reading it must give a `TableError`, rows, or
run out of memory where a damaged header asks for too much, which is an error of Python too. All of
it is done in another process, so that a crash is seen: it is a fault of the seed at hand.
``--seed`` runs one again. Needs a system with fork.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import main
from model_files import mutate_bytes
from table_files import check, make_tables


def prepare(folder):
    """Make some tables; the check of a broken one."""
    tables = make_tables(folder)

    def check_seed(seed):
        rng = np.random.default_rng(seed)
        return check(folder / "broken", mutate_bytes(rng, tables[rng.integers(len(tables))]))

    return check_seed


if __name__ == "__main__":
    main(__doc__, "tables", prepare)
