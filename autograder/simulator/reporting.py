"""Where an access of a batch was made, for the sanitizer's sentences."""

from __future__ import annotations

import numpy as np

from autograder.simulator.allocation import Allocation
from autograder.simulator.events import Batch
from autograder.simulator.machine import Machine
from autograder.simulator.sites import ADDRESS_BITS, ATOMIC, KIND_NAMES, LOAD, STORE
from autograder.simulator.trace import Place


def allocation_at(machine: Machine, address: int) -> Allocation:
    """The global or shared array that an address belongs to."""
    return next(a for a in machine.memory.allocations
                if a.space != "local" and a.address <= address < a.address + max(a.nbytes, 1))


def index_in(a: Allocation, address: int) -> tuple[int, ...]:
    """The index of the element of ``a`` at an address."""
    element = (address - a.address) // a.dtype.itemsize
    shape = a.shape or (len(a.data),)
    if element < int(np.prod(shape, dtype=np.int64)):
        return tuple(int(n) for n in np.unravel_index(element, shape))
    return (int(element),)


def place_of(machine: Machine, batch: Batch, n: int) -> Place:
    """Line, block and thread of the ``n``-th access."""
    at = machine.place(int(batch.site[n]) << ADDRESS_BITS)
    gx, gy, _ = machine.grid
    block = int(batch.block[n])
    thread = tuple(machine.threads[int(batch.thread[n])].threadIdx)
    return Place(at.function, at.filename, at.line, at.text, (block % gx, block // gx % gy, block // (gx * gy)), thread)


def verb(kind: int) -> str:
    """What an access of a kind does to an element, in words."""
    return {LOAD: "reads", STORE: "writes"}.get(kind, f"does an {KIND_NAMES[ATOMIC]} on")
