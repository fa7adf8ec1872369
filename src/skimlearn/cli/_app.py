"""All commands, declared by the import of their modules, in the order in which help shows them."""

from __future__ import annotations

import importlib

from skimlearn.cli._command import app

__all__ = ["app"]

MODULES = (
    "store", "train", "predict", "evaluate", "path", "ball", "game", "export", "bench", "report",
    "demo", "cache",
)  # fmt: skip

for module in MODULES:
    importlib.import_module(f"skimlearn.cli.{module}")
