"""``skim ingest``, ``skim check`` and ``skim info``: data sets on disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from skimlearn.cli._command import command
from skimlearn.cli._inputs import kind_of, open_table, read, read_labels
from skimlearn.cli._models import by_labels, described, facts_of, load_model, writing
from skimlearn.cli._output import Output, facts, seconds, size
from skimlearn.cli._progress import Progress
from skimlearn.cli._reading import LABELLED, Reading

__all__ = ["check", "info", "ingest"]


@command("ingest", panel="Data", takes=["Store.create"], reads=LABELLED[:-1])
def ingest(
    out: Output,
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...", help="Files (svmlight, .npy, .npz, tables), or - for standard input."
        ),
    ],
    store: Annotated[str, typer.Argument(metavar="STORE", help="The folder to make.")],
    parameters: dict[str, Any],
    reading: Reading,
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1, help="Deal the rows out to so many stores, in a folder: for a cluster."
        ),
    ] = None,
) -> None:
    """Make a store of files: by rows and by columns, larger than memory, opened at once.

    Several files are put one behind the other. The store appears when it is complete.
    """
    from skimlearn import Store

    if partitions is not None and parameters.get("overwrite"):
        raise typer.BadParameter("--overwrite is for one store: a folder of stores is not replaced")
    parameters = {"n_jobs": -1} | parameters
    began = time.perf_counter()
    y = None if reading.labels is None else read_labels(reading.labels)
    source = _source(inputs, y, reading, parameters)
    with Progress(out, "ingesting") as progress, writing(store):
        if partitions is not None:
            from skimlearn.distributed.splitting import write_partitions

            parameters["progress"] = progress.built
            stores = write_partitions(store, source, y, partitions=partitions, **parameters)
        else:
            made = Store.create(store, source, y, progress=progress.built, **parameters)
    passed = time.perf_counter() - began
    if partitions is not None:
        rows = sum(part.shape[0] for part in stores)
        out.tell(
            {"command": "ingest", "store": store, "partitions": partitions, "rows": rows,
             "columns": stores[0].shape[1], "seconds": passed},
            facts([("folder", store), ("stores", f"{partitions:,}"), ("rows", f"{rows:,}"),
                   ("total", seconds(passed))]),
        )  # fmt: skip
        return
    out.tell(
        {"command": "ingest", "store": store, **_shape(made), "seconds": passed},
        facts([("store", store), *_lines(made), ("total", seconds(passed))]),
    )


def _source(inputs: list[str], y: Any, reading: Reading, parameters: dict[str, Any]) -> Any:
    """What `Store.create` takes: one file as it is, or the blocks of several."""
    kinds = [kind_of(path) for path in inputs]
    reading.check(*kinds)
    if len(inputs) == 1 and kinds[0] != "stdin":
        if kinds[0] == "store":
            return read(inputs[0]).X
        if kinds[0] == "table":
            return open_table(inputs[0], reading)
        return _with_labels(inputs[0]) if kinds[0] == "npz" and y is None else inputs[0]
    if y is not None:
        raise typer.BadParameter("--labels is for one .npy or .npz file")
    names = None
    if set(kinds) == {"table"}:  # the others are encoded as the first is
        names = open_table(inputs[0], reading).names
        parameters["names"] = names
    return _blocks(inputs, kinds, reading, names, parameters)


def _with_labels(path: str) -> Any:
    """A file of `scipy.sparse.save_npz` as it is; of arrays X and y, a block of both."""
    import zipfile

    if not zipfile.is_zipfile(path):
        return path  # which will be told
    with zipfile.ZipFile(path) as archive:
        if "X.npy" not in archive.namelist():
            return path
    data = read(path)
    return iter([(data.X, data.y)])


def _blocks(
    inputs: list[str], kinds: list[str], reading: Reading, names: Any, parameters: dict[str, Any]
) -> Iterator[tuple[Any, Any]]:
    import sys

    from skimlearn import iter_svmlight

    for path, kind in zip(inputs, kinds, strict=True):
        if kind in ("stdin", "svmlight"):
            source: Any = getattr(sys.stdin, "buffer", sys.stdin) if kind == "stdin" else path
            options = {k: v for k, v in parameters.items() if k in ("n_features", "zero_based")}
            for block in iter_svmlight(source, rows=None, n_jobs=parameters["n_jobs"], **options):
                yield block[0], block[1]
        elif kind == "store":
            yield from read(path).X.blocks()
        elif kind == "table":
            yield from open_table(path, reading, names)
        else:
            data = read(path)
            yield data.X, data.y


@command("check", panel="Data")
def check(
    out: Output, store: Annotated[str, typer.Argument(metavar="STORE", help="A store.")]
) -> None:
    """Read all of a store and compare it with what was written: digests, order, both directions."""
    from skimlearn import open_store

    began = time.perf_counter()
    with Progress(out, "checking"):
        found = open_store(store)
        found.verify()
    passed = time.perf_counter() - began
    out.tell(
        {"command": "check", "store": store, "sound": True, **_shape(found), "seconds": passed},
        facts([("store", store), *_lines(found), ("sound", f"yes, in {seconds(passed)}")]),
    )


@command("info", panel="Data", reads=LABELLED[1:])
def info(
    out: Output,
    thing: Annotated[str, typer.Argument(metavar="PATH", help="A store, a model or a data file.")],
    reading: Reading,
) -> None:
    """Say what a store, a model or a file of data holds."""
    if thing != "-" and not Path(thing).is_dir() and _is_model(thing):
        reading.check()
        model = load_model(thing)
        lines, made_by = facts_of(model), model.result_.command
        if made_by:
            lines.append(("made by", made_by))
        document = {"command": "info", "path": thing, **described(model), "made_by": made_by}
        out.tell(document, facts(lines))
        return
    reading.check(kind_of(thing))
    data = read(thing, reading)
    found = _shape(data.X) if data.kind == "store" else _matrix(data.X)
    found |= _labels(data.y)
    lines = _lines(data.X) if data.kind == "store" else _matrix_lines(found)
    if found["labels"]:
        kind = "classes" if found["classes"] else "numbers"
        lines.append(("labels", f"{found['distinct_labels']:,} different values, {kind}"))
    out.tell(
        {"command": "info", "path": thing, "kind": data.kind, **found},
        facts([("path", thing), ("kind", data.kind), *lines]),
    )


def _is_model(path: str) -> bool:
    """Whether a file begins as a model does: a length and a JSON object, or liblinear's."""
    with open(path, "rb") as file:
        start = file.read(12)
    return start.startswith(b"solver_type") or start[8:9] == b"{"


def _shape(store: Any) -> dict[str, Any]:
    n, d = store.shape
    return {
        "rows": n,
        "columns": d,
        "sparse": store.sparse,
        "entries": store.entries,
        "dtype": str(store.dtype),
        "labels": store.y is not None,
        "bytes": sum(file.stat().st_size for file in Path(store.path).iterdir()),
    }


def _lines(store: Any) -> list[tuple[str, str]]:
    found = _shape(store)
    return [*_matrix_lines(found), ("on disk", size(found["bytes"]))]


def _matrix(X: Any) -> dict[str, Any]:
    sparse = hasattr(X, "nnz")
    return {
        "rows": X.shape[0],
        "columns": X.shape[1] if X.ndim > 1 else 1,
        "sparse": sparse,
        "entries": int(X.nnz if sparse else X.size),
        "dtype": str(X.dtype),
    }


def _matrix_lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    kind = "sparse" if found["sparse"] else "dense"
    return [
        ("shape", f"{found['rows']:,} x {found['columns']:,}, {kind}, {found['dtype']}"),
        ("entries", f"{found['entries']:,}"),
    ]


def _labels(y: Any) -> dict[str, Any]:
    if y is None:
        return {"labels": False}
    import numpy as np

    return {
        "labels": True,
        "distinct_labels": len(np.unique(y)),
        "classes": by_labels(y)[0] == "LinearClassifier",
    }
