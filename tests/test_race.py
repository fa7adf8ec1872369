"""The race of the benchmarks: it runs from a checkout, and its table says what was measured."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def race():
    """The package of the benchmark, which is not installed."""
    import race
    import race.kept
    import race.measure
    import race.peers
    import race.table

    return race


def start(*arguments):
    command = [sys.executable, str(BENCHMARKS / "race"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


@pytest.mark.slow
def test_a_race_from_the_command_line(tmp_path):
    peers = ["skimlearn", "sklearn-linearsvc", "celer"]
    done = start(
        "--problem", "tiny", "--loss", "hinge", "--alpha", "1e-2", "--repeat", 1,
        "--peer", *peers, "--out", tmp_path / "out", "--cache", tmp_path / "cache",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cell = json.loads((tmp_path / "out" / "results.jsonl").read_text())
    assert cell["reference"]["gap"] <= 1e-7
    assert {run["peer"] for run in cell["runs"]} == set(peers[:2])
    assert {run["turn"] for run in cell["runs"]} == {0, 1}
    for peer in peers[:2]:  # one objective, whoever minimises it
        lowest = min(run["objective"] for run in cell["runs"] if run["peer"] == peer)
        assert lowest == pytest.approx(cell["reference"]["objective"], rel=1e-3)
    assert cell["absent"] == {"celer": "has l1 penalties only"}
    assert cell["machine"]["cores"] >= 1
    assert "scikit-learn" in cell["versions"]["main"]
    text = (tmp_path / "out" / "table.md").read_text()
    assert "| tiny | hinge | 0.01 | 1 |" in text
    assert "| celer |" in text
    assert (tmp_path / "out" / "ratios.png").exists()
    done = start("--show", tmp_path / "out", "--out", tmp_path / "docs")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "docs" / "race.md").read_text()
    assert "Machine: cpu" in page and "Versions: python" in page  # noqa: PT018
    assert str(tmp_path) not in page
    for name in ("race_ratios.png", "race_curves.png"):
        assert f"images/{name}" in page
        assert (tmp_path / "docs" / "images" / name).exists()
    found = json.loads((tmp_path / "docs" / "experiments" / "data" / "peers.json").read_text())
    assert found["clock"] == "wall"
    seconds = found["cells"][0]["seconds"]["1e-02"]["skimlearn"]
    assert f"({seconds:.3g} s;" in page  # both pages have one source
    summary = (tmp_path / "docs" / "experiments" / "peers.md").read_text()
    assert "1 cases (problem" in summary
    assert (tmp_path / "docs" / "experiments" / "images" / "peers.png").exists()


def test_missing_data_are_named(tmp_path):
    done = start("--problem", "imdb", "--out", tmp_path / "out", "--cache", tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    assert "imdb: left out, needs --data FOLDER" in done.stdout


def run(peer, setting, turn, wall, objective, error=0.1):
    return {
        "peer": peer, "setting": {"tol": setting}, "turn": turn, "wall": wall, "cpu": wall,
        "objective": objective, "error": error,
    }  # fmt: skip


def test_times_are_medians_of_the_quickest_setting_that_meets_the_target(race):
    reference = {"objective": 1.0, "error": 0.1, "gap": 0.0}
    runs = [
        run("skimlearn", 0.1, 0, 9.0, 1.0),  # the exploration does not count
        *(run("skimlearn", 0.1, k, wall, 1.005) for k, wall in enumerate((3.0, 1.0, 2.0), 1)),
        run("skimlearn", 0.01, 0, 4.0, 1.00005),  # unless there is nothing else
        *(run("other", 0.1, k, 1.0, value) for k, value in enumerate((1.001, 1.02, 1.03), 1)),
        run("other", 0.01, 0, 8.0, 1.0005, error=0.2),
    ]
    cell = race.measure.Cell("made", "hinge", 1e-4, 1, reference, runs)
    times = race.table.times(cell)
    assert times["1e-02"]["skimlearn"]["wall"] == 2.0
    assert times["1e-04"]["skimlearn"]["wall"] == 4.0
    assert times["1e-02"]["other"]["wall"] == 8.0  # the median of the quicker setting is too far
    assert times["error"]["other"]["wall"] == 1.0
    assert "other" not in times["1e-04"]
    assert race.table.ratio(times["1e-02"]) == (0.25, "other")
    assert race.table.ratio(times["1e-04"]) == (None, None)


def results(alpha, ours, commit):
    """A line of results in which we take so many seconds to be exact."""
    runs = [
        *(run("skimlearn", 0.1, k, 0.5 * ours, 1.5 + k, error=0.2) for k in range(4)),
        *(run("skimlearn", 0.01, k, ours, 1.0 + 1e-6 * k) for k in range(4)),
        *(run("skimlearn", 0.001, k, 2 * ours, 1.0) for k in range(4)),
        run("other", 0.1, 0, 3.0, 1.0 + 1e-5),
        *(run("other", 0.01, k, 4.0, 1.0 + 1e-5) for k in range(4)),
        run("other", 0.001, 0, 5.0, 1.0 - 1e-5),  # less than the optimum that we know
    ]
    reference = {"objective": 1.0, "error": 0.1, "gap": 0.0}
    versions = {"main": {"numpy": "2.0", "unknown": "1.0"}}
    return {
        "problem": "tiny", "loss": "hinge", "alpha": alpha, "threads": 1, "reference": reference,
        "runs": runs, "absent": {"third": "crashed"}, "machine": {"commit": commit, "load": [1.0]},
        "versions": versions,
    }  # fmt: skip


def test_what_is_kept_says_the_same(race):
    record = results(1e-4, 2.0, "abc")
    cell = race.table.cell_of(record)
    kept = race.table.cell_of(json.loads(json.dumps(race.kept.thinned(record, "cpu"))))
    assert 0 < len(kept.runs) < len(cell.runs)
    before, after = race.table.times(cell, "cpu"), race.table.times(kept, "cpu")
    for target in race.measure.TARGETS:
        assert after[target].keys() == before[target].keys()
        for peer, entry in before[target].items():
            assert after[target][peer]["seconds"] == entry["seconds"]
            assert after[target][peer]["distance"] == pytest.approx(entry["distance"], abs=1e-12)
    lines = [list(race.table.peers(one, "cpu")) for one in (kept, cell)]
    assert "Optimum 0.99999" in lines[0].pop(2)
    assert "Optimum 1, certified" in lines[1].pop(2)
    assert lines[0] == lines[1]


def test_parts_of_a_race_are_added_up(race, tmp_path):
    path = tmp_path / "kept" / "race.jsonl"
    for commit, alphas in (("one", (1e-4, 1e-3)), ("two", (1e-5, 1e-4))):
        lines = [json.dumps(results(alpha, 2.0, commit)) for alpha in alphas]
        (tmp_path / "results.jsonl").write_text("\n".join(lines) + "\n")
        race.kept.add(tmp_path / "results.jsonl", path, "cpu")
    cells = race.table.load(path)
    assert [cell.alpha for cell in cells] == [1e-3, 1e-4, 1e-5]
    assert [cell.measured["commit"] for cell in cells] == ["one", "two", "two"]
    assert "unknown" not in path.read_text()


@pytest.mark.slow
def test_a_race_goes_on(tmp_path):
    arguments = [
        "--problem", "tiny", "--loss", "squared", "--repeat", 1, "--peer", "skimlearn", "--resume",
        "--out", tmp_path / "out", "--cache", tmp_path / "cache", "--alpha", "1e-2",
    ]  # fmt: skip
    for alphas, found in ((), 1), (("1e-1",), 2), ((), 2):
        assert start(*arguments, *alphas).returncode == 0
        lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
        assert [json.loads(line)["alpha"] for line in lines] == [1e-2, 1e-1][:found]


def test_a_ladder_that_ended_by_luck_is_climbed_on(race, tmp_path):
    """What the first seed reaches with a rough setting others reach with a tighter one."""
    ladder = [{"tol": tol} for tol in (0.3, 0.1, 0.03, 0.01)]
    peer = race.peers.Peer("one", "one", "one", ("hinge",), lambda task: [ladder], None)
    reference = {"objective": 1.0, "error": 0.1, "gap": 0.0}
    cell = race.measure.Cell("made", "hinge", 1e-4, 1, reference)

    class Made(race.measure.Race):
        def __init__(self):
            self.options = race.measure.Options(cache=tmp_path, repeat=3, log=lambda line: None)
            self.clients = {"one": race.measure.Client(peer, tmp_path, "hinge", self.options)}

        def _fit(self, cell, name, setting, turn, limit):
            lucky = turn == 0 and setting["tol"] <= 0.1
            distance = 0.0 if lucky else 0.1 * setting["tol"] ** 2
            return run(name, setting["tol"], turn, 1.0 / setting["tol"], 1.0 + distance)

    made, task = Made(), race.peers.Task("hinge", 1e-4, 10, 2, 20, True, 2, 1.0)
    made._explore(cell, made.clients["one"], task)
    assert max(1.0 / r["setting"]["tol"] for r in cell.runs) < 50.0  # it ended before 0.01
    made._repeat(cell)
    repeated = [e for e in race.table.settings(cell) if e["repeated"]]
    assert repeated
    assert min(e["distance"] for e in repeated) > 1e-4
    made._go_on(cell, task)
    reached = race.table.times(cell)["1e-04"]["one"]
    assert reached["setting"] == {"tol": 0.03}
    assert reached["repeated"] == 3


def client_of(race, name, folder):
    peer = race.peers.Peer(name, name, name, ("hinge",), lambda task: [[{}]], None)
    options = race.measure.Options(cache=folder, log=lambda line: None)
    return race.measure.Client(peer, folder, "hinge", options)


def test_a_peer_that_cannot_start_says_why(race, tmp_path):
    client = client_of(race, "missing", tmp_path)
    with pytest.raises(race.measure.PeerFailed, match="KeyError: 'missing'"):
        client.ask(1.0, do="fit", alpha=1.0)
    assert client.process is None


def test_a_peer_that_hangs_is_ended(race, tmp_path, monkeypatch):
    monkeypatch.setattr(race.measure, "STARTING", 0.0)
    client = client_of(race, "sklearn-linearsvc", tmp_path)
    with pytest.raises(race.measure.PeerFailed, match="took more than 0 s"):
        client.ask(1.0, do="fit", alpha=1.0)
    assert client.process is None


def test_every_peer_has_settings_from_rough_to_precise(race):
    for name, peer in race.peers.table().items():
        for loss in race.peers.ALL:
            task = race.peers.Task(loss, 1e-4, 1000, 10, 5000, True, 2, 1.0)
            if peer.why_not(task) is None:
                ladders = peer.ladders(task)
                assert ladders, name
                assert all(ladders), name
                json.dumps(ladders)


def test_a_set_takes_its_place_in_the_table_of_kernels(tmp_path, monkeypatch):
    import kernels as race_of_kernels

    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- table: race -->\n| set | rows |\n|---|---|\n| mnist | 5 | old |\n"
        "| ijcnn1 | 5 | kept |\n\nheld to one core\n<!-- end -->\nafter\n"
    )
    monkeypatch.setattr(race_of_kernels, "LINES", ["| mnist | 7 | new |", "| covtype | 8 | new |"])
    given = argparse.Namespace(only=["mnist", "covtype"], rows=10)
    race_of_kernels.write(page, given)
    lines = page.read_text().splitlines()
    assert lines[0] == "before"
    assert lines[-1] == "after"
    assert lines[4:7] == ["| ijcnn1 | 5 | kept |", "| mnist | 7 | new |", "| covtype | 8 | new |"]
    assert "held to one core" not in page.read_text()
    assert "`--rows 10` on " in page.read_text()
    page.write_text("no markers")
    with pytest.raises(SystemExit, match="no part between"):
        race_of_kernels.write(page, given)
