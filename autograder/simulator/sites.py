"""Places in a kernel that do something worth recording, and how a log entry is packed.

The log takes one signed 64-bit integer per event: the site's number in the high bits, a byte
address in the low ``ADDRESS_BITS`` (0 for an event that has none). The address says the memory space
by its range, so one site may read shared memory in one call and global memory in the next. Negative
entries stand between: ``-1 - thread`` says which thread runs from here on; ``VALUE_MARK`` and below carries a
hash of the value that the store before it wrote, so that two threads writing the same value are told from a race.
"""

from __future__ import annotations

from dataclasses import dataclass

ADDRESS_BITS = 42
ADDRESS_MASK = (1 << ADDRESS_BITS) - 1
MAX_SITES = 1 << (62 - ADDRESS_BITS)

VALUE_MARK = -(1 << 41)

SHARED_BASE = 0
LOCAL_BASE = 1 << 30
GLOBAL_BASE = 1 << 36

LOAD, STORE, ATOMIC, LOOP_ENTER, LOOP_STEP, BARRIER, WARP, CALL, ALLOCATE, FENCE = range(10)
KIND_NAMES = ("load", "store", "atomic", "loop", "loop step", "barrier", "warp operation", "call", "array",
              "fence")


@dataclass(frozen=True)
class Site:
    """One place in the source of one function.

    ``loops`` are the numbers (in the same function) of the ``LOOP_STEP`` sites around it,
    outermost first; ``text`` names what is there ("X", "syncthreads").
    """

    kind: int
    function: str
    filename: str
    line: int
    column: int
    text: str
    loops: tuple[int, ...]
