"""The command ``skim``: from a file on disk to a model in production.

One file for each command or kind of commands. The names, defaults and explanations of options are
those of the estimators, read from their source (`_signatures`), so that ``skim --help`` imports
nothing heavy and nothing is said twice.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from typing import Any

__all__ = ["main"]

LEAN = {"train", "predict", "evaluate"}  # commands that do without scikit-learn


def main() -> None:
    """Run the command line of this process, and end the process."""
    code = run()
    if LEAN & set(sys.argv[1:2]):
        leave(code)
    sys.exit(code)


def run() -> int:
    """Run the command line of this process; its exit code."""
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        needed = " and ".join(missing)
        print(f"skim: the command needs {needed}: pip install 'skimlearn[cli]'", file=sys.stderr)
        return 1
    from skimlearn import estimators

    gc.set_threshold(300_000)  # modules are loaded quicker if nobody looks for garbage meanwhile
    sys.modules.setdefault("coverage", None)  # type: ignore[arg-type]  # numba would load it
    sys.meta_path.insert(0, _Spared())
    estimators.CONTRACT = not LEAN & set(sys.argv[1:2])
    from skimlearn.cli._app import declared

    try:
        declared(sys.argv[1:2])(prog_name="skim")
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        gc.freeze()  # the end of a process would look at all modules again, for garbage
    return 0


def leave(code: int) -> None:
    """End the process at once, if all that was written has arrived and nobody watches.

    The system takes back what a process holds more quickly than the interpreter does, object by
    object. Profilers and debuggers have something to say at the end, so they get it.
    """
    if sys.getprofile() is not None or sys.gettrace() is not None or _is_monitored():
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):  # the interpreter says it in its own way
        return
    os._exit(code)


def _is_monitored() -> bool:
    """Whether a tool watches by the way that Python has from 3.12 on."""
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(monitoring.get_tool(k) for k in range(6))


class _Spared:
    """Have numba's start find no package that it would load for nothing.

    It looks at the version of scipy, reads its settings with yaml, if there are any here, and would
    colour the errors of a compiler by colorama. Once numba is there, all can be imported.
    """

    names = frozenset({"colorama", "scipy", "yaml"})

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse the names while numba is on its way."""
        starting = "numba" in sys.modules and not hasattr(sys.modules["numba"], "njit")
        if starting and name in self.names and not os.path.exists(".numba_config.yaml"):
            raise ModuleNotFoundError(f"{name}: numba starts without it", name=name)
