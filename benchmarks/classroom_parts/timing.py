"""One command, watched: wall and CPU seconds, and the most memory that it and its children held."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

EVERY_S = 0.25  # between two looks at the memory


@dataclass(frozen=True)
class Usage:
    """``lines`` are (seconds since the start, line) of what was printed, stderr included; ``peak_mb`` counts pages
    that processes share once for each."""

    wall_s: float
    cpu_s: float
    peak_mb: float
    status: int
    lines: tuple[tuple[float, str], ...]

    @property
    def text(self) -> str:
        """All that was printed."""
        return "".join(line for _, line in self.lines)


def watched(command: Sequence[str], folder: Path, env: dict[str, str], also: Sequence[int] = ()) -> Usage:
    """Run the command in ``folder`` to its end. ``also`` are processes that work for it (a cluster's): their
    memory, and what they use of the CPU meanwhile, count with it."""
    environment = {**os.environ, **env, "PYTHONUNBUFFERED": "1"}
    before, elsewhere = _children_s(), sum(map(tree_cpu_s, also))
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines = []
    with _memory([process.pid, *also]) as peak:
        for line in process.stdout:
            lines.append((time.perf_counter() - started, line))
        status = process.wait()
    wall = time.perf_counter() - started
    cpu = _children_s() - before + sum(map(tree_cpu_s, also)) - elsewhere
    return Usage(wall, cpu, peak[0], status, tuple(lines))


def tree_cpu_s(pid: int) -> float:
    """CPU seconds that a process and its children have used so far, those that ended and were waited for included."""
    total = 0.0
    for process in _tree(pid):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
            total += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return total


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


@contextlib.contextmanager
def _memory(pids: Sequence[int]) -> Iterator[list[float]]:
    """The peak so far, in MB, as the one element of a list."""
    peak, over = [0.0], threading.Event()

    def look() -> None:
        while not over.wait(EVERY_S):
            held = 0
            for process in (one for pid in pids for one in _tree(pid)):
                with contextlib.suppress(psutil.Error):
                    held += process.memory_info().rss
            peak[0] = max(peak[0], held / 1e6)

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        over.set()
        watcher.join()
