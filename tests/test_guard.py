"""The guard of the benchmarks: it sees a loss, and only a loss that lasts."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def guard(monkeypatch):
    """The module of the benchmark, which is not installed."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import guard

    return guard


def in_turn(*rounds):
    measured = iter(rounds)
    return lambda: next(measured)


def test_a_lasting_loss_is_a_failure(guard, capsys):
    slow = {"one": 1.3, "two": 1.0}
    assert not guard.show(*guard.compare(lambda: slow, {"one": 1.0, "two": 1.0}))
    shown = capsys.readouterr().out
    assert "LOSS" in shown
    assert "more than 25% slower than the baseline: one" in shown


def test_a_loss_that_another_round_does_not_see_is_none(guard):
    ours = in_turn({"one": 1.6}, {"one": 1.3}, {"one": 1.2})
    ratios, baseline = guard.compare(ours, {"one": 1.0})
    assert ratios == {"one": 1.2}
    assert guard.show(ratios, baseline)


def test_one_round_is_enough_if_nothing_is_lost(guard):
    ours = in_turn({"one": 1.24})  # a second call would raise StopIteration
    assert guard.show(*guard.compare(ours, {"one": 1.0}))


def test_another_checkout_is_measured_by_turns(guard, monkeypatch):
    ours = in_turn({"one": 2.0}, {"one": 2.0})
    theirs = in_turn({"one": 1.5}, {"one": 1.8})  # the least counts on both sides
    monkeypatch.setattr(guard, "ROUNDS", 2)
    ratios, baseline = guard.compare(ours, theirs)
    assert (ratios, baseline) == ({"one": 2.0}, {"one": 1.5})
    assert not guard.show(ratios, baseline)


def test_kernels_without_a_baseline_are_told_and_not_held(guard, capsys):
    assert guard.show(*guard.compare(lambda: {"new": 9.0}, {"old": 1.0}))
    assert "new" in capsys.readouterr().out


def test_a_large_gain_asks_for_a_new_baseline(guard, capsys):
    assert guard.show({"one": 0.5}, {"one": 1.0})
    assert "--update" in capsys.readouterr().out


def test_an_unknown_processor_is_no_success(guard, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(guard, "BASELINE", tmp_path / "guard.json")
    monkeypatch.setattr(guard, "processor", lambda: "abacus")
    monkeypatch.setattr(sys, "argv", ["guard.py"])
    assert guard.main() == 2
    assert "no baseline of the processor 'abacus'" in capsys.readouterr().err


def test_an_update_keeps_the_baselines_of_others(guard, monkeypatch, tmp_path):
    monkeypatch.setattr(guard, "BASELINE", tmp_path / "guard.json")
    rounds = in_turn(*({"one": ratio} for ratio in (1.0, 3.0, 1.1, 1.2)))
    monkeypatch.setattr(guard, "measured", lambda folder: rounds())
    guard.update("abacus", {"quipu": {"one": 5.0}})
    stored = json.loads((tmp_path / "guard.json").read_text())
    assert stored == {"abacus": {"one": 1.15}, "quipu": {"one": 5.0}}
