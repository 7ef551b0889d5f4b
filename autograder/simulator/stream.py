"""From the threads' logs to ledger and sanitizer, a bounded number of events at a time.

Whole blocks are taken together while they are short. The log of a long block is taken in pieces, at places where
no warp request can still grow: every lane of each warp waits at one and the same place or has ended.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autograder.simulator.events import Batch, Standing, gather
from autograder.simulator.machine import Machine
from autograder.simulator.sanitizer import Sanitizer
from autograder.simulator.sites import BARRIER, VALUE_MARK
from autograder.simulator.traffic import Ledger

BATCH_EVENTS = 400_000


class Stream:
    """Takes the log of one launch while it runs. ``watch`` is also given each piece of the first block's accesses."""

    def __init__(self, machine: Machine, ledger: Ledger, sanitizer: Sanitizer,
                 watch: Callable[[Batch], None] | None = None, batch_events: int | None = None) -> None:
        self.machine, self.ledger, self.sanitizer, self.watch = machine, ledger, sanitizer, watch
        self.batch_events = BATCH_EVENTS if batch_events is None else batch_events
        self._pending: list[tuple[int, np.ndarray]] = []
        self._held = 0
        self._standing: Standing | None = None  # of the running block, when some of its log was taken
        self._again = self.batch_events  # entries of the running block's log at which to look for a rest

    def due(self) -> bool:
        """Whether the running block's log is long enough to be taken, if the threads are at rest."""
        return len(self.machine.events) >= self._again

    def rest(self, block: int) -> None:
        """Take the running block's log if no request in it can still grow. To be called where all lanes of each warp
        that was resumed have stopped again."""
        machine = self.machine
        log = np.array(machine.events, dtype=np.int64)
        if not _settled(machine, log):
            self._again = len(log) + self.batch_events // 4
            return
        del machine.events[:]
        self._again = self.batch_events
        self._flush()
        if self._standing is None:
            self._standing = Standing.at_start(len(machine.threads))
        batch = self._take([(block, log)], self._standing)
        running = [n for n, t in enumerate(machine.threads) if t.state != "done"]
        closed = int(self._standing.passed[BARRIER][running].min()) if running else None
        self.sanitizer.add(batch, machine.partial(block), closed=-1 if closed is None else closed)

    def end_block(self, block: int) -> None:
        """Take over the log of a block that has ended."""
        machine = self.machine
        log = np.array(machine.events, dtype=np.int64)
        del machine.events[:]
        self._again = self.batch_events
        if self._standing is not None:
            batch = self._take([(block, log)], self._standing)
            self.sanitizer.add(batch, machine.partial(block))
            self._standing = None
            return
        self._pending.append((block, log))
        self._held += len(log)
        if self._held >= self.batch_events:
            self._flush()

    def finish(self) -> None:
        """Take what is left."""
        self._flush()

    def _flush(self) -> None:
        if self._pending:
            pending, self._pending, self._held = self._pending, [], 0
            self.sanitizer.add(self._take(pending, None), self.machine.partial_masks)
        self.machine.partial_masks.clear()

    def _take(self, logs: list[tuple[int, np.ndarray]], standing: Standing | None) -> Batch:
        batch = gather(self.machine, logs, standing)
        self.ledger.add(batch)
        self.ledger.events += sum(int((log >= 0).sum()) for _, log in logs)
        if self.watch is not None and any(block == 0 for block, _ in logs):
            self.watch(batch.take(batch.block == 0))
        return batch


def _settled(machine: Machine, log: np.ndarray) -> bool:
    marks = log[(log < 0) & (log > VALUE_MARK)]
    ran = set((-1 - np.unique(marks)).tolist())
    for first in range(0, len(machine.threads), 32):
        lanes = machine.threads[first:first + 32]
        waits = {_where(t.waits) for t in lanes if t.state != "done"}
        if len(waits) > 1:
            return False
        # lanes that have just ended may have gone ahead of those that are held up in a branch; one that left by
        # `return` has gone elsewhere
        in_warp = any(isinstance(t.waits, tuple) for t in lanes if t.state != "done")
        if waits and any(t.state == "done" and t.linear in ran and (in_warp or not t.left) for t in lanes):
            return False
    return True


def _where(waits: object) -> object:
    return waits[0] if isinstance(waits, tuple) else waits
