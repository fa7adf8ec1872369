"""The page docs/scale.md says what its data says, and its model is that of the constants."""

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def page():
    return importlib.import_module("_cluster_page")


def found():
    return json.loads((ROOT / "docs" / "scale.json").read_text())


def test_the_page_says_what_its_data_says(page):
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert page.filled(text, page.texts(found())) == text
    assert not any(part["about"]["quick"] for part in found().values())


def test_every_line_of_a_set_and_loss_is_the_same_computation():
    by_problem = {}
    for run in found()["times"]["runs"]:
        answer = run["rounds"], run["primal"], run["gap"]
        by_problem.setdefault((run["data"], run["loss"]), set()).add(answer)
        assert run["gap"] <= 1e-3
    assert {name for name, _ in by_problem} >= {"imdb", "debian", "made"}
    assert all(len(answers) == 1 for answers in by_problem.values())


def test_the_model_is_that_of_the_page(page):
    constants = {"epoch": 10e-9, "check": 5e-9, "rate": 1e9, "task": 1e-3}
    work, down, up, latency = page.cost(16, constants)
    assert work == pytest.approx((2 * 10e-9 + 5e-9) * 1e9 * 100 / 16)
    assert down == pytest.approx(0.08 * 4)
    assert up == pytest.approx(0.08 * 16)
    assert latency == pytest.approx(1e-3 * (32 + 16 / 15 + 1))


def test_a_part_is_written_and_the_others_stay(page, tmp_path):
    before = found()
    rounds = before["rounds"] | {"rounds": {"log": {"2": 1, "1024": 3}}}
    page.write("rounds", rounds, tmp_path)
    after = json.loads((tmp_path / "scale.json").read_text())
    assert after == before | {"rounds": rounds}
    text = (tmp_path / "scale.md").read_text(encoding="utf-8")
    assert "512 times the partitions take 3 times (log) the rounds" in text


def test_lines_of_other_sets_stay_with_what_they_were_measured_on(page):
    here = {"cpu": "one", "cores": 2, "memory": "8 GB", "quick": False, "load": [0.0, 1.0]}
    here |= {"versions": {"numpy": "2"}}
    there = here | {"cpu": "two", "load": [3.0, 4.0]}
    line = {"loss": "log", "workers": 1, "seconds": 2.0, "total": 3.0, "rounds": 4, "bytes": 5e6}
    line |= {"gap": 1e-4}
    before = {"about": here, "runs": [line | {"data": "made"}, line | {"data": "imdb"}]}
    found = {"about": there, "runs": [line | {"data": "imdb", "seconds": 1.0}]}
    merged = page.merged(before, found)
    assert [run["data"] for run in merged["runs"]] == ["imdb", "made"]  # in the order of the sets
    assert merged["runs"][0]["seconds"] == 1.0
    assert merged["sets"] == {"imdb": there, "made": here}
    text = page._times(merged)
    assert "*imdb: two, 2 cores, 8 GB; load 3.0 to 4.0" in text
    assert "*made: one, 2 cores, 8 GB; load 0.0 to 1.0" in text
    again = page.merged(merged, {"about": there, "runs": [line | {"data": "made"}]})
    assert page._times(again).count("two, 2 cores") == 1  # one line says it of both
    assert "imdb: two" not in page._times(again)
    quick = page.merged(merged, {"about": there | {"quick": True}, "runs": found["runs"]})
    assert [run["data"] for run in quick["runs"]] == ["imdb"]
