"""An indexed data set on disk, by rows and by columns, which may be larger than memory.

A store is a folder of plain .npy arrays and a ``manifest.json`` with their types, shapes, sizes and
digests:

=====================  ============================================================================
``row_*.npy``          the rows, in CSR form (values, columns, starts); dense: values, n x d
``column_*.npy``       the columns, in CSC form (values, rows, starts); dense: values, d x n
``norms``, ``means``   the lengths of the rows, the means of the columns
``labels``, ``names``  the targets and the names of the columns, if there are any
``classes``            the classes that the labels are numbers of, if they are strings
=====================  ============================================================================

Any program that reads .npy can read it; nothing in it is ever executed. It is made once and never
changed: `Store.create` writes into another folder and renames that, so that a store is there as a
whole or not at all, and whoever has the former one open keeps it. Opening maps the files to memory,
without reading them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from skimlearn.data._store_build import build
from skimlearn.data._store_check import differences, fingerprint, is_known, remember, wrong_files
from skimlearn.data._store_folder import former, new_folder
from skimlearn.data._store_format import Manifest, StoreError, open_array
from skimlearn.data._store_sources import given_by
from skimlearn.data.inspection import Indexed, inspected
from skimlearn.data.rows import Csr, Dense, Rows, frozen, take

__all__ = ["Store", "StoreError", "open_store"]

MEMORY = 2**28
LEAST_MEMORY = 2**16
MOST_OF_TEXT = 0x10FFFF  # the last character of Unicode


class Store(Indexed):
    """A matrix on disk, readable by row and by column, with its labels.

    Estimators and functions take it wherever they take a matrix. Its rows are read from disk when
    they are visited, so that it may be larger than memory; visits go through it in shuffled runs
    of rows (`skimlearn.data.disk`). Made by `Store.create`, opened by `open_store`.

    Sparse data that come from elsewhere are read once before their first use, so that no damaged
    index gets to compiled code; which ones were is remembered. `verify` checks everything.

    Attributes
    ----------
    path : Path
        The folder.
    shape : tuple of int
        The numbers of rows and columns.
    sparse : bool
        Whether only some entries are stored.
    entries : int
        How many entries are stored.
    dtype : dtype
        float32 or float64.

    Examples
    --------
    >>> import tempfile
    >>> from skimlearn import LinearClassifier, Store, open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Store.create(folder + "/data", [[3.0, 0.0], [0.0, 4.0]], [1, -1])
    ...     store = open_store(folder + "/data")  # what is open stays until it is forgotten
    >>> store
    <Store of 2 x 2, dense, float64, with labels>
    >>> store.y, store.norms
    (array([ 1, -1]), array([3., 4.]))
    >>> LinearClassifier(random_state=0).fit(store, store.y).predict(store)
    array([ 1, -1])
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not os.path.lexists(self.path) and former(self.path).is_dir():
            self.path = former(self.path)  # where a replacement was cut off, the old one is whole
        self._manifest = manifest = Manifest.read(self.path)
        self.shape, self.sparse = manifest.shape, manifest.sparse
        self.entries = manifest.entries
        self._arrays: dict[str, NDArray[Any]] = {}
        self._files: dict[str, os.stat_result] = {}
        for name, entry in manifest.arrays.items():
            array, self._files[name] = open_array(self.path, name, entry)
            self._arrays[name] = frozen(array)
        self.dtype = self._arrays["row_values"].dtype
        self._sound: set[str] = set()
        self._y: NDArray[Any] | None = None
        for side in ("row", "column") if self.sparse else ():
            starts = self._arrays[f"{side}_starts"]
            if starts[0] != 0 or starts[-1] != self.entries:
                raise StoreError(
                    self.path, f"{side}_starts.npy goes from {starts[0]} to {starts[-1]}, not from "
                    f"0 to {self.entries}: it was changed; make the store anew",
                )  # fmt: skip

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        source: Any,
        y: ArrayLike | None = None,
        *,
        dtype: DTypeLike | None = None,
        n_features: int | None = None,
        zero_based: bool = False,
        names: Iterable[str] | None = None,
        memory: int = MEMORY,
        n_jobs: int | None = None,
        progress: Callable[[str, int], Any] | None = None,
        overwrite: bool = False,
    ) -> Store:
        """Write a store, in bounded memory, and open it.

        Parameters
        ----------
        path : path
            The folder to make. It appears when all is written; whatever happens before leaves
            nothing that opens, and what a killed process leaves is removed by the next one.
        source : path, array, sparse matrix, Store, Table or iterable
            A file in svmlight format, compressed or not; a table in Parquet, Arrow IPC or CSV
            format (.csv or .tsv), or a `Table` of such a file; an .npy file of a dense array; an
            .npz file of `scipy.sparse.save_npz`; data in memory; or pairs (X, y) of blocks of
            rows. A matrix in an .npz file is read piece by piece if it is CSR, else as a whole.
        y : array of shape (n,), str or None
            Labels, numbers or strings, for the sources that have none of their own; of a file with
            a table: the name of the column that has them.
        dtype : float32, float64 or None
            Of the values; None: that of the source, float64 for text.
        n_features : int or None
            The number of columns of a sparse source, if it does not show.
        zero_based : bool
            Whether the ids of svmlight text begin at 0.
        names : iterable of str or None
            Names of the columns.
        memory : int
            Bytes to work with, about; some numbers for each row and column come on top.
        n_jobs : int or None
            Threads that parse text: None is 1, -1 all cores.
        progress : callable or None
            Called with "rows" or "columns" and the number of rows that are done.
        overwrite : bool
            Whether to replace a store of this name.

        Returns
        -------
        Store

        Raises
        ------
        StoreError
            If there is something of that name, another process writes it, or the source is broken.
        OSError
            If the disk is full, or the folder not writable.
        """
        if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype={dtype!r} must be float32 or float64, or None")
        if not isinstance(memory, int | np.integer) or memory < LEAST_MEMORY:
            raise ValueError(f"memory={memory!r} must be a number of bytes, {LEAST_MEMORY} or more")
        target = Path(os.path.abspath(path))
        with new_folder(target, overwrite=overwrite) as folder:
            given = given_by(
                source, y, memory=int(memory), n_features=n_features, zero_based=zero_based,
                n_jobs=n_jobs,
            )  # fmt: skip
            with closing(given.blocks):
                build(
                    folder, target, given, dtype=dtype, n_features=n_features, names=names,
                    memory=int(memory), progress=progress,
                )  # fmt: skip
        store = cls(target)
        store._remember("row", "column")
        return store

    # --------------------------------------------------------------------------------- the arrays

    @property
    def y(self) -> NDArray[Any] | None:
        """The labels, if there are any; strings if that is what they were."""
        if "classes" not in self._arrays:
            return self._arrays.get("labels")
        if self._y is None:
            if fault := self._fault_of_labels():
                raise StoreError(self.path, f"{fault}; make the store anew")
            self._y = frozen(self._words("classes")[self._arrays["labels"]])
        return self._y

    @property
    def names(self) -> NDArray[np.str_] | None:
        """The names of the columns, if they have any."""
        return self._words("names") if "names" in self._arrays else None

    def _words(self, name: str) -> NDArray[np.str_]:
        """Names or classes, once they are known to be text: NumPy does not look."""
        words = self._arrays[name]
        if name not in self._sound:
            if fault := _fault_of_words(name, words):
                raise StoreError(self.path, f"{fault}; make the store anew")
            self._sound.add(name)
        return words

    @property
    def norms(self) -> NDArray[np.float64]:
        """The Euclidean norms of the rows."""
        return self._arrays["norms"]

    @property
    def means(self) -> NDArray[np.float64]:
        """The means of the columns."""
        return self._arrays["means"]

    def view(self, side: Literal["row", "column"], *, inspect: bool = True) -> Rows:
        """The rows or the columns as kernels read them, inspected unless they are known.

        Parameters
        ----------
        side : {"row", "column"}
            Which of them.
        inspect : bool
            Whether dense data are read once, if need be, to check that they are finite. Sparse data
            are in any case: kernels index memory by them.
        """
        lines = self._lines(side)
        if (inspect or self.sparse) and side not in self._sound:
            if not is_known(self._key(side)) and (fault := inspected(lines)):
                raise StoreError(self.path, f"the {side}s are damaged: {fault}; make it anew")
            self._remember(side)
        return lines

    def _lines(self, side: str) -> Rows:
        values = self._arrays[f"{side}_values"]
        if not self.sparse:
            return Dense(values)
        other, width = ("columns", 1) if side == "row" else ("rows", 0)
        indices = self._arrays[f"{side}_{other}"]
        starts = self._arrays[f"{side}_starts"].view(np.uint64)
        unsigned = indices.view(np.uint32 if indices.itemsize == 4 else np.uint64)
        return Csr(values, unsigned, starts, self.shape[width])

    def _key(self, side: str) -> str:
        names = sorted(name for name in self._files if name.startswith(f"{side}_"))
        return fingerprint((side, *self.shape), (self._files[name] for name in names))

    def _remember(self, *sides: str) -> None:
        for side in sides:
            self._sound.add(side)
            remember(self._key(side))

    # ------------------------------------------------------------------------------------- checks

    def verify(self) -> None:
        """Read everything and compare it with what was written.

        All digests; offsets and indices in order and in range; finite values; the columns against
        the rows, entry by entry; norms and means.

        Raises
        ------
        StoreError
            With all that was found in its ``problems``.
        """
        problems = wrong_files(self.path, self._manifest)
        sides = self._lines("row"), self._lines("column")
        problems += differences(*sides, self.norms, self.means)
        faults = [self._fault_of_labels()]
        for name in {"names", "classes"} & set(self._arrays):
            faults.append(_fault_of_words(name, self._arrays[name]))
        problems += filter(None, faults)
        if problems:
            raise StoreError(self.path, *problems)
        self._remember("row", "column")

    def _fault_of_labels(self) -> str:
        labels, classes = self._arrays.get("labels"), self._arrays.get("classes")
        if labels is not None and not np.isfinite(labels).all():
            return "the labels are not finite"
        if labels is not None and classes is not None:
            least, most = int(labels.min()), int(labels.max())
            if least < 0 or most >= len(classes):
                return f"labels go from {least} to {most}, but there are {len(classes)} classes"
        return ""

    # ------------------------------------------------------------------------------ rows at a time

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, chosen: Any) -> Any:
        """Some rows, copied to memory: an array, or a CSR matrix."""
        if isinstance(chosen, tuple):
            chosen, *rest = chosen
            if any(part is not Ellipsis and part != slice(None) for part in rest):
                raise IndexError("a store gives whole rows: index its columns afterwards")
        index = np.arange(self.shape[0])[chosen]
        if index.ndim != 1:
            raise IndexError("a store gives rows by a slice, a mask or an array of numbers")
        rows = take(self.view("row", inspect=False), index)
        if isinstance(rows, Dense):
            return np.array(rows.values)
        parts = (rows.values, rows.columns.view(np.int32), rows.starts.view(np.int64))
        from scipy.sparse import csr_matrix

        return csr_matrix(parts, shape=rows.shape, copy=True)

    def blocks(self, rows: int = 10_000) -> Iterator[tuple[Any, NDArray[Any] | None]]:
        """Pairs (X, y) of so many rows, copied to memory, in order.

        Parameters
        ----------
        rows : int
            Rows of a block; the last may have fewer.
        """
        for first in range(0, self.shape[0], rows):
            some = slice(first, first + rows)
            yield self[some], None if self.y is None else self.y[some]

    def __reduce__(self) -> tuple[Any, ...]:
        return open_store, (self.path,)

    def __repr__(self) -> str:
        n, d = self.shape
        kind = f"sparse, {self.entries} entries" if self.sparse else "dense"
        labels = "with labels" if self.y is not None else "without labels"
        return f"<Store of {n} x {d}, {kind}, {self.dtype}, {labels}>"


def _fault_of_words(name: str, words: NDArray[np.str_]) -> str:
    text = (words.view(np.uint32) <= MOST_OF_TEXT).all()
    return "" if text else f"{name}.npy holds numbers that stand for no character"


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open a store: its files are mapped to memory, not read.

    Parameters
    ----------
    path : path
        The folder that `Store.create` made.

    Returns
    -------
    Store

    Raises
    ------
    StoreError
        If it is none, is not complete, or was made by a newer version. Changed bytes are found by
        `Store.verify`, and by the first use where they could do harm.

    Examples
    --------
    >>> import tempfile
    >>> from skimlearn import Store, open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = Store.create(folder + "/data", [[1.0, 2.0]])
    ...     store = open_store(folder + "/data")
    >>> store.shape, store.means
    ((1, 2), array([1., 2.]))
    """
    return Store(path)
