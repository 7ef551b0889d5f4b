"""``math`` and the arithmetic builtins with a GPU's float rules.

A float32 argument gives a float32 result that overflows to inf at float32's own limit, and nothing
raises: a domain error is NaN, a pole is inf. A double, which on a GPU every Python float is, is a
``np.float64`` here, so that it stays one when it meets a float32; an integer argument counts as a double.
Callers silence NumPy's warnings once per launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

f32 = np.float32
f64 = np.float64
_ONE = f32(1.0)
_INF = math.inf
_NAN = math.nan


def is_number(value: Any) -> bool:
    """Whether a value is one that a thread can hold in a register."""
    return isinstance(value, (int, float, complex, np.generic))


def to_float32(value: Any) -> np.float32:
    """Round to float32, once, to inf beyond its range."""
    kind = type(value)
    if kind is f32:
        return value
    if kind is f64 or kind is float:
        return f32(value)
    if kind is int and not -(2**53) <= value <= 2**53:  # through a double it would be rounded twice
        return _rounded_once(value)
    if not is_number(value) or isinstance(value, (complex, np.complexfloating)):
        raise TypeError(f"a {kind.__name__} cannot be turned into a number{' of type float32' * is_number(value)}")
    return f32(value)


def _rounded_once(value: int) -> np.float32:
    if -(2**63) <= value < 2**63:
        return np.int64(value).astype(f32)
    return np.uint64(value).astype(f32) if 0 <= value < 2**64 else f32(value)


def exp(x: Any) -> Any:
    """e**x. float32 in, float32 out (inf above 88.72); never raises."""
    if type(x) is f32:
        try:
            return math.exp(x) * _ONE
        except OverflowError:
            return f32(_INF)
    try:
        result = math.exp(x)
    except OverflowError:
        result = _INF
    return np.float16(result) if type(x) is np.float16 else f64(result)


# functions that keep float16; the others compute it in float32
_HALF = frozenset("cos sin exp exp2 log log2 log10 sqrt fabs ceil floor trunc".split())


def _saturating(name: str, on_error: Callable[[tuple[Any, ...]], float]) -> Callable[..., Any]:
    host = getattr(math, name)
    half = np.float16 if name in _HALF else f32

    def call(*args: Any) -> Any:
        try:
            result = host(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            result = on_error(args)
        first = type(args[0])
        if first is f32 and (len(args) == 1 or type(args[1]) is f32):
            return result * _ONE
        if first is np.float16 and len(args) == 1:
            return half(result)
        if first in (f32, np.float16) and type(args[1]) in (f32, np.float16):
            return f32(result)
        return f64(result)

    call.__name__ = name
    call.__doc__ = f"math.{name} with a GPU's rules."
    return call


def _log_error(args: tuple[Any, ...]) -> float:
    return -_INF if args[0] == 0 else _NAN


def _pow_error(args: tuple[Any, ...]) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(f64(args[0]), f64(args[1])))


def _overflow(args: tuple[Any, ...]) -> float:
    x = args[0]
    return _NAN if x != x or abs(x) == _INF else _INF


def _gamma_error(args: tuple[Any, ...]) -> float:
    x = float(args[0])
    if x == 0:
        return math.copysign(_INF, x)
    return _NAN if x == -_INF or (x < 0 and x.is_integer()) else _INF


_ON_ERROR: dict[str, Callable[[tuple[Any, ...]], float]] = {
    "log": _log_error, "log2": _log_error, "log10": _log_error,
    "log1p": lambda a: -_INF if a[0] == -1 else _NAN,
    "pow": _pow_error,
    "expm1": _overflow, "cosh": _overflow, "exp2": _overflow, "hypot": _overflow,
    "sinh": lambda a: math.copysign(_INF, a[0]),
    "gamma": _gamma_error,
    "lgamma": lambda a: _INF,
    "atanh": lambda a: math.copysign(_INF, a[0]) if abs(a[0]) == 1 else _NAN,
}
ONE_ARGUMENT = frozenset((
    "acos acosh asin asinh atan atanh cos cosh erf erfc exp2 expm1 fabs gamma lgamma log log10 log1p log2 sin sinh "
    "sqrt tan tanh").split())
TWO_ARGUMENTS = frozenset("atan2 copysign fmod hypot pow remainder".split())


def _integral(name: str) -> Callable[[Any], Any]:
    host = getattr(math, name)

    def call(x: Any) -> Any:
        kind = type(x)
        if kind is not f32 and kind is not f64 and kind is not np.float16:
            return f64(x)  # a whole number, as a double
        try:
            return kind(host(float(x)) or math.copysign(0.0, x))
        except (ValueError, OverflowError):  # NaN and the infinities stay what they are
            return x

    call.__name__ = name
    call.__doc__ = f"math.{name}: a float of the argument's own type, as on a GPU."
    return call


def _scaled(factor: float) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        kind = f32 if type(x) in (f32, np.float16) else f64
        return kind(x) * kind(factor)

    return call


def _nextafter(x: Any, y: Any) -> Any:
    kind = f32 if {type(x), type(y)} <= {f32, np.float16} else f64
    return np.nextafter(kind(x), kind(y))


def _ldexp(x: Any, n: Any) -> Any:
    kind = f32 if type(x) in (f32, np.float16) else f64
    return kind(np.ldexp(f64(x), max(min(int(n), 5000), -5000)))


def _frexp(x: Any) -> tuple[Any, int]:
    mantissa, exponent = math.frexp(x)
    return (f32 if type(x) in (f32, np.float16) else f64)(mantissa), exponent


def _modf(x: Any) -> tuple[Any, Any]:
    kind = f32 if type(x) is f32 else f64
    fraction, whole = math.modf(x)
    return kind(fraction), kind(whole)


def _table() -> dict[str, Callable[..., Any]]:
    nan = lambda args: _NAN  # noqa: E731
    names = ONE_ARGUMENT | TWO_ARGUMENTS
    table = {n: _saturating(n, _ON_ERROR.get(n, nan)) for n in names if hasattr(math, n)}
    table |= {n: _integral(n) for n in ("ceil", "floor", "trunc")}
    table |= {n: getattr(math, n) for n in ("isfinite", "isinf", "isnan")}
    table |= {"exp": exp, "frexp": _frexp, "modf": _modf, "nextafter": _nextafter, "ldexp": _ldexp,
              "radians": _scaled(math.pi / 180.0), "degrees": _scaled(180.0 / math.pi)}
    return table


FUNCTIONS = _table()


def fma(a: Any, b: Any, c: Any) -> Any:
    """a*b + c rounded once; all three of one float type."""
    kind = type(a)
    whole = float(a) * float(b)
    if kind is f32:
        return f32(_odd_sum(whole, float(c))) if math.isfinite(whole) and math.isfinite(c) else f32(whole + float(c))
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)) or a == 0 or b == 0:
        return kind(whole + float(c))
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return kind(whole + float(c))
    try:
        return kind(float(exact))
    except OverflowError:
        return kind(math.copysign(math.inf, exact))


def _odd_sum(a: float, b: float) -> float:
    """a + b in double, an inexact sum moved to its odd neighbour, so that rounding it to float32 is the only one."""
    total = a + b
    back = total - a
    rest = (a - (total - back)) + (b - back)
    if rest and not np.float64(total).view(np.int64) & 1:
        total = math.nextafter(total, math.inf if rest > 0 else -math.inf)
    return total


def maximum(a: Any, b: Any) -> Any:
    """``max`` of two floats as the GPU's fmax computes it: a NaN loses against a number, -0 against 0."""
    if a > b:
        return a
    if b > a or a != a:
        return b
    return a if a or b != b else a + b


def minimum(a: Any, b: Any) -> Any:
    """``min`` of two floats as the GPU's fmin computes it: a NaN loses against a number, 0 against -0."""
    if a < b:
        return a
    if b < a or a != a:
        return b
    return a if a or b != b else -(-a - b)


def largest(first: Any, *more: Any) -> Any:
    """``max`` of whole numbers, of float16, or of three and more: by comparing, so that a NaN in front stays."""
    for value in more:
        if value > first:
            first = value
    return first


def smallest(first: Any, *more: Any) -> Any:
    """``min``, one comparison each."""
    for value in more:
        if value < first:
            first = value
    return first


def divide(a: Any, b: Any) -> Any:
    """``a / b`` of floats that gives inf or NaN where Python raises."""
    return f64(a) / b if type(a) in (int, float) else a / b


def power(a: Any, b: Any) -> Any:
    """``a ** b`` of doubles that gives inf or NaN where Python raises or turns complex."""
    return FUNCTIONS["pow"](f64(a), f64(b))
