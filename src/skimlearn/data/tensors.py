"""Files of named arrays in the safetensors format, read with suspicion.

    8 bytes     the length N of the header, little-endian
    N bytes     JSON: {name: {"dtype", "shape", "data_offsets"}, ..., "__metadata__": {text: text}}
    the rest    the arrays, little-endian, in row order, without gaps and without overlaps

Nothing in such a file is ever executed, and no more memory is taken than the file is long. The
reader is stricter than the format: a name may not come twice. See
https://huggingface.co/docs/safetensors and docs/decisions/0012-models.md.
"""

from __future__ import annotations

import json
import math
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from skimlearn.data._replacing import as_path

__all__ = [
    "ModelError",
    "parse_json",
    "read_open_tensors",
    "read_tensors",
    "version",
    "write_tensors",
]

Array = NDArray[Any]

DEEPEST = 100  # layers of JSON
DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "I8": np.dtype("i1"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
}
NAMES = {dtype.newbyteorder("="): name for name, dtype in DTYPES.items()}
METADATA = "__metadata__"
LONGEST_HEADER = 100_000_000  # bytes; what the format's own library allows
MOST_AXES = 8
ALIGNMENT = 8  # where arrays begin, so that a reader may map them into memory


class ModelError(ValueError):
    """A file is no model that can be read, or a model can't be written to such a file.

    Examples
    --------
    >>> import tempfile, skimlearn
    >>> with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
    ...     skimlearn.load(file.name)
    Traceback (most recent call last):
    skimlearn.data.tensors.ModelError: ...: the file is empty
    """


def write_tensors(file: IO[bytes], tensors: Mapping[str, Array], metadata: dict[str, str]) -> None:
    """Write named arrays and texts; the same ones always give the same bytes."""
    arrays = {name: np.asarray(array) for name, array in tensors.items()}
    header: dict[str, Any] = {METADATA: metadata}
    start = 0
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # each one aligned
    for name in order:
        array = arrays[name]
        stop = start + array.nbytes
        header[name] = {
            "dtype": NAMES[array.dtype.newbyteorder("=")],
            "shape": list(array.shape),
            "data_offsets": [start, stop],
        }
        start = stop
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % ALIGNMENT)
    if len(text) > LONGEST_HEADER:
        raise ModelError(
            f"the header would take {len(text)} bytes, and the format allows {LONGEST_HEADER}"
        )
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in order:
        dtype = arrays[name].dtype.newbyteorder("<")
        file.write(np.ascontiguousarray(arrays[name], dtype=dtype).data)


def read_tensors(path: Any) -> tuple[dict[str, Array], dict[str, str]]:
    """The arrays and the texts of a file; a `ModelError` if anything about it is wrong."""
    name = as_path(path)
    if not stat.S_ISREG(os.stat(name).st_mode):
        raise ModelError(f"{name} is not a file")
    with open(name, "rb") as file:
        try:
            return read_open_tensors(file)
        except ModelError as error:
            raise ModelError(f"{name}: {error}") from error.__cause__


def read_open_tensors(file: IO[bytes]) -> tuple[dict[str, Array], dict[str, str]]:
    """The same, of an open file, from its beginning."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    header = _read_header(file, size)
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ModelError(f"the {METADATA} of the header must be an object of texts")
    entries = sorted((_check_entry(n, entry) for n, entry in header.items()), key=lambda e: e[3:])
    end = 0
    for name, _, _, start, stop in entries:
        if start != end:
            raise ModelError(f"the array {name!r} begins at byte {start}, not at {end}")
        end = stop
    left = size - file.tell()
    if end != left:
        raise ModelError(
            f"the header speaks of {end} bytes of arrays, but {left} follow it: the file is "
            + ("cut off" if end > left else "longer than it should be")
        )
    return {name: _read_array(file, name, dtype, shape) for name, dtype, shape, *_ in entries}, (
        metadata
    )


def _read_header(file: IO[bytes], size: int) -> dict[str, Any]:
    if size == 0:
        raise ModelError("the file is empty")
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, LONGEST_HEADER):
        raise ModelError(
            f"its first bytes announce a header of {length} bytes, of {size} in all: the file is "
            "cut off, or not of the safetensors format"
        )
    header = parse_json(file.read(length), "the header")
    if not isinstance(header, dict):
        raise ModelError(f"the header must be a JSON object, not {type(header).__name__}")
    return header


def parse_json(text: str | bytes, what: str) -> Any:
    """JSON as its standard has it: no name twice in an object, no NaN; and not nested too deep."""
    try:
        found = json.loads(
            text if isinstance(text, str) else text.decode("utf-8"),
            object_pairs_hook=_without_twins,
            parse_constant=_refuse,
        )
    except ModelError as error:
        raise ModelError(f"{what} {error}") from None
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are such
        raise ModelError(f"{what} is not JSON: {_short(error)}") from None
    layer = [found]
    for _ in range(DEEPEST):
        layer = [part for whole in layer for part in _parts(whole)]
    if layer:
        raise ModelError(f"{what} is nested too deep")
    return found


def _parts(whole: Any) -> Iterable[Any]:
    if isinstance(whole, dict):
        return whole.values()
    return whole if isinstance(whole, list) else ()


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twin = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ModelError(f"has the name {_short(repr(twin))} twice")
    return found


def _refuse(word: str) -> Any:
    raise ModelError(f"holds {word}, which is not JSON")


def _check_entry(name: str, entry: Any) -> tuple[str, np.dtype[Any], tuple[int, ...], int, int]:
    shown = _short(repr(name))
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ModelError(f"the array {shown} must have a dtype, a shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelError(
            f"the array {shown} is of the dtype {_short(repr(dtype))}, not one of {sorted(DTYPES)}"
        )
    if not _are_sizes(shape) or len(shape) > MOST_AXES:
        raise ModelError(f"the array {shown} has the shape {_short(repr(shape))}")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ModelError(f"the array {shown} has the data_offsets {_short(repr(offsets))}")
    needed = math.prod(shape) * DTYPES[dtype].itemsize
    if offsets[1] - offsets[0] != needed:
        raise ModelError(
            f"the array {shown} has {offsets[1] - offsets[0]} bytes, but its shape needs {needed}"
        )
    return name, DTYPES[dtype], tuple(shape), offsets[0], offsets[1]


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value <= sys.maxsize for value in values
    )


def _read_array(file: IO[bytes], name: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    try:
        array = np.empty(shape, dtype=np.uint8 if dtype == np.bool_ else dtype)
    except (ValueError, MemoryError) as error:
        raise ModelError(f"the array {name!r} of shape {shape} is too large") from error
    if file.readinto(array.reshape(-1).view(np.uint8).data) != array.nbytes:  # type: ignore[attr-defined]
        raise ModelError(f"the file ended inside of the array {name!r}")
    if dtype == np.bool_:
        if array.size and array.max() > 1:
            raise ModelError(f"the array {name!r} holds bytes that are neither true nor false")
        return array.view(np.bool_)
    return array.astype(dtype.newbyteorder("="), copy=False)


def version() -> str:
    """The version of this package, whose top no module of it imports."""
    return str(sys.modules["skimlearn"].__version__)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
