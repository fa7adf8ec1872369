"""One thread for the linear algebra behind NumPy and SciPy.

OpenBLAS and its like share out every product of more than some thousand numbers among all cores,
and their threads wait for the next one by spinning. A solver that takes a product of two vectors
now and then gains nothing by it, pays twice the processor time, and on a machine with other work
many times the time. It also gets other last digits with another number of cores.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from skimlearn.data.rows import Dense, Rows

__all__ = ["linalg", "one_thread", "one_thread_for", "one_thread_for_steps"]

LONG = 10_000  # numbers of a vector, from which BLAS has threads for a product of two
WIDE = 128  # columns of dense rows, from which products of matrices repay threads


class _Limit(ExitStack):
    """A limit in force, which may have to be set once more."""

    whole = False  # whether it holds for the library of SciPy too

    def hold(self) -> None:
        self.whole = "scipy.linalg" in sys.modules
        for library in _libraries(self.whole):
            if (threads := library.get_num_threads()) != 1:
                self.callback(library.set_num_threads, threads)
                library.set_num_threads(1)


_limits: list[_Limit] = []  # for each `one_thread` that the main thread is in


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread meanwhile, in the whole process.

    Only the main thread can: of several that do, none would know what to go back to. In others
    nothing happens.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     float(np.ones(100_000) @ np.ones(100_000))
    100000.0
    """
    with _Limit() as limit:
        if threading.current_thread() is threading.main_thread():
            limit.hold()
            _limits.append(limit)
            limit.callback(_limits.pop)
        yield


@contextmanager
def one_thread_for(rows: Rows) -> Iterator[None]:
    """The same for a solver on these rows, unless they are wide and dense: then as it is set."""
    if isinstance(rows, Dense) and rows.shape[1] >= WIDE:
        yield
    else:
        with one_thread():
            yield


@contextmanager
def one_thread_for_steps(rows: Rows) -> Iterator[None]:
    """The same for single steps: of vectors that are short BLAS makes nothing anyway."""
    if max(rows.shape) < LONG:
        yield
    else:
        with one_thread():
            yield


def linalg() -> ModuleType:
    """scipy.linalg, which takes long to load and brings a library of its own, held as the rest is.

    Examples
    --------
    >>> float(linalg().norm([3.0, 4.0]))
    5.0
    """
    module = importlib.import_module("scipy.linalg")  # waits, if another thread is at it
    if threading.current_thread() is threading.main_thread() and _limits and not _limits[0].whole:
        _limits[0].hold()
    return module


@functools.cache
def _libraries(with_scipy: bool) -> Any:
    from threadpoolctl import ThreadpoolController  # takes some milliseconds

    return ThreadpoolController().select(user_api="blas").lib_controllers
