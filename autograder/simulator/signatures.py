"""Builtin and ``math`` functions by the types of their arguments: what each argument becomes, and what comes out.

``plan`` answers for known types, as numba-cuda 0.30.4's typing does; ``dynamic_call`` gives a function that looks at
its arguments' types when it is called and does the same.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.simulator import gpumath, kinds, values
from autograder.simulator.errors import KernelTypeError
from autograder.simulator.gpumath import f64
from autograder.simulator.kinds import BOOL, FLOAT32, FLOAT64, INT32, INT64, Kind, number
from autograder.simulator.values import CONVERT

NARROW = frozenset(("bool", "int8", "int16", "uint8", "float16", "float32"))  # types that meet in float32


@dataclass(frozen=True)
class Plan:
    """A call: the function to run, the type that each argument is converted to ("" leaves it), the result's kind."""

    function: Callable[..., Any]
    convert: tuple[str, ...]
    result: Kind | None


def plan(name: str, args: Sequence[Kind]) -> Plan:
    """The plan for builtin ``name``, or for ``math.…`` or ``cuda.…``, with scalar arguments.

    Raises KernelTypeError, with a sentence that begins with the function, where a GPU has none for these types.
    """
    names = tuple(a.name for a in args)
    made = _math(name[5:], names) if name.startswith("math.") else PLANNERS[name](args, names)
    if made is None:
        raise KernelTypeError(f"`{name}` does not take {_list(names) or 'no argument'} on a GPU")
    return made


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else " and ".join((", ".join(names[:-1]), names[-1])) if names else ""


# builtins

def _extreme(two: Callable[..., Any], more: Callable[..., Any]) -> Callable[..., Plan | None]:
    def made(args: Sequence[Kind], names: tuple[str, ...]) -> Plan | None:
        if len(args) < 2 or any(n in kinds.COMPLEX for n in names):
            return None
        result: Kind | None = args[0]
        for other in args[1:]:
            result = kinds.unify(result, other)
        assert result is not None  # scalars always unify
        floats = len(args) == 2 and set(names) <= {"float32", "float64"}
        return Plan(two if floats else more, (result.name,) * len(args), result)

    return made


def _absolute(args: Sequence[Kind], names: tuple[str, ...]) -> Plan | None:
    if len(args) != 1:
        return None
    name = names[0]
    if name in kinds.COMPLEX:
        return Plan(abs, ("",), FLOAT32 if name == "complex64" else FLOAT64)
    if not args[0].whole:
        return Plan(abs, ("",), args[0])
    name = "int8" if name == "bool" else name
    back = CONVERT[name]
    return Plan(lambda v: back(abs(v)), (name,), number(name, args[0].bits))


def _integer(args: Sequence[Kind], names: tuple[str, ...]) -> Plan | None:
    if len(args) != 1 or names[0] in kinds.COMPLEX:
        return None
    name = names[0] if names[0] in kinds.WIDTH else "int64"
    return Plan(CONVERT[name], ("",), number(name, args[0].bits) if args[0].whole else INT64)


def _floating(args: Sequence[Kind], names: tuple[str, ...]) -> Plan | None:
    if len(args) != 1 or names[0] in ("bool", *kinds.COMPLEX):
        return None
    name = "float64" if args[0].whole else names[0]
    return Plan(CONVERT[name], ("",), Kind(name))


def _complex(args: Sequence[Kind], names: tuple[str, ...]) -> Plan | None:
    if not 1 <= len(args) <= 2 or "bool" in names or "float16" in names:
        return None
    if len(args) == 2 and set(names) & set(kinds.COMPLEX):
        return None
    if len(args) == 1 and names[0] in kinds.COMPLEX:
        return Plan(CONVERT["complex128"], ("",), Kind("complex128"))
    short = set(names) == {"float32"}
    scalar = np.complex64 if short else np.complex128
    return Plan(lambda *v: scalar(complex(*v)), ("",) * len(args), Kind("complex64" if short else "complex128"))


def round_to_even(value: Any) -> int:
    """``round(x)``: ``cvt.rni.s64.f64``, which saturates; NaN gives the smallest integer."""
    return CONVERT["int64"](f64(np.rint(f64(value))))


def round_to(x: Any, digits: int) -> Any:
    """``round(x, digits)``, step by step as numba-cuda computes it, in doubles; the result has the type of ``x``."""
    if not math.isfinite(x):
        return x
    kind, wide = type(x), f64(x)
    if digits >= 0:
        first, second = (f64(10.0) ** (digits - 22), f64(1e22)) if digits > 22 else (f64(10.0) ** digits, f64(1.0))
        scaled = wide * first * second
        if np.isinf(scaled):
            return x
    else:
        first = f64(10.0) ** -digits
        scaled = wide / first
    rounded = f64(round_to_even(scaled))
    if abs(scaled - rounded) == 0.5:
        rounded = 2.0 * f64(round_to_even(scaled / 2.0))
    return kind(rounded / second / first if digits >= 0 else rounded * first)


def _rounded(args: Sequence[Kind], names: tuple[str, ...]) -> Plan | None:
    if any(n in kinds.COMPLEX for n in names):
        return None
    if len(args) == 1:
        return Plan(round_to_even, ("",), INT64)
    name = "float32" if names[0] in NARROW else "float64"
    return Plan(round_to, (name, "int64"), Kind(name)) if len(args) == 2 else None


def _operator(op: str) -> Callable[..., Plan | None]:
    def made(args: Sequence[Kind], names: tuple[str, ...]) -> Plan | None:
        rule = kinds.RULES[op](*names) if len(args) == 2 else None
        return None if rule is None else Plan(values.operation(op, rule[2], rule[0]), rule[:2], number(rule[2]))

    return made


def _division_and_rest(args: Sequence[Kind], names: tuple[str, ...]) -> Plan | None:
    rule = kinds.RULES["//"](*names) if len(args) == 2 else None
    if rule is None:
        return None
    if rule[2] in kinds.WIDTH:  # where ``//`` takes int64 for a signed and an unsigned operand, divmod unifies them
        unified = kinds.common(*names)
        rule = (unified if unified == "float64" else "uint64" if unified in kinds.UNSIGNED else "int64",) * 3
    quotient, rest = values.operation("//", rule[2], rule[0]), values.operation("%", rule[2], rule[0])
    part = number(rule[2])
    return Plan(lambda a, b: (quotient(a, b), rest(a, b)), rule[:2], kinds.tuple_of((part, part)))


def _range(args: Sequence[Kind], names: tuple[str, ...]) -> Plan | None:
    """A float is cut to a whole number, of 32 bits unless another argument has 64."""
    if not 1 <= len(args) <= 3 or any(n in kinds.COMPLEX for n in names):
        return None
    name = "int64" if any(n in ("int64", "uint32", "uint64", "uint16", "uint8") for n in names) else "int32"
    element = number(name, max(a.bits if a.whole else 31 for a in args))
    convert = tuple("" if a.whole and n != "uint64" else name for a, n in zip(args, names))
    return Plan(range, convert, kinds.iterable(element))


# by name: what makes the plan; the functions of the ``cuda`` module join in ``intrinsics``
PLANNERS: dict[str, Callable[[Sequence[Kind], tuple[str, ...]], Plan | None]] = {
    "max": _extreme(gpumath.maximum, gpumath.largest), "min": _extreme(gpumath.minimum, gpumath.smallest),
    "abs": _absolute, "int": _integer, "float": _floating, "complex": _complex, "round": _rounded,
    "bool": lambda args, names: Plan(bool, ("",), BOOL) if len(args) == 1 else None,
    "pow": _operator("**"), "divmod": _division_and_rest, "range": _range,
}
BUILTINS: dict[Any, str] = {getattr(builtins, name): name for name in PLANNERS}



# math

_TO_BOOL = frozenset(("isnan", "isinf", "isfinite"))
_HALF = frozenset("ceil floor trunc".split()) | gpumath._HALF


def _math(name: str, names: tuple[str, ...]) -> Plan | None:
    function = gpumath.FUNCTIONS[name]
    if any(n in kinds.COMPLEX for n in names):
        return None
    if name in ("ldexp", "pow", "nextafter") or name in gpumath.TWO_ARGUMENTS:
        return _math_of_two(name, function, names) if len(names) == 2 else None
    if len(names) != 1:
        return None
    kind = names[0]
    if name in _TO_BOOL:
        return Plan(function, ("",), BOOL)
    if name == "frexp":
        part = "float32" if kind in NARROW else "float64"
        return Plan(function, (part,), kinds.tuple_of((Kind(part), INT32)))
    if name == "modf":
        part = "float32" if kind == "float32" else "float64"
        return Plan(function, (part,), kinds.tuple_of((Kind(part), Kind(part))))
    if kind == "float16" and name not in _HALF:
        kind = "float32"
    kind = kind if kind in kinds.FLOATS else "float64"
    return Plan(function, (kind,), Kind(kind))


def _math_of_two(name: str, function: Callable[..., Any], names: tuple[str, ...]) -> Plan:
    first, second = names
    if name == "ldexp":
        made = "float32" if first in NARROW else "float64"
        return Plan(function, (made, "int32"), Kind(made))
    short = first in NARROW and second in NARROW
    if name in ("atan2", "hypot"):  # two whole numbers make doubles
        short = short and not (first in kinds.WHOLE and second in kinds.WHOLE)
    if name == "pow":
        short = short or (first in NARROW and second == "int32") or (first, second) == ("float32", "uint16")
    made = "float32" if short else "float64"
    return Plan(function, (made, made), Kind(made))


# calls whose arguments' types are known only then

_plans: dict[tuple[str, tuple[str, ...]], Plan] = {}


def run(made: Plan, args: Sequence[Any]) -> Any:
    return made.function(*(CONVERT[c](a) if c else a for c, a in zip(made.convert, args)))


def dynamic_call(name: str, host: Callable[..., Any]) -> Callable[..., Any]:
    """``name`` for arguments of any type; what is no number goes to Python's own ``host``."""
    def call(*args: Any, **keywords: Any) -> Any:
        if len(args) == 1 and type(args[0]) is tuple and name in ("max", "min"):
            args = args[0]
        types = tuple(values.name_of(a) for a in args)
        if not types or None in types or keywords:
            return _of_host(name, host(*args, **keywords))
        key = (name, types)
        if key not in _plans:
            _plans[key] = plan(name, [number(t) for t in types])
        return run(_plans[key], args)

    call.__name__ = name
    return call


def _of_host(name: str, value: Any) -> Any:
    """float("-inf"), int() of nothing and the like, as a register holds them."""
    return f64(value) if type(value) is float else np.complex128(value) if type(value) is complex else value


def total(items: Any, start: Any = 0) -> Any:
    """``sum``, which begins with the integer 0."""
    add = values.dynamic("+")
    for item in items:
        start = add(start, item)
    return start


DYNAMIC: dict[Any, Callable[..., Any]] = {host: dynamic_call(name, host) for host, name in BUILTINS.items()}
DYNAMIC_MATH: dict[str, Callable[..., Any]] = {
    name: dynamic_call(f"math.{name}", function) for name, function in gpumath.FUNCTIONS.items()}
