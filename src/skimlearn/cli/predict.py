"""``skim predict``: labels, scores or probabilities for rows."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from skimlearn.cli._command import command
from skimlearn.cli._inputs import Input, blocks, kind_of
from skimlearn.cli._models import load_model, writable, writing
from skimlearn.cli._output import Output, facts
from skimlearn.cli._reading import Reading

__all__ = ["predict"]

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A saved model.")]


@command("predict", panel="Models", reads=("missing", "zero_based"))
def predict(
    out: Output,
    model: Model,
    data: Input,
    reading: Reading,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to; else standard output."),
    ] = None,
    scores: Annotated[
        bool,
        typer.Option(
            "--scores", metavar="", help="Write scores: of the second class, or of each class."
        ),
    ] = False,
    proba: Annotated[
        bool,
        typer.Option("--proba", metavar="", help="Write the probability of each class (log loss)."),
    ] = False,
) -> None:
    """Predict a label for each row: one in each line, as they are read.

    Several numbers in a line are separated by tabs, below a line that names the classes.
    """
    if scores and proba:
        raise typer.BadParameter("--scores and --proba: give one of them")
    writable(output)
    loaded = load_model(model)
    reading.check(kind_of(data))
    answer, head = _wanted(loaded, scores, proba)
    kept: list[Any] = []
    rows = 0
    with _lines(output, out) as write:
        if head:
            write(head + "\n")
        for X, _ in blocks(data, loaded, reading):
            values = answer(X)
            rows += len(values)
            if out.as_json and output is None:
                kept += values.tolist()
            else:
                write("".join(_texts(values)))
    document = {"command": "predict", "model": model, "data": data, "rows": rows, "output": output}
    if output is None:
        out.tell(document | ({"predictions": kept} if out.as_json else {}))
    else:
        out.tell(document, facts([("rows", f"{rows:,}"), ("written", output)]))


def _wanted(model: Any, scores: bool, proba: bool) -> tuple[Callable[[Any], Any], str]:
    """The method that gives what is wanted, and the line above it if there are several columns."""
    if proba:
        if not hasattr(model, "classes_"):
            raise ValueError(f"a {type(model).__name__} has no probabilities: leave --proba out")
        try:
            method = model.predict_proba
        except AttributeError as error:
            raise ValueError(str(error.__cause__ or error)) from None
        return method, "\t".join(map(str, model.classes_.tolist()))
    if not scores:
        return model.predict, ""
    if not hasattr(model, "decision_function"):
        return model.predict, ""
    several = hasattr(model, "coef_") and len(model.coef_) > 1
    return model.decision_function, "\t".join(map(str, model.classes_.tolist())) * several


def _texts(values: Any) -> Iterator[str]:
    """A line for each row, numbers in as many digits as they have."""
    if values.ndim > 1:
        for row in values.tolist():
            yield "\t".join(map(_text, row)) + "\n"
    else:
        for value in values.tolist():
            yield _text(value) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


@contextlib.contextmanager
def _lines(output: str | None, out: Output) -> Iterator[Callable[[str], Any]]:
    """Where lines go: to a file that appears when it is complete, or to standard output."""
    if output is None:
        yield sys.stdout.write
        return
    from skimlearn.data._replacing import replacing

    with writing(output), replacing(output) as file:
        yield lambda text: file.write(text.encode("utf-8"))
