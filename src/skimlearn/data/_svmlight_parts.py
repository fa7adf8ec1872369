"""A stream of svmlight text as a stream of parts of a matrix, parsed by several threads.

Whoever is free takes the next block of text and parses it. Blocks are cut in the same places
however many threads there are, and their parts are handed out in order, so that the result does not
depend on the threads. Reading, and decompressing, is one thread's at a time while others parse.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skimlearn.data import _svmlight_room as codes
from skimlearn.data._decompress import BrokenError
from skimlearn.data._svmlight_entries import sort_rows
from skimlearn.data._svmlight_faults import Fault, describe, repeated
from skimlearn.data._svmlight_lines import parse_lines
from skimlearn.data._svmlight_room import PADDING, Room, Rules, make_room
from skimlearn.data._text_blocks import Source, TextBlocks

__all__ = ["BLOCK", "Part", "Parts", "worker_count"]

BLOCK = 2**20  # bytes of text: what is parsed from it stays in a core's cache until it is copied
NARROW = 2**31 - 1  # the largest id that 32 bits hold


class Part(NamedTuple):
    """Some rows of the matrix."""

    labels: NDArray[np.float64]
    label_starts: NDArray[np.int64]
    queries: NDArray[np.int64]
    starts: NDArray[np.int64]
    columns: NDArray[Any]  # as in the text: int32, or int64 where one does not fit
    values: NDArray[Any]
    lines: int
    size: int  # bytes of its text
    least: int  # id; beyond all if there is none
    most: int  # id; -1 if there is none
    most_line: int  # where it is, counted from 0 in this part
    fault: Fault | None  # what is wrong behind these rows


class _Desk:
    """What a thread needs to work: a buffer for text, and room for what is in it."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.room: Room | None = None
        self.length = -1

    def room_for(self, length: int) -> Room:
        if self.room is None or self.length < length:
            self.room, self.length = make_room(length), length
        return self.room


class Parts:
    """The parts of a matrix, in order.

    Parameters
    ----------
    source : Source
        Text.
    rules : Rules
        What a line may hold.
    dtype : dtype
        Of the values.
    workers : int
        Threads that parse.
    block : int
        Bytes of a block of text; None: `BLOCK`.
    """

    def __init__(
        self, source: Source, rules: Rules, *, dtype: Any, workers: int, block: int | None = None
    ) -> None:
        self.source, self.rules, self.dtype = source, rules, dtype
        # one more where text is decompressed: it is busy with that most of the time
        self.workers = workers + source.compressed
        self.blocks = TextBlocks(source.fill, size=block or BLOCK, spare=PADDING)
        self.desks: list[_Desk] = []

    def __iter__(self) -> Generator[Part, None, None]:
        """Parts until the end, or until the first with a fault, which is the last."""
        parts = self._together() if self.workers > 1 else self._alone()
        with closing(parts):
            for part in parts:
                yield part
                if part.fault is not None:
                    break

    def _alone(self) -> Generator[Part, None, None]:
        while (found := self._take())[1] is not None:
            yield found[1]

    def _together(self) -> Generator[Part, None, None]:
        with ThreadPoolExecutor(self.workers) as pool:
            jobs: deque[Future[tuple[int, Part | None]]] = deque()
            early: dict[int, Part] = {}  # parts that wait for those before them
            following = 0
            try:
                jobs.extend(pool.submit(self._take) for _ in range(self.workers + 1))
                while jobs:
                    index, part = jobs.popleft().result()
                    if part is None:  # others may still parse what is before the end
                        continue
                    jobs.append(pool.submit(self._take))
                    early[index] = part
                    while following in early:
                        yield early.pop(following)
                        following += 1
            finally:
                self.blocks.ended = True
                for job in jobs:
                    job.cancel()

    def _take(self) -> tuple[int, Part | None]:
        """Read a block and parse it."""
        try:
            desk = self.desks.pop()
        except IndexError:  # all are in use
            desk = _Desk()
        try:
            filled = self.blocks.next(desk.text)
            if filled is None:
                return -1, None
            desk.text = filled.text
            room = desk.room_for(filled.length)
            return filled.place, self._parse(filled.text, filled.length, room)
        except BrokenError as error:
            return self.blocks.count, _broken(error, self.dtype)
        finally:
            self.desks.append(desk)

    def _parse(self, text: bytearray, length: int, room: Room) -> Part:
        view = np.frombuffer(text, dtype=np.uint8)
        with np.errstate(over="ignore"):  # words wrap around, which plain Python would warn of
            rows, count, rising, kind, position = parse_lines(view, length, self.rules, room)
        faults = [describe(kind, text, position, length, self.rules)] if kind else []
        faults += self._resolve(text, length, room)
        if not rising and (row := sort_rows(rows, room)) >= 0:
            faults.append(repeated(text, length, row))
        nonzeros, labels = int(room.starts[rows]), int(room.label_starts[rows])
        most = int(room.tally[codes.LARGEST_ID])
        index = np.int32 if most <= NARROW else np.int64
        return Part(
            labels=room.labels[:labels].copy(),
            label_starts=room.label_starts[: rows + 1].copy(),
            queries=room.queries[:rows].copy() if self.rules.queries else room.queries[:0],
            starts=room.starts[: rows + 1].copy(),
            columns=room.columns[:nonzeros].astype(index),
            values=room.values[:nonzeros].astype(self.dtype),
            lines=count,
            size=length,
            least=int(room.tally[codes.LEAST_ID]),
            most=most if nonzeros else -1,
            most_line=int(room.tally[codes.LARGEST_LINE]),
            fault=min(faults, default=None),
        )

    def _resolve(self, text: bytearray, length: int, room: Room) -> list[Fault]:
        """Let Python read the numbers that the kernel could not; those beyond all doubles."""
        faults = []
        for begin, end, where in room.hard[: int(room.tally[codes.HARD_COUNT])].tolist():
            number = float(text[begin:end])
            if where & int(codes.LABEL):
                room.labels[where - int(codes.LABEL)] = number
            else:
                room.values[where] = number
            if self.rules.finite and not np.isfinite(number):
                faults.append(describe(codes.NOT_FINITE, text, begin, length, self.rules))
        return faults


def _broken(error: BrokenError, dtype: Any) -> Part:
    """A part without rows: the text ended in trouble."""
    none = np.zeros(1, dtype=np.int64)
    return Part(
        np.empty(0), none, none[:0], none, np.empty(0, np.int32), np.empty(0, dtype),
        0, 0, int(codes.LARGEST), -1, 0, Fault(error.lines, None, str(error)),
    )  # fmt: skip


def worker_count(n_jobs: int | None) -> int:
    """How many threads n_jobs stands for: None is 1, -1 all cores.

    Examples
    --------
    >>> worker_count(None), worker_count(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} must be a whole number (-1 for all cores), or None")
    if n_jobs > 0:
        return int(n_jobs)
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    return max(1, cores + 1 + int(n_jobs))
