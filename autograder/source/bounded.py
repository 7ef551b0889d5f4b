"""Arithmetic on numbers that cannot run away: bounded integers, no strings, no repeated tuples.

Used where a student's expression is worked out by the autograder itself: constants in a notebook
file, and host functions. Every failure is an :class:`OutOfBounds` or one of Python's own arithmetic
errors; :func:`sentence` puts both in words.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from autograder.source.catalog import HOST_MATH

MAX_BITS = 1024
ERRORS = (ArithmeticError, ValueError, TypeError, IndexError)  # OutOfBounds is a ValueError


class OutOfBounds(ValueError):
    """The result would be too large, or the operands are not numbers."""


_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


def is_number(value: Any) -> bool:
    """True for int, float, bool and NumPy's real scalars (exact types: no class of a student's)."""
    kind = type(value)
    return kind in (int, float, bool) or (
        kind.__module__ == "numpy" and isinstance(value, (np.integer, np.floating, np.bool_))
    )


def checked(value: Any) -> Any:
    """``value`` when it is a number of bounded size. Raises OutOfBounds."""
    if type(value) is int and value.bit_length() > MAX_BITS:
        raise OutOfBounds(f"the number grows beyond {MAX_BITS} bits")
    if not is_number(value):
        raise OutOfBounds("the result is not a real number")
    return value


def _numbers(*values: Any) -> None:
    for value in values:
        if not is_number(value):
            kind = {str: "a string", tuple: "a tuple", type(None): "None"}.get(type(value), "not a number")
            raise OutOfBounds(f"arithmetic needs numbers, and one side is {kind}")


def binary(operation: type[ast.operator], left: Any, right: Any) -> Any:
    """``left operation right`` for two numbers. Raises OutOfBounds or an arithmetic error."""
    _numbers(left, right)
    apply = _BINARY.get(operation)
    if apply is None:
        raise OutOfBounds("this operation is not available")
    if type(left) in (int, bool) and type(right) in (int, bool):
        size, by = int(left).bit_length(), int(right)
        if operation is ast.Pow and by > 0 and size > 1 and (size - 1) * by > MAX_BITS:
            raise OutOfBounds(f"the number grows beyond {MAX_BITS} bits")
        if operation is ast.LShift and (by > MAX_BITS or size + by > MAX_BITS + 1):
            raise OutOfBounds(f"the number grows beyond {MAX_BITS} bits")
    with np.errstate(all="ignore"):
        return checked(apply(left, right))


def unary(operation: type[ast.unaryop], value: Any) -> Any:
    """``operation value``. ``not`` takes any value."""
    if operation is not ast.Not:
        _numbers(value)
    with np.errstate(all="ignore"):
        return checked(_UNARY[operation](value))


def compare(operation: type[ast.cmpop], left: Any, right: Any) -> bool:
    """``left operation right`` for numbers, strings, tuples of them or None."""
    with np.errstate(all="ignore"):
        return bool(_COMPARE[operation](left, right))


def _round(value: Any, digits: Any = None) -> Any:
    _numbers(value)
    if digits is None:
        return round(value)
    if type(digits) is not int or abs(digits) > 400:
        raise OutOfBounds("round takes a small whole number of digits")
    return round(value, digits)


def to_float(value: Any = 0.0) -> float:
    """``float(value)`` of a number, or of the texts for infinity and NaN."""
    if type(value) is str and value.strip().lower().lstrip("+-") not in ("inf", "infinity", "nan"):
        raise OutOfBounds("float takes a number, or 'inf', '-inf' or 'nan'")
    if type(value) is not str:
        _numbers(value)
    return float(value)


def _int(value: Any = 0) -> int:
    _numbers(value)
    return int(value)


def _bool(value: Any = False) -> bool:
    return bool(value)


def _abs(value: Any) -> Any:
    _numbers(value)
    return abs(value)


def _pow(base: Any, exponent: Any) -> Any:
    return binary(ast.Pow, base, exponent)


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    return binary(ast.FloorDiv, a, b), binary(ast.Mod, a, b)


def _len(value: Any) -> int:
    if type(value) is not tuple:
        raise OutOfBounds("len needs a tuple")
    return len(value)


def _extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any) -> Any:
        items: Iterable[Any] = values[0] if len(values) == 1 else values
        if is_number(items):
            raise OutOfBounds(f"{pick.__name__} needs at least two numbers, or a tuple")
        items = tuple(items)
        _numbers(*items)
        return pick(items)

    return call


def _sum(values: Any, start: Any = 0) -> Any:
    if type(values) is str or is_number(values):
        raise OutOfBounds("sum needs a tuple or a loop over range(...)")
    total = start
    for value in values:
        total = binary(ast.Add, total, value)
    return total


def _math(name: str) -> Callable[..., Any]:
    function = getattr(math, name)

    def call(*values: Any) -> Any:
        _numbers(*values)
        return checked(function(*values))

    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "builtins.min": _extreme(min),
    "builtins.max": _extreme(max),
    "builtins.abs": _abs,
    "builtins.len": _len,
    "builtins.round": _round,
    "builtins.pow": _pow,
    "builtins.divmod": _divmod,
    "builtins.sum": _sum,
    "builtins.int": _int,
    "builtins.float": to_float,
    "builtins.bool": _bool,
    **{f"math.{name}": _math(name) for name in HOST_MATH},
}


def sentence(error: Exception) -> str:
    """An arithmetic error in words, without its place."""
    if isinstance(error, OutOfBounds):
        return str(error)
    if isinstance(error, ZeroDivisionError):
        return "division by zero"
    if isinstance(error, OverflowError):
        return "the number is too large for a float"
    if isinstance(error, IndexError):
        return "the index is outside the tuple"
    text = str(error).strip()
    return {"math domain error": "the function of math has no value there"}.get(text, text or "it has no value")


def leaves(value: Any, most: int) -> int:
    """Numbers and texts in nested tuples, counted up to ``most`` and a little beyond."""
    count, stack = 0, [value]
    while stack and count <= most:
        part = stack.pop()
        if type(part) is tuple:
            stack.extend(part)
        count += 1
    return count
