"""Docstrings as a running program has them: those of estimators are put together from parts."""

import importlib
import re

import griffe

PLACE = re.compile(r"^\s*\{\w+\}$", re.MULTILINE)
# griffe takes the first of the choices for the default, whatever is said
UNSET = re.compile(r"^(\s*\w+ : )\{([^}]*)\}( or [^,\n]*, default=None)$", re.MULTILINE)


class Filled(griffe.Extension):
    """Take the docstring of a class whose text has places to fill from the class itself.

    A parameter that may be one of some words, or None, has the default None.
    """

    def on_class(self, *, cls, **_):
        """Called for every class that was read."""
        docstring = cls.docstring
        if docstring is None:
            return
        if PLACE.search(docstring.value):
            home = importlib.import_module(cls.module.path)
            docstring.value = griffe.Docstring(getattr(home, cls.name).__doc__).value
        docstring.value = UNSET.sub(r"\1\2\3", docstring.value)
