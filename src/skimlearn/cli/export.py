"""``skim export``: a model for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from skimlearn.cli._command import command
from skimlearn.cli._models import load_model, writable, writing
from skimlearn.cli._output import Output, facts, size
from skimlearn.cli.predict import Model

__all__ = ["export"]

FORMATS = {".onnx": "onnx", ".model": "liblinear", ".safetensors": "skimlearn"}


@command("export", panel="Models")
def export(
    out: Output,
    model: Model,
    output: Annotated[str, typer.Argument(metavar="FILE", help="Where to.")],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="onnx|liblinear|skimlearn",
            help="What to write; else told by the name: .onnx, .model, .safetensors.",
            autocompletion=lambda: list(FORMATS.values()),
        ),
    ] = None,
    dtype: Annotated[
        str, typer.Option(metavar="float32|float64", help="Of the input of an ONNX graph.")
    ] = "float32",
) -> None:
    """Write a model as an ONNX graph, or as a model file of liblinear.

    Reads both formats of model files, so that a model of liblinear can be turned into ONNX, too.
    """
    chosen = format or FORMATS.get(Path(output).suffix, "")
    if chosen not in FORMATS.values():
        what = f"--format {format}" if format else f"the name {output}"
        raise typer.BadParameter(f"{what} says nothing: choose --format onnx or liblinear")
    writable(output)
    loaded: Any = load_model(model)
    with writing(output):
        _write(loaded, output, chosen, dtype)
    length = Path(output).stat().st_size
    out.tell(
        {"command": "export", "model": model, "output": output, "format": chosen, "bytes": length},
        facts([("written", output), ("format", chosen), ("size", size(length))]),
    )


def _write(model: Any, path: str, format: str, dtype: str) -> None:
    from skimlearn import export_onnx, write_liblinear

    if format == "onnx":
        export_onnx(model, path, dtype=dtype)
    elif format == "liblinear":
        write_liblinear(model, path)
    else:
        model.save(path)
