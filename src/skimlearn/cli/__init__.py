"""The command ``skim``: from a file on disk to a model in production.

One file for each command or kind of commands. The names, defaults and explanations of options are
those of the estimators, read from their source (`_signatures`), so that ``skim --help`` imports
nothing heavy and nothing is said twice.
"""

from __future__ import annotations

import importlib.util
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process."""
    missing = [name for name in ("typer", "rich") if importlib.util.find_spec(name) is None]
    if missing:
        needed = " and ".join(missing)
        print(f"skim: the command needs {needed}: pip install 'skimlearn[cli]'", file=sys.stderr)
        sys.exit(1)
    from skimlearn.cli._app import app

    app(prog_name="skim")
