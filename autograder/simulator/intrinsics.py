"""Functions of the ``cuda`` module that need no thread: bit counting, fma, fp16 arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.simulator import kinds, values
from autograder.simulator.gpumath import fma
from autograder.simulator.kinds import Kind, number
from autograder.simulator.signatures import NARROW, PLANNERS, Plan, dynamic_call


@dataclass(frozen=True)
class KernelName:
    """A name of the ``cuda`` module that means something only inside a kernel ("shared", "array")."""

    path: tuple[str, ...]

    @property
    def dotted(self) -> str:
        return ".".join(self.path)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"cuda.{self.dotted} can be used only inside a kernel")

    def __getattr__(self, name: str) -> KernelName:
        if name.startswith("__"):
            raise AttributeError(name)
        return KernelName((*self.path, name))


def popc(value: int, width: int = 64) -> int:
    """Number of one bits."""
    return (value & ((1 << width) - 1)).bit_count()


def clz(value: int, width: int = 64) -> int:
    """Zero bits above the highest one bit; the width of the type for 0."""
    return width - (value & ((1 << width) - 1)).bit_length()


def ffs(value: int, width: int = 64) -> int:
    """Position of the lowest one bit, counted from 1; 0 for 0."""
    bits = value & ((1 << width) - 1)
    return (bits & -bits).bit_length()


def brev(value: int, width: int = 64) -> int:
    """Bits in reverse order, without a sign."""
    return int(format(value & ((1 << width) - 1), f"0{width}b")[::-1], 2)


def cbrt(a: Any) -> Any:
    return type(a)(np.cbrt(a))


def selp(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


# what the functions above take, by the types of their arguments

def _on_bits(function: Callable[[int, int], int], allowed: Sequence[str],
             result: str | None) -> Callable[..., Plan | None]:
    def made(args: Sequence[Kind], given: tuple[str, ...]) -> Plan | None:
        if len(args) != 1 or given[0] in kinds.COMPLEX:
            return None
        name = given[0]
        if name not in allowed:
            if function is ffs:
                return None
            name = "uint32" if function is brev else "int8"
        width = kinds.WIDTH[name]
        return Plan(lambda v: function(v, width), (name,), number(result or name, 64 if function is brev else 7))

    return made


def _on_floats(function: Callable[..., Any], count: int) -> Callable[..., Plan | None]:
    def made(args: Sequence[Kind], given: tuple[str, ...]) -> Plan | None:
        if len(args) != count or set(given) & set(kinds.COMPLEX):
            return None
        name = "float32" if set(given) <= NARROW else "float64"
        return Plan(function, (name,) * count, number(name))

    return made


def _select(args: Sequence[Kind], given: tuple[str, ...]) -> Plan | None:
    if len(args) != 3 or given[1] != given[2] or given[1] in ("bool", "int8", "uint8", "float16", *kinds.COMPLEX):
        return None
    return Plan(selp, ("bool", "", ""), args[1])


_WHOLE = tuple(kinds.WIDTH)
PLANNERS |= {
    "cuda.popc": _on_bits(popc, _WHOLE, None), "cuda.clz": _on_bits(clz, _WHOLE, None),
    "cuda.ffs": _on_bits(ffs, ("int32", "uint32", "int64", "uint64"), "uint32"),
    "cuda.brev": _on_bits(brev, ("uint32", "uint64"), None),
    "cuda.fma": _on_floats(fma, 3), "cuda.cbrt": _on_floats(cbrt, 1), "cuda.selp": _select,
}


def _half() -> dict[str, Callable[..., Any]]:
    h = values.CONVERT["float16"]
    unary = {
        "hsin": np.sin, "hcos": np.cos, "hlog": np.log, "hlog2": np.log2, "hlog10": np.log10,
        "hexp": np.exp, "hexp2": np.exp2, "hexp10": lambda x: np.power(np.float32(10), np.float32(x)),
        "htanh": np.tanh, "hsqrt": np.sqrt, "hrsqrt": lambda x: 1 / np.sqrt(np.float32(x)),
        "hceil": np.ceil, "hfloor": np.floor, "hrcp": lambda x: 1 / np.float32(x), "htrunc": np.trunc,
        "hrint": np.rint, "hneg": np.negative, "habs": np.abs,
    }
    binary = {
        "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.divide,
        "hmax": np.fmax, "hmin": np.fmin,
    }
    compare = {"heq": np.equal, "hne": np.not_equal, "hge": np.greater_equal, "hgt": np.greater,
               "hle": np.less_equal, "hlt": np.less}
    table: dict[str, Callable[..., Any]] = {}
    for name, function in unary.items():
        table[f"fp16.{name}"] = lambda x, f=function: h(f(np.float32(h(x))))
    for name, function in binary.items():
        table[f"fp16.{name}"] = lambda x, y, f=function: h(f(h(x), h(y)))
    for name, function in compare.items():
        table[f"fp16.{name}"] = lambda x, y, f=function: bool(f(h(x), h(y)))
    table["fp16.hfma"] = lambda a, b, c: h(float(h(a)) * float(h(b)) + float(h(c)))
    return table


CUDA_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f.__name__: dynamic_call(f"cuda.{f.__name__}", f) for f in (popc, clz, ffs, brev, fma, cbrt, selp)}, **_half()}

KERNEL_ONLY = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize", "grid", "gridsize", "shared",
    "local", "const", "atomic", "syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or",
    "syncwarp", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "all_sync", "any_sync",
    "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync", "activemask", "lanemask_lt",
    "threadfence", "threadfence_block", "threadfence_system", "nanosleep", "popc", "clz", "ffs", "brev",
    "fma", "cbrt", "selp", "fp16",
)
