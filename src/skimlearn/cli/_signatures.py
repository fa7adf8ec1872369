"""The parameters of estimators and functions, read from their source without importing it.

To import an estimator takes longer than to show a page of help. So its ``__init__`` and its
docstring are parsed: names and defaults come from the signature, kinds and explanations from the
numpydoc section "Parameters". What can't be read is an error that says where and what to write: no
parameter is left out for want of a line.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Parameter", "documented", "loss_names", "parameters_of"]

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
        taken = next((n for n in body if getattr(n, "name", "") == "__init__"), definition)
    if not isinstance(taken, ast.FunctionDef):
        raise TypeError(f"{module}.{name} has no __init__ to read options from; see BASES")
    known = documented(text)
    if name in LIKE:
        others = parameters_of(LIKE[name])
        known = {n: (p.kind, p.text) for n, p in others.items()} | known
    found = {}
    for parameter, annotation, default in _signature(taken):
        kind, explained = known.get(parameter, ("", ""))
        if not kind or not explained:
            raise TypeError(
                f"the docstring of {module}.{name} does not explain {parameter!r}: write a line "
                f"'{parameter} : kind' into its section Parameters, and what it does below"
            )
        found[parameter] = Parameter(parameter, annotation, default, kind, explained)
    return found


@functools.cache
def loss_names() -> tuple[str, ...]:
    """The names of the losses: the keys of their table."""
    table = _parsed(_statement("skimlearn.formulas.losses", r"NAMES\b"))
    if not isinstance(table, ast.AnnAssign) or not isinstance(table.value, ast.Dict):
        raise TypeError("skimlearn.formulas.losses: NAMES must be a dict, with its type")
    return tuple(ast.literal_eval(key) for key in table.value.keys if key is not None)


@functools.cache
def _statement(module: str, start: str) -> str:
    """The source of a statement of a module, which is found but not imported.

    It ends before the next line that is not indented, but for closing brackets.
    """
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise FileNotFoundError(2, "skim reads its options from this file's source", module)
    text = Path(spec.origin).read_text(encoding="utf-8")
    found = re.search(rf"^{start}.*?(?=^[^\s)\]}}]|\Z)", text, re.M | re.S)
    if found is None:
        raise TypeError(f"{module} has no line that begins with {start}; see SOURCES")
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
    if method and isinstance(found, ast.ClassDef):
        found = next((n for n in found.body if getattr(n, "name", None) == method), found)
    if not isinstance(found, ast.ClassDef | ast.FunctionDef) or found.name != (method or owner):
        raise TypeError(f"{module} has no {name}; see SOURCES")
    return found


def _docstring(definition: ast.ClassDef | ast.FunctionDef) -> str:
    text = ast.get_docstring(definition, clean=False) or ""
    if "{parameters}" in text:
        from skimlearn.estimators._parameters import PARAMETERS

        text = text.replace("{parameters}", PARAMETERS)
    return inspect.cleandoc(text)


def documented(text: str) -> dict[str, tuple[str, str]]:
    r"""Kinds and explanations by name, from the section "Parameters" of a docstring.

    Examples
    --------
    >>> text = "Parameters\n----------\nlow, high : float, default=0.5\n    Limits."
    >>> documented(text)["high"]
    ('float', 'Limits.')
    """
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
    if positional and positional[0].arg in ("self", "cls"):
        del pairs[0]
    pairs += list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    return [(a.arg, _written(a.annotation), _written(default)) for a, default in pairs]


def _written(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)
