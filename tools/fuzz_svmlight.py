"""Broken svmlight text for some minutes: read as the plain reader of the tests does, or an error.

    python tools/fuzz_svmlight.py --minutes 5

Text is made, changed in some bytes, and read in blocks of random lengths by one thread or several.
Both readers must have the same rows, to the bit, or an error in the same line. Some of the texts
are compressed before they are changed: these may give any `SvmlightError`, and nothing else. A text
that fails is printed with its seed; ``--seed`` runs that one again.
"""

import bz2
import gzip
import lzma
import sys
from pathlib import Path

import numpy as np

from skimlearn import SvmlightError, read_svmlight
from skimlearn.data import _svmlight_parts

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import main
from svmlight_reference import WrongError, make_text, mutate, read

MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")


def expected(text, multilabel):
    """Rows, or the line of the first that is wrong."""
    try:
        return read(text, multilabel=multilabel), None
    except WrongError as error:
        return None, error.line


def check(seed):
    """Nothing, or what differs for this seed."""
    rng = np.random.default_rng(seed)
    text = make_text(rng, rows=int(rng.integers(1, 30)))
    _svmlight_parts.BLOCK = int(rng.choice([1, 10, 50, 200, 2**20]))
    n_jobs, multilabel = int(rng.integers(1, 4)), bool(rng.random() < 0.2)
    if rng.random() < 0.1:
        compress = (gzip.compress, bz2.compress, lzma.compress)[rng.integers(3)]
        text = mutate(rng, compress(text))
    elif rng.random() < 0.8:
        text = mutate(rng, text)
    try:
        found, line = read_svmlight(text, n_jobs=n_jobs, multilabel=multilabel), None
    except SvmlightError as error:
        found, line = None, error.line
    except Exception as error:
        return f"{type(error).__name__}: {error}", text
    if text.startswith(MAGIC):
        return None
    rows, wrong = expected(text, multilabel)
    if line != wrong:
        return f"the error is in line {line}, but should be in {wrong}", text
    if rows is None:
        return None
    X, y = found
    values = np.array([value for *_, entries in rows for _, value in entries], dtype=np.float64)
    ids = np.array([column for *_, entries in rows for column, _ in entries], dtype=np.int64)
    labels = [tuple(sorted(row[0])) if multilabel else row[0][0] for row in rows]
    same = (
        np.array_equal(X.data.view(np.uint64), values.view(np.uint64))
        and np.array_equal(X.indices, ids - (min(ids, default=0) > 0))
        and np.array_equal(np.diff(X.indptr), [len(row[2]) for row in rows])
        and list(y) == labels
    )
    return None if same else ("the rows differ", text)


def prepare(folder):
    """The check of a broken text."""

    def check_seed(seed):
        found = check(seed)
        return None if found is None else f"{found[0]}\n  {found[1]!r}"

    return check_seed


if __name__ == "__main__":
    main(__doc__, "texts", prepare)
