"""Starting processes from one thread that lives as long as this process.

bubblewrap's --die-with-parent is the kernel's "when the thread that started me ends": a child that a
short-lived thread has started would die with that thread.
"""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from concurrent.futures import Future
from typing import Any


class Launcher:
    """The thread, started with the first order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._orders: queue.SimpleQueue[tuple[Future[Any], Any, Any]] | None = None

    def start(self, command: list[str], options: dict[str, Any]) -> subprocess.Popen[bytes]:
        """The started process. Raises what subprocess.Popen raises."""
        made: Future[Any] = Future()
        with self._lock:
            if self._orders is None:
                self._orders = queue.SimpleQueue()
                threading.Thread(target=_serve, args=(self._orders,), daemon=True, name="launcher").start()
            self._orders.put((made, command, options))
        return made.result()


def launch(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """subprocess.Popen, called in the long-lived thread."""
    return _LAUNCHER.start(command, options)


def _serve(orders: queue.SimpleQueue[tuple[Future[Any], Any, Any]]) -> None:
    while True:
        made, command, options = orders.get()
        try:
            made.set_result(subprocess.Popen(command, **options))
        except BaseException as problem:
            made.set_exception(problem)
        del made


def _forget() -> None:
    """After a fork, in the new process: the thread is not there."""
    global _LAUNCHER
    _LAUNCHER = Launcher()


_LAUNCHER = Launcher()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
