"""A progress line on the terminal."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from skimlearn.result import Progressive, Record
from skimlearn.solvers._run import Callback

__all__ = ["Progress"]

PATIENCE = 1.0  # seconds before the line appears
PAUSE = 0.1  # seconds between two changes of it


class Progress:
    """One line on standard error that says how far a fit is; it goes away at the end.

    With ``verbose=None`` it appears on a terminal only, for fits of more than a second; with
    ``True`` one line is written for each epoch, anywhere; with ``False`` nothing is.
    """

    def __init__(self, verbose: bool | int | None, tol: float | None, callback: Callback | None):
        self.tol, self.callback = tol, callback
        self.lines = bool(verbose)
        self.bar = verbose is None and sys.stderr is not None and sys.stderr.isatty()
        self.began, self.last = time.perf_counter(), 0.0
        self.shown = False
        self.lock = threading.Lock()

    def __call__(self, record: Record) -> Any:
        if self.lines or self.bar:
            with self.lock:
                self._show(record)
        return self.callback(record) if self.callback is not None else None

    def _show(self, record: Record) -> None:
        seconds = time.perf_counter() - self.began  # of the fit, which may have several problems
        if isinstance(record, Progressive):
            text = (
                f"{record.rows:,} rows  {seconds:.1f} s  {record.reads / seconds:,.0f} entries/s  "
                f"error {record.error:.4g} (mean {record.mean_error:.4g})"
            )
        else:
            text = (
                f"epoch {record.epoch:.0f}  {seconds:.1f} s  primal {record.primal:.6g}  "
                f"gap {abs(record.primal - record.dual):.2g}"
            )
            if self.tol:
                text += f" (target {self.tol * abs(record.primal):.2g})"
            if note := getattr(record, "note", ""):  # of a cluster: rounds, bytes
                text += f"  {note}"
        if self.lines:
            print(text, file=sys.stderr)
        elif seconds > PATIENCE and seconds - self.last > PAUSE:
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
            self.shown, self.last = True, seconds

    def close(self) -> None:
        """Remove the line."""
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
