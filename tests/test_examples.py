"""The examples do what they say; those that take long are run on a part of their data."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


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
