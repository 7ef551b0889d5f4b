"""All memory of one launch: addresses, allocations, limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from autograder.simulator.allocation import Allocation, converter
from autograder.simulator.arrays import DeviceArray, contiguous
from autograder.simulator.sites import GLOBAL_BASE, LOCAL_BASE

Log = Callable[[int], Any]


class Watcher(Protocol):
    """What memory asks of the launch it belongs to."""

    log: Log
    record: bool

    def fault(self, array: DeviceArray, index: tuple[int, ...], code: int, store: bool) -> None:
        """An access outside an array: raise, or return (the read then gives NaN, the write is dropped)."""

    def extra_sites(self, code: int | None, kinds: tuple[int, ...], text: str) -> tuple[int, ...]:
        """Packed numbers for the accesses of one statement that moves a part of an array."""

    def stray_code(self, kind: int, text: str) -> int:
        """Packed number for an access made outside rewritten code."""


class Memory:
    """All memory of one launch: hands out addresses and keeps the allocations."""

    def __init__(self, watcher: Watcher) -> None:
        self.fault = watcher.fault
        self.log = watcher.log
        self.recording = watcher.record
        self.extra_sites = watcher.extra_sites
        self.stray_code = watcher.stray_code
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
