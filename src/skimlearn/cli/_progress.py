"""A line on the terminal that says how far a command is."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from skimlearn.cli._output import Output, console, count, number, seconds

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

__all__ = ["Progress"]


class Progress:
    """A line on standard error while something goes on; only on a terminal, gone at the end."""

    def __init__(self, out: Output, title: str, unit: str = "epoch") -> None:
        self.title, self.unit, self.fields = title, unit, [""]
        self.began = time.perf_counter()
        self.live: Live | None = None
        if out.live:
            from rich.live import Live
            from rich.spinner import Spinner

            self.spinner, terminal = Spinner("line"), console(sys.stderr)
            self.width = terminal.width
            self.live = Live(
                get_renderable=self._line, console=terminal, refresh_per_second=8, transient=True
            )

    def __enter__(self) -> Progress:
        if self.live is not None:
            self.live.start(refresh=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, *fields: str) -> None:
        """What to show, the most important first: what does not fit into the line is left out."""
        self.fields = list(fields)

    def record(self, record: Any) -> None:
        """Show the state of a fit; a callback of the estimators."""
        gap = abs(record.primal - record.dual)
        passed = max(time.perf_counter() - self.began, 1e-9)
        self.show(
            f"objective {number(record.primal, 6)}",
            f"gap {number(gap, 2)}",
            f"{count(record.reads)} reads",
            f"{count(record.reads / max(record.seconds, 1e-9))}/s",
            f"{self.unit} {record.epoch:,.0f}",
            seconds(passed),
        )

    def built(self, stage: str, done: int) -> None:
        """Show how far a store is; the progress of `Store.create`."""
        passed = max(time.perf_counter() - self.began, 1e-9)
        what = "read" if stage == "rows" else "sorted by columns"
        self.show(f"{count(done)} rows {what}", f"{count(done / passed)}/s", seconds(passed))

    def _line(self) -> Text:
        from rich.text import Text

        frame = self.spinner.render(time.perf_counter())
        text = Text.assemble(frame if isinstance(frame, Text) else "", f" {self.title}")
        fields = self.fields if any(self.fields) else [seconds(time.perf_counter() - self.began)]
        for field in fields:
            if len(text) + len(field) + 2 < self.width:
                text.append(f"  {field}")
        text.truncate(self.width - 1)
        return text
