"""Reports on every named bug and every right variant, computed once and on all cores.

A wrong kernel of labs 3 to 5 is judged by the checks that it must fail, unless KILL_MATRIX=complete is set: that the
other checks pass it takes twice the time to see.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache

from autograder.exercises import get
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
    expected = next((bug.checks for bug in exercise.bugs if bug.id == name), None)
    if expected is None or exercise_id.startswith(("lab1.", "lab2.")) or COMPLETE:
        return judge(source, exercise_id, seed)
    parts = [judge(source, f"{exercise_id}.{check.name}", seed) for check in exercise.checks if check.name in expected]
    return replace(
        parts[0],
        passed=all(part.passed for part in parts),
        points=sum(part.points for part in parts),
        max_points=sum(part.max_points for part in parts),
        checks=tuple(check for part in parts for check in part.checks),
    )


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
