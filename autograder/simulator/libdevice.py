"""``numba.cuda.libdevice`` functions, computed with ``math``: float32 for the names that end in ``f``.

Numba's own simulator gives None for all of them. What is not in the table is refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.simulator import gpumath, intrinsics
from autograder.simulator.gpumath import f32, to_float32

_UNARY = {name: name for name in (
    "acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp2 expm1 lgamma log log10 log1p log2 sin sinh "
    "sqrt tan tanh").split()}
_UNARY |= {"fabs": "fabs", "tgamma": "gamma"}
_BINARY = {"atan2": "atan2", "copysign": "copysign", "fmod": "fmod", "hypot": "hypot", "pow": "pow",
           "remainder": "remainder"}


def _double(name: str) -> Callable[..., Any]:
    if name == "cbrt":
        return lambda x: float(np.cbrt(x))
    function = gpumath.FUNCTIONS[name]
    return lambda *args: function(*(float(a) for a in args))


def _single(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: to_float32(function(*args))


def _rounding(host: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: float(host(np.float64(x)))


def _frexp(x: Any) -> tuple[float, int]:
    return math.frexp(x)


def _table() -> dict[str, Callable[..., Any]]:
    table: dict[str, Callable[..., Any]] = {}
    double: dict[str, Callable[..., Any]] = {n: _double(h) for n, h in {**_UNARY, **_BINARY}.items()}
    double |= {
        "exp10": lambda x: gpumath.power(10.0, float(x)), "fma": lambda a, b, c: float(a) * float(b) + float(c),
        "fmax": lambda a, b: float(gpumath.maximum(a, b)), "fmin": lambda a, b: float(gpumath.minimum(a, b)),
        "fdim": lambda a, b: max(float(a) - float(b), 0.0) if a == a and b == b else math.nan,
        "rsqrt": lambda x: gpumath.divide(1.0, gpumath.FUNCTIONS["sqrt"](float(x))),
        "rcbrt": lambda x: gpumath.divide(1.0, float(np.cbrt(x))),
        "ceil": _rounding(np.ceil), "floor": _rounding(np.floor), "trunc": _rounding(np.trunc),
        "rint": _rounding(np.rint), "nearbyint": _rounding(np.rint),
        "round": _rounding(lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)),
        "nextafter": lambda a, b: float(np.nextafter(np.float64(a), np.float64(b))),
        "ldexp": lambda x, n: gpumath.FUNCTIONS["ldexp"](float(x), int(n)),
    }
    for name, function in double.items():
        table[name] = function
        table[f"{name}f"] = _single(function)
    table["nextafterf"] = lambda a, b: np.nextafter(f32(a), f32(b))
    for name in ("cosf", "exp10f", "expf", "log10f", "log2f", "logf", "powf", "sinf", "tanf"):
        table[f"fast_{name}"] = table[name]
    for mode in ("rn", "rz", "ru", "rd"):  # one rounding is simulated: to nearest
        table[f"frcp_{mode}"] = lambda x: to_float32(gpumath.divide(1.0, float(x)))
        table[f"fsqrt_{mode}"] = table["sqrtf"]
    table |= {
        "fast_fdividef": lambda a, b: to_float32(gpumath.divide(f32(a), f32(b))),
        "frsqrt_rn": table["rsqrtf"], "fadd_rn": lambda a, b: f32(a) + f32(b), "fmul_rn": lambda a, b: f32(a) * f32(b),
        "fsub_rn": lambda a, b: f32(a) - f32(b), "fdiv_rn": lambda a, b: to_float32(gpumath.divide(f32(a), f32(b))),
        "fmaf_rn": table["fmaf"], "dadd_rn": lambda a, b: float(a) + float(b),
        "saturatef": lambda x: f32(0) if x != x else min(max(f32(x), f32(0)), f32(1)),
        "sincos": lambda x: (math.sin(x), math.cos(x)), "sincosf": lambda x: (f32(math.sin(x)), f32(math.cos(x))),
        "fast_sincosf": lambda x: (f32(math.sin(x)), f32(math.cos(x))),
        "frexp": _frexp, "frexpf": lambda x: (f32(math.frexp(x)[0]), math.frexp(x)[1]),
        "modf": math.modf, "modff": lambda x: tuple(f32(v) for v in math.modf(x)),
        "sad": lambda a, b, c: abs(int(a) - int(b)) + int(c), "usad": lambda a, b, c: abs(int(a) - int(b)) + int(c),
        "abs": lambda x: abs(int(x)), "llabs": lambda x: abs(int(x)),
        "max": lambda a, b: max(int(a), int(b)), "min": lambda a, b: min(int(a), int(b)),
        "popc": intrinsics.popc, "popcll": intrinsics.popc, "clz": intrinsics.clz, "brev": intrinsics.brev,
        "ffs": intrinsics.ffs, "mulhi": lambda a, b: int(a) * int(b) >> 32,
        "isnand": lambda x: int(x != x), "isnanf": lambda x: int(x != x),
        "isinfd": lambda x: int(math.isinf(x)), "isinff": lambda x: int(math.isinf(x)),
        "float_as_int": lambda x: int(np.array(x, f32).view(np.int32)),
        "int_as_float": lambda x: f32(np.array(int(x), np.int64).astype(np.int32).view(f32)),
    }
    return table


FUNCTIONS = _table()
