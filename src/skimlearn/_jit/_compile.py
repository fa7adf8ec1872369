"""Compilation: how kernels are made of functions, and one name for several of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numba
from numba.extending import overload, register_jitable

from skimlearn._jit._disk import CacheOnDemand, cache_directory

__all__ = ["LEAN", "OPTIONS", "dispatch", "kernel", "lean_kernel", "shared"]

# Vectorise sums, but keep nan and inf meaningful. Not "arcp": it turns x / c into x * (1 / c),
# which is infinite for a subnormal c.
FAST = {"reassoc", "contract", "nsz"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": FAST}
LEAN = {**OPTIONS, "_nrt": False}
EXACT = {**LEAN, "fastmath": FAST - {"reassoc"}}  # digits that are split off stay apart

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function with numba on first use and keep the result on disk.

    Where the cache folder is not writable the kernel still works, compiled anew by each process.
    """
    return _compile(function, OPTIONS)


def lean_kernel(function: Function) -> Function:
    """As `kernel`, for functions that make no arrays, and call none that do.

    Numba counts how often an array is held, with atomic operations wherever one is handed on in
    branches and loops. A function that works byte by byte can take twice as long for it; so can a
    step that hands on a state of many arrays. Whoever calls from Python holds the arrays anyway.
    """
    return _compile(function, LEAN)


def shared(function: Function) -> Function:
    """A function of numbers that kernels and formulas call; in Python it stays as it is."""
    made: Function = register_jitable(**EXACT)(function)
    return made


def _compile(function: Function, options: dict[str, Any]) -> Function:
    compiled: Any = numba.njit(**options)(function)
    folder = cache_directory()
    if folder is not None and not numba.config.DISABLE_JIT:
        compiled._cache = CacheOnDemand(function, str(folder))
    return compiled


def dispatch(name: str, implementations: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    """One name for several loops; the named-tuple class of the first argument picks one.

    All implementations have the same signature, and make no arrays.
    """
    signature = inspect.signature(next(iter(implementations.values())))

    def choose(first: Any, *rest: Any) -> Any:
        return implementations[type(first)](first, *rest)

    def choose_type(first: Any, *rest: Any) -> Any:
        return implementations.get(getattr(first, "instance_class", type(None)))

    choose.__name__ = choose.__qualname__ = name
    choose.__doc__ = next(iter(implementations.values())).__doc__
    choose_type.__signature__ = signature  # type: ignore[attr-defined]
    overload(choose, jit_options=LEAN, strict=False)(choose_type)
    return choose
