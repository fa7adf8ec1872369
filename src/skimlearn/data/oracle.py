"""Features computed on demand: a service, a simulation, a column of a data base, a formula.

An `Oracle` asks the user's functions for rows, columns or single entries, counts every entry it is
given, keeps what fits its memory, and never asks again for what it keeps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Oracle", "OracleError", "ReadLimit"]

Vector = NDArray[np.float64]


class OracleError(RuntimeError):
    """A function of the user failed; the message says where, the cause is chained."""


class ReadLimit(RuntimeError):
    """The next request would read more entries than max_reads allows; nothing was asked."""


class Oracle:
    """A matrix whose entries are computed when they are needed.

    Parameters
    ----------
    shape : (int, int)
        The numbers of rows and columns.
    row : callable or None
        ``row(i)`` gives all entries of row i.
    column : callable or None
        ``column(j)`` gives all entries of column j.
    entry : callable or None
        ``entry(i, j)`` gives one entry; it stands in for a missing row or column.
    rows_norm : float or array of shape (n,) or None
        A bound on the norms of the rows, or the norms, if known; algorithms that need them and
        are not told read all rows once.
    max_reads : int or None
        Entries that may be asked for; a request beyond that raises `ReadLimit` before it is made.
    cache_bytes : int, default=2**28
        Memory for rows and columns that were given; the one used longest ago makes room.

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
        n, d = (int(size) for size in shape)
        if n < 1 or d < 1:
            raise ValueError(f"shape={shape!r} must hold two positive numbers")
        if entry is None and (row is None or column is None):
            raise ValueError(
                "an oracle needs both row=... and column=..., or entry=..., from which it makes "
                "what is missing"
            )
        for name, function in (("row", row), ("column", column), ("entry", entry)):
            if function is not None and not callable(function):
                raise TypeError(f"{name}={function!r} must be a function")
        if max_reads is not None and not max_reads >= 0:
            raise ValueError(f"max_reads={max_reads!r} must not be negative")
        self.shape = (n, d)
        self.max_reads = max_reads
        self.cache_bytes = cache_bytes
        self.reads = 0
        self.rows_norm = None if rows_norm is None else self._norms(rows_norm)
        self._functions: tuple[Any, Any] = (row, column)
        self._entry = entry
        self._cache: OrderedDict[tuple[int, int], Vector] = OrderedDict()
        self._held = 0

    def row(self, i: int) -> Vector:
        """Row i, asked for unless it is known; the array is read-only."""
        return self._line(0, i)

    def column(self, j: int) -> Vector:
        """Column j, asked for unless it is known; the array is read-only."""
        return self._line(1, j)

    def _line(self, axis: int, index: int) -> Vector:
        if not 0 <= index < self.shape[axis]:
            raise IndexError(
                f"{'column' if axis else 'row'} {index} is out of range for shape {self.shape}"
            )
        key = (axis, int(index))
        known = self._cache.get(key)
        if known is None:
            known = self._ask(*key)
            known.flags.writeable = False
            self._keep(key, known)
        else:
            self._cache.move_to_end(key)
        return known

    def _ask(self, axis: int, index: int) -> Vector:
        function, size = self._functions[axis], self.shape[1 - axis]
        if function is not None:
            self._spend(size)
            name = "column" if axis else "row"
            try:
                line = np.array(function(index), dtype=np.float64)
            except Exception as error:
                raise OracleError(f"{name}({index}) failed: {error!r}") from error
            self.reads += size
            if line.shape != (size,):
                raise OracleError(
                    f"{name}({index}) gave an array of shape {line.shape} instead of ({size},)"
                )
        else:
            line = self._from_entries(axis, index, size)
        if not np.isfinite(line).all():
            at = int(np.argmin(np.isfinite(line)))
            place = (at, index) if axis else (index, at)
            raise OracleError(f"entry {place} is {line[at]}: all entries must be finite")
        return line

    def _from_entries(self, axis: int, index: int, size: int) -> Vector:
        """A line put together from single entries, those of known crossing lines first."""
        line = np.full(size, np.nan)
        for (other_axis, other), values in self._cache.items():
            if other_axis != axis:
                line[other] = values[index]
        missing = np.flatnonzero(np.isnan(line))
        self._spend(len(missing))
        for at in missing.tolist():
            place = (at, index) if axis else (index, at)
            try:
                line[at] = self._entry(*place)  # type: ignore[misc]
            except Exception as error:
                raise OracleError(f"entry{place} failed: {error!r}") from error
            self.reads += 1
        return line

    def _spend(self, entries: int) -> None:
        if self.max_reads is not None and self.reads + entries > self.max_reads:
            raise ReadLimit(
                f"{entries} more entries are beyond max_reads={self.max_reads}, of which "
                f"{self.reads} are spent"
            )

    def _keep(self, key: tuple[int, int], line: Vector) -> None:
        if line.nbytes > self.cache_bytes:
            return
        self._cache[key] = line
        self._held += line.nbytes
        while self._held > self.cache_bytes:
            self._held -= self._cache.popitem(last=False)[1].nbytes

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
