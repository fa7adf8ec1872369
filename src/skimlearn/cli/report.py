"""``skim report``: a page about models that works offline."""

from __future__ import annotations

import importlib
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from skimlearn.cli._command import command
from skimlearn.cli._inputs import Labels, Target, ZeroBased, fitted, read
from skimlearn.cli._models import load_model, writable
from skimlearn.cli._output import Output, facts, size

__all__ = ["report"]


@command("report", panel="Tools")
def report(
    out: Output,
    models: Annotated[list[str], typer.Argument(metavar="MODEL...", help="Saved models.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")
    ] = "-",
    test: Annotated[
        str | None, typer.Option(metavar="DATA", help="Rows to test the models on.")
    ] = None,
    labels: Labels = None,
    target: Target = None,
    zero_based: ZeroBased = False,
) -> None:
    """Write an HTML page: certificates, convergence, weights and, with --test, predictions.

    Several models are shown side by side. Without -o the page goes to standard output.
    """
    if output == "-" and out.as_json:
        raise typer.BadParameter("--json and a page on standard output: give -o FILE")
    writable(None if output == "-" else output)
    pages: Any = importlib.import_module("skimlearn.report")

    held = None if test is None else read(test, labels=labels, target=target, zero_based=zero_based)
    entries = []
    for path in models:
        model = load_model(path)
        rows: dict[str, Any] = {}
        if held is not None:
            rows = {"X": fitted(held.X, model.n_features_in_), "y": held.y}
        entries.append(pages.Entry(model, name=Path(path).stem, **rows))
    if output == "-":
        sys.stdout.write(pages.page(entries))
        return
    pages.write(entries, output)
    length = Path(output).stat().st_size
    again = shlex.join(["skim", "report", *models, "-o", output])
    out.tell(
        {"command": "report", "models": models, "output": output, "bytes": length, "again": again},
        facts([("written", output), ("models", f"{len(models)}"), ("size", size(length))]),
    )
