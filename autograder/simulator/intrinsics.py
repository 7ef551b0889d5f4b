"""Functions of the ``cuda`` module that need no thread: bit counting, fma, fp16 arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.simulator.gpumath import f32, is_number


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


def _bits(value: Any) -> tuple[int, int]:
    width = value.dtype.itemsize * 8 if isinstance(value, np.integer) else (
        32 if -(2**31) <= int(value) < 2**32 else 64)
    width = max(width, 32)
    return int(value) & ((1 << width) - 1), width


def popc(value: Any) -> int:
    """Number of one bits."""
    return _bits(value)[0].bit_count()


def clz(value: Any) -> int:
    """Zero bits above the highest one bit; the width of the type for 0."""
    bits, width = _bits(value)
    return width - bits.bit_length()


def ffs(value: Any) -> int:
    """Position of the lowest one bit, counted from 1; 0 for 0."""
    bits, _ = _bits(value)
    return (bits & -bits).bit_length()


def brev(value: Any) -> int:
    """Bits in reverse order."""
    bits, width = _bits(value)
    return int(format(bits, f"0{width}b")[::-1], 2)


def fma(a: Any, b: Any, c: Any) -> Any:
    """a*b + c rounded once. For float32 the product is exact in double, as is its sum to one ulp."""
    if type(a) is f32 and type(b) is f32 and type(c) is f32:
        return f32(float(a) * float(b) + float(c))
    return a * b + c


def cbrt(a: Any) -> Any:
    return type(a)(np.cbrt(a)) if isinstance(a, np.floating) else float(np.cbrt(a))


def selp(condition: Any, a: Any, b: Any) -> Any:
    return a if condition else b


def _half() -> dict[str, Callable[..., Any]]:
    def h(value: Any) -> np.float16:
        if not is_number(value):
            raise TypeError(f"a {type(value).__name__} cannot be turned into a number")
        return np.float16(value)

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
    "popc": popc, "clz": clz, "ffs": ffs, "brev": brev, "fma": fma, "cbrt": cbrt, "selp": selp, **_half()}

KERNEL_ONLY = (
    "threadIdx", "blockIdx", "blockDim", "gridDim", "laneid", "warpsize", "grid", "gridsize", "shared",
    "local", "const", "atomic", "syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or",
    "syncwarp", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "all_sync", "any_sync",
    "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync", "activemask", "lanemask_lt",
    "threadfence", "threadfence_block", "threadfence_system", "nanosleep", "popc", "clz", "ffs", "brev",
    "fma", "cbrt", "selp", "fp16",
)
