"""Judging in a limited child process: what a student's kernel does costs one check, nothing more.

``run_judge`` never raises for what a student did. A kernel that hangs is stopped by the simulator's
step limit with the line of its loop; should that not help, the child is ended at the wall limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..judge.ids import UnknownCheck, parse
from ..judge.reports import all_fail, could_not_judge
from ..report import Report
from ..source import KernelSource
from . import codec, limits
from .pool import always_sandboxed, sandboxing, shared
from .worker import WorkerFailed

WALL_S = 20.0
MEMORY_MB = 1024
PATIENCE = 10  # times WALL_S on the clock, where the child's processor time is limited: others may keep it waiting

__all__ = ["MEMORY_MB", "WALL_S", "always_sandboxed", "run_judge", "run_picture", "sandboxing", "warm_up"]


def run_judge(
    source: KernelSource,
    check_id: str,
    seed: int = 0,
    *,
    wall_s: float = WALL_S,
    step_limit: int | None = None,
    memory_mb: int = MEMORY_MB,
) -> Report:
    """Judge ``source`` against an exercise or one of its checks, in a child process.

    ``wall_s``: seconds of the child's processor time for each check, and of the wall clock where a system cannot
    limit that time, start-up of the child not counted; ``step_limit``: simulated steps per launch (None: the
    judge's own); ``memory_mb``: MiB that judging may add. What the kernel printed is in
    ``report.details["printed"]``. Safe to call from several threads, each gets a child of its own.
    KeyboardInterrupt ends the child and is passed on.
    """
    job = _job(source, check_id, seed, wall_s * _checks(check_id), memory_mb, step_limit)
    try:
        reply = _attempt(job)
    except WorkerFailed as failure:
        return _failure(source, check_id, failure, job)
    if "report" in reply:
        return codec.report_from_dict(reply["report"])
    return could_not_judge(
        check_id,
        source.origin,
        f"The judge itself failed ({reply['failed']}). This is no fault of your kernel: please report it "
        "with the kernel's text.",
    )


def run_picture(source: KernelSource, check_id: str, seed: int = 0) -> str:
    """An HTML ``<img>`` of where ``source`` reads and writes in a check of traffic, made in a child process; ""
    where there is none. Never raises for what a student did."""
    try:
        reply = _attempt({**_job(source, check_id, seed, WALL_S, MEMORY_MB), "picture": True})
    except WorkerFailed:
        return ""
    return reply.get("picture", "")


def warm_up() -> None:
    """Start a child in the background, so that the first check does not wait for numba's import.
    Never raises: a child that cannot be started is reported by the check that needs it."""
    try:
        shared().warm_up()
    except WorkerFailed:
        return


def _job(
    source: KernelSource, check_id: str, seed: int, wall_s: float, memory_mb: int, step_limit: int | None = None
) -> dict[str, Any]:
    """What is sent to the child."""
    return {
        "source": source.as_json(),
        "check_id": check_id,
        "seed": seed,
        "wall_s": wall_s,
        "step_limit": step_limit,
        "memory_mb": memory_mb,
    }


def _attempt(job: dict[str, Any]) -> dict[str, Any]:
    """One job. When a child that had judged others before dies of it, once more in a fresh one: what
    the others left behind may be to blame."""
    used, wall_s = False, job["wall_s"] * (PATIENCE if limits.CPU_TIME else 1)
    try:
        with shared().lend() as worker:
            used = worker.jobs > 0
            return _finish(worker.run(job, wall_s))
    except WorkerFailed as failure:
        if failure.reason != "died" or not used:
            raise
    with shared().lend(fresh=True) as worker:
        return _finish(worker.run(job, wall_s))


def _finish(reply: dict[str, Any]) -> dict[str, Any]:
    """Out of memory leaves a child in an unknown state: end it, but keep the reply."""
    if reply.get("failed") == "memory":
        raise WorkerFailed("memory")
    return reply


def _failure(source: KernelSource, check_id: str, failure: WorkerFailed, job: dict[str, Any]) -> Report:
    if failure.reason == "wall":
        return _too_slow(source, check_id, job["wall_s"])
    if failure.reason == "memory":
        sentence = (
            f"The kernel needed more than {job['memory_mb']:,} MiB of memory in the simulator and was stopped. "
            "Make its local and shared arrays smaller."
        )
    elif failure.reason == "start":
        sentence = (
            f"The judging process could not be started ({failure.detail}). Run the setup cell again; if that "
            "does not help, reinstall the course's packages."
        )
    else:
        sentence = (
            f"The judging process ended in the middle of this check ({failure.detail}). The kernel probably "
            "asks for more than the simulator can give: very large arrays or very deep calls."
        )
    return could_not_judge(check_id, source.origin, sentence)


def _too_slow(source: KernelSource, check_id: str, wall_s: float) -> Report:
    """A verdict, not an error: the kernel was judged and did not finish."""
    exercise, checks = parse(check_id)
    sentence = (
        f"The kernel did not finish in {wall_s:g} s and was stopped. Look for a loop that never ends, or "
        "that makes every thread do the work of the whole block."
    )
    report = all_fail(exercise, checks, source.origin, sentence)
    return replace(report, details={**report.details, "wall_limit": True})


def _checks(check_id: str) -> int:
    """How many checks an id names; 1 for an unknown one, whose verdict is quick."""
    try:
        return len(parse(check_id)[1])
    except UnknownCheck:
        return 1
