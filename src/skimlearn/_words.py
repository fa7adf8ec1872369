"""Numbers as people read them."""

from __future__ import annotations

import math

__all__ = ["ROUNDING", "amount", "apart", "duration", "number", "percent"]

ROUNDING = 1e-12  # a relative gap of less than this says no more than that numbers are rounded


def number(value: float, digits: int = 4) -> str:
    """A number with so many significant digits, four at least.

    Examples
    --------
    >>> number(0.0123456), number(12345.6), number(0.5), number(2e-9)
    ('0.01235', '12,346', '0.5', '2e-09')
    """
    if not math.isfinite(value):
        return str(float(value)).replace("-", "−").replace("inf", "∞")
    digits = max(4, digits)
    size, sign = abs(value), "−" if value < 0.0 else ""
    if 1000.0 <= size < 1e15:
        places = max(0, digits - 1 - math.floor(math.log10(size)))
        return f"{sign}{size:,.{places}f}"
    return f"{sign}{size:.{digits}g}"


def apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to see how far they are apart, four or more.

    Digits that say no more than that numbers are rounded are left out.

    Examples
    --------
    >>> apart(0.5, 0.49), apart(1.00001, 1.0), apart(2.0, 2.0), apart(2.0 + 1e-14, 2.0)
    (('0.5', '0.49'), ('1.00001', '1'), ('2', '2'), ('2', '2'))
    """
    if math.isfinite(one) and math.isfinite(other) and one != other:
        part = abs(one - other) / max(abs(one), abs(other))
        if part >= ROUNDING:
            digits = min(15, math.ceil(-math.log10(part)) + 2)
            return number(one, digits), number(other, digits)
    return number(one), number(other)


def percent(part: float) -> str:
    """A part as a percentage, with two significant digits, rounded up: it is a bound.

    Examples
    --------
    >>> percent(0.000512), percent(0.25), percent(2e-9), percent(3.2)
    ('0.052 %', '25 %', '0.0000002 %', '320 %')
    """
    hundred = 100.0 * part
    if not math.isfinite(hundred):
        return "∞ %"
    if hundred <= 0.0:
        return "0 %"
    places = max(0, 1 - math.floor(math.log10(hundred)))
    if places > 12:
        return "0.000000000001 %"
    up = math.ceil(hundred * 10.0**places * (1.0 - 1e-9)) / 10.0**places
    text = f"{up:.{places}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def amount(count: float) -> str:
    """A count, exactly.

    Examples
    --------
    >>> amount(1234567)
    '1,234,567'
    """
    return f"{count:,.0f}"


def duration(seconds: float) -> str:
    """A time, with two or three digits.

    Examples
    --------
    >>> duration(0.00123), duration(12.34), duration(4000.0)
    ('1.2 ms', '12.3 s', '1 h 7 min')
    """
    if seconds < 1.0:
        return f"{1000.0 * seconds:.2g} ms" if seconds < 0.1 else f"{1000.0 * seconds:.0f} ms"
    if seconds < 120.0:
        return f"{seconds:.3g} s"
    if seconds < 3600.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds // 3600.0:.0f} h {seconds % 3600.0 / 60.0:.0f} min"
