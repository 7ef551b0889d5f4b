"""All memory of one launch: addresses, allocations, limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.simulator.allocation import Allocation, converter
from autograder.simulator.arrays import DeviceArray, contiguous
from autograder.simulator.sites import GLOBAL_BASE, LOCAL_BASE

Log = Callable[[int], Any]


class Memory:
    """All memory of one launch: hands out addresses, keeps the allocations, takes faults.

    ``fault(array, index, code, store)`` is called for an access outside an array and must raise or
    return (the read then gives NaN, the write is dropped); ``log`` takes one packed entry per access.
    """

    def __init__(self, fault: Callable[[DeviceArray, tuple[int, ...], int, bool], None], log: Log) -> None:
        self.fault = fault
        self.log = log
        self.allocations: list[Allocation] = []
        self._next_global = GLOBAL_BASE
        self._converters: dict[np.dtype, Callable[[Any], Any]] = {}

    def converter(self, dtype: np.dtype) -> Callable[[Any], Any]:
        found = self._converters.get(dtype)
        if found is None:
            found = self._converters[dtype] = converter(dtype)
        return found

    def allocate(self, name: str, space: str, dtype: np.dtype, shape: tuple[int, ...], address: int,
                 data: Any, host: np.ndarray | None = None) -> Allocation:
        made = Allocation(name, space, dtype, address, data, len(self.allocations), host, shape)
        self.allocations.append(made)
        return made

    def reserve_global(self, nbytes: int) -> int:
        """A 256-byte aligned address range, with a gap after it so that no two arrays share a sector."""
        start = self._next_global
        self._next_global = (start + max(nbytes, 1) + 511) // 256 * 256
        return start

    def array(self, allocation: Allocation, shape: tuple[int, ...], offset: int = 0,
              steps: tuple[int, ...] | None = None) -> DeviceArray:
        return DeviceArray(allocation, self, offset, shape, contiguous(shape) if steps is None else steps)


def block_size_problem(space: str, nbytes: int, limit: int) -> str:
    return (f"{space} memory of {nbytes} bytes is more than the {limit} bytes that a block may have; "
            "use a smaller tile")


LOCAL_LIMIT = 512 * 1024
LOCAL_STRIDE = LOCAL_LIMIT
assert LOCAL_BASE + 1024 * LOCAL_STRIDE <= GLOBAL_BASE
