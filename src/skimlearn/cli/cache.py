"""``skim cache``: the machine code that is kept on disk."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from skimlearn.cli._command import command
from skimlearn.cli._output import Output, facts, size

__all__ = ["cache"]


@command("cache", panel="Tools")
def cache(
    out: Output,
    clear: Annotated[
        bool, typer.Option("--clear", metavar="", help="Remove it, of all versions.")
    ] = False,
) -> None:
    """Show, or clear, the folder in which compiled kernels are kept.

    The next process that needs a kernel compiles it again.
    """
    from skimlearn._jit import cache_directory

    folder = cache_directory()
    if folder is None:
        out.tell(
            {"command": "cache", "folder": None},
            facts([("folder", "none can be written to; NUMBA_CACHE_DIR names one")]),
        )
        return
    root = folder.parent
    here, all_sizes = _size(folder), _size(root)
    document = {
        "command": "cache",
        "folder": str(folder),
        "files": here["files"],
        "bytes": here["bytes"],
        "all_bytes": all_sizes["bytes"],
        "cleared": clear,
    }
    lines = [
        ("folder", str(folder)),
        ("this version", f"{here['files']:,} files, {size(here['bytes'])}"),
        ("all versions", f"{all_sizes['files']:,} files, {size(all_sizes['bytes'])}"),
    ]
    if clear:
        shutil.rmtree(root)
        lines.append(("cleared", str(root)))
    out.tell(document, facts(lines))


def _size(folder: Path) -> dict[str, Any]:
    files = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    return {"files": len(files), "bytes": sum(files)}
