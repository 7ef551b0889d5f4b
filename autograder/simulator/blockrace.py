"""Races between blocks: nothing orders two blocks but a fence and an atomic.

A block that has done its accesses, then a fence and an atomic, is ordered before the accesses that another block makes
after an atomic on the same element: the way in which the last block of a grid takes up what the others left. A
kernel without a fence has no such order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autograder.simulator.allocation import Allocation
from autograder.simulator.events import Batch, compact, groups
from autograder.simulator.findings import plain_index, who
from autograder.simulator.machine import Machine
from autograder.simulator.reporting import index_in, place_of, verb
from autograder.simulator.sites import ATOMIC, GLOBAL_BASE, LOAD, STORE

_ATOMICS = 62  # elements with atomics that are told apart, a bit each


@dataclass
class _Mark:
    """By element: the block (+1) that last made an access of one kind, and the atomics behind which it did."""

    block: np.ndarray
    behind: np.ndarray

    @classmethod
    def none(cls, count: int) -> _Mark:
        return cls(np.zeros(count, np.int32), np.zeros(count, np.int64))

    def clash(self, element: np.ndarray, mark: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Accesses that another block's access of this kind is not ordered before."""
        other = self.block[element]
        return (other != 0) & (other != mark) & ((self.behind[element] & after) == 0)

    def note(self, element: np.ndarray, mark: np.ndarray, behind: np.ndarray, *, add: bool) -> None:
        """``add``: earlier accesses of other blocks still count."""
        if not add:
            self.behind[element] = -1
        else:
            fresh = self.block[element] == 0
            self.behind[element[fresh]] = -1
        self.block[element] = mark
        np.bitwise_and.at(self.behind, element, behind)


class BlockRaces:
    """Holds the accesses of each block against those of the blocks that ran before it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._several = int(np.prod(machine.grid)) > 1
        self._marks: dict[int, tuple[_Mark, _Mark, _Mark]] = {}  # by array: reads, writes, atomics
        self._bits: dict[int, int] = {}  # address of an atomic -> its bit
        self._open: Batch | None = None  # pieces of the running block, in a kernel with a fence

    def add(self, batch: Batch, running: bool) -> None:
        """``running``: ``batch`` is a piece of a block that goes on."""
        if not self._several:
            return
        if not self.machine.fenced:
            nothing = np.zeros(len(batch), np.int64)
            self._judge(batch, nothing, nothing)
            return
        if self._open is not None:
            batch, self._open = self._open.joined(batch), None
        if running:
            self._open = batch
            return
        numbers, first = np.unique(batch.block, return_index=True)
        for block in numbers[np.argsort(first)]:  # in the order in which they ran
            part = batch.take(batch.block == block)
            self._judge(part, *self._order(part))

    def _order(self, part: Batch) -> tuple[np.ndarray, np.ndarray]:
        """For each access of one block: the atomics that it is released by, and those that it comes after."""
        released, acquired = np.zeros(len(part), np.int64), np.zeros(len(part), np.int64)
        fences = np.zeros(len(self.machine.threads), np.int64)
        np.maximum.at(fences, part.thread, part.fence)
        fenced_later = fences[part.thread] > part.fence
        atomics = np.flatnonzero((part.kind == ATOMIC) & (part.address >= GLOBAL_BASE))
        for n in atomics:
            address = int(part.address[n])
            bit = self._bits.setdefault(address, len(self._bits))
            if bit >= _ATOMICS:
                continue
            own = part.thread == part.thread[n]
            before = part.interval < part.interval[n]
            released[(own & (part.fence < part.fence[n])) | (before & (fenced_later | (part.fence[n] > 0)))] |= 1 << bit
            acquired[(own & (part.position > part.position[n])) | (part.interval > part.interval[n])] |= 1 << bit
        return released, acquired

    def _judge(self, batch: Batch, released: np.ndarray, acquired: np.ndarray) -> None:
        for a in self.machine.memory.allocations:
            if a.space != "global":
                continue
            inside = np.flatnonzero((batch.address >= a.address) & (batch.address < a.address + a.nbytes))
            if len(inside):
                self._judge_array(a, batch.take(inside), released[inside], acquired[inside])

    def _judge_array(self, a: Allocation, part: Batch, released: np.ndarray, acquired: np.ndarray) -> None:
        if a.number not in self._marks:
            self._marks[a.number] = tuple(_Mark.none(len(a.data)) for _ in range(3))
        reader, writer, atomic = self._marks[a.number]
        element = (part.address - a.address) // a.dtype.itemsize
        mark = (part.block + 1).astype(np.int32)
        reads, plain, added = part.kind == LOAD, part.kind == STORE, part.kind == ATOMIC
        # against blocks of earlier batches
        clash = writer.clash(element, mark, acquired)
        for marks in (reader, atomic):
            clash |= plain & marks.clash(element, mark, acquired)
        if clash.any():
            n = int(np.flatnonzero(clash)[0])
            e = element[n]
            self._report(part, n, a, int(writer.block[e] or reader.block[e] or atomic.block[e]) - 1)
        # within the batch
        if plain.any():
            order, starts = groups(compact(element)[0])
            b = part.take(order)
            several = np.minimum.reduceat(b.block, starts) != np.maximum.reduceat(b.block, starts)
            stores = np.maximum.reduceat((b.kind == STORE).astype(np.int8), starts) > 0
            for group in np.flatnonzero(stores & several)[:1]:
                n, other = starts[group], starts[group] + np.flatnonzero(
                    b.block[starts[group]:] != b.block[starts[group]])[0]
                self._report(b, int(other), a, int(b.block[n]))
        reader.note(element[reads], mark[reads], released[reads], add=True)
        writer.note(element[plain], mark[plain], released[plain], add=False)
        atomic.note(element[added], mark[added], released[added], add=True)

    def _report(self, part: Batch, n: int, a: Allocation, other: int) -> None:
        place = place_of(self.machine, part, n)
        index = index_in(a, int(part.address[n]))
        self.machine.findings.add(
            "racecheck",
            f"line {place.line}: `{place.text}` {verb(int(part.kind[n]))} {a.name}{plain_index(index)} in {who(place)}, "
            f"which block {other} also uses. Blocks run in any order and no barrier spans them: let each element "
            "belong to one block, or use an atomic.",
            (place,), a.name, index, key=("blocks", place.line, a.name))
