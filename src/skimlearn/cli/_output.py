"""What a command says: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Output", "count", "facts", "grid", "number", "percent", "plain", "seconds", "size"]

WIDE = 200  # columns of a table that no terminal shows


class Output:
    """The streams of one command.

    With ``as_json`` standard output gets one JSON document at the end, and nothing else.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        self.as_json, self.quiet = as_json, quiet
        self.results, self.messages = _console(sys.stdout), _console(sys.stderr)
        self.document: dict[str, Any] | None = None
        self._said: set[str] = set()

    def note(self, text: str) -> None:
        """Say something that is no result, once."""
        if not self.quiet and text not in self._said:
            self._said.add(text)
            self.messages.print(Text(text), soft_wrap=True)

    def fail(self, text: str, code: int) -> None:
        """Say why there is no result."""
        self.messages.print(Text(f"skim: {text}"), soft_wrap=True)
        self.document = {"error": text, "exit_code": code}

    def tell(self, document: dict[str, Any], *tables: Table, aside: bool = False) -> None:
        """Give the result: a document for machines, tables for people.

        ``aside`` keeps the tables from a standard output that holds something else.
        """
        self.document = document
        if self.as_json or (aside and self.quiet):
            return
        console = self.messages if aside else self.results
        for table in tables:
            if console.is_terminal:
                console.print(table)
                continue
            with console.capture() as shown:
                console.print(table)
            lines = (line.rstrip() for line in shown.get().splitlines())
            console.file.write("\n".join(lines) + "\n")

    def finish(self) -> None:
        """Write the document, if it was asked for."""
        if self.as_json and self.document is not None:
            sys.stdout.write(json.dumps(plain(self.document), allow_nan=False) + "\n")
        sys.stdout.flush()


def _console(stream: Any) -> Console:
    terminal = hasattr(stream, "isatty") and stream.isatty()
    width = None if terminal or os.environ.get("COLUMNS") else WIDE
    return Console(file=stream, markup=False, highlight=False, emoji=False, width=width)


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """A table of names and values."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, value)
    return table


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table with a heading; all columns but the first are numbers."""
    from rich import box

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, name in enumerate(head):
        table.add_column(name, justify="right" if k else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


# ----------------------------------------------------------------------------------------- numbers


def number(value: float, digits: int = 4) -> str:
    """A number with so many digits; a dash if there is none."""
    return f"{value:.{digits}g}" if math.isfinite(value) else "-"


def percent(part: float) -> str:
    """A part of something."""
    return f"{100 * part:.0f} %" if 0.1 <= part < math.inf else f"{number(100 * part, 2)} %"


def count(value: float) -> str:
    """A large number in a few characters: 12.3 M."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:,.0f}"


def size(value: float) -> str:
    """So many bytes."""
    return f"{count(value)}B" if value >= 1e6 else f"{value / 1e3:.3g} kB"


def seconds(value: float) -> str:
    """A time."""
    if value < 1.0:
        return f"{1e3 * value:.3g} ms"
    if value < 100.0:
        return f"{value:.3g} s"
    minutes = int(value) // 60
    return f"{minutes} min {int(value) % 60} s"


def plain(value: Any) -> Any:
    """A value as JSON has it: no arrays, nan and inf as null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
