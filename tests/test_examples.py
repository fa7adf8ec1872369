"""The examples do what they say; those that take long are run on a part of their data."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
SHORT = {  # what their output must have in it
    "certified_svm": r"Accuracy on other mails: 9[78]\.\d%\.",
    "game": r"we win 0\.4\d to 0\.4\d fields on average, proven from 1?\d% of",
    "larger_than_memory": r"After one pass over the text: 9[67]\.\d%\.",
    "novelty": r"ball: within 0\.\d\d% of the smallest, (99|100)\.\d% of other digits are new",
    "own_loss": r"q=0.9: (89|90)\.\d% of the targets are below the line; the target gap was",
    "robust_regression": r"squared +slope 0\.9\d+ .*\nHuber +slope 0\.5[0-4]\d ",
}


@pytest.mark.parametrize("name", SHORT)
def test_short_examples(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    script = EXAMPLES / f"{name}.py"
    runpy.run_path(str(script), run_name="__main__")
    said = capsys.readouterr().out
    assert re.search(SHORT[name], said), said
    pictures = re.findall(r"wrote (\S+)", said)
    assert [path.name for path in tmp_path.iterdir()] == pictures
    assert len(script.read_text(encoding="utf-8").splitlines()) < 60


def test_every_example_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SHORT, "demo", "priced_features"}


def test_the_demo(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(EXAMPLES / "demo.py"), run_name="example")
    scope = example["main"].__globals__
    monkeypatch.setitem(scope, "REPEATS", 1)
    monkeypatch.setitem(scope, "PASSES", scope["PASSES"][:3])
    example["main"]()
    said = capsys.readouterr().out
    assert "skimlearn stopped because the target gap was reached." in said
    assert float(re.search(r"skimlearn LinearClassifier +(0\.\d+)", said)[1]) > 0.97
    assert (tmp_path / "demo.png").stat().st_size > 10_000


@pytest.fixture
def priced(monkeypatch):
    """The example of priced features, with few seeds and budgets."""
    example = runpy.run_path(str(EXAMPLES / "priced_features.py"), run_name="example")
    scope = example["compare"].__globals__
    monkeypatch.setitem(scope, "SEEDS", range(4))
    monkeypatch.setitem(scope, "BUDGETS", (0.02,))
    return scope


def test_priced_features(priced, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    _, rare, alike = priced["CASES"]
    tables = {case: priced["compare"](case) for case in (rare, alike)}
    accuracy = {name: scores[0, :, 1].mean() for name, scores in tables[rare].items()}
    assert accuracy["skimming"] > 0.95
    assert accuracy["skimming"] > accuracy["whole rows"] + 0.1
    accuracy = {name: scores[0, :, 0].mean() for name, scores in tables[alike].items()}
    assert accuracy["whole rows"] > accuracy["skimming"]  # as the example admits
    for case, scores in tables.items():
        priced["show"](case, scores)
    assert "2.0%  skimming" in capsys.readouterr().out
    priced["draw"](tables, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_the_laboratory_is_never_paid_more_than_the_budget(priced):
    case = priced["CASES"][0]
    X, y, _ = priced["make_samples"](np.random.default_rng(0), priced["SAMPLES"], case)
    prices = np.ones(priced["TESTS"])
    for learn in priced["LEARNERS"].values():
        laboratory = priced["Laboratory"](X, prices, 10_000.0)
        learn(laboratory, y, 0)
        paid = laboratory.rows * priced["TESTS"] + laboratory.columns * priced["SAMPLES"]
        assert 7_500.0 < laboratory.spent == paid <= 10_000.0
