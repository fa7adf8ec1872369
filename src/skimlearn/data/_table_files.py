"""Files of columns, some rows of some columns at a time: Parquet, Arrow IPC (Feather) and CSV.

What a file is, is seen from its first bytes, not from its name; whatever has no sign of another
format is CSV. pyarrow reads them. Arrow files hold offsets and indices that nobody has looked at
before, so every batch is validated in full before it is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from skimlearn.data._decompress import BrokenError
from skimlearn.data._text_blocks import Source, open_source

__all__ = ["Csv", "TableError", "has_magic", "is_csv_name", "open_file", "told"]

BLOCK = 2**20  # bytes of text; pyarrow reads some 30 ahead, and no row may be longer than one
PARQUET, ARROW, STREAM, FEATHER_1 = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"
DELIMITERS = ",\t;|"


class TableError(ValueError):
    r"""A table that is damaged or in no known format, or a value that can't be used.

    Attributes
    ----------
    path : str
        The file.
    column : str or None
        The name of the column, if it is one.
    row : int or None
        The row, if it is one, counted from 0; the header of a CSV file is not among them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skimlearn import TableError, read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.csv")
    ...     _ = path.write_text("age,size\n3,5\n4,\n")
    ...     try:
    ...         read_table(path)
    ...     except TableError as error:
    ...         print(error.column, error.row, error.args[0])
    size 1 a value is missing: drop the row, or set missing to a number to put there
    """

    def __init__(
        self, message: str, path: str, column: str | None = None, row: int | None = None
    ) -> None:
        super().__init__(message, path, column, row)
        self.path, self.column, self.row = path, column, row

    def __str__(self) -> str:
        column = "" if self.column is None else f", column {self.column!r}"
        row = "" if self.row is None else f", row {self.row}"
        return f"{self.path}{column}{row}: {self.args[0]}"


@contextmanager
def told(path: str, names: Sequence[str] = ()) -> Iterator[None]:
    """Whatever pyarrow finds wrong with a file, as an error of ours; the system's errors pass.

    ``names`` are those of the columns of a CSV file, which pyarrow knows by number.
    """
    import pyarrow as pa

    try:
        yield
    except TableError:
        raise
    except OSError as error:
        if error.errno is not None:
            raise
        raise TableError(f"the file is damaged: {_one_line(error)}", path) from error
    except (pa.ArrowException, BrokenError, ValueError, TypeError, KeyError, IndexError) as error:
        raise _as_error(path, _one_line(error), names) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def _as_error(path: str, text: str, names: Sequence[str]) -> TableError:
    """What pyarrow says of the text of a CSV file has the place in it."""
    place = re.match(
        r"(?:In CSV column #(\d+): )?(?:CSV parse error: )?(?:Row #(\d+): )?(?:CSV conversion )?",
        text,
    )
    assert place is not None  # the pattern matches anything
    column = int(place[1]) if place[1] else len(names)
    row = max(0, int(place[2]) - 2) if place[2] else None
    if "straddl" in text:
        text = f"a row is longer than {BLOCK} bytes, or a quotation mark is not closed"
        return TableError(text, path)
    text = text[place.end() :]
    if "invalid value" in text:
        text += ": the rows before had other values; encode the column as 'one-hot' or 'number'"
    return TableError(text, path, names[column] if column < len(names) else None, row)


def has_magic(path: str | os.PathLike[str]) -> bool:
    """Whether the first bytes of a file are those of Parquet or Arrow."""
    with open(path, "rb") as file:
        return file.read(6).startswith((PARQUET, ARROW, STREAM, FEATHER_1))


def open_file(path: str | os.PathLike[str]) -> Parquet | Arrow | Csv:
    """A file of columns, whatever its format."""
    name = os.fspath(path)
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError("tables are read by pyarrow: pip install skimlearn[tables]") from None
    with open(name, "rb") as file:
        magic = file.read(6)
    if not magic:
        raise TableError("the file is empty", name)
    if magic.startswith(FEATHER_1):
        raise TableError("it is in version 1 of Feather: save it anew with version 2", name)
    with told(name):
        if magic.startswith(PARQUET):
            return Parquet(name)
        if magic.startswith((ARROW, STREAM)):
            return Arrow(name, stream=magic.startswith(STREAM))
        return Csv(name)


class Parquet:
    """A Parquet file, read page by page."""

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq

        self.path = path
        with pq.ParquetFile(path) as file:
            self.schema = file.schema_arrow

    def batches(self, types: dict[str, Any], rows: int) -> Generator[Any, None, None]:
        """Batches of at most so many rows of these columns."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = list(types)
        words = [name for name in columns if pa.types.is_string(self.schema.field(name).type)]
        with (
            told(self.path),
            pq.ParquetFile(
                self.path, buffer_size=2**20, pre_buffer=False,
                read_dictionary=[name for name in words if types[name] != "text"],
            ) as file,
        ):  # fmt: skip
            for batch in file.iter_batches(rows, columns=columns):
                yield _checked(self.path, batch, columns)


class Arrow:
    """A file or a stream of Arrow's own format, mapped to memory; Feather is the former."""

    def __init__(self, path: str, *, stream: bool) -> None:
        self.path, self.stream = path, stream
        with closing(self._mapped()) as file:
            self.schema = self._reader(file).schema

    def _mapped(self) -> Any:
        import pyarrow as pa

        return pa.memory_map(self.path)

    def _reader(self, file: Any) -> Any:
        from pyarrow import ipc

        return (ipc.open_stream if self.stream else ipc.open_file)(file)

    def batches(self, types: dict[str, Any], rows: int) -> Generator[Any, None, None]:
        """Batches of at most so many rows of these columns."""
        columns = list(types)
        with told(self.path), closing(self._mapped()) as file:
            reader = self._reader(file)  # of all columns: to choose some would copy these
            for batch in reader if self.stream else _each(reader):
                whole = _checked(self.path, batch, columns)
                for first in range(0, whole.num_rows, rows):
                    yield whole.slice(first, rows)


def _each(reader: Any) -> Iterator[Any]:
    return (reader.get_batch(k) for k in range(reader.num_record_batches))


class Csv:
    """Text with a header and one row in each line, compressed or not."""

    def __init__(self, path: str) -> None:
        self.path = path
        with closing(_File(path)) as file:
            header = file.first_line()
        self.delimiter = _delimiter(header)
        with self._reader(None) as reader:
            self.schema = reader.schema
        if self.schema.names and all(map(_is_number, self.schema.names)):
            raise TableError(
                "the first line holds numbers: put the names of the columns there", path
            )

    @contextmanager
    def _reader(self, types: dict[str, Any] | None) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        convert = csv.ConvertOptions()
        if types is not None:
            known = {"text": pa.string(), "word": pa.string(), "number": pa.float64()}
            convert.include_columns = list(types)
            logical = {n for n in types if self.schema.field(n).type == pa.bool_()}
            convert.column_types = {
                name: known[kind]
                for name, kind in types.items()
                if kind and not (kind == "number" and name in logical)
            }
        with closing(_File(self.path)) as file:
            reader = csv.open_csv(
                file, csv.ReadOptions(block_size=BLOCK, use_threads=False),
                csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True), convert,
            )  # fmt: skip
            try:
                yield reader
            finally:
                reader.close()

    def batches(self, types: dict[str, Any], rows: int) -> Generator[Any, None, None]:
        """Batches of at most so many rows of these columns."""
        with told(self.path, self.schema.names), self._reader(types) as reader:
            for batch in reader:
                for first in range(0, batch.num_rows, rows):
                    yield batch.slice(first, rows)


class _File:
    """Text as pyarrow wants it, decompressed."""

    closed = False

    def __init__(self, path: str) -> None:
        self.source: Source = open_source(path)

    def read(self, size: int = BLOCK) -> bytes:
        if self.closed:
            return b""
        data, have = bytearray(size), 0
        with memoryview(data) as view:
            while have < size and (more := self.source.fill(view[have:])):
                have += more
        return bytes(data[:have])

    def first_line(self) -> str:
        return self.read(2**16).split(b"\n", 1)[0].decode("utf-8-sig", "replace")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
        self.source.close()


def _delimiter(header: str) -> str:
    """What parts the names of a header: the sign that it has most of."""
    plain = re.sub('"[^"]*"', "", header)
    return max(DELIMITERS, key=plain.count)


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _checked(path: str, batch: Any, columns: list[str]) -> Any:
    """The columns of a batch, once all that they hold was looked at."""
    import pyarrow as pa

    for name in columns:
        try:
            batch.column(name).validate(full=True)
        except pa.ArrowInvalid as error:
            raise TableError(f"the column is damaged: {_one_line(error)}", path, name) from error
    return batch.select(columns)


def is_csv_name(path: str | os.PathLike[str]) -> bool:
    """Whether a name is that of a CSV file, compressed or not."""
    name = re.sub(r"\.(gz|bz2|xz|zst)$", "", os.fspath(path).lower())
    return name.endswith((".csv", ".tsv"))
