"""The one allow-list: every module, name and builtin that a kernel may use.

To let kernels use a new device function of the course, add its name to ``INTRINSICS``; nothing else
needs to change. Paths are canonical: ``numba.f4``, ``numba.types.float32`` and ``numba.cuda.float32``
are all "numba.float32".
"""

from __future__ import annotations

import math

# Device functions of the course that kernels may import: "from autograder.kernels import NAME".
INTRINSICS: frozenset[str] = frozenset({"load4", "store4"})

MODULES = frozenset({"math", "numpy", "numba", "numba.cuda"})
_TYPE_HOMES = ("numba.types", "numba.core.types", "numba.cuda.types")  # modules that hold only types

# What each kind of name may be used for.
FUNCTION = "function"  # only called
TYPE = "type"  # called, or passed as a dtype
INDEX = "index"  # .x, .y and .z
NUMBER = "number"
NAMESPACE = "namespace"  # only a step to what it holds
DECORATOR = "decorator"

_MATH = frozenset(
    "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees erf erfc exp exp2 expm1 fabs "
    "floor fmod frexp gamma hypot isfinite isinf isnan ldexp lgamma log log10 log1p log2 modf pow radians "
    "remainder sin sinh sqrt tan tanh trunc".split()
)
CONSTANTS = {
    **{f"math.{n}": getattr(math, n) for n in ("pi", "e", "tau", "inf", "nan")},
    **{f"numpy.{n}": getattr(math, n) for n in ("pi", "e", "inf", "nan")},
}
_NUMBA_TYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 boolean void".split()
_NUMBA_ALIASES = {
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "u1": "uint8",
    "u2": "uint16",
    "u4": "uint32",
    "u8": "uint64",
    "f4": "float32",
    "f8": "float64",
    "b1": "boolean",
    "bool_": "boolean",
    "none": "void",
    "double": "float64",
    "intp": "int64",
    "uintp": "uint64",
    "int_": "int64",
    "uint": "uint64",
    "intc": "int32",
    "uintc": "uint32",
    "long_": "int64",
    "ulong": "uint64",
    "longlong": "int64",
    "ulonglong": "uint64",
    "short": "int16",
    "ushort": "uint16",
    "char": "int8",
    "uchar": "uint8",
    "byte": "uint8",
    "size_t": "uint64",
    "ssize_t": "int64",
}
_NUMPY_TYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bool_".split()
_NUMPY_ALIASES = {"single": "float32", "double": "float64", "half": "float16", "bool": "bool_"}
_CUDA: dict[str, str] = {
    **dict.fromkeys(("threadIdx", "blockIdx", "blockDim", "gridDim"), INDEX),
    **dict.fromkeys(("laneid", "warpsize"), NUMBER),
    **dict.fromkeys(("shared", "local", "atomic", "fp16"), NAMESPACE),
    **dict.fromkeys(
        "grid gridsize syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp shfl_sync "
        "shfl_up_sync shfl_down_sync shfl_xor_sync all_sync any_sync eq_sync ballot_sync match_any_sync "
        "match_all_sync activemask lanemask_lt threadfence threadfence_block threadfence_system nanosleep "
        "popc clz ffs brev fma cbrt selp shared.array local.array".split(),
        FUNCTION,
    ),
    **dict.fromkeys(
        (
            f"atomic.{n}"
            for n in ("add sub max min nanmax nanmin and_ or_ xor inc dec exch cas compare_and_swap").split()
        ),
        FUNCTION,
    ),
    **dict.fromkeys(
        (
            f"fp16.{n}"
            for n in (
                "hadd hsub hmul hdiv hfma hneg habs hsin hcos hlog hlog2 hlog10 hexp hexp2 hexp10 hsqrt hrsqrt hceil "
                "hfloor hrcp htrunc hrint heq hne hge hgt hle hlt hmax hmin"
            ).split()
        ),
        FUNCTION,
    ),
    "jit": DECORATOR,
}
_BUILTINS: dict[str, str] = {
    **dict.fromkeys(("range", "min", "max", "abs", "len", "round", "pow", "divmod", "print"), FUNCTION),
    **dict.fromkeys(("int", "float", "bool"), TYPE),
}
ALLOWED: dict[str, str] = {
    **{f"math.{n}": FUNCTION for n in _MATH},
    **{path: NUMBER for path in CONSTANTS},
    **{f"numba.{n}": TYPE for n in _NUMBA_TYPES},
    **{f"numpy.{n}": TYPE for n in _NUMPY_TYPES},
    **{f"numba.cuda.{n}": use for n, use in _CUDA.items()},
    **{f"autograder.kernels.{n}": FUNCTION for n in INTRINSICS},
    **{f"builtins.{n}": use for n, use in _BUILTINS.items()},
}
JIT = "numba.cuda.jit"
JIT_OPTIONS = frozenset({"device", "fastmath", "debug", "opt", "inline"})  # both simulators know these

# Attributes of arrays and of thread indices. Everything else on a value is refused.
ATTRIBUTES = frozenset({"shape", "size", "ndim", "dtype", "strides", "itemsize", "nbytes", "x", "y", "z"})
DTYPE_NAMES = frozenset(_NUMPY_TYPES) - {"bool_"}  # what may be given as a string: dtype="float32"

# Host functions (a byte formula, a choice) have a still smaller set.
HOST_MATH = frozenset(
    "ceil floor trunc sqrt isqrt exp exp2 log log2 log10 log1p expm1 pow fabs hypot fmod gcd copysign "
    "isnan isinf isfinite sin cos tan atan atan2".split()
)
HOST_BUILTINS = frozenset(
    {"range", "min", "max", "abs", "len", "round", "pow", "divmod", "sum", "int", "float", "bool", "print"}
)

# Names that the setup cell of every notebook defines.
SETUP_NAMES = {"cuda": "numba.cuda", "math": "math", "numba": "numba", "np": "numpy"}


def canonical(path: str) -> str:
    """The one spelling of a path: "numba.types.f4" gives "numba.float32". Unknown paths come back as they are."""
    if path in _TYPE_HOMES:
        return "numba.types"
    home, _, name = path.rpartition(".")
    if home in ("numba", "numba.types", "numba.cuda") or home in _TYPE_HOMES:
        name = _NUMBA_ALIASES.get(name, name)
        if name in _NUMBA_TYPES:
            return f"numba.{name}"
    if home == "numpy":
        return f"numpy.{_NUMPY_ALIASES.get(name, name)}"
    return path


def is_module(path: str) -> bool:
    """True for a module whose names may be reached with a dot."""
    return path in MODULES or path == "numba.types"


def use_of(path: str) -> str | None:
    """What a canonical path may be used for, or None when kernels may not use it."""
    return ALLOWED.get(path)


def is_nested(path: str) -> bool:
    """True for a name below a namespace, such as "numba.cuda.shared.array": no import can bind it."""
    return path.startswith("numba.cuda.") and path.count(".") > 2


def names_in(module: str) -> tuple[str, ...]:
    """The allowed names directly in ``module``, for suggestions and for ``import *``."""
    own = {p[len(module) + 1 :] for p in ALLOWED if p.startswith(module + ".")}
    if module in ("numba", "numba.types", "numba.cuda"):
        own |= set(_NUMBA_TYPES) | set(_NUMBA_ALIASES)
    if module == "numpy":
        own |= set(_NUMPY_ALIASES)
    return tuple(sorted(name for name in own if "." not in name))
