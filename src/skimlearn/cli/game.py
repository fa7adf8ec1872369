"""``skim game``: a zero-sum game from a file of payoffs."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from skimlearn.cli._command import INTERRUPTED, UNCONVERGED, command
from skimlearn.cli._inputs import kind_of, read
from skimlearn.cli._models import REACHED, writable, writing
from skimlearn.cli._output import Output, count, facts, number, seconds
from skimlearn.cli._progress import Progress
from skimlearn.cli.train import Strict

__all__ = ["game"]

MOST = 5  # lines of a strategy on a screen


@command("game", panel="Models", takes=["matrix_game"])
def game(
    out: Output,
    payoffs: Annotated[
        str, typer.Argument(metavar="PAYOFFS", help="A .npy, .npz or .csv file, or a store.")
    ],
    parameters: dict[str, Any],
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="An .npz file: x, p, lower, upper."),
    ] = None,
    strict: Strict = False,
) -> int | None:
    """Solve a zero-sum game: bounds of its value, and a mixed strategy for each player.

    An entry is what the column player (x) pays to the row player (p).
    """
    from skimlearn import matrix_game

    writable(output)
    began = time.perf_counter()
    A = _payoffs(payoffs)
    with Progress(out, "playing", "step") as progress:
        result = matrix_game(A, **parameters, callback=progress.record)
    if output is not None:
        _save(output, result)
    total = time.perf_counter() - began
    certificate = result.certificate
    document = {
        "command": "game",
        "rows": A.shape[0],
        "columns": A.shape[1],
        "lower": certificate.lower,
        "upper": certificate.upper,
        "gap": certificate.gap,
        "reads": result.reads.nnz,
        "status": result.status.name,
        "solver": result.solver,
        "seconds": total,
        "output": output,
        **({} if output is not None else {"x": result.x, "p": result.p}),
    }
    lines = [
        ("value", f"between {number(certificate.lower, 6)} and {number(certificate.upper, 6)}"),
        ("column player", _strategy(result.x)),
        ("row player", _strategy(result.p)),
        ("entries read", f"{count(result.reads.nnz)} of {count(A.shape[0] * A.shape[1])}"),
        ("total", seconds(total)),
        ("status", result.status.value),
    ]
    if output is not None:
        lines.append(("saved", output))
    out.tell(document, facts(lines))
    if result.status.name == "INTERRUPTED":
        out.note("interrupted: these are the best strategies found so far")
        return INTERRUPTED
    return UNCONVERGED if strict and result.status.name not in REACHED else None


def _payoffs(path: str) -> Any:
    if not path.endswith(".csv"):
        if kind_of(path) in ("svmlight", "stdin"):
            raise ValueError(f"{path}: payoffs come as .npy, .npz or .csv, or in a store")
        return read(path).X
    import numpy as np

    try:
        return np.loadtxt(path, delimiter=",", ndmin=2)
    except ValueError as error:
        raise ValueError(f"{path}: payoffs must be numbers, separated by commas: {error}") from None


def _save(path: str, result: Any) -> None:
    import numpy as np

    from skimlearn.data._replacing import replacing

    certificate = result.certificate
    with writing(path), replacing(path) as file:
        np.savez(file, x=result.x, p=result.p, lower=certificate.lower, upper=certificate.upper)


def _strategy(weights: Any) -> str:
    """The lines that are played most, with their weights."""
    order = weights.argsort()[::-1]
    played = int((weights > 0.0).sum())
    shown = ", ".join(f"{k}: {number(weights[k], 3)}" for k in order[: min(MOST, played)].tolist())
    return shown + (f", ... ({played} of {len(weights)} are played)" if played > MOST else "")
