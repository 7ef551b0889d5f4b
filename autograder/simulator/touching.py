"""Every global access of the first block, kept for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.simulator.arrays import DeviceArray
from autograder.simulator.events import Batch, requests
from autograder.simulator.machine import Machine
from autograder.simulator.sites import GLOBAL_BASE, STORE
from autograder.simulator.trace import Touches


class TouchRecord:
    """Collects the accesses of one block, piece by piece."""

    def __init__(self, machine: Machine, args: Sequence[Any]) -> None:
        self._machine = machine
        # arguments that share memory share an allocation; its accesses are told of the first of them
        self._arrays = [a.allocation for a in args if isinstance(a, DeviceArray)]
        self._begun = np.zeros((len(machine.threads) + 31) // 32, np.int64)  # requests of each warp so far
        self._pieces: list[Touches] = []

    def add(self, batch: Batch) -> None:
        """Keep the global accesses of ``batch``, which belong to one block."""
        batch = batch.take(batch.address >= GLOBAL_BASE)
        if not len(batch):
            return
        infos = [a for a in self._machine.memory.allocations if a.space == "global"]
        starts = np.array([a.address for a in infos], dtype=np.int64)
        owner = np.searchsorted(starts, batch.address, side="right") - 1
        sizes = np.array([a.dtype.itemsize for a in infos], dtype=np.int64)
        argument = np.array([self._arrays.index(a) if a in self._arrays else -1 for a in infos], dtype=np.int32)
        lines = np.array([s.line for s in self._machine.sites], dtype=np.int32)
        warp = batch.thread // 32
        step = _request_order(batch) + self._begun[warp]
        np.maximum.at(self._begun, warp, step + 1)
        self._pieces.append(Touches(
            step=step, line=lines[batch.site], store=batch.kind >= STORE, array=argument[owner],
            element=(batch.address - starts[owner]) // sizes[owner],
            thread=batch.thread.astype(np.int32), interval=batch.interval.astype(np.int32)))

    def touches(self) -> Touches:
        """All of them, in program order of each thread."""
        empty = Touches(*(np.empty(0, kind) for kind in (
            np.int64, np.int32, np.bool_, np.int32, np.int64, np.int32, np.int32)))
        pieces = [empty, *self._pieces]
        joined = [np.concatenate([getattr(p, name) for p in pieces]) for name in Touches.__dataclass_fields__]
        if len(self._pieces) > 1:
            thread = joined[list(Touches.__dataclass_fields__).index("thread")]
            order = np.argsort(thread, kind="stable")
            joined = [column[order] for column in joined]
        return Touches(*joined)


def _request_order(batch: Batch) -> np.ndarray:
    """Number of each access's request within its warp, in the order in which requests begin."""
    where = requests(batch)
    first = np.full(where.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, where, batch.position)
    warp = np.zeros(len(first), np.int64)
    warp[where] = batch.warp
    rank = np.empty(len(first), np.int64)
    rank[np.lexsort((first, warp))] = np.arange(len(first))
    base = np.full(int(warp.max()) + 1, len(first))
    np.minimum.at(base, warp, rank)
    return (rank - base[warp])[where]
