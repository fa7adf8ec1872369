"""``skim train``: a model from a file or a store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import typer

from skimlearn.cli._command import UNCONVERGED, command
from skimlearn.cli._inputs import Data, Input, as_classes, blocks, read_labelled
from skimlearn.cli._models import MODELS, Fit, choose, described, facts_of, writable
from skimlearn.cli._output import Output, facts, seconds
from skimlearn.cli._reading import LABELLED, Reading
from skimlearn.cli._scoring import score, summary

__all__ = ["train"]

ROWS = 10_000  # of a block of held-out rows

Output_ = Annotated[
    str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to save the model.")
]
Strict = Annotated[
    bool,
    typer.Option("--strict", metavar="", help="Exit with 3 if the target gap was not reached."),
]


@command("train", panel="Models", takes=MODELS.values(), reads=LABELLED)
def train(
    out: Output,
    data: Input,
    parameters: dict[str, Any],
    reading: Reading,
    output: Output_ = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="auto|classifier|regressor|sublinear|kernel",
            help="What to learn; auto: what the labels ask for.",
            autocompletion=lambda: ["auto", *MODELS],
        ),
    ] = "auto",
    test: Annotated[
        str | None, typer.Option(metavar="DATA", help="Rows to score the model on.")
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(metavar="PART", help="Score the model on this part of the rows, left out."),
    ] = None,
    strict: Strict = False,
) -> int | None:
    """Learn a model, with a certificate of how far from the best one it can be.

    Ctrl-C ends the fit and saves the best model so far.
    """
    if holdout is not None and not 0.0 < holdout < 1.0:
        raise typer.BadParameter(f"--holdout {holdout:g}: must lie between 0 and 1")
    if holdout is not None and test is not None:
        raise typer.BadParameter("--test and --holdout: give one of them")
    writable(output)
    began = time.perf_counter()
    rows = read_labelled(data, reading, test, lean=True)
    name, why = choose(model, parameters, rows.y)
    import skimlearn

    estimator = getattr(skimlearn, name)(**parameters)
    if why:
        out.note(f"learning a {name}, since {why} (--model chooses another)")
    y = rows.y if name == "LinearRegressor" else as_classes(rows.y)
    read_seconds = time.perf_counter() - began
    split = _Split(replace(rows, y=y), holdout, name, parameters.get("random_state"))
    fit = split.fit(Fit(out, estimator, rows.names))
    fit.save(output)
    found = None
    if test is not None:
        found = score(estimator, blocks(test, estimator, replace(reading, labels=None)))
    elif holdout is not None:
        found = score(estimator, split.held_out())
    total = time.perf_counter() - began
    document = {
        "command": "train",
        "data": data,
        "rows": split.rows,
        **described(estimator),
        "read_seconds": read_seconds,
        "seconds": total,
        "test": found,
        "output": output,
        "interrupted": fit.code != 0,
    }
    lines = facts_of(estimator)
    if found is not None:
        lines[1:1] = [(f"{key} on {found['rows']:,} rows", v) for key, v in summary(found)]
    lines.append(("total", f"{seconds(total)}, of which {seconds(read_seconds)} to start and read"))
    if output is not None:
        lines.append(("saved", output))
    out.tell(document, facts(lines))
    if fit.code:
        return fit.code
    return UNCONVERGED if strict and not fit.reached else None


class _Split:
    """Rows to learn from, and rows to leave out.

    Rows of a store stay where they are: the estimators that know weights get zeros for those that
    are left out.
    """

    def __init__(self, data: Data, part: float | None, model: str, seed: int | None) -> None:
        self.data, self.model = data, model
        self.rows = data.X.shape[0]
        self.test: Any = None
        if part is not None:
            import numpy as np

            order = np.random.default_rng(seed).permutation(self.rows)
            held = max(1, round(part * self.rows))
            self.test, self.kept = np.sort(order[:held]), np.sort(order[held:])
            if not len(self.kept):
                raise ValueError(f"--holdout {part:g} leaves none of the {self.rows} rows")
            self.rows = len(self.kept)

    def fit(self, fit: Fit) -> Fit:
        """Let a model learn from the rows that are not left out."""
        X, y = self.data.X, self.data.y
        if len(y) != X.shape[0]:
            raise ValueError(f"there are {len(y)} labels, but {X.shape[0]} rows")
        if self.test is None:
            return fit.run(X, y)
        if self.data.kind == "store" and self.model != "SublinearSVC":
            import numpy as np

            weights = np.ones(X.shape[0])
            weights[self.test] = 0.0
            return fit.run(X, y, sample_weight=weights)
        return fit.run(X[self.kept], y[self.kept])

    def held_out(self) -> Iterator[tuple[Any, Any]]:
        """The rows that are left out, some at a time."""
        for k in range(0, len(self.test), ROWS):
            some = self.test[k : k + ROWS]
            yield self.data.X[some], self.data.y[some]
