"""The documentation is true: its code runs, its links lead somewhere."""

import doctest
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md") for page in ROOT.glob(pattern)
)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page):
    """The Python code of a page, each block with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start(1)), m.group(1)) for m in BLOCK.finditer(text)]


def name(page):
    return page.relative_to(ROOT).as_posix()


def anchors(page):
    """The names that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_code_runs(page, monkeypatch, tmp_path):
    """All blocks of a page, in order, in one namespace; those with prompts show their output."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for line, code in blocks(page):
        if ">>>" not in code:
            exec(compile("\n" * line + code, str(page), "exec"), namespace)
            continue
        test = parser.get_doctest(code, namespace, name(page), str(page), line)
        failures = []
        runner.run(test, out=failures.append, clear_globs=False)
        assert not runner.failures, "".join(failures)
        namespace.update(test.globs)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


FILES = [
    path.relative_to(ROOT).as_posix()
    for folder in ("src", "tests", "tools", "docs", "examples", "benchmarks", "experiments")
    for path in (ROOT / folder).glob("**/*.py")
]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_are_named_exist(page):
    brought = {"loaders.py"}  # by the user, beside data
    named = set(re.findall(r"`(?:python )?([\w/]+\.py)\b", page.read_text(encoding="utf-8")))
    for file in named - brought:
        assert any(f"/{path}".endswith(f"/{file}") for path in FILES), file


def test_every_solver_has_its_mathematics():
    pages = [page for page in PAGES if "docs/algorithms" in page.as_posix()]
    named = "".join(page.read_text(encoding="utf-8") for page in pages)
    solvers = {path.name for path in (ROOT / "src/skimlearn/solvers").glob("[a-z]*.py")}
    solvers -= {"choose.py", "margin.py"}  # doors, without any mathematics
    assert sorted(file for file in solvers if f"{file}`" not in named) == []


def test_the_architecture_names_every_solver():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    solvers = {path.stem for path in (ROOT / "src/skimlearn/solvers").glob("[a-z]*.py")}
    assert sorted(name for name in solvers if f"`{name}`" not in page) == []


def test_readme_has_code():
    assert any(name(page) == "README.md" and blocks(page) for page in PAGES)


def test_the_picture_of_the_layers_is_that_of_the_linter():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    layers = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    picture = (ROOT / "docs" / "images" / "layers.svg").read_text(encoding="utf-8")
    rows = {}
    for height, word in re.findall(r'<text class="n" x="[\d.]+" y="(\d+)"[^>]*>(\w+)<', picture):
        rows.setdefault(int(height), set()).add(word)
    assert [rows[height] for height in sorted(rows)] == layers[1:]  # but for __main__
