"""The command ``skim``: from a file on disk to a model in production.

One file for each command or kind of commands. The names, defaults and explanations of options are
those of the estimators, read from their source (`_signatures`), so that ``skim --help`` imports
nothing heavy and nothing is said twice.
"""

from __future__ import annotations

import gc
import importlib.util
import sys

__all__ = ["main"]

LEAN = {"train", "predict", "evaluate"}  # commands that do without scikit-learn


def main() -> None:
    """Run the command line of this process."""
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        needed = " and ".join(missing)
        print(f"skim: the command needs {needed}: pip install 'skimlearn[cli]'", file=sys.stderr)
        sys.exit(1)
    from skimlearn import estimators

    gc.set_threshold(300_000)  # modules are loaded quicker if nobody looks for garbage meanwhile
    sys.modules.setdefault("coverage", None)  # type: ignore[arg-type]  # numba would load it
    estimators.CONTRACT = not LEAN & set(sys.argv[1:2])
    from skimlearn.cli._app import declared

    try:
        declared(sys.argv[1:2])(prog_name="skim")
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()  # the end of a process would look at all modules again, for garbage
