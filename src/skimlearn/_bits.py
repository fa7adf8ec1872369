"""Words of 64 bits inside kernels: instructions of processors that numba does not offer.

Each function is written twice: as plain Python, and as machine code for kernels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

__all__ = [
    "bit_count",
    "find_marks",
    "leading_zeros",
    "power_of_two",
    "trailing_zeros",
    "wide_product",
]

WORD, DOUBLE_WORD = ir.IntType(64), ir.IntType(128)
CERTAIN = ir.Constant(ir.IntType(1), 0)  # a word of zeros has 64 of them


def find_marks(text: Any, index: Any) -> Any:
    """Which of 64 bytes are colons, blanks or below blanks, from the lowest bit on."""
    window = text[int(index) : int(index) + 64]
    return np.uint64(sum(1 << k for k, c in enumerate(window) if c <= 32 or c == 58))


@intrinsic
def _find_marks(_typing: Any, text: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(text)(context, builder, arguments[0]).data
        position = context.cast(builder, arguments[1], index, types.intp)
        row = ir.VectorType(ir.IntType(8), 64)
        address = builder.bitcast(builder.gep(data, [position]), row.as_pointer())
        found = builder.load(address, align=1)
        low = builder.icmp_unsigned("<=", found, ir.Constant(row, [32] * 64))
        colon = builder.icmp_unsigned("==", found, ir.Constant(row, [58] * 64))
        return builder.bitcast(builder.or_(low, colon), WORD)

    return types.uint64(text, index), generate


@overload(find_marks, strict=False)
def _find_marks_type(text: Any, index: Any) -> Any:
    return lambda text, index: _find_marks(text, index)


def bit_count(word: Any) -> Any:
    """How many bits are set."""
    return np.uint64(int(word).bit_count())


@intrinsic
def _bit_count(_typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@overload(bit_count, strict=False)
def _bit_count_type(word: Any) -> Any:
    return lambda word: _bit_count(word)


def trailing_zeros(word: Any) -> Any:
    """How many zeros are below the lowest bit that is set; 64 if none is."""
    number = int(word)
    return np.uint64((number & -number).bit_length() - 1 if number else 64)


@intrinsic
def _trailing_zeros(_typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], CERTAIN)

    return types.uint64(types.uint64), generate


@overload(trailing_zeros, strict=False)
def _trailing_zeros_type(word: Any) -> Any:
    return lambda word: _trailing_zeros(word)


def leading_zeros(word: Any) -> Any:
    """How many zeros are above the highest bit that is set; 64 if none is."""
    return np.uint64(64 - int(word).bit_length())


@intrinsic
def _leading_zeros(_typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], CERTAIN)

    return types.uint64(types.uint64), generate


@overload(leading_zeros, strict=False)
def _leading_zeros_type(word: Any) -> Any:
    return lambda word: _leading_zeros(word)


def wide_product(a: Any, b: Any) -> Any:
    """The high and the low word of a * b."""
    product = int(a) * int(b)
    return np.uint64(product >> 64), np.uint64(product & (2**64 - 1))


@intrinsic
def _wide_product(_typing: Any, a: Any, b: Any) -> Any:
    pair = types.UniTuple(types.uint64, 2)  # type: ignore[attr-defined,unused-ignore]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one, other = (builder.zext(argument, DOUBLE_WORD) for argument in arguments)
        product = builder.mul(one, other)
        high = builder.lshr(product, ir.Constant(DOUBLE_WORD, 64))
        words = [builder.trunc(part, WORD) for part in (high, product)]
        return context.make_tuple(builder, pair, words)

    return pair(types.uint64, types.uint64), generate


@overload(wide_product, strict=False)
def _wide_product_type(a: Any, b: Any) -> Any:
    return lambda a, b: _wide_product(a, b)


def power_of_two(k: Any) -> Any:
    """2^k for a whole number from -1074 to 1023, given as a float."""
    return math.ldexp(1.0, int(k)) if k == k else k


@intrinsic
def _power_of_two(_typing: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = builder.fptosi(arguments[0], WORD)
        biased = builder.add(number, ir.Constant(WORD, 1023))
        normal = builder.shl(biased, ir.Constant(WORD, 52))
        small = builder.shl(ir.Constant(WORD, 1), builder.add(number, ir.Constant(WORD, 1074)))
        is_normal = builder.icmp_signed(">", biased, ir.Constant(WORD, 0))
        return builder.bitcast(builder.select(is_normal, normal, small), ir.DoubleType())

    return types.float64(types.float64), generate


@overload(power_of_two, strict=False)
def _power_of_two_type(k: Any) -> Any:
    return lambda k: _power_of_two(k)
