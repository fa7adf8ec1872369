"""A folder of stores, one for each partition, for workers that share a disk."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from skimlearn.data.store import Store, StoreError

__all__ = ["write_partitions"]


def write_partitions(
    path: Any, source: Any, y: Any = None, *, partitions: int, **options: Any
) -> list[Store]:
    """Write a folder of stores; store k has the rows k, k + partitions, k + 2 partitions, ...

    Rows are dealt out, so that each partition is like the whole, whatever their order. All of it is
    written into another folder beside, which is renamed at the end; it needs room for two
    copies on the disk, and memory for one partition.

    Parameters
    ----------
    path : path
        The folder to make.
    source, y, **options
        As for `Store.create`.
    partitions : int
        How many.

    Returns
    -------
    list of Store

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stores = write_partitions(folder + "/parts", np.eye(5), [1, 2, 3, 4, 5], partitions=2)
    ...     [store.y.tolist() for store in stores]
    [[1, 3, 5], [2, 4]]
    """
    target = Path(os.path.abspath(path))
    if isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1:
        raise ValueError(f"partitions={partitions!r} must be a whole number, 1 or more")
    if os.path.lexists(target):
        raise StoreError(target, "it exists already: a folder of stores is not replaced; remove it")
    if not target.parent.is_dir():
        raise StoreError(target, "the folder it is to be in does not exist: make it first")
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        whole = Store.create(partial / "whole", source, y, **options)
        n = whole.shape[0]
        if partitions > n:
            raise ValueError(f"partitions={partitions} is more than the {n} rows there are")
        width = len(str(partitions - 1))
        for k in range(partitions):
            some = slice(k, None, partitions)
            y = None if whole.y is None else whole.y[some]
            Store.create(partial / f"part-{k:0{width}d}", whole[some], y, names=whole.names)
        shutil.rmtree(partial / "whole")
        os.chmod(partial, 0o755)
        os.rename(partial, target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return [Store(folder) for folder in sorted(target.iterdir())]
