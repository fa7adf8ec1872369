"""Checkpoints of a stream: the state of the methods, and where the stream was, in one file.

A safetensors file as those of models (`saving`), with the arrays of every method and, as the text
"skimlearn.stream" of its metadata, a JSON object. It takes its name when all of it is on the disk,
so that there is always a whole one. Nothing in it is executed; parameters are compared as texts.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skimlearn.data._replacing import as_path, replacing
from skimlearn.data._stream_blocks import Block
from skimlearn.data.ledger import Reads
from skimlearn.data.rows import Csr, checksum, frozen
from skimlearn.data.tensors import ModelError, parse_json, read_tensors, version, write_tensors
from skimlearn.estimators._packing import (
    Tensors,
    pack_classes,
    pack_texts,
    unpack_classes,
    unpack_texts,
)
from skimlearn.estimators._packing_results import pack_history, unpack_history
from skimlearn.result import Record

__all__ = ["Position", "digest", "read_state", "write_state"]

KEY = "skimlearn.stream"
FORMAT = 1
PARAMETERS = (
    "loss", "alpha", "p", "radius", "bias", "solver", "average", "batch_size", "random_state",
    "class_weight",
)  # fmt: skip
NAMES = "feature_names_in_"


@dataclass
class Position:
    """Where a stream is: what has passed by, and how well it was predicted."""

    blocks: int = 0
    rows: int = 0
    digest: str = ""  # of the last block
    total: list[float] = field(default_factory=lambda: [0.0, 0.0])  # losses, errors
    recent: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])  # rows, losses, errors

    def add(self, blocks: int, rows: int, loss: float, error: float) -> None:
        """Count a block, the last of so many, with the sums of its losses and errors."""
        self.blocks, self.rows = blocks, self.rows + rows
        self.total = [self.total[0] + loss, self.total[1] + error]
        self.recent = [self.recent[0] + rows, self.recent[1] + loss, self.recent[2] + error]


def digest(block: Block) -> str:
    """A number that tells blocks apart."""
    y, (n, d) = np.asarray(block.y), block.rows.shape
    text = str(y.tolist()).encode() if y.dtype.hasobject else b""
    targets = zlib.crc32(text or np.ascontiguousarray(y).view(np.uint8).data)
    return f"{n}x{d}:{checksum(block.rows, targets):08x}"


def write_state(path: Any, model: Any, at: Position, history: list[Record], seconds: float) -> None:
    """Write a checkpoint in the place of the former one."""
    tensors: Tensors = {}
    attributes: dict[str, Any] = {}
    for k, stream in enumerate(model._streams):
        tensors |= {f"streams.{k}.{name}": array for name, array in stream.dump().items()}
    if hasattr(model, "classes_"):
        pack_classes(np.asarray(model.classes_), tensors, attributes)
    if hasattr(model, NAMES):
        attributes[NAMES] = pack_texts(np.asarray(model.feature_names_in_, object), NAMES, tensors)
    pack_history(history, "stream", tensors)
    tensors["stream.sums"] = np.array([*at.total, *at.recent])
    description = {
        "format": FORMAT,
        "version": version(),
        "class": type(model).__name__,
        "parameters": _parameters(model),
        "attributes": attributes,
        "n_features_in_": int(model.n_features_in_),
        "n_rows_seen_": int(model.n_rows_seen_),
        "position": [at.blocks, at.rows, at.digest],
        "seconds": seconds,
        "reads": [[s.reads.dense, s.reads.nnz] for s in model._streams],
        "rng": model._stream_rng.bit_generator.state,
    }
    with replacing(path) as file:
        write_tensors(file, tensors, {KEY: json.dumps(description)})


def read_state(path: Any, model: Any) -> tuple[Position, list[Record], float]:
    """Give a model the state of a checkpoint; return where the stream was, the history, seconds."""
    tensors, metadata = read_tensors(path)
    name = as_path(path)
    if KEY not in metadata:
        raise ModelError(f"{name}: the file has arrays, but no checkpoint of a stream")
    try:
        description = parse_json(metadata[KEY], "the description")
        if description["format"] != FORMAT:
            raise ModelError(
                f"the format is {description['format']!r}, and this skimlearn ({version()}) reads "
                f"{FORMAT}; the file is from skimlearn {description['version']!r}"
            )
        _compare(model, description)
        return _restored(model, description, tensors)
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
        found = str(error) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
        raise ModelError(
            f"{name}: no checkpoint that can be taken up: {found}; remove it to begin anew"
        ) from error


def _parameters(model: Any) -> dict[str, str]:
    """What decides the steps, as texts; a generator of random numbers is not told by its text."""
    values = {name: getattr(model, name) for name in PARAMETERS if hasattr(model, name)}
    seed = values["random_state"]
    if not (seed is None or isinstance(seed, int | np.integer)):
        values["random_state"] = "a generator"
    return {name: repr(value) for name, value in values.items()}


def _compare(model: Any, description: dict[str, Any]) -> None:
    if description["class"] != type(model).__name__:
        raise ModelError(f"it is of a {description['class']}, not of a {type(model).__name__}")
    for name, value in _parameters(model).items():
        if description["parameters"][name] != value:
            raise ModelError(
                f"it was made with {name}={description['parameters'][name]}, not {name}={value}: "
                "resume with the same parameters"
            )


def _restored(
    model: Any, description: dict[str, Any], tensors: Tensors
) -> tuple[Position, list[Record], float]:
    attributes, d = description["attributes"], int(description["n_features_in_"])
    fitted: dict[str, Any] = {"n_features_in_": d}
    fitted["n_rows_seen_"] = int(description["n_rows_seen_"])
    if hasattr(model, "class_weight"):
        fitted |= {"classes_": unpack_classes(tensors, attributes), "multilabel_": False}
    if NAMES in attributes:
        fitted[NAMES] = unpack_texts(attributes[NAMES], NAMES, tensors)
    history = unpack_history("stream", tensors)
    empty = np.zeros(0)
    starts = frozen(np.zeros(2, dtype=np.uint64))
    rows = Csr(frozen(empty), frozen(np.zeros(0, dtype=np.uint32)), starts, d)
    nothing = model._problem(rows, np.zeros(1), np.ones(1), np.ones(1))
    streams = []
    for k, reads in enumerate(description["reads"]):
        head = f"streams.{k}."
        arrays = {
            name[len(head) :]: tensors.pop(name) for name in list(tensors) if name.startswith(head)
        }
        stream = model._new_stream()
        stream.restore(arrays, Reads(*(int(count) for count in reads)), nothing)
        streams.append(stream)
    rng = np.random.default_rng(0)
    rng.bit_generator.state = description["rng"]
    blocks, passed, code = description["position"]
    sums = tensors["stream.sums"].tolist()
    position = Position(int(blocks), int(passed), str(code), sums[:2], sums[2:])
    vars(model).update(fitted, _streams=streams, _stream_rng=rng)
    return position, history, float(description["seconds"])
