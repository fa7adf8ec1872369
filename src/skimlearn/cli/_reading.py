"""How data are to be read: options that several commands share, each with those that it needs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

__all__ = ["LABELLED", "ROWS", "Reading", "reading_options"]

ROWS = ("encode", "buckets", "missing", "zero_based")  # for rows to learn from
LABELLED = ("labels", "target", *ROWS)
TABLES = ("target", "encode", "buckets", "missing")  # what only tables have

HELP: dict[str, tuple[Any, str, str]] = {
    "labels": (str | None, "FILE", "Labels: .npy, or text with one in each line."),
    "target": (str | None, "COLUMN", "The column of labels of a table."),
    "encode": (
        str | None,
        "COLUMN=KIND,...",
        "What becomes of columns of a table: number, one-hot, hash, text or drop.",
    ),
    "buckets": (int | None, "COUNT", "Places that the values of a hashed column have."),
    "missing": (float | None, "NUMBER", "What to put where a table has no number."),
    "zero_based": (bool, "", "The ids of svmlight text begin at 0, not at 1."),
}


@dataclass(frozen=True)
class Reading:
    """What is said about files beside their paths."""

    labels: str | None = None
    target: str | None = None
    encode: str | None = None
    buckets: int | None = None
    missing: float | None = None
    zero_based: bool = False

    def table(self, names: Any = None) -> dict[str, Any]:
        """The parameters of a table; names say how it is encoded, where they are known."""
        found: dict[str, Any] = {
            "target": self.target,
            "buckets": self.buckets,
            "missing": self.missing,
        }
        if names is not None:
            found["names"] = names
        elif self.encode is not None:
            found["encode"] = self._encode(self.encode)
        return {name: value for name, value in found.items() if value is not None}

    def _encode(self, text: str) -> dict[str, str]:
        pairs = [part.rpartition("=") for part in text.split(",")]
        if not all(name and equals and kind for name, equals, kind in pairs):
            raise typer.BadParameter(f"--encode {text}: must be as in city=hash,notes=text")
        return {name: kind for name, _, kind in pairs}

    def check(self, *kinds: str) -> None:
        """Refuse what none of the files can use, given their kinds."""
        for name in (field.name for field in fields(self)):
            if getattr(self, name) is None or getattr(self, name) is False:
                continue
            flag = "--" + name.replace("_", "-")
            if name in TABLES and "table" not in kinds:
                raise typer.BadParameter(f"{flag} is for tables (Parquet, Arrow, CSV)")
            if name == "zero_based" and not {"stdin", "svmlight"} & set(kinds):
                raise typer.BadParameter(f"{flag} is for svmlight text")


def reading_options(names: Iterable[str]) -> list[inspect.Parameter]:
    """The parameters of a typer command for some of the options."""
    found = []
    for name in names:
        kind, metavar, text = HELP[name]
        option = typer.Option(
            "--" + name.replace("_", "-"), metavar=metavar, help=text,
            rich_help_panel="Reading",
        )  # fmt: skip
        found.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=False if kind is bool else None,
                annotation=Annotated[kind, option],
            )
        )  # fmt: skip
    return found
