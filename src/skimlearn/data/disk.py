"""Lines of a memory-mapped file, asked for before they are used, and visited in runs.

A page that is not in memory is read when it is touched. Where lines far apart are read, that is
slow whatever the system guesses: it reads megabytes around each line, or waits for the disk at each
page of it. Told beforehand which bytes are wanted, it reads these at once and no others. What is in
memory already costs a system call.

Solvers that visit all rows in random order would read single pages all over a file that is larger
than memory, each of them many times. So the file is cut into runs of neighbouring rows; some of
them, drawn at random, make a pool that fits into memory, and the visits go from pool to pool, in
random order inside of each. Every run is then read once in an epoch, as a whole. What fits into one
pool is visited as if it were in memory, in the very same order.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data.rows import Csr, Rows

__all__ = ["Ahead", "Runs", "ahead_of", "ask_for", "file_of"]

PIECE = 2**17  # bytes asked for at once: a system may cut off what is beyond its read-ahead
RUN = 2**18  # bytes that lie together, about: a disk reads them as fast as more
POOL = 2**26  # bytes of the runs that are visited together: the rows of a pool are well mixed


class Ahead:
    """Asks the disk for lines of one array.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     values = np.memmap(file, np.float32, shape=(3, 4))
    >>> ahead = ahead_of(values)
    >>> ahead is None or ahead(2)  # None where the system has no such call
    """

    def __init__(self, file: mmap.mmap, start: int, length: int) -> None:
        self.file, self.start, self.length = file, start, length

    def __call__(self, i: int) -> None:
        """Ask for line i; a system that refuses reads it when it is used."""
        start = self.start + i * self.length
        _ask(self.file, start, start + self.length)


def ahead_of(values: NDArray[Any]) -> Ahead | None:
    """A way to ask for lines of this array, if it lies in a file and its lines are contiguous."""
    if (place := _place(values)) is None:
        return None
    return Ahead(*place, values.shape[1] * values.itemsize)


def file_of(values: NDArray[Any]) -> mmap.mmap | None:
    """The file that an array lies in, if it is in none of the memory's own."""
    file: Any = values
    while file is not None and not isinstance(file, mmap.mmap):
        file = getattr(file, "base", None)
    return file


def _place(values: NDArray[Any]) -> tuple[mmap.mmap, int] | None:
    """The file that an array lies in, and where it begins, if it can be asked for."""
    file = file_of(values)
    if file is None or not values.flags.c_contiguous or not hasattr(mmap, "MADV_WILLNEED"):
        return None
    return file, values.ctypes.data - np.frombuffer(file, dtype=np.uint8).ctypes.data


def _ask(file: mmap.mmap, start: int, stop: int) -> None:
    start -= start % mmap.PAGESIZE
    try:
        for at in range(start, stop, PIECE):
            file.madvise(mmap.MADV_WILLNEED, at, min(PIECE, stop - at))
    except OSError:
        pass


def ask_for(ahead: Ahead | None, lines: NDArray[np.int64]) -> None:
    """Ask for these lines if they lie on a disk; negative ones are none."""
    if ahead is not None:
        for i in lines.tolist():
            if i >= 0:
                ahead(i)


class Runs:
    """The runs of rows on disk, and orders of visits that keep to them.

    Examples
    --------
    >>> from skimlearn.data.inspection import as_rows
    >>> runs = Runs(as_rows(np.eye(3)))
    >>> runs.pools  # in memory: any order is fine
    1
    >>> runs.arranged(np.array([2, 0, 1]), np.random.default_rng(0))
    array([2, 0, 1])
    """

    def __init__(self, rows: Rows) -> None:
        arrays = [rows.values, rows.columns] if isinstance(rows, Csr) else [rows.values]
        self.n, width = rows.shape
        self.starts = rows.starts if isinstance(rows, Csr) else None
        entries = int(rows.starts[-1]) if isinstance(rows, Csr) else self.n * width
        self.width = width
        size = entries * sum(array.itemsize for array in arrays)
        places = [_place(array) for array in arrays] if self.n else [None]
        sizes = [array.itemsize for array in arrays]
        self.places = [(*place, size) for place, size in zip(places, sizes, strict=False) if place]
        self.pools = -(-size // POOL) if len(self.places) == len(arrays) else 1
        self.length = max(1, int(RUN * self.n / max(1, size)))  # rows of a run
        self.count = -(-self.n // self.length)
        self.pools = max(1, min(self.pools, self.count))

    def arranged(self, order: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """The same visits, pool by pool; those of a pool keep their order."""
        if self.pools == 1:
            return order
        kind = np.uint16 if self.pools <= 2**16 else np.int64  # short numbers are sorted faster
        pool_of_run = (rng.permutation(self.count) * self.pools // self.count).astype(kind)
        return order[np.argsort(pool_of_run[order // self.length], kind="stable")]

    def ask_for(self, order: NDArray[np.int64]) -> None:
        """Ask the disk for the runs of these visits, if most of their rows are visited."""
        if self.pools == 1:
            return
        visited = np.bincount(order // self.length, minlength=self.count)
        for run in np.flatnonzero(2 * visited > self.length).tolist():
            first, stop = run * self.length, min((run + 1) * self.length, self.n)
            if self.starts is not None:
                begin, end = int(self.starts[first]), int(self.starts[stop])
            else:
                begin, end = first * self.width, stop * self.width
            for file, start, itemsize in self.places:
                _ask(file, start + begin * itemsize, start + end * itemsize)
