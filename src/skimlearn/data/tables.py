"""Tables of columns in files: Parquet, Arrow IPC (Feather) and CSV, some rows at a time.

Numbers stay what they are, categories become columns of zeros and ones, or are hashed, and words
are hashed. pyarrow reads the files (``pip install skimlearn[tables]``) batch by batch, and only the
columns that are needed; where there are categories, a first pass over their columns finds them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from skimlearn.data._table_files import TableError, open_file, told
from skimlearn.data._table_plan import (
    CLASSES,
    WIDEST,
    categories,
    plan_of,
    plan_of_names,
    target_kind,
)
from skimlearn.data._table_rows import Encoder
from skimlearn.data.triple import one_matrix

__all__ = ["Table", "TableError", "read_table"]


class Table:
    r"""A table in a file, read some rows at a time: iterate for pairs (X, y).

    Every iteration reads the file anew. X is dense if all columns hold numbers, else CSR. A table
    is a source for `Store.create`, which keeps the names.

    Parameters
    ----------
    path : path
        A file in Parquet, Arrow IPC (file, stream or Feather) or CSV format; CSV with a header,
        parted by commas, tabs, semicolons or bars, perhaps compressed (gzip, bz2, xz, zstd).
    target : str or None
        The column of targets: numbers or, as strings, classes.
    encode : mapping of str to str
        What becomes of columns, by name: "number", "one-hot", "hash" (a category, hashed),
        "text" (words, hashed by scikit-learn's HashingVectorizer) or "drop". Otherwise numbers and
        booleans are numbers, strings and dictionaries one-hot; anything else has to be here.
    names : iterable of str or None
        The names of the features, as another table, a store or a model has them: this table is
        encoded in the same way. Its other columns are left out; categories that have no name
        count for nothing. Instead of ``encode``.
    buckets : int
        Places that the values, or words, of a column are hashed to.
    missing : float or None
        What to put where a number is missing (or nan); a category or text that is missing then
        counts for nothing. None: an error.
    dtype : float32, float64 or None
        Of X; None: float32 if that is what the numbers have, else float64.
    rows : int
        Rows of a block, at most.

    Attributes
    ----------
    names : list of str
        Of the features: numbers first, then categories ("city=Rom"), then what is hashed
        ("city#17", "body~17").
    classes : ndarray of str or None
        The classes, sorted, if the targets are strings.

    Raises
    ------
    TableError
        If the file is damaged or a value can't be used; with file, column and row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skimlearn import Table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     _ = path.write_text("weight,colour,kind\n4.5,grey,cat\n31,brown,dog\n3.9,black,cat\n")
    ...     table = Table(path, target="kind", rows=2)
    ...     blocks = [(X.toarray().tolist(), y.tolist()) for X, y in table]
    >>> table.names
    ['weight', 'colour=black', 'colour=brown', 'colour=grey']
    >>> blocks[1]
    ([[3.9, 1.0, 0.0, 0.0]], ['cat'])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        target: str | None = None,
        encode: Mapping[str, str] | None = None,
        names: Iterable[str] | None = None,
        buckets: int = 2**18,
        missing: float | None = None,
        dtype: DTypeLike | None = None,
        rows: int = 10_000,
    ) -> None:
        if names is not None and encode:
            raise ValueError("names say how columns are encoded: leave encode out")
        if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype={dtype!r} must be float32 or float64, or None")
        if missing is not None and not math.isfinite(missing):
            raise ValueError(f"missing={missing!r} must be a finite number, or None")
        for name, value in (("buckets", buckets), ("rows", rows)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number, 1 or more")
        self.path, self.target, self.rows = os.fspath(path), target, int(rows)
        self._encode = dict(encode or {})
        self._file = open_file(path)
        self._encoder = Encoder(self.path, missing)
        with told(self.path):
            if names is None:
                self._plan = plan_of(self._file, target, self._encode, int(buckets))
            else:
                self._plan = plan_of_names(self._file, target, names)
            if dtype is not None:
                self._plan.dtype = np.dtype(dtype).type
            self._target = None
            if target is not None:
                self._target = target_kind(self._file, target, self._encode)
            found = self._first_pass(choices=names is None)
        self.classes: NDArray[np.str_] | None = None
        if self._target == CLASSES:
            self.classes = np.array(found.pop(str(target)), dtype=np.str_)
        self._plan.choices |= found
        if not 1 <= self._plan.width <= WIDEST:
            raise TableError(f"its columns give {self._plan.width} features", self.path)
        self.names = self._plan.names()
        if len(set(self.names)) < len(self.names):
            raise TableError("two features would have the same name: rename a column", self.path)

    def _first_pass(self, *, choices: bool) -> dict[str, list[str]]:
        columns = list(self._plan.choices) if choices else []
        if self._target == CLASSES:
            columns.append(str(self.target))
        return categories(self._file, columns, self._encoder.words, self.rows)

    @property
    def sparse(self) -> bool:
        """Whether X is CSR."""
        return self._plan.sparse

    @property
    def entries_of_row(self) -> int:
        """About how many entries a row has that are not zero, or all if it is dense."""
        plan = self._plan
        return len(plan.numbers) + len(plan.choices) + len(plan.hashed) + 200 * len(plan.texts)

    def __iter__(self) -> Iterator[tuple[Any, NDArray[Any] | None]]:
        for X, y in self.numbered():
            yield X, y if y is None or self.classes is None else self.classes[y]

    def numbered(self) -> Iterator[tuple[Any, NDArray[Any] | None]]:
        """Blocks with numbers of classes in the place of classes."""
        types: dict[str, Any] = self._plan.types()
        if self.target is not None:
            types[self.target] = self._target_type()
        done = 0
        with closing(self._file.batches(types, self.rows)) as batches:
            for batch in batches:
                if batch.num_rows:
                    X = self._encoder.rows(batch, self._plan, done)
                    yield X, self._labels(batch, done)
                    done += batch.num_rows

    def _target_type(self) -> str | None:
        """How the target is to be read; None: as it is, which keeps whole numbers."""
        if self._target == CLASSES:
            return "word"
        return "number" if self.target in self._encode else None

    def _labels(self, batch: Any, done: int) -> NDArray[Any] | None:
        if self.target is None:
            return None
        name = self.target
        strict = Encoder(self.path, None)
        if self.classes is not None:
            return strict.codes(batch, name, done, {c: k for k, c in enumerate(self.classes)})
        array = batch.column(name)
        values = strict.numbers(array, name, done)
        fine = np.isfinite(values)
        if not fine.all():
            i = int(np.argmin(fine))
            what = f"it holds {values[i]}" if array[i].is_valid else "a target is missing"
            raise TableError(f"{what}: drop the row", self.path, name, done + i)
        kind = str(array.type)
        if kind == "bool":
            return values.astype(np.bool_)
        if kind.startswith(("int", "uint")) and kind != "uint64":
            return array.to_numpy(zero_copy_only=False).astype(np.int64)
        return values.astype(np.float64)


def read_table(
    path: str | os.PathLike[str],
    *,
    target: str | None = None,
    encode: Mapping[str, str] | None = None,
    names: Iterable[str] | None = None,
    buckets: int = 2**18,
    missing: float | None = None,
    dtype: DTypeLike | None = None,
) -> tuple[Any, NDArray[Any] | None, list[str]]:
    r"""Read a table from a file in Parquet, Arrow IPC (Feather) or CSV format.

    Parameters
    ----------
    path, target, encode, names, buckets, missing, dtype
        As in `Table`, which reads some rows at a time.

    Returns
    -------
    X : ndarray or scipy.sparse.csr_matrix of shape (n, d)
        Dense if all columns hold numbers.
    y : ndarray of shape (n,) or None
        The targets, if there is a column of them: int64, float64, bool or strings.
    names : list of d str
        The names of the features.

    Raises
    ------
    TableError
        If the file is damaged or a value can't be used; with file, column and row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skimlearn import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     _ = path.write_text("weight,age,kind\n4.5,7,cat\n31,2,dog\n")
    ...     X, y, names = read_table(path, target="kind")
    >>> X.tolist(), y.tolist(), names
    ([[4.5, 7.0], [31.0, 2.0]], ['cat', 'dog'], ['weight', 'age'])
    """
    table = Table(
        path, target=target, encode=encode, names=names, buckets=buckets, missing=missing,
        dtype=dtype,
    )  # fmt: skip
    blocks = list(table)
    if not blocks:
        raise TableError("it has no rows", table.path)
    X = one_matrix([X for X, _ in blocks])
    labels = [y for _, y in blocks if y is not None]
    return X, np.concatenate(labels) if labels else None, table.names
