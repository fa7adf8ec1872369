"""Whether a store is sound: all of it, on demand, or as much as kernels need, once.

Kernels index memory by the offsets and indices of sparse data without looking, so a file that was
damaged, or made to do harm, must not reach them unread. What is opened is therefore inspected (one
pass over rows, or columns, at the speed of the disk) before the first kernel gets it, unless it is
known: this process, or one before it under the same user, has written or inspected these very
files. Files are known by their place, size and times of change, down to the system's own (ctime),
which no ordinary program can set; the marks are empty files in the folder in which machine code is
kept, and whoever could write there could do worse.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from skimlearn._jit import cache_directory
from skimlearn.data._store_format import Manifest, digest_of_file
from skimlearn.data._store_kernels import add_up, csr_sum, dense_sum
from skimlearn.data.inspection import inspected
from skimlearn.data.rows import Csr, Rows, norms

__all__ = ["differences", "fingerprint", "is_known", "remember", "wrong_files"]

_known: set[str] = set()


def fingerprint(what: tuple[str, int, int], files: Iterable[os.stat_result]) -> str:
    """What changes when any of these files does, or what is read from them: side and shape."""
    facts = [(f.st_dev, f.st_ino, f.st_size, f.st_mtime_ns, f.st_ctime_ns) for f in files]
    return hashlib.blake2b(repr((what, facts)).encode(), digest_size=16).hexdigest()


def _mark(key: str) -> Path | None:
    folder = cache_directory()
    return None if folder is None else folder.parent / "stores" / key


def is_known(key: str) -> bool:
    """Whether files with this fingerprint were found sound before."""
    mark = _mark(key)
    return key in _known or (mark is not None and mark.exists())


def remember(key: str) -> None:
    """Note that files with this fingerprint are sound; on disk too, where that is possible."""
    _known.add(key)
    mark = _mark(key)
    if mark is not None:
        try:
            mark.parent.mkdir(exist_ok=True)
            mark.touch()
        except OSError:
            pass


def wrong_files(folder: Path, manifest: Manifest) -> list[str]:
    """Files whose bytes are not those that were written."""
    return [
        f"{name}.npy was changed: its digest is not that of the manifest"
        for name, entry in manifest.arrays.items()
        if digest_of_file(folder, name) != entry.digest
    ]


def differences(
    rows: Rows, columns: Rows, said_norms: np.ndarray, said_means: np.ndarray
) -> list[str]:
    """What is wrong with the contents, from reading all of them."""
    sides = {"rows": rows, "columns": columns}
    problems = [f"{side}: {fault}" for side, data in sides.items() if (fault := inspected(data))]
    if problems:
        return problems  # kernels would not be safe
    n, d = rows.shape
    counts, sums = np.zeros(d, np.int64), np.zeros(d)
    add_up(rows, n, counts, sums)
    if isinstance(columns, Csr) and not np.array_equal(np.diff(columns.starts), counts):
        problems.append("the columns do not have as many entries as the rows give them")
    elif _sum(rows, False) != _sum(columns, True):
        problems.append("the columns are not those of the rows")
    if not np.allclose(norms(rows), said_norms, rtol=1e-6, atol=0.0):
        problems.append("the norms are not those of the rows")
    reach = np.sqrt(counts) * np.abs(said_norms).max() + 1e-300  # of rounding in a sum
    if not (np.abs(sums / n - said_means) <= 1e-9 * reach).all():
        problems.append("the means are not those of the columns")
    return problems


def _sum(rows: Rows, transposed: bool) -> int:
    bits = rows.values.view(np.uint32 if rows.values.itemsize == 4 else np.uint64)
    if isinstance(rows, Csr):
        return int(csr_sum(bits, rows.columns, rows.starts, transposed))
    return int(dense_sum(bits, transposed))
