"""The files of out_of_core.py: a matrix on disk, by rows and by columns, in memory or forgotten."""

import ctypes
import gc
import mmap
import os
from pathlib import Path

import numpy as np

MARGIN = 0.3
TESTS = 400  # rows of each kind
CHUNK = 1000  # rows made at once


def make_rows(rng, directions, y, rare):
    """Rows of length 1: a margin along the first or the second direction, noise elsewhere."""
    X = rng.standard_normal((len(y), directions.shape[1]), dtype=np.float32)
    X -= (X @ directions.T) @ directions
    X *= np.float32((1.0 - MARGIN**2) ** 0.5) / np.linalg.norm(X, axis=1, keepdims=True)
    X += (MARGIN * y * ~rare)[:, None].astype(np.float32) * directions[0]
    X += (MARGIN * y * rare)[:, None].astype(np.float32) * directions[1]
    return X


class Files:
    """The matrix on disk by rows and by columns, its labels, and rows to test with."""

    def __init__(self, folder, shape, share, seed):
        rng = np.random.default_rng(seed)
        (n, d), self.shape = shape, shape
        self.paths = [Path(folder) / f"rows_{share}.f32", Path(folder) / f"columns_{share}.f32"]
        directions = np.linalg.qr(rng.normal(size=(d, 2)))[0].T.astype(np.float32)
        self.y = rng.choice([-1.0, 1.0], size=n)
        rare = rng.random(n) < 1.0 / share
        by_row, by_column = self.open("w+")
        for at in range(0, n, CHUNK):
            part = slice(at, at + CHUNK)
            by_row[part] = by_column[part] = make_rows(rng, directions, self.y[part], rare[part])
        by_row.flush()
        by_column.flush()
        self.share = rare.mean()
        labels = np.ones(TESTS)
        self.common = make_rows(rng, directions, labels, labels < 0)
        self.rare = make_rows(rng, directions, labels, labels > 0)

    def open(self, mode="r"):
        """Both files, mapped to memory."""
        orders = zip(self.paths, "CF", strict=True)
        return [np.memmap(p, np.float32, mode, shape=self.shape, order=o) for p, o in orders]

    def errors(self, w):
        """On the natural mix, and on the rare kind."""
        tests = (self.common, self.rare)
        common, rare = (float(np.mean(X @ w.astype(np.float32) <= 0)) for X in tests)
        return (1.0 - self.share) * common + self.share * rare, rare

    def forget(self):
        """Let the system drop its copies of the files; return the share of pages it kept."""
        gc.collect()  # pages of a file that is still mapped would stay
        kept = []
        for path in self.paths:
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
            kept.append(resident(path))
        return max(kept)

    def remember(self):
        """Read both files, so that they are in memory."""
        for path in self.paths:
            read_plainly(path)

    def remove(self):
        for path in self.paths:
            path.unlink(missing_ok=True)


def resident(path):
    """The share of a file's pages that are in memory."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as view:
        pages = -(-len(view) // mmap.PAGESIZE)
        flags = np.zeros(pages, dtype=np.uint8)
        address = ctypes.addressof(hold := ctypes.c_char.from_buffer(view))
        library = ctypes.CDLL(None, use_errno=True)
        failed = library.mincore(
            ctypes.c_void_p(address), ctypes.c_size_t(len(view)), ctypes.c_void_p(flags.ctypes.data)
        )
        del hold
        return float((flags & 1).mean()) if not failed else float("nan")


def read_from_disk():
    """Bytes that this process made the system fetch from disk."""
    text = Path("/proc/self/io").read_text(encoding="ascii")
    return int(text.split("\nread_bytes:")[1].split()[0])


def read_plainly(path):
    buffer = bytearray(2**22)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def read_mapped(path, shape):
    values = np.memmap(path, np.float32, "r", shape=shape)
    for at in range(0, shape[0], 200):
        values[at : at + 200].sum()
