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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from skimlearn.data._store_arrays import StoreArrays
from skimlearn.data._store_build import build
from skimlearn.data._store_folder import new_folder
from skimlearn.data._store_format import StoreError
from skimlearn.data._store_sources import given_by
from skimlearn.data.rows import Dense, take

__all__ = ["Store", "StoreError", "open_store"]

MEMORY = 2**28
LEAST_MEMORY = 2**16


class Store(StoreArrays):
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
