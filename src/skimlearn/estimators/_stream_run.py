"""One pass over a stream: blocks in, a model out; progress, limits, checkpoints on the way."""

from __future__ import annotations

import math
import os
import time
import warnings
from contextlib import closing
from typing import Any

from skimlearn.data._stream_blocks import Block
from skimlearn.data.stream import RowStream
from skimlearn.estimators._checks import budget_of
from skimlearn.estimators._progress import Progress
from skimlearn.estimators._stream_state import Position, digest, read_state, write_state
from skimlearn.result import Budget, Progressive, Record, Status

__all__ = ["EVERY", "StreamRun"]

EVERY = 1_000_000  # rows between two checkpoints
GROWTH = 1.05  # of the rows between two records of the history
FITTED = ("_streams", "_stream_rng")  # private parts of what was learned


class StreamRun:
    """A model that learns from a stream, block by block.

    Until the first block is learned the model is what it was before; after that, whatever ends the
    run, it has what it learned so far. All that decides the answer depends on counts of rows.
    """

    def __init__(
        self,
        model: Any,
        stream: RowStream,
        classes: Any,
        *,
        checkpoint: Any,
        every: int,
        resume: bool,
    ) -> None:
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"every={every!r} must be a whole number of rows, 1 or more")
        if checkpoint is None and resume:
            raise ValueError("resume=True needs the name of a file: set checkpoint")
        if checkpoint is not None and not isinstance(checkpoint, str | os.PathLike):
            raise TypeError(f"checkpoint={checkpoint!r} must be a path or None")
        self.model, self.stream, self.classes = model, stream, classes
        self.checkpoint: Any = checkpoint
        self.every, self.resume = every, resume
        limited = model.max_seconds is not None or model.max_reads is not None
        self.budget = budget_of(model) if limited else Budget(epochs=1)
        self.progress = Progress(model.verbose, None, model.callback)
        self.began = time.perf_counter()
        self.seconds = 0.0  # of the runs before this one
        self.at = Position()
        self.saved = 0  # rows at the last checkpoint
        self.expected = ""  # the digest of the block before it, until that block was seen again
        self.history: list[Record] = []

    def run(self) -> None:
        """Learn from all blocks that are left."""
        model, former = self.model, dict(vars(self.model))
        if not model.warm_start:
            for name in [n for n in vars(model) if n.endswith("_") or n in FITTED]:
                delattr(model, name)
        try:
            self._restore()
            status = self._blocks()
        except BaseException as error:
            if self.at.rows == 0:
                vars(model).clear()
                vars(model).update(former)
                raise
            if not isinstance(error, KeyboardInterrupt):
                self._finish(Status.STREAMED)
                raise
            self._finish(Status.INTERRUPTED)
            text = "the stream was interrupted: the model is what was learned so far"
            warnings.warn(text, UserWarning, stacklevel=4)
            return
        finally:
            self.progress.close()
        self._save()
        self._finish(status)

    def _blocks(self) -> Status:
        """Learn from block after block; say why it ended."""
        begun = self.at.blocks
        with closing(self.stream.blocks(skip=max(0, begun - 1))) as blocks:
            while True:
                try:
                    block = next(blocks, None)
                except Exception:  # the source has failed: what was learned can be taken up again
                    self._save()
                    raise
                if block is None:
                    break
                if block.number < begun:
                    self._compare(block)
                    continue
                self._learn(block)
                if self.at.rows - self.saved >= self.every:
                    self._save()
                if (status := self._stopped()) is not None:
                    return status
        if self.expected:
            raise ValueError(
                f"checkpoint={self.checkpoint!r} was made after {begun} blocks, but the source has "
                "fewer: it is another one; resume with the same source, or remove the file"
            )
        return Status.STREAMED

    def _learn(self, block: Block) -> None:
        model, at = self.model, self.at
        if block.y is None:
            raise ValueError(
                f"block {block.number} has no labels: give pairs (X, y), or a RowStream with "
                "target, the name of a column"
            )
        names = getattr(model, "feature_names_in_", None)
        if not (names is None or block.names is None or list(names) == list(block.names)):
            raise ValueError("the names of the columns are not those that the model was fitted to")
        try:
            learned = model._learn_batch(block.rows, block.y, self.classes, block.weights)
        except ValueError as error:
            raise ValueError(f"block {block.number}: {error}") from error
        if block.names is not None:
            model.feature_names_in_ = block.names
        at.add(block.number + 1, block.rows.shape[0], *model._progress(learned, block.y))
        self.last = block
        record = self._record()
        self.wish = self.progress(record)
        last = self.history[-1].rows if self.history else 0  # type: ignore[attr-defined]
        if at.rows >= GROWTH * last:
            self._keep(record)

    def _keep(self, record: Record) -> None:
        self.history.append(record)
        self.at.recent = [0.0, 0.0, 0.0]

    def _stopped(self) -> Status | None:
        budget = self.budget
        if self.wish:
            return Status.STOPPED
        if budget.seconds is not None and time.perf_counter() - self.began >= budget.seconds:
            return Status.SECONDS
        if budget.reads is not None and self._reads() >= budget.reads:
            return Status.READS
        return None

    def _reads(self) -> int:
        return sum(stream.reads.nnz for stream in self.model._streams)

    def _record(self) -> Progressive:
        at = self.at
        recent, total = max(at.recent[0], 1.0), max(at.rows, 1)
        return Progressive(
            epoch=1.0,
            seconds=self.seconds + time.perf_counter() - self.began,
            reads=self._reads(),
            primal=math.nan,
            dual=-math.inf,
            rows=at.rows,
            loss=at.recent[1] / recent,
            error=at.recent[2] / recent,
            mean_loss=at.total[0] / total,
            mean_error=at.total[1] / total,
        )

    def _finish(self, status: Status) -> None:
        if self.at.recent[0] > 0.0:
            self._keep(self._record())
        self.model._settle(self.began - self.seconds, status, self.history)

    # -------------------------------------------------------------------------------- checkpoints

    def _save(self) -> None:
        if self.checkpoint is not None and self.at.rows > self.saved:
            seconds = self.seconds + time.perf_counter() - self.began
            self.at.digest = digest(self.last)
            write_state(self.checkpoint, self.model, self.at, self.history, seconds)
            self.saved = self.at.rows

    def _restore(self) -> None:
        if self.resume and os.path.exists(self.checkpoint):
            self.at, self.history, self.seconds = read_state(self.checkpoint, self.model)
            self.saved, self.expected = self.at.rows, self.at.digest

    def _compare(self, block: Block) -> None:
        """Whether the source gives the block that was learned last, before the checkpoint."""
        if digest(block) != self.expected:
            raise ValueError(
                f"checkpoint={self.checkpoint!r} was made from another source: block "
                f"{block.number} is not the same; resume with the same source, or remove the file"
            )
        self.expected = ""
