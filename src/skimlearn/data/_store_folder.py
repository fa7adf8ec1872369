"""A folder that appears under its name complete, or not at all.

Files are written into a sibling folder, brought to the disk, and the folder is renamed at the end.
A lock, which the system drops when a process dies, keeps a second writer out, so that whatever lies
in the sibling folder when the lock is free was left by a process that was killed. Only files with
the names of a store's are ever removed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from skimlearn.data._store_format import FILES, MANIFEST, StoreError

__all__ = ["SPILL", "former", "new_folder", "sync"]

SPILL = "spill"  # what does not fit into memory on the way
OWN = {*FILES, SPILL}


def _sibling(target: Path, kind: str) -> Path:
    return target.with_name(f".{target.name}.skimlearn-{kind}")


def former(target: Path) -> Path:
    """Where the former store is while, and if the system dies while, a new one takes its place."""
    return _sibling(target, "old")


@contextlib.contextmanager
def new_folder(target: Path, *, overwrite: bool) -> Iterator[Path]:
    """A folder to write files into, which gets its name when the block ends without an error."""
    if not target.parent.is_dir():
        raise StoreError(target, "the folder it is to be in does not exist: make it first")
    with _lock(target):
        old, partial = former(target), _sibling(target, "new")
        if old.is_dir():  # a process was killed between two renamings, or just after them
            if os.path.lexists(target):
                _remove(old)
            else:
                os.rename(old, target)
        _check_target(target, overwrite)
        _remove(partial)
        os.mkdir(partial)
        try:
            yield partial
            sync(partial)
            _check_target(target, overwrite)
            if os.path.lexists(target):
                os.rename(target, old)
            os.rename(partial, target)
        except BaseException:
            if old.is_dir() and not os.path.lexists(target):
                os.rename(old, target)
            with contextlib.suppress(OSError, StoreError):
                _remove(partial)
            raise
        sync(target.parent)
        _remove(old)


def _check_target(target: Path, overwrite: bool) -> None:
    """Refuse to replace what the user did not mean, and what is no store."""
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise StoreError(target, "it exists already: use overwrite=True to replace it")
    if target.is_symlink() or not target.is_dir():
        raise StoreError(target, "it is not a folder, so it is not replaced: remove it first")
    names = set(os.listdir(target))
    if names and (MANIFEST not in names or not names <= OWN):
        other = ", ".join(sorted(names - OWN)[:3]) or f"no {MANIFEST}"
        raise StoreError(target, f"it has {other}, so it is no store: it is not replaced")


def _remove(folder: Path) -> None:
    """Remove a folder with files of a store; the manifest goes first, so that none half opens."""
    if not os.path.lexists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise StoreError(folder, "it is in the way: it is not a folder of this program; remove it")
    names = os.listdir(folder)
    if other := sorted(set(names) - OWN):
        raise StoreError(folder, f"it is in the way and has foreign files, {other[0]}: remove it")
    for name in sorted(names, key=lambda name: name != MANIFEST):
        os.unlink(folder / name)
    os.rmdir(folder)


def sync(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _lock(target: Path) -> Iterator[None]:
    """Hold the lock of a target; a second holder is refused at once."""
    path = _sibling(target, "lock")
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _locked(handle):
                raise StoreError(target, "another process is writing it: wait for its end")
            try:
                mine = os.path.samestat(os.fstat(handle), os.stat(path))
            except FileNotFoundError:
                mine = False
            if mine:  # else the former holder removed the file between our opening and locking
                try:
                    yield
                finally:
                    with contextlib.suppress(OSError):
                        os.unlink(path)
                return
        finally:
            os.close(handle)


def _locked(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
