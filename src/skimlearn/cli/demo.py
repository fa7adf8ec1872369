"""``skim demo``: a tour on the bundled mail corpus."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shlex
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from skimlearn.cli._command import command
from skimlearn.cli._output import Output, facts, seconds

__all__ = ["demo"]

HELD_OUT = 4  # one mail in so many is kept for the test


@command("demo", panel="Tools")
def demo(
    out: Output,
    folder: Annotated[
        str | None,
        typer.Argument(metavar="FOLDER", help="Where to leave the files; else nowhere."),
    ] = None,
    data_only: Annotated[
        bool,
        typer.Option(
            "--data-only", metavar="", help="Write mails.svm and test.svm, and stop there."
        ),
    ] = False,
) -> int | None:
    """Take a tour: spam or not, from a text file to a model that other tools can run.

    It shows each command before it runs it, and what it gives.
    """
    if data_only and folder is None:
        raise typer.BadParameter("--data-only needs a FOLDER")
    timings: list[dict[str, Any]] = []
    with _inside(folder):
        began = time.perf_counter()
        out.note("writing mails.svm and test.svm: the bundled mail corpus as svmlight text")
        _write()
        for step in [] if data_only else _steps():
            if not out.as_json:
                out.say(f"\n$ skim {shlex.join(step)}")
            start = time.perf_counter()
            asked = [*step, "--quiet"] if out.quiet or out.as_json else step
            code = _run(asked, silent=out.as_json)
            timings.append(
                {"command": step, "seconds": time.perf_counter() - start, "exit_code": code}
            )
            if code:
                return int(code)
        lines = [("total", seconds(time.perf_counter() - began))]
    if folder is not None:
        lines.append(("files", folder))
    out.tell({"command": "demo", "folder": folder, "steps": timings}, facts(lines))
    return None


def _steps() -> list[list[str]]:
    steps = [
        ["ingest", "mails.svm", "mails"],
        ["train", "mails", "-o", "spam.safetensors", "--loss", "log", "--random-state", "0"],
        ["evaluate", "spam.safetensors", "test.svm"],
        ["predict", "spam.safetensors", "test.svm", "-o", "answers.txt"],
        ["info", "spam.safetensors"],
        ["export", "spam.safetensors", "spam.model"],
    ]
    if importlib.util.find_spec("onnx") is not None:
        steps.append(["export", "spam.safetensors", "spam.onnx"])
    return steps


def _run(step: list[str], *, silent: bool) -> int:
    """Run a command in this process; its exit code."""
    from skimlearn.cli._app import declared

    with contextlib.ExitStack() as stack:
        if silent:
            nowhere = stack.enter_context(open(os.devnull, "w"))
            stack.enter_context(contextlib.redirect_stdout(nowhere))
        try:
            return int(declared()(step, prog_name="skim", standalone_mode=False) or 0)
        except SystemExit as end:
            return int(end.code or 0)


def _write() -> None:
    import numpy as np

    from skimlearn import write_svmlight
    from skimlearn.datasets import load_spam

    X, y = load_spam()
    held = np.random.default_rng(0).permutation(len(y)) % HELD_OUT == 0
    write_svmlight(X[~held], y[~held], "mails.svm")
    write_svmlight(X[held], y[held], "test.svm")


@contextlib.contextmanager
def _inside(folder: str | None) -> Iterator[None]:
    """Work in a folder, or in one that goes away."""
    with contextlib.ExitStack() as stack:
        if folder is None:
            target = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            target = Path(folder)
            target.mkdir(exist_ok=True)
            if any(target.iterdir()):
                raise FileExistsError(17, "the folder is not empty: name another one", folder)
        stack.enter_context(contextlib.chdir(target))
        yield
