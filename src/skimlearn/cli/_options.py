"""Options of the command line from the parameters of estimators and functions.

Values are taken as texts and converted here, so that ``none`` can be said where None is meant, and
only options that were given are handed on: every default stays where it is defined.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from skimlearn.cli._signatures import Parameter, parameters_of

__all__ = ["Option", "given", "options_of"]

# Parameters that are no options: data, code, and what has no meaning for one fit in a process.
LEFT_OUT = {
    "X", "y", "A", "path", "source", "names", "sample_weight", "callback", "progress", "verbose",
    "warm_start",
}  # fmt: skip
BUDGET = {"tol", "eps", "max_epochs", "max_steps", "max_reads", "max_seconds", "mode", "delta"}
POWERS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Option:
    """An option that one or several classes have as a parameter."""

    parameters: dict[str, Parameter]  # by the name of the class or function
    among: int  # of how many of them

    @property
    def first(self) -> Parameter:
        """What it is explained by."""
        return next(iter(self.parameters.values()))

    @property
    def flag(self) -> bool:
        """Whether it has no value."""
        return self.first.sort == "bool"

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be, those of any class, if there are no others."""
        listed = [p.choices for p in self.parameters.values()]
        return tuple(dict.fromkeys(word for words in listed for word in words)) * all(listed)

    @property
    def metavar(self) -> str:
        """What help shows in the place of a value."""
        names = {"float": "NUMBER", "int": "COUNT", "list": "COUNT|LIST", "word": "NAME"}
        names |= {"weights": "balanced|CLASS=WEIGHT,...", "float or word": "NUMBER|NAME"}
        return "|".join(self.choices) or names[self.first.sort]

    @property
    def panel(self) -> str:
        """Where help shows it: apart, if not all of the classes have it."""
        if len(self.parameters) < self.among:
            return f"Only for {' and '.join(self.parameters)}"
        return "Budget" if self.first.name in BUDGET else "Parameters"

    @property
    def help(self) -> str:
        """The explanation, with the default if all have the same."""
        text = re.sub(r"``(.*?)``|`(.*?)`", lambda m: m.group(1) or m.group(2), self.first.text)
        defaults = {p.default.strip("'") for p in self.parameters.values()}
        shown = defaults - {"None", "False", ""}
        if len(defaults) == 1 and shown and not shown.pop().isupper():
            text += f" (default: {defaults.pop()})"
        return text

    def convert(self, text: str) -> Any:
        """The value of a text; ValueError if it has none."""
        nothing = text.lower() == "none" and any(p.optional for p in self.parameters.values())
        if self.choices:
            if text not in self.choices and not nothing:
                raise ValueError(f"must be one of {', '.join(self.choices)}")
            return text if text in self.choices else None
        return None if nothing else CONVERT[self.first.sort](text)

    def parameter(self, name: str) -> inspect.Parameter:
        """The parameter of a typer command that stands for it."""
        described: dict[str, Any] = {
            "help": self.help.replace("[", "\\["),
            "rich_help_panel": self.panel,
            "show_default": False,
            "metavar": "",  # a flag has no value
        }
        flag = "--" + name.replace("_", "-")
        kind: Any = bool
        if not self.flag:
            kind = str | None
            described["metavar"] = self.metavar
            described["callback"] = self._check
            if self.choices:
                words = self.choices
                described["autocompletion"] = lambda incomplete: [
                    word for word in words if word.startswith(incomplete)
                ]
        return inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if self.flag else None,
            annotation=Annotated[kind, typer.Option(flag, **described)],
        )

    def _check(self, value: str | None) -> str | None:
        if value is not None:
            try:
                self.convert(value)
            except ValueError as error:
                raise typer.BadParameter(f"{value!r} {error}") from None
        return value


def options_of(names: Iterable[str], leave_out: Iterable[str] = ()) -> dict[str, Option]:
    """The options of some classes or functions, by name, each once."""
    owners = tuple(names)
    found: dict[str, dict[str, Parameter]] = {}
    for owner in owners:
        for parameter in parameters_of(owner).values():
            if parameter.name not in LEFT_OUT.union(leave_out):
                if not parameter.sort:
                    raise TypeError(
                        f"{owner}: no text says a value of the kind {parameter.kind!r}, which "
                        f"{parameter.name!r} is documented as: write another kind, convert it in "
                        "cli/_signatures.py, or leave it out in cli/_options.py"
                    )
                found.setdefault(parameter.name, {})[owner] = parameter
    return {name: Option(parameters, len(owners)) for name, parameters in found.items()}


def given(options: dict[str, Option], values: dict[str, Any]) -> dict[str, Any]:
    """The values of the options that were given, converted."""
    return {
        name: values[name] if option.flag else option.convert(values[name])
        for name, option in options.items()
        if values[name] not in (None, False)
    }


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("is not a number") from None


def _whole(text: str) -> int:
    """A whole number, also as 1_000, 1e6 or 64M."""
    digits, unit = (text[:-1], POWERS[text[-1]]) if text[-1:] in POWERS else (text, 1)
    value = _number(digits) * unit
    if not value.is_integer():
        raise ValueError("is not a whole number")
    return int(value)


def _list(text: str) -> Any:
    """How many, or which: 11, or 0.1,0.01."""
    return int(text) if text.isdigit() else [_number(part) for part in text.split(",")]


def _number_or_word(text: str) -> Any:
    return text if text.isalpha() else _number(text)


def _weights(text: str) -> Any:
    if text == "balanced":
        return text
    pairs = [part.rpartition("=") for part in text.split(",")]
    if not all(equals and name for name, equals, _ in pairs):
        raise ValueError("must be 'balanced', or weights as in -1=1,1=10")
    return {_label(name): _number(weight) for name, _, weight in pairs}


def _label(text: str) -> Any:
    """A class as it is written: a number if it is one."""
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


CONVERT: dict[str, Callable[[str], Any]] = {
    "float": _number,
    "int": _whole,
    "word": str,
    "list": _list,
    "weights": _weights,
    "float or word": _number_or_word,
}
