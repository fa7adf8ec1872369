"""Single lines of a memory-mapped file, asked for as a whole before they are used.

A page that is not in memory is read when it is touched. Where lines far apart are read, that is
slow whatever the system guesses: it reads megabytes around each line, or waits for the disk at each
page of it. Told beforehand which bytes are wanted, it reads these at once and no others. What is in
memory already costs a system call.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ahead", "ahead_of", "ask_for"]

PIECE = 2**17  # bytes asked for at once: a system may cut off what is beyond its read-ahead


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
        stop = start + self.length
        start -= start % mmap.PAGESIZE
        try:
            for at in range(start, stop, PIECE):
                self.file.madvise(mmap.MADV_WILLNEED, at, min(PIECE, stop - at))
        except OSError:
            pass


def ahead_of(values: NDArray[Any]) -> Ahead | None:
    """A way to ask for lines of this array, if it lies in a file and its lines are contiguous."""
    file: Any = values
    while file is not None and not isinstance(file, mmap.mmap):
        file = getattr(file, "base", None)
    if file is None or not values.flags.c_contiguous or not hasattr(mmap, "MADV_WILLNEED"):
        return None
    start = values.ctypes.data - np.frombuffer(file, dtype=np.uint8).ctypes.data
    return Ahead(file, start, values.shape[1] * values.itemsize)


def ask_for(ahead: Ahead | None, lines: NDArray[np.int64]) -> None:
    """Ask for these lines if they lie on a disk; negative ones are none."""
    if ahead is not None:
        for i in lines.tolist():
            if i >= 0:
                ahead(i)
