"""What one simulated launch did: traffic, findings, and where each access went.

Everything here is plain data. ``launch`` fills it, the judge compares it with a budget,
and the figures draw it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ArrayInfo:
    """One array that the kernel could see.

    ``address`` is in bytes in the simulated address space (256-byte aligned for a global array),
    ``nbytes`` is the extent in bytes that its elements span, strides included; ``strides`` in bytes.
    """

    name: str
    space: str  # "global", "shared" or "local"
    shape: tuple[int, ...]
    dtype: str
    address: int
    nbytes: int
    strides: tuple[int, ...] = ()


@dataclass(frozen=True)
class Traffic:
    """Totals for global memory in Nsight Compute's units.

    requests: warp-level instructions; sectors: distinct 32-byte pieces summed over the requests;
    bytes: bytes that the threads asked for (lanes x element size). Atomics count as stores.
    """

    load_requests: int = 0
    load_sectors: int = 0
    load_bytes: int = 0
    store_requests: int = 0
    store_sectors: int = 0
    store_bytes: int = 0


@dataclass(frozen=True)
class LineTraffic:
    """Traffic of one source line, one array and one direction."""

    function: str
    filename: str
    line: int  # as in the kernel's own file or cell, from 1
    text: str  # the source line, stripped
    array: str
    space: str  # "global", "shared" or "local"
    op: str  # "load", "store" or "atomic"
    requests: int
    sectors: int
    bytes: int
    conflicts: int = 0  # shared memory: extra passes over the banks, summed over the requests


@dataclass(frozen=True)
class Place:
    """Where a thread was when something happened."""

    function: str
    filename: str
    line: int
    text: str
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Finding:
    """One thing that a sanitizer tool would report.

    ``tool`` is "memcheck", "racecheck", "initcheck" or "synccheck"; ``message`` is the whole
    sentence, with advice; ``places`` holds the one or two source lines involved.
    """

    tool: str
    message: str
    places: tuple[Place, ...]
    array: str | None = None
    index: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Touches:
    """Every global access of the first block, for pictures. Parallel 1-D arrays, in program order
    of each thread; ``step`` orders them: accesses of one warp request share a step number.

    step: int64, order of the request within its warp; line: int32, source line;
    store: bool; array: int32, index into ``Trace.arrays``; element: int64, offset in elements from
    the array's first element; thread: int32, linear thread index; interval: int32, how many block
    barriers the thread had passed.
    """

    step: np.ndarray
    line: np.ndarray
    store: np.ndarray
    array: np.ndarray
    element: np.ndarray
    thread: np.ndarray
    interval: np.ndarray


@dataclass(frozen=True)
class Trace:
    """The record of one launch."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arrays: tuple[ArrayInfo, ...]
    traffic: Traffic
    lines: tuple[LineTraffic, ...]
    findings: tuple[Finding, ...]  # the first few
    findings_total: int
    steps: int  # loop iterations, accesses and barriers of all threads together
    accesses: int  # memory accesses of all threads together, any space
    barriers: int  # block barriers completed, all blocks together
    touches: Touches | None = None
