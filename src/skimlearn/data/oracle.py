"""Features computed on demand: a service, a simulation, a column of a data base, a formula.

An `Oracle` asks the user's functions for rows, columns or single entries, counts every entry it is
given, keeps what fits its memory, and never asks again for what it keeps, nor after a failure.
"""

from __future__ import annotations

import math
import operator
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Oracle", "OracleError", "ReadLimit"]

Vector = NDArray[np.float64]


class OracleError(RuntimeError):
    """A function of the user failed; the message says where, the cause is chained.

    Examples
    --------
    >>> Oracle((3, 2), entry=lambda i, j: 1 / i).row(0)
    Traceback (most recent call last):
    skimlearn.data.oracle.OracleError: entry(0, 0) failed: ZeroDivisionError('division by zero')
    """


class ReadLimit(RuntimeError):
    """The next request would read more entries than max_reads allows; nothing was asked.

    A function of the user may raise it too, say when money is spent: a solver then ends with its
    best answer so far.

    Examples
    --------
    >>> Oracle((3, 2), entry=lambda i, j: 1.0, max_reads=1).row(0)
    Traceback (most recent call last):
    skimlearn.data.oracle.ReadLimit: 2 more entries are beyond max_reads=1, of which 0 are spent
    """


class Oracle:
    """A matrix whose entries are computed when they are needed.

    Parameters
    ----------
    shape : (int, int)
        The numbers of rows and columns.
    row : callable or None
        ``row(i)`` gives all entries of row i, which are counted even where a column that is kept
        has told some of them: a row is asked for as a whole.
    column : callable or None
        ``column(j)`` gives all entries of column j; they are counted likewise.
    entry : callable or None
        ``entry(i, j)`` gives one entry; it stands in for a missing row or column, and is asked
        only for what no line that is kept tells.
    rows_norm : float or array of shape (n,) or None
        A bound on the norms of the rows, or the norms, if known; algorithms that need them and
        are not told read all rows once.
    max_reads : int or None
        Entries that may be asked for; a request beyond that raises `ReadLimit` before it is made.
    cache_bytes : int, default=2**28
        Memory for rows and columns that were given; the one used longest ago makes room. With 0
        nothing is kept.

    Attributes
    ----------
    reads : int
        Entries that the functions were asked for so far.

    Examples
    --------
    >>> oracle = Oracle((3, 2), entry=lambda i, j: 10.0 * i + j)
    >>> oracle.row(2)
    array([20., 21.])
    >>> oracle.column(1), oracle.reads  # entry (2, 1) is known already
    (array([ 1., 11., 21.]), 4)
    """

    def __init__(
        self,
        shape: tuple[int, int],
        *,
        row: Callable[[int], ArrayLike] | None = None,
        column: Callable[[int], ArrayLike] | None = None,
        entry: Callable[[int, int], float] | None = None,
        rows_norm: ArrayLike | None = None,
        max_reads: int | None = None,
        cache_bytes: int = 2**28,
    ) -> None:
        try:
            n, d = (operator.index(size) for size in shape)
        except (TypeError, ValueError):
            n = d = 0
        if n < 1 or d < 1:
            raise ValueError(f"shape={shape!r} must hold two positive whole numbers")
        if entry is None and (row is None or column is None):
            raise ValueError(
                "an oracle needs both row=... and column=..., or entry=..., from which it makes "
                "what is missing"
            )
        for name, function in (("row", row), ("column", column), ("entry", entry)):
            if function is not None and not callable(function):
                raise TypeError(f"{name}={function!r} must be a function")
        if max_reads is not None and not max_reads >= 0:
            raise ValueError(f"max_reads={max_reads!r} must not be negative; None means no limit")
        if not cache_bytes >= 0:
            raise ValueError(f"cache_bytes={cache_bytes!r} must not be negative; 0 keeps nothing")
        self.shape = (n, d)
        self.max_reads = max_reads
        self.cache_bytes = cache_bytes
        self.reads = 0
        self.rows_norm = None if rows_norm is None else self._norms(rows_norm)
        self._functions: tuple[Any, Any] = (row, column)
        self._entry = entry
        # rows and columns that were given; nan marks what a failure left unknown
        self._lines: tuple[dict[int, Vector], dict[int, Vector]] = ({}, {})
        self._used: OrderedDict[tuple[int, int], None] = OrderedDict()  # the oldest first
        self._held = 0

    @contextmanager
    def within(self, more: float) -> Iterator[None]:
        """Inside of this context no more than so many further entries are asked for."""
        before = self.max_reads
        if more < math.inf:
            limit = self.reads + int(more)
            self.max_reads = limit if before is None else min(limit, before)
        try:
            yield
        finally:
            self.max_reads = before

    def row(self, i: int) -> Vector:
        """Row i, asked for unless it is known; the array is read-only."""
        return self._line(0, i)

    def column(self, j: int) -> Vector:
        """Column j, asked for unless it is known; the array is read-only."""
        return self._line(1, j)

    def _line(self, axis: int, index: int) -> Vector:
        index = operator.index(index)
        if not 0 <= index < self.shape[axis]:
            name = "column" if axis else "row"
            raise IndexError(f"{name} {index} is out of range for shape {self.shape}")
        line = self._lines[axis].get(index)
        if line is None or line.flags.writeable:  # it is writeable as long as it is incomplete
            all_cross = len(self._lines[1 - axis]) == self.shape[1 - axis]
            assemble = self._functions[axis] is None or all_cross
            line = self._assemble(axis, index) if assemble else self._ask(axis, index)
            line.flags.writeable = False
        self._keep(axis, index, line)
        return line

    def _ask(self, axis: int, index: int) -> Vector:
        """A line from the user's function for lines."""
        name, size = ("column" if axis else "row"), self.shape[1 - axis]
        self._spend(size)
        copied = partial(np.array, dtype=np.float64)  # the user may change the original
        line: Vector = _given(copied, name, self._functions[axis], index)
        self.reads += size
        if line.shape != (size,):
            shape = f"an array of shape {line.shape} instead of ({size},)"
            raise OracleError(f"{name}({index}) gave {shape}")
        if not np.isfinite(line).all():
            at = int(np.argmin(np.isfinite(line)))
            raise _not_finite(axis, index, at, line[at])
        return line

    def _assemble(self, axis: int, index: int) -> Vector:
        """A line put together from those that cross it and, where they are silent, from entries."""
        line = self._lines[axis].get(index)
        if line is None:
            line = np.full(self.shape[1 - axis], np.nan)
        for at, other in self._lines[1 - axis].items():
            if not math.isnan(other[index]):
                line[at] = other[index]
        missing = np.flatnonzero(np.isnan(line)).tolist()
        if missing and self._functions[axis] is not None:  # a line that crosses it is incomplete
            return self._ask(axis, index)
        self._spend(len(missing))
        try:
            for at in missing:
                line[at] = self._ask_entry(axis, index, at)
        finally:  # what was given before a failure or Ctrl-C is not asked for again
            self._keep(axis, index, line)
        return line

    def _ask_entry(self, axis: int, index: int, at: int) -> float:
        i, j = (at, index) if axis else (index, at)
        value: float = _given(float, "entry", self._entry, i, j)
        self.reads += 1
        if not math.isfinite(value):
            raise _not_finite(axis, index, at, value)
        return value

    def _spend(self, entries: int) -> None:
        if self.max_reads is not None and self.reads + entries > self.max_reads:
            raise ReadLimit(
                f"{entries} more entries are beyond max_reads={self.max_reads}, of which "
                f"{self.reads} are spent"
            )

    def _keep(self, axis: int, index: int, line: Vector) -> None:
        """Keep a line, as the one that was used last, if the memory has room for it at all."""
        if line.nbytes > self.cache_bytes:
            return
        if index not in self._lines[axis]:
            self._held += line.nbytes
        self._lines[axis][index] = line
        self._used[axis, index] = None
        self._used.move_to_end((axis, index))
        while self._held > self.cache_bytes:
            (old_axis, old), _ = self._used.popitem(last=False)
            self._held -= self._lines[old_axis].pop(old).nbytes

    def _norms(self, rows_norm: ArrayLike) -> Vector:
        norms = np.asarray(rows_norm, dtype=np.float64)
        if norms.shape not in ((), (self.shape[0],)):
            raise ValueError(
                f"rows_norm has shape {norms.shape}: one number, or one for each of "
                f"{self.shape[0]} rows"
            )
        if not (np.isfinite(norms).all() and (norms >= 0.0).all()):
            raise ValueError("rows_norm must be finite and not negative")
        return np.broadcast_to(norms, (self.shape[0],))


def _given(form: Callable[[Any], Any], name: str, function: Any, *place: int) -> Any:
    """What a function of the user gives, or an error that says where it failed."""
    try:
        return form(function(*place))
    except ReadLimit:
        raise
    except Exception as error:
        raise OracleError(f"{name}({', '.join(map(str, place))}) failed: {error!r}") from error


def _not_finite(axis: int, index: int, at: int, value: float) -> OracleError:
    place = (at, index) if axis else (index, at)
    return OracleError(f"entry {place} is {value}: all entries must be finite")
