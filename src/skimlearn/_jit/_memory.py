"""Memory inside of kernels: lines that are fetched early, and elements that threads share."""

from __future__ import annotations

import ctypes
import sys
import time
from typing import Any

import llvmlite.binding
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

__all__ = ["give_way", "load_shared", "prefetch_line", "store_shared"]


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
