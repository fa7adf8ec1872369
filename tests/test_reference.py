"""The reference is complete: every public name is in it, and has an example that the tests run."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

import skimlearn

ROOT = Path(__file__).parents[1]
LISTED = sorted(
    name
    for page in (ROOT / "docs" / "api").glob("*.md")
    for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
)
MODULES = ("skimlearn.formulas.losses", "skimlearn.formulas.regularizers",
           "skimlearn.formulas.kernels", "skimlearn.report", "skimlearn.datasets")  # fmt: skip


def found(name):
    """What a name of the reference stands for."""
    module, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), last)
    except AttributeError:
        return importlib.import_module(name)


def public():
    """All names that users may import, and what they are."""
    names = {f"skimlearn.{name}": getattr(skimlearn, name) for name in skimlearn.__all__}
    for module in map(importlib.import_module, MODULES):
        names |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    names |= {name: found(name) for name in LISTED}
    return {name: thing for name, thing in names.items() if not inspect.ismodule(thing)}


def examples(thing):
    return doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")


@pytest.mark.parametrize("name", sorted(public()))
def test_a_public_name_has_an_example_that_runs(name):
    shown = examples(found(name))
    assert shown, f"{name} has no example"
    assert not any(doctest.SKIP in example.options for example in shown)


@pytest.mark.parametrize(
    "name", sorted(n for n, thing in public().items() if inspect.isclass(thing))
)
def test_the_methods_of_a_class_are_explained(name):
    for method, thing in inspect.getmembers(found(name)):
        own = getattr(thing, "__module__", None) or ""
        if not method.startswith("_") and callable(thing) and own.startswith("skimlearn"):
            assert inspect.getdoc(thing), f"{name}.{method}"


def test_the_reference_lists_all_public_names():
    modules = {"datasets", "kernels", "losses", "regularizers", "report"}
    listed = {name.rpartition(".")[2] for name in LISTED}
    report = set(importlib.import_module("skimlearn.report").__all__)
    assert set(skimlearn.__all__) - modules <= listed
    assert report <= listed
