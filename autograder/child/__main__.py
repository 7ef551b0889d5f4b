"""The judging child: ``python -m autograder.child``. Reads jobs, writes verdicts, one JSON line each.

The pipes are moved to private descriptors first, so that nothing a kernel prints can get between
the lines. The child ends when its standard input closes, which happens when its parent dies.
"""

from __future__ import annotations

import contextlib
import io
import os
import queue
import sys
import threading
from typing import Any, BinaryIO

PRINTED_LIMIT = 20_000  # characters of a kernel's printing that are kept


class Bounded(io.TextIOBase):
    """A text stream that keeps the first ``limit`` characters and counts the rest."""

    def __init__(self, limit: int = PRINTED_LIMIT) -> None:
        super().__init__()
        self._parts: list[str] = []
        self._room = limit
        self._dropped = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        kept = text[: self._room]
        if kept:
            self._parts.append(kept)
            self._room -= len(kept)
        self._dropped += len(text) - len(kept)
        return len(text)

    def text(self) -> str:
        """What was written, with a note where it was cut."""
        note = f"\n[{self._dropped:,} more characters printed]" if self._dropped else ""
        return "".join(self._parts) + note


def private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Move the job and verdict pipes off descriptors 0 and 1; anything written to 1 then goes to 2."""
    jobs = os.fdopen(os.dup(0), "rb")
    verdicts = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = io.TextIOWrapper(io.BytesIO())
    return jobs, verdicts


def listen(jobs: BinaryIO) -> queue.SimpleQueue[bytes]:
    """Read lines in a thread, so that a closed pipe ends the process even in the middle of a job."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in jobs:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return lines


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """The verdict on one job, as the message to send."""
    from ..judge import judge
    from ..source import KernelSource
    from . import codec, limits

    printed = Bounded()
    limits.per_job(job["wall_s"], job["memory_mb"])
    source = KernelSource.from_json(job["source"])
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if job.get("picture"):
            from ..xray.of_check import picture_of

            return {"picture": picture_of(source, job["check_id"], job["seed"])}
        report = judge(source, job["check_id"], job["seed"], step_limit=job["step_limit"])
    message = codec.report_to_dict(report)
    if printed.text():
        message["details"] = {**message["details"], "printed": printed.text()}
    return {"report": message}


def main() -> None:
    """Serve jobs until the parent closes the pipe."""
    jobs, verdicts = private_pipes()
    lines = listen(jobs)
    from . import codec, limits

    def send(message: dict[str, Any]) -> None:
        verdicts.write(codec.encode(message))
        verdicts.flush()

    limits.once()
    try:
        from .. import exercises, judge, simulator  # noqa: F401  (imported before the first job)
    except Exception as problem:  # the parent turns it into a sentence
        send({"failed": f"{type(problem).__name__}: {problem}"})
        return
    send({"ready": True})
    while True:
        job = codec.decode(lines.get())
        try:
            reply = answer(job)
        except MemoryError:
            reply = {"failed": "memory"}
        except Exception as problem:
            reply = {"failed": f"{type(problem).__name__}: {problem}"}
        send(reply)


if __name__ == "__main__":
    main()
