"""racecheck and initcheck over a batch of accesses (memcheck and synccheck report as they happen)."""

from __future__ import annotations

import numpy as np

from autograder.simulator.blockrace import BlockRaces
from autograder.simulator.events import Batch
from autograder.simulator.initcheck import InitCheck
from autograder.simulator.machine import Machine
from autograder.simulator.racecheck import Masks, RaceCheck
from autograder.simulator.sites import LOAD, LOCAL_BASE


class Sanitizer:
    """Checks batches in turn and reports to ``machine.findings``."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._races = RaceCheck(machine)
        self._between = BlockRaces(machine)
        self._unwritten = InitCheck(machine)
        self._in_pieces = False  # the running block comes in pieces

    def add(self, batch: Batch, masks: Masks, closed: int | None = None) -> None:
        """``masks``: the warps that synchronised in parts. ``closed``: None for whole blocks; for a piece of one
        that goes on, the number of barriers that all its running threads have passed."""
        if len(batch):
            self._between.add(batch, running=closed is not None)
        batch = self._one_view(batch)
        whole = closed is None and not self._in_pieces
        self._in_pieces = closed is not None
        # what one piece only reads, the next may write
        self._races.add(batch.take(self._contested(batch)) if whole else batch, masks, closed)
        self._unwritten.add(batch, closed)

    def _contested(self, batch: Batch) -> np.ndarray:
        """Accesses of shared memory and of global arrays that are written."""
        stores = batch.kind != LOAD
        contested = batch.address < LOCAL_BASE
        for a in self.machine.memory.allocations:
            if a.space != "global":
                continue
            inside = (batch.address >= a.address) & (batch.address < a.address + a.nbytes)
            if (inside & stores).any():
                contested |= inside
        return contested

    def _one_view(self, batch: Batch) -> Batch:
        """Dynamic shared memory that a kernel sees as several dtypes has an address range for each: the accesses as
        if made to the first, in pieces as small as the smallest element."""
        views = self.machine.dynamic_views
        if len(views) < 2 or not len(batch):
            return batch
        starts = np.array([a.address for a in views], dtype=np.int64)
        sizes = np.array([a.dtype.itemsize for a in views], dtype=np.int64)
        piece = int(sizes.min())
        dynamic = (batch.address >= starts[0]) & (batch.address < LOCAL_BASE)
        which = np.maximum(np.searchsorted(starts, batch.address, side="right") - 1, 0)
        count = np.where(dynamic, sizes[which] // piece, 1)
        split = batch.take(np.repeat(np.arange(len(batch)), count))
        nth = np.arange(len(split)) - np.repeat(np.cumsum(count) - count, count)
        moved = np.where(dynamic, batch.address - starts[which] + starts[0], batch.address)
        split.address[:] = np.repeat(moved, count) + nth * np.where(np.repeat(dynamic, count), piece, 0)
        return split
