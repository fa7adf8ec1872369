"""A file that gets its name when all of it is on the disk."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import time
from collections.abc import Iterator
from typing import IO, Any

__all__ = ["as_path", "replacing"]

YOUNG = 1.0  # seconds in which the maker of a file may not have locked it yet


def as_path(path: Any) -> str:
    """The name of a file as text; anything but a path is refused."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path={path!r} must be a path, not {type(path).__name__}")
    return os.fsdecode(path)


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[IO[bytes]]:
    """A file beside ``path``, open to write and to read, that takes its place at the end.

    Until then, and after any error, a former file of that name is what it was. Whoever opens the
    name sees all of the old file or all of the new one, also after a loss of power. What a killed
    process has left beside it goes away.
    """
    name = as_path(path)
    _sweep(name)
    temporary = f"{name}.{secrets.token_hex(4)}.part"
    try:
        with open(temporary, "xb+") as file:
            _lock(file)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, name)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _keep_name(os.path.dirname(os.path.abspath(name)))


def _keep_name(folder: str) -> None:
    """Have the new name written to the disk, where a folder can be asked to (not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sweep(name: str) -> None:
    """Remove unfinished files of processes that are gone: the system has dropped their locks."""
    for other in glob.glob(f"{glob.escape(name)}.*.part"):
        if re.fullmatch(r"\.[0-9a-f]{8}\.part", other[len(name) :]):
            with contextlib.suppress(OSError), open(other, "rb+") as file:
                if _lock(file) and os.path.getmtime(other) < time.time() - YOUNG:
                    os.unlink(other)


def _lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; False if another process has, or if nobody can."""
    try:
        import fcntl
    except ImportError:  # Windows: nothing is swept there
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
