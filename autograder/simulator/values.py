"""Values in simulated registers: conversions and operators with the results of the PTX that numba-cuda generates.

A whole number of any width is a Python int within its type's range, a bool is a bool, anything else a NumPy scalar.
The rewriter uses Python's own operators where they give the same; the functions here are for the rest, and for values
whose type is not known before the kernel runs (``dynamic``). None of them raises for a range: an integer division by
zero gives 0, a shift by the width or more clears, a float outside an integer's range saturates, as the PTX says.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.simulator import kinds
from autograder.simulator.errors import KernelTypeError
from autograder.simulator.gpumath import FUNCTIONS, f32, f64, fma, is_number, to_float32

_LOW, _HIGH, _SIZE = -(1 << 63), 1 << 63, 1 << 64
_MASK = _SIZE - 1


def wrap(value: int) -> int:
    """A whole number as a 64-bit register holds it, signed."""
    return value if _LOW <= value < _HIGH else ((value + _HIGH) & _MASK) - _HIGH


def wrap_unsigned(value: int) -> int:
    return value & _MASK


# conversions

def _from_float(value: Any, bits: int, signed: bool) -> int:
    """``cvt`` from a float: towards zero (from float16 to the nearest), saturating; NaN is 0, or only the top bit set
    where the float or the integer has 64 bits. Eight bits pass through a 16-bit register, except from float16."""
    half = type(value) is np.float16
    width = bits if half else max(bits, 16)
    if value != value:
        top = -(1 << width - 1) if signed else 1 << width - 1
        whole = 0 if type(value) in (f32, np.float16) and width < 64 else top
    else:
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
        whole = low if value <= low else high if value >= high else int(np.rint(value)) if half else int(value)
    return _fit(whole, bits, signed)


def _fit(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> bits - 1 else value


def _to_integer(bits: int, signed: bool) -> Callable[[Any], int]:
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)

    def convert(value: Any) -> int:
        if type(value) is int:
            return value if low <= value < high else _fit(value, bits, signed)
        if isinstance(value, (int, np.integer, np.bool_)):
            return _fit(int(value), bits, signed)
        if isinstance(value, (float, np.floating)):
            return _from_float(value, bits, signed)
        raise _no_number(value, f"{'' if signed else 'u'}int{bits}")

    return convert


def _no_number(value: Any, name: str) -> KernelTypeError:
    what = type(value).__name__
    return KernelTypeError(f"a {what} cannot be turned into a number of type {name}" if is_number(value)
                           else f"a {what} cannot be turned into a number")


def _to_float(scalar: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if type(value) is scalar:
            return value
        if isinstance(value, (complex, np.complexfloating)) or not is_number(value):
            raise _no_number(value, scalar.__name__)
        return scalar(value)

    return convert


def _to_complex(scalar: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if not is_number(value):
            raise _no_number(value, scalar.__name__)
        return scalar(value)

    return convert


def _to_bool(value: Any) -> bool:
    if not is_number(value):
        raise _no_number(value, "bool")
    return bool(value)


CONVERT: dict[str, Callable[[Any], Any]] = {
    "bool": _to_bool, "float16": _to_float(np.float16), "float32": to_float32, "float64": _to_float(f64),
    "complex64": _to_complex(np.complex64), "complex128": _to_complex(np.complex128),
    **{name: _to_integer(bits, True) for name, bits in kinds.SIGNED.items()},
    **{name: _to_integer(bits, False) for name, bits in kinds.UNSIGNED.items()},
}


# whole numbers; the operands are within the range of the type

def _by_zero() -> int:
    if np.geterr()["divide"] == "raise":  # @cuda.jit(debug=True)
        raise ZeroDivisionError("division by zero")
    return 0


def floor_divide(a: int, b: int) -> int:
    """``a // b``: 0 for a division by zero, and for the one quotient that does not fit."""
    if b == 0:
        return _by_zero()
    quotient = a // b
    return 0 if quotient == _HIGH and b == -1 else quotient


def modulo(a: int, b: int) -> int:
    """``a % b`` with the sign of ``b``: 0 for a division by zero."""
    return a % b if b else _by_zero()


def shift_left(a: int, n: int) -> int:
    """``a << n``: the amount is taken as 32 bits without a sign; 64 and more clear the value."""
    n &= 0xFFFFFFFF
    return wrap(a << n) if n < 64 else 0


def shift_right(a: int, n: int) -> int:
    n &= 0xFFFFFFFF
    return a >> (n if n < 64 else 63)


def _shift_left_unsigned(a: int, n: int) -> int:
    n &= 0xFFFFFFFF
    return a << n & _MASK if n < 64 else 0


def _shift_right_unsigned(a: int, n: int) -> int:
    n &= 0xFFFFFFFF
    return a >> n if n < 64 else 0


_POWER_LIMIT = 0x10000


def _power(unsigned: bool) -> Callable[[int, int], int]:
    bits, fit = 64, (wrap_unsigned if unsigned else wrap)

    def power(a: int, b: int) -> int:
        """numba's integer power: multiplied out in 64 bits, then through a double; 1/a for a negative exponent."""
        exponent = abs(b)
        if b < 0:
            if b == _LOW:
                return 0
            if a == 0:
                return _LOW
            if a not in (1, -1):
                return 0
        if exponent > _POWER_LIMIT:
            return _from_float(FUNCTIONS["pow"](f64(a), f64(b)), bits, not unsigned)
        made = f64(fit(pow(a, exponent, _SIZE)))
        return _from_float(1 / made if b < 0 else made, bits, not unsigned)

    return power


# floats; both operands are of one type, which is the result's

def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """numba's floor division and modulo, operation by operation: the remainder is not that of fmod. ptxas makes one
    instruction of its multiplication and subtraction, so they round once."""
    one = type(x)(1)
    whole = np.floor(abs(x) / abs(y))
    rest = fma(-whole, abs(y), abs(x))
    if x < 0:
        rest = -rest
    if y == 0:
        return x / y, rest
    quotient = (x - rest) / y
    if rest:
        if (y < 0) != (rest < 0):
            rest += y
            quotient -= one
    else:
        rest = np.copysign(type(x)(0), y)
    if quotient and quotient == quotient:
        whole = np.floor(quotient)
        return (whole + one if quotient - whole > 0.5 else whole), rest
    return quotient * quotient * x / y, rest


def _float_power(scalar: type) -> Callable[[Any, Any], Any]:
    def power(a: Any, b: Any) -> Any:
        if type(b) is not int:
            return scalar(FUNCTIONS["pow"](a, b))
        exponent = abs(b)
        if exponent > _POWER_LIMIT:
            return scalar(power(f64(a), f64(b)))
        made, factor = scalar(1), a
        while exponent:
            if exponent & 1:
                made = made * factor
            exponent >>= 1
            factor = factor * factor
        return scalar(f64(1) / made) if b < 0 else made

    return power


_WHOLE: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: wrap(a + b), "-": lambda a, b: wrap(a - b), "*": lambda a, b: wrap(a * b),
    "//": floor_divide, "%": modulo, "**": _power(False), "<<": shift_left, ">>": shift_right,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}
_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    **_WHOLE, "+": lambda a, b: a + b & _MASK, "-": lambda a, b: a - b & _MASK, "*": lambda a, b: a * b & _MASK,
    "**": _power(True), "<<": _shift_left_unsigned, ">>": _shift_right_unsigned,
}
_NATIVE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}


def operation(op: str, result: str, operand: str) -> Callable[[Any, Any], Any]:
    """The function for ``op`` on operands that have been converted as its rule says."""
    if result == "int64":
        return _WHOLE[op]
    if result == "uint64":
        return _UNSIGNED[op]
    if op == "//":
        return lambda x, y: _float_divmod(x, y)[0]
    if op == "%":
        return lambda x, y: _float_divmod(x, y)[1]
    if op == "**" and result in kinds.FLOATS:
        return _float_power(np.dtype(result).type)
    return operator.pow if op == "**" else _NATIVE[op]


# values whose types are known only now

def name_of(value: Any) -> str | None:
    """The type of a number; None for anything else."""
    kind = type(value)
    known = _NAMES.get(kind)
    if known is not None:
        return known
    return value.dtype.name if isinstance(value, np.generic) and value.dtype.name in kinds.SCALARS else None


_NAMES: dict[type, str] = {int: "int64", bool: "bool", float: "float64", complex: "complex128", f64: "float64",
                           f32: "float32", np.float16: "float16", np.bool_: "bool"}
_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    **_NATIVE, "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "<<": operator.lshift,
    ">>": operator.rshift}
# by operator and types: how to convert both operands, and what to do then
_known: dict[tuple[str, str, str], tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]] | None] = {}


def refusal(op: str, left: str, right: str) -> str:
    return f"`{op}` is not defined for {left} and {right} on a GPU"


def dynamic(op: str) -> Callable[[Any, Any], Any]:
    """``op`` for operands of any type."""
    python, always = _PYTHON[op], op in ("+", "-", "*", "/")

    def apply(a: Any, b: Any) -> Any:
        kind = type(a)
        if always and kind is type(b) and (kind is f32 or kind is f64):
            return python(a, b)
        left, right = name_of(a), name_of(b)
        if left is None or right is None:
            return python(a, b)
        key = (op, left, right)
        if key not in _known:
            rule = kinds.RULES[op](left, right)
            _known[key] = None if rule is None else (
                CONVERT[rule[0]], CONVERT[rule[1]], operation(op, rule[2], rule[0]))
        made = _known[key]
        if made is None:
            raise KernelTypeError(refusal(op, left, right))
        return made[2](made[0](a), made[1](b))

    apply.__name__ = f"dynamic {op}"
    return apply


def negate(value: Any) -> Any:
    """``-value`` of any type; an integer is negated in its own width, which for one of unknown type is 64 bits."""
    if isinstance(value, (int, np.integer, np.bool_)):
        return wrap(-int(value))
    return -value


def invert(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return not value
    return ~value


def negate_in(name: str) -> Callable[[int], int]:
    """Negation in the width of the integer type ``name``."""
    if name == "bool":
        return lambda value: -int(value)
    return lambda value: CONVERT[name](-value)


def invert_in(name: str) -> Callable[[int], int]:
    return lambda value: CONVERT[name](~value)


def as_common(names: tuple[str, ...]) -> Callable[..., Any]:
    """What a tuple of numbers becomes where its parts must have these types; "" leaves one as it is."""
    converters = [CONVERT.get(n) for n in names]
    return lambda value: tuple(c(v) if c else v for c, v in zip(converters, value))
