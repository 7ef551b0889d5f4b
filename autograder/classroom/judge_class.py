"""Every student, every check: (KernelSource, check id, seed) -> Verdict, equal work judged once.

The student's cells are never run here. Sources are gathered from the normalised notebook's text and
judged in limited child processes; the result does not depend on the order or on ``jobs``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any

from autograder.classroom import verdicts
from autograder.classroom.jobs import Job, Judge, Key, Runner, local_runner
from autograder.classroom.judging import judge_with_picture
from autograder.classroom.progress import Progress
from autograder.classroom.release import CheckCell, Release
from autograder.classroom.verdicts import Verdict
from autograder.report import Report
from autograder.source import SourceRefused

Gather = Callable[..., Any]


@dataclass(frozen=True)
class Work:
    """One notebook to judge: ``owner`` is any hashable that names it."""

    owner: Any
    release: Release
    notebook: Any


@dataclass(frozen=True)
class _Task:
    cell: CheckCell
    source: Any  # KernelSource, or None when ``verdict`` is known without judging
    verdict: Verdict | None
    key: Key | None


def judge_class(
    work: list[Work],
    seed: int,
    *,
    judge: Judge | None = None,
    gather: Gather | None = None,
    jobs: int = 1,
    runner: Runner | None = None,
    cache: MutableMapping[Key, Report] | None = None,
    stream: Any = None,
) -> Mapping[Any, tuple[Verdict, ...]]:
    """The verdicts of each owner, in the order of the released check cells. They are put into words when they
    are asked for, from the reports in ``cache``: those of a large class do not fit into memory together.

    ``judge`` and ``gather`` default to the course's own. ``runner`` does the jobs somewhere else than in
    ``jobs`` threads here, which call ``judge``; what it raises is passed on. ``cache`` keeps reports between
    calls (its keys hold the source's text digest, where its lines stand, the check and the seed).
    """
    judge = judge_with_picture if judge is None else judge
    if gather is None:
        from autograder.source import gather_notebook as gather
    cache = {} if cache is None else cache
    tasks = {item.owner: _tasks(item, seed, gather) for item in work}
    waiting: dict[Key, _Task] = {}
    for task in (task for mine in tasks.values() for task in mine):
        if task.key is not None and task.key not in cache:
            waiting.setdefault(task.key, task)
    _run(waiting, seed, runner or local_runner(judge, jobs), cache, stream)
    return _Verdicts({owner: [replace(task, source=None) for task in mine] for owner, mine in tasks.items()}, cache)


class _Verdicts(Mapping[Any, tuple[Verdict, ...]]):
    """Each owner's verdicts, made anew whenever they are asked for."""

    def __init__(self, tasks: Mapping[Any, list[_Task]], cache: Mapping[Key, Report]) -> None:
        self._tasks, self._cache = tasks, cache

    def __getitem__(self, owner: Any) -> tuple[Verdict, ...]:
        return tuple(_verdict(task, self._cache) for task in self._tasks[owner])

    def __contains__(self, owner: object) -> bool:
        return owner in self._tasks

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)


def _tasks(work: Work, seed: int, gather: Gather) -> list[_Task]:
    """One task per check cell. All checks of an exercise are about one kernel, the one above its last check: were it
    defined anew between them, one that is right and one that moves little would earn together what neither does."""
    last = {_exercise(cell): cell for cell in work.release.checks}
    sources = {exercise: _source(work.notebook, cell, gather) for exercise, cell in last.items()}
    return [_task(cell, sources[_exercise(cell)], seed) for cell in work.release.checks]


def _exercise(cell: CheckCell) -> tuple[str, str, str]:
    return cell.check_id.rpartition(".")[0], cell.name, cell.kind


def _source(notebook: Any, cell: CheckCell, gather: Gather) -> Any:
    """The KernelSource, or the exception that tells why there is none."""
    try:
        return gather(notebook, cell.name, kind=cell.kind, before=cell.grade_id)
    except Exception as error:  # one odd notebook must not stop the others
        return error


def _task(cell: CheckCell, source: Any, seed: int) -> _Task:
    if isinstance(source, SourceRefused):
        return _Task(cell, None, verdicts.refused(cell, source), None)
    if isinstance(source, Exception):
        sentence = f"The text of {cell.name} could not be read ({type(source).__name__})."
        return _Task(cell, None, verdicts.could_not(cell, sentence), None)
    # Lines and labels are part of the key: they appear in messages, and differ between notebooks.
    notes = getattr(source, "notes", ())
    return _Task(cell, source, None, (source.digest, source.lines, source.labels, notes, cell.check_id, seed))


def _run(
    waiting: Mapping[Key, _Task],
    seed: int,
    runner: Runner,
    cache: MutableMapping[Key, Report],
    stream: Any,
) -> None:
    """Judge what is not known yet; each report is kept as soon as it is there."""
    # Check by check: a child keeps what the known mistakes leave on a check's cases for its next submission.
    ordered = sorted(waiting.items(), key=lambda item: item[1].cell.check_id)
    jobs = [Job(key, task.source, task.cell.check_id, seed) for key, task in ordered]
    with Progress("Judging", len(jobs), "checks", stream) as progress, contextlib.closing(runner(jobs)) as outcomes:
        for job, outcome in outcomes:
            cache[job.key] = outcome if isinstance(outcome, Report) else _failed(outcome, waiting[job.key])
            progress.step(job.check_id)


def _failed(error: Exception, task: _Task) -> Report:
    """A fault of ours; the check waits for a person, the class goes on."""
    sentence = f"The judge itself failed ({type(error).__name__}: {error})."
    return Report(task.cell.check_id, "", False, 0.0, task.cell.points, error=sentence)


def _verdict(task: _Task, cache: Mapping[Key, Report]) -> Verdict:
    if task.verdict is not None:
        return task.verdict
    report = cache.get(task.key)
    if report is None:
        return verdicts.could_not(task.cell, "Its verdict was lost. Run the same command again.")
    return verdicts.from_report(task.cell, report)
