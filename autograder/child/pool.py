"""Warm children, lent to whichever thread asks. One per thread that judges at the same time."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator

from .worker import Worker

JOBS_PER_WORKER = 400  # then a fresh one, so that nothing piles up in a long class


class Pool:
    """Idle workers are kept for the next caller; a worker that failed is ended, never lent again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[Worker] = []

    def warm_up(self) -> None:
        """Start one worker, if none is idle, without waiting for it. Raises WorkerFailed."""
        with self._lock:
            if not any(worker.alive for worker in self._idle):
                self._idle.append(Worker())

    @contextlib.contextmanager
    def lend(self, fresh: bool = False) -> Iterator[Worker]:
        """A worker for one job; ``fresh`` asks for one that has judged nothing yet. Any exception,
        KeyboardInterrupt too, ends the worker."""
        worker = self._take(fresh)
        try:
            yield worker
        except BaseException:
            worker.close()
            raise
        if worker.jobs >= JOBS_PER_WORKER:
            worker.close()
        else:
            with self._lock:
                self._idle.append(worker)

    def close(self) -> None:
        """End all idle workers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def forget(self) -> None:
        """After a fork, in the new process: the workers belong to the old one."""
        self._lock = threading.Lock()
        idle, self._idle = self._idle, []
        for worker in idle:
            worker.abandon()

    def _take(self, fresh: bool) -> Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive and not (fresh and worker.jobs):
                    return worker
                worker.close()
        return Worker()


def shared() -> Pool:
    """The pool of this process."""
    return _POOL


_POOL = Pool()
atexit.register(_POOL.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_POOL.forget)
