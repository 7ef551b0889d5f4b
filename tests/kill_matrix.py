"""Reports on every named bug and every right variant, computed once and on all cores.

A wrong kernel of labs 3 to 5 is judged by one of the checks that it must fail, unless KILL_MATRIX=complete is set:
all checks of all of them take a quarter of an hour. One process has all of an exercise, since what its wrong
kernels leave on a case is needed for each of them and kept.
"""

from __future__ import annotations

import multiprocessing
import os
import zlib
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache

from autograder.exercises import all_exercises, get
from autograder.exercises.model import NamedBug
from autograder.report import Report

COMPLETE = os.environ.get("KILL_MATRIX") == "complete"

Job = tuple[str, str, int]  # exercise id, id of the bug or variant, seed
CHECKS = ("values", "rescale", "traffic", "safety")


@cache
def _started(seed: int) -> dict[str, Future[dict[str, Report]]]:
    """All exercises under way, by id; those that take longest begin first."""
    pool = ProcessPoolExecutor(min(os.cpu_count() or 1, 8), mp_context=multiprocessing.get_context("spawn"))
    slowest_first = sorted(all_exercises(), key=lambda one: (len(one.bugs), one.lab), reverse=True)
    return {one.id: pool.submit(judged_all, one.id, seed) for one in slowest_first}


def reports(exercise_id: str, seed: int = 0) -> dict[str, Report]:
    """The judge's report on each bug and each variant of an exercise, by id."""
    return _started(seed)[exercise_id].result()


def judged_all(exercise_id: str, seed: int) -> dict[str, Report]:
    """All reports on one exercise. Runs in a process of the pool."""
    exercise = get(exercise_id)
    return {one.id: judged((exercise_id, one.id, seed)) for one in (*exercise.bugs, *exercise.variants)}


def judged(job: Job) -> Report:
    """One report."""
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
    """The checks that a wrong kernel is judged by and must fail: all that it fails, or the first of them in an order
    that differs from exercise to exercise."""
    if whole(exercise_id):
        return bug.checks
    start = zlib.crc32(exercise_id.encode()) % len(CHECKS)
    turned = (*CHECKS[start:], *CHECKS[:start], *bug.checks)
    return frozenset({min(bug.checks, key=turned.index)})


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
