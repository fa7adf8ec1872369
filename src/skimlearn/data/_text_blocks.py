"""Text from any source, compressed or not, in blocks that end at line ends."""

from __future__ import annotations

import io
import os
import stat
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from skimlearn.data._decompress import MAGIC, BrokenError, decompressed

__all__ = ["Filled", "Source", "TextBlocks", "open_source"]

LONGEST_MAGIC = max(len(magic) for magic in MAGIC)

Fill = Callable[[memoryview], int]  # reads some bytes into a buffer; 0 at the end


class Source(NamedTuple):
    """Where text comes from."""

    name: str
    fill: Fill
    close: Callable[[], None]
    compressed: bool
    size: int | None  # bytes of text, where they are known before it is read


def open_source(origin: Any) -> Source:
    """Open a path, a binary file object or bytes.

    Whether and how it is compressed is seen from its first bytes, not from its name.
    """
    file: Any
    close: Callable[[], None] = _nothing
    size: int | None = None
    if isinstance(origin, bytes | bytearray | memoryview):
        name, file = "<bytes>", io.BytesIO(origin)
        size = memoryview(origin).nbytes
    elif isinstance(origin, str | os.PathLike):
        name = os.fsdecode(origin)
        file = open(name, "rb", buffering=0)  # noqa: SIM115
        close = file.close
        status = os.fstat(file.fileno())
        size = status.st_size if stat.S_ISREG(status.st_mode) else None
    elif hasattr(origin, "read"):
        name, file = str(getattr(origin, "name", "<file>")), origin
    else:
        raise TypeError(
            f"path={origin!r} must be a path, a binary file object or bytes, "
            f"not {type(origin).__name__}"
        )
    try:
        whole = _Whole(file)
        for magic, kind in MAGIC.items():
            if whole.rest.startswith(magic):
                return Source(name, decompressed(kind, whole), close, True, None)
    except BaseException:
        close()
        raise
    return Source(name, whole.readinto, close, False, size)


def _nothing() -> None:
    pass


class _Whole:
    """A file whose first bytes were looked at: they come first."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.rest = b""
        while len(self.rest) < LONGEST_MAGIC:
            more = self._read(LONGEST_MAGIC - len(self.rest))
            if not more:
                break
            self.rest += more

    def _read(self, size: int) -> bytes:
        data = self.file.read(size)
        if isinstance(data, str):
            raise TypeError("the file is open as text: open it in binary mode, open(path, 'rb')")
        if data is None:
            raise BlockingIOError("the file does not wait for its data: make it blocking")
        return data

    def readinto(self, view: memoryview) -> int:
        if not self.rest and hasattr(self.file, "readinto"):
            count = self.file.readinto(view)
            if count is None:
                raise BlockingIOError("the file does not wait for its data: make it blocking")
            return int(count)
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def read(self, size: int) -> bytes:
        data = self.rest[:size] or self._read(size)
        self.rest = self.rest[size:]
        return data


class Filled(NamedTuple):
    """A block of text."""

    place: int  # among the blocks
    text: bytearray
    length: int  # of the whole lines at its beginning


class TextBlocks:
    """Cuts a source into blocks of whole lines; several threads may ask for the next.

    Parameters
    ----------
    fill : callable
        Reads some bytes into a buffer; 0 at the end.
    size : int
        Bytes of a block. A line that is longer makes a longer block.
    spare : int
        Bytes that a buffer has behind the text, at least.
    """

    def __init__(self, fill: Fill, *, size: int, spare: int) -> None:
        self.fill, self.size, self.spare = fill, size, spare
        self.lock = threading.Lock()
        self.count = 0
        self.rest = b""  # the beginning of the line in which the last block was cut
        self.ended = False

    def next(self, text: bytearray) -> Filled | None:
        """Read the next block into this buffer, or into a new one if it is too short."""
        with self.lock:
            if self.ended:
                return None
            try:
                text, length = self._next(text)
            except BaseException:
                self.ended = True
                raise
            self.count += length > 0
            return Filled(self.count - 1, text, length) if length else None

    def _next(self, text: bytearray) -> tuple[bytearray, int]:
        have, searched = len(self.rest), 0
        want = max(self.size, have + 1)
        text = self._long_enough(text, want, 0)
        text[:have] = self.rest
        while True:
            while have < want:
                try:
                    with memoryview(text) as view, view[have:want] as free:
                        count = self.fill(free)
                except BrokenError as error:
                    error.lines = text.count(b"\n", 0, have)
                    raise
                if count == 0:
                    return text, self._finish(text, have)
                have += count
            end = text.rfind(b"\n", searched, have) + 1
            if end:
                self.rest = bytes(text[end:have])
                return text, end
            searched, want = have, 2 * have
            text = self._long_enough(text, want, have)

    def _finish(self, text: bytearray, have: int) -> int:
        """The last block: a line end is put where it is missing."""
        self.ended, self.rest = True, b""
        if have and text[have - 1] != 10:
            text[have] = 10
            have += 1
        return have

    def _long_enough(self, text: bytearray, length: int, keep: int) -> bytearray:
        if len(text) >= length + self.spare:
            return text
        longer = bytearray(length + self.spare)
        longer[:keep] = memoryview(text)[:keep]
        return longer
