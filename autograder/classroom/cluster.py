"""Judging on a cluster of dask.distributed (``--dask ADDRESS``): the same (kernel, check, seed) jobs, each in
a limited child process of the worker that gets it, with the same reports as on this machine.

The scheduler and the workers need this package, with the same files and the same versions of numba, NumPy
and Python: a worker that has others judges nothing. Work of a lost worker goes to another one.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from autograder.classroom.errors import ClassroomError
from autograder.classroom.jobs import Done, Job, Outcome
from autograder.classroom.verdict_store import engine_digest

CONNECT_S = 10.0  # seconds to wait for the scheduler
NO_WORKER_S = 60.0  # seconds to wait for a worker when there is none
POLL_S = 0.5
COUNT_S = 1.0
TRIES = 3  # how often a job is handed in again that the cluster gave up
AHEAD = 4  # jobs handed in for each thread of the cluster, so that no worker waits for us
INSTALL = 'python -m pip install "online-softmax-course[cluster]"'
_TALKATIVE = ("distributed", "tornado", "asyncio")
_AGAIN = "What was judged is kept: run the same command again and it goes on from there."


class ClusterError(ClassroomError):
    """The cluster cannot be used, or is lost; the message says what to do."""


def judge_remotely(job: dict[str, Any], engine: str) -> bytes:
    """Runs in a worker's process, which only starts and feeds the child: {"report", "seconds", "note"}, or
    {"other"} when this worker's judge is not ours. As JSON, the language that a child's reports travel in."""
    from autograder.child import always_sandboxed, codec
    from autograder.classroom.judging import judge_with_picture
    from autograder.source import KernelSource

    if engine_digest() != engine:
        return codec.encode({"other": "another version of the course, or of numba, NumPy or Python"})
    note = always_sandboxed()
    started = time.perf_counter()
    report = judge_with_picture(KernelSource.from_json(job["source"]), job["check_id"], job["seed"])
    seconds = time.perf_counter() - started
    return codec.encode({"report": codec.report_to_dict(report), "seconds": seconds, "note": note})


class Cluster:
    """A runner of jobs for :func:`judge_class`. ``noted(check_id, seconds)`` is told what each took; ``task``
    is what the workers call."""

    def __init__(
        self,
        client: Any,
        address: str,
        noted: Callable[[str, float], None] | None = None,
        task: Callable[[dict[str, Any], str], bytes] = judge_remotely,
    ) -> None:
        self.client, self.address = client, address
        self._noted, self._task, self._engine = noted, task, engine_digest()
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._running: dict[str, tuple[Any, Job, int]] = {}  # by dask's key: future, job, tries
        self.notes: set[str] = set()  # sentences of the workers
        self._number = 0
        self._alone_since: float | None = None
        self._counted: tuple[float, int] | None = None

    def __call__(self, jobs: Iterable[Job]) -> Done:
        """Each job with its report, or the exception that tells why there is none, as they are done.
        Raises ClusterError."""
        left = iter(jobs)
        while True:
            room = max(self._threads() * AHEAD, AHEAD) - len(self._running)
            for job in islice(left, max(room, 0)):
                self._submit(job, 1)
            if not self._running:
                return
            future = self._next()
            _, job, tries = self._running.pop(future.key)
            outcome = self._outcome(future, job)
            if isinstance(outcome, Exception) and tries < TRIES:
                self._submit(job, tries + 1)
                continue
            yield job, outcome

    def _submit(self, job: Job, tries: int) -> None:
        self._number += 1
        message = {"source": job.source.as_json(), "check_id": job.check_id, "seed": job.seed}
        key = f"autograder-{id(self)}-{self._number}"
        try:
            future = self.client.submit(self._task, message, self._engine, key=key, pure=False)
        except Exception as error:  # the client is closed, or cannot send
            raise self._lost(error) from error
        self._running[key] = future, job, tries
        future.add_done_callback(self._done.put)

    def _next(self) -> Any:
        """The next future that is done. Raises ClusterError when none can be any more."""
        while True:
            try:
                future = self._done.get(timeout=POLL_S)
            except queue.Empty:
                self._check()
                continue
            if future.key in self._running:
                return future

    def _check(self) -> None:
        if self._threads():
            self._alone_since = None
            return
        now = time.monotonic()
        self._alone_since = self._alone_since or now
        if now - self._alone_since > NO_WORKER_S:
            raise ClusterError(
                f"The cluster at {self.address} has had no worker for {NO_WORKER_S:g} s: start some "
                f"(dask worker {self.address}). {_AGAIN}"
            )

    def _outcome(self, future: Any, job: Job) -> Outcome:
        from autograder.child import codec

        if future.status in ("cancelled", "lost") or self.client.status != "running":
            raise self._lost(None)
        if future.status == "error":
            return _as_exception(future.exception(), self.address)
        reply = codec.decode(future.result())
        if "other" in reply:
            raise ClusterError(
                f"A worker of the cluster at {self.address} has {reply['other']}, so its verdicts could differ: "
                f"install there what is installed here and start it again. {_AGAIN}"
            )
        self.notes.update({reply["note"]} - {""})
        if self._noted is not None:
            self._noted(job.check_id, reply["seconds"])
        return codec.report_from_dict(reply["report"])

    def _threads(self) -> int:
        """How many threads the workers have, asked at most once a second."""
        if self.client.status != "running":
            raise self._lost(None)  # asking would wait for an answer
        now = time.monotonic()
        if self._counted is None or now - self._counted[0] > COUNT_S:
            count = 0
            with contextlib.suppress(Exception):  # a scheduler that does not answer is found out by its status
                count = sum(self.client.nthreads().values())
            self._counted = now, count
        return self._counted[1]

    def _lost(self, error: Exception | None) -> ClusterError:
        reason = f" ({type(error).__name__})" if error is not None else ""
        return ClusterError(f"The dask scheduler at {self.address} does not answer any more{reason}. {_AGAIN}")


@contextlib.contextmanager
def connected(address: str, noted: Callable[[str, float], None] | None = None) -> Iterator[Cluster]:
    """The cluster whose scheduler is at ``address`` ("tcp://host:8786"). Raises ClusterError (a sentence) when
    dask.distributed is not installed or nobody answers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError(f"--dask needs dask.distributed, which is not installed: {INSTALL}") from error
    with _silent():
        try:
            client = Client(address, timeout=CONNECT_S, set_as_default=False, name="autograder")
        except (OSError, ValueError, TypeError, ImportError) as error:
            raise ClusterError(
                f"No dask scheduler answers at {address} ({type(error).__name__}): start one with `dask scheduler`, "
                "and give the address that it prints, such as tcp://127.0.0.1:8786."
            ) from error
        try:
            yield Cluster(client, address, noted)
        finally:
            with contextlib.suppress(Exception):
                client.close(timeout=2)


def _as_exception(error: BaseException, address: str) -> Exception:
    """A job's exception; a package that is missing there stops the whole run, since every job would fail."""
    if isinstance(error, ImportError) or "No module named 'autograder" in str(error):
        raise ClusterError(
            f"The cluster at {address} cannot load the course's package ({error}): install it for the scheduler "
            "and for every worker."
        ) from error
    return error if isinstance(error, Exception) else RuntimeError(repr(error))


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """dask's log lines out of the way: what matters becomes a sentence. After a failure for good, since a client
    that tries to reconnect has its last word when the process ends."""
    names = {name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _TALKATIVE}
    loggers = [logging.getLogger(name) for name in sorted(names | set(_TALKATIVE))]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)
