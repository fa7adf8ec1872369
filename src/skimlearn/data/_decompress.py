"""Compressed data, decompressed as they are asked for, in bounded memory.

All formats go through one loop, so that data which are damaged or end too early are told alike: as
`BrokenError`. One frame (gzip: member, xz: stream) may follow another.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any

__all__ = ["MAGIC", "BrokenError", "decompressed"]

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
PIECE = 2**16  # compressed bytes read at once
SMALL_PIECE = 2**12  # where the decompressed bytes of a piece cannot be limited


class BrokenError(Exception):
    """Compressed data are damaged, or end too early."""

    lines = 0  # that were read since the last block of whole lines


def decompressed(kind: str, file: Any) -> Callable[[memoryview], int]:
    """A function that fills a buffer with some decompressed bytes; 0 at the end."""
    makers: dict[str, Callable[[], Any]] = {
        "gzip": _Gzip,
        "bz2": bz2.BZ2Decompressor,
        "xz": lzma.LZMADecompressor,
    }
    errors: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
    if kind == "zstd":
        return _zstd(file)
    return _Frames(kind, file, makers[kind], errors).fill


def _zstd(file: Any) -> Callable[[memoryview], int]:
    """By whichever module is installed."""
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]

        return _Frames("zstd", file, zstd.ZstdDecompressor, (zstd.ZstdError, EOFError)).fill
    except ImportError:
        pass
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]

        return _Frames("zstd", file, _Zstandard, (zstandard.ZstdError,)).fill
    except ImportError:
        pass
    try:
        import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise ImportError(
            "the data are compressed with zstd, and no module for that is installed: "
            "pip install zstandard (Python 3.14 needs none)"
        ) from None
    stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(_Closable(file), "r"), "zstd")
    return _guarded(stream, (OSError, pyarrow.ArrowException))


class _Frames:
    """Frame after frame, each by a decompressor of its own."""

    def __init__(
        self,
        kind: str,
        file: Any,
        make: Callable[[], Any],
        errors: tuple[type[Exception], ...],
    ) -> None:
        self.kind, self.file, self.make, self.errors = kind, file, make, errors
        self.piece = SMALL_PIECE if make is _Zstandard else PIECE
        self.frame: Any = None
        self.left = b""  # read, but not of the last frame

    def fill(self, view: memoryview) -> int:
        while True:
            data = b""
            if self.frame is None or self.frame.needs_input:
                data = self.left or self.file.read(self.piece)
                self.left = b""
                if not data:
                    if self.frame is None:
                        return 0
                    raise BrokenError(f"the {self.kind} data end too early: the file is cut off")
            if self.frame is None:
                data = data.lstrip(b"\0")  # gzip and xz allow zeros between frames
                if not data:
                    continue
                self.frame = self.make()
            try:
                found = self.frame.decompress(data, len(view))
            except self.errors as error:
                raise BrokenError(f"the {self.kind} data are damaged: {error}") from error
            if self.frame.eof:
                self.left, self.frame = self.frame.unused_data, None
            if found:
                view[: len(found)] = found
                return len(found)


class _Gzip:
    """zlib's decompressor with the interface of the others."""

    def __init__(self) -> None:
        self.inner = zlib.decompressobj(31)
        self.needs_input = True

    def decompress(self, data: bytes, limit: int) -> bytes:
        found = self.inner.decompress(self.inner.unconsumed_tail + data, limit)
        self.needs_input = not self.inner.unconsumed_tail and len(found) < limit
        return found

    @property
    def eof(self) -> bool:
        return self.inner.eof

    @property
    def unused_data(self) -> bytes:
        return self.inner.unused_data


class _Zstandard:
    """The decompressor of the package zstandard, which has no limit of its output."""

    def __init__(self) -> None:
        import zstandard

        self.inner = zstandard.ZstdDecompressor().decompressobj()
        self.ready = memoryview(b"")
        self.needs_input = True
        self.done = False

    def decompress(self, data: bytes, limit: int) -> memoryview:
        if data:
            self.ready = memoryview(self.inner.decompress(data))
        found, self.ready = self.ready[:limit], self.ready[limit:]
        self.needs_input = not self.ready
        return found

    @property
    def eof(self) -> bool:
        return self.inner.eof and not self.ready

    @property
    def unused_data(self) -> bytes:
        return self.inner.unused_data


class _Closable:
    """What pyarrow takes for a file."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.read = file.read

    def close(self) -> None:
        self.closed = True


def _guarded(stream: Any, errors: tuple[type[Exception], ...]) -> Callable[[memoryview], int]:
    def fill(view: memoryview) -> int:
        try:
            return int(stream.readinto(view))
        except errors as error:
            raise BrokenError(f"the zstd data are damaged or end too early: {error}") from error

    return fill
