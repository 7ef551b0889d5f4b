"""Reads of memory that nothing has written: shared and local arrays, and fresh device arrays."""

from __future__ import annotations

import numpy as np

from autograder.simulator.events import Batch, compact, groups
from autograder.simulator.findings import plain_index, who
from autograder.simulator.machine import Machine
from autograder.simulator.reporting import allocation_at, index_in, place_of
from autograder.simulator.sites import GLOBAL_BASE, LOAD, LOCAL_BASE

_NONE = np.iinfo(np.int64).max


class InitCheck:
    """Judges the accesses of whole blocks; of a block that comes in pieces, whatever barriers have closed."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._open: Batch | None = None  # of the running block: each element's first writes, reads not yet judged

    def add(self, batch: Batch, closed: int | None) -> None:
        """``closed``: None when the blocks of ``batch`` end with it, else how many barriers every running thread has
        passed."""
        own = batch.take(batch.address < GLOBAL_BASE)
        if self._open is not None:
            own, self._open = self._open.joined(own), None
        if closed is None:
            self._judge(own, _NONE)
        else:
            self._open = self._judge(own, closed)
        for a in self.machine.memory.allocations:
            if a.unwritten is None or not a.unwritten.any():
                continue
            part = batch.take((batch.address >= a.address) & (batch.address < a.address + a.nbytes))
            element = (part.address - a.address) // a.dtype.itemsize
            self._judge(part.take(a.unwritten[element]), _NONE)
            a.unwritten[element[part.kind != LOAD]] = False

    def _judge(self, batch: Batch, closed: int) -> Batch:
        """Report the early reads before barrier ``closed``; gives what later reads must be held against."""
        if not len(batch):
            return batch
        address, _ = compact(batch.address)
        block, _ = compact(batch.block)
        order, starts = groups(block, address)
        b = batch.take(order)
        sizes = np.diff(np.append(starts, len(b)))
        writes = b.kind != LOAD
        first = np.repeat(np.minimum.reduceat(np.where(writes, b.interval, _NONE), starts), sizes)
        opening = writes & (b.interval == first)
        low = np.repeat(np.minimum.reduceat(np.where(opening, b.thread, _NONE), starts), sizes)
        high = np.repeat(np.maximum.reduceat(np.where(opening, b.thread, -1), starts), sizes)
        at = np.repeat(np.minimum.reduceat(np.where(opening, b.position, _NONE), starts), sizes)
        # a thread's own write comes before its read or after it; another thread's, in the same interval, is a race
        early = ~writes & ((b.interval < first) | ((b.interval == first) & (low == high) & (b.thread == low)
                                                   & (b.position < at)))
        for n in np.flatnonzero(early & (b.interval < closed)):
            self._report(b, int(n))
        if closed == _NONE:
            return b.take(slice(0, 0))
        kept = b.take((opening & ((b.thread == low) | (b.thread == high))) | (early & (b.interval >= closed)))
        return _first_of_each(kept)

    def _report(self, b: Batch, n: int) -> None:
        site = self.machine.sites[int(b.site[n])]
        place = place_of(self.machine, b, n)
        address = int(b.address[n])
        space = "global" if address >= GLOBAL_BASE else "local" if address >= LOCAL_BASE else "shared"
        if space == "local":
            name, index = site.text, None
        else:
            a = allocation_at(self.machine, address)
            name, index = a.name, index_in(a, address)
        also = ", and put a barrier between the write and the read" if space == "shared" else ""
        self.machine.findings.add(
            "initcheck",
            f"line {place.line}: `{place.text}` reads {name}{plain_index(index)} in {who(place)}, but nothing has "
            f"written it yet: {space} memory starts with arbitrary values. Write it first{also}.",
            (place,), name, index, key=(site.line, name))


def _first_of_each(batch: Batch) -> Batch:
    """Each thread's first read and first write of each element."""
    if not len(batch):
        return batch
    order, starts = groups(compact(batch.address)[0], batch.thread, (batch.kind == LOAD).astype(np.int64),
                           batch.position)
    first = batch.take(order)
    same = np.ones(len(first), dtype=bool)
    same[1:] = ((first.address[1:] != first.address[:-1]) | (first.thread[1:] != first.thread[:-1])
                | ((first.kind[1:] == LOAD) != (first.kind[:-1] == LOAD)))
    return first.take(same)
