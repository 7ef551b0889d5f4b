"""``math`` and the arithmetic builtins with a GPU's float rules.

A float32 argument gives a float32 result that overflows to inf at float32's own limit, and nothing
raises: a domain error is NaN, a pole is inf. Anything else is computed in double and stays double,
as numba types it. Callers silence NumPy's warnings once per launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

f32 = np.float32
_ONE = f32(1.0)
_INF = math.inf
_NAN = math.nan


def is_number(value: Any) -> bool:
    """Whether a value is one that a thread can hold in a register."""
    return isinstance(value, (int, float, complex, np.generic))


def to_float32(value: Any) -> np.float32:
    """Round to float32, to inf beyond its range."""
    kind = type(value)
    if kind is f32:
        return value
    if kind is float:
        return value * _ONE
    if not is_number(value):
        raise TypeError(f"a {kind.__name__} cannot be turned into a number")
    return f32(value)


def exp(x: Any) -> Any:
    """e**x. float32 in, float32 out (inf above 88.72); never raises."""
    if type(x) is f32:
        try:
            return math.exp(x) * _ONE
        except OverflowError:
            return f32(_INF)
    try:
        return _double(x, math.exp(x))
    except OverflowError:
        return _double(x, _INF)


def _double(x: Any, result: float) -> Any:
    # float16 arithmetic in numba.cuda's math functions stays in the narrow type
    return type(x)(result) if type(x) is np.float16 else result


def _saturating(name: str, on_error: Callable[[tuple[Any, ...]], float]) -> Callable[..., Any]:
    host = getattr(math, name)

    def call(*args: Any) -> Any:
        try:
            result = host(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            result = on_error(args)
        kinds = {type(a) for a in args}
        if f32 in kinds and not kinds & {float, np.float64}:
            return result * _ONE if type(result) is float else result
        if np.float16 in kinds and len(kinds) == 1 and type(result) is float:
            return np.float16(result)
        return result

    call.__name__ = name
    call.__doc__ = f"math.{name} with a GPU's rules."
    return call


def _log_error(args: tuple[Any, ...]) -> float:
    return -_INF if args[0] == 0 else _NAN


def _pow_error(args: tuple[Any, ...]) -> float:
    with np.errstate(all="ignore"):
        return float(np.power(np.float64(args[0]), np.float64(args[1])))


def _overflow(args: tuple[Any, ...]) -> float:
    x = args[0]
    return _NAN if x != x or abs(x) == _INF else _INF


_ON_ERROR: dict[str, Callable[[tuple[Any, ...]], float]] = {
    "log": _log_error, "log2": _log_error, "log10": _log_error,
    "log1p": lambda a: -_INF if a[0] == -1 else _NAN,
    "pow": _pow_error,
    "expm1": _overflow, "cosh": _overflow, "exp2": _overflow, "ldexp": _overflow, "hypot": _overflow,
    "sinh": lambda a: math.copysign(_INF, a[0]),
    "gamma": lambda a: _NAN if a[0] == -_INF or (a[0] < 0 and float(a[0]).is_integer()) else _INF,
    "lgamma": lambda a: _INF,
    "atanh": lambda a: math.copysign(_INF, a[0]) if abs(a[0]) == 1 else _NAN,
}
_ONE_RESULT = (
    "acos acosh asin asinh atan atan2 atanh cos cosh copysign degrees erf erfc exp2 expm1 fabs fmod "
    "gamma hypot ldexp lgamma log log10 log1p log2 pow radians remainder sin sinh sqrt tan tanh"
).split()


def _integral(name: str) -> Callable[[Any], Any]:
    host = getattr(math, name)

    def call(x: Any) -> Any:
        # numba's ceil, floor and trunc give integers; a GPU saturates where Python raises
        try:
            return host(x.item() if isinstance(x, np.generic) else x)
        except (ValueError, OverflowError):
            if x != x:
                return 0
            return 2**63 - 1 if x > 0 else -(2**63)

    call.__name__ = name
    return call


def _nextafter(x: Any, y: Any) -> Any:
    return np.nextafter(x, y) if isinstance(x, np.floating) else math.nextafter(x, y)


def _frexp(x: Any) -> tuple[Any, int]:
    mantissa, exponent = math.frexp(x)
    return (mantissa * _ONE if type(x) is f32 else mantissa), exponent


def _modf(x: Any) -> tuple[Any, Any]:
    fraction, whole = math.modf(x)
    return (fraction * _ONE, whole * _ONE) if type(x) is f32 else (fraction, whole)


def _table() -> dict[str, Callable[..., Any]]:
    nan = lambda args: _NAN  # noqa: E731
    table = {n: _saturating(n, _ON_ERROR.get(n, nan)) for n in _ONE_RESULT if hasattr(math, n)}
    table |= {n: _integral(n) for n in ("ceil", "floor", "trunc")}
    table |= {n: getattr(math, n) for n in ("isfinite", "isinf", "isnan", "gcd")}
    table |= {"exp": exp, "frexp": _frexp, "modf": _modf, "nextafter": _nextafter}
    return table


FUNCTIONS = _table()


def maximum(a: Any, *more: Any) -> Any:
    """``max`` of numbers as the GPU's fmax computes it: a NaN loses against a number."""
    if len(more) == 1:
        b = more[0]
        return b if b > a or a != a else a
    best, *rest = (a, *more) if more else a
    for value in rest:
        if value > best or best != best:
            best = value
    return best


def minimum(a: Any, *more: Any) -> Any:
    """``min`` of numbers as the GPU's fmin computes it: a NaN loses against a number."""
    if len(more) == 1:
        b = more[0]
        return b if b < a or a != a else a
    best, *rest = (a, *more) if more else a
    for value in rest:
        if value < best or best != best:
            best = value
    return best


def divide(a: Any, b: Any) -> Any:
    """``a / b`` that gives inf or NaN where Python raises."""
    try:
        return a / b
    except ZeroDivisionError:
        a = float(a)
        return _NAN if a != a or a == 0 else math.copysign(_INF, a) * math.copysign(1.0, b)


def power(a: Any, b: Any) -> Any:
    """``a ** b`` that gives inf or NaN where Python raises or turns complex."""
    try:
        result = a**b
    except (OverflowError, ZeroDivisionError):
        return _pow_error((a, b))
    return _NAN if type(result) is complex and type(a) is not complex else result


def to_int(value: Any = 0, *rest: Any) -> Any:
    """``int`` that saturates as a GPU's conversion does instead of raising."""
    try:
        return int(value, *rest)
    except (ValueError, OverflowError):
        if rest or isinstance(value, str):
            raise
        return 0 if value != value else (2**63 - 1 if value > 0 else -(2**63))
