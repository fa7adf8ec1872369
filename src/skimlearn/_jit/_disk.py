"""Machine code on disk: where it is kept, and how it is loaded without a compiler."""

from __future__ import annotations

import functools
import hashlib
import os
import tempfile
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime import _nrt_python

__all__ = ["CacheOnDemand", "cache_directory"]

ON_TOP = ("__main__.py", "cli", "report")


@functools.cache
def cache_directory() -> Path | None:
    """Where machine code is kept: one folder per state of the package's source; None if unwritable.

    Numba notices a change in the file of a kernel, but not in the files that the kernel calls
    into. A folder named after all of the source closes that gap; but for the layers on top, which
    no kernel can call into.
    """
    root = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    if not root:
        root = os.path.expanduser("~/.cache")
        if root.startswith("~"):  # a user without a home: do not make a folder named "~"
            return None
    package = str(Path(__file__).parents[1])
    digest = hashlib.sha256()
    for path in sorted(_sources(package, ON_TOP)):
        digest.update(path.removeprefix(package).encode())
        with open(path, "rb", buffering=0) as file:
            digest.update(file.read())
    folder = Path(root) / "skimlearn" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return None
    return folder


def _sources(folder: str, without: Container[str] = ()) -> Iterator[str]:
    """All Python files below a folder; pathlib would take twice as long as to read them."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in without:
                continue
            if entry.is_dir():
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                yield entry.path


class CacheOnDemand:
    """The cache of a kernel, made when the kernel is first called.

    Numba makes and removes a file for each, to see whether the folder can be written to. A process
    uses a few of the kernels that it has imported.
    """

    def __init__(self, function: Any, folder: str) -> None:
        self._function, self._folder = function, folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)

    @functools.cached_property
    def _made(self) -> Any:
        with global_compiler_lock:
            previous, numba.config.CACHE_DIR = numba.config.CACHE_DIR, self._folder
            try:
                return _Cache(self._function)
            except RuntimeError:  # a function typed into an interpreter has no file to name it by
                return NullCache()
            finally:
                numba.config.CACHE_DIR = previous


class _Cache(FunctionCache):
    """Machine code on disk that is loaded without what only a compiler needs.

    Numba brings all it knows about types and functions (and scipy.linalg) up to date first, and
    compiles its own runtime, which takes several times as long as to load a kernel. A compilation
    does so anyway; machine code has the runtime in it, but for the functions that numba has in C.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _name_runtime()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


@functools.cache
def _name_runtime() -> None:
    """Tell the linker where numba's functions in C are, as numba does before it compiles."""
    for name, address in _nrt_python.c_helpers.items():
        llvmlite.binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
