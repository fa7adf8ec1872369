"""What a command says: results on standard output, messages and progress on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "Output", "Sheet", "console", "count", "facts", "grid", "is_terminal", "number", "percent",
    "plain", "seconds", "size",
]  # fmt: skip


class Output:
    """The streams of one command.

    With ``as_json`` standard output gets one JSON document at the end, and nothing else. ``line``
    is the command line, to repeat it, and ``origin`` the same without folders, to be kept in files
    that may be given away. Rich is loaded on a terminal only: a pipe gets plain lines.
    """

    def __init__(
        self, *, as_json: bool = False, quiet: bool = False, line: str = "", origin: str = ""
    ) -> None:
        self.as_json, self.quiet, self.line, self.origin = as_json, quiet, line, origin
        self.document: dict[str, Any] | None = None
        self._said: set[str] = set()

    @property
    def live(self) -> bool:
        """Whether somebody looks at messages as they come."""
        return is_terminal(sys.stderr) and not self.quiet

    def note(self, text: str) -> None:
        """Say something that is no result, once."""
        if not self.quiet and text not in self._said:
            self._said.add(text)
            _write(_wrapped(text) + "\n", sys.stderr)

    def fail(self, text: str, code: int) -> None:
        """Say why there is no result."""
        _write(_wrapped(f"skim: {text}") + "\n", sys.stderr)
        self.document = {"error": text, "exit_code": code}

    def say(self, text: str) -> None:
        """A line of the results."""
        bold = is_terminal(sys.stdout)
        _write(f"\x1b[1m{text}\x1b[0m\n" if bold else text + "\n", sys.stdout)

    def tell(self, document: dict[str, Any], *sheets: Sheet, aside: bool = False) -> None:
        """Give the result: a document for machines, sheets for people.

        ``aside`` keeps the sheets from a standard output that holds something else.
        """
        self.document = document
        if not sheets or self.as_json or (aside and self.quiet):
            return
        stream = sys.stderr if aside else sys.stdout
        if is_terminal(stream):
            for sheet in sheets:
                console(stream).print(sheet.table())
        else:
            _write("\n\n".join(sheet.text() for sheet in sheets) + "\n", stream)

    def finish(self) -> None:
        """Write the document, if it was asked for."""
        if self.as_json and self.document is not None:
            sys.stdout.write(json.dumps(plain(self.document), allow_nan=False) + "\n")
        sys.stdout.flush()


def is_terminal(stream: Any) -> bool:
    """Whether a stream is one, or is to be taken for one; there may be no stream at all."""
    return hasattr(stream, "isatty") and (stream.isatty() or bool(os.environ.get("FORCE_COLOR")))


def console(stream: Any) -> Console:
    """A terminal."""
    from rich.console import Console

    return Console(file=stream, markup=False, highlight=False, emoji=False)


def _wrapped(text: str) -> str:
    """A message in lines that a terminal need not break; one line elsewhere."""
    if not is_terminal(sys.stderr):
        return text
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _write(text: str, stream: Any) -> None:
    """Plain text; signs that the stream can't hold are replaced."""
    if stream is not None:
        coding = getattr(stream, "encoding", None) or "utf-8"
        stream.write(text.encode(coding, "replace").decode(coding))


@dataclass(frozen=True)
class Sheet:
    """Rows of cells, perhaps with a heading; all columns of a grid but the first are numbers."""

    rows: list[Sequence[str]]
    head: Sequence[str] = ()

    def text(self) -> str:
        """Lines for a pipe."""
        lines = [self.head, *self.rows] if self.head else self.rows
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        if not self.head:
            return "\n".join(f"{name:<{widths[0]}} {value}".rstrip() for name, value in lines)
        cells = [
            [cell.rjust(width) if k else cell.ljust(width) for k, (cell, width) in pairs]
            for pairs in (enumerate(zip(line, widths, strict=True)) for line in lines)
        ]
        shown = ["   ".join(line).rstrip() for line in cells]
        shown.insert(1, "─" * max(map(len, shown)))
        return "\n".join(shown)

    def table(self) -> Table:
        """The same for a terminal."""
        from rich import box
        from rich.table import Table

        if not self.head:
            table = Table(show_header=False, box=None, pad_edge=False)
            table.add_column(style="bold", no_wrap=True)
            table.add_column(overflow="fold")
        else:
            table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
            for k, name in enumerate(self.head):
                table.add_column(name, justify="right" if k else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return table


def facts(pairs: Iterable[tuple[str, str]]) -> Sheet:
    """Names and values."""
    return Sheet(list(pairs))


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Sheet:
    """A table with a heading."""
    return Sheet(list(rows), head)


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
