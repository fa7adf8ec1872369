"""``skim evaluate``: how good a model's predictions are."""

from __future__ import annotations

import time

from skimlearn.cli._command import command
from skimlearn.cli._inputs import Input, blocks, kind_of
from skimlearn.cli._models import load_model
from skimlearn.cli._output import Output
from skimlearn.cli._progress import Progress
from skimlearn.cli._reading import Reading
from skimlearn.cli._scoring import score, tables
from skimlearn.cli.predict import Model

__all__ = ["evaluate"]


@command("evaluate", panel="Models", reads=("labels", "target", "missing", "zero_based"))
def evaluate(
    out: Output,
    model: Model,
    data: Input,
    reading: Reading,
) -> None:
    """Compare a model's predictions with the labels of rows.

    Accuracy, ROC AUC, the confusion matrix and, where there are probabilities, the log loss; for a
    regression R2, mean absolute and root mean square error.
    """
    began = time.perf_counter()
    loaded = load_model(model)
    reading.check(kind_of(data))
    with Progress(out, "evaluating"):
        found = score(loaded, blocks(data, loaded, reading))
    passed = time.perf_counter() - began
    out.tell(
        {"command": "evaluate", "model": model, "data": data, **found, "seconds": passed},
        *tables(found, ("model", f"{model}, {type(loaded).__name__}"), ("data", data)),
    )
