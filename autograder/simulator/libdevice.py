"""``numba.cuda.libdevice`` functions: arguments and results of the types that libdevice declares, one rounding where
libdevice promises one (``_rn``, ``_rz``, ``_ru`` and ``_rd``). What is not in the table is refused by name.

Numba's own simulator gives None for all of them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from autograder.simulator import gpumath, intrinsics, values
from autograder.simulator.gpumath import f32, f64
from autograder.simulator.values import CONVERT

_TYPES = {"f": "float32", "d": "float64", "i": "int32", "l": "int64", "u": "uint32", "U": "uint64", "s": "int16"}
_REAL = {name: name for name in (
    "acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p log2 sin "
    "sinh sqrt tan tanh trunc").split()} | {"tgamma": "gamma"}
_OF_TWO = ("atan2", "copysign", "fmod", "hypot", "pow", "remainder", "nextafter")

FUNCTIONS: dict[str, Callable[..., Any]] = {}
RESULTS: dict[str, str] = {}  # the type of what a function gives, as numba declares it


def _add(name: str, types: str, function: Callable[..., Any], result: str | None = None) -> None:
    """``types``: the result's letter and then the arguments'. Unsigned arguments and results are declared signed."""
    convert = [CONVERT[_TYPES[t]] for t in types[1:]]
    declared = _TYPES[types[0].replace("u", "i").replace("U", "l")]
    back = CONVERT[declared]

    def call(*args: Any) -> Any:
        if len(args) != len(convert):
            raise TypeError(f"libdevice.{name} takes {len(convert)} arguments, not {len(args)}")
        return back(function(*[c(a) for c, a in zip(convert, args)]))

    call.__name__ = name
    FUNCTIONS[name] = call
    RESULTS[name] = declared


def _both(name: str, arguments: str, function: Callable[..., Any], single: str | None = None) -> None:
    """The double function, and the single one whose name ends in f; "x" in ``arguments`` is the float type."""
    _add(name, "d" + arguments.replace("x", "d"), function)
    _add(single or f"{name}f", "f" + arguments.replace("x", "f"), function)


def _away(x: Any) -> Any:
    """Rounded to a whole number, halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + type(x)(0.5)) if abs(x) < 2**52 and abs(x) % 1 != 0 else np.abs(x), x)


def _logb(x: Any) -> Any:
    if x == 0 or not math.isfinite(x):
        return -math.inf if x == 0 else abs(x)
    return f64(math.frexp(x)[1] - 1)


def _floats() -> None:
    for name, host in _REAL.items():
        _both(name, "x", gpumath.FUNCTIONS[host])
    for name in _OF_TWO:
        _both(name, "xx", gpumath.FUNCTIONS[name])
    _both("cbrt", "x", np.cbrt)
    _both("exp10", "x", lambda x: gpumath.power(10.0, x))
    _both("fma", "xxx", intrinsics.fma)
    _both("fmax", "xx", gpumath.maximum)
    _both("fmin", "xx", gpumath.minimum)
    _both("fdim", "xx", lambda a, b: math.nan if a != a or b != b else a - b if a > b else type(a)(0))
    _both("rsqrt", "x", lambda x: f64(1) / gpumath.FUNCTIONS["sqrt"](f64(x)))
    _both("rcbrt", "x", lambda x: f64(1) / np.cbrt(f64(x)))
    _both("rint", "x", np.rint)
    _both("nearbyint", "x", np.rint)
    _both("round", "x", _away)
    _both("sinpi", "x", lambda x: math.sin(math.pi * math.remainder(x, 2.0)) if math.isfinite(x) else math.nan)
    _both("cospi", "x", lambda x: math.cos(math.pi * math.remainder(x, 2.0)) if math.isfinite(x) else math.nan)
    _both("logb", "x", _logb)
    _both("ldexp", "xi", gpumath.FUNCTIONS["ldexp"])
    _both("scalbn", "xi", gpumath.FUNCTIONS["ldexp"])
    _both("powi", "xi", lambda x, n: gpumath.power(x, f64(n)), "powif")
    for name in ("cosf", "exp10f", "expf", "log10f", "log2f", "logf", "powf", "sinf", "tanf"):
        _add(f"fast_{name}", "fff" if name == "powf" else "ff", FUNCTIONS[name])
    _add("fast_fdividef", "fff", operator.truediv)
    _add("saturatef", "ff", lambda x: f32(0) if x != x else min(max(x, f32(0)), f32(1)))
    for suffix, t in (("d", "d"), ("f", "f")):
        _add(f"isnan{suffix}", f"i{t}", lambda x: x != x)
        _add(f"isinf{suffix}", f"i{t}", np.isinf)
        _add(f"signbit{suffix}", f"i{t}", np.signbit)
        _add("isfinited" if t == "d" else "finitef", f"i{t}", np.isfinite)
        _add("llrint" if t == "d" else "llrintf", f"l{t}", np.rint)
        _add("llround" if t == "d" else "llroundf", f"l{t}", _away)


# one rounding in a given direction

def _toward(near: Any, sign: Callable[[Fraction], int], mode: str, negative: bool) -> Any:
    """The neighbour of ``near`` that rounding in ``mode`` gives; ``sign(r)``: of r minus the exact result."""
    kind = type(near)
    if mode == "rn":
        return near
    up = mode == "ru" or (mode == "rz" and negative)
    if np.isinf(near):  # begin at the largest number, and step beyond it only in this direction
        near = np.copysign(np.finfo(kind).max, near)
    away = sign(Fraction(float(near)))
    if up and away < 0:
        return np.nextafter(near, kind(math.inf))
    return np.nextafter(near, kind(-math.inf)) if not up and away > 0 else near


def _sign(value: Any) -> int:
    return (value > 0) - (value < 0)


def _rounded(exact: Callable[..., Fraction], plain: Callable[..., Any], mode: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        near = plain(*args)
        if mode == "rn" or not all(math.isfinite(a) for a in args) or (np.isinf(near) and args[-1] == 0):
            return near
        try:
            value = exact(*(Fraction(float(a)) for a in args))
        except ZeroDivisionError:
            return near
        if value == 0:
            return -near if mode == "rd" and near == 0 and not np.signbit(near) and any(args) and plain in (
                operator.add, operator.sub, intrinsics.fma) else near
        return _toward(near, lambda r: _sign(r - value), mode, value < 0)

    return call


def _root(mode: str) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        near = np.sqrt(x)
        if not math.isfinite(near):
            return near
        value = Fraction(float(x))
        return _toward(near, lambda r: _sign(r * r - value), mode, False)

    return call


def _narrowed(mode: str) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        near = gpumath.to_float32(x)
        if isinstance(x, float) and not math.isfinite(x):
            return near
        value = Fraction(x if isinstance(x, int) else float(x))
        return _toward(near, lambda r: _sign(r - value), mode, value < 0)

    return call


_OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
_WHOLE = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}


def _directed() -> None:
    for mode in ("rn", "rz", "ru", "rd"):
        for t in "fd":
            for name, op in _OPERATORS.items():
                _add(f"{t}{name}_{mode}", t * 3, _rounded(op, op, mode))
            fused = _rounded(lambda a, b, c: a * b + c, intrinsics.fma, mode)
            _add(f"fma{'f' if t == 'f' else ''}_{mode}", t * 4, fused)
            _add(f"{t}rcp_{mode}", t * 2, _rounded(lambda a: 1 / a, lambda a: type(a)(1) / a, mode))
            _add(f"{t}sqrt_{mode}", t * 2, _root(mode))
            source = "float" if t == "f" else "double"
            for target, letter in (("int", "i"), ("uint", "u"), ("ll", "l"), ("ull", "U")):
                wanted, whole = CONVERT[_TYPES[letter]], _WHOLE[mode]
                _add(f"{source}2{target}_{mode}", letter + t, lambda x, c=wanted, w=whole: c(w(x)))
        _add(f"double2float_{mode}", "fd", _narrowed(mode))
        for source, letter in (("int", "i"), ("uint", "u"), ("ll", "l"), ("ull", "U")):
            _add(f"{source}2float_{mode}", "f" + letter, _narrowed(mode))
    for mode in ("rn", "rz", "ru", "rd"):
        for source, letter in (("ll", "l"), ("ull", "U")):
            _add(f"{source}2double_{mode}", "d" + letter,
                 lambda x, m=mode: _toward(f64(x), lambda r: _sign(r - x), m, x < 0))
    _add("int2double_rn", "di", f64)
    _add("uint2double_rn", "du", f64)
    _add("frsqrt_rn", "ff", lambda x: f64(1) / gpumath.FUNCTIONS["sqrt"](f64(x)))


def _bits_of(x: Any, as_type: Any) -> int:
    return int(np.array(x).view(as_type))


def _byte_perm(a: int, b: int, selector: int) -> int:
    bytes_, made = a | b << 32, 0
    for n in range(4):
        part = selector >> 4 * n & 0xF
        byte = bytes_ >> 8 * (part & 7) & 0xFF
        made |= (0xFF if part & 8 and byte & 0x80 else 0 if part & 8 else byte) << 8 * n
    return made


def _integers() -> None:
    for name, types, function in (
            ("abs", "ii", abs), ("llabs", "ll", abs), ("max", "iii", max), ("min", "iii", min), ("llmax", "lll", max),
            ("llmin", "lll", min), ("umax", "uuu", max), ("umin", "uuu", min), ("ullmax", "UUU", max),
            ("ullmin", "UUU", min),
            ("sad", "iiii", lambda a, b, c: abs(a - b) + c), ("usad", "uuuu", lambda a, b, c: abs(a - b) + c),
            ("hadd", "iii", lambda a, b: a + b >> 1), ("rhadd", "iii", lambda a, b: a + b + 1 >> 1),
            ("uhadd", "uuu", lambda a, b: a + b >> 1), ("urhadd", "uuu", lambda a, b: a + b + 1 >> 1),
            ("mulhi", "iii", lambda a, b: a * b >> 32), ("umulhi", "uuu", lambda a, b: a * b >> 32),
            ("mul64hi", "lll", lambda a, b: a * b >> 64), ("umul64hi", "UUU", lambda a, b: a * b >> 64),
            ("mul24", "iii", lambda a, b: _signed24(a) * _signed24(b)),
            ("umul24", "uuu", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
            ("popc", "ii", lambda x: intrinsics.popc(x, 32)), ("popcll", "il", intrinsics.popc),
            ("clz", "ii", lambda x: intrinsics.clz(x, 32)), ("clzll", "il", intrinsics.clz),
            ("ffs", "ii", lambda x: intrinsics.ffs(x, 32)), ("ffsll", "il", intrinsics.ffs),
            ("brev", "ii", lambda x: intrinsics.brev(x, 32)), ("brevll", "ll", intrinsics.brev),
            ("byte_perm", "iuuu", _byte_perm),
            ("float_as_int", "if", lambda x: _bits_of(x, np.int32)),
            ("int_as_float", "fi", lambda n: np.int32(n).view(f32)),
            ("double_as_longlong", "ld", lambda x: _bits_of(x, np.int64)),
            ("longlong_as_double", "dl", lambda n: np.int64(n).view(f64)),
            ("double2hiint", "id", lambda x: _bits_of(x, np.int64) >> 32),
            ("double2loint", "id", lambda x: _bits_of(x, np.int64)),
            ("hiloint2double", "diu", lambda high, low: np.int64(values.wrap(high << 32 | low)).view(f64)),
            ("float2half_rn", "sf", lambda x: _bits_of(np.float16(x), np.int16)),
            ("half2float", "fs", lambda n: f32(np.int16(n).view(np.float16)))):
        _add(name, types, function)


def _signed24(value: int) -> int:
    return ((value & 0xFFFFFF) ^ 0x800000) - 0x800000


def _pairs() -> None:
    """Functions that give two values, as numba returns what the C function writes through pointers."""
    for suffix, kind in (("", f64), ("f", f32)):
        sin, cos = FUNCTIONS[f"sin{suffix}"], FUNCTIONS[f"cos{suffix}"]
        sinpi, cospi = FUNCTIONS[f"sinpi{suffix}"], FUNCTIONS[f"cospi{suffix}"]
        FUNCTIONS[f"sincos{suffix}"] = lambda x, s=sin, c=cos: (s(x), c(x))
        FUNCTIONS[f"sincospi{suffix}"] = lambda x, s=sinpi, c=cospi: (s(x), c(x))
        FUNCTIONS[f"frexp{suffix}"] = lambda x, k=kind: gpumath.FUNCTIONS["frexp"](k(x))
        FUNCTIONS[f"modf{suffix}"] = lambda x, k=kind: gpumath.FUNCTIONS["modf"](k(x))
    FUNCTIONS["fast_sincosf"] = FUNCTIONS["sincosf"]


for _fill in (_floats, _directed, _integers, _pairs):
    _fill()
