"""All commands, declared by the import of their modules, in the order in which help shows them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import typer
import typer.core

from skimlearn.cli._command import app

__all__ = ["MODULES", "app", "declared"]

MODULES = {
    "store": ("ingest", "check", "info"), "train": ("train",), "predict": ("predict",),
    "evaluate": ("evaluate",), "path": ("path",), "ball": ("ball",), "game": ("game",),
    "export": ("export",), "bench": ("bench",), "report": ("report",), "demo": ("demo",),
    "cache": ("cache",),
}  # fmt: skip


def declared(words: Iterable[str] = ()) -> Any:
    """The command ``skim``: with the one that is asked for, or with all where none is."""
    wanted = [module for module, names in MODULES.items() if set(names) & set(words)]
    for module in wanted or MODULES:
        importlib.import_module(f"skimlearn.cli.{module}")
    _spare_conversions()
    return typer.main.get_command(app)


def _spare_conversions() -> None:
    """Take texts and single numbers as they are: some versions of typer load pydantic for them."""
    core: Any = typer.core
    build = getattr(core, "build_runtime_param", None)
    if build is None or getattr(build, "spared", False):
        return

    def spared(descriptor: Any) -> Any:
        kind = descriptor.annotation
        return _Conversion(kind) if kind in (str, float, int, bool) else build(descriptor)

    spared.spared = True  # type: ignore[attr-defined]
    core.build_runtime_param = spared


class _Conversion:
    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return None
        try:
            return self.kind(value)
        except ValueError:
            text = f"{value!r} is not a valid {self.kind.__name__}."
            raise typer.BadParameter(text, ctx=ctx, param=param) from None
