"""A piece of simulated memory: its elements, its address, and how values go in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.simulator.gpumath import is_number, to_float32


def converter(dtype: np.dtype) -> Callable[[Any], Any]:
    """How a value is stored into an array of ``dtype``: C's conversions, never an exception for range."""
    if dtype == np.float32:
        return to_float32
    scalar = dtype.type
    if dtype.kind in "iu":
        bits, top = dtype.itemsize * 8, 1 << (dtype.itemsize * 8 - 1)

        def to_integer(value: Any) -> Any:
            if type(value) is scalar:
                return value
            if not is_number(value):
                raise TypeError(f"a {type(value).__name__} cannot be turned into a number")
            try:
                whole = int(value)
            except (ValueError, OverflowError):  # NaN or inf: a GPU gives some integer
                return scalar(0)
            whole &= (1 << bits) - 1
            return scalar(whole - (1 << bits) if dtype.kind == "i" and whole >= top else whole)

        return to_integer

    def to_scalar(value: Any) -> Any:
        if not is_number(value):
            raise TypeError(f"a {type(value).__name__} cannot be turned into a number")
        return scalar(value)

    return to_scalar


def is_narrow(dtype: np.dtype) -> bool:
    """Integers below 64 bits: numba computes with them in 64, so they leave memory as Python ints."""
    return dtype.kind in "iu" and dtype.itemsize < 8


def poison(dtype: np.dtype) -> Any:
    """What uninitialised shared and local memory holds: NaN, or a large odd integer."""
    if dtype.kind in "fc":
        return dtype.type(np.nan)
    if dtype.kind == "b":
        return dtype.type(True)
    return dtype.type(0x5A5A5A5A5A5A5A5A & (2 ** (dtype.itemsize * 8 - 1) - 1))


@dataclass(eq=False, slots=True)
class Allocation:
    """A piece of simulated memory. ``data`` is a list of NumPy scalars, or a flat ndarray where two
    arguments of different dtypes overlap; ``address`` is that of ``data[0]`` in bytes."""

    name: str
    space: str
    dtype: np.dtype
    address: int
    data: Any
    number: int
    host: np.ndarray | None = None  # flat view of the caller's memory, written back after the launch
    shape: tuple[int, ...] = ()
    unwritten: np.ndarray | None = None  # elements that nothing has written yet, for global memory

    @property
    def nbytes(self) -> int:
        return len(self.data) * self.dtype.itemsize
