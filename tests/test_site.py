"""The documentation as a site: it builds without a warning, and asks for nothing from outside."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="?(?:https?:)?//[^>]*>')


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return folder


def test_every_page_is_there(site):
    pages = {page.relative_to(ROOT / "docs") for page in (ROOT / "docs").glob("**/*.md")}
    for page in pages:
        name = (
            page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")
        )
        assert (site / name).exists(), name
    for name in ("benchmarks", "contributing", "changelog"):
        assert (site / f"{name}.html").exists()


def test_nothing_is_loaded_from_outside(site):
    for page in site.glob("**/*.html"):
        assert OUTSIDE.findall(page.read_text(encoding="utf-8")) == [], page


def test_formulas_are_drawn_by_the_browser_itself(site):
    text = {page.stem: page.read_text(encoding="utf-8") for page in site.glob("algorithms/*.html")}
    assert len(text) > 10
    for name, page in text.items():
        formulas = re.findall(r"<math.*?</math>", page, re.DOTALL)
        assert formulas or name == "games", name
        assert "arithmatex" not in page, name
        for formula in formulas:
            assert "\\" not in formula, f"{name}: {formula}"  # a word of TeX that is not known
    assert (site / "assets/fonts/STIXTwoMath-Regular.ttf").exists()


def test_the_reference_has_all_public_names(site):
    import skimlearn

    text = "".join(page.read_text(encoding="utf-8") for page in site.glob("api/*.html"))
    modules = {"datasets", "kernels", "losses", "regularizers", "report"}
    for name in set(skimlearn.__all__) - modules:
        assert f'id="skimlearn.{name}"' in text, f"{name} is missing in docs/api"
    assert "Stop after so many passes over the rows." in text  # what is filled into docstrings
    assert "{parameters}" not in text
