"""One judging child, seen from its parent."""

from __future__ import annotations

import contextlib
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from . import codec, environment, sandbox
from .launcher import launch

START_S = 120.0  # seconds a cold machine may need to import numba
SLICE_S = 0.1  # how long one wait lasts, so that Ctrl-C is heard on every system


class WorkerFailed(Exception):
    """The child is of no more use. ``reason`` is "wall" (time is up), "start" (it could not be
    started), or "died" (it ended in the middle of a job); ``detail`` is its last word, if any."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Worker:
    """A child process that judges one job at a time, in the sandbox where ``sandboxed`` (which must have
    been found to work). Not to be shared by threads."""

    def __init__(self, sandboxed: bool = False) -> None:
        self.jobs = 0
        self._ready = False
        self._errors = tempfile.TemporaryFile()
        new_group = (
            {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
            if sys.platform == "win32"
            else {"start_new_session": True}
        )  # an interrupt of the notebook or terminal is for the parent, which ends the child
        command, variables = environment.command(), environment.variables()
        if sandboxed:
            command, variables = sandbox.wrapped(command, variables), {}
        try:
            self._process = launch(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=variables,
                cwd=tempfile.gettempdir(),
                bufsize=0,
                **new_group,
            )
        except OSError as problem:
            self._errors.close()
            raise WorkerFailed("start", str(problem)) from problem
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, job: dict[str, Any], wall_s: float) -> dict[str, Any]:
        """Send a job and wait for its reply. ``wall_s`` counts from when the child is ready.
        Raises WorkerFailed; the caller then closes this worker."""
        self.wait_ready()
        self.jobs += 1
        try:
            self._process.stdin.write(codec.encode(job))
            self._process.stdin.flush()
        except (OSError, ValueError) as problem:
            raise WorkerFailed("died", self._last_words()) from problem
        return self._receive(wall_s)

    def wait_ready(self) -> None:
        """Wait until the child has imported what it needs. Raises WorkerFailed("start")."""
        if self._ready:
            return
        try:
            message = self._receive(START_S)
        except WorkerFailed as failure:
            detail = failure.detail if failure.reason == "died" else "it took too long"
            raise WorkerFailed("start", detail) from failure
        if "failed" in message:
            raise WorkerFailed("start", str(message["failed"]))
        self._ready = True

    def close(self) -> None:
        """End the child now. Safe to call twice."""
        with contextlib.suppress(OSError):
            self._process.kill()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        self._errors.close()

    def abandon(self) -> None:
        """In a forked copy of the parent: let go of the pipes, leave the process to its owner."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.returncode = 0  # not our child: nothing to wait for

    def _receive(self, wall_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + wall_s
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise WorkerFailed("wall")
            try:
                line = self._lines.get(timeout=min(left, SLICE_S))
                break
            except queue.Empty:
                continue
        try:
            return codec.decode(line)
        except ValueError as problem:  # an empty line is the end of the pipe
            raise self._ended() from problem

    def _read(self) -> None:
        """Runs in a thread: an empty line tells that the child has closed its pipe."""
        pipe = self._process.stdout
        buffer = b""
        with contextlib.suppress(OSError, ValueError):
            while chunk := pipe.read(1 << 16):
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    self._lines.put(line)
        self._lines.put(b"")
        with contextlib.suppress(OSError):
            pipe.close()

    def _ended(self) -> WorkerFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        if self._signal() == getattr(signal, "SIGXCPU", 0xFFFF):
            return WorkerFailed("wall")
        return WorkerFailed("died", self._last_words())

    def _last_words(self) -> str:
        """The last line that the child left on its stderr, or how it ended."""
        with contextlib.suppress(OSError, ValueError):
            end = self._errors.seek(0, 2)
            self._errors.seek(max(0, end - 4000))
            lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
            if lines:
                return lines[-1][:300]
        code, ended_by = self._process.poll(), self._signal()
        if code is None:
            return "it closed its pipe"
        return f"signal {signal.Signals(ended_by).name}" if ended_by else f"exit status {code}"

    def _signal(self) -> int:
        """The number of the signal that ended the child, 0 when none did. bubblewrap ends with 128 and more
        in place of it."""
        code = self._process.poll() or 0
        number = -code if code < 0 else code - 128
        return number if number in set(signal.Signals) else 0
