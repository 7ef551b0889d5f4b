"""Requests, sectors and bytes per source line, in Nsight Compute's counting."""

from __future__ import annotations

import linecache

import numpy as np

from autograder.simulator.events import Batch, compact, distinct, pack, requests, unpack
from autograder.simulator.machine import Machine
from autograder.simulator.sites import GLOBAL_BASE, KIND_NAMES, LOAD, LOCAL_BASE
from autograder.simulator.trace import LineTraffic, Traffic

SECTOR = 32
BANKS = 32


class Ledger:
    """Counts, added up batch by batch so that memory stays bounded."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.rows: dict[tuple[int, int], list[int]] = {}  # (site, array) -> requests, sectors, bytes, conflicts
        self.requests: dict[int, int] = {}  # site -> requests that touch global memory
        self.accesses = 0
        self.events = 0  # accesses, loop rounds, barriers and warp operations

    def add(self, batch: Batch) -> None:
        if not len(batch):
            return
        self.accesses += len(batch)
        owner, sizes = self._owners(batch.address)
        width = len(sizes) + 1
        row = batch.site * width + owner + 1
        rows, total = distinct(row)
        itemsize = np.array([4, *sizes], dtype=np.int64)  # local arrays are counted by their site below
        for number, count in zip(rows, total):
            site, array = int(number) // width, int(number) % width - 1
            size = int(itemsize[array + 1]) if array >= 0 else self._local_size(site)
            self._row(site, array)[2] += int(count) * size
        key, shape, sectors = self._keys(batch)
        pieces, _ = distinct(key)
        _, site, _, sector = unpack(pieces, shape)
        address = sectors[sector] * SECTOR
        array, _ = self._owners(address)
        for number, count in zip(*distinct(site * width + array + 1)):
            self._row(int(number) // width, int(number) % width - 1)[1] += int(count)
        group = pieces // shape[-1]
        joined, _ = distinct(group * width + array + 1)
        joined_site = joined // width // shape[2] % shape[1]
        for number, count in zip(*distinct(joined_site * width + joined % width)):
            self._row(int(number) // width, int(number) % width - 1)[0] += int(count)
        self._count_conflicts(batch.take(batch.address < LOCAL_BASE), owner[batch.address < LOCAL_BASE])
        in_global, _ = distinct(group[address >= GLOBAL_BASE])
        for number, count in zip(*distinct(in_global // shape[2] % shape[1])):
            self.requests[int(number)] = self.requests.get(int(number), 0) + int(count)

    def _row(self, site: int, array: int) -> list[int]:
        return self.rows.setdefault((site, array), [0, 0, 0, 0])

    def _count_conflicts(self, batch: Batch, owner: np.ndarray) -> None:
        """Shared memory has 32 banks, each a 4-byte word wide: the lanes of a request that want different words
        of one bank are served one after another. Counts the extra turns."""
        if not len(batch):
            return
        request = requests(batch)
        first = np.zeros(int(request.max()) + 1, np.int64)
        first[request] = np.arange(len(request))
        word, words = compact(batch.address // 4)
        wanted, _ = distinct(request * len(words) + word)
        bank, turns = distinct(wanted // len(words) * BANKS + words[wanted % len(words)] % BANKS)
        starts = np.flatnonzero(np.diff(bank // BANKS, prepend=-1))
        extra = np.maximum.reduceat(turns, starts) - 1
        for number in np.flatnonzero(extra):
            at = first[bank[starts[number]] // BANKS]
            self._row(int(batch.site[at]), int(owner[at]))[3] += int(extra[number])

    def _owners(self, address: np.ndarray) -> tuple[np.ndarray, list[int]]:
        """Number of the array that each address belongs to (-1: local memory), and all element sizes."""
        arrays = [a for a in self.machine.memory.allocations if a.space != "local"]
        order = sorted(range(len(arrays)), key=lambda n: arrays[n].address)
        starts = np.array([arrays[n].address for n in order], dtype=np.int64)
        numbers = np.array(order, dtype=np.int64)
        found = numbers[np.maximum(np.searchsorted(starts, address, side="right") - 1, 0)] if order else (
            np.full(len(address), -1))
        local = (address >= LOCAL_BASE) & (address < GLOBAL_BASE)
        return np.where(local, -1, found), [a.dtype.itemsize for a in arrays]

    def _local_size(self, site: int) -> int:
        return self.machine.local_sizes.get(self.machine.sites[site].text, 4)

    @staticmethod
    def _keys(batch: Batch) -> tuple[np.ndarray, tuple[int, ...], np.ndarray]:
        """(packed (warp, site, round, sector), sizes, the sector numbers)."""
        sector, sectors = compact(batch.address // SECTOR)
        try:
            key, shape = pack(batch.warp, batch.site, batch.round, sector)
        except OverflowError:
            key, shape = pack(batch.warp, batch.site, compact(batch.round)[0], sector)
        return key, shape, sectors

    def lines(self) -> tuple[LineTraffic, ...]:
        """The ledger by source line, array and direction, in the order of the source."""
        arrays = [a for a in self.machine.memory.allocations if a.space != "local"]
        merged: dict[tuple, list[int]] = {}
        for (number, array), counts in self.rows.items():
            site = self.machine.sites[number]
            name = arrays[array].name if array >= 0 else site.text
            space = arrays[array].space if array >= 0 else "local"
            key = (site.filename, site.line, site.function, name, space, KIND_NAMES[site.kind])
            held = merged.setdefault(key, [0, 0, 0, 0])
            for n in range(4):
                held[n] += counts[n]
        made = []
        for (filename, line, function, name, space, op), (count, sectors, size, conflicts) in merged.items():
            text = linecache.getline(filename, line).strip()
            made.append(LineTraffic(function, filename, line, text, name, space, op, count,
                                    sectors if space == "global" else 0, size, conflicts))
        return tuple(sorted(made, key=lambda r: (r.filename, r.line, r.op != "load", r.array)))

    def traffic(self) -> Traffic:
        """Totals for global memory; atomics count with the stores."""
        arrays = [a for a in self.machine.memory.allocations if a.space != "local"]
        load, store = [0, 0, 0], [0, 0, 0]
        for (number, array), (_, sectors, size, _) in self.rows.items():
            if array >= 0 and arrays[array].space == "global":
                side = load if self.machine.sites[number].kind == LOAD else store
                side[1] += sectors
                side[2] += size
        for number, count in self.requests.items():
            (load if self.machine.sites[number].kind == LOAD else store)[0] += count
        return Traffic(*load, *store)
