"""``skim report``: a page about models that works offline."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from skimlearn.cli._command import command
from skimlearn.cli._inputs import fitted, kind_of, read
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
) -> None:
    """Write an HTML page: certificates, convergence, weights and, with --test, predictions.

    Several models are shown side by side. Without -o the page goes to standard output.
    """
    if output == "-" and out.as_json:
        raise typer.BadParameter("--json and a page on standard output: give -o FILE")
    writable(None if output == "-" else output)
    from skimlearn import report as pages

    reading.check(*([] if test is None else [kind_of(test)]))
    if reading.labels is not None and test is None:
        raise typer.BadParameter("--labels belong to rows of --test DATA")
    entries = []
    for path in models:
        model = load_model(path)
        rows: dict[str, Any] = {}
        if test is not None:
            held = read(test, reading, names=getattr(model, "feature_names_in_", None))
            rows = {"X": fitted(held.X, model.n_features_in_), "y": held.y}
        entries.append(pages.Entry(model, name=Path(path).stem, **rows))
    if output == "-":
        sys.stdout.write(pages.page(entries))
        return
    with writing(output):
        pages.write(entries, output)
    length = Path(output).stat().st_size
    again = shlex.join(["skim", "report", *models, "-o", output])
    out.tell(
        {"command": "report", "models": models, "output": output, "bytes": length, "again": again},
        facts([("written", output), ("models", f"{len(models)}"), ("size", size(length))]),
    )
