"""The files of a store and its manifest: what they may say, and how they are opened.

A manifest comes from a file that anybody may have written. It holds no paths: the name of an array
is one of a few, and its file is called after it. Types, shapes and sizes must be those that the
kind of store asks for, and those in the header and of the file itself, before anything is mapped.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import stat
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Entry", "Manifest", "StoreError", "digest_of_file", "header_of", "open_array"]

FORMAT, VERSION = "skimlearn store", 1
MANIFEST = "manifest.json"
LONGEST_MANIFEST = 2**20  # bytes; one of version 1 has some 2,000
HEADER = 128  # bytes of an .npy header that is written
LARGEST = 2**63 - 1

SPARSE = (
    "row_values", "row_columns", "row_starts", "column_values", "column_rows", "column_starts",
)  # fmt: skip
DENSE = ("row_values", "column_values")
ALWAYS = ("norms", "means")
OPTIONAL = ("labels", "names", "classes")
FILES = (*(f"{name}.npy" for name in (*SPARSE, *ALWAYS, *OPTIONAL)), MANIFEST)


class StoreError(ValueError):
    """A store that is damaged, incomplete, of a newer version or busy, or data it can't hold.

    Attributes
    ----------
    problems : list of str
        All that was found.

    Examples
    --------
    >>> from skimlearn import open_store
    >>> try:
    ...     open_store("no/such/store")
    ... except StoreError as error:
    ...     print(error.problems)
    ['there is no such folder: make the store with Store.create']
    """

    def __init__(self, path: Any, *problems: str) -> None:
        super().__init__(path, *problems)
        self.path, self.problems = os.fspath(path), list(problems)

    def __str__(self) -> str:
        return f"{self.path}: {'; '.join(self.problems)}"


@dataclass(frozen=True)
class Entry:
    """What a manifest says of one array."""

    dtype: str
    shape: tuple[int, ...]
    size: int  # of the file, in bytes
    digest: str  # blake2b of the data, then of the header, which is written last


@dataclass(frozen=True)
class Manifest:
    """What a store holds."""

    sparse: bool
    shape: tuple[int, int]
    entries: int  # stored
    arrays: dict[str, Entry]

    def to_bytes(self) -> bytes:
        content: dict[str, Any] = {"format": FORMAT, "version": VERSION, **asdict(self)}
        content["digest"] = _digest(content)
        return json.dumps(content, indent=1).encode()

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a folder, checked; errors are those of the folder."""
        if not folder.is_dir():
            there = "it is not a folder" if folder.exists() else "there is no such folder"
            raise StoreError(folder, f"{there}: make the store with Store.create")
        try:
            with _plain_file(folder, MANIFEST) as file:
                text = file.read(LONGEST_MANIFEST + 1)
        except FileNotFoundError:
            problem = f"it has no {MANIFEST}, so it is no store, or one that was not finished"
            raise StoreError(folder, f"{problem}: make it anew with Store.create") from None
        try:
            return cls._checked(_parsed(text))
        except _WrongError as error:
            raise StoreError(folder, f"{MANIFEST} {error}") from error

    @classmethod
    def _checked(cls, content: dict[str, Any]) -> Manifest:
        shape: Any = content.get("shape")
        entries: Any = content.get("entries")
        if not (_is_shape(shape) and len(shape) == 2 and _is_shape([entries])):
            raise _WrongError("has no sound shape and entries")
        sparse, arrays = content.get("sparse"), content.get("arrays")
        if not isinstance(sparse, bool) or not isinstance(arrays, dict):
            raise _WrongError("does not say whether it is sparse, or which arrays there are")
        manifest = cls(sparse, (shape[0], shape[1]), entries, {})
        if 0 in shape or (not sparse and entries != math.prod(shape)):
            raise _WrongError(f"has the shape {tuple(shape)} and {entries} entries")
        for name in arrays:
            if not re.fullmatch("[a-z_]{1,40}", name):
                raise _WrongError(f"names an array {name[:60]!r}, which is no plain name")
        for name in manifest.names(arrays):
            if name not in arrays:
                raise _WrongError(f"lacks the array {name!r}")
            manifest.arrays[name] = manifest._entry(name, arrays[name])
        if len({manifest.arrays[f"{side}_values"].dtype for side in ("row", "column")}) > 1:
            raise _WrongError("gives rows and columns different types")
        labels = manifest.arrays.get("labels")
        if "classes" in manifest.arrays and (labels is None or labels.dtype != "<i8"):
            raise _WrongError("has classes without labels that are their numbers")
        return manifest

    def names(self, given: Any = ()) -> list[str]:
        """The arrays that such a store has; optional ones if they are among the given."""
        needed = (*(SPARSE if self.sparse else DENSE), *ALWAYS)
        return [*needed, *(name for name in OPTIONAL if name in given)]

    def _entry(self, name: str, said: Any) -> Entry:
        if not isinstance(said, dict):
            raise _WrongError(f"says nothing of the array {name!r}")
        dtype: Any
        shape: Any
        dtype, shape, size, digest = (said.get(k) for k in ("dtype", "shape", "size", "digest"))
        kind, wanted = self.expected(name)
        if not isinstance(dtype, str) or not re.fullmatch(kind, dtype):
            raise _WrongError(f"gives {name!r} the type {str(dtype)[:60]!r}")
        if name == "classes" and _is_shape(shape) and len(shape) == 1 and shape[0] > 0:
            wanted = tuple(shape)  # the one number that does not follow from others
        if not _is_shape(shape) or tuple(shape) != wanted:
            raise _WrongError(f"gives {name!r} the shape {str(shape)[:60]} instead of {wanted}")
        if type(size) is not int or not isinstance(digest, str):
            raise _WrongError(f"gives {name!r} no size or no digest")
        return Entry(dtype, wanted, size, digest)

    def expected(self, name: str) -> tuple[str, tuple[int, ...]]:
        """The types that an array may have, as a pattern, and its shape."""
        n, d = self.shape
        numbers = "<f[48]"
        if not self.sparse and name in DENSE:
            return numbers, (n, d) if name == "row_values" else (d, n)
        return {
            "row_values": (numbers, (self.entries,)),
            "column_values": (numbers, (self.entries,)),
            "row_columns": ("<i4", (self.entries,)),
            "column_rows": ("<i4" if n < 2**31 else "<i8", (self.entries,)),
            "row_starts": ("<i8", (n + 1,)),
            "column_starts": ("<i8", (d + 1,)),
            "norms": ("<f8", (n,)),
            "means": ("<f8", (d,)),
            "labels": ("<[fi]8", (n,)),
            "names": ("<U[1-9][0-9]{0,4}", (d,)),
            "classes": ("<U[1-9][0-9]{0,4}", ()),
        }[name]


class _WrongError(Exception):
    """What is wrong with a manifest."""


def _digest(content: dict[str, Any]) -> str:
    rest = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _parsed(text: bytes) -> dict[str, Any]:
    if len(text) > LONGEST_MANIFEST:
        raise _WrongError(f"is longer than {LONGEST_MANIFEST} bytes")
    try:
        content = json.loads(text.decode())
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON
        raise _WrongError(f"can't be read ({type(error).__name__}): it is damaged") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise _WrongError(f"is not that of a store: its format is not {FORMAT!r}")
    version = content.get("version")
    if type(version) is not int or version < 1:
        raise _WrongError("has no sound version: it is damaged")
    if version > VERSION:
        raise _WrongError(
            f"is of version {version}, but this skimlearn reads stores up to version {VERSION}: "
            "use a newer skimlearn"
        )
    try:
        sound = content.get("digest") == _digest(content)
    except (ValueError, RecursionError):
        sound = False
    if not sound:
        raise _WrongError("does not have the digest it says: it was changed")
    return content


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and all(type(k) is int and 0 <= k < LARGEST for k in shape)


# ----------------------------------------------------------------------------------------- arrays


def header_of(dtype: str, shape: tuple[int, ...]) -> bytes:
    """The header of an .npy file, of one length for all shapes."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape!r}, }}"
    length = HEADER - 10
    text = text.ljust(length - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.encode("latin-1")


def open_array(folder: Path, name: str, entry: Entry) -> tuple[NDArray[Any], os.stat_result]:
    """Map an array of a store to memory, read-only, once its size and header are right."""
    file_name = f"{name}.npy"
    try:
        with _plain_file(folder, file_name) as file:
            found = os.fstat(file.fileno())
            if found.st_size != entry.size:
                problem = f"{file_name} has {found.st_size} bytes instead of {entry.size}"
                raise StoreError(folder, f"{problem}: it was cut off or changed; make it anew")
            if file.read(HEADER) != header_of(entry.dtype, entry.shape):
                raise StoreError(folder, f"{file_name} has a header that is not the manifest's")
            dtype = np.dtype(entry.dtype)
            if entry.size != HEADER + dtype.itemsize * math.prod(entry.shape):
                raise StoreError(folder, f"{file_name} is too short or too long for its shape")
            if 0 in entry.shape:
                return np.empty(entry.shape, dtype), found
            return np.memmap(file, dtype, "r", HEADER, entry.shape), found
    except FileNotFoundError:
        raise StoreError(folder, f"{file_name} is missing: make the store anew") from None


def digest_of_file(folder: Path, name: str) -> str:
    """The digest of an array's file, from reading all of it."""
    digest, piece = hashlib.blake2b(digest_size=16), bytearray(2**22)
    with _plain_file(folder, f"{name}.npy") as file:
        header = file.read(HEADER)
        while count := file.readinto(piece):
            digest.update(memoryview(piece)[:count])
    digest.update(header)
    return digest.hexdigest()


def _plain_file(folder: Path, name: str) -> io.FileIO:
    """Open a file of a folder that is neither a link, which may lead anywhere, nor a device."""
    path = folder / name
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise StoreError(folder, f"{name} is not a plain file: links and the like are not followed")
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return io.FileIO(os.open(path, flags), "r")
