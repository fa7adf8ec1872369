"""A store made from blocks of rows, in bounded memory.

The rows are appended to files as they come, while the entries of every column are counted and
summed; then the rows, mapped from disk, are transposed. Beyond ``memory``, some numbers for every
column and the block at hand are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._store_folder import SPILL
from skimlearn.data._store_format import MANIFEST, Entry, Manifest, StoreError, open_array
from skimlearn.data._store_kernels import add_up
from skimlearn.data._store_sources import Block, Given
from skimlearn.data._store_transpose import transpose_dense, transpose_sparse
from skimlearn.data._store_write import Appended, write
from skimlearn.data.rows import Csr, Dense, Rows, frozen, norms, own_arrays

__all__ = ["build"]

WIDEST = 2**31 - 1  # columns that sparse rows may have

Progress = Callable[[str, int], Any]


def build(
    folder: Path,
    target: Path,
    given: Given,
    *,
    dtype: Any,
    n_features: int | None,
    names: Iterable[str] | None,
    memory: int,
    progress: Progress | None,
) -> None:
    """Write the files of a store into a folder, the manifest last."""
    names = given.names if names is None else names
    words = None if names is None else _words(names)
    classes = None if given.classes is None else _words(given.classes.tolist(), "classes")
    blocks = given.blocks
    first = next(blocks, None)
    if first is None:
        raise StoreError(target, "the source has no rows")
    with ExitStack() as stack:
        builder = _Builder(folder, target, first, dtype, stack, progress)
        builder.add(first)
        del first
        for block in blocks:
            builder.add(block)
        builder.end_rows(n_features)
        builder.add_words("names", words)
        if given.book:
            classes = _words(given.book, "classes")
        builder.add_words("classes", classes)
        builder.add_columns(memory)
        manifest = builder.manifest()
    with open(folder / MANIFEST, "xb", buffering=0) as file:
        write(file, manifest.to_bytes())
        os.fsync(file.fileno())


class _Builder:
    """The files of a store in the making."""

    def __init__(
        self, folder: Path, target: Path, first: Block, dtype: Any, stack: ExitStack,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.folder, self.target, self.progress = folder, target, progress
        self.pool = ThreadPoolExecutor(1)
        self.sparse = isinstance(first.rows, Csr)
        self.dtype = np.dtype(first.rows.values.dtype if dtype is None else dtype)
        self.n, self.d = 0, first.rows.shape[1]
        self.counts, self.sums = np.zeros(self.d, np.int64), np.zeros(self.d)
        self.files: dict[str, Appended] = {}
        self.arrays: dict[str, Entry] = {}
        stack.callback(self.close)
        stack.callback(self.pool.shutdown, cancel_futures=True)  # before the files are closed
        self.labelled = first.labels is not None
        if self.labelled:
            kind = np.asarray(first.labels).dtype.kind
            self.file("labels", np.int64 if kind in "biu" else np.float64)
        self.file("row_values", self.dtype, () if self.sparse else (self.d,))
        if self.sparse:
            self.file("row_columns", np.int32)
            self.file("row_starts", np.int64).append(np.zeros(1, np.int64))
        self.file("norms", np.float64)

    def file(self, name: str, dtype: Any, tail: tuple[int, ...] = ()) -> Appended:
        """A new array."""
        self.files[name] = Appended(self.pool, self.folder, name, dtype, tail)
        return self.files[name]

    def close(self) -> None:
        for file in self.files.values():
            file.close()

    def finish(self, *names: str) -> None:
        for name in names:
            self.arrays[name] = self.files[name].finish()

    # ----------------------------------------------------------------------------------- the rows

    def add(self, block: Block) -> None:
        """Append some rows."""
        rows = self._cast(block.rows)
        n, d = rows.shape
        if isinstance(rows, Csr) is not self.sparse:
            raise StoreError(self.target, "the source has sparse and dense blocks: use one kind")
        if d != self.d:
            self._widen(d)
        self._add_labels(block.labels, n)
        add_up(rows, n, self.counts, self.sums)
        if isinstance(rows, Csr):
            values, columns = own_arrays(rows)
            self.files["row_values"].append(values)
            self.files["row_columns"].append(columns)
            before = int(self.counts.sum()) - len(values) - int(rows.starts[0])
            starts = rows.starts[1:].astype(np.int64) + before
            self.files["row_starts"].append(starts)
        else:
            self.files["row_values"].append(rows.values)
        self.files["norms"].append(norms(rows))
        self.n += n
        self._tell("rows", self.n)

    def _cast(self, rows: Rows) -> Rows:
        """The rows in the type of the store."""
        values = rows.values
        if values.dtype == self.dtype:
            return rows
        if isinstance(rows, Csr):
            parts = own_arrays(rows)
            rows = Csr(parts[0], parts[1], frozen(rows.starts - rows.starts[0]), rows.width)
        with np.errstate(over="ignore"):
            cast = rows.values.astype(self.dtype)
        if not np.isfinite(cast).all():
            value = float(rows.values[~np.isfinite(cast)][0])
            raise StoreError(
                self.target, f"the source holds {value:.3g}, beyond {self.dtype}: use a wider dtype"
            )
        return rows._replace(values=frozen(cast))

    def _widen(self, d: int) -> None:
        """Take note of the number of columns of a block, if blocks may differ in it."""
        if not self.sparse:
            raise StoreError(
                self.target, f"the source has a block of {d} columns behind one of {self.d}"
            )
        if d > WIDEST:
            raise StoreError(self.target, f"the source has {d} columns: {WIDEST} are the most")
        more = max(0, d - self.d)
        self.counts = np.concatenate([self.counts, np.zeros(more, np.int64)])
        self.sums = np.concatenate([self.sums, np.zeros(more)])
        self.d += more

    def _add_labels(self, labels: Any, n: int) -> None:
        if (labels is not None) is not self.labelled:
            raise StoreError(self.target, "some blocks of the source have labels, others have none")
        if labels is None:
            return
        values = np.asarray(labels)
        if values.shape != (n,):
            raise StoreError(
                self.target, f"the source has a block of {n} rows with labels of shape "
                f"{values.shape}: one label for each row",
            )  # fmt: skip
        file = self.files["labels"]
        if values.dtype.kind not in ("biu" if file.dtype.kind == "i" else "biuf"):
            raise StoreError(
                self.target, f"the labels have dtype {values.dtype}: labels must be numbers, all "
                "whole or all floats; encode classes as numbers first",
            )  # fmt: skip
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            i = self.n + int(np.argmin(np.isfinite(values)))
            raise StoreError(self.target, f"the label of row {i} is {values[i - self.n]}: drop it")
        file.append(values)

    def end_rows(self, n_features: int | None) -> None:
        """Finish the files of the rows."""
        if n_features is not None:
            if n_features < self.d or not (self.sparse or n_features == self.d):
                raise ValueError(f"n_features={n_features}, but the source has {self.d} columns")
            self._widen(n_features)
        if self.d == 0:
            raise StoreError(self.target, "the source has no columns")
        self.finish(*self.files)

    # -------------------------------------------------------------------------------- the columns

    def add_columns(self, memory: int) -> None:
        """Transpose the rows; write the means."""
        spill = self.folder / SPILL
        values = self._mapped("row_values")
        names = ["column_values", "means"]

        def tell(done: int) -> None:
            self._tell("columns", done)

        if self.sparse:
            starts = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
            self.file("column_starts", np.int64).append(starts)
            columns = self._mapped("row_columns").view(np.uint32)
            offsets = self._mapped("row_starts").view(np.uint64)
            rows = Csr(values, columns, offsets, self.d)
            out_rows = self.file("column_rows", np.int32 if self.n < 2**31 else np.int64)
            out_values = self.file("column_values", self.dtype)
            transpose_sparse(rows, starts, out_rows, out_values, spill, memory, tell)
            names += ["column_starts", "column_rows"]
        else:
            out = self.file("column_values", self.dtype, (self.n,))
            transpose_dense(Dense(values), out, spill, memory, tell)
        self.file("means", np.float64).append(self.sums / self.n)
        self.finish(*names)

    def _mapped(self, name: str) -> NDArray[Any]:
        return frozen(open_array(self.folder, name, self.arrays[name])[0])

    def add_words(self, name: str, words: NDArray[np.str_] | None) -> None:
        """Write the names of the columns, or the classes."""
        if words is not None:
            if name == "names" and len(words) != self.d:
                raise ValueError(
                    f"names must hold {self.d} strings, one for each column, not {len(words)}"
                )
            self.file(name, words.dtype).append(words)
            self.finish(name)

    def manifest(self) -> Manifest:
        """What was written."""
        entries = int(self.counts.sum())
        return Manifest(self.sparse, (self.n, self.d), entries, self.arrays)

    def _tell(self, stage: str, done: int) -> None:
        if self.progress is not None:
            self.progress(stage, done)


def _words(names: Iterable[str], what: str = "names") -> NDArray[np.str_]:
    """Names of columns or of classes, checked before the work begins."""
    words = list(names)
    if not words or not all(isinstance(word, str) for word in words):
        raise ValueError(f"{what} must hold strings, one for each column")
    if not all(1 <= len(word) <= 10_000 and word[-1] != "\0" for word in words):
        raise ValueError(f"{what} must have 1 to 10,000 characters, the last one not null")
    return np.array(words)
