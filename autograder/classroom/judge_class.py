"""Every student, every check: (KernelSource, check id, seed) -> Verdict, equal work judged once.

The student's cells are never run here. Sources are gathered from the normalised notebook's text and
judged in limited child processes; the result does not depend on the order or on ``jobs``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from autograder.classroom import verdicts
from autograder.classroom.jobs import Job, Judge, Key, Runner, local_runner
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
    """The verdicts of each owner, in the order of the released check cells.

    ``judge`` and ``gather`` default to the course's own. ``runner`` does the jobs somewhere else than in
    ``jobs`` threads here, which call ``judge``; what it raises is passed on. ``cache`` keeps reports between
    calls (its keys hold the source's text digest, where its lines stand, the check and the seed).
    """
    if judge is None:
        from autograder.child import run_judge as judge
    if gather is None:
        from autograder.source import gather_notebook as gather
    cache = {} if cache is None else cache
    tasks = {item.owner: _tasks(item, seed, gather) for item in work}
    waiting: dict[Key, _Task] = {}
    for task in (task for mine in tasks.values() for task in mine):
        if task.key is not None and task.key not in cache:
            waiting.setdefault(task.key, task)
    _run(waiting, seed, runner or local_runner(judge, jobs), cache, stream)
    return {owner: tuple(_verdict(task, cache) for task in mine) for owner, mine in tasks.items()}


def _tasks(work: Work, seed: int, gather: Gather) -> list[_Task]:
    """One task per check cell. The checks of one exercise have the same code above them (other checks
    do not count as code), so its source is gathered once."""
    checks = {cell.grade_id for cell in work.release.checks}
    known: dict[Any, Any] = {}
    tasks = []
    for cell in work.release.checks:
        above = (cell.name, cell.kind, _code_above(work.notebook, cell.grade_id, checks))
        if above not in known:
            known[above] = _source(work.notebook, cell, gather)
        tasks.append(_task(cell, known[above], seed))
    return tasks


def _code_above(notebook: Any, grade_id: str, checks: set[str]) -> tuple[int, ...]:
    """The places of the code cells above the cell ``grade_id``, check cells left out."""
    places = []
    for at, cell in enumerate(notebook.cells):
        own = cell.metadata.get("nbgrader", {}).get("grade_id")
        if own == grade_id:
            break
        if cell.cell_type == "code" and own not in checks:
            places.append(at)
    return tuple(places)


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
    jobs = [Job(key, task.source, task.cell.check_id, seed) for key, task in waiting.items()]
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
    return verdicts.from_report(task.cell, cache[task.key])
