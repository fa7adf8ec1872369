"""The tutorial is true: its commands run, one after the other, and leave what they say."""

import json
import runpy
from pathlib import Path

import pytest

from command_line import document

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_every_command_of_the_tutorial_runs(tmp_path):
    tutorial = runpy.run_path(str(DOCS / "time_tutorial.py"))
    done = {line: process for line, _, process in tutorial["run"](tmp_path)}
    words = {line.split()[1] for line in done if line.startswith("skim")}
    needed = {"ingest", "train", "evaluate", "predict", "export"}
    assert needed <= words
    for name in ("mails/manifest.json", "spam.safetensors", "answers.txt", "spam.onnx"):
        assert (tmp_path / name).exists()
    trained = next(done[line] for line in done if line.startswith("skim train"))
    assert "certificate" in trained.stdout
    piped = next(done[line] for line in done if line.startswith("gzip"))
    assert piped.stdout.splitlines()[0] == "-1\t1"
    found = document("evaluate", tmp_path / "spam.safetensors", tmp_path / "test.svm")
    assert found["accuracy"] > 0.97
    assert json.loads((tmp_path / "mails" / "manifest.json").read_text())


@pytest.mark.slow
def test_the_commands_of_the_front_page_run(tmp_path):
    tutorial = runpy.run_path(str(DOCS / "time_tutorial.py"))
    done = [process for *_, process in tutorial["run"](tmp_path, DOCS.parent / "README.md")]
    assert len(done) == 5
    answers = done[-1].stdout.split()
    assert len(answers) == 10
    assert set(answers) <= {"-1", "1"}
    assert (tmp_path / "model").exists()


def test_every_command_is_in_the_reference():
    from skimlearn.cli._app import app, declared

    declared()
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"| `skim {command.name}" in page
