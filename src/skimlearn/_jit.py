"""Machine code from plain Python: the only module that knows numba's extension interface.

Three things are built here, and the rest of the package uses nothing else of numba:

`kernel`
    compiles a loop over arrays on first use and keeps the machine code on disk;
`Formula`
    scalar mathematics (a loss, a regularizer) written as a small frozen dataclass, which a kernel
    takes as an ordinary argument and calls at full speed;
`dispatch`
    one name for several loops, picked by the class of the first argument when a kernel is compiled.

A second process compiles nothing. The code on disk is never stale: the folder is named after the
package's source, and the type of a formula after the code of its class. A process that does compile
says so, in one line on standard error, if somebody is there to wait: at a terminal, in an
interactive session, in a notebook.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import inspect
import marshal
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar, TypeVar

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core import event as events
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import _nrt_python
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr_generic,
    models,
    overload,
    overload_method,
    register_model,
    typeof_impl,
    unbox,
)

# Vectorise sums, but keep nan and inf meaningful. Not "arcp": it turns x / c into x * (1 / c),
# which is infinite for a subnormal c.
FAST = {"reassoc", "contract", "nsz"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": FAST}
LEAN = {**OPTIONS, "_nrt": False}
ON_TOP = ("__main__.py", "cli", "report")

Function = TypeVar("Function", bound=Callable[..., Any])


@functools.cache
def cache_directory() -> Path | None:
    """Where machine code is kept: one folder per state of the package's source; None if unwritable.

    Numba notices a change in the file of a kernel, but not in the files that the kernel calls
    into. A folder named after all of the source closes that gap; but for the layers on top, which
    no kernel can call into.
    """
    root = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    if not root:
        root = os.path.expanduser("~/.cache")
        if root.startswith("~"):  # a user without a home: do not make a folder named "~"
            return None
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        if path.relative_to(package).parts[0] in ON_TOP:
            continue
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    folder = Path(root) / "skimlearn" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return None
    return folder


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


def _compile(function: Function, options: dict[str, Any]) -> Function:
    compiled: Any = numba.njit(**options)(function)
    folder = cache_directory()
    if folder is not None and not numba.config.DISABLE_JIT:
        compiled._cache = _CacheOnDemand(function, str(folder))
    return compiled


class _CacheOnDemand:
    """The cache of a kernel, made when the kernel is first called.

    Numba makes and removes a file for each, to see whether the folder can be written to. A process
    uses a few of the kernels that it has imported.
    """

    def __init__(self, function: Any, folder: str) -> None:
        self._function, self._folder = function, folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)

    @functools.cached_property
    def _made(self) -> Any:
        with global_compiler_lock:
            previous, numba.config.CACHE_DIR = numba.config.CACHE_DIR, self._folder
            try:
                return _Cache(self._function)
            except RuntimeError:  # a function typed into an interpreter has no file to name it by
                return NullCache()
            finally:
                numba.config.CACHE_DIR = previous


class _Cache(FunctionCache):
    """Machine code on disk that is loaded without what only a compiler needs.

    Numba brings all it knows about types and functions (and scipy.linalg) up to date first, and
    compiles its own runtime, which takes several times as long as to load a kernel. A compilation
    does so anyway; machine code has the runtime in it, but for the functions that numba has in C.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        _name_runtime()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


@functools.cache
def _name_runtime() -> None:
    """Tell the linker where numba's functions in C are, as numba does before it compiles."""
    for name, address in _nrt_python.c_helpers.items():
        llvmlite.binding.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _Notice(events.Listener):
    """Tells whoever waits for the first kernel to be compiled what is going on, once."""

    told = False

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""
        if self.told or module.partition(".")[0] != "skimlearn":
            return
        self.told = True
        if sys.stderr is None or not (sys.stderr.isatty() or hasattr(sys, "ps1")):
            return
        folder = cache_directory()
        text = f"once: the machine code is kept in {folder}"
        if folder is None:
            text = "in every process: no cache folder can be written to; NUMBA_CACHE_DIR names one"
        print(f"skimlearn: compiling, which takes some seconds, {text}", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        pass


events.register("numba:compile", _Notice())


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


def prefetch_line(array: Any, index: Any) -> None:
    """Inside a kernel: ask the memory for one element of an array, ahead of its use."""


@overload(prefetch_line, strict=False)
def _prefetch_line_type(array: Any, index: Any) -> Any:
    return lambda array, index: _prefetch_line(array, index)


@intrinsic
def _prefetch_line(_typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        position = context.cast(builder, arguments[1], index, types.intp)
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [pointer, word, word, word]),
            "llvm.prefetch.p0",
        )
        address = builder.bitcast(builder.gep(data, [position]), pointer)
        builder.call(function, [address, word(0), word(3), word(1)])  # to read, all levels, data
        return context.get_dummy_value()

    return types.void(array, index), generate


def load_shared(array: Any, index: Any) -> Any:
    """Inside a kernel: an element that other threads may change, and what they wrote before it."""
    return array[index]


def store_shared(array: Any, index: Any, value: Any) -> None:
    """Inside a kernel: change an element that other threads wait for, after all earlier writes."""
    array[index] = value


def give_way() -> None:
    """Inside a kernel: let another thread have the processor, if one waits for it."""
    time.sleep(0.0)


@overload(load_shared, strict=False)
def _load_shared_type(array: Any, index: Any) -> Any:
    return lambda array, index: _load_shared(array, index)


@overload(store_shared, strict=False)
def _store_shared_type(array: Any, index: Any, value: Any) -> Any:
    return lambda array, index, value: _store_shared(array, index, value)


@overload(give_way, strict=False)
def _give_way_type() -> Any:
    return lambda: _give_way()


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array, index = signature.args[:2]
    data = context.make_array(array)(context, builder, arguments[0]).data
    return builder.gep(data, [context.cast(builder, arguments[1], index, types.intp)])


@intrinsic
def _load_shared(_typing: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_address(context, builder, signature, arguments), "acquire", 8)

    return types.int64(array, index), generate


@intrinsic
def _store_shared(_typing: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.cast(builder, arguments[2], value, types.int64)
        builder.store_atomic(number, _address(context, builder, signature, arguments), "release", 8)
        return context.get_dummy_value()

    return types.void(array, index, value), generate


def _yield_address() -> Any:
    if sys.platform == "win32":
        return ctypes.cast(ctypes.windll.kernel32.SwitchToThread, ctypes.c_void_p).value
    return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value


# by name, so that machine code on disk can be linked to it in any process
llvmlite.binding.add_symbol("skimlearn_give_way", _yield_address())


@intrinsic
def _give_way(_typing: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        returns = ir.FunctionType(ir.IntType(32), [])
        function = cgutils.get_or_insert_function(builder.module, returns, "skimlearn_give_way")
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


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
