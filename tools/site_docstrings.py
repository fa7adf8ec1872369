"""Docstrings as a running program has them: those of estimators are put together from parts."""

import importlib
import re

import griffe

PLACE = re.compile(r"^\s*\{\w+\}$", re.MULTILINE)


class Filled(griffe.Extension):
    """Take the docstring of a class whose text has places to fill from the class itself."""

    def on_class(self, *, cls, **_):
        """Called for every class that was read."""
        docstring = cls.docstring
        if docstring is None or not PLACE.search(docstring.value):
            return
        home = importlib.import_module(cls.module.path)
        docstring.value = griffe.Docstring(getattr(home, cls.name).__doc__).value
