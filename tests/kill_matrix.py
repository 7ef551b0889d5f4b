"""Reports on every named bug and every right variant, computed once and on all cores.

A wrong kernel of labs 3 to 5 is judged by one of the checks that it must fail, unless KILL_MATRIX=complete is set:
all checks of all of them take a quarter of an hour.
"""

from __future__ import annotations

import multiprocessing
import os
import zlib
from concurrent.futures import ProcessPoolExecutor
from functools import cache

from autograder.exercises import get
from autograder.exercises.model import NamedBug
from autograder.report import Report

COMPLETE = os.environ.get("KILL_MATRIX") == "complete"

Job = tuple[str, str, int]  # exercise id, id of the bug or variant, seed


@cache
def _pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(min(os.cpu_count() or 1, 8), mp_context=multiprocessing.get_context("spawn"))


@cache
def reports(exercise_id: str, seed: int = 0) -> dict[str, Report]:
    """The judge's report on each bug and each variant of an exercise, by id."""
    exercise = get(exercise_id)
    jobs = [(exercise_id, one.id, seed) for one in (*exercise.bugs, *exercise.variants)]
    return dict(zip((job[1] for job in jobs), _pool().map(judged, jobs), strict=True))


def judged(job: Job) -> Report:
    """One report. Runs in a process of the pool."""
    os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
    from autograder.judge import judge
    from autograder.source import gather_text

    exercise_id, name, seed = job
    exercise = get(exercise_id)
    (text,) = (one.text for one in (*exercise.bugs, *exercise.variants) if one.id == name)
    source = gather_text(text, exercise.name, kind=exercise.source_kind, origin=f"{name}.py")
    bug = next((bug for bug in exercise.bugs if bug.id == name), None)
    if bug is None or whole(exercise_id):
        return judge(source, exercise_id, seed)
    (check,) = asked(exercise_id, bug)
    return judge(source, f"{exercise_id}.{check}", seed)


def whole(exercise_id: str) -> bool:
    """Whether the wrong kernels of an exercise are judged by all its checks."""
    return COMPLETE or exercise_id.startswith(("lab1.", "lab2."))


def asked(exercise_id: str, bug: NamedBug) -> frozenset[str]:
    """The checks that a wrong kernel is judged by and must fail: all that it fails, or one of them, another for
    another kernel."""
    if whole(exercise_id):
        return bug.checks
    names = sorted(bug.checks)
    return frozenset({names[zlib.crc32(bug.id.encode()) % len(names)]})


def failing_cases(report: Report, *checks: str) -> set[str]:
    """Names of the cases that failed in the named checks."""
    return {
        case.name
        for check in report.checks
        if check.id.rsplit(".", 1)[1] in checks
        for case in check.cases
        if not case.passed
    }


def failing_groups(report: Report, *checks: str) -> set[str]:
    """Groups of the cases that failed in the named checks."""
    return {
        case.group
        for check in report.checks
        if check.id.rsplit(".", 1)[1] in checks
        for case in check.cases
        if not case.passed
    }
