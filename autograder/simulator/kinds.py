"""The types that numba-cuda gives to the values of a kernel, and the rules by which an operator chooses them.

A rule is what numba-cuda's own typing answered for each pair of types (0.30.4), written down: int32 + int32 is int64,
float32 * int32 is float64, uint64 + int64 is int64, min and max and a variable of two types unify, and so on. The
tests compare every pair with the compiler's table. Nothing here runs a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

SIGNED = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
UNSIGNED = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
WIDTH = {**SIGNED, **UNSIGNED}
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
SCALARS = ("bool", *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)
WHOLE = frozenset({"bool", *WIDTH})


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a value. ``name`` is a dtype's, or "array", "tuple", "iterable", "none".

    bits: of a whole number, whose magnitude is below 2**bits as far as one can tell. items: the kinds of a
    tuple's parts, or the one of an array's or an iterable's elements. ndim: of an array. Where nothing is known
    about a value its kind is None.
    """

    name: str
    bits: int = 0
    items: tuple[Kind | None, ...] = ()
    ndim: int = 0

    @property
    def scalar(self) -> bool:
        return self.name in _SCALARS

    @property
    def whole(self) -> bool:
        """Whether it is an integer or a bool."""
        return self.name in WHOLE


_SCALARS = frozenset(SCALARS)


def number(name: str, bits: int | None = None) -> Kind:
    """The kind of a scalar; of a whole number up to 2**bits, by default as large as its type allows."""
    if name == "bool":
        return Kind(name, 1)
    full = WIDTH.get(name, 0)
    return Kind(name, full if bits is None else min(bits, full))


BOOL, INT32, INT64, UINT32, UINT64 = (number(n) for n in ("bool", "int32", "int64", "uint32", "uint64"))
FLOAT16, FLOAT32, FLOAT64 = (Kind(n) for n in FLOATS)
NONE = Kind("none")


def array(element: Kind | None, ndim: int, bits: int = 64) -> Kind:
    """An array whose dimensions are below 2**bits."""
    return Kind("array", bits, (element,), ndim)


def tuple_of(items: Iterable[Kind | None]) -> Kind:
    return Kind("tuple", items=tuple(items))


def iterable(element: Kind | None) -> Kind:
    return Kind("iterable", items=(element,))


def ladder(size: int) -> int:
    """Bits for a magnitude, in few steps, so that launches of similar size share one rewriting."""
    return next((b for b in (15, 20, 31, 47) if size < 1 << b), 64)


def of_value(value: Any, coarse: bool = False) -> Kind | None:
    """The kind that numba gives to a Python or NumPy value; ``coarse`` rounds magnitudes up to a few steps."""
    if isinstance(value, (bool, np.bool_)):
        return BOOL
    if isinstance(value, np.timedelta64):  # which NumPy counts among the integers
        return None
    if isinstance(value, (int, np.integer)):
        size = abs(int(value))
        name = value.dtype.name if isinstance(value, np.integer) else "int64" if -(2**63) <= value < 2**63 else "uint64"
        return number(name, ladder(size) if coarse else size.bit_length()) if size < 2**64 else None
    if isinstance(value, np.generic):
        return Kind(value.dtype.name) if value.dtype.name in _SCALARS else None
    if isinstance(value, (float, complex)):
        return FLOAT64 if isinstance(value, float) else Kind("complex128")
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple_of(of_value(v, coarse) for v in value)
    if isinstance(value, np.ndarray):
        return array(of_dtype(value.dtype), value.ndim, ladder(max(value.shape, default=0)))
    return NONE if value is None else None


def of_dtype(dtype: np.dtype) -> Kind | None:
    return number(dtype.name) if dtype.name in _SCALARS else None


# rules: (name of the left operand's type, of the right's) -> (what each is converted to, and the result's type)
Rule = tuple[str, str, str]


def _whole(a: str, b: str) -> str:
    return "uint64" if a in UNSIGNED and b in UNSIGNED else "int64"


def _mixed(a: str, b: str) -> str:
    """The float or complex type of an operation that has at least one float or complex operand."""
    names = {a, b}
    if names & set(COMPLEX):
        short = all(n in ("bool", "int8", "int16", "uint8", "float16", "float32", "complex64") for n in names)
        return "complex64" if short else "complex128"
    if "float64" in names:
        return "float64"
    if names <= {"float16", "bool", "int8"}:
        return "float16"
    return "float32" if names <= {"float16", "float32", "bool", "int8", "int16", "uint8"} else "float64"


def _arithmetic(a: str, b: str) -> Rule | None:
    made = _whole(a, b) if a in WHOLE and b in WHOLE else _mixed(a, b)
    return made, made, made


def _division(a: str, b: str) -> Rule | None:
    made = "float64" if a in WHOLE and b in WHOLE else _mixed(a, b)
    return made, made, made


def _floor_division(a: str, b: str) -> Rule | None:
    made = _whole(a, b) if a in WHOLE and b in WHOLE else _mixed(a, b)
    if made in COMPLEX:
        return None
    made = "float32" if made == "float16" else made
    return made, made, made


def _power(a: str, b: str) -> Rule | None:
    if (a, b) == ("bool", "int32"):
        return "float32", "int64", "float32"
    if a in WHOLE and b in WHOLE:
        made = _whole(a, b)
        return made, made, made
    if a in FLOATS and b in WHOLE:
        made = "float64" if a == "float64" else "float32"
        return made, "int64" if b != "uint64" else "uint64", made
    made = _mixed(a, b)
    made = "float32" if made == "float16" else made
    return made, made, made


def _shift(a: str, b: str) -> Rule | None:
    made = "uint64" if a in UNSIGNED else "int64"
    return (made, "int64", made) if a in WHOLE and b in WHOLE else None


def _bitwise(a: str, b: str) -> Rule | None:
    if a not in WHOLE or b not in WHOLE:
        return None
    made = "bool" if a == b == "bool" else _whole(a, b)
    return made, made, made


def _comparison(a: str, b: str) -> Rule | None:
    if a in WHOLE and b in WHOLE:
        signs = {n in UNSIGNED for n in (a, b) if n != "bool"}
        made = "float64" if len(signs) == 2 and "uint64" in (a, b) else "int64" if signs != {True} else "uint64"
        return made, made, "bool"
    made = _mixed(a, b)
    return made, made, "bool"


def _ordering(a: str, b: str) -> Rule | None:
    return None if a in COMPLEX or b in COMPLEX else _comparison(a, b)


RULES: dict[str, Callable[[str, str], Rule | None]] = {
    "+": _arithmetic, "-": _arithmetic, "*": _arithmetic, "/": _division, "//": _floor_division, "%": _floor_division,
    "**": _power, "<<": _shift, ">>": _shift, "&": _bitwise, "|": _bitwise, "^": _bitwise,
    "==": _comparison, "!=": _comparison, "<": _ordering, "<=": _ordering, ">": _ordering, ">=": _ordering,
}


def common(a: str, b: str) -> str | None:
    """The type of a variable, or of a conditional expression, that is now of one type, now of the other."""
    if a == b:
        return a
    if "bool" in (a, b):
        return b if a == "bool" else a
    if a in WIDTH and b in WIDTH:
        if (a in SIGNED) == (b in SIGNED):
            return a if WIDTH[a] >= WIDTH[b] else b
        signed, unsigned = (a, b) if a in SIGNED else (b, a)
        width = max(WIDTH[signed], 2 * WIDTH[unsigned])
        return f"int{width}" if width <= 64 else "float64"
    names = {a, b}
    if not names & set(COMPLEX) and "float64" not in names:
        if names <= {"float16", "int8", "uint8"}:
            return "float16"
        if names <= {"float16", "float32", "int8", "int16", "uint8", "uint16"}:
            return "float32"
        return "float64"
    short = names <= {"complex64", "float16", "float32", "int8", "int16", "uint8", "uint16"}
    return ("complex64" if short else "complex128") if names & set(COMPLEX) else "float64"


def unify(a: Kind | None, b: Kind | None) -> Kind | None:
    """The kind that holds both; None where none is known."""
    if a is None or b is None:
        return None
    if a == b:
        return a
    if a.scalar and b.scalar:
        name = common(a.name, b.name)
        return None if name is None else number(name, max(a.bits, b.bits))
    if a.name == b.name == "tuple" and len(a.items) == len(b.items):
        return tuple_of(unify(x, y) for x, y in zip(a.items, b.items))
    if a.name == b.name == "array" and a.items == b.items and a.ndim == b.ndim:
        return replace(a, bits=max(a.bits, b.bits))
    return None


def carrier(name: str) -> str:
    """What a value of that type is in a simulated register: Python's bool or int, or a NumPy scalar."""
    return "int" if name in WIDTH else name


def element_of(kind: Kind | None) -> Kind | None:
    """What a ``for`` loop over it, or unpacking, gives."""
    if kind is None or not kind.items:
        return None
    if kind.name == "array":
        return kind.items[0] if kind.ndim == 1 else Kind("array", kind.bits, kind.items, kind.ndim - 1)
    first, *rest = kind.items
    return first if all(k is not None and first is not None and k.name == first.name for k in rest) else None
