"""A piece of simulated memory: its elements, its address, and how values go in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.simulator.values import CONVERT


def converter(dtype: np.dtype) -> Callable[[Any], Any]:
    """How a value is stored into an array of ``dtype``: as a GPU converts it, never an exception for its range."""
    scalar, convert = dtype.type, CONVERT[dtype.name]
    if dtype == np.float32:
        return convert

    def to_scalar(value: Any) -> Any:
        return value if type(value) is scalar else scalar(convert(value))

    return to_scalar


def is_narrow(dtype: np.dtype) -> bool:
    """Integers of every width leave memory as Python ints, which registers hold."""
    return dtype.kind in "iu"


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
