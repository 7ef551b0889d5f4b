"""Jobs of judging, and the runner that does them on this machine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import Any

from autograder.report import Report

AHEAD = 4  # jobs handed in for each thread, so that none waits for us and no reports pile up

Key = tuple[Any, ...]
Judge = Callable[[Any, str, int], Report]
Outcome = Report | Exception


@dataclass(frozen=True)
class Job:
    """One kernel to judge; ``key`` is what its verdict is kept under."""

    key: Key
    source: Any
    check_id: str
    seed: int


Done = Generator[tuple[Job, Outcome], None, None]
Runner = Callable[[Iterable[Job]], Done]


def local_runner(judge: Judge, threads: int) -> Runner:
    """A runner that calls ``judge`` in up to ``threads`` threads, each of which waits for a child."""

    def run(jobs: Iterable[Job]) -> Done:
        with ThreadPoolExecutor(max(threads, 1)) as pool:
            try:
                running: dict[Future, Job] = {}
                done: SimpleQueue[Future] = SimpleQueue()
                left = iter(jobs)
                while True:
                    for job in islice(left, AHEAD * max(threads, 1) - len(running)):
                        future = pool.submit(judge, job.source, job.check_id, job.seed)
                        running[future] = job
                        future.add_done_callback(done.put)
                    if not running:
                        return
                    future = done.get()
                    yield running.pop(future), _outcome(future)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    return run


def _outcome(future: Any) -> Outcome:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, Exception):
        return error
    raise error
