"""``skim path``: a model for each strength of the regularizer."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from skimlearn.cli._command import INTERRUPTED, UNCONVERGED, command
from skimlearn.cli._inputs import Input, as_classes, fitted, read, read_labelled
from skimlearn.cli._models import by_labels
from skimlearn.cli._output import Output, count, grid, number, seconds
from skimlearn.cli._progress import Progress
from skimlearn.cli._reading import LABELLED, Reading
from skimlearn.cli._scoring import score
from skimlearn.cli.train import Strict

__all__ = ["path"]


@command("path", panel="Models", takes=["regularization_path"], reads=LABELLED)
def path(
    out: Output,
    data: Input,
    parameters: dict[str, Any],
    reading: Reading,
    test: Annotated[
        str | None, typer.Option(metavar="DATA", help="Rows to score each model on.")
    ] = None,
    strict: Strict = False,
) -> int | None:
    """Solve a problem for many strengths alpha, each started at the last, each certified.

    With --test the table shows which alpha predicts best.
    """
    import numpy as np

    from skimlearn import regularization_path

    rows = read_labelled(data, reading, test)
    classifies = by_labels(rows.y)[0] == "LinearClassifier"
    y = as_classes(rows.y) if classifies else rows.y
    parameters = {"loss": "hinge" if classifies else "squared"} | parameters
    held = None
    if test is not None:
        held = read(test, replace(reading, labels=None), names=rows.names)
    with Progress(out, "solving") as progress:
        found = regularization_path(rows.X, y, **parameters, callback=progress.record)
    lines: list[list[str]] = []
    steps: list[dict[str, Any]] = []
    for alpha, w, b, result in zip(
        found.alphas, found.coefs, found.intercepts, found.results, strict=True
    ):
        step: dict[str, Any] = {
            "alpha": float(alpha),
            "objective": result.certificate.primal,
            "gap": result.certificate.gap,
            "relative_gap": result.certificate.relative_gap,
            "norm": float(np.linalg.norm(w)),
            "reads": result.reads.nnz,
            "seconds": result.seconds,
            "status": result.status.name,
        }
        cells = [
            f"{alpha:.3g}", number(step["objective"], 6), number(step["relative_gap"], 2),
            number(step["norm"], 4), count(step["reads"]), seconds(step["seconds"]),
        ]  # fmt: skip
        if held is not None:
            step["score"] = _score(classifies, parameters["loss"], w, b, np.unique(y), held)
            cells.append(number(step["score"], 4))
        steps.append(step)
        lines.append(cells)
    head = ["alpha", "objective", "relative gap", "norm of w", "reads", "seconds"]
    if held is not None:
        head.append("accuracy" if classifies else "R2")
    document = {"command": "path", "data": data, "loss": parameters["loss"], "path": steps}
    if held is not None:
        document["best_alpha"] = max(steps, key=lambda s: s["score"])["alpha"]
    out.tell(document, grid(head, lines))
    if steps[-1]["status"] == "INTERRUPTED":
        return INTERRUPTED
    reached = all(step["status"] == "CONVERGED" for step in steps)
    return UNCONVERGED if strict and not reached else None


def _score(classifies: bool, loss: str, w: Any, b: float, classes: Any, held: Any) -> float:
    from skimlearn.estimators.weights import classifier_of, regressor_of

    X = fitted(held.X, len(w))
    if classifies:
        model: Any = classifier_of(w.reshape(1, -1), [b], classes, loss=loss)
        return float(score(model, [(X, held.y)])["accuracy"])
    return float(score(regressor_of(w, b, loss=loss), [(X, held.y)])["r2"])
