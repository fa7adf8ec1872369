"""What is wrong with svmlight text, and where: said once, so that it need not be fast."""

from __future__ import annotations

from typing import NamedTuple

from skimlearn.data import _svmlight_room as codes
from skimlearn.data._svmlight_room import Rules

__all__ = ["Fault", "SvmlightError", "as_error", "describe", "repeated"]

SHOWN = 40  # bytes of what was found instead


class SvmlightError(ValueError):
    r"""Text that is not in the svmlight format, or not as it was said to be.

    Attributes
    ----------
    path : str
        The name of the file.
    line : int
        The line, counted from 1.
    column : int or None
        The byte in the line, counted from 1; None if it is the line as a whole.

    Examples
    --------
    >>> from skimlearn import read_svmlight
    >>> try:
    ...     read_svmlight(b"+1 1:0.5\n-1 1:x\n")
    ... except SvmlightError as error:
    ...     print(error)
    <bytes>, line 2, column 6: expected the value of an id, a number as in 3:0.5, but found 'x'
    """

    def __init__(self, message: str, path: str, line: int, column: int | None) -> None:
        super().__init__(message, path, line, column)
        self.path, self.line, self.column = path, line, column

    def __str__(self) -> str:
        column = "" if self.column is None else f", column {self.column}"
        return f"{self.path}, line {self.line}{column}: {self.args[0]}"


class Fault(NamedTuple):
    """What is wrong with a line of a block of text."""

    line: int  # counted from 0 in the block
    column: int | None  # counted from 1
    message: str


def describe(kind: int, text: bytearray, position: int, length: int, rules: Rules) -> Fault:
    """The fault of a kind at a position of a text."""
    token = _token(text, position, length)
    if kind in (codes.SMALL_ID, codes.LARGE_ID):
        token = token.partition(b":")[0]
    found = _shown(token)
    least, most = int(rules.least), int(rules.most)
    if kind == codes.LARGE_ID and most >= 2**63 - 2:
        message = f"id {found} is too large: ids go up to {most}"
    else:
        message = {
            codes.NO_LABEL: f"expected a label, a number, but found {found}",
            codes.MANY_LABELS: f"expected one label, but found {found}: use multilabel=True",
            codes.NO_QUERY: f"expected qid:number after the label, but found {found}: "
            "use query_id=False if some lines have none",
            codes.BAD_QUERY: f"expected qid: and a whole number below 2^63, but found {found}",
            codes.NO_ID: f"expected an id and its value, as in 3:0.5, but found {found}",
            codes.NO_COLON: f"expected a colon and a value after an id, as in 3:0.5, "
            f"but found {found}",
            codes.NO_VALUE: f"expected the value of an id, a number as in 3:0.5, but found {found}",
            codes.SMALL_ID: f"id {found} is below {least}: use zero_based=True if ids begin at 0",
            codes.LARGE_ID: f"id {found} is beyond {most}, the last that n_features allows: "
            "make it larger, or None to take it from the file",
            codes.NOT_FINITE: f"{found} is not a finite number (or beyond all doubles): "
            "use finite=False to take it",
        }[kind]
    start = text.rfind(b"\n", 0, position) + 1
    return Fault(text.count(b"\n", 0, position), position - start + 1, message)


def repeated(text: bytearray, length: int, row: int) -> Fault:
    """The fault of a row in which an id is repeated."""
    start = line = 0
    while True:
        end = text.index(b"\n", start, length)
        content = bytes(text[start:end]).partition(b"#")[0]
        if content.strip():
            if row == 0:
                break
            row -= 1
        start, line = end + 1, line + 1
    seen: dict[int, int] = {}
    at = 0
    for token in content.split():
        at = content.index(token, at)
        name, colon, _ = token.partition(b":")
        if colon and name.isdigit():
            if int(name) in seen:
                break
            seen[int(name)] = at
        at += len(token)
    message = (
        f"the id {int(name)} is there twice, here and in column {seen[int(name)] + 1}: "
        "each may be given once in a line"
    )
    return Fault(line, at + 1, message)


def _token(text: bytearray, position: int, length: int) -> bytes:
    end = position
    while end < min(length, position + SHOWN + 1) and text[end] not in b" \t\n\v\f\r#":
        end += 1
    return bytes(text[position:end])


def _shown(token: bytes) -> str:
    if not token:
        return "the end of the line"
    return repr(token[:SHOWN])[1:] + ("..." if len(token) > SHOWN else "")


def as_error(fault: Fault, path: str, lines_before: int) -> SvmlightError:
    """The error of a fault in a block behind so many lines."""
    return SvmlightError(fault.message, path, lines_before + fault.line + 1, fault.column)
