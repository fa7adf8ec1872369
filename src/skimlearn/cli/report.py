"""``skim report``: a page about models that works offline."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from skimlearn.cli._command import command
from skimlearn.cli._inputs import as_classes, fitted, kind_of, read
from skimlearn.cli._models import load_model, writable, writing
from skimlearn.cli._output import Output, facts, size
from skimlearn.cli._reading import Reading

__all__ = ["report"]


@command("report", panel="Tools", reads=("labels", "target", "missing", "zero_based"))
def report(
    out: Output,
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Saved models.")],
    reading: Reading,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")
    ] = "-",
    test: Annotated[
        str | None, typer.Option(metavar="DATA", help="Rows to test the models on.")
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Rows that they learned from: margins, a summary."),
    ] = None,
    path: Annotated[
        bool, typer.Option("--path", help="With --train: the weights against alpha, learned anew.")
    ] = False,
) -> None:
    """Write an HTML page: certificates, convergence, weights and, with --test, predictions.

    Several models are shown side by side. Without -o the page goes to standard output.
    """
    if output == "-" and out.as_json:
        raise typer.BadParameter("--json and a page on standard output: give -o FILE")
    writable(None if output == "-" else output)
    from skimlearn import report as pages
    from skimlearn.report._paths import path_of

    reading.check(*(kind_of(rows) for rows in (test, train) if rows is not None))
    if reading.labels is not None and test is None:
        raise typer.BadParameter("--labels belong to rows of --test DATA")
    if path and train is None:
        raise typer.BadParameter("--path learns from rows: give --train DATA")
    entries = []
    for file in models:
        model = load_model(file)
        names = getattr(model, "feature_names_in_", None)
        more: dict[str, Any] = {}
        if test is not None:
            held = read(test, reading, names=names)
            more |= {"X": fitted(held.X, model.n_features_in_), "y": _targets(model, held.y)}
        if train is not None:
            held = read(train, replace(reading, labels=None), names=names)
            if held.y is None and not hasattr(model, "radius_"):  # a ball needs none
                raise ValueError(f"{train}: the rows have no labels: make a store with them first")
            X, y = fitted(held.X, model.n_features_in_), _targets(model, held.y)
            more |= {"X_train": X, "y_train": y}
            if path:
                more["regularization_path"] = path_of(model, X, y)
        entries.append(pages.Entry(model, name=Path(file).stem, **more))
    if output == "-":
        sys.stdout.write(pages.page(entries))
        return
    with writing(output):
        pages.write(entries, output)
    length = Path(output).stat().st_size
    out.tell(
        {
            "command": "report",
            "models": models,
            "output": output,
            "bytes": length,
            "again": out.line,
        },
        facts([("written", output), ("models", f"{len(models)}"), ("size", size(length))]),
    )


def _targets(model: Any, y: Any) -> Any:
    """The labels as the model has learned them."""
    return as_classes(y) if y is not None and hasattr(model, "classes_") else y
