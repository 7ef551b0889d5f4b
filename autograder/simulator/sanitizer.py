"""racecheck and initcheck over a batch of accesses (memcheck and synccheck report as they happen).

racecheck: two accesses of one address by different threads, at least one of them a plain write, with nothing
between that orders them. Within a block a barrier orders all threads, a warp operation the lanes of its warp;
between blocks nothing does, and a kernel that uses cuda.threadfence is not judged there. Like compute-sanitizer it lets an atomic stand beside reads, and several threads
write the same value.
"""

from __future__ import annotations

import numpy as np

from autograder.simulator.allocation import Allocation
from autograder.simulator.clocks import LaneClocks
from autograder.simulator.events import Batch, compact, pack
from autograder.simulator.findings import plain_index, who
from autograder.simulator.machine import Machine
from autograder.simulator.sites import ADDRESS_BITS, ATOMIC, GLOBAL_BASE, KIND_NAMES, LOAD, LOCAL_BASE, STORE
from autograder.simulator.trace import Place

_NONE = np.iinfo(np.int64).max
_TOLD = 200  # conflicting addresses looked at one by one, per batch


class Sanitizer:
    """Checks batches of whole blocks in turn and reports to ``machine.findings``."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        # per global array: which block (+1) last read, wrote or atomically changed each element
        self._marks: dict[int, tuple[np.ndarray, ...]] = {}

    def add(self, batch: Batch) -> None:
        if not len(batch):
            return
        stores = batch.kind != LOAD
        shared = batch.address < LOCAL_BASE
        candidates = shared.copy()
        several_blocks = int(np.prod(self.machine.grid)) > 1
        for a in self.machine.memory.allocations:
            if a.space != "global":
                continue
            inside = (batch.address >= a.address) & (batch.address < a.address + a.nbytes)
            if (inside & stores).any():
                candidates |= inside
            if several_blocks and not self.machine.fenced:
                self._races_between_blocks(a, batch.take(inside))
        self._races_in_blocks(batch.take(candidates))
        self._uninitialised(batch)

    # races
    def _races_in_blocks(self, batch: Batch) -> None:
        if not len(batch):
            return
        warp = batch.thread // 32
        lane_order = batch.sync * (len(self.machine.threads) // 32 + 1) + warp
        address, block = compact(batch.address)[0], compact(batch.block)[0]
        order, starts = _groups(block, address, batch.interval)
        b, w = batch.take(order), warp[order]
        mixed = _mixed(b, starts)
        ends = np.append(starts[1:], len(b))
        several_warps = np.minimum.reduceat(w, starts) != np.maximum.reduceat(w, starts)
        self._report_some(b, starts, ends, mixed & several_warps, by_warp=True)
        # lanes of one warp, between two of its warp operations
        several = mixed & (np.minimum.reduceat(b.thread, starts) != np.maximum.reduceat(b.thread, starts))
        inside = np.repeat(several, ends - starts)
        if not inside.any():
            return
        rest = np.flatnonzero(inside)
        if self.machine.partial_masks:
            rest = self._races_of_parts(b, block[order], address[order], rest)
            if not len(rest):
                return
        again, starts = _groups(block[order][rest], address[order][rest], b.interval[rest],
                                lane_order[order][rest])
        b = b.take(rest[again])
        ends = np.append(starts[1:], len(b))
        several = np.minimum.reduceat(b.thread, starts) != np.maximum.reduceat(b.thread, starts)
        self._report_some(b, starts, ends, _mixed(b, starts) & several, by_warp=False)

    def _races_of_parts(self, b: Batch, block: np.ndarray, address: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Check the warps that synchronised in parts, with clocks; gives the accesses of the other warps."""
        partial = self.machine.partial_masks
        own = np.array([(int(b.block[n]), int(b.thread[n]) // 32) in partial for n in rest])
        mine = rest[own]
        if len(mine):
            clocks = {key: LaneClocks(masks) for key, masks in partial.items()}
            again, starts = _groups(block[mine], address[mine], b.interval[mine], b.thread[mine] // 32)
            part = b.take(mine[again])
            ends = np.append(starts[1:], len(part))
            for group in np.flatnonzero(_mixed(part, starts))[:_TOLD]:
                some = part.take(slice(starts[group], ends[group]))
                pair = _unordered(some, clocks[int(some.block[0]), int(some.thread[0]) // 32])
                if pair is not None:
                    self._report(some.take(np.array(pair)), by_warp=False)
        return rest[~own]

    def _report_some(self, b: Batch, starts: np.ndarray, ends: np.ndarray, which: np.ndarray, *,
                     by_warp: bool) -> None:
        """Report the groups, a bounded number of them in words: a missing barrier shows at every address."""
        groups = np.flatnonzero(which)
        for group in groups[:_TOLD]:
            self._report(b.take(slice(starts[group], ends[group])), by_warp=by_warp)
        self.machine.findings.total += max(len(groups) - _TOLD, 0)

    def _report(self, group: Batch, *, by_warp: bool) -> None:
        pair = _conflict(group, by_warp)
        if pair is None:
            return
        first, second = pair
        a = self._at(int(group.address[first]))
        lines = sorted(self.machine.sites[int(group.site[n])].line for n in pair)
        key = (*lines, a.name)
        if self.machine.findings.again("racecheck", key):
            return
        places = tuple(self._place(group, n) for n in pair)
        verbs = [_verb(int(group.kind[n])) for n in pair]
        index = self._index(a, int(group.address[first]))
        where = f"{a.name}{plain_index(index)}"
        between = ("a cuda.syncthreads()" if by_warp else "a cuda.syncwarp() (or cuda.syncthreads())")
        if places[0].line == places[1].line and verbs[0] == verbs[1]:
            text = (f"line {places[0].line}: `{places[0].text}`: {who(places[0])} and {who(places[1])} both "
                    f"{verbs[0][:-1]} {where} with nothing between them; which one comes last is chance. "
                    "Let one thread do it, or use an atomic.")
        else:
            text = (f"line {places[0].line}: `{places[0].text}` {verbs[0]} {where} in {who(places[0])}, and line "
                    f"{places[1].line}: `{places[1].text}` {verbs[1]} it in {who(places[1])}, with no barrier "
                    f"between them. Put {between} between the two.")
        self.machine.findings.add(
            "racecheck", text, places, a.name, index,
            key=key)

    def _races_between_blocks(self, a: Allocation, part: Batch) -> None:
        if not len(part):
            return
        if a.number not in self._marks:
            self._marks[a.number] = tuple(np.zeros(len(a.data), np.int32) for _ in range(3))
        reader, writer, atomic = self._marks[a.number]
        element = (part.address - a.address) // a.dtype.itemsize
        mark = (part.block + 1).astype(np.int32)
        reads, plain, added = part.kind == LOAD, part.kind == STORE, part.kind == ATOMIC
        # against blocks of earlier batches
        before = writer[element]
        clash = (before != 0) & (before != mark)
        for marks in (reader, atomic):
            clash |= plain & (marks[element] != 0) & (marks[element] != mark)
        if clash.any():
            n = int(np.flatnonzero(clash)[0])
            self._report_blocks(part, n, a, int(before[n] or reader[element[n]] or atomic[element[n]]) - 1)
        # within the batch
        if not reads.all():
            order, starts = _groups(element)
            b = part.take(order)
            several = np.minimum.reduceat(b.block, starts) != np.maximum.reduceat(b.block, starts)
            stores = np.maximum.reduceat((b.kind == STORE).astype(np.int8), starts) > 0
            for group in np.flatnonzero(stores & several)[:1]:
                n, other = starts[group], starts[group] + np.flatnonzero(
                    b.block[starts[group]:] != b.block[starts[group]])[0]
                self._report_blocks(b, int(other), a, int(b.block[n]))
        reader[element[reads]] = mark[reads]
        writer[element[plain]] = mark[plain]
        atomic[element[added]] = mark[added]

    def _report_blocks(self, part: Batch, n: int, a: Allocation, other: int) -> None:
        place = self._place(part, n)
        index = self._index(a, int(part.address[n]))
        self.machine.findings.add(
            "racecheck",
            f"line {place.line}: `{place.text}` {_verb(int(part.kind[n]))} {a.name}{plain_index(index)} in {who(place)}, "
            f"which block {other} also uses. Blocks run in any order and no barrier spans them: let each element "
            "belong to one block, or use an atomic.",
            (place,), a.name, index, key=("blocks", place.line, a.name))

    # reads before any write
    def _uninitialised(self, batch: Batch) -> None:
        self._early_reads(batch.take(batch.address < GLOBAL_BASE))
        for a in self.machine.memory.allocations:
            if a.unwritten is None or not a.unwritten.any():
                continue
            part = batch.take((batch.address >= a.address) & (batch.address < a.address + a.nbytes))
            element = (part.address - a.address) // a.dtype.itemsize
            self._early_reads(part.take(a.unwritten[element]))
            a.unwritten[element[part.kind != LOAD]] = False

    def _early_reads(self, batch: Batch) -> None:
        if not (batch.kind == LOAD).any():
            return
        address, _ = compact(batch.address)
        block, _ = compact(batch.block)
        order, starts = _groups(block, address)
        b = batch.take(order)
        sizes = np.diff(np.append(starts, len(b)))
        writes = b.kind != LOAD
        first = np.repeat(np.minimum.reduceat(np.where(writes, b.interval, _NONE), starts), sizes)
        opening = writes & (b.interval == first)
        low = np.repeat(np.minimum.reduceat(np.where(opening, b.thread, _NONE), starts), sizes)
        high = np.repeat(np.maximum.reduceat(np.where(opening, b.thread, -1), starts), sizes)
        at = np.repeat(np.minimum.reduceat(np.where(opening, b.position, _NONE), starts), sizes)
        early = (b.interval < first) | ((b.interval == first) & (low == high) & (b.thread == low)
                                        & (b.position < at))
        for n in np.flatnonzero((b.kind == LOAD) & early):
            self._report_early(b, int(n))

    def _report_early(self, b: Batch, n: int) -> None:
        site = self.machine.sites[int(b.site[n])]
        place = self._place(b, n)
        address = int(b.address[n])
        space = "global" if address >= GLOBAL_BASE else "local" if address >= LOCAL_BASE else "shared"
        if space == "local":
            name, index = site.text, None
        else:
            a = self._at(address)
            name, index = a.name, self._index(a, address)
        also = ", and put a barrier between the write and the read" if space == "shared" else ""
        self.machine.findings.add(
            "initcheck",
            f"line {place.line}: `{place.text}` reads {name}{plain_index(index)} in {who(place)}, but nothing has "
            f"written it yet: {space} memory starts with arbitrary values. Write it first{also}.",
            (place,), name, index, key=(site.line, name))

    # where things are
    def _at(self, address: int) -> Allocation:
        return next(a for a in self.machine.memory.allocations
                    if a.space != "local" and a.address <= address < a.address + max(a.nbytes, 1))

    @staticmethod
    def _index(a: Allocation, address: int) -> tuple[int, ...]:
        element = (address - a.address) // a.dtype.itemsize
        shape = a.shape or (len(a.data),)
        if element < int(np.prod(shape, dtype=np.int64)):
            return tuple(int(n) for n in np.unravel_index(element, shape))
        return (int(element),)

    def _place(self, batch: Batch, n: int) -> Place:
        machine = self.machine
        at = machine.place(int(batch.site[n]) << ADDRESS_BITS)
        gx, gy, _ = machine.grid
        block = int(batch.block[n])
        thread = tuple(machine.threads[int(batch.thread[n])].threadIdx)
        return Place(at.function, at.filename, at.line, at.text,
                     (block % gx, block // gx % gy, block // (gx * gy)), thread)


def _verb(kind: int) -> str:
    return {LOAD: "reads", STORE: "writes"}.get(kind, f"does an {KIND_NAMES[ATOMIC]} on")


def _groups(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(order that sorts by the columns, start of each run of equal columns)."""
    try:
        key, _ = pack(*columns)
        order = np.argsort(key, kind="stable")
        key = key[order]
        change = np.flatnonzero(key[1:] != key[:-1]) + 1
    except OverflowError:
        order = np.lexsort(columns[::-1])
        change = np.flatnonzero(np.any([c[order][1:] != c[order][:-1] for c in columns], axis=0)) + 1
    return order, np.concatenate([[0], change]).astype(np.int64)


def _mixed(group: Batch, starts: np.ndarray) -> np.ndarray:
    """Groups in which two accesses can conflict: a plain write, and not only writes of one value."""
    stores = group.kind == STORE
    any_store = np.maximum.reduceat(stores.astype(np.int8), starts) > 0
    only_stores = np.minimum.reduceat(stores.astype(np.int8), starts) > 0
    one_value = np.minimum.reduceat(group.value, starts) == np.maximum.reduceat(group.value, starts)
    known = np.minimum.reduceat(group.value, starts) != 0
    one_site = np.minimum.reduceat(group.site, starts) == np.maximum.reduceat(group.site, starts)
    return any_store & ~(only_stores & one_value & (known | one_site))


def _unordered(group: Batch, clocks: LaneClocks) -> tuple[int, int] | None:
    """A write and an access of another lane that no chain of warp operations orders."""
    lane = group.thread % 32
    for first in np.flatnonzero(group.kind == STORE):
        for other in range(len(group)):
            same = group.kind[other] == STORE and group.value[other] == group.value[first] != 0
            if lane[other] != lane[first] and not same and not clocks.ordered(
                    int(lane[first]), int(group.sync[first]), int(lane[other]), int(group.sync[other])):
                return int(first), other
    return None


def _conflict(group: Batch, by_warp: bool) -> tuple[int, int] | None:
    """Two accesses of the group that conflict, a write first; None when there is none. Two writes of the
    same value do not, nor do two of unknown value through the same instruction (global memory)."""
    owner = group.thread // 32 if by_warp else group.thread
    stores = group.kind == STORE
    first = int(np.flatnonzero(stores)[0])
    others = owner != owner[first]
    same = stores & (group.value == group.value[first]) & ((group.value != 0) | (group.site == group.site[first]))
    if (others & ~same).any():
        return first, int(np.flatnonzero(others & ~same)[0])
    # the others only write the same value again: that meets whatever else the first one's owner does
    if others.any() and (~others & ~same).any():
        return int(np.flatnonzero(others)[0]), int(np.flatnonzero(~others & ~same)[0])
    return None
