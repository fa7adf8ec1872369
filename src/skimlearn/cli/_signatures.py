"""The parameters of estimators and functions, read from their source without importing it.

To import an estimator takes longer than to show a page of help. So its ``__init__`` and its
docstring are parsed: names and defaults come from the signature, kinds and explanations from the
numpydoc section "Parameters".
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Parameter", "loss_names", "parameters_of"]

SOURCES = {
    "LinearClassifier": "skimlearn.estimators.classifier",
    "LinearRegressor": "skimlearn.estimators.regressor",
    "SublinearSVC": "skimlearn.estimators.sublinear",
    "KernelClassifier": "skimlearn.estimators.kernel",
    "EnclosingBall": "skimlearn.estimators.ball",
    "regularization_path": "skimlearn.estimators.path",
    "matrix_game": "skimlearn.solvers.game",
    "Store.create": "skimlearn.data.store",
}
BASES = {"LinearRegressor": ("skimlearn.estimators._base", "LinearModel")}  # whose __init__ it has
LIKE = {"regularization_path": "LinearClassifier"}  # "As for `LinearClassifier`"


@dataclass(frozen=True)
class Parameter:
    """A parameter as it is documented."""

    name: str
    annotation: str  # as in the signature: "float | None"
    default: str  # as in the signature: "0.001"; empty if there is none
    kind: str  # as in the docstring: "float or None"
    text: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be, if there are no others; objects have no words."""
        listed = re.fullmatch(r"\{(.*)\}((?: or [A-Z]\w*)*)", self.kind)
        if self.kind.startswith("float32"):
            return ("float32", "float64")
        if self.kind.endswith(" or Loss"):
            return loss_names()
        return () if listed is None else tuple(re.findall(r'"(.*?)"', listed.group(1)))

    @property
    def optional(self) -> bool:
        """Whether it may be None."""
        return "None" in re.findall(r"\w+", f"{self.annotation} {self.kind}")

    @property
    def sort(self) -> str:
        """What its text is converted to; empty if texts can't say it."""
        if self.choices:
            return "word"
        types = " | ".join(sorted(set(self.annotation.split(" | ")) - {"None"}))
        known = {"str": "word", "float | str": "float or word"}
        if types in ("float", "int", "bool", *known):
            return known.get(types, types)
        documented = {"int or sequence of float": "list", "int, ": "int", "dict, ": "weights"}
        return next((s for start, s in documented.items() if self.kind.startswith(start)), "")


@functools.cache
def parameters_of(name: str) -> dict[str, Parameter]:
    """The documented parameters of an estimator's class or of a function, in their order."""
    module = SOURCES[name]
    definition = _find(module, name)
    text = _docstring(definition)
    taken: ast.stmt = definition
    if isinstance(definition, ast.ClassDef):
        body = _find(*BASES.get(name, (module, name))).body
        taken = next(node for node in body if getattr(node, "name", "") == "__init__")
    assert isinstance(taken, ast.FunctionDef)
    documented = _documented(text)
    if name in LIKE:
        others = parameters_of(LIKE[name])
        documented = {n: (p.kind, p.text) for n, p in others.items()} | documented
    return {
        parameter: Parameter(parameter, annotation, default, *documented[parameter])
        for parameter, annotation, default in _signature(taken)
        if parameter in documented
    }


@functools.cache
def loss_names() -> tuple[str, ...]:
    """The names of the losses: the keys of their table."""
    table = _parsed(_statement("skimlearn.formulas.losses", r"NAMES\b"))
    assert isinstance(table, ast.AnnAssign)
    assert isinstance(table.value, ast.Dict)
    return tuple(ast.literal_eval(key) for key in table.value.keys if key is not None)


@functools.cache
def _statement(module: str, start: str) -> str:
    """The source of a statement of a module, which is found but not imported.

    It ends before the next line that is not indented, but for closing brackets.
    """
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    found = re.search(rf"^{start}.*?(?=^[^\s)\]}}]|\Z)", text, re.M | re.S)
    assert found is not None
    return found.group()


@functools.cache
def _parsed(source: str) -> ast.stmt:
    return ast.parse(source).body[0]


def _find(module: str, name: str) -> ast.ClassDef | ast.FunctionDef:
    """The definition of a class, up to its ``__init__``, of a function or, with a dot, a method."""
    owner, _, method = name.partition(".")
    source = _statement(module, rf"(class|def) {owner}\b")
    # what follows is not needed, and to parse it takes longer than all the rest
    upto = re.search(
        rf"^    def {method or '__init__'}\b.*?(?=^    (def|@)|\Z)", source, re.M | re.S
    )
    found = _parsed(source[: upto.end()] if upto else source)
    assert isinstance(found, ast.ClassDef | ast.FunctionDef)
    if not method:
        return found
    inner = next(node for node in found.body if getattr(node, "name", None) == method)
    assert isinstance(inner, ast.FunctionDef)
    return inner


def _docstring(definition: ast.ClassDef | ast.FunctionDef) -> str:
    text = ast.get_docstring(definition, clean=False) or ""
    if "{parameters}" in text:
        from skimlearn.estimators._parameters import PARAMETERS

        text = text.replace("{parameters}", PARAMETERS)
    return inspect.cleandoc(text)


def _documented(text: str) -> dict[str, tuple[str, str]]:
    """Kinds and explanations by name, from the section "Parameters" of a docstring."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", text, re.M | re.S)
    found: dict[str, tuple[str, str]] = {}
    for entry in re.split(r"\n(?=\S)", section.group(1) if section else ""):
        head, _, body = entry.partition("\n")
        names, colon, kind = head.partition(" : ")
        if colon:
            for name in names.split(", "):
                kind = re.sub(r", default=.*$", "", kind).strip()
                found[name.strip()] = (kind, " ".join(body.split()))
    return found


def _signature(function: ast.FunctionDef) -> list[tuple[str, str, str]]:
    """Names, annotations and defaults, as they are written."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    given = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = list(zip(positional, given, strict=True))
    pairs += list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    return [(a.arg, _written(a.annotation), _written(default)) for a, default in pairs]


def _written(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)
