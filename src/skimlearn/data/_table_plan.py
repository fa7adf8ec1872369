"""What becomes of the columns of a table: numbers, categories, hashed categories or hashed words.

The names of the features say all of it, so that a second table can be encoded as the first was:

===========  ===============================================================
``age``      a column of numbers
``city=Rom`` one-hot: 1 in the rows whose value is this one
``city#17``  one of the places that the values of a column are hashed to
``body~17``  one of the places that the words of a column are hashed to
===========  ===============================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skimlearn.data._table_files import Arrow, Csv, Parquet, TableError

__all__ = ["CLASSES", "NUMBERS", "Plan", "categories", "plan_of", "plan_of_names", "target_kind"]

ENCODINGS = ("number", "one-hot", "hash", "text", "drop")
SIGNS = {"one-hot": "=", "hash": "#", "text": "~"}
MOST_CATEGORIES = 2**16
LONGEST_CATEGORY = 256  # characters
WIDEST = 2**31 - 1
NUMBERS, CLASSES = "numbers", "classes"  # kinds of targets


@dataclass
class Plan:
    """Columns by what becomes of them, in the order of the features."""

    numbers: list[str] = field(default_factory=list)
    choices: dict[str, list[str]] = field(default_factory=dict)  # one-hot: the categories
    hashed: dict[str, int] = field(default_factory=dict)  # how many places there are
    texts: dict[str, int] = field(default_factory=dict)
    dtype: Any = np.float64

    @property
    def sparse(self) -> bool:
        return bool(self.choices or self.hashed or self.texts)

    @property
    def width(self) -> int:
        places = sum(self.hashed.values()) + sum(self.texts.values())
        return len(self.numbers) + sum(map(len, self.choices.values())) + places

    def names(self) -> list[str]:
        """The names of the features."""
        found = list(self.numbers)
        for name, values in self.choices.items():
            found += [f"{name}={value}" for value in values]
        for sign, hashed in (("#", self.hashed), ("~", self.texts)):
            for name, buckets in hashed.items():
                found += [f"{name}{sign}{k}" for k in range(buckets)]
        return found

    def types(self) -> dict[str, str]:
        """How each column is to be read."""
        found = dict.fromkeys(self.numbers, "number")
        found |= dict.fromkeys([*self.choices, *self.hashed], "word")
        return found | dict.fromkeys(self.texts, "text")

    def add(self, name: str, kind: str, buckets: int) -> None:
        if kind == "number":
            self.numbers.append(name)
        elif kind == "one-hot":
            self.choices[name] = []
        elif kind in ("hash", "text"):
            (self.hashed if kind == "hash" else self.texts)[name] = buckets


def plan_of(
    file: Parquet | Arrow | Csv, target: str | None, encode: Mapping[str, str], buckets: int
) -> Plan:
    """What becomes of each column, from its type and from what the user wants."""
    columns = _columns(file, [*encode, *([] if target is None else [target])])
    plan = Plan()
    for name, kind in columns.items():
        wanted = encode.get(name)
        if wanted is not None and wanted not in ENCODINGS:
            raise ValueError(
                f"encode={{{name!r}: {wanted!r}}}: a column is encoded as {', '.join(ENCODINGS)}"
            )
        if not name and wanted != "drop":
            problem = "a column has no name, as the index of a pandas frame: encode={'': 'drop'}"
            raise TableError(f"{problem} leaves it out", file.path, name)
        if name != target:
            if wanted is None or (wanted != "drop" and _is_opaque(file, kind)):
                wanted = _usual(file, name, kind)
            plan.add(name, wanted, buckets)
    plan.dtype = _dtype(file, plan.numbers)
    return plan


def _columns(file: Parquet | Arrow | Csv, needed: Iterable[str]) -> dict[str, Any]:
    """The types of the columns by name, but for the index of a pandas frame."""
    names = file.schema.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise TableError("two columns have this name: rename one", file.path, twice)
    if lost := [name for name in needed if name not in names]:
        there = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise TableError(f"there is no such column; there are {there}", file.path, lost[0])
    found = dict(zip(names, file.schema.types, strict=True))
    return {n: t for n, t in found.items() if not re.fullmatch(r"__index_level_\d+__", n)}


def _usual(file: Parquet | Arrow | Csv, name: str, kind: Any) -> str:
    """What becomes of a column if the user does not say it."""
    if _is_number(kind):
        return "number"
    if _is_text(kind) or _is_dictionary(kind) or (isinstance(file, Csv) and str(kind) == "binary"):
        return "one-hot"
    drop = f"it holds {kind}: give encode={{{name!r}: 'drop'}} to leave it out"
    if _is_opaque(file, kind):
        raise TableError(f"{drop}, or turn it into columns of numbers first", file.path, name)
    other = "'one-hot' or 'hash' to take its values as categories"
    raise TableError(f"{drop}, {other}, or turn it into numbers first", file.path, name)


def _is_opaque(file: Parquet | Arrow | Csv, kind: Any) -> bool:
    """Whether the values of a column are neither numbers nor anything that is written as text."""
    from pyarrow import types

    nested = types.is_nested(kind) or types.is_union(kind) or types.is_duration(kind)
    return bool(nested or ("binary" in str(kind) and not isinstance(file, Csv)))


def target_kind(file: Parquet | Arrow | Csv, target: str, encode: Mapping[str, str]) -> str:
    """Whether the targets are numbers or names of classes."""
    kind = file.schema.field(target).type
    wanted = encode.get(target)
    if wanted not in (None, "number"):
        raise ValueError(f"encode={{{target!r}: {wanted!r}}}: the target can be 'number' only")
    if _is_dictionary(kind):
        kind = kind.value_type
    if wanted == "number" or _is_number(kind):
        return NUMBERS
    if _is_text(kind):
        return CLASSES
    raise TableError(f"it holds {kind}: targets are numbers or strings", file.path, target)


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _is_dictionary(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_dictionary(kind))


def _dtype(file: Parquet | Arrow | Csv, numbers: list[str]) -> Any:
    """Single precision if there are such numbers and it holds all of them, else double."""
    import pyarrow as pa

    small = (pa.float16(), pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.null())
    kinds = {file.schema.field(name).type for name in numbers}
    single = pa.float32() in kinds and kinds <= {pa.float32(), *small}
    return np.float32 if single else np.float64


# ------------------------------------------------------------------------ as another table was read


def plan_of_names(file: Parquet | Arrow | Csv, target: str | None, names: Iterable[str]) -> Plan:
    """The plan that gave these names to the features of another table."""
    features = [str(name) for name in names]
    columns = _columns(file, [] if target is None else [target])
    plan, counts = Plan(), dict[tuple[str, str], int]()
    for feature in features:
        name, kind, value = _origin(feature, columns, file.path)
        if (name, kind) not in counts:
            plan.add(name, kind, 0)
        counts[name, kind] = counts.get((name, kind), 0) + 1
        if kind == "one-hot":
            plan.choices[name].append(value)
    for hashed, kind in ((plan.hashed, "hash"), (plan.texts, "text")):
        for name in hashed:
            hashed[name] = counts[name, kind]
    if plan.names() != features:
        raise ValueError("names must be those of another table, all of them and in their order")
    plan.dtype = _dtype(file, plan.numbers)
    return plan


def _origin(feature: str, columns: dict[str, Any], path: str) -> tuple[str, str, str]:
    """The column that a feature is made from, how, and the category."""
    if feature in columns:
        return feature, "number", ""
    for kind, sign in SIGNS.items():
        parts = feature.split(sign)
        for k in range(len(parts) - 1, 0, -1):  # a value, or a name, may have the sign in it
            name, value = sign.join(parts[:k]), sign.join(parts[k:])
            if name in columns and (kind == "one-hot" or value.isdecimal()):
                return name, kind, value
    raise TableError(f"no column gives the feature {feature!r} that names asks for", path)


# -------------------------------------------------------------------------------------- first pass


def categories(
    file: Parquet | Arrow | Csv, columns: list[str], words: Any, rows: int
) -> dict[str, list[str]]:
    """The values that occur in some columns, sorted; ``words`` finds those of an array."""
    found: dict[str, set[str]] = {name: set() for name in columns}
    if not columns:
        return {}
    done = 0
    for batch in file.batches(dict.fromkeys(columns, "word"), rows):
        for name in columns:
            here, _ = words(batch, name, done)
            found[name].update(word for word in here if word is not None)
            _bound(found[name], here, file.path, name)
        done += batch.num_rows
    return {name: sorted(values) for name, values in found.items()}


def _bound(values: set[str], here: list[str | None], path: str, name: str) -> None:
    remedy = f"use encode={{{name!r}: 'text'}} for words, 'hash', or 'drop' to leave it out"
    if len(values) > MOST_CATEGORIES:
        raise TableError(f"it has more than {MOST_CATEGORIES} categories: {remedy}", path, name)
    if max((len(word) for word in here if word is not None), default=0) > LONGEST_CATEGORY:
        raise TableError(
            f"a category has more than {LONGEST_CATEGORY} characters: {remedy}", path, name
        )
