"""Pieces of the data, made on the workers, from whatever Dask and this library know.

================================  ==============================================================
dask array, dask dataframe        a piece for each block of rows
list of delayed blocks            the same; y is a list, too, or each block is a pair (X, y)
Store, or its path                ranges of its rows, each read by the worker that has it
folder of stores                  a piece for each (``skim ingest --partitions``)
array, sparse matrix              dealt out: piece k gets every K-th row
================================  ==============================================================

With ``partitions`` neighbouring blocks are put together until there are no more than that.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from skimlearn.data.store import Store, open_store
from skimlearn.data.triple import one_matrix
from skimlearn.distributed._pieces import Facts, as_targets, facts_of, piece_of, store_piece
from skimlearn.distributed._team import Cluster

__all__ = ["is_collection", "make_team"]

PIECES = 8  # of data that have no partitions of their own


def make_team(
    client: Any, X: Any, y: Any, sample_weight: Any, *, labels: bool | None, partitions: int | None
) -> tuple[Cluster, list[Facts]]:
    """The pieces on their way, and what they are; those without rows are left out."""
    if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
        raise ValueError(f"partitions={partitions!r} must be a whole number, 1 or more, or None")
    if isinstance(X, Store):
        X = str(X.path)
    if isinstance(X, str | os.PathLike):
        if y is not None or sample_weight is not None:
            raise ValueError("a store has its own labels: leave y and sample_weight out")
        tasks = _of_stores(Path(X), partitions)
        function: Any = store_piece
    else:
        tasks = _of_blocks(*_blocks(X, y, sample_weight, partitions), partitions)
        function = piece_of
    team = Cluster(client, [])
    pieces = [
        team._submit("piece", function, k, *_resolved(client, task), labels=labels)
        for k, task in enumerate(tasks)
    ]
    team = Cluster(client, pieces, team.stop)
    facts = team.fetch(team.each("facts", facts_of, labels=bool(labels)))
    kept = [k for k, fact in enumerate(facts) if fact.n > 0]
    if not kept:
        raise ValueError("X has no rows: at least one is needed")
    widths = sorted({facts[k].d for k in kept})
    if len(widths) > 1 or widths[0] == 0:
        raise ValueError(f"the partitions of X have {widths} columns: all must have the same")
    team = Cluster(client, [pieces[k] for k in kept], team.stop)
    team.balance()
    return team, [facts[k] for k in kept]


def is_collection(X: Any) -> bool:
    """Whether these are data of Dask, whose predictions are to be lazy."""
    return hasattr(X, "__dask_graph__")


def _resolved(client: Any, task: tuple[Any, ...]) -> list[Any]:
    """Delayed values as futures, so that a task can take them."""
    return [client.compute(item) if is_collection(item) else item for item in task]


def _of_stores(path: Path, partitions: int | None) -> list[tuple[Any, ...]]:
    folders = sorted(p.parent for p in path.glob("*/manifest.json"))
    if (path / "manifest.json").exists() or not folders:
        n = open_store(path).shape[0]  # which says what is wrong if it is none
        edges = np.linspace(0, n, min(n, partitions or PIECES) + 1).astype(int).tolist()
        where = os.path.abspath(path)
        return [(where, a, b) for a, b in pairwise(edges)]
    if partitions is not None and partitions != len(folders):
        raise ValueError(
            f"partitions={partitions}, but {path} holds {len(folders)} stores, each of which is a "
            "partition: leave it out"
        )
    return [(os.path.abspath(folder), 0, None) for folder in folders]


def _blocks(X: Any, y: Any, weights: Any, partitions: int | None) -> tuple[Any, Any, Any]:
    """Lists of blocks of all three."""
    if hasattr(X, "to_delayed") and hasattr(X, "dask"):
        return _of_collection(X, y, weights)
    if isinstance(X, list | tuple) and len(X) and (is_collection(X[0]) or hasattr(X[0], "key")):
        count = len(X)
        y_blocks = [None] * count if y is None else list(y)
        w_blocks = [None] * count if weights is None else list(weights)
        if len(y_blocks) != count or len(w_blocks) != count:
            raise ValueError(
                f"X has {count} blocks, y {len(y_blocks)} and sample_weight {len(w_blocks)}"
            )
        return list(X), y_blocks, w_blocks
    rows: Any = X if hasattr(X, "iloc") or hasattr(X, "tocsr") else np.asarray(X)
    rows = rows.tocsr() if hasattr(rows, "tocsr") else rows
    if rows.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, not shape {rows.shape}")
    n = rows.shape[0]
    ys: Any = None if y is None else as_targets(y)
    if ys is not None and len(ys) != n:
        raise ValueError(f"X has {n} rows, and y has {len(ys)}")
    count = min(max(n, 1), partitions or PIECES)
    cuts = [slice(k, None, count) for k in range(count)]  # dealt out: rows may be in any order
    ws: Any = None if weights is None else np.asarray(weights)
    return (
        [rows.iloc[cut] if hasattr(rows, "iloc") else rows[cut] for cut in cuts],
        [None if ys is None else ys[cut] for cut in cuts],
        [None if ws is None else ws[cut] for cut in cuts],
    )


def _of_collection(X: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    if getattr(X, "ndim", 2) != 2:
        raise ValueError(f"X must have two dimensions, rows and columns, but has {X.ndim}")
    frame = not hasattr(X, "chunks")
    if not frame and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})  # whole rows
    blocks = X.to_delayed()
    blocks = list(blocks) if frame else list(blocks[:, 0])
    lengths = None if frame or np.isnan(X.chunks[0]).any() else X.chunks[0]
    return (
        blocks,
        _split(y, len(blocks), lengths, "y"),
        _split(weights, len(blocks), lengths, "sample_weight"),
    )


def _split(v: Any, count: int, lengths: Any, name: str) -> list[Any]:
    """Targets or weights, cut as the rows are."""
    if v is None:
        return [None] * count
    if hasattr(v, "to_delayed") and hasattr(v, "dask"):
        if hasattr(v, "chunks"):
            if v.ndim == 2 and v.shape[1] == 1:
                v = v[:, 0]
            elif v.ndim == 2 and v.numblocks[1] > 1:
                v = v.rechunk({1: -1})  # a matrix of labels
            if lengths is not None and not np.isnan(v.chunks[0]).any() and v.chunks[0] != lengths:
                if sum(v.chunks[0]) != sum(lengths):
                    raise ValueError(f"X has {sum(lengths)} rows, and {name} {sum(v.chunks[0])}")
                v = v.rechunk({0: lengths})
        parts = list(v.to_delayed().ravel()) if hasattr(v, "chunks") else list(v.to_delayed())
        if len(parts) != count:
            raise ValueError(
                f"X has {count} blocks of rows, and {name} has {len(parts)}: cut both the same way"
            )
        return parts
    if lengths is None:
        raise ValueError(
            f"{name} must be a collection of Dask, cut as X is: its rows are not known"
        )
    values = as_targets(v)
    if len(values) != sum(lengths):
        raise ValueError(f"X has {sum(lengths)} rows, and {name} has {len(values)}")
    return np.split(values, np.cumsum(lengths)[:-1])


def _of_blocks(
    X: Sequence[Any], y: Sequence[Any], weights: Sequence[Any], partitions: int | None
) -> list[tuple[Any, ...]]:
    """The blocks, or neighbours put together."""
    if partitions is None or partitions >= len(X):
        return list(zip(X, y, weights, strict=True))
    from dask import delayed

    groups = np.array_split(np.arange(len(X)), partitions)

    def together(items: Sequence[Any], group: Any, function: Any) -> Any:
        some = [items[k] for k in group]
        return None if some[0] is None else delayed(function, pure=False)(some)

    return [
        (together(X, g, _one_block), together(y, g, _joined), together(weights, g, _joined))
        for g in groups
    ]


def _one_block(blocks: Sequence[Any]) -> Any:
    """The rows of several blocks, which may be pairs (X, y), or frames."""
    if isinstance(blocks[0], tuple):
        return _one_block([b[0] for b in blocks]), _joined([b[1] for b in blocks])
    if hasattr(blocks[0], "iloc"):
        import pandas

        return pandas.concat(blocks)
    return one_matrix(blocks)


def _joined(parts: Sequence[Any]) -> Any:
    return np.concatenate([as_targets(part) for part in parts])
