"""Races within a block: two accesses of one address by different threads, at least one of them a plain write, with
nothing between that orders them.

A block barrier orders all threads, a warp operation the lanes of its warp. As for compute-sanitizer, an atomic may
stand beside reads, and several threads may write the same value.
"""

from __future__ import annotations

import numpy as np

from autograder.simulator.clocks import LaneClocks
from autograder.simulator.events import Batch, compact, groups
from autograder.simulator.findings import plain_index, who
from autograder.simulator.machine import Machine
from autograder.simulator.openaccesses import OpenAccesses
from autograder.simulator.reporting import allocation_at, index_in, place_of, verb
from autograder.simulator.sites import STORE

_TOLD = 200  # conflicting addresses looked at one by one, per batch

Masks = dict[tuple[int, int], list[int]]  # (block, warp) -> the lanes of each of its warp operations


class RaceCheck:
    """Judges the accesses of whole blocks; of a block that comes in pieces, whatever barriers have closed."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._open = OpenAccesses()  # of the running block, since the last barrier that all threads have passed
        self._masks: Masks = {}

    def add(self, batch: Batch, masks: Masks, closed: int | None) -> None:
        """``masks``: of the warps that synchronised in parts. ``closed``: None when the blocks of ``batch`` end with
        it, else how many barriers every running thread has passed."""
        self._masks = masks
        if closed is None and not len(self._open):
            self._judge(batch)
            return
        self._open.add(batch)
        for part in self._open.close(closed):
            self._judge(part)

    def _judge(self, batch: Batch) -> None:
        if not len(batch):
            return
        warp = batch.thread // 32
        lane_order = batch.sync * (len(self.machine.threads) // 32 + 1) + warp
        address, block = compact(batch.address)[0], compact(batch.block)[0]
        order, starts = groups(block, address, batch.interval)
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
        if self._masks:
            rest = self._races_of_parts(b, block[order], address[order], rest)
            if not len(rest):
                return
        again, starts = groups(block[order][rest], address[order][rest], b.interval[rest],
                                lane_order[order][rest])
        b = b.take(rest[again])
        ends = np.append(starts[1:], len(b))
        several = np.minimum.reduceat(b.thread, starts) != np.maximum.reduceat(b.thread, starts)
        self._report_some(b, starts, ends, _mixed(b, starts) & several, by_warp=False)

    def _races_of_parts(self, b: Batch, block: np.ndarray, address: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """Check the warps that synchronised in parts, with clocks; gives the accesses of the other warps."""
        partial = self._masks
        own = np.array([(int(b.block[n]), int(b.thread[n]) // 32) in partial for n in rest])
        mine = rest[own]
        if len(mine):
            clocks = {key: LaneClocks(masks) for key, masks in partial.items()}
            again, starts = groups(block[mine], address[mine], b.interval[mine], b.thread[mine] // 32)
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
        a = allocation_at(self.machine, int(group.address[first]))
        lines = sorted(self.machine.sites[int(group.site[n])].line for n in pair)
        key = (*lines, a.name)
        if self.machine.findings.again("racecheck", key):
            return
        places = tuple(place_of(self.machine, group, n) for n in pair)
        verbs = [verb(int(group.kind[n])) for n in pair]
        index = index_in(a, int(group.address[first]))
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
