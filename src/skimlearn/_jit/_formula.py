"""Formulas: frozen dataclasses of floats, whose methods kernels call at full speed.

Numba knows a class by its name and a digest of its code, so that machine code on disk fits the
class as it is now, wherever it was written: in the package, a script, a notebook.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import marshal
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar

import numpy as np
from numba.core import cgutils, types
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    overload_method,
    register_model,
    typeof_impl,
    unbox,
)

from skimlearn._jit._compile import LEAN, OPTIONS

__all__ = ["Formula", "FormulaType", "formula_type"]

INLINED = ("value", "slope", "bend")  # whatever their length: loops then run on vectors


class Formula:
    """Scalar mathematics that a kernel can call: a frozen dataclass of floats, with methods.

    Kernels take an instance as an ordinary argument. They are specialised for its class, its
    methods are inlined, and its fields are read at run time: a new parameter value does not
    recompile anything. Methods of one name have the same arguments in all subclasses.
    """

    lean: ClassVar[bool] = False  # whether the methods are compiled as by `lean_kernel`


class FormulaType(types.Type):
    """Numba's view of a `Formula` subclass, identified by its name and a digest of its code.

    It holds text only, so that a cached kernel never needs to import the class of a user.
    """

    def __init__(self, name: str, parameters: tuple[str, ...]):
        super().__init__(name)
        self.parameters = parameters


class LeanFormulaType(FormulaType):
    """The same, for classes whose methods are compiled as by `lean_kernel`."""


_classes: dict[str, type[Formula]] = {}
_methods: dict[str, inspect.Signature] = {}


@functools.cache
def formula_type(cls: type[Formula]) -> FormulaType:
    """Tell numba about a class of formulas: its fields and its methods."""
    methods = {
        name: function
        for name, function in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("__")
    }
    parameters = tuple(field.name for field in fields(cls))  # type: ignore[arg-type]
    for method in methods:
        for base in reversed(cls.__mro__):  # the base class first: it sets the standard
            if method not in vars(base):
                continue
            signature = inspect.signature(vars(base)[method])
            known = _methods.setdefault(method, signature)
            if list(known.parameters) != list(signature.parameters):
                raise TypeError(
                    f"{base.__qualname__}.{method}{signature} must name its arguments as the other "
                    f"formulas do: {method}{known}"
                )
    name = f"{cls.__module__}.{cls.__qualname__}{parameters}@{_digest(cls, methods)}"
    _classes[name] = cls
    kind = LeanFormulaType if cls.lean else FormulaType
    for method in methods:
        _expose(kind, method)
    return kind(name, parameters)


def _digest(cls: type, methods: Mapping[str, FunctionType]) -> str:
    """Identify the code of a class: its bytecode, what it calls and, if any, its source file."""
    digest = hashlib.sha256()
    seen: set[FunctionType] = set()
    for name, function in methods.items():
        if set(function.__code__.co_freevars) - {"__class__"}:
            raise TypeError(
                f"{cls.__qualname__}.{name} uses a local variable of the function it was defined "
                "in: make it a field of the dataclass"
            )
        _digest_code(digest, function, seen)
    for base in cls.__mro__:
        if base.__module__ != Formula.__module__ and base is not object:
            try:
                digest.update(Path(inspect.getfile(base)).read_bytes())
            except (OSError, TypeError):  # typed into an interpreter or a notebook
                continue
    return digest.hexdigest()[:16]


def _digest_code(digest: Any, function: FunctionType, seen: set[FunctionType]) -> None:
    if function in seen:
        return
    seen.add(function)
    digest.update(marshal.dumps(function.__code__, 2))
    used = _used(function)
    while used:
        value = used.pop()
        if isinstance(value, Dispatcher):
            _digest_code(digest, value.py_func, seen)
        elif isinstance(value, tuple):
            used.extend(value)
        elif isinstance(value, np.ndarray):
            digest.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
        elif isinstance(value, (int, float, complex, str, np.generic)):
            digest.update(repr(value).encode())


def _used(function: FunctionType) -> list[Any]:
    """What a function takes from outside: numba freezes it into the machine code."""
    codes = [function.__code__]
    for code in codes:  # grows: functions and comprehensions inside of the function
        codes.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
    names = {name: None for code in codes for name in code.co_names}
    scopes = [function.__globals__]
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    for scope in scopes:  # grows: the modules whose attributes it may use
        for value in (scope[name] for name in names if name in scope):
            values.append(value)
            if isinstance(value, ModuleType) and not any(s is vars(value) for s in scopes):
                scopes.append(vars(value))
    return values


@functools.cache
def _expose(kind: type[FormulaType], method: str) -> None:
    def implementation(self: Any, *arguments: Any) -> Any:
        return getattr(_classes[self.name], method, None)

    implementation.__signature__ = _methods[method]  # type: ignore[attr-defined]
    options = LEAN if kind is LeanFormulaType else OPTIONS
    if method in INLINED:
        options = {**options, "forceinline": True}
    overload_method(kind, method, jit_options=options, strict=False)(implementation)


@typeof_impl.register(Formula)
def _typeof(value: Formula, _context: Any) -> FormulaType:
    cls: Any = type(value)
    return formula_type(cls)


@register_model(LeanFormulaType)
@register_model(FormulaType)
class _FormulaModel(models.StructModel):
    def __init__(self, manager: Any, formula: FormulaType):
        super().__init__(manager, formula, [(p, types.float64) for p in formula.parameters])


@infer_getattr
class _FormulaFields(AttributeTemplate):
    """The fields of a formula; a field of one class may have the name of a method of another."""

    key = FormulaType

    def generic_resolve(self, formula: FormulaType, name: str) -> Any:
        return types.float64 if name in formula.parameters else None


@lower_getattr_generic(FormulaType)
def _read_field(context: Any, builder: Any, formula: FormulaType, value: Any, name: str) -> Any:
    return getattr(cgutils.create_struct_proxy(formula)(context, builder, value), name)


@unbox(FormulaType)
def _unbox(formula: FormulaType, value: Any, c: Any) -> NativeValue:
    struct = cgutils.create_struct_proxy(formula)(c.context, c.builder)
    for parameter in formula.parameters:
        attribute = c.pyapi.object_getattr_string(value, parameter)
        with c.builder.if_then(cgutils.is_not_null(c.builder, attribute), likely=True):
            setattr(struct, parameter, c.pyapi.float_as_double(attribute))
            c.pyapi.decref(attribute)
    error = cgutils.is_not_null(c.builder, c.pyapi.err_occurred())
    return NativeValue(struct._getvalue(), is_error=error)
