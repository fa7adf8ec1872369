"""The experiments run, show what they should, and their pages say what their data says."""

import argparse
import json
from importlib import import_module as load
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
FOLDER, PAGES = ROOT / "experiments", ROOT / "docs" / "experiments"
NAMES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


@pytest.fixture
def run(tmp_path):
    """A quick run: what it found, after page and picture were made of it."""
    pytest.importorskip("matplotlib")

    def quick(name):
        common, experiment = load("_common"), load(name)
        options = argparse.Namespace(quick=True, data=None, out=tmp_path, race=None, clock="cpu")
        found = common.timed(experiment.measure, options)
        common.write(name, found, experiment.texts, experiment.draw, tmp_path)
        assert (tmp_path / "images" / f"{name}.png").stat().st_size > 4000
        assert json.loads((tmp_path / "data" / f"{name}.json").read_text()) == found
        assert "<!-- end -->" in (tmp_path / f"{name}.md").read_text()
        return found

    return quick


def test_simba_figure(run):
    (entry,) = run("simba_figure")["sets"].values()
    simba, pegasos = entry["solvers"]["simba-nu"], entry["solvers"]["pegasos"]
    for solver in (simba, pegasos):
        assert solver["mean"][-1] < 0.1 < solver["mean"][0]
        assert (np.diff(solver["nnz"]) > 0).all()
        assert (np.array(solver["dense"]) > solver["nnz"]).all()
    assert min(pegasos["mean"]) < min(simba["mean"])  # as the page admits
    assert entry["optimum"]["gap"] <= 1e-3
    for solver, first in entry["first"]["solvers"].items():  # half of the reads
        assert first["nnz"][-1] < entry["solvers"][solver]["nnz"][-1]


def test_pegasos_batches(run):
    (entry,) = run("pegasos_batches")["sets"].values()
    for line in entry["fixed_T"].values():
        assert line[-1]["last"]["distance"] < line[0]["last"]["distance"]
    for case in [*entry["fixed_kT"], *(c for line in entry["fixed_T"].values() for c in line)]:
        for name in ("mean", "random"):
            assert 0.0 < case[name]["distance"] < case["bound"]
    first, *_, last = entry["fixed_kT"]
    assert last["mean"]["distance"] > 1.5 * first["mean"]["distance"]


def test_dekel_sparse(run):
    found = run("dekel_sparse")
    cost = found["cost"]["10000"]
    assert cost["dense"] > 5.0 * cost["asgd"]
    for lines in found["shift"]["losses"].values():
        still, moved = lines["casgd"]
        assert moved == pytest.approx(still, rel=0.5)
        assert lines["asgd free"][1] > 10.0 * moved


def test_pgs_inverse_time(run):
    found = run("pgs_inverse_time")
    for entries in found["pairs"].values():
        few, many = entries
        assert many["end"] > few["end"]
        assert many["end"] > many["lbfgs"]["end"] - 0.06
        assert many["end_seconds"] < many["lbfgs"]["seconds"][-1]
    few, many = found["toy"]["answers"]["mean"]["10"]
    assert few["reached"] < 0.5 < many["reached"]


@pytest.mark.parametrize("p", [2.0, 1.8])
def test_lbfgs_finds_the_optimum(p):
    """What PGS is compared with is right: the value is that which a certificate confirms."""
    from skimlearn.problem import make_problem
    from skimlearn.result import Budget
    from skimlearn.solvers import choose

    pgs, rng = load("pgs_inverse_time"), np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    y = np.sign(X @ rng.normal(size=6) + rng.normal(size=80))
    given = make_problem(X, y, loss="log", alpha=1e-2, p=p, bias="none")
    value = pgs.lbfgs(given, lambda w: 0.0)["value"]
    bounds = choose.solve(given, budget=Budget(gap=1e-7, epochs=10_000), seed=0).certificate
    assert bounds.dual <= value <= bounds.primal * (1.0 + 1e-5)


def test_chw_scaling(run):
    found = run("chw_scaling")
    line_of = load("chw_scaling").line_of
    assert len(found["lines"]) > 8
    assert [line["what"] for line in found["lines"] if not line_of(line).seen] == []


def test_chw_pac(run):
    found = run("chw_pac")
    gains = load("chw_pac").gains(found["pac"]["rare"], "tracking")
    assert gains[-1] > 2.0 * gains[0]
    assert gains[-1] > 1.0
    (check,) = found["checks"]
    assert not check["good"]["exact"]
    assert 1.0 - check["good"]["accepted"] <= check["delta"]
    assert check["spoiled"]["accepted"] <= check["delta"]


def test_certificates(run):
    found = run("certificates")
    (entry,) = found["sets"].values()
    for solver, line in {
        **entry["losses"]["hinge"]["solvers"],
        **found["margins"]["solvers"],
    }.items():
        assert line["unsound"] == 0, solver
        true, gap = ([np.inf if x is None else x for x in line[key]] for key in ("true", "gap"))
        assert (np.array(true) <= np.array(gap) + 1e-7).all(), solver
    assert entry["losses"]["hinge"]["solvers"]["dual"]["gap"][-1] < 0.5
    assert found["margins"]["solvers"]["working-set"]["gap"][-1] <= 1e-3


def test_priced_reads(run):
    rare, alike = run("priced_reads")["cases"].values()
    for case, better in ((rare, "skimming"), (alike, "whole rows")):
        means = {buyer: entry["mean"][0] for buyer, entry in case["buyers"].items()}
        assert max(means, key=means.get) == better


def test_finish(run):
    found, first = run("finish"), load("finish").first
    for by_solver in found["problems"].values():
        passes = {solver: first(entry, 1e-2, "passes") for solver, entry in by_solver.items()}
        assert passes["working set"] < passes["extragradient"] < passes["mirror-prox"]


@pytest.mark.slow
def test_peers(run):
    (cell,) = run("peers")["cells"]
    for by_peer in cell["seconds"].values():
        assert set(by_peer) == {"skimlearn", "sklearn-linearsvc"}
    assert cell["gap"] <= 1e-7


# ------------------------------------------------------------------------------------- the pages


def test_every_experiment_has_a_page():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    contents = (PAGES / "index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in PAGES.glob("*.md")}
    assert pages == {*NAMES, "index"}
    for name in NAMES:
        assert f"experiments/{name}.md" in nav
        assert f"({name}.md)" in contents
        page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
        assert f"python experiments/{name}.py" in page
        assert f"images/{name}.png" in page


@pytest.mark.parametrize("name", NAMES)
def test_pages_say_what_their_data_says(name):
    common, experiment = load("_common"), load(name)
    found = json.loads((PAGES / "data" / f"{name}.json").read_text())
    assert not found["about"]["quick"]
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert common.filled(page, experiment.texts(found)) == page
    assert (PAGES / "data" / f"{name}.json").stat().st_size < 200_000
    assert (PAGES / "images" / f"{name}.png").stat().st_size < 100_000


def test_a_page_without_its_marker_is_refused():
    with pytest.raises(ValueError, match="markers"):
        load("_common").filled("<!-- table: a -->\n<!-- end -->", {"b": "text"})
