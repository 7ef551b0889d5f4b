"""Warm children, lent to whichever thread asks. One per thread that judges at the same time."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator

from . import sandbox
from .worker import Worker

JOBS_PER_WORKER = 400  # then a fresh one, so that nothing piles up in a long class


class Pool:
    """Idle workers are kept for the next caller; a worker that failed is ended, never lent again.
    ``sandboxed``: its workers run in the sandbox."""

    def __init__(self, sandboxed: bool = False) -> None:
        self.sandboxed = sandboxed
        self._lock = threading.Lock()
        self._idle: list[Worker] = []

    def warm_up(self) -> None:
        """Start one worker, if none is idle, without waiting for it. Raises WorkerFailed."""
        with self._lock:
            if not any(worker.alive for worker in self._idle):
                self._idle.append(self._new())

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
        return self._new()

    def _new(self) -> Worker:
        return Worker(sandboxed=True) if self.sandboxed else Worker()


def shared() -> Pool:
    """The pool of this process that is in use."""
    return _FENCED if _fences_wanted else _POOL


@contextlib.contextmanager
def sandboxing() -> Iterator[str]:
    """Inside, whatever this process judges (in any thread) is judged in the sandbox; gives "" or, where there
    is no sandbox, the sentence that says so."""
    works, sentence = sandbox.fenced()
    global _fences_wanted
    before, _fences_wanted = _fences_wanted, bool(works)
    try:
        yield sentence
    finally:
        _fences_wanted = before
        if not before:
            _FENCED.close()


def always_sandboxed() -> str:
    """From now on this process judges in the sandbox: for a worker of a cluster. Gives "" or, where there is
    no sandbox, the sentence that says so."""
    global _fences_wanted
    works, sentence = sandbox.fenced()
    _fences_wanted = bool(works)
    return sentence


_POOL, _FENCED = Pool(), Pool(sandboxed=True)
_fences_wanted = False
for _pool in (_POOL, _FENCED):
    atexit.register(_pool.close)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_pool.forget)
