"""The notice of a process that compiles, for whoever waits for it."""

from __future__ import annotations

import sys
from typing import Any

from numba.core import event as events

from skimlearn._jit._disk import cache_directory

__all__ = ["tell_of_compilations"]


class _Notice(events.Listener):
    """Tells whoever waits for the first kernel to be compiled what is going on, once."""

    told = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""
        if self.told or module.partition(".")[0] != "skimlearn":
            return
        self.told = True
        if sys.stderr is None or not (sys.stderr.isatty() or hasattr(sys, "ps1")):
            return
        folder = cache_directory()
        text = f"once: the machine code is kept in {folder}"
        if folder is None:
            text = "in every process: no cache folder can be written to; NUMBA_CACHE_DIR names one"
        print(f"skimlearn: compiling, which takes some seconds, {text}", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        pass


def tell_of_compilations() -> None:
    """Have numba tell this process of every kernel that it compiles."""
    events.register("numba:compile", _Notice())
