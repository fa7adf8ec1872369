"""Arrays written piece by piece, each into a plain .npy file, with a digest of what was written.

A thread writes and computes the digests, so that both cost no time where there is a second core.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import Executor, Future
from io import RawIOBase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skimlearn.data._store_format import HEADER, Entry, header_of

__all__ = ["Appended", "bytes_of", "write"]


def write(file: RawIOBase, data: Any) -> None:
    """All of some bytes; a system may take a part of them at a time."""
    view = memoryview(data)
    while len(view):
        view = view[file.write(view) :]


def bytes_of(array: NDArray[Any]) -> memoryview:
    """The bytes of an array in C order, without a copy if it is contiguous."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


class Appended:
    """An array that grows along its first axis, in a file.

    What is appended is written by the thread of ``pool``, in order, and must not change any more.
    """

    def __init__(
        self, pool: Executor, folder: Path, name: str, dtype: DTypeLike, tail: tuple[int, ...] = ()
    ) -> None:
        self.pool, self.tail = pool, tail
        self.written: Future[None] | None = None
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.path = folder / f"{name}.npy"
        self.length = 0
        self.digest = hashlib.blake2b(digest_size=16)
        self.file = open(self.path, "xb", buffering=0)  # noqa: SIM115
        try:
            write(self.file, bytes(HEADER))
        except BaseException:
            self.close()
            raise

    def append(self, array: NDArray[Any]) -> None:
        """Write lines behind those that are there, once the last ones are written."""
        self._wait()
        if len(array):
            self.written = self.pool.submit(self._write, array)
            self.length += len(array)

    def _write(self, array: NDArray[Any]) -> None:
        data = bytes_of(array.astype(self.dtype, copy=False))
        write(self.file, data)
        self.digest.update(data)

    def _wait(self) -> None:
        written, self.written = self.written, None
        if written is not None:
            written.result()

    def finish(self) -> Entry:
        """Write the header, bring all to the disk, and say what is there."""
        self._wait()
        shape = (self.length, *self.tail)
        header = header_of(self.dtype.str, shape)
        self.digest.update(header)
        self.file.seek(0)
        write(self.file, header)
        os.fsync(self.file.fileno())
        self.file.close()
        size = os.path.getsize(self.path)
        return Entry(self.dtype.str, shape, size, self.digest.hexdigest())

    def close(self) -> None:
        """Give the file up."""
        self.file.close()
