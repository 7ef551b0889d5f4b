"""Limits on the judging child, as far as the operating system has them."""

from __future__ import annotations

import contextlib
import sys

try:  # Linux and macOS; Windows has the wall-clock limit only
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]

MIB = 1 << 20
CPU_TIME = hasattr(resource, "RLIMIT_CPU")  # whether a process that has used up its processor time is ended


def once() -> None:
    """Limits for the life of the process: no core dumps and no large files."""
    _soften("RLIMIT_CORE", 0)
    _soften("RLIMIT_FSIZE", 64 * MIB)


def per_job(wall_s: float, memory_mb: int) -> None:
    """Allow ``wall_s`` more seconds of processor time (rounded up) and ``memory_mb`` more MiB of
    address space than the process has now. Both count from now, because a warm worker has already
    spent some of each on earlier jobs and on importing numba."""
    if resource is None:
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _soften("RLIMIT_CPU", int(usage.ru_utime + usage.ru_stime + wall_s) + 1)
    if sys.platform.startswith("linux"):
        _soften("RLIMIT_AS", _address_space() + memory_mb * MIB)


def _address_space() -> int:
    """Bytes of address space in use (Linux)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _soften(name: str, value: int) -> None:
    """Set a soft limit, never above the hard one; where that is refused the wall limit remains."""
    which = getattr(resource, name, None)
    if which is None:
        return
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(which, (value, hard))
